// MuJoCo as the core sees it: its functions by their addresses, and its structs by the places of their fields.
//
// Both are told by Python at run time, so that the core needs no header of MuJoCo's and fits any version whose names
// are the same. What is here is a view: all memory is MuJoCo's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stiction::mujoco {

using Stage = void (*)(const void* model, void* data);

/// Addresses of functions, and places of fields in their structs [bytes], by name.
using Addresses = std::map<std::string, std::uintptr_t>;
using Places = std::map<std::string, std::size_t>;

template <class Value> const Value& named(const std::map<std::string, Value>& all, const std::string& name) {
    const auto found = all.find(name);
    if (found == all.end()) throw std::invalid_argument("MuJoCo has no " + name);
    return found->second;
}

/// MuJoCo's functions, by their own names without "mj_".
struct Functions {
    Stage fwdKinematics, makeM, factorM, collision, makeConstraint, island, projectConstraint, transmission, sensorPos,
        energyPos, fwdVelocity, sensorVel, energyVel, fwdActuation, fwdAcceleration, Euler, implicit, step2,
        rnePostConstraint, resetData;
    const Stage* control;  ///< mjcb_control, the callback of the user's, or null
    void (*getState)(const void* model, const void* data, double* state, int what);
    void (*setState)(const void* model, void* data, const double* state, int what);
    void (*integratePos)(const void* model, double* qpos, const double* qvel, double time);
    double (*rayGeom)(const double* pos, const double* mat, const double* size, const double* point, const double* ray,
                      int type, double* normal);
    void (*mulM)(const void* model, const void* data, double* out, const double* v);
    int (*isSparse)(const void* model);  ///< whether the rows of efc_J are, as the options say now

    explicit Functions(const Addresses& all);
};

/// Numbers of MuJoCo's that have a meaning.
struct Constants {
    int euler, implicit, implicitfast;  ///< integrators
    int no_actuation, no_eulerdamp, no_damper, no_sensor, no_autoreset, energy, sleep;  ///< flags of options
    int equality, friction_dof, friction_tendon, elliptic;  ///< kinds of constraints
    int quadratic;       ///< the state of a constraint that acts as a spring
    int integration;     ///< all that a state is, for getState
    int warnings[6];     ///< of bad positions, velocities, accelerations, controls; of too many contacts, constraints
};

/// The fields that the core looks at. Of fields that are arrays, the place where their address stands: some arrays move.
struct Data {
    const int *ncon, *nefc;
    double* const *qpos, *const *qvel, *const *qacc, *const *qacc_warmstart, *const *qacc_smooth, *const *qfrc_smooth,
        *const *qfrc_constraint, *const *xfrc_applied, *const *xpos, *const *xquat, *const *site_xpos,
        *const *site_xmat, *const *xipos, *const *xmat, *const *subtree_com, *const *cdof, *const *M, *const *qLD,
        *const *qLDiagInv, *const *qH, *const *qHDiagInv, *const *qDeriv, *const *efc_J, *const *efc_R, *const *efc_D,
        *const *efc_aref, *const *efc_frictionloss, *const *sensordata;
    int *const *efc_type, *const *efc_state, *const *efc_J_rownnz, *const *efc_J_rowadr, *const *efc_J_colind;
    char* const* contact;
    const double* time;
    const int* warning;  ///< pairs of numbers, the second is how often

    Data(void* data, const Places& places);
};

struct Model {
    const double* timestep;
    const int *integrator, *disableflags, *enableflags;
    int nq, nv, nbody, ntree;
    int *const *geom_bodyid, *const *body_rootid, *const *body_mocapid, *const *dof_parentid, *const *dof_treeid,
        *const *body_dofadr, *const *body_dofnum, *const *body_parentid, *const *M_rowadr, *const *M_rownnz,
        *const *M_colind, *const *mapD2M;
    double *const *dof_damping, *const *site_size;
    std::vector<std::pair<double* const*, std::size_t>> curved_damping;  ///< damping that grows with speed; how many numbers

    Model(const void* model, const Places& places, const Places& counts);
    /// Whether there is damping that is not linear in the velocity.
    bool has_curved_damping() const;
};

/// Places of the fields of a contact, and its size [bytes].
struct ContactPlaces {
    std::size_t size, dist, pos, frame, includemargin, surfacevel, geom, exclude;
    explicit ContactPlaces(const Places& places);
};

/// One of MuJoCo's contacts.
class EngineContact {
  public:
    EngineContact(char* at, const ContactPlaces& places) : at_(at), places_(&places) {}
    double dist() const { return *reinterpret_cast<const double*>(at_ + places_->dist); }
    double includemargin() const { return *reinterpret_cast<const double*>(at_ + places_->includemargin); }
    const double* pos() const { return reinterpret_cast<const double*>(at_ + places_->pos); }
    const double* frame() const { return reinterpret_cast<const double*>(at_ + places_->frame); }
    const double* surfacevel() const { return reinterpret_cast<const double*>(at_ + places_->surfacevel); }
    const int* geom() const { return reinterpret_cast<const int*>(at_ + places_->geom); }
    int& exclude() const { return *reinterpret_cast<int*>(at_ + places_->exclude); }

  private:
    char* at_;
    const ContactPlaces* places_;
};

/// A model and its data, with MuJoCo's functions on them.
struct Engine {
    const void* model_address;
    void* data_address;
    Functions functions;
    Constants constants;
    ContactPlaces contact_places;
    Model model;
    Data data;
    int state_size;  ///< numbers of a state

    /// Run a stage of MuJoCo's. Throws what MuJoCo calls an error.
    void run(Stage stage) const;
    /// Call look(dof, number) for all numbers of a row of efc_J that are not zero.
    template <class Look> void look_at_row(int row, Look look) const {
        const bool sparse = functions.isSparse(model_address) != 0;
        const int first = sparse ? (*data.efc_J_rowadr)[row] : row * model.nv;
        const int count = sparse ? (*data.efc_J_rownnz)[row] : model.nv;
        for (int k = 0; k < count; ++k)
            if (const double number = (*data.efc_J)[first + k]; number != 0.0)
                look(sparse ? (*data.efc_J_colind)[first + k] : k, number);
    }
    EngineContact contact(int k) const { return {*data.contact + k * contact_places.size, contact_places}; }
};

}  // namespace stiction::mujoco
