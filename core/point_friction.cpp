#include "point_friction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "laws/friction_box.hpp"

namespace stiction {
namespace {

constexpr int ROUNDS = 8, SWEEPS = 3, NEWTON = 12;  // in each round twice as many sweeps, then iterations of Newton's method
constexpr double SOLVED = 1e-12;    // share of the greatest velocity that may be left of the equations ...
constexpr double NEARLY = 1e-11;    // ... that is let pass after a round, where points share a load in many ways ...
constexpr double ACCEPTED = 1e-9;   // ... and in the end

}  // namespace

void PointFriction::resize(int number) {
    const int n = 3 * number;
    A.resize(n, n), J_.resize(n, n);
    for (auto* part : {&b, &x, &w_, &residual_, &best_, &swept_}) part->assign(n, 0.0);
    points.assign(number, {});
    slips_.assign(number, 0);
}

bool PointFriction::solve(const FrictionMap& map) {
    map_ = &map;
    gain_ = 1.0;
    least_ = std::numeric_limits<double>::infinity();
    for (int round = 0; round < ROUNDS; ++round) {
        update_velocities();
        for (int k = 0; k < SWEEPS << round; ++k) sweep();
        swept_ = x;
        for (double scale : {1.0, 0.1, 10.0}) {
            gain_ = scale;
            if (newton()) return true;
            x = swept_;
        }
        gain_ = 1.0;
        if (least_ <= NEARLY * greatest_speed() || pivot()) break;
    }
    x = best_;
    update_velocities();
    return write_equations() <= ACCEPTED * greatest_speed();
}

/// Try Dantzig's method, which needs no start, where all limits are known numbers. False where they are not.
bool PointFriction::pivot() {
    const auto is_fixed = [](const SlidingPoint& point) { return point.fixed >= 0.0; };
    if (map_->cone != Cone::BOX || !std::all_of(points.begin(), points.end(), is_fixed)) return false;
    std::vector<double> low(x.size(), 0.0), high(x.size(), std::numeric_limits<double>::infinity());
    for (int k = 0; k < size(); ++k) {
        const auto most = [&](double c, double s) { return map_->limit(points[k], 0.0, c, s, timestep).size; };
        low[3 * k + 1] = -map_->stretch_x * most(1.0, 0.0), high[3 * k + 1] = map_->stretch_x * most(-1.0, 0.0);
        low[3 * k + 2] = -map_->stretch_y * most(0.0, 1.0), high[3 * k + 2] = map_->stretch_y * most(0.0, -1.0);
    }
    x = limited_impulses(A, b, low, high);
    update_velocities();
    if (const double error = write_equations(); error < least_) least_ = error, best_ = x;
    return true;
}

double PointFriction::greatest_speed() const {
    double speed = 0.0;
    for (double value : b) speed = std::max(speed, std::fabs(value));
    return speed;
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
    const double* column = A[row];  // A is symmetric
    for (int r = 0; r < A.rows(); ++r) w_[r] += change * column[r];
}

double PointFriction::gain(int k) const {
    const double along = A[3 * k + 1][3 * k + 1] * map_->stretch_x * map_->stretch_x;
    const double across = A[3 * k + 2][3 * k + 2] * map_->stretch_y * map_->stretch_y;
    return gain_ / std::max(along, across);
}

/// One point after another is brought to rest, as far as a push and its friction can.
void PointFriction::sweep() {
    const double stretch[2] = {map_->stretch_x, map_->stretch_y};
    for (int k = 0; k < size(); ++k) {
        const int z = 3 * k;
        add_impulse(z, std::max(0.0, x[z] - w_[z] / A[z][z]) - x[z]);
        double wanted[2];
        if (map_->cone == Cone::BOX) {
            for (int d = 0; d < 2; ++d) {
                const int row = z + 1 + d;
                if (!moves(row)) continue;
                const double t = x[row] - w_[row] / A[row][row], along = t > 0 ? -1.0 : 1.0;  // of slip
                const double most = stretch[d] * map_->limit(points[k], x[z], d == 0 ? along : 0.0, d == 0 ? 0.0 : along, timestep).size;
                wanted[d] = std::min(std::max(t, -most), most);
                add_impulse(row, wanted[d] - x[row]);
            }
            continue;
        }
        const double r = gain(k);
        double t[2] = {};
        for (int d = 0; d < 2; ++d)
            if (moves(z + 1 + d)) t[d] = x[z + 1 + d] / stretch[d] - r * stretch[d] * w_[z + 1 + d];
        const double size = std::sqrt(t[0] * t[0] + t[1] * t[1]);
        double share = 0.0;
        if (size > 0.0) {
            const double most = map_->limit(points[k], x[z], -t[0] / size, -t[1] / size, timestep).size;
            share = size > most ? most / size : 1.0;
        }
        for (int d = 0; d < 2; ++d) wanted[d] = share * stretch[d] * t[d] - x[z + 1 + d];
        for (int d = 0; d < 2; ++d) add_impulse(z + 1 + d, wanted[d]);
    }
}

bool PointFriction::newton() {
    const double speed = greatest_speed();
    for (int iteration = 0; iteration <= NEWTON; ++iteration) {
        update_velocities();
        const double error = write_equations();
        if (!std::isfinite(error)) return false;
        if (error < least_) least_ = error, best_ = x;
        if (error <= SOLVED * speed) return true;
        if (iteration == NEWTON || !improve()) return false;
    }
    return false;
}

/// One Newton step; false if it leads out of the numbers.
bool PointFriction::improve() {
    solve_by_elimination(J_, residual_.data());
    for (std::size_t row = 0; row < x.size(); ++row) {
        x[row] -= residual_[row];
        if (!std::isfinite(x[row])) return false;
    }
    return true;
}

/// Write the equations of all points and their derivatives; the greatest residual [m/s].
double PointFriction::write_equations() {
    const int n = A.rows();
    for (int k = 0; k < size(); ++k) {
        const int z = 3 * k;
        slips_[k] = 0;
        const double pushed = x[z] - w_[z] / A[z][z];  // the normal impulse, were the point alone
        if (pushed > 0.0) {
            residual_[z] = w_[z];
            std::copy(A[z], A[z] + n, J_[z]);
        } else {  // open
            hold(z, 0.0);
            if (points[k].fixed < 0.0) {  // with no load of its own, it has no friction
                hold(z + 1, 0.0), hold(z + 2, 0.0);
                continue;
            }
        }
        if (map_->cone == Cone::BOX)
            box_equations(k, pushed);
        else
            cone_equations(k, pushed);
    }
    double worst = 0.0;
    for (double value : residual_)
        if (!(std::fabs(value) <= worst)) worst = std::fabs(value);  // what is no number is the worst
    return worst;
}

/// The equation x = value for a row, in units of velocity.
void PointFriction::hold(int row, double value) {
    const double stiff = A[row - row % 3][row - row % 3];
    std::fill(J_[row], J_[row] + A.rows(), 0.0);
    J_[row][row] = stiff;
    residual_[row] = stiff * (x[row] - value);
}

/// With g = f / stretch and y = stretch w, a point slips where t = g - r y leaves |g| <= limit, and then
/// g = limit t / |t|, which also opposes the slip.
void PointFriction::cone_equations(int k, double pushed) {
    const int z = 3 * k, n = A.rows();
    const double stiff = A[z][z], r = gain(k), stretch[2] = {map_->stretch_x, map_->stretch_y};
    const bool mobile[2] = {moves(z + 1), moves(z + 2)};
    double t[2] = {};
    for (int d = 0; d < 2; ++d)
        if (mobile[d]) t[d] = x[z + 1 + d] / stretch[d] - r * stretch[d] * w_[z + 1 + d];
    const double size = std::sqrt(t[0] * t[0] + t[1] * t[1]);
    const double along[2] = {size > 0.0 ? t[0] / size : 1.0, size > 0.0 ? t[1] / size : 0.0};
    const Limit limit = map_->limit(points[k], pushed, -along[0], -along[1], timestep);
    slips_[k] = size > limit.size;
    const double most = limit.size + limit.by_load * (x[z] - pushed);  // the limit at n, if that is not yet solved for
    const double across[2] = {-along[1], along[0]};
    for (int d = 0; d < 2; ++d) {
        const int row = z + 1 + d;
        if (!mobile[d]) {
            hold(row, 0.0);
        } else if (!slips_[k]) {
            residual_[row] = w_[row];
            std::copy(A[row], A[row] + n, J_[row]);
        } else {
            hold(row, stretch[d] * most * along[d]);
            J_[row][z] -= stiff * stretch[d] * limit.by_load * along[d];
            // The direction of t turns with that part of its change that lies across it.
            const double bend = stiff * stretch[d] * (limit.by_turn * along[d] + limit.size * across[d]) / size;
            for (int e = 0; e < 2; ++e) {
                if (!mobile[e]) continue;
                const double factor = r * bend * across[e] * stretch[e];
                const double* response = A[z + 1 + e];
                for (int c = 0; c < n; ++c) J_[row][c] += factor * response[c];
                J_[row][z + 1 + e] -= bend * across[e] / stretch[e];
            }
        }
    }
}

/// Each axis by itself: it slips where t = f - w / A leaves its limits.
void PointFriction::box_equations(int k, double pushed) {
    const int z = 3 * k, n = A.rows();
    for (int d = 0; d < 2; ++d) {
        const int row = z + 1 + d;
        if (!moves(row)) {
            hold(row, 0.0);
            continue;
        }
        const double t = x[row] - w_[row] / A[row][row], side = t > 0 ? 1.0 : -1.0;
        const double stretch = d == 0 ? map_->stretch_x : map_->stretch_y;
        const Limit limit = map_->limit(points[k], pushed, d == 0 ? -side : 0.0, d == 0 ? 0.0 : -side, timestep);
        if (std::fabs(t) > stretch * limit.size) {
            slips_[k] = 1;
            hold(row, side * stretch * (limit.size + limit.by_load * (x[z] - pushed)));
            J_[row][z] -= A[z][z] * side * stretch * limit.by_load;
        } else {
            residual_[row] = w_[row];
            std::copy(A[row], A[row] + n, J_[row]);
        }
    }
}

}  // namespace stiction
