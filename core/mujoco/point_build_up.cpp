// Impacts whose impulses come in parts: friction follows the slip while they build up.
#include <algorithm>
#include <cmath>

#include "mujoco/point_step.hpp"

namespace stiction::mujoco {

/// In how many parts the impulses of this impact come: the most that a law of a point that bounces asks for.
int PointStep::parts() const {
    int most = 1;
    for (const TouchingPoint& point : points)
        if (point.rebound > 0.0) most = std::max(most, laws_[point.law].parts);
    return most;
}

/// Solve for impulses that come in parts, from none. Each part brings the velocities along the normals an equal share
/// nearer to those that are wanted; its friction is limited by its own loads, with the coefficient of the slip that the parts
/// before have left, and opposes the slip after it. False if not all parts were solved.
bool PointStep::build_up(int parts) {
    const int n = point_rows(), all = rows_.size(), count = static_cast<int>(points.size());
    const double h = timestep();
    const std::vector<double> right = problem_.b;
    const std::vector<Bounds> bounds = problem_.bounded;
    const std::vector<SlidingPoint> whole = problem_.points;
    std::vector<double> total(all, 0.0), now(n);
    bool solved = true;
    problem_.timestep = h / parts;
    for (int part = 1; part <= parts; ++part) {
        for (int row = 0; row < n; ++row) now[row] = velocity_after(total, row);
        for (int k = 0; k < count; ++k) {
            const int z = 3 * k;
            const double wanted = points[k].rebound > 0.0 ? points[k].rebound : -std::max(points[k].distance, 0.0) / h;
            const double goal = wanted - std::max(0.0, wanted - w_free_[z]) * (parts - part) / parts;
            problem_.b[z] = now[z] - goal, problem_.b[z + 1] = now[z + 1], problem_.b[z + 2] = now[z + 2];
            const double fixed = std::max(0.0, whole[k].fixed) / parts;
            problem_.points[k] = whole[k].map->at(std::hypot(now[z + 1], now[z + 2]), fixed, h / parts);
        }
        for (int row = n; row < all; ++row) {
            problem_.b[row] = right[row];
            for (int c = 0; c < all; ++c) problem_.b[row] += problem_.A[row][c] * total[c];
            problem_.bounded[row - n] = {bounds[row - n].low - total[row], bounds[row - n].high - total[row]};
        }
        std::fill(problem_.x.begin(), problem_.x.end(), 0.0);
        solved = solve_problem(0.5) && solved;
        limit_friction(1.0);
        for (int row = 0; row < all; ++row) total[row] += problem_.x[row];
    }
    problem_.timestep = h;
    problem_.b = right, problem_.bounded = bounds, problem_.points = whole, problem_.x = total;
    return solved;
}

}  // namespace stiction::mujoco
