#include "mujoco/engine.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <mutex>

namespace stiction::mujoco {
namespace {

template <class Function> Function function(const Addresses& all, const char* name) {
    return reinterpret_cast<Function>(named(all, name));
}

// MuJoCo calls its log handler where it cannot go on, and expects it not to return. Ours leaps back to where MuJoCo was
// called from; all other messages go to the handler that was there before.
using Handler = void (*)(const void* message);
constexpr int ERROR_LEVEL = 3;
constexpr std::size_t SUBJECT = 2 * sizeof(int), LONGEST = 1024;  // where the text of a message begins, and its size
thread_local std::jmp_buf* landing = nullptr;
thread_local char complaint[LONGEST];
Handler others = nullptr;

void handle(const void* message) {
    int level;
    std::memcpy(&level, message, sizeof level);
    if (level == ERROR_LEVEL && landing) {
        std::memcpy(complaint, static_cast<const char*>(message) + SUBJECT, LONGEST);
        complaint[LONGEST - 1] = 0;
        std::longjmp(*landing, 1);
    }
    if (others) others(message);
}

/// Whether a stage ran to its end. Nothing here has a destructor, over which the leap back would go.
bool runs(Stage stage, const void* model, void* data) {
    std::jmp_buf here, *const outer = landing;  // a callback may come by here again
    landing = &here;
    const bool done = setjmp(here) == 0;
    if (done) stage(model, data);
    landing = outer;
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
    std::call_once(once, [&] { others = function<Handler (*)(Handler)>(all, "mju_setLogHandler")(&handle); });
    control = function<const Stage*>(all, "mjcb_control");
    getState = function<decltype(getState)>(all, "mj_getState");
    setState = function<decltype(setState)>(all, "mj_setState");
    integratePos = function<decltype(integratePos)>(all, "mj_integratePos");
    rayGeom = function<decltype(rayGeom)>(all, "mju_rayGeom");
    mulM = function<decltype(mulM)>(all, "mj_mulM");
    isSparse = function<decltype(isSparse)>(all, "mj_isSparse");
}

Data::Data(void* data, const Places& places) {
    char* base = static_cast<char*>(data);
    const auto at = [&]<class T>(T*& field, const char* name) { field = reinterpret_cast<T*>(base + named(places, name)); };
    at(ncon, "ncon"), at(nefc, "nefc"), at(time, "time"), at(warning, "warning"), at(contact, "contact");
    at(qpos, "qpos"), at(qvel, "qvel"), at(qacc, "qacc"), at(qacc_warmstart, "qacc_warmstart");
    at(qacc_smooth, "qacc_smooth"), at(qfrc_smooth, "qfrc_smooth"), at(qfrc_constraint, "qfrc_constraint");
    at(xfrc_applied, "xfrc_applied"), at(site_xpos, "site_xpos"), at(site_xmat, "site_xmat"), at(xpos, "xpos");
    at(xquat, "xquat"), at(xipos, "xipos"), at(xmat, "xmat"), at(subtree_com, "subtree_com");
    at(cdof, "cdof"), at(M, "M"), at(qLD, "qLD"), at(qLDiagInv, "qLDiagInv"), at(qH, "qH");
    at(qHDiagInv, "qHDiagInv"), at(qDeriv, "qDeriv"), at(efc_J, "efc_J"), at(efc_R, "efc_R"), at(efc_D, "efc_D");
    at(efc_aref, "efc_aref"), at(efc_frictionloss, "efc_frictionloss"), at(efc_type, "efc_type"), at(efc_state, "efc_state");
    at(efc_J_rownnz, "efc_J_rownnz"), at(efc_J_rowadr, "efc_J_rowadr"), at(efc_J_colind, "efc_J_colind");
    at(sensordata, "sensordata");
}

Model::Model(const void* model, const Places& places, const Places& counts) {
    const char* base = static_cast<const char*>(model);
    const auto at = [&]<class T>(T*& field, const char* name) {
        field = reinterpret_cast<T*>(const_cast<char*>(base) + named(places, name));
    };
    const auto size = [&](const char* name) {
        return static_cast<int>(*reinterpret_cast<const std::int64_t*>(base + named(places, name)));
    };
    nq = size("nq"), nv = size("nv"), nbody = size("nbody"), ntree = size("ntree");
    at(timestep, "opt.timestep"), at(integrator, "opt.integrator");
    at(disableflags, "opt.disableflags"), at(enableflags, "opt.enableflags");
    at(geom_bodyid, "geom_bodyid"), at(body_rootid, "body_rootid"), at(body_mocapid, "body_mocapid");
    at(dof_parentid, "dof_parentid"), at(dof_treeid, "dof_treeid"), at(body_dofadr, "body_dofadr");
    at(body_dofnum, "body_dofnum"), at(body_parentid, "body_parentid"), at(M_rowadr, "M_rowadr"), at(M_rownnz, "M_rownnz");
    at(M_colind, "M_colind"), at(mapD2M, "mapD2M"), at(dof_damping, "dof_damping"), at(site_size, "site_size");
    for (const auto& [name, count] : counts) {
        curved_damping.push_back({nullptr, count});
        at(curved_damping.back().first, name.c_str());
    }
}

bool Model::has_curved_damping() const {
    for (const auto& [numbers, count] : curved_damping)
        if (std::any_of(*numbers, *numbers + count, [](double x) { return x != 0.0; })) return true;
    return false;
}

ContactPlaces::ContactPlaces(const Places& places)
    : size(named(places, "size")), dist(named(places, "dist")), pos(named(places, "pos")), frame(named(places, "frame")),
      includemargin(named(places, "includemargin")), surfacevel(named(places, "surfacevel")),
      geom(named(places, "geom")), exclude(named(places, "exclude")) {}

void Engine::run(Stage stage) const {
    if (!runs(stage, model_address, data_address)) throw std::runtime_error(complaint);
}

}  // namespace stiction::mujoco
