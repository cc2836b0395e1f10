#include "mujoco/engine.hpp"

#include <csetjmp>
#include <cstring>
#include <mutex>

namespace stiction::mujoco {
namespace {

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

Functions::Functions(const Addresses& all) : at(all) {
    static std::once_flag once;
    std::call_once(once, [&] {
        Handler (*const set_handler)(Handler) = at("mju_setLogHandler");
        previous_handler = set_handler(&handle);
    });
}

Model::Model(const void* model, const Addresses& offsets, const Addresses& counts) : at(offsets, model) {
    for (const auto& [name, count] : counts) nonlinear_damping.push_back({at(name), count});
}

bool Model::has_nonlinear_damping() const {
    for (const auto& [numbers, count] : nonlinear_damping)
        if (std::any_of(*numbers, *numbers + count, [](double x) { return x != 0.0; })) return true;
    return false;
}

ContactOffsets::ContactOffsets(const Addresses& offsets)
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
