#include "friction/point_friction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "friction/dantzig.hpp"

namespace stiction {

/// Where an attempt starts.
enum class Start {
    SAME,          // from where the attempt before started
    SWEPT,         // from the impulses so far, after further sweeps
    COLD,          // from no impulses
    CONTINUATION,  // from no friction, which is raised in steps: each solution starts the next one
    PIVOTING,      // Dantzig's method, which needs no start; only where all limits are known numbers
};

/// One attempt to solve the equations: Gauss-Seidel sweeps, then Newton's method.
struct Attempt {
    Start start;
    int sweeps;
    double slip_scale;   // scale of slip against impulse in the residual; large for points that slip slowly
    bool line_search;    // else full steps, which find solutions that a line search cannot reach
    int max_iterations;
};

namespace {

/// Problems that each attempt solves, counted on 1.5 million patches of four bodies with twelve laws. In 33,000 problems of
/// gymnasium's robots and 58,000 of stacks and heaps in MuJoCo models, which allow fewer steps of Newton's method, the first
/// leaves 0.4 and 8 %, of which the second solves 39 and 24 %, and no later one any. Ten further attempts were removed: with
/// them 126 of the 1.5 million problems stayed unsolved, without them 132. The counts of single rows are from runs with more
/// or fewer rows than these.
constexpr Attempt ATTEMPTS[] = {
    {Start::SWEPT, 5, 0.1, true, 12},           // 93.9 %
    {Start::SAME, 0, 3.0, false, 30},           // 6.1 %
    {Start::SAME, 0, 100.0, true, 12},          // 68 problems: points that slip slowly
    {Start::PIVOTING, 0, 0.0, false, 0},        // 183 problems: boxes
    {Start::SWEPT, 40, 0.1, true, 12},          // 44 problems
    {Start::SAME, 0, 3.0, false, 30},           // 186 problems
    {Start::COLD, 80, 3.0, false, 30},          // 14 problems
    {Start::CONTINUATION, 80, 3.0, false, 30},  // 23 problems
    {Start::SWEPT, 80, 0.1, true, 12},          // 1 problem; and often the least residual where none is solved
};
/// With compliant points, as the first problems of large piles have them: 103 of 123 problems. A second attempt never had
/// steps left, and was removed.
constexpr Attempt COMPLIANT_ATTEMPTS[] = {{Start::SWEPT, 20, 3.0, false, 12}};

constexpr double SOLVED = 1e-12;     // residual, as a share of the greatest velocity, of a solution ...
constexpr double NEARLY = 1e-11;     // ... that ends the attempts, where points share a load in many ways ...
constexpr double ACCEPTED = 1e-9;    // ... and that is accepted after the last of them

}  // namespace

void PointFriction::resize(int number, int others) {
    const int n = 3 * number + others;
    A.resize(n, n);
    for (auto* part : {&b, &x, &w_, &residual_, &best_, &swept_}) part->assign(n, 0.0);
    unknown_index_.assign(n, -1);
    points.assign(number, {});
    bounded.assign(others, {0.0, 0.0});
    slips_.assign(number, 0);
}

bool PointFriction::solve() {
    start();
    if (const double residual = update_residual(); residual <= SOLVED * point_speed_) {  // at rest: each step's sweep makes the solution more exact
        least_residual_ = residual;
        sweep();
        return true;
    }
    const std::span<const Attempt> attempts = bold ? std::span<const Attempt>(COMPLIANT_ATTEMPTS) : ATTEMPTS;
    if (attempt(attempts)) return true;
    x = best_;
    update_velocities();
    return update_residual() <= ACCEPTED * point_speed_;
}

double PointFriction::measure() {
    start();
    least_residual_ = update_residual();
    return error();
}

void PointFriction::start() {
    if (!symmetric) {
        columns_.resize(A.rows(), A.rows());
        for (int r = 0; r < A.rows(); ++r)
            for (int c = 0; c < A.rows(); ++c) columns_[c][r] = A[r][c];
    }
    find_reference_speeds();
    slip_scale_ = 1.0, friction_share_ = 1.0, steps_ = 0;
    least_residual_ = std::numeric_limits<double>::infinity();
    update_velocities();
}

bool PointFriction::attempt(std::span<const Attempt> attempts) {
    for (const Attempt& next : attempts) {
        if (steps_ >= most_steps || (next.start != Start::SAME && least_residual_ <= NEARLY * point_speed_)) break;
        if (next.start == Start::PIVOTING) {
            if (pivot()) break;
            continue;
        }
        if (next.start == Start::COLD) std::fill(x.begin(), x.end(), 0.0);
        if (next.start == Start::CONTINUATION) continue_from_no_friction();
        if (next.start != Start::SAME) {
            update_velocities();
            for (int k = 0; k < next.sweeps; ++k) sweep();
            swept_ = x;
        }
        slip_scale_ = next.slip_scale;
        const bool solved = newton(next.max_iterations, next.line_search);
        slip_scale_ = 1.0;
        if (solved) return true;
        x = swept_;
    }
    return false;
}

/// Continuation: solve without friction first, then with more and more of it.
void PointFriction::continue_from_no_friction() {
    std::fill(x.begin(), x.end(), 0.0);
    for (double share : {0.0, 0.25, 0.5, 0.75}) {
        friction_share_ = share;
        const double least = least_residual_;
        const std::vector<double> best = best_;
        least_residual_ = std::numeric_limits<double>::infinity();
        update_velocities();
        for (int k = 0; k < 5; ++k) sweep();
        if (!newton(12, true)) x = best_;
        least_residual_ = least, best_ = best;
    }
    friction_share_ = 1.0;
}

/// Dantzig's method, where all limits are known numbers. False where they are not.
bool PointFriction::pivot() {
    const auto is_box = [](const SlidingPoint& point) { return point.fixed >= 0.0 && point.map->cone == Cone::BOX; };
    if (!bounded.empty() || !std::all_of(points.begin(), points.end(), is_box)) return false;
    std::vector<double> low(x.size(), 0.0), high(x.size(), std::numeric_limits<double>::infinity());
    for (int k = 0; k < size(); ++k) {
        const double along = map(k).stretch_x, across = map(k).stretch_y;
        low[3 * k + 1] = -along * limit(k, 0.0, 1.0, 0.0).size, high[3 * k + 1] = along * limit(k, 0.0, -1.0, 0.0).size;
        low[3 * k + 2] = -across * limit(k, 0.0, 0.0, 1.0).size, high[3 * k + 2] = across * limit(k, 0.0, 0.0, -1.0).size;
    }
    x = boxed_lcp(A, b, low, high);
    update_velocities();
    if (const double error = update_residual(); error < least_residual_) least_residual_ = error, best_ = x;
    return true;
}

void PointFriction::find_reference_speeds() {
    const int first = 3 * size(), n = A.rows();
    point_speed_ = bounded_speed_ = 0.0;
    for (int row = 0; row < n; ++row) {
        double& greatest = row < first ? point_speed_ : bounded_speed_;
        greatest = std::max(greatest, std::fabs(b[row]));
    }
    if (first == 0) point_speed_ = bounded_speed_;
    // Bodies that fall together have no relative speed: the scale comes from the constraint that stops one of them.
    for (int c = first; c < n; ++c) {
        const Bounds& most = bounded[c - first];
        const double alone = std::clamp(-b[c] / A[c][c], most.low, most.high);
        for (int row = 0; row < first; ++row) point_speed_ = std::max(point_speed_, std::fabs(A[row][c] * alone));
    }
}

/// Column by column: most points of a pile carry no load.
void PointFriction::update_velocities() {
    const int n = A.rows();
    std::copy(b.begin(), b.end(), w_.begin());
    for (int c = 0; c < n; ++c) {
        if (x[c] == 0.0) continue;
        const double* column = column_of(c);
        for (int row = 0; row < n; ++row) w_[row] += column[row] * x[c];
    }
}

void PointFriction::add_impulse(int row, double change) {
    if (change == 0.0) return;
    x[row] += change;
    const double* column = column_of(row);
    for (int r = 0; r < A.rows(); ++r) w_[r] += change * column[r];
}

/// One projected Gauss-Seidel sweep. Of each point first n <- max(0, n - w_z / A_zz), then f <- P(f - r w_xy), with P the
/// projection into the limit of friction at n; then the bounded rows. Velocities follow every change.
void PointFriction::sweep() {
    for (int k = 0; k < size(); ++k) {
        const int z = 3 * k;
        add_impulse(z, std::max(0.0, x[z] - w_[z] / A[z][z]) - x[z]);
        if (map(k).cone == Cone::BOX)
            sweep_box(k);
        else
            sweep_cone(k);
    }
    for (std::size_t k = 0; k < bounded.size(); ++k) {
        const int row = static_cast<int>(3 * points.size() + k);
        add_impulse(row, std::clamp(x[row] - w_[row] / A[row][row], bounded[k].low, bounded[k].high) - x[row]);
    }
}

void PointFriction::sweep_box(int k) {
    const int z = 3 * k;
    const double stretch[2] = {map(k).stretch_x, map(k).stretch_y};
    for (int d = 0; d < 2; ++d) {
        const int row = z + 1 + d;
        if (!moves(row)) continue;
        const double t = x[row] - w_[row] / A[row][row], along = t > 0 ? -1.0 : 1.0;  // of slip
        const double most = stretch[d] * limit(k, x[z], d == 0 ? along : 0.0, d == 0 ? 0.0 : along).size;
        add_impulse(row, std::min(std::max(t, -most), most) - x[row]);
    }
}

void PointFriction::sweep_cone(int k) {
    const int z = 3 * k;
    const double r = friction_gain(k), stretch[2] = {map(k).stretch_x, map(k).stretch_y};
    double t[2] = {};
    for (int d = 0; d < 2; ++d)
        if (moves(z + 1 + d)) t[d] = x[z + 1 + d] / stretch[d] - r * stretch[d] * w_[z + 1 + d];
    const double size = std::sqrt(t[0] * t[0] + t[1] * t[1]);
    double share = 0.0;
    if (size > 0.0) {
        const double most = limit(k, x[z], -t[0] / size, -t[1] / size).size;
        share = size > most ? most / size : 1.0;
    }
    const double change[2] = {share * stretch[0] * t[0] - x[z + 1], share * stretch[1] * t[1] - x[z + 2]};
    for (int d = 0; d < 2; ++d) add_impulse(z + 1 + d, change[d]);
}

bool PointFriction::newton(int max_iterations, bool with_line_search) {
    update_velocities();
    double error = update_residual();
    for (int iteration = 0;; ++iteration) {
        if (!std::isfinite(error)) return false;
        if (error < least_residual_) least_residual_ = error, best_ = x;
        if (error <= SOLVED * point_speed_) return true;
        if (iteration == max_iterations || steps_ >= most_steps) return false;
        step_start_ = x;
        if (!newton_step()) return false;
        error = line_search(with_line_search ? error : std::numeric_limits<double>::infinity());
    }
}

/// Shorten the last step until the residual is less than before, or take the share of it with the least; return it.
double PointFriction::line_search(double before) {
    update_velocities();
    double error = update_residual();
    if (error <= before) return error;
    step_end_ = x;
    double best = 1.0, least = error;
    const auto go = [&](double share) {
        for (std::size_t r = 0; r < x.size(); ++r) x[r] = step_start_[r] + share * (step_end_[r] - step_start_[r]);
        update_velocities();
        return error = update_residual();
    };
    for (double share : {0.5, 0.25, 0.1, 0.03}) {
        if (go(share) < least) best = share, least = error;
        if (error < before) return error;
    }
    return go(best);
}

/// One Newton step; false if it is not finite.
bool PointFriction::newton_step() {
    ++steps_;
    const int n = A.rows();
    // Known impulses, such as those of open points, are set at once; the others are solved for.
    unknown_.clear();
    for (int row = 0; row < n; ++row) {
        if (unknown_index_[row] < 0) {
            add_impulse(row, step_[row] - x[row]);
        } else {
            unknown_index_[row] = static_cast<int>(unknown_.size());
            unknown_.push_back(row);
        }
    }
    const int m = static_cast<int>(unknown_.size());
    J_.resize(m, m);
    deriving_ = true;
    for (int k = 0; k < size(); ++k) equations(k);
    for (int row = 3 * size(); row < n; ++row) bounded_equation(row);
    deriving_ = false;
    for (int k = 0; k < m; ++k) step_[k] = residual_[unknown_[k]];
    solve_by_elimination(J_, step_.data());
    for (int k = 0; k < m; ++k) {
        double& value = x[unknown_[k]];
        value -= step_[k];
        if (!std::isfinite(value)) return false;
    }
    return true;
}

}  // namespace stiction
