// Depth is taken back on positions: bodies that overlap move apart a little at the end of a step, and gain no speed.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "stepping/step.hpp"
#include "mujoco/point_step.hpp"

namespace stiction::mujoco {

/// Keep the greatest velocity of each tree at 1 m/s or 1 rad/s: what lies deep near a joint's axis must not turn it far.
void PointStep::slow_down(std::vector<double>& velocities) const {
    std::vector<double> fastest(engine.model.ntree, 1.0);
    const int* tree = *engine.model.dof_treeid;
    for (int dof = 0; dof < engine.model.nv; ++dof)
        fastest[tree[dof]] = std::max(fastest[tree[dof]], std::fabs(velocities[dof]));
    for (int dof = 0; dof < engine.model.nv; ++dof) velocities[dof] /= fastest[tree[dof]];
}

/// By which velocities some of the depth to which bodies overlap is taken back at the end of the step: their positions move
/// apart, their velocities stay.
void PointStep::lift() {
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
        const double depth = -distance, slow = std::min(share * depth / h, MAX_RECOVERY_SPEED);
        const double quick = std::min(share * std::max(depth - shallow, 0.0) / h, fastest);
        normals_.b[r] = is_deep(points[r]) ? -std::max(slow, quick) : std::max(distance, 0.0) / h;
        normals_.bounded[r] = {0.0, std::numeric_limits<double>::infinity()};
    }
    normals_.solve();
    scratch_.assign(engine.model.nv, 0.0);
    for (int r = 0; r < m; ++r) rows_.add_to(scratch_.data(), 3 * r, normals_.x[r]);
    met().solve(scratch_.data());
    slow_down(scratch_);
    if (!std::isfinite(std::accumulate(scratch_.begin(), scratch_.end(), 0.0))) return;  // wedged in beyond all measure
    for (int dof = 0; dof < engine.model.nv; ++dof) lift_[dof] += scratch_[dof];
    lifts_ = true;
}

}  // namespace stiction::mujoco
