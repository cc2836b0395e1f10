#include "multibody/robot_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stiction {
namespace {

constexpr double GREATEST = 1e10;   // MuJoCo takes no greater number in a state
constexpr double FORESEEN = 1e-9;   // relative error of the velocity after the step that ends the rounds

Vector rotated(const Quaternion& q, const Vector& v) {
    const Vector axis{q.x, q.y, q.z}, t = 2.0 * cross(axis, v);
    return v + q.w * t + cross(axis, t);
}

bool all_below(std::span<const double> values, double most) {
    return std::all_of(values.begin(), values.end(), [most](double x) { return std::fabs(x) <= most; });
}

}  // namespace

RobotStep::RobotStep(std::shared_ptr<Links> links, const EngineArrays& engine, std::vector<PlacedLink> placed,
                     Ground ground, double tolerance, std::vector<std::array<int, 2>> spins)
    : notes(placed.size()), last(placed.size()), rise(engine.qvel.size()), before(engine.qpos.size()), links_(std::move(links)),
      engine_(engine), placed_(std::move(placed)), ground_(std::move(ground)), tolerance_(tolerance), spins_(std::move(spins)) {}

bool RobotStep::is_finite() const { return all_below(engine_.qpos, GREATEST) && all_below(engine_.qvel, GREATEST); }

int RobotStep::touch(double timestep, bool is_first) {
    withdraw();  // where the last step was not finished
    links_->set_timestep(timestep);
    std::copy(engine_.qpos.begin(), engine_.qpos.end(), before.begin());
    for (std::size_t i = 0; i < placed_.size(); ++i) {
        if (is_first) notes[i].begin_step();
        place(static_cast<int>(i));
    }
    const int n = links_->touch([&](int i) -> const Vector& { return placed_[i].position; },
                                [&](int i) -> const Rotation& { return placed_[i].rotation; });
    touching_.clear();
    std::vector<Wrench> kept(placed_.size());
    for (const Contact& c : links_->contacts()) kept[c.index] = last[c.index];
    last.swap(kept);  // what does not touch has none
    for (Contact& c : links_->contacts()) {
        touching_.push_back(&placed_[c.index]);
        c.before = twist_of(engine_, placed_[c.index]);
    }
    return n;
}

/// Find where a link is, and on which plane it stands.
void RobotStep::place(int i) {
    PlacedLink& link = placed_[i];
    const double* R = engine_.xmat + 9 * link.body;
    const auto row = [&](const double* r) {
        return Vector{r[0] * link.frame.x.x + r[1] * link.frame.y.x + r[2] * link.frame.z.x,
                      r[0] * link.frame.x.y + r[1] * link.frame.y.y + r[2] * link.frame.z.y,
                      r[0] * link.frame.x.z + r[1] * link.frame.y.z + r[2] * link.frame.z.z};
    };
    link.rotation = {row(R), row(R + 3), row(R + 6)};
    link.position = vector_from(engine_.xipos + 3 * link.body);
    link.plane = ground_.touched(i, links_->hull(i), link.position, link.rotation);
    link.turned = false;
    if (link.plane < 0) {
        link.position.z = std::numeric_limits<double>::infinity();  // above all that it could touch
        return;
    }
    const GroundPlane& plane = ground_.plane(link.plane);
    if (!plane.level) {
        link.turned = true;
        link.axes = plane.axes;
        link.position = plane.axes * link.position;
        link.rotation = plane.axes * link.rotation;
    }
    link.position.z -= plane.height;
}

std::vector<Vector> RobotStep::points(int link) const {
    std::vector<Vector> found;
    const PlacedLink& own = placed_[link];
    for (const Contact& c : links_->contacts())
        for (int k = 0; c.index == link && k < c.count; ++k) {
            Vector p = own.position + c.point(k);
            p.z += ground_.plane(own.plane).height;
            found.push_back(own.turned ? own.axes.inverse(p) : p);
        }
    return found;
}

Progress RobotStep::contact_part(const EngineConstraints& constraints, double timestep, bool damps, int round) {
    if (!find_linear(constraints, timestep, damps)) return Progress::UNKNOWN;
    Progress progress = Progress::DONE;
    if (!came_true(round)) {
        solve();
        progress = apply(timestep, constraints.count > 0, round);
    }
    if (progress == Progress::DONE) plan_rise(timestep);
    return progress;
}

bool RobotStep::find_linear(const EngineConstraints& constraints, double timestep, bool damps) {
    return linear_.find(engine_, constraints, touching_, timestep, damps);
}

/// By how much twists (6 n,) differ from those that there are, relative to what the impulses change.
double RobotStep::error_of(const std::vector<double>& twists) const {
    const std::vector<double>& V = linear_.V;
    double wrong = 0.0, size = 0.0;
    for (std::size_t k = 0; k < V.size(); ++k) {
        wrong = std::max(wrong, std::fabs(V[k] - twists[k]));
        size = std::max(size, std::fabs(V[k] - V_free_[k]));
    }
    return wrong > 0.0 ? wrong / size : 0.0;
}

bool RobotStep::came_true(int round) {
    const std::vector<double>& V = linear_.V;
    if (round > 0 && (error = error_of(foreseen)) <= FORESEEN) return true;
    V_free_ = V;  // less what the impulses do that are applied now
    if (round > 0) {
        scratch_.resize(V.size());
        multiply(linear_.L, impulse_.data(), scratch_.data());
        for (std::size_t k = 0; k < V.size(); ++k) V_free_[k] -= scratch_[k];
    }
    return false;
}

Progress RobotStep::apply(double timestep, bool answers, int round, double share) {
    const Solution& solution = links_->algorithm2().solution();
    evaluations_ = solution.evaluations + (round > 0 ? evaluations_ : 0);
    if (share == 1.0)
        impulse_ = solution.impulse;
    else
        for (std::size_t k = 0; k < impulse_.size(); ++k) impulse_[k] += share * (solution.impulse[k] - impulse_[k]);
    foreseen = foreseen_with(impulse_);
    apply_impulses(timestep, round == 0);
    return !answers || round == MOST_ROUNDS - 1 ? Progress::DONE : Progress::AGAIN;
}

/// Apply forces that bring `impulse_`. is_first: whether none of ours are applied yet
void RobotStep::apply_impulses(double timestep, bool is_first) {
    applied_.resize(touching_.size());
    for (std::size_t i = 0; i < touching_.size(); ++i) {
        double* forces = engine_.xfrc_applied + 6 * touching_[i]->body;
        if (is_first) std::copy(forces, forces + 6, applied_[i].begin());
        double impulse[6];
        write(touching_[i]->to_world(wrench_from(&impulse_[6 * i])), impulse);
        for (int k = 0; k < 6; ++k) forces[k] = applied_[i][k] + impulse[k] / timestep;
    }
}

void RobotStep::begin_with_last(double timestep) {
    const Contacts contacts = links_->contacts();
    impulse_.resize(6 * touching_.size());
    for (std::size_t i = 0; i < touching_.size(); ++i)
        write(touching_[i]->to_plane(last[contacts[static_cast<int>(i)].index]), &impulse_[6 * i]);
    foreseen.assign(impulse_.size(), std::numeric_limits<double>::infinity());  // nothing was
    V_free_.assign(impulse_.size(), 0.0);
    evaluations_ = 0;
    apply_impulses(timestep, true);
}

bool RobotStep::is_applied() {
    const Solution& solution = links_->algorithm2().solution();
    if (error_of(foreseen_with(solution.impulse)) > FORESEEN) return false;
    evaluations_ += solution.evaluations;
    return true;
}

/// Twists of the touching links after the step with these impulses, (6 n,).
std::vector<double> RobotStep::foreseen_with(const std::vector<double>& impulse) const {
    std::vector<double> twists(impulse.size());
    multiply(linear_.L, impulse.data(), twists.data());
    for (std::size_t k = 0; k < twists.size(); ++k) twists[k] += V_free_[k];
    return twists;
}

void RobotStep::plan_rise(double timestep) {
    double deepest = 0.0;
    for (const Contact& c : links_->contacts()) deepest = std::max(deepest, c.depth);
    std::fill(rise.begin(), rise.end(), 0.0);
    if (deepest >= NEGLIGIBLE_DEPTH) {
        scratch_.resize(V_free_.size());
        links_->algorithm2().balance().separate({RECOVERY_SHARE / timestep, MAX_RECOVERY_SPEED}, scratch_.data());
        multiply(linear_.R, scratch_.data(), rise.data());
    }
}

bool RobotStep::finish(double timestep) {
    const std::span<double> qpos = engine_.qpos, qvel = engine_.qvel;
    bool raised = false;
    for (std::size_t k = 0; k < rise.size(); ++k) {
        raised = raised || rise[k] != 0.0;
        rise[k] += qvel[k];
    }
    if (raised && qpos.size() == qvel.size())
        for (std::size_t k = 0; k < qpos.size(); ++k) qpos[k] = before[k] + timestep * rise[k];
    withdraw();
    const Solution& solution = links_->algorithm2().solution();
    const Contacts contacts = links_->contacts();
    for (int i = 0; i < contacts.size(); ++i) {
        const Contact& c = contacts[i];
        ContactNote& note = notes[c.index];
        note.add(solution.mode[i], c.kind, touching_[i]->to_world(wrench_from(&impulse_[6 * i])), impulse_[6 * i + 2]);
        note.evaluations += evaluations_, note.asked += evaluations_;
        count_once(note.is_unsolved, !solution.solved, note.unsolved);
        count_once(note.is_outside, solution.outside[i] != 0, note.outside);
        note.asked_at = touching_[i]->to_world(c.velocity);
        last[c.index] = touching_[i]->to_world(wrench_from(&solution.impulse[6 * i]));
    }
    return raised && qpos.size() > qvel.size();
}

void RobotStep::withdraw() {
    for (std::size_t i = 0; i < applied_.size(); ++i)
        std::copy(applied_[i].begin(), applied_[i].end(), engine_.xfrc_applied + 6 * touching_[i]->body);
    applied_.clear();
}

void RobotStep::take_positions() {
    const std::span<double> qpos = engine_.qpos, qvel = engine_.qvel;
    for (const auto& [place, dof] : spins_) {
        const Quaternion old = quaternion_from(&qpos[place]), now = quaternion_from(&before[place]);
        write(rotated({now.w, -now.x, -now.y, -now.z}, rotated(old, vector_from(&qvel[dof]))), &qvel[dof]);
    }
    std::copy(before.begin(), before.end(), qpos.begin());
}

void RobotStep::forget() {
    std::fill(notes.begin(), notes.end(), ContactNote{});
    std::fill(last.begin(), last.end(), Wrench{});
}

}  // namespace stiction
