// A step of MuJoCo with contacts by laws, from its begin to its end.
#include <algorithm>
#include <cmath>
#include <limits>

#include "../step.hpp"
#include "point_step.hpp"

namespace stiction::mujoco {
namespace {

constexpr double GREATEST = 1e10;         // MuJoCo takes no greater number in a state
constexpr int MOST_ROUNDS = 4;            // in which what was not foreseen is corrected
constexpr double FORESEEN = 1e-9;         // relative error of the velocities after the step that ends the rounds
constexpr int MOST_PASSES = 4;            // in which points that waited come to press

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
        if ((*engine.model.body_mocapid)[body] >= 0) moved.push_back({static_cast<double>(body), {}, {}, -1.0, 0.0, {}, {}});
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
    if (integrator != known.euler && integrator != known.implicit && integrator != known.implicitfast) return Outcome::OTHER_INTEGRATOR;
    if (!(timestep() > 0.0 && timestep() < GREATEST)) return Outcome::NO_TIMESTEP;
    return *engine.model.enableflags & known.sleep ? Outcome::SLEEP : Outcome::DONE;
}

Outcome PointStep::step() {
    if (const Outcome why = refusal(); why != Outcome::DONE) return why;
    try {
        return whole_step();
    } catch (...) {
        withdraw();
        throw;
    }
}

Outcome PointStep::whole_step() {
    const Warnings before = warnings();
    for (PairNote& note : notes) note.touching = note.slipping = 0, std::fill_n(note.force, 3, 0.0), std::fill_n(note.moment, 3, 0.0);
    positions_and_velocities();
    look_at_moved_bodies();
    find_points();
    if (!points.empty()) {
        engine.run(engine.functions.fwdActuation), engine.run(engine.functions.fwdAcceleration);
        free_motion();
        write_rows();
        choose_points();
    }
    if (points.empty()) {
        memory.clear();
        engine.run(engine.functions.step2);
        if (forces_wanted) engine.run(engine.functions.rnePostConstraint);
        return outcome(before);
    }
    spent_steps_ = 0;
    write_problem();
    ++contact_steps;
    for (int round = 0; round < MOST_ROUNDS; ++round) {
        ++rounds;
        solve();
        for (int pass = 1; pass <= MOST_PASSES && is_solved_ && admit_waiting(pass == MOST_PASSES); ++pass) solve();
        apply();
        engine.run(engine.functions.step2);
        if (!is_solved_ && !(constraints_.empty() && !cones_)) hold_energy();
        if (outcome(before) == Outcome::RESET) {
            applied_.clear();  // all forces are gone
            return Outcome::RESET;
        }
        if (round == MOST_ROUNDS - 1 || !is_solved_ || foreseen()) break;  // the guards' impulses are taken as they are
        go_back();
    }
    if (forces_wanted) engine.run(engine.functions.rnePostConstraint);
    withdraw();
    finish();
    raise();
    return outcome(before);
}

/// The first half of MuJoCo's step, as mj_step1 does it, but for the contacts with laws, which are left out.
void PointStep::positions_and_velocities() {
    const Functions& f = engine.functions;
    const bool energy = *engine.model.enableflags & engine.constants.energy;
    for (const Stage stage : {f.fwdKinematics, f.makeM, f.factorM, f.collision}) engine.run(stage);
    leave_out();
    for (const Stage stage : {f.makeConstraint, f.island, f.projectConstraint, f.transmission, f.sensorPos}) engine.run(stage);
    if (energy) engine.run(f.energyPos);
    engine.run(f.fwdVelocity), engine.run(f.sensorVel);
    if (energy) engine.run(f.energyVel);
    if (*f.control && !(*engine.model.disableflags & engine.constants.no_actuation)) engine.run(*f.control);
}

/// What the guards foresaw may be far from what MuJoCo's own constraints do. Where there is more motion than before, take
/// as much of the impulses as leaves no more than there is without them.
void PointStep::hold_energy() {
    if (kinetic_energy(*engine.data.qvel) <= kinetic_energy(v_before_.data())) return;
    const std::vector<TouchingPoint> guarded = points;
    double without = -1.0;
    for (const double share : {0.0, 1.0, 0.3, 0.1, 0.0}) {
        for (std::size_t k = 0; k < points.size(); ++k) points[k].impulse = share * guarded[k].impulse;
        go_back();
        apply();
        engine.run(engine.functions.step2);
        const double energy = kinetic_energy(*engine.data.qvel);
        if (without < 0.0)
            without = energy;
        else if (energy <= without)
            return;
    }
}

double PointStep::kinetic_energy(const double* velocities) {
    scratch_.resize(engine.model.nv);
    engine.functions.mulM(engine.model_address, engine.data_address, scratch_.data(), velocities);
    double total = 0.0;
    for (int dof = 0; dof < engine.model.nv; ++dof) total += 0.5 * scratch_[dof] * velocities[dof];
    return total;
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
        const Vector& p = point.impulse;
        const Vector force = per_time * (p.x * point.z + p.y * point.x + p.z * point.y);
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
    for (const Applied& one : applied_) std::copy(one.before.begin(), one.before.end(), *engine.data.xfrc_applied + 6 * one.body);
    applied_.clear();
}

/// Whether the velocities came out as was foreseen; if not, the difference is taken into account for the next round.
bool PointStep::foreseen() {
    if (constraints_.empty() && !cones_ && *engine.model.integrator == engine.constants.euler) return true;
    const int n = point_rows();
    double wrong = 0.0, size = 0.0;
    scratch_.assign(n, 0.0);
    for (int r = 0; r < n; ++r) {
        const TouchingPoint& point = points[r / 3];
        const double w = rows_.dot(r, *engine.data.qvel) + dot(point.surface, point.axis(r % 3));
        const double expected = velocity_after(problem_.x, r);
        scratch_[r] = w - expected;
        wrong = std::max(wrong, std::fabs(scratch_[r])), size = std::max(size, std::fabs(expected - w_free_[r]));
    }
    if (wrong <= FORESEEN * size) return true;
    for (int r = 0; r < n; ++r) w_free_[r] += scratch_[r];
    for (std::size_t k = 0; k < points.size(); ++k) points[k].unforeseen = points[k].unforeseen + vector_from(&scratch_[3 * k]);
    return false;
}

/// Note what became of the contacts.
void PointStep::finish() {
    std::vector<char> touched(notes.size()), outside(notes.size());
    for (std::size_t k = 0; k < points.size(); ++k) {
        const TouchingPoint& point = points[k];
        if (!(point.impulse.x > 0.0)) continue;
        PairNote& note = notes[point.law];
        ++note.touching, note.slipping += point.slips, touched[point.law] = 1;
        const Vector p = point.impulse.x * point.z + point.impulse.y * point.x + point.impulse.z * point.y;
        const Vector moment = cross(point.place, p);
        note.force[0] += p.x, note.force[1] += p.y, note.force[2] += p.z;
        note.moment[0] += moment.x, note.moment[1] += moment.y, note.moment[2] += moment.z;
        if (point.slips && !laws_[point.law].map.covers(problem_.points[k], point.impulse.x, timestep())) outside[point.law] = 1;
    }
    unsolved += !is_solved_;
    for (std::size_t k = 0; k < notes.size(); ++k) {
        notes[k].steps += touched[k], notes[k].outside += outside[k];
        notes[k].unsolved += touched[k] && !is_solved_;
    }
    if (!(*engine.model.disableflags & engine.constants.no_sensor)) tell_touch_sensors(touch_sensors, points, engine);
    remember();
}

void PointStep::remember() {
    memory.clear();
    for (const TouchingPoint& point : points) {
        if (!(point.impulse.x > 0.0)) continue;
        const double *R = *engine.data.xmat + 9 * point.own, *at = *engine.data.xipos + 3 * point.own;
        const Vector r = point.place - vector_from(at);
        const Vector p = point.impulse.x * point.z + point.impulse.y * point.x + point.impulse.z * point.y;
        memory.push_back({static_cast<double>(point.geom1), static_cast<double>(point.geom2),
                          {R[0] * r.x + R[3] * r.y + R[6] * r.z, R[1] * r.x + R[4] * r.y + R[7] * r.z,
                           R[2] * r.x + R[5] * r.y + R[8] * r.z},
                          {p.x, p.y, p.z}});
    }
}

/// Keep the greatest velocity of each tree at 1 m/s or 1 rad/s: what lies deep near a joint's axis must not turn it far.
void PointStep::slow_down(std::vector<double>& velocities) const {
    std::vector<double> fastest(engine.model.ntree, 1.0);
    const int* tree = *engine.model.dof_treeid;
    for (int dof = 0; dof < engine.model.nv; ++dof) fastest[tree[dof]] = std::max(fastest[tree[dof]], std::fabs(velocities[dof]));
    for (int dof = 0; dof < engine.model.nv; ++dof) velocities[dof] /= fastest[tree[dof]];
}

/// Take back some of the depth to which bodies overlap: their positions move apart, their velocities stay.
void PointStep::raise() {
    // A tenth in a step, but what is less than 1 mm deep at no more than 1 mm/s, as in a rollout and in DART, and what is
    // deeper, as it may be at the start, at no more than 0.1 m/s.
    constexpr double shallow = 1e-3, share = 0.1, fastest = 0.1, settled = 1e-9;
    constexpr double yield = 0.01;  // of a point's mobility: what cannot move, or is wedged in, is not forced
    const auto is_deep = [](const TouchingPoint& point) { return point.distance < -settled; };
    if (std::none_of(points.begin(), points.end(), is_deep)) return;
    const double h = timestep();
    const int m = static_cast<int>(points.size());
    normals_.resize(0, m);
    normals_.symmetric = true;
    for (int r = 0; r < m; ++r) {
        const double distance = points[r].distance;
        for (int c = 0; c < m; ++c) normals_.A[r][c] = problem_.A[3 * r][3 * c];
        for (int d = 0; d < 3; ++d) normals_.A[r][r] += yield * problem_.A[3 * r + d][3 * r + d];
        const double depth = -distance, deep = std::min(share * std::max(depth - shallow, 0.0) / h, fastest);
        normals_.b[r] = is_deep(points[r]) ? -std::max(std::min(share * depth / h, CORRECTION_SPEED), deep) : std::max(distance, 0.0) / h;
        normals_.bounded[r] = {0.0, std::numeric_limits<double>::infinity()};
    }
    normals_.solve();
    scratch_.assign(engine.model.nv, 0.0);
    for (int r = 0; r < m; ++r) rows_.add_to(scratch_.data(), 3 * r, normals_.x[r]);
    (damped_ ? effective_ : inertia_).solve(scratch_.data());
    slow_down(scratch_);
    engine.functions.integratePos(engine.model_address, *engine.data.qpos, scratch_.data(), h);
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

/// What MuJoCo has warned of since.
Outcome PointStep::outcome(const Warnings& before) const {
    const Warnings now = warnings();
    if (now == before) return Outcome::DONE;
    for (int k = 0; k < 3; ++k)
        if (now[k] != before[k]) return Outcome::RESET;
    return now[3] != before[3] ? Outcome::BAD_CONTROL : Outcome::OVERFULL;
}

}  // namespace stiction::mujoco
