// Access to MuJoCo: its functions by their addresses, its structs by the offsets of their fields, and the stages of its step.
//
// Python looks both up at run time and checks them against the installed version (src/stiction/mujoco/engine.py), so that
// the core needs no header of MuJoCo. Everything here is a view: all memory belongs to MuJoCo.
#pragma once

#include <map>
#include <stdexcept>
#include <string>

#include "math/vectors.hpp"

namespace stiction::mujoco {

using Stage = void (*)(const void* model, void* data);
using Doubles = double* const*;  ///< where a pointer to an array of MuJoCo's stands: some arrays move
using Ints = int* const*;

/// Addresses of functions, or offsets of fields in their structs [bytes], by name.
using Addresses = std::map<std::string, std::uintptr_t>;

/// Result of a time step.
enum class Outcome { DONE, NOT_FINITE, RESET, UNSUPPORTED_INTEGRATOR, BAD_TIMESTEP, SLEEP, BAD_CONTROL, OVERFLOW };

template <class Value> const Value& named(const std::map<std::string, Value>& all, const std::string& name) {
    const auto found = all.find(name);
    if (found == all.end()) throw std::invalid_argument("MuJoCo has no " + name);
    return found->second;
}

/// Functions, or the fields of a struct, by name: each becomes a pointer of the type that is wanted.
class Lookup {
  public:
    struct Place {
        std::uintptr_t address;
        template <class T> operator T*() const { return reinterpret_cast<T*>(address); }
    };

    explicit Lookup(Addresses places, const void* base = nullptr)
        : places_(std::move(places)), base_(reinterpret_cast<std::uintptr_t>(base)) {}
    Place operator()(const std::string& name) const { return {base_ + named(places_, name)}; }
    /// One of MuJoCo's sizes.
    int size(const char* name) const {
        const std::int64_t* const place = (*this)(name);
        return static_cast<int>(*place);
    }

  private:
    Addresses places_;
    std::uintptr_t base_;
};

/// MuJoCo's functions, by their own names without "mj_".
struct Functions {
    Lookup at;
    Stage fwdKinematics = at("mj_fwdKinematics"), makeM = at("mj_makeM"), factorM = at("mj_factorM"),
        collision = at("mj_collision"), makeConstraint = at("mj_makeConstraint"), island = at("mj_island"),
        projectConstraint = at("mj_projectConstraint"), transmission = at("mj_transmission"), sensorPos = at("mj_sensorPos"),
        energyPos = at("mj_energyPos"), fwdVelocity = at("mj_fwdVelocity"), sensorVel = at("mj_sensorVel"),
        energyVel = at("mj_energyVel"), fwdActuation = at("mj_fwdActuation"), fwdAcceleration = at("mj_fwdAcceleration"),
        Euler = at("mj_Euler"), implicit = at("mj_implicit"), step2 = at("mj_step2"),
        rnePostConstraint = at("mj_rnePostConstraint"), resetData = at("mj_resetData");
    const Stage* control = at("mjcb_control");  ///< the user's callback, or null
    void (*getState)(const void* model, const void* data, double* state, int what) = at("mj_getState");
    void (*setState)(const void* model, void* data, const double* state, int what) = at("mj_setState");
    void (*integratePos)(const void* model, double* qpos, const double* qvel, double time) = at("mj_integratePos");
    double (*rayGeom)(const double* pos, const double* mat, const double* size, const double* point, const double* ray,
                      int type, double* normal) = at("mju_rayGeom");
    void (*mulM)(const void* model, const void* data, double* out, const double* v) = at("mj_mulM");
    int (*isSparse)(const void* model) = at("mj_isSparse");  ///< whether the rows of efc_J are stored sparsely

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

/// The fields that the core reads or writes.
struct Data {
    Lookup at;
    const int *ncon = at("ncon"), *nefc = at("nefc");
    Doubles qpos = at("qpos"), qvel = at("qvel"), qacc = at("qacc"), qacc_warmstart = at("qacc_warmstart"),
        qacc_smooth = at("qacc_smooth"), qfrc_smooth = at("qfrc_smooth"), qfrc_constraint = at("qfrc_constraint"),
        xfrc_applied = at("xfrc_applied"), xpos = at("xpos"), xquat = at("xquat"), site_xpos = at("site_xpos"),
        site_xmat = at("site_xmat"), xipos = at("xipos"), xmat = at("xmat"), geom_xpos = at("geom_xpos"), geom_xmat = at("geom_xmat"), subtree_com = at("subtree_com"), cdof = at("cdof"),
        M = at("M"), qLD = at("qLD"), qLDiagInv = at("qLDiagInv"), qH = at("qH"), qHDiagInv = at("qHDiagInv"),
        qDeriv = at("qDeriv"), efc_J = at("efc_J"), efc_R = at("efc_R"), efc_D = at("efc_D"), efc_aref = at("efc_aref"),
        efc_frictionloss = at("efc_frictionloss"), sensordata = at("sensordata");
    Ints efc_type = at("efc_type"), efc_state = at("efc_state"), efc_id = at("efc_id"), efc_J_rownnz = at("efc_J_rownnz"),
        efc_J_rowadr = at("efc_J_rowadr"), efc_J_colind = at("efc_J_colind");
    char* const* contact = at("contact");
    const double* time = at("time");
    const int* warning = at("warning");  ///< pairs of numbers; the second is the count

    Data(void* data, const Addresses& offsets) : at(offsets, data) {}
};

struct Model {
    Lookup at;
    double* timestep = at("opt.timestep");
    const int *integrator = at("opt.integrator"), *disableflags = at("opt.disableflags"), *enableflags = at("opt.enableflags");
    int nq = at.size("nq"), nv = at.size("nv"), nbody = at.size("nbody"), ngeom = at.size("ngeom"), ntree = at.size("ntree");
    Ints geom_bodyid = at("geom_bodyid"), body_rootid = at("body_rootid"), body_mocapid = at("body_mocapid"),
        dof_parentid = at("dof_parentid"), dof_treeid = at("dof_treeid"), body_dofadr = at("body_dofadr"),
        body_dofnum = at("body_dofnum"), body_parentid = at("body_parentid"), M_rowadr = at("M_rowadr"),
        M_rownnz = at("M_rownnz"), M_colind = at("M_colind"), mapD2M = at("mapD2M");
    Doubles dof_damping = at("dof_damping"), site_size = at("site_size"), body_mass = at("body_mass");
    std::vector<std::pair<Doubles, std::size_t>> nonlinear_damping;  ///< damping not linear in the velocity; sizes

    Model(const void* model, const Addresses& offsets, const Addresses& counts);
    bool has_nonlinear_damping() const;
};

/// Offsets of the fields of a contact, and its size [bytes].
struct ContactOffsets {
    std::size_t size, dist, pos, frame, includemargin, surfacevel, geom, exclude, dim, mu, friction;
    explicit ContactOffsets(const Addresses& offsets);
};

/// One of MuJoCo's contacts.
class EngineContact {
  public:
    EngineContact(char* at, const ContactOffsets& offsets) : at_(at), offsets_(&offsets) {}
    double dist() const { return *field<double>(offsets_->dist); }
    double includemargin() const { return *field<double>(offsets_->includemargin); }
    double mu() const { return *field<double>(offsets_->mu); }
    int dim() const { return *field<int>(offsets_->dim); }
    int& exclude() const { return *field<int>(offsets_->exclude); }
    const double* pos() const { return field<double>(offsets_->pos); }
    const double* frame() const { return field<double>(offsets_->frame); }
    const double* surfacevel() const { return field<double>(offsets_->surfacevel); }
    const double* friction() const { return field<double>(offsets_->friction); }
    const int* geom() const { return field<int>(offsets_->geom); }

  private:
    char* at_;
    const ContactOffsets* offsets_;

    template <class T> T* field(std::size_t offset) const { return reinterpret_cast<T*>(at_ + offset); }
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
