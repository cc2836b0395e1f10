// A step of MuJoCo with contacts by laws, from its begin to its end.
#include <algorithm>
#include <cmath>
#include <limits>

#include "mujoco/point_step.hpp"

namespace stiction::mujoco {
namespace {

constexpr double GREATEST = 1e10;         // MuJoCo takes no greater number in a state
constexpr int MOST_ROUNDS = 4;            // in which what was not foreseen is corrected
constexpr double FORESEEN = 1e-9;         // relative error of the velocities after the step that ends the rounds

std::vector<int> chain_of(const Model& model, int body) {
    std::vector<int> dofs;
    for (int b = body; b > 0; b = (*model.body_parentid)[b])
        for (int k = (*model.body_dofnum)[b] - 1; k >= 0; --k) dofs.push_back((*model.body_dofadr)[b] + k);
    std::sort(dofs.begin(), dofs.end());
    return dofs;
}

}  // namespace

PointStep::PointStep(Engine engine_, std::vector<PairLaw> laws, PairTable table, double softness)
    : notes(laws.size()), uncovered(engine_.model.nbody), engine(engine_), laws_(std::move(laws)),
      table_(std::move(table)), softness_(softness) {
    for (int body = 0; body < engine.model.nbody; ++body) chains_.push_back(chain_of(engine.model, body));
    state_.resize(engine.state_size);
    begin_anew();
}

void PointStep::begin_anew() {
    memory.clear(), points.clear(), moved.clear();
    for (int body = 0; body < engine.model.nbody; ++body)
        if ((*engine.model.body_mocapid)[body] >= 0)
            moved.push_back({static_cast<double>(body), {}, {}, HandMoved::NOT_YET, 0.0, {}, {}});
}

void PointStep::forget() {
    std::fill(notes.begin(), notes.end(), PairNote{});
    std::fill(uncovered.begin(), uncovered.end(), 0);
    begin_anew();
    unsolved = contact_steps = newton_steps = rounds = 0;
}

/// Why no step can be taken, or DONE.
Outcome PointStep::refusal() const {
    if (!is_finite()) return Outcome::NO_NUMBERS;
    const int integrator = *engine.model.integrator;
    const Constants& known = engine.constants;
    if (integrator != known.euler && integrator != known.implicit && integrator != known.implicitfast)
        return Outcome::OTHER_INTEGRATOR;
    if (!(timestep() > 0.0 && timestep() < GREATEST)) return Outcome::NO_TIMESTEP;
    return *engine.model.enableflags & known.sleep ? Outcome::SLEEP : Outcome::DONE;
}

/// Do part of a step, or all of it; where MuJoCo begins anew meanwhile, so do we.
Outcome PointStep::guarded(const std::function<void()>& work) {
    try {
        work();
        return outcome();
    } catch (const BadAcceleration&) {
        if (*engine.model.disableflags & engine.constants.no_autoreset)
            withdraw();
        else
            applied_.clear();  // MuJoCo has set all forces to zero
        begin_anew();
        return Outcome::RESET;
    } catch (...) {
        withdraw();
        throw;
    }
}

Outcome PointStep::step() {
    if (const Outcome why = begin(true); why != Outcome::DONE) return why;
    return guarded([&] {
        find_velocities();
        if (!points.empty()) look_for_pressing();
        move();
        conclude_step();
        take_depth_back();
    });
}

/// Find the motion without contact, and which points press.
void PointStep::look_for_pressing() {
    engine.run(engine.functions.fwdActuation), engine.run(engine.functions.fwdAcceleration);
    free_motion();
    choose_points();
}

Outcome PointStep::begin(bool is_first) {
    if (const Outcome why = refusal(); why != Outcome::DONE) return why;
    before_ = {warnings(), *engine.data.time};
    for (PairNote& note : notes) note.begin_part(is_first);
    if (is_first) has_touched_ = was_unsolved_ = false;
    const Functions& f = engine.functions;
    for (const Stage stage : {f.fwdKinematics, f.makeM, f.factorM, f.collision}) engine.run(stage);
    return Outcome::DONE;
}

/// Solve for the points that press, and do the second half of MuJoCo's step with their impulses.
void PointStep::move() {
    is_solved_ = true;
    if (points.empty()) {
        advance();
        return;
    }
    form_groups();
    std::vector<TouchingPoint> best;
    double least = std::numeric_limits<double>::infinity();
    for (int round = 0; round < MOST_ROUNDS; ++round) {
        ++rounds;
        solve_groups(round == 0);
        advance();
        if (constrained_ && (!is_solved_ || has_leapt())) hold_energy();
        if (!is_solved_) break;  // the guards' impulses are taken as they are
        const double wrong = unforeseen();
        if (wrong > least) {  // the last round was better
            points.swap(best);
            go_back();
            advance();
            break;
        }
        if (round == MOST_ROUNDS - 1 || wrong <= FORESEEN) break;
        best = points, least = wrong;
        go_back();
    }
}

/// Note what became of the step, and take our forces off.
void PointStep::conclude_step() {
    if (forces_wanted) engine.run(engine.functions.rnePostConstraint);
    if (points.empty()) {
        memory.clear();
        return;
    }
    count_once(has_touched_, true, contact_steps);
    withdraw();
    finish();
}

void PointStep::take_depth_back() {
    if (!points.empty() && lifts_)
        engine.functions.integratePos(engine.model_address, *engine.data.qpos, lift_.data(), timestep());
}

/// What is left of the first half of MuJoCo's step, as mj_step1 does it, but for the contacts with laws, which are left out.
void PointStep::find_velocities() {
    const Functions& f = engine.functions;
    const bool energy = *engine.model.enableflags & engine.constants.energy;
    leave_out();
    for (const Stage stage : {f.makeConstraint, f.island, f.projectConstraint, f.transmission, f.sensorPos}) engine.run(stage);
    if (energy) engine.run(f.energyPos);
    engine.run(f.fwdVelocity), engine.run(f.sensorVel);
    if (energy) engine.run(f.energyVel);
    if (*f.control && !(*engine.model.disableflags & engine.constants.no_actuation)) engine.run(*f.control);
    look_at_moved_bodies();
    find_points();
}

/// The second half of MuJoCo's step, with the impulses as they are.
void PointStep::advance() {
    apply();
    engine.run(engine.functions.step2);
    if (outcome() == Outcome::RESET) throw BadAcceleration{};
}

/// Whether there is far more motion than before, and than there would be without any contact or constraint.
bool PointStep::has_leapt() {
    constexpr double far_more = 4.0;
    const double now = kinetic_energy(*engine.data.qvel);
    return now > far_more * kinetic_energy(v_before_.data()) && now > far_more * kinetic_energy(v_free_.data());
}

/// What was foreseen may be far from what MuJoCo's own constraints do. Where there is more motion than before, take as much
/// of the impulses as leaves no more than there is without them.
void PointStep::hold_energy() {
    if (kinetic_energy(*engine.data.qvel) <= kinetic_energy(v_before_.data())) return;
    const std::vector<TouchingPoint> found = points;
    double without = -1.0;
    bool is_held = false;
    for (const double share : {0.0, 1.0, 0.3, 0.1, 0.0}) {
        for (std::size_t k = 0; k < points.size(); ++k)
            if (points[k].constrained && (is_solved_ || points[k].guarded)) points[k].impulse = share * found[k].impulse;
        go_back();
        advance();
        const double energy = kinetic_energy(*engine.data.qvel);
        if (without < 0.0)
            without = energy;
        else if (energy <= without)
            break;
        else
            is_held = true;
    }
    is_solved_ = is_solved_ && !is_held;
}

double PointStep::kinetic_energy(const double* velocities) {
    scratch_.resize(engine.model.nv);
    engine.functions.mulM(engine.model_address, engine.data_address, scratch_.data(), velocities);
    double total = 0.0;
    for (int dof = 0; dof < engine.model.nv; ++dof) total += 0.5 * scratch_[dof] * velocities[dof];
    return total;
}

/// What `go_back` goes back to.
void PointStep::save_state() {
    engine.functions.getState(engine.model_address, engine.data_address, state_.data(), engine.constants.integration);
}

/// To the begin of the step.
void PointStep::go_back() {
    engine.functions.setState(engine.model_address, engine.data_address, state_.data(), engine.constants.integration);
}

/// Forces on the bodies that bring the impulses within the step.
void PointStep::apply() {
    withdraw();
    const double per_time = 1 / timestep();
    for (const TouchingPoint& point : points) {
        const Vector force = per_time * point.world_impulse();
        if (force.x == 0.0 && force.y == 0.0 && force.z == 0.0) continue;
        for (const auto& [body, side] : {std::pair{point.own, 1.0}, std::pair{point.other, -1.0}}) {
            if (chains_[body].empty()) continue;
            double* now = *engine.data.xfrc_applied + 6 * body;
            const auto is_body = [&, b = body](const Applied& one) { return one.body == b; };
            if (std::none_of(applied_.begin(), applied_.end(), is_body)) {
                applied_.push_back({body, {}});
                std::copy(now, now + 6, applied_.back().before.begin());
            }
            const Vector f = side * force, moment = cross(point.place - vector_from(*engine.data.xipos + 3 * body), f);
            now[0] += f.x, now[1] += f.y, now[2] += f.z;
            now[3] += moment.x, now[4] += moment.y, now[5] += moment.z;
        }
    }
}

void PointStep::withdraw() {
    for (const Applied& one : applied_)
        std::copy(one.before.begin(), one.before.end(), *engine.data.xfrc_applied + 6 * one.body);
    applied_.clear();
}

/// Note what became of the contacts.
void PointStep::finish() {
    std::vector<char> touched(notes.size()), outside(notes.size());
    for (const TouchingPoint& point : points) {
        if (!point.presses()) continue;
        PairNote& note = notes[point.law];
        ++note.touching, note.slipping += point.slips, touched[point.law] = 1;
        const Vector p = point.world_impulse();
        const Vector moment = cross(point.place, p);
        note.force[0] += p.x, note.force[1] += p.y, note.force[2] += p.z;
        note.moment[0] += moment.x, note.moment[1] += moment.y, note.moment[2] += moment.z;
        if (point.outside) outside[point.law] = 1;
    }
    count_once(was_unsolved_, !is_solved_, unsolved);
    for (std::size_t k = 0; k < notes.size(); ++k) {
        PairNote& note = notes[k];
        count_once(note.has_touched, touched[k], note.steps);
        count_once(note.is_outside, outside[k], note.outside);
        count_once(note.is_unsolved, touched[k] && !is_solved_, note.unsolved);
    }
    if (!(*engine.model.disableflags & engine.constants.no_sensor)) tell_touch_sensors(touch_sensors, points, engine);
    remember();
}

bool PointStep::is_finite() const {
    const auto all_below = [](const double* values, int n) {
        return std::all_of(values, values + n, [](double x) { return std::fabs(x) <= GREATEST; });
    };
    return all_below(*engine.data.qpos, engine.model.nq) && all_below(*engine.data.qvel, engine.model.nv);
}

PointStep::Warnings PointStep::warnings() const {
    Warnings counts;
    for (std::size_t k = 0; k < counts.size(); ++k) counts[k] = engine.data.warning[2 * engine.constants.warnings[k] + 1];
    return counts;
}

/// What MuJoCo has warned of since the begin of the step.
Outcome PointStep::outcome() const {
    // Where MuJoCo begins anew, so do its counts: after the second time they are what they were. But time has gone back.
    if (*engine.data.time <= before_.time) return Outcome::RESET;
    const Warnings now = warnings(), &before = before_.warnings;
    if (now == before) return Outcome::DONE;
    for (int k = 0; k < 3; ++k)
        if (now[k] != before[k]) return Outcome::RESET;
    return now[3] != before[3] ? Outcome::BAD_CONTROL : Outcome::OVERFULL;
}

}  // namespace stiction::mujoco
