#include "point_friction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "laws/friction_box.hpp"

namespace stiction {
namespace {

/// One way to use Newton's method.
struct Way {
    double gain;      // scale of slip in the equations; great for points that slip slowly
    bool cautious;    // whether steps that lead away are shortened; bold ones find what cautious ones cannot reach
    int iterations;
};
constexpr Way WAYS[] = {{0.1, true, 12}, {3.0, false, 30}, {100.0, true, 12}};
constexpr int ROUNDS = 6;            // of sweeps and all these ways
constexpr int SWEEPS = 5, MORE_SWEEPS = 20, MOST_SWEEPS = 80;  // before the first; later, each time twice as many as before
constexpr int COLD = 2, RAISED = 3;  // rounds that begin from no impulses, and with friction that is raised from none
constexpr double SOLVED = 1e-12;     // share of the greatest velocity that may be left of the equations ...
constexpr double NEARLY = 1e-11;     // ... that is let pass after a round, where points share a load in many ways ...
constexpr double ACCEPTED = 1e-9;    // ... and in the end

}  // namespace

void PointFriction::resize(int number, int others) {
    const int n = 3 * number + others;
    A.resize(n, n);
    for (auto* part : {&b, &x, &w_, &residual_, &best_, &swept_}) part->assign(n, 0.0);
    place_.assign(n, -1);
    points.assign(number, {});
    bounded.assign(others, {0.0, 0.0});
    slips_.assign(number, 0);
}

bool PointFriction::solve() {
    if (!symmetric) {
        columns_.resize(A.rows(), A.rows());
        for (int r = 0; r < A.rows(); ++r)
            for (int c = 0; c < A.rows(); ++c) columns_[c][r] = A[r][c];
    }
    measure_speeds();
    gain_ = 1.0, share_ = 1.0, steps_ = 0;
    least_ = std::numeric_limits<double>::infinity();
    update_velocities();
    if (look() <= SOLVED * speed_) {  // what rests; from step to step it comes to rest ever better
        sweep();
        return true;
    }
    for (int round = 0; round < ROUNDS && steps_ < most_steps; ++round) {
        if (round == COLD) std::fill(x.begin(), x.end(), 0.0);
        if (round == RAISED) raise_friction();
        if (try_from(round == 0 ? SWEEPS : std::min(MORE_SWEEPS << round, MOST_SWEEPS))) return true;
        if (least_ <= NEARLY * speed_ || pivot()) break;
    }
    x = best_;
    update_velocities();
    return look() <= ACCEPTED * speed_;
}

/// Sweeps, then Newton's method in one way after another.
bool PointFriction::try_from(int sweeps) {
    update_velocities();
    for (int k = 0; k < sweeps; ++k) sweep();
    swept_ = x;
    for (const Way& way : WAYS) {
        gain_ = way.gain;
        if (newton(way.iterations, way.cautious)) return true;
        x = swept_;
        if (steps_ >= most_steps) break;
    }
    gain_ = 1.0;
    return false;
}

/// Go from the solution without friction to one with more and more of it.
void PointFriction::raise_friction() {
    std::fill(x.begin(), x.end(), 0.0);
    for (double share : {0.0, 0.25, 0.5, 0.75}) {
        share_ = share;
        const double least = least_;
        const std::vector<double> best = best_;
        least_ = std::numeric_limits<double>::infinity();
        update_velocities();
        for (int k = 0; k < SWEEPS; ++k) sweep();
        if (!newton(WAYS[0].iterations, WAYS[0].cautious)) x = best_;
        least_ = least, best_ = best;
    }
    share_ = 1.0;
}

/// Try Dantzig's method, which needs no start, where all limits are known numbers. False where they are not.
bool PointFriction::pivot() {
    const auto is_box = [](const SlidingPoint& point) { return point.fixed >= 0.0 && point.map->cone == Cone::BOX; };
    if (!bounded.empty() || !std::all_of(points.begin(), points.end(), is_box)) return false;
    std::vector<double> low(x.size(), 0.0), high(x.size(), std::numeric_limits<double>::infinity());
    for (int k = 0; k < size(); ++k) {
        const double along = map(k).stretch_x, across = map(k).stretch_y;
        low[3 * k + 1] = -along * limit(k, 0.0, 1.0, 0.0).size, high[3 * k + 1] = along * limit(k, 0.0, -1.0, 0.0).size;
        low[3 * k + 2] = -across * limit(k, 0.0, 0.0, 1.0).size, high[3 * k + 2] = across * limit(k, 0.0, 0.0, -1.0).size;
    }
    x = limited_impulses(A, b, low, high);
    update_velocities();
    if (const double error = look(); error < least_) least_ = error, best_ = x;
    return true;
}

void PointFriction::measure_speeds() {
    const int first = 3 * size(), n = A.rows();
    speed_ = other_ = 0.0;
    for (int row = 0; row < n; ++row) {
        double& greatest = row < first ? speed_ : other_;
        greatest = std::max(greatest, std::fabs(b[row]));
    }
    if (first == 0) speed_ = other_;
    // What falls together has no speed of its own: it gets it from what one of the two stands on.
    for (int c = first; c < n; ++c) {
        const Bounds& most = bounded[c - first];
        const double alone = std::clamp(-b[c] / A[c][c], most.low, most.high);
        for (int row = 0; row < first; ++row) speed_ = std::max(speed_, std::fabs(A[row][c] * alone));
    }
}

void PointFriction::update_velocities() {
    const int n = A.rows();
    for (int row = 0; row < n; ++row) {
        double total = b[row];
        for (int c = 0; c < n; ++c) total += A[row][c] * x[c];
        w_[row] = total;
    }
}

void PointFriction::add_impulse(int row, double change) {
    if (change == 0.0) return;
    x[row] += change;
    const double* column = symmetric ? A[row] : columns_[row];
    for (int r = 0; r < A.rows(); ++r) w_[r] += change * column[r];
}

double PointFriction::gain(int k) const {
    const double along = A[3 * k + 1][3 * k + 1] * map(k).stretch_x * map(k).stretch_x;
    const double across = A[3 * k + 2][3 * k + 2] * map(k).stretch_y * map(k).stretch_y;
    return gain_ / std::max(along, across);
}

Limit PointFriction::limit(int k, double n, double c, double s) const {
    const Limit whole = map(k).limit(points[k], n, c, s, timestep);
    return share_ == 1.0 ? whole : Limit{share_ * whole.size, share_ * whole.by_load, share_ * whole.by_turn};
}

/// One point after another is brought to rest, as far as a push and its friction can; then the other rows.
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
    const double r = gain(k), stretch[2] = {map(k).stretch_x, map(k).stretch_y};
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

bool PointFriction::newton(int iterations, bool cautious) {
    update_velocities();
    double error = look();
    for (int iteration = 0;; ++iteration) {
        if (!std::isfinite(error)) return false;
        if (error < least_) least_ = error, best_ = x;
        if (error <= SOLVED * speed_) return true;
        if (iteration == iterations || steps_ >= most_steps) return false;
        from_ = x;
        if (!improve()) return false;
        error = shorten(cautious ? error : std::numeric_limits<double>::infinity());
    }
}

/// Shorten the last step until less is left of the equations than before, or take the share of it that leaves least;
/// what is left then.
double PointFriction::shorten(double before) {
    update_velocities();
    double error = look();
    if (error <= before) return error;
    to_ = x;
    double best = 1.0, least = error;
    const auto go = [&](double share) {
        for (std::size_t r = 0; r < x.size(); ++r) x[r] = from_[r] + share * (to_[r] - from_[r]);
        update_velocities();
        return error = look();
    };
    for (double share : {0.5, 0.25, 0.1, 0.03}) {
        if (go(share) < least) best = share, least = error;
        if (error < before) return error;
    }
    return go(best);
}

/// One Newton step; false if it leads out of the numbers.
bool PointFriction::improve() {
    ++steps_;
    const int n = A.rows();
    // What is known, such as the impulses of open points, is set at once; the rest is solved for.
    unknown_.clear();
    for (int row = 0; row < n; ++row) {
        if (place_[row] < 0) {
            add_impulse(row, step_[row] - x[row]);
        } else {
            place_[row] = static_cast<int>(unknown_.size());
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

/// Find which impulses are known and what is left of all equations; the greatest residual [m/s].
double PointFriction::look() {
    const int n = A.rows(), first = 3 * size();
    step_.resize(n);
    std::fill(place_.begin(), place_.end(), 0);
    for (int k = 0; k < size(); ++k) equations(k);
    for (int row = first; row < n; ++row) bounded_equation(row);
    double worst = 0.0;
    const double scale = other_ > speed_ ? speed_ / other_ : 1.0;  // rows with bounds have velocities of their own size
    for (int row = 0; row < n; ++row) {
        const double error = std::fabs(residual_[row]) * (row < first ? 1.0 : scale);
        if (!(error <= worst)) worst = error;  // what is no number is the worst
    }
    return worst;
}

/// The equation w = 0.
void PointFriction::stop(int row) {
    residual_[row] = w_[row];
    if (is_unknown(row)) add_response(row, 1.0, row);
}

/// The equation x = value, in units of velocity.
void PointFriction::hold(int row, double value) {
    const double stiff = A[row - row % 3][row - row % 3];
    residual_[row] = stiff * (x[row] - value);
    if (is_unknown(row)) add_derivative(row, stiff, row);
}

/// The same for a value that depends on nothing: it need not be solved for.
void PointFriction::know(int row, double value) {
    const double stiff = row < 3 * size() ? A[row - row % 3][row - row % 3] : A[row][row];
    residual_[row] = stiff * (x[row] - value);
    if (!deriving_)
        place_[row] = -1, step_[row] = value;
    else if (place_[row] >= 0)
        add_derivative(row, stiff, row);
}

void PointFriction::add_response(int row, double factor, int of) {
    const double* response = A[of];
    double* out = J_[place_[row]];
    for (std::size_t c = 0; c < unknown_.size(); ++c) out[c] += factor * response[unknown_[c]];
}

void PointFriction::add_derivative(int row, double value, int by) {
    if (place_[by] >= 0) J_[place_[row]][place_[by]] += value;
}

/// The equations of one point.
void PointFriction::equations(int k) {
    const int z = 3 * k;
    slips_[k] = 0;
    const double pushed = x[z] - w_[z] / A[z][z];  // the normal impulse, were the point alone
    // While derivatives are taken, it is as it was before: open or not.
    const bool closed = deriving_ ? place_[z] >= 0 : pushed > 0.0;
    if (closed) {
        stop(z);
    } else {
        know(z, 0.0);
        if (points[k].fixed < 0.0) {  // with no load of its own, it has no friction
            know(z + 1, 0.0), know(z + 2, 0.0);
            return;
        }
    }
    if (map(k).cone == Cone::BOX)
        box_equations(k, pushed);
    else
        cone_equations(k, pushed);
}

/// With g = f / stretch and y = stretch w, a point slips where t = g - r y leaves |g| <= limit, and then
/// g = limit t / |t|, which also opposes the slip.
void PointFriction::cone_equations(int k, double pushed) {
    const int z = 3 * k;
    const double stiff = A[z][z], r = gain(k), stretch[2] = {map(k).stretch_x, map(k).stretch_y};
    const bool mobile[2] = {moves(z + 1), moves(z + 2)};
    double t[2] = {};
    for (int d = 0; d < 2; ++d)
        if (mobile[d]) t[d] = x[z + 1 + d] / stretch[d] - r * stretch[d] * w_[z + 1 + d];
    const double size = std::sqrt(t[0] * t[0] + t[1] * t[1]);
    const double along[2] = {size > 0.0 ? t[0] / size : 1.0, size > 0.0 ? t[1] / size : 0.0};
    const Limit most = limit(k, pushed, -along[0], -along[1]);
    slips_[k] = size > most.size;
    const double at_n = most.size + most.by_load * (x[z] - pushed);  // the limit at n, if that is not yet solved for
    const double across[2] = {-along[1], along[0]};
    for (int d = 0; d < 2; ++d) {
        const int row = z + 1 + d;
        if (!mobile[d]) {
            know(row, 0.0);
        } else if (!slips_[k]) {
            stop(row);
        } else {
            hold(row, stretch[d] * at_n * along[d]);
            if (!is_unknown(row)) continue;
            add_derivative(row, -stiff * stretch[d] * most.by_load * along[d], z);
            // The direction of t turns with that part of its change that lies across it.
            const double bend = stiff * stretch[d] * (most.by_turn * along[d] + most.size * across[d]) / size;
            for (int e = 0; e < 2; ++e) {
                if (!mobile[e]) continue;
                add_response(row, r * bend * across[e] * stretch[e], z + 1 + e);
                add_derivative(row, -bend * across[e] / stretch[e], z + 1 + e);
            }
        }
    }
}

/// Each axis by itself: it slips where t = f - w / A leaves its limits.
void PointFriction::box_equations(int k, double pushed) {
    const int z = 3 * k;
    for (int d = 0; d < 2; ++d) {
        const int row = z + 1 + d;
        if (!moves(row)) {
            know(row, 0.0);
            continue;
        }
        const double t = x[row] - w_[row] / A[row][row], side = t > 0 ? 1.0 : -1.0;
        const double stretch = d == 0 ? map(k).stretch_x : map(k).stretch_y;
        const Limit most = limit(k, pushed, d == 0 ? -side : 0.0, d == 0 ? 0.0 : -side);
        if (std::fabs(t) > stretch * most.size) {
            slips_[k] = 1;
            hold(row, side * stretch * (most.size + most.by_load * (x[z] - pushed)));
            if (is_unknown(row)) add_derivative(row, -A[z][z] * side * stretch * most.by_load, z);
        } else {
            stop(row);
        }
    }
}

/// A row with bounds: at one of them, or w = 0.
void PointFriction::bounded_equation(int row) {
    const Bounds& bounds = bounded[row - 3 * size()];
    const double alone = x[row] - w_[row] / A[row][row];
    const bool at_rest = deriving_ ? place_[row] >= 0 : alone > bounds.low && alone < bounds.high;
    if (at_rest)
        stop(row);
    else
        know(row, std::clamp(alone, bounds.low, bounds.high));
}

}  // namespace stiction
