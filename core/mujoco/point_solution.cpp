// The impulses at all points: exact where they are found, and guarded where they are not.
#include <algorithm>
#include <cmath>
#include <limits>

#include "mujoco/point_step.hpp"

namespace stiction::mujoco {
namespace {

constexpr double AT_REST = 1e-9;          // [m/s] a point that is slower does not slip
constexpr double EXACT_SPEED = 1e-13;     // [m/s] by which a held point may yield in the end
constexpr int MOST_REFINED = 3;           // times
constexpr double NEAR_ENOUGH = 1e-6;      // relative error of the velocities that is better than what guards leave
constexpr int FEW_STEPS = 12;             // after these are spent
constexpr int MANY = 200;                 // rows of the points of a large group
constexpr double YIELDS[] = {0.03, 3e-3, 1e-3};  // by which its points yield, each time less ...
constexpr double CLOSE = 1e-9;            // ... until no more than this is left, relative, if they hardly yield

}  // namespace

/// Solve for normal impulses alone, beside MuJoCo's constraints. b: velocities along the normals without them
bool PointStep::solve_normals(const std::vector<double>& b) {
    const int m = static_cast<int>(points.size()), n = point_rows(), others = rows_.size() - n;
    normals_.resize(0, m + others);
    normals_.timestep = timestep();
    normals_.symmetric = problem_.symmetric;
    const auto row = [&](int k) { return k < m ? 3 * k : n + k - m; };
    for (int r = 0; r < m + others; ++r) {
        for (int c = 0; c < m + others; ++c) normals_.A[r][c] = problem_.A[row(r)][row(c)];
        normals_.bounded[r] = r < m ? Bounds{0.0, std::numeric_limits<double>::infinity()} : problem_.bounded[r - m];
        normals_.b[r] = r < m ? b[r] : problem_.b[row(r)];
        normals_.x[r] = problem_.x[row(r)];
    }
    return normals_.solve();
}

/// Velocities without impulses, less those that are wanted. Points yield to what differs from `previous_`.
void PointStep::set_right_side() {
    for (int row = 0; row < point_rows(); ++row) {
        problem_.b[row] = w_free_[row] - proximal_[row] * previous_[row];
        if (row % 3 == 0) problem_.b[row] += std::max(points[row / 3].distance, 0.0) / timestep();
    }
}

/// Let each point yield by this share of its mobility to what differs from `previous_`.
void PointStep::set_yield(double share) {
    for (int row = 0; row < point_rows(); ++row) {
        proximal_[row] = share * mobility_[row];
        problem_.A[row][row] = (1 + softness_) * mobility_[row] + proximal_[row];
    }
    set_right_side();
}

/// Solve again, for points that yield only to what differs from the solution so far: once where they yielded much, and
/// where all is held until they hardly yield at all.
void PointStep::refine(bool coarse) {
    for (int time = 0; time < MOST_REFINED && spent_steps_ < most_steps_; ++time) {
        double yielded = 0.0;
        for (int row = 0; row < point_rows(); ++row)
            yielded = std::max(yielded, proximal_[row] * std::fabs(problem_.x[row] - previous_[row]));
        bool slips = false;
        for (int k = 0; k < problem_.size(); ++k) slips = slips || (problem_.slips(k) && problem_.x[3 * k] > 0.0);
        if (yielded < EXACT_SPEED || (slips && !(coarse && time == 0))) return;
        const std::vector<double> found = problem_.x;
        std::copy_n(found.begin(), point_rows(), previous_.begin());
        set_yield(FINE);
        if (!solve_problem()) {
            problem_.x = found;
            return;
        }
    }
}

/// Solve the problem as it stands, with this share of the steps of Newton's method that are left, or a few.
bool PointStep::solve_problem(double share) {
    problem_.most_steps = std::max(static_cast<int>(share * (most_steps_ - spent_steps_)), FEW_STEPS);
    const bool solved = problem_.solve();
    spent_steps_ += problem_.steps(), newton_steps += problem_.steps();
    return solved;
}

/// Whether the impulses that were found will do, though not to the last digits, as where links are jammed in many ways.
bool PointStep::is_near_enough() {
    if (problem_.error() > NEAR_ENOUGH) return false;
    limit_friction(1.0);
    return gained(problem_.x) <= 0.0 && is_moderate();
}

/// Solve for points that yield by this share of their mobility to what differs from `previous_`, in few tries.
bool PointStep::solve_boldly(double yield, int most_steps) {
    set_yield(yield);
    problem_.bold = true;
    problem_.most_steps = most_steps;
    const bool solved = problem_.solve();
    problem_.bold = false;
    spent_steps_ += problem_.steps(), newton_steps += problem_.steps();
    return solved;
}

/// Solve for many points, as of a pile: that is hard where they hardly yield, and easy where they yield a little, first to
/// what differs from the last step, then to what differs from the solution so far. False if not all laws are fulfilled.
bool PointStep::solve_many() {
    std::vector<double> found;
    for (const double yield : YIELDS) {
        if (!solve_boldly(yield, FEW_STEPS)) break;
        found = problem_.x;
        std::copy_n(found.begin(), point_rows(), previous_.begin());
        set_yield(FINE);
        if (problem_.measure() <= CLOSE) break;
    }
    if (!found.empty()) {
        if (solve_boldly(FINE, FEW_STEPS / 2)) return true;
        problem_.x = found;
        problem_.measure();
        if (is_near_enough()) return true;
        limit_friction(1.0);
        if (gained(problem_.x) <= 0.0 && is_moderate()) return false;  // still better than what guards leave
    }
    guard();
    return false;
}

/// Whether a point wants to separate.
bool PointStep::bounces() const {
    return std::any_of(points.begin(), points.end(), [](const TouchingPoint& point) { return point.rebound > 0.0; });
}

/// Solve for fewer points, or for some that bounce; false where the guards decided.
bool PointStep::solve_few() {
    set_yield(FINE);
    const bool bounces = this->bounces();
    bool solved = bounces ? solve_with_rebound() : solve_problem(0.5), coarse = false;
    if (!solved && !bounces) {
        // What yields more is easier to solve, and is refined then. It begins with no impulses: those of the last step may
        // press points against each other more than friction can now hold.
        std::fill(previous_.begin(), previous_.end(), 0.0);
        set_yield(COARSE);
        solved = solve_problem() || is_near_enough();
        coarse = true;
    }
    if (!solved) {
        set_right_side();  // nothing bounces where the guards decide
        guard();
        // What the guards leave is near enough to a solution that Newton's method mostly finds it from there.
        const std::vector<double> guarded = problem_.x;
        solved = !bounces && solve_problem();
        if (!solved) problem_.x = guarded;
    }
    if (solved && !bounces) refine(coarse);
    return solved;
}

/// Solve for the impulses at all points of a group; false where the guards decided.
bool PointStep::solve() {
    const bool solved = point_rows() >= MANY && !bounces() ? solve_many() : solve_few();
    // What is left of the equations may be more than a little of a light load. Parts of an impact have limits of their own.
    if (!bounces() || parts() == 1) limit_friction(1.0);
    for (std::size_t k = 0; k < points.size(); ++k) {
        points[k].impulse = vector_from(&problem_.x[3 * k]);
        const std::vector<double>& w = problem_.velocities();  // a point may bear all that it can, and still be at rest
        points[k].slips = problem_.slips(static_cast<int>(k)) && points[k].impulse.x > 0.0 &&
                          std::hypot(w[3 * k + 1], w[3 * k + 2]) > AT_REST;
    }
    return solved;
}

/// By how much a row yields more than it truly does, so that its impulse is unique.
double PointStep::yields(int row) const { return proximal_[row] + softness_ * mobility_[row]; }

/// The velocities after the step along the rows of all points.
double PointStep::velocity_after(const std::vector<double>& x, int row) const {
    double w = w_free_[row] - yields(row) * x[row];
    for (int c = 0; c < rows_.size(); ++c) w += problem_.A[row][c] * x[c];
    return w;
}

/// What impulses at the points give to the motion that there is without them [J].
double PointStep::gained(const std::vector<double>& x) const {
    double total = 0.0;
    const int n = point_rows();
    for (int r = 0; r < n; ++r) {
        if (x[r] == 0.0) continue;
        double change = -yields(r) * x[r];
        for (int c = 0; c < n; ++c) change += problem_.A[r][c] * x[c];
        total += x[r] * (velocity_after(x, r) - 0.5 * change);
    }
    return total;
}

/// Bounce as much as takes no more energy than there is: somewhere between no bounce at all and all that is wanted.
bool PointStep::solve_with_rebound() {
    const int n = point_rows();
    bool solved = solve_problem();
    const std::vector<double> still = problem_.x;
    for (std::size_t k = 0; k < points.size(); ++k)
        if (points[k].rebound > 0.0) problem_.b[3 * k] -= std::max(points[k].distance, 0.0) / timestep() + points[k].rebound;
    const int parts = this->parts();
    solved = (parts > 1 ? build_up(parts) : solve_problem()) && solved;
    if (gained(problem_.x) <= 0.0) return solved;
    const std::vector<double> all = problem_.x;
    double share = 0.0;
    for (double part = 0.5; part > 1e-3; part *= 0.5) {
        std::vector<double> mixed = still;
        for (int r = 0; r < n; ++r) mixed[r] += (share + part) * (all[r] - still[r]);
        if (gained(mixed) <= 0.0) share += part;
    }
    for (std::size_t r = 0; r < still.size(); ++r) problem_.x[r] = still[r] + share * (all[r] - still[r]);
    return solved;
}

/// Keep friction within a share of its limits; whether some was beyond.
bool PointStep::limit_friction(double share) {
    bool was_beyond = false;
    for (std::size_t k = 0; k < points.size(); ++k) {
        const FrictionMap& map = laws_[points[k].law].map;
        double* f = &problem_.x[3 * k + 1];
        const double load = problem_.x[3 * k], g[2] = {f[0] / map.stretch_x, f[1] / map.stretch_y};
        const auto scale = [&](double size, double along, double across) {
            const double most = share * map.limit(problem_.points[k], load, -along, -across, timestep()).size;
            return size > most ? most / size : 1.0;
        };
        double scales[2] = {1.0, 1.0};
        if (map.cone == Cone::BOX) {
            scales[0] = scale(std::fabs(g[0]), std::copysign(1.0, g[0]), 0.0);
            scales[1] = scale(std::fabs(g[1]), 0.0, std::copysign(1.0, g[1]));
        } else if (const double size = norm(g[0], g[1]); size > 0.0) {
            scales[0] = scales[1] = scale(size, g[0] / size, g[1] / size);
        }
        was_beyond = was_beyond || scales[0] < 1.0 || scales[1] < 1.0;
        f[0] *= scales[0], f[1] *= scales[1];
    }
    return was_beyond;
}

/// Find the loads that keep the bodies apart beside the friction that there is.
void PointStep::find_loads() {
    std::vector<double> b(points.size());
    for (std::size_t k = 0; k < points.size(); ++k) {
        const int z = static_cast<int>(3 * k);
        b[k] = problem_.b[z];
        for (std::size_t j = 0; j < points.size(); ++j)
            b[k] += problem_.A[z][3 * j + 1] * problem_.x[3 * j + 1] + problem_.A[z][3 * j + 2] * problem_.x[3 * j + 2];
    }
    solve_normals(b);
    for (std::size_t k = 0; k < points.size(); ++k) problem_.x[3 * k] = std::max(0.0, normals_.x[k]);
    std::copy(normals_.x.begin() + points.size(), normals_.x.end(), problem_.x.begin() + point_rows());
}

/// Whether no impulse is far greater than the motion asks for, as between parts that are jammed: what MuJoCo's constraints
/// would do against it is not to be relied on.
bool PointStep::is_moderate() const {
    double speed = 1.0, greatest = 0.0;  // [m/s]
    for (int row = 0; row < point_rows(); ++row) {
        speed = std::max({speed, std::fabs(w_free_[row]), std::fabs(w_before_[row])});
        greatest = std::max(greatest, std::fabs(problem_.A[row][row] * problem_.x[row]));
    }
    return greatest <= 100 * speed;
}

/// Where no solution was found: as much of the best friction as takes energy, under loads that keep the bodies apart.
void PointStep::guard() {
    const std::vector<double> best = problem_.x;
    for (double share : {1.0, 0.3, 0.0}) {
        problem_.x = best;
        limit_friction(share);
        for (int pass = 0; pass < 2; ++pass) {  // the second for loads that the first has changed
            find_loads();
            if (!limit_friction(1.0)) break;
        }
        if (gained(problem_.x) <= 0.0 && is_moderate()) return;
    }
    // Not even the loads were found: then as much of them as gains nothing.
    const std::vector<double> all = problem_.x;
    for (double share = 0.5; gained(problem_.x) > 0.0 || !is_moderate(); share = share > 1e-3 ? 0.5 * share : 0.0)
        for (int r = 0; r < point_rows(); ++r) problem_.x[r] = share * all[r];
}

}  // namespace stiction::mujoco
