#include "mujoco/point_contacts.hpp"

#include <numeric>

namespace stiction::mujoco {
namespace {

/// Groups of kinematic trees that a contact or a constraint connects (union-find). At first each tree is a group.
class TreeGroups {
  public:
    explicit TreeGroups(int n_trees) : parent_(n_trees) { std::iota(parent_.begin(), parent_.end(), 0); }

    /// The tree that represents the group of this one.
    int group(int tree) {
        while (parent_[tree] != tree) tree = parent_[tree] = parent_[parent_[tree]];
        return tree;
    }

    /// Make the groups of two trees one.
    void connect(int a, int b) { parent_[group(a)] = group(b); }

  private:
    std::vector<int> parent_;
};

/// MuJoCo's touch sensors measure only contacts that MuJoCo solves: add the forces of contacts with laws.
void add_to_touch_sensors(const std::vector<TouchSensor>& sensors, const std::vector<ContactPoint>& points,
                          const Engine& engine) {
    for (const TouchSensor& sensor : sensors) {
        double& value = (*engine.data.sensordata)[sensor.address];
        const double *position = *engine.data.site_xpos + 3 * sensor.site, *axes = *engine.data.site_xmat + 9 * sensor.site;
        const double* size = *engine.model.site_size + 3 * sensor.site;
        for (const ContactPoint& point : points) {
            if (!point.presses() || (point.body1 != sensor.body && point.body2 != sensor.body)) continue;
            const Vector out = (point.body1 == sensor.body ? -1.0 : 1.0) * point.z;
            const double at[3] = {point.position.x, point.position.y, point.position.z}, ray[3] = {out.x, out.y, out.z};
            if (engine.functions.rayGeom(position, axes, size, at, ray, sensor.shape, nullptr) >= 0.0)
                value += point.impulse.x / *engine.model.timestep;
        }
        if (sensor.cutoff > 0.0) value = std::min(value, sensor.cutoff);
    }
}

/// The laws of all keys, then the same without friction.
std::vector<PairLaw> with_frictionless(std::vector<PairLaw> laws) {
    const std::size_t n = laws.size();
    for (std::size_t k = 0; k < n; ++k) laws.push_back(laws[k].without_friction());
    return laws;
}

}  // namespace

PointContacts::PointContacts(const Engine& engine, const Kinematics& kinematics, const FreeMotion& free_motion,
                             std::vector<PairLaw> laws, PairTable table, const Settings& settings, std::function<void()> repeat)
    : statistics(laws.size()), uncovered(engine.model.nbody), memory(engine), engine_(engine), kinematics_(kinematics),
      free_motion_(free_motion), laws_(with_frictionless(std::move(laws))), settings_(settings),
      finder_(engine, kinematics, laws_, std::move(table), settings), repeat_(std::move(repeat)) {
    reset();
}

void PointContacts::reset() {
    memory.impulses.clear(), points.clear(), found_.clear();
    moved.reset(engine_);
}

void PointContacts::find(bool is_first) {
    for (PairStatistics& one : statistics) one.start(is_first);
    if (is_first) has_pressed_ = was_unsolved_ = false;
    is_solved_ = true, is_pending_ = false, rounds_ = 0;
    points.clear(), found_.clear();
    if (laws_.empty()) return;
    const std::vector<char> now = finder_.exclude();
    for (std::size_t body = 0; is_first && body < uncovered.size(); ++body) uncovered[body] += now[body];
    moved.update(engine_);
    found_ = finder_.find(moved);
    memory_at_start_ = memory.impulses;
}

void PointContacts::start() {
    if (found_.empty()) return;
    if (rounds_ > 0) memory.store(points);  // the next solution starts from this one
    form_groups(finder_.choose(found_, free_motion_.velocity.data(), memory));
    is_pending_ = n_groups_ > 0;
    is_solved_ = true;
    rounds_ = 0, least_error_ = std::numeric_limits<double>::infinity();
    points.clear();
}

/// Put points that joints, contacts or MuJoCo's constraints connect into one group, with these constraints.
void PointContacts::form_groups(PointFinder::Choice choice) {
    const auto tree_of = [&](const ContactPoint& point) {
        return std::max(kinematics_.tree(point.body1), kinematics_.tree(point.body2));
    };
    const int n_trees = engine_.model.ntree, n_rows = *engine_.data.nefc;
    TreeGroups trees(n_trees);
    for (const std::vector<ContactPoint>* some : {&choice.active, &choice.inactive})
        for (const ContactPoint& point : *some)
            if (const int a = kinematics_.tree(point.body1), b = kinematics_.tree(point.body2); a >= 0 && b >= 0)
                trees.connect(a, b);
    std::vector<int> row_tree(n_rows, n_trees > 0 ? 0 : -1);
    for (int k = 0; n_trees > 1 && k < n_rows; ++k) {
        int tree = -1;
        engine_.visit_row(k, [&](int dof, double) {
            const int next = (*engine_.model.dof_treeid)[dof];
            if (tree >= 0 && next != tree) trees.connect(tree, next);
            tree = next;
        });
        row_tree[k] = tree;
    }
    n_groups_ = 0;
    std::vector<int> number(n_trees, -1);  // of the group, by the tree that represents it
    for (const ContactPoint& point : choice.active) {
        int& group = number[trees.group(tree_of(point))];
        if (group < 0) {
            group = n_groups_++;
            if (n_groups_ > static_cast<int>(groups_.size()))
                groups_.push_back(std::make_unique<PointProblem>(context()));
            groups_[group]->clear();
        }
        groups_[group]->points.push_back(point);
    }
    for (const ContactPoint& point : choice.inactive)
        if (const int group = number[trees.group(tree_of(point))]; group >= 0) groups_[group]->inactive.push_back(point);
    for (int k = 0; k < n_rows; ++k) {
        const int group = row_tree[k] < 0 ? -1 : number[trees.group(row_tree[k])];
        if (group < 0) continue;  // it does not act on points
        groups_[group]->is_constrained = true;
        const bool is_cone = (*engine_.data.efc_type)[k] == engine_.constants.elliptic;  // left to the convergence loop
        if (!is_cone) groups_[group]->constraints.push_back(k);
    }
}

void PointContacts::solve() {
    if (!is_pending_) return;
    const bool is_new = rounds_++ == 0;
    is_solved_ = true, work_ = 0.0, residual_ = 0.0;
    points.clear();
    for (int k = 0; k < n_groups_; ++k) {
        PointProblem& group = *groups_[k];
        const int before = group.n_newton;
        if (is_new) group.write();
        const bool solved = solve_points(group, settings_);
        newton_steps += group.n_newton - before;
        is_solved_ = is_solved_ && solved;
        if (!solved) residual_ = std::max(residual_, group.residual());
        work_ += group.energy_gained(group.friction.x);
        points.insert(points.end(), group.points.begin(), group.points.end());
    }
}

void PointContacts::apply(AppliedForces& forces) const {
    const double per_time = 1 / engine_.timestep();
    for (const ContactPoint& point : points) {
        const Vector force = per_time * point.world_impulse();
        if (force.x == 0.0 && force.y == 0.0 && force.z == 0.0) continue;
        for (const auto& [body, side] : {std::pair{point.body1, 1.0}, std::pair{point.body2, -1.0}}) {
            if (kinematics_.is_fixed(body)) continue;
            const Vector f = side * force;
            Vector torque = cross(point.position - vector_from(*engine_.data.xipos + 3 * body), f);
            if (point.is_soft()) torque += (side * per_time) * point.world_torque();
            forces.add(body, f, torque);
        }
    }
}

bool PointContacts::converged() {
    if (!is_pending_) return true;
    const bool is_constrained = std::any_of(points.begin(), points.end(), [](const ContactPoint& p) { return p.constrained; });
    if (is_constrained && (!is_solved_ || has_gained_energy())) limit_energy();
    const double error = is_solved_ ? prediction_error() : 0.0;  // the guards' impulses are taken as they are
    if (error > least_error_) {                                  // an earlier round was better
        points.swap(best_);
        repeat_();
    } else if (error > settings_.converged && rounds_ < settings_.max_rounds / 3) {
        best_ = points, least_error_ = error;
        return false;
    }
    is_pending_ = false;
    return true;
}

/// Difference of obtained and predicted velocities, relative to the change by impulses; the next round corrects it.
double PointContacts::prediction_error() {
    double error = 0.0, change = 0.0;
    for (int k = 0; k < n_groups_; ++k) {
        if (!groups_[k]->is_uncertain()) continue;
        const PointProblem::PredictionError found = groups_[k]->compare(*engine_.data.qvel);
        error = std::max(error, found.error), change = std::max(change, found.change);
    }
    return change > 0.0 ? error / change : 0.0;
}

/// Whether there is far more motion than before the step, and than without contacts and constraints.
bool PointContacts::has_gained_energy() const {
    constexpr double far_more = 4.0;
    const double now = engine_.kinetic_energy(*engine_.data.qvel);
    return now > far_more * engine_.kinetic_energy(free_motion_.before.data()) &&
           now > far_more * engine_.kinetic_energy(free_motion_.velocity.data());
}

/// The prediction may be far from what MuJoCo's own constraints do. Where there is more motion than before, apply as much of
/// the impulses as leaves no more motion than there is without them.
void PointContacts::limit_energy() {
    if (engine_.kinetic_energy(*engine_.data.qvel) <= engine_.kinetic_energy(free_motion_.before.data())) return;
    const std::vector<ContactPoint> found = points;
    double without = -1.0;
    bool is_limited = false;
    for (const double share : {0.0, 1.0, 0.3, 0.1, 0.0}) {
        for (std::size_t k = 0; k < points.size(); ++k)
            if (points[k].constrained && (is_solved_ || points[k].guarded)) {
                points[k].impulse = share * found[k].impulse;
                points[k].torque = share * found[k].torque;
            }
        repeat_();
        const double energy = engine_.kinetic_energy(*engine_.data.qvel);
        if (without < 0.0)
            without = energy;
        else if (energy <= without)
            break;
        else
            is_limited = true;
    }
    is_solved_ = is_solved_ && !is_limited;
}

void PointContacts::commit(bool /*is_first*/) {
    if (points.empty()) {
        memory.impulses.clear();
        return;
    }
    count_once(has_pressed_, true, contact_steps);
    add_statistics();
    run.add(points, is_solved_ ? 0.0 : residual_);
    if (!engine_.is_disabled(engine_.constants.no_sensor)) add_to_touch_sensors(touch_sensors, points, engine_);
    memory.store(points);
}

void PointContacts::add_statistics() {
    std::vector<char> pressed(statistics.size()), outside(statistics.size());
    for (const ContactPoint& point : points) {
        if (!point.presses()) continue;
        PairStatistics& one = statistics[point.key];
        ++one.n_pressing, one.n_slipping += point.slips, pressed[point.key] = 1;
        one.force += point.world_impulse(), one.moment += cross(point.position, point.world_impulse());
        one.moment += point.world_torque();
        if (point.outside) outside[point.key] = 1;
    }
    count_once(was_unsolved_, !is_solved_, unsolved);
    for (std::size_t k = 0; k < statistics.size(); ++k) {
        PairStatistics& one = statistics[k];
        count_once(one.has_pressed, pressed[k], one.steps);
        count_once(one.is_outside, outside[k], one.outside);
        count_once(one.is_unsolved, pressed[k] && !is_solved_, one.unsolved);
    }
}

void PointContacts::recover_penetration() {
    if (points.empty()) return;
    std::vector<double> velocities(engine_.model.nv, 0.0);
    bool recovers = false;
    for (int k = 0; k < n_groups_; ++k) recovers = groups_[k]->add_recovery(velocities) || recovers;
    if (recovers)
        engine_.functions.integratePos(engine_.model_address, *engine_.data.qpos, velocities.data(), engine_.timestep());
}

}  // namespace stiction::mujoco
