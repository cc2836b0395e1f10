// The frictionless part of a group's contact problem: normal impulses for given friction, and penetration recovery.
#include <numeric>

#include "mujoco/point_problem.hpp"
#include "stepping/step.hpp"

namespace stiction::mujoco {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

/// Limit the greatest velocity of each tree to 1 m/s or 1 rad/s: deep penetration near a joint's axis must not turn it far.
void limit_speeds(const Model& model, std::vector<double>& velocities) {
    std::vector<double> fastest(model.ntree, 1.0);
    const int* tree = *model.dof_treeid;
    for (int dof = 0; dof < model.nv; ++dof) fastest[tree[dof]] = std::max(fastest[tree[dof]], std::fabs(velocities[dof]));
    for (int dof = 0; dof < model.nv; ++dof) velocities[dof] /= fastest[tree[dof]];
}

}  // namespace

/// Set up the problem of normal impulses alone, together with the constraints.
void PointProblem::start_normals() {
    const int m = static_cast<int>(points.size()), n = point_rows(), others = rows_.size() - n;
    normals_.resize(0, m + others, 0, is_dense_);
    normals_.timestep = timestep();
    normals_.symmetric = friction.symmetric;
    const auto row = [&](int k) { return k < m ? 3 * k : n + k - m; };
    for (int r = 0; r < m + others; ++r) {
        for (int c = 0; is_dense_ && c < m + others; ++c) normals_.A[r][c] = friction.A[row(r)][row(c)];
        normals_.bounded[r] = r < m ? Bounds{0.0, INFINITE} : friction.bounded[r - m];
        normals_.b[r] = friction.b[row(r)];
        normals_.x[r] = friction.x[row(r)];
    }
    if (is_dense_) return;
    normal_rows_.clear();
    for (int r = 0; r < m + others; ++r) {
        const std::span<const int> dofs = white_.dofs(row(r));
        std::copy_n(white_.numbers(row(r)), dofs.size(), normal_rows_.add(dofs));
    }
    set_up_condensed(condensed_normals_, normals_, normal_rows_);
    for (int k = 0; k < m; ++k) condensed_normals_.compliance[k] = softness(3 * k) + context_.settings.fine * diagonal_[3 * k];
}

bool PointProblem::solve_normals() {
    return is_dense_ ? normals_.solve() : condensed_normals_.solve(normals_, context_.settings);
}

void PointProblem::find_normal_impulses() {
    start_normals();
    std::vector<double> x = friction.x;
    for (std::size_t k = 0; k < points.size(); ++k) x[3 * k] = 0.0;
    std::fill(x.begin() + point_rows(), x.end(), 0.0);
    const std::vector<double> w = responses_to(x, point_rows());
    for (std::size_t k = 0; k < points.size(); ++k) normals_.b[k] += w[3 * k];
    solve_normals();
    for (std::size_t k = 0; k < points.size(); ++k) friction.x[3 * k] = std::max(0.0, normals_.x[k]);
    std::copy(normals_.x.begin() + points.size(), normals_.x.end(), friction.x.begin() + point_rows());
}

bool PointProblem::add_recovery(std::vector<double>& velocities) {
    // A tenth of the depth in a step; but up to 1 mm at most at 1 mm/s, as in a rollout and in DART, and deeper penetration,
    // as it may be at the start, at most at 0.1 m/s.
    constexpr double shallow = 1e-3, share = 0.1, fastest = 0.1, settled = 1e-9;
    constexpr double compliance = 0.01;  // of the inverse effective inertia: bodies that are wedged in are not forced apart
    const auto is_deep = [](const ContactPoint& point) { return point.distance < -settled; };
    if (std::none_of(points.begin(), points.end(), is_deep)) return false;
    const double h = timestep();
    const int m = static_cast<int>(points.size());
    constraints.clear();  // they do not act on positions
    rows_.drop(rows_.size() - point_rows()), white_.drop(white_.size() - point_rows());
    start_normals();
    for (int r = 0; r < m; ++r) {
        const double own = compliance * (diagonal_[3 * r] + diagonal_[3 * r + 1] + diagonal_[3 * r + 2]);
        if (is_dense_)
            normals_.A[r][r] += own;
        else
            condensed_normals_.compliance[r] = own;
        const double distance = points[r].distance, depth = -distance, slow = std::min(share * depth / h, MAX_RECOVERY_SPEED);
        const double quick = std::min(share * std::max(depth - shallow, 0.0) / h, fastest);
        normals_.b[r] = is_deep(points[r]) ? -std::max(slow, quick) : std::max(distance, 0.0) / h;
        normals_.bounded[r] = {0.0, INFINITE}, normals_.x[r] = 0.0;
    }
    solve_normals();
    const Model& model = context_.engine.model;
    std::vector<double> recovery(model.nv, 0.0);
    for (int r = 0; r < m; ++r) rows_.add_to(recovery.data(), 3 * r, normals_.x[r]);
    context_.free_motion.effective_inertia().solve(recovery.data());
    limit_speeds(model, recovery);
    if (!std::isfinite(std::accumulate(recovery.begin(), recovery.end(), 0.0))) return false;  // jammed bodies
    for (int dof = 0; dof < model.nv; ++dof) velocities[dof] += recovery[dof];
    return true;
}

}  // namespace stiction::mujoco
