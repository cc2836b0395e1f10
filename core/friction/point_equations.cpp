#include "friction/point_equations.hpp"

namespace stiction {

void PointSystem::resize(int number, int others) {
    const int n = 3 * number + others;
    A.resize(n, n);
    for (auto* part : {&b, &x, &w_}) part->assign(n, 0.0);
    points.assign(number, {});
    bounded.assign(others, {0.0, 0.0});
    slips_.assign(number, 0);
}

/// Copy the columns of A where they are not its rows.
void PointSystem::transpose() {
    if (symmetric) return;
    columns_.resize(A.rows(), A.rows());
    for (int r = 0; r < A.rows(); ++r)
        for (int c = 0; c < A.rows(); ++c) columns_[c][r] = A[r][c];
}

/// Column by column: most points of a pile carry no load.
void PointSystem::update_velocities() {
    const int n = A.rows();
    std::copy(b.begin(), b.end(), w_.begin());
    for (int c = 0; c < n; ++c) {
        if (x[c] == 0.0) continue;
        const double* column = column_of(c);
        for (int row = 0; row < n; ++row) w_[row] += column[row] * x[c];
    }
}

void PointSystem::add_impulse(int row, double change) {
    if (change == 0.0) return;
    x[row] += change;
    const double* column = column_of(row);
    for (int r = 0; r < A.rows(); ++r) w_[r] += change * column[r];
}

/// Of each point the normal impulse, then friction: axis by axis in a box, together in a cone. Then the bounded rows.
template <class Visit> void PointSystem::for_blocks(Visit visit) {
    for (int k = 0; k < size(); ++k) {
        visit(SingleRow{3 * k});
        if (map(k).cone == Cone::ROUND) {
            visit(FrictionOf{k});
            continue;
        }
        for (int row = 3 * k + 1; row < 3 * k + 3; ++row)
            if (moves(row)) visit(SingleRow{row});
    }
    for (int row = 3 * size(); row < A.rows(); ++row) visit(SingleRow{row});
}

inline double PointSystem::project(SingleRow block, double impulse) const {
    const int row = block.row, k = row / 3, axis = row % 3;
    if (row >= 3 * size()) return std::clamp(impulse, bounded[row - 3 * size()].low, bounded[row - 3 * size()].high);
    if (axis == 0) return std::max(0.0, impulse);
    const double slip = impulse > 0 ? -1.0 : 1.0, stretch = axis == 1 ? map(k).stretch_x : map(k).stretch_y;
    const double most = stretch * limit(k, x[3 * k], axis == 1 ? slip : 0.0, axis == 1 ? 0.0 : slip).size;
    return std::min(std::max(impulse, -most), most);
}

/// In a cone: f / stretch - r stretch w, with which an ellipse becomes a circle. A row that cannot move has no friction.
inline Along<double> PointSystem::relaxed(FrictionOf block) const {
    const int k = block.point, row = 3 * k + 1;
    const double r = friction_gain(k), stretch[2] = {map(k).stretch_x, map(k).stretch_y};
    const auto along = [&](int d) { return moves(row + d) ? x[row + d] / stretch[d] - r * stretch[d] * w_[row + d] : 0.0; };
    return {along(0), along(1)};
}

inline Along<double> PointSystem::project(FrictionOf block, Along<double> t) const {
    const int k = block.point;
    const double size = norm(t.x, t.y);
    double share = 0.0;
    if (size > 0.0) {
        const double most = limit(k, x[3 * k], -t.x / size, -t.y / size).size;
        share = size > most ? most / size : 1.0;
    }
    return {share * map(k).stretch_x * t.x, share * map(k).stretch_y * t.y};
}

inline void PointSystem::move(FrictionOf block, Along<double> impulse) {
    move(SingleRow{3 * block.point + 1}, impulse.x);
    move(SingleRow{3 * block.point + 2}, impulse.y);
}

void PointSystem::sweep() { gauss_seidel_sweep(*this); }

void PointEquations::find_reference_speeds() {
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

/// Find which impulses are known, and the residual of all equations; return the greatest [m/s].
double PointEquations::update_residual() {
    const int n = A.rows(), first = 3 * size();
    step_.resize(n), residual_.resize(n);
    unknown_index_.assign(n, 0);
    for (int k = 0; k < size(); ++k) equations(k);
    for (int row = first; row < n; ++row) bounded_equation(row);
    double worst = 0.0;
    // Bounded rows have velocities on a scale of their own.
    const double scale = bounded_speed_ > point_speed_ ? point_speed_ / bounded_speed_ : 1.0;
    for (int row = 0; row < n; ++row) {
        const double error = std::fabs(residual_[row]) * (row < first ? 1.0 : scale);
        if (!(error <= worst)) worst = error;  // NaN is the worst
    }
    return worst;
}

/// The equation w = 0.
void PointEquations::set_velocity_zero(int row) {
    residual_[row] = w_[row];
    if (is_unknown(row)) add_response(row, 1.0, row);
}

/// The equation x = value, in units of velocity.
void PointEquations::set_impulse(int row, double value) {
    const double stiff = A[row - row % 3][row - row % 3];
    residual_[row] = stiff * (x[row] - value);
    if (is_unknown(row)) add_derivative(row, stiff, row);
}

/// The same for a constant value: its row need not be solved for.
void PointEquations::fix(int row, double value) {
    const double stiff = row < 3 * size() ? A[row - row % 3][row - row % 3] : A[row][row];
    residual_[row] = stiff * (x[row] - value);
    if (!deriving_)
        unknown_index_[row] = -1, step_[row] = value;
    else if (unknown_index_[row] >= 0)
        add_derivative(row, stiff, row);
}

void PointEquations::add_response(int row, double factor, int of) {
    const double* response = A[of];
    double* out = J_[unknown_index_[row]];
    for (std::size_t c = 0; c < unknown_.size(); ++c) out[c] += factor * response[unknown_[c]];
}

void PointEquations::add_derivative(int row, double value, int by) {
    if (unknown_index_[by] >= 0) J_[unknown_index_[row]][unknown_index_[by]] += value;
}

/// The equations of one point.
void PointEquations::equations(int k) {
    const int z = 3 * k;
    slips_[k] = 0;
    const double pushed = relaxed(SingleRow{z});  // the normal impulse that stops the point alone
    // While derivatives are taken, it is as it was before: open or not.
    const bool closed = deriving_ ? unknown_index_[z] >= 0 : pushed > 0.0;
    if (closed) {
        set_velocity_zero(z);
    } else {
        fix(z, 0.0);
        if (points[k].fixed < 0.0) {  // with no load of its own, it has no friction
            fix(z + 1, 0.0), fix(z + 2, 0.0);
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
void PointEquations::cone_equations(int k, double pushed) {
    const int z = 3 * k;
    const double stiff = A[z][z], r = friction_gain(k), stretch[2] = {map(k).stretch_x, map(k).stretch_y};
    const bool mobile[2] = {moves(z + 1), moves(z + 2)};
    const Along<double> t = relaxed(FrictionOf{k});
    const double size = norm(t.x, t.y);
    const double along[2] = {size > 0.0 ? t.x / size : 1.0, size > 0.0 ? t.y / size : 0.0};
    const Limit most = limit(k, pushed, -along[0], -along[1]);
    slips_[k] = size > most.size;
    const double at_n = most.size + most.by_load * (x[z] - pushed);  // the limit at n, if that is not yet solved for
    const double across[2] = {-along[1], along[0]};
    for (int d = 0; d < 2; ++d) {
        const int row = z + 1 + d;
        if (!mobile[d]) {
            fix(row, 0.0);
        } else if (!slips_[k]) {
            set_velocity_zero(row);
        } else {
            set_impulse(row, stretch[d] * at_n * along[d]);
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
void PointEquations::box_equations(int k, double pushed) {
    const int z = 3 * k;
    for (int d = 0; d < 2; ++d) {
        const int row = z + 1 + d;
        if (!moves(row)) {
            fix(row, 0.0);
            continue;
        }
        const double t = relaxed(SingleRow{row}), side = t > 0 ? 1.0 : -1.0;
        const double stretch = d == 0 ? map(k).stretch_x : map(k).stretch_y;
        const Limit most = limit(k, pushed, d == 0 ? -side : 0.0, d == 0 ? 0.0 : -side);
        if (std::fabs(t) > stretch * most.size) {
            slips_[k] = 1;
            set_impulse(row, side * stretch * (most.size + most.by_load * (x[z] - pushed)));
            if (is_unknown(row)) add_derivative(row, -A[z][z] * side * stretch * most.by_load, z);
        } else {
            set_velocity_zero(row);
        }
    }
}

/// A bounded row: at one of its bounds, or w = 0.
void PointEquations::bounded_equation(int row) {
    const Bounds& bounds = bounded[row - 3 * size()];
    const double alone = relaxed(SingleRow{row});
    const bool at_rest = deriving_ ? unknown_index_[row] >= 0 : alone > bounds.low && alone < bounds.high;
    if (at_rest)
        set_velocity_zero(row);
    else
        fix(row, std::clamp(alone, bounds.low, bounds.high));
}

/// One Newton step; false if it is not finite.
bool PointEquations::newton_step() {
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
