// Access to MuJoCo: its functions by their addresses, its structs by the offsets of their fields, and the stages of its step.
//
// Python looks both up at run time and checks them against the installed version (src/stiction/mujoco/engine.py), so that
// the core needs no header of MuJoCo. Everything here is a view: all memory belongs to MuJoCo.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "math/vectors.hpp"

namespace stiction::mujoco {

using Stage = void (*)(const void* model, void* data);

/// Addresses of functions, and offsets of fields in their structs [bytes], by name.
using Addresses = std::map<std::string, std::uintptr_t>;
using Offsets = std::map<std::string, std::size_t>;

/// Result of a time step.
enum class Outcome { DONE, NOT_FINITE, RESET, UNSUPPORTED_INTEGRATOR, BAD_TIMESTEP, SLEEP, BAD_CONTROL, OVERFLOW };

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
    const Stage* control;  ///< mjcb_control, the user's callback, or null
    void (*getState)(const void* model, const void* data, double* state, int what);
    void (*setState)(const void* model, void* data, const double* state, int what);
    void (*integratePos)(const void* model, double* qpos, const double* qvel, double time);
    double (*rayGeom)(const double* pos, const double* mat, const double* size, const double* point, const double* ray,
                      int type, double* normal);
    void (*mulM)(const void* model, const void* data, double* out, const double* v);
    int (*isSparse)(const void* model);  ///< whether the rows of efc_J are stored sparsely

    explicit Functions(const Addresses& all);
};

/// MuJoCo's enumeration values that the core uses.
struct Constants {
    int euler, implicit, implicitfast;  ///< integrators
    int no_actuation, no_eulerdamp, no_damper, no_sensor, no_autoreset, energy, sleep;  ///< flags of options
    int equality, friction_dof, friction_tendon, elliptic;  ///< types of constraints
    int quadratic, cone; ///< states of a constraint that acts as a spring, and of a contact that slides on its cone
    int integration;     ///< the complete state, for getState
    int warnings[6];     ///< bad positions, velocities, accelerations, controls; too many contacts, constraints
};

/// The fields that the core reads or writes. Fields that are arrays are pointers to MuJoCo's pointers: some arrays move.
struct Data {
    const int *ncon, *nefc;
    double* const *qpos, *const *qvel, *const *qacc, *const *qacc_warmstart, *const *qacc_smooth, *const *qfrc_smooth,
        *const *qfrc_constraint, *const *xfrc_applied, *const *xpos, *const *xquat, *const *site_xpos,
        *const *site_xmat, *const *xipos, *const *xmat, *const *subtree_com, *const *cdof, *const *M, *const *qLD,
        *const *qLDiagInv, *const *qH, *const *qHDiagInv, *const *qDeriv, *const *efc_J, *const *efc_R, *const *efc_D,
        *const *efc_aref, *const *efc_frictionloss, *const *sensordata;
    int *const *efc_type, *const *efc_state, *const *efc_id, *const *efc_J_rownnz, *const *efc_J_rowadr, *const *efc_J_colind;
    char* const* contact;
    const double* time;
    const int* warning;  ///< pairs of numbers; the second is the count

    Data(void* data, const Offsets& offsets);
};

struct Model {
    double* timestep;
    const int *integrator, *disableflags, *enableflags;
    int nq, nv, nbody, ngeom, ntree;
    int *const *geom_bodyid, *const *body_rootid, *const *body_mocapid, *const *dof_parentid, *const *dof_treeid,
        *const *body_dofadr, *const *body_dofnum, *const *body_parentid, *const *M_rowadr, *const *M_rownnz,
        *const *M_colind, *const *mapD2M;
    double *const *dof_damping, *const *site_size;
    std::vector<std::pair<double* const*, std::size_t>> nonlinear_damping;  ///< damping that is not linear in the velocity; sizes

    Model(const void* model, const Offsets& offsets, const Offsets& counts);
    bool has_nonlinear_damping() const;
};

/// Offsets of the fields of a contact, and its size [bytes].
struct ContactOffsets {
    std::size_t size, dist, pos, frame, includemargin, surfacevel, geom, exclude, dim, mu, friction;
    explicit ContactOffsets(const Offsets& offsets);
};

/// One of MuJoCo's contacts.
class EngineContact {
  public:
    EngineContact(char* at, const ContactOffsets& offsets) : at_(at), offsets_(&offsets) {}
    double dist() const { return *reinterpret_cast<const double*>(at_ + offsets_->dist); }
    double includemargin() const { return *reinterpret_cast<const double*>(at_ + offsets_->includemargin); }
    const double* pos() const { return reinterpret_cast<const double*>(at_ + offsets_->pos); }
    const double* frame() const { return reinterpret_cast<const double*>(at_ + offsets_->frame); }
    const double* surfacevel() const { return reinterpret_cast<const double*>(at_ + offsets_->surfacevel); }
    const int* geom() const { return reinterpret_cast<const int*>(at_ + offsets_->geom); }
    int dim() const { return *reinterpret_cast<const int*>(at_ + offsets_->dim); }
    double mu() const { return *reinterpret_cast<const double*>(at_ + offsets_->mu); }
    const double* friction() const { return reinterpret_cast<const double*>(at_ + offsets_->friction); }
    int& exclude() const { return *reinterpret_cast<int*>(at_ + offsets_->exclude); }

  private:
    char* at_;
    const ContactOffsets* offsets_;
};

/// A model and its data, with the stages of MuJoCo's step.
struct Engine {
    const void* model_address;
    void* data_address;
    Functions functions;
    Constants constants;
    ContactOffsets contact_offsets;
    Model model;
    Data data;
    int state_size;  ///< numbers of a complete state

    /// Run a stage of MuJoCo's step. Throws what MuJoCo reports as an error.
    void run(Stage stage) const;
    /// Positions, inertia and collisions: the first part of mj_step1.
    void detect() const;
    /// MuJoCo's constraints, except for contacts that are excluded by now, and velocities: the rest of mj_step1.
    void constrain() const;
    /// Forces and accelerations without constraints.
    void accelerate() const;
    void get_state(std::vector<double>& state) const;
    void set_state(const std::vector<double>& state) const;

    double timestep() const { return *model.timestep; }
    bool is_euler() const { return *model.integrator == constants.euler; }
    bool is_disabled(int flag) const { return *model.disableflags & flag; }
    /// DONE, or why no step can be taken.
    Outcome refusal() const;
    /// Whether all positions and velocities are finite and below MuJoCo's limit.
    bool is_finite() const;
    double kinetic_energy(const double* velocities) const;

    /// Call visit(dof, value) for all non-zero entries of a row of efc_J.
    template <class Visit> void visit_row(int row, Visit visit) const {
        const bool sparse = functions.isSparse(model_address) != 0;
        const int first = sparse ? (*data.efc_J_rowadr)[row] : row * model.nv;
        const int count = sparse ? (*data.efc_J_rownnz)[row] : model.nv;
        for (int k = 0; k < count; ++k)
            if (const double value = (*data.efc_J)[first + k]; value != 0.0)
                visit(sparse ? (*data.efc_J_colind)[first + k] : k, value);
    }
    EngineContact contact(int k) const { return {*data.contact + k * contact_offsets.size, contact_offsets}; }
};

/// MuJoCo's warnings since the start of a step, from which its outcome follows.
class WarningCounts {
  public:
    explicit WarningCounts(const Engine& engine) : counts_(read(engine)), time_(*engine.data.time) {}
    Outcome outcome(const Engine& engine) const;

  private:
    using Counts = std::array<int, 6>;  // of each kind in Constants::warnings
    Counts counts_;
    double time_;

    static Counts read(const Engine& engine);
};

/// Contact forces on bodies (xfrc_applied) during a step; the user's own forces are restored afterwards.
class AppliedForces {
  public:
    explicit AppliedForces(const Engine& engine) : engine_(engine) {}
    /// Add a force [N] and a torque [N m] about the body's centre of mass, world axes.
    void add(int body, const Vector& force, const Vector& torque);
    /// Restore the user's forces.
    void remove();
    /// Forget which forces were applied: MuJoCo's state was set to one without them.
    void forget() { user_.clear(); }

  private:
    struct UserForce {
        int body;
        std::array<double, 6> wrench;
    };
    const Engine& engine_;
    std::vector<UserForce> user_;
};

}  // namespace stiction::mujoco
