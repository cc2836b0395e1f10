#include "mujoco/engine.hpp"

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstring>
#include <mutex>

namespace stiction::mujoco {
namespace {

template <class Function> Function function(const Addresses& all, const char* name) {
    return reinterpret_cast<Function>(named(all, name));
}

// MuJoCo calls its log handler when it cannot continue, and expects it not to return. This one jumps back to the call of
// MuJoCo; all other messages go to the handler that was installed before.
using Handler = void (*)(const void* message);
constexpr int ERROR_LEVEL = 3;
constexpr std::size_t TEXT_OFFSET = 2 * sizeof(int), TEXT_SIZE = 1024;  // offset and size of a message's text
constexpr double MAX_VALUE = 1e10;  // MuJoCo accepts no greater number in a state
thread_local std::jmp_buf* jump_target = nullptr;
thread_local char error_text[TEXT_SIZE];
Handler previous_handler = nullptr;

void handle(const void* message) {
    int level;
    std::memcpy(&level, message, sizeof level);
    if (level == ERROR_LEVEL && jump_target) {
        std::memcpy(error_text, static_cast<const char*>(message) + TEXT_OFFSET, TEXT_SIZE);
        error_text[TEXT_SIZE - 1] = 0;
        std::longjmp(*jump_target, 1);
    }
    if (previous_handler) previous_handler(message);
}

/// Whether a stage ran to its end. Nothing here has a destructor, which the jump would skip.
bool runs(Stage stage, const void* model, void* data) {
    std::jmp_buf here, *const outer = jump_target;  // a callback may call this again
    jump_target = &here;
    const bool done = setjmp(here) == 0;
    if (done) stage(model, data);
    jump_target = outer;
    return done;
}

}  // namespace

Functions::Functions(const Addresses& all) {
    const auto stage = [&](const char* name) { return function<Stage>(all, name); };
    fwdKinematics = stage("mj_fwdKinematics"), makeM = stage("mj_makeM"), factorM = stage("mj_factorM");
    collision = stage("mj_collision"), makeConstraint = stage("mj_makeConstraint"), island = stage("mj_island");
    projectConstraint = stage("mj_projectConstraint"), transmission = stage("mj_transmission");
    sensorPos = stage("mj_sensorPos"), energyPos = stage("mj_energyPos"), fwdVelocity = stage("mj_fwdVelocity");
    sensorVel = stage("mj_sensorVel"), energyVel = stage("mj_energyVel"), fwdActuation = stage("mj_fwdActuation");
    fwdAcceleration = stage("mj_fwdAcceleration"), Euler = stage("mj_Euler"), implicit = stage("mj_implicit");
    step2 = stage("mj_step2"), rnePostConstraint = stage("mj_rnePostConstraint"), resetData = stage("mj_resetData");
    static std::once_flag once;
    std::call_once(once, [&] { previous_handler = function<Handler (*)(Handler)>(all, "mju_setLogHandler")(&handle); });
    control = function<const Stage*>(all, "mjcb_control");
    getState = function<decltype(getState)>(all, "mj_getState");
    setState = function<decltype(setState)>(all, "mj_setState");
    integratePos = function<decltype(integratePos)>(all, "mj_integratePos");
    rayGeom = function<decltype(rayGeom)>(all, "mju_rayGeom");
    mulM = function<decltype(mulM)>(all, "mj_mulM");
    isSparse = function<decltype(isSparse)>(all, "mj_isSparse");
}

Data::Data(void* data, const Offsets& offsets) {
    char* base = static_cast<char*>(data);
    const auto at = [&]<class T>(T*& field, const char* name) { field = reinterpret_cast<T*>(base + named(offsets, name)); };
    at(ncon, "ncon"), at(nefc, "nefc"), at(time, "time"), at(warning, "warning"), at(contact, "contact");
    at(qpos, "qpos"), at(qvel, "qvel"), at(qacc, "qacc"), at(qacc_warmstart, "qacc_warmstart");
    at(qacc_smooth, "qacc_smooth"), at(qfrc_smooth, "qfrc_smooth"), at(qfrc_constraint, "qfrc_constraint");
    at(xfrc_applied, "xfrc_applied"), at(site_xpos, "site_xpos"), at(site_xmat, "site_xmat"), at(xpos, "xpos");
    at(xquat, "xquat"), at(xipos, "xipos"), at(xmat, "xmat"), at(subtree_com, "subtree_com");
    at(cdof, "cdof"), at(M, "M"), at(qLD, "qLD"), at(qLDiagInv, "qLDiagInv"), at(qH, "qH");
    at(qHDiagInv, "qHDiagInv"), at(qDeriv, "qDeriv"), at(efc_J, "efc_J"), at(efc_R, "efc_R"), at(efc_D, "efc_D");
    at(efc_aref, "efc_aref"), at(efc_frictionloss, "efc_frictionloss"), at(efc_type, "efc_type"), at(efc_state, "efc_state"), at(efc_id, "efc_id");
    at(efc_J_rownnz, "efc_J_rownnz"), at(efc_J_rowadr, "efc_J_rowadr"), at(efc_J_colind, "efc_J_colind");
    at(sensordata, "sensordata");
}

Model::Model(const void* model, const Offsets& offsets, const Offsets& counts) {
    const char* base = static_cast<const char*>(model);
    const auto at = [&]<class T>(T*& field, const char* name) {
        field = reinterpret_cast<T*>(const_cast<char*>(base) + named(offsets, name));
    };
    const auto size = [&](const char* name) {
        return static_cast<int>(*reinterpret_cast<const std::int64_t*>(base + named(offsets, name)));
    };
    nq = size("nq"), nv = size("nv"), nbody = size("nbody"), ngeom = size("ngeom"), ntree = size("ntree");
    at(timestep, "opt.timestep"), at(integrator, "opt.integrator");
    at(disableflags, "opt.disableflags"), at(enableflags, "opt.enableflags");
    at(geom_bodyid, "geom_bodyid"), at(body_rootid, "body_rootid"), at(body_mocapid, "body_mocapid");
    at(dof_parentid, "dof_parentid"), at(dof_treeid, "dof_treeid"), at(body_dofadr, "body_dofadr");
    at(body_dofnum, "body_dofnum"), at(body_parentid, "body_parentid"), at(M_rowadr, "M_rowadr"), at(M_rownnz, "M_rownnz");
    at(M_colind, "M_colind"), at(mapD2M, "mapD2M"), at(dof_damping, "dof_damping"), at(site_size, "site_size");
    for (const auto& [name, count] : counts) {
        nonlinear_damping.push_back({nullptr, count});
        at(nonlinear_damping.back().first, name.c_str());
    }
}

bool Model::has_nonlinear_damping() const {
    for (const auto& [numbers, count] : nonlinear_damping)
        if (std::any_of(*numbers, *numbers + count, [](double x) { return x != 0.0; })) return true;
    return false;
}

ContactOffsets::ContactOffsets(const Offsets& offsets)
    : size(named(offsets, "size")), dist(named(offsets, "dist")), pos(named(offsets, "pos")), frame(named(offsets, "frame")),
      includemargin(named(offsets, "includemargin")), surfacevel(named(offsets, "surfacevel")),
      geom(named(offsets, "geom")), exclude(named(offsets, "exclude")), dim(named(offsets, "dim")), mu(named(offsets, "mu")),
      friction(named(offsets, "friction")) {}

void Engine::run(Stage stage) const {
    if (!runs(stage, model_address, data_address)) throw std::runtime_error(error_text);
}

void Engine::detect() const {
    for (const Stage stage : {functions.fwdKinematics, functions.makeM, functions.factorM, functions.collision}) run(stage);
}

void Engine::constrain() const {
    const Functions& f = functions;
    const bool energy = *model.enableflags & constants.energy;
    for (const Stage stage : {f.makeConstraint, f.island, f.projectConstraint, f.transmission, f.sensorPos}) run(stage);
    if (energy) run(f.energyPos);
    run(f.fwdVelocity), run(f.sensorVel);
    if (energy) run(f.energyVel);
    if (*f.control && !is_disabled(constants.no_actuation)) run(*f.control);
}

void Engine::accelerate() const { run(functions.fwdActuation), run(functions.fwdAcceleration); }

void Engine::get_state(std::vector<double>& state) const {
    state.resize(state_size);
    functions.getState(model_address, data_address, state.data(), constants.integration);
}

void Engine::set_state(const std::vector<double>& state) const {
    functions.setState(model_address, data_address, state.data(), constants.integration);
}

bool Engine::is_finite() const {
    const auto are_finite = [](const double* values, int n) {
        return std::all_of(values, values + n, [](double x) { return std::fabs(x) <= MAX_VALUE; });
    };
    return are_finite(*data.qpos, model.nq) && are_finite(*data.qvel, model.nv);
}

Outcome Engine::refusal() const {
    if (!is_finite()) return Outcome::NOT_FINITE;
    const int integrator = *model.integrator;
    if (integrator != constants.euler && integrator != constants.implicit && integrator != constants.implicitfast)
        return Outcome::UNSUPPORTED_INTEGRATOR;
    if (!(timestep() > 0.0 && timestep() < MAX_VALUE)) return Outcome::BAD_TIMESTEP;
    return *model.enableflags & constants.sleep ? Outcome::SLEEP : Outcome::DONE;
}

double Engine::kinetic_energy(const double* velocities) const {
    std::vector<double> momentum(model.nv);
    functions.mulM(model_address, data_address, momentum.data(), velocities);
    double total = 0.0;
    for (int dof = 0; dof < model.nv; ++dof) total += 0.5 * momentum[dof] * velocities[dof];
    return total;
}

WarningCounts::Counts WarningCounts::read(const Engine& engine) {
    Counts counts;
    for (std::size_t k = 0; k < counts.size(); ++k) counts[k] = engine.data.warning[2 * engine.constants.warnings[k] + 1];
    return counts;
}

Outcome WarningCounts::outcome(const Engine& engine) const {
    // A reset also resets MuJoCo's counts, so that after the second one they are as they were. But time has gone back.
    if (*engine.data.time <= time_) return Outcome::RESET;
    const Counts now = read(engine);
    if (now == counts_) return Outcome::DONE;
    for (int k = 0; k < 3; ++k)
        if (now[k] != counts_[k]) return Outcome::RESET;
    return now[3] != counts_[3] ? Outcome::BAD_CONTROL : Outcome::OVERFLOW;
}

void AppliedForces::add(int body, const Vector& force, const Vector& torque) {
    double* now = *engine_.data.xfrc_applied + 6 * body;
    const auto is_body = [body](const UserForce& one) { return one.body == body; };
    if (std::none_of(user_.begin(), user_.end(), is_body)) {
        user_.push_back({body, {}});
        std::copy(now, now + 6, user_.back().wrench.begin());
    }
    now[0] += force.x, now[1] += force.y, now[2] += force.z;
    now[3] += torque.x, now[4] += torque.y, now[5] += torque.z;
}

void AppliedForces::remove() {
    for (const UserForce& one : user_)
        std::copy(one.wrench.begin(), one.wrench.end(), *engine_.data.xfrc_applied + 6 * one.body);
    user_.clear();
}

}  // namespace stiction::mujoco
