// Points in groups that do not feel each other: each is a problem of its own, so that many bodies cost little, and what
// one group does is no concern of the others.
#include <algorithm>
#include <cmath>

#include "mujoco/point_step.hpp"

namespace stiction::mujoco {
namespace {

constexpr int MOST_PASSES = 4;  // in which points that waited come to press

}  // namespace

/// Put points that joints, contacts or MuJoCo's constraints connect into one group, with these constraints.
void PointStep::form_groups() {
    const int ntree = engine.model.ntree, rows = *engine.data.nefc;
    const auto tree_of = [&](int body) {
        return chains_[body].empty() ? -1 : (*engine.model.dof_treeid)[chains_[body].front()];
    };
    const auto one_tree = [&](const TouchingPoint& point) { return std::max(tree_of(point.own), tree_of(point.other)); };
    trees_.begin(ntree);
    for (const std::vector<TouchingPoint>* some : {&points, &waiting_})
        for (const TouchingPoint& point : *some)
            if (const int a = tree_of(point.own), b = tree_of(point.other); a >= 0 && b >= 0) trees_.connect(a, b);
    std::vector<int> row_tree(rows, ntree > 0 ? 0 : -1);
    if (ntree > 1) {
        for (int k = 0; k < rows; ++k) {
            int tree = -1;
            engine.look_at_row(k, [&](int dof, double) {
                const int next = (*engine.model.dof_treeid)[dof];
                if (tree >= 0 && next != tree) trees_.connect(tree, next);
                tree = next;
            });
            row_tree[k] = tree;
        }
    }
    groups_.clear();
    std::vector<int> number(ntree, -1);  // of the group, by the tree that stands for it
    for (const TouchingPoint& point : points) {
        int& group = number[trees_.group(one_tree(point))];
        if (group < 0) group = static_cast<int>(groups_.size()), groups_.emplace_back();
        groups_[group].points.push_back(point);
    }
    for (const TouchingPoint& point : waiting_)
        if (const int group = number[trees_.group(one_tree(point))]; group >= 0) groups_[group].waiting.push_back(point);
    constrained_ = false;
    for (int k = 0; k < rows; ++k) {
        if (row_tree[k] < 0) continue;
        const int group = number[trees_.group(row_tree[k])];
        if (group < 0) continue;  // no point feels it
        constrained_ = groups_[group].is_constrained = true;
        const bool is_cone = (*engine.data.efc_type)[k] == engine.constants.elliptic;  // left to the rounds
        if (!is_cone) groups_[group].constraints.push_back(k);
    }
}

/// Solve one group after the other. first: whether their problems are not written yet
void PointStep::solve_groups(bool first) {
    is_solved_ = true, lifts_ = false, work_ = 0.0;
    lift_.assign(engine.model.nv, 0.0);
    std::vector<TouchingPoint> all;
    for (Group& group : groups_) {
        points.swap(group.points), waiting_.swap(group.waiting), constraints_.swap(group.constraints);
        spent_steps_ = group.spent_steps;
        if (first || groups_.size() > 1) {  // else it is still there
            write_rows();
            write_problem();
        }
        bool solved = solve();
        for (int pass = 1; pass <= MOST_PASSES && solved && admit_waiting(pass == MOST_PASSES); ++pass) solved = solve();
        is_solved_ = is_solved_ && solved;
        group.spent_steps = spent_steps_;
        for (TouchingPoint& point : points) point.constrained = group.is_constrained, point.guarded = !solved;
        conclude();
        all.insert(all.end(), points.begin(), points.end());
        points.swap(group.points), waiting_.swap(group.waiting), constraints_.swap(group.constraints);
    }
    points.swap(all);
}

/// Note what is foreseen for the points of a group that was solved.
void PointStep::conclude() {
    work_ += gained(problem_.x);
    lift();
    for (std::size_t k = 0; k < points.size(); ++k) {
        TouchingPoint& point = points[k];
        point.outside = point.slips && !laws_[point.law].map.covers(problem_.points[k], point.impulse.x, timestep());
        if (!is_uncertain()) continue;
        double expected[3], change = 0.0;
        for (int d = 0; d < 3; ++d) {
            const int row = static_cast<int>(3 * k) + d;
            expected[d] = velocity_after(problem_.x, row);
            change = std::max(change, std::fabs(expected[d] - w_free_[row]));
        }
        point.expected = vector_from(expected), point.change = change;
    }
}

/// By how much the velocities came out otherwise than was foreseen, relative; the next round takes it into account.
double PointStep::unforeseen() {
    if (!is_uncertain()) return 0.0;
    double wrong = 0.0, size = 0.0;
    for (Group& group : groups_) {
        for (std::size_t k = 0; k < group.points.size(); ++k) {
            TouchingPoint& point = group.points[k];
            const Vector w = velocity_of(point, *engine.data.qvel);
            const Vector d = Vector{dot(w, point.z), dot(w, point.x), dot(w, point.y)} - point.expected;
            wrong = std::max({wrong, std::fabs(d.x), std::fabs(d.y), std::fabs(d.z)}), size = std::max(size, point.change);
            point.unforeseen += d;
            if (groups_.size() == 1) w_free_[3 * k] += d.x, w_free_[3 * k + 1] += d.y, w_free_[3 * k + 2] += d.z;
        }
    }
    return size > 0.0 ? wrong / size : 0.0;
}

}  // namespace stiction::mujoco
