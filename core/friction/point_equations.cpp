#include "friction/point_equations.hpp"

namespace stiction {

void PointSystem::resize(int number, int others, int torque_rows, bool dense) {
    const int n = 3 * number + torque_rows + others;
    first_torque_ = 3 * number, first_bounded_ = n - others;
    dense ? A.resize(n, n) : A.resize(0, 0);
    for (auto* part : {&b, &x, &w_}) part->assign(n, 0.0);
    points.assign(number, {});
    torques.clear();
    bounded.assign(others, {0.0, 0.0});
    slips_.assign(number, 0);
}

int PointSystem::add_torque(int point, int count, double coefficient) {
    const int first = torques.empty() ? 3 * size() : torques.back().end();
    torques.push_back({point, first, count, coefficient});
    return first;
}

double PointSystem::balance(TorqueRows& torque) {
    const int z = 3 * torque.point;
    const double mobility = (A[z][z] + A[z + 1][z + 1] + A[z + 2][z + 2]) / 3;
    const double turning = std::max(A[torque.first][torque.first], A[torque.end() - 1][torque.end() - 1]);
    const double length = torque_arm(mobility, turning, torque.coefficient);
    for (int row = torque.first; row < torque.end(); ++row) {
        const bool turns = length > 0.0 && A[row][row] > IMMOBILE_SHARE * turning;
        const double factor = turns ? length : 0.0;
        for (int k = 0; k < A.rows(); ++k) A[row][k] *= factor, A[k][row] *= factor;
        b[row] *= factor;
        if (!turns) A[row][row] = mobility > 0.0 ? mobility : 1.0;
    }
    torque.coefficient = length > 0.0 ? torque.coefficient / length : 0.0;
    return length;
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

/// Of each point the normal impulse, then friction: axis by axis in a box, together in a cone. Then torques and bounded rows.
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
    for (int number = 0; number < static_cast<int>(torques.size()); ++number) visit(TorqueOf{number});
    for (int row = first_bounded_; row < A.rows(); ++row) visit(SingleRow{row});
}

inline double PointSystem::project(SingleRow block, double impulse) const {
    const int row = block.row, k = row / 3, axis = row % 3;
    if (const int bound = row - first_bounded_; bound >= 0) return std::clamp(impulse, bounded[bound].low, bounded[bound].high);
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

inline Along<double> PointSystem::relaxed(TorqueOf block) const {
    const TorqueRows& torque = torques[block.number];
    const double r = torque_gain(torque);
    const auto along = [&](int row) { return row < torque.end() ? x[row] - r * w_[row] : 0.0; };
    return {along(torque.first), along(torque.first + 1)};
}

inline Along<double> PointSystem::project(TorqueOf block, Along<double> t) const {
    const TorqueRows& torque = torques[block.number];
    const double size = norm(t.x, t.y), most = torque_limit(torque, x[3 * torque.point]).size;
    const double share = size > most ? most / size : 1.0;
    return {share * t.x, share * t.y};
}

inline void PointSystem::move(TorqueOf block, Along<double> impulse) {
    const TorqueRows& torque = torques[block.number];
    move(SingleRow{torque.first}, impulse.x);
    if (torque.count == 2) move(SingleRow{torque.first + 1}, impulse.y);
}

void PointSystem::sweep() { gauss_seidel_sweep(*this); }

void PointEquations::find_reference_speeds() {
    const int first = first_bounded_, n = A.rows();
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
    const int n = A.rows(), first = first_bounded_;
    step_.resize(n), residual_.resize(n);
    unknown_index_.assign(n, 0);
    for (int k = 0; k < size(); ++k) equations(k);
    for (int number = 0; number < static_cast<int>(torques.size()); ++number) torque_equations(number);
    for (int row = first; row < n; ++row) bounded_equation(row);
    double worst = 0.0;
    // Bounded rows have velocities on a scale of their own.
    const double scale = bounded_speed_ > point_speed_ ? point_speed_ / bounded_speed_ : 1.0;
    for (int row = 0; row < n; ++row) {
        const double error = std::fabs(residual_[row]) * (row < first ? 1.0 : scale);
        if (!(error <= worst)) worst = error;
        if (std::isnan(worst)) break;  // the worst of all
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
    const double stiff = stiffness(row);
    residual_[row] = stiff * (x[row] - value);
    if (is_unknown(row)) add_derivative(row, stiff, row);
}

/// The same for a constant value: its row need not be solved for.
void PointEquations::fix(int row, double value) {
    const double stiff = stiffness(row);
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

/// Rows that slip together: g = f / stretch and y = stretch w leave |g| <= limit with t = g - r y.
struct PointEquations::RoundBlock {
    int z, first;  // row of the normal impulse, whose limit it is; the first of its own
    double stretch[2];
    bool mobile[2];
    double gain;          // r
    double size;          // of t
    double along[2];      // its direction
    Limit most;
    double at_n;          // the limit at n, if that is not yet solved for
};

/// Their equations. They are most of the work of a patch that slides: a call would take 5 % of it.
template <int COUNT> [[gnu::always_inline]] inline void PointEquations::slip_equations(const RoundBlock& block) {
    const auto& [z, first, stretch, mobile, r, size, along, most, at_n] = block;
    const bool slips = size > most.size;
    const double across[2] = {-along[1], along[0]};
    for (int d = 0; d < COUNT; ++d) {
        const int row = first + d;
        if (!mobile[d]) {
            fix(row, 0.0);
        } else if (!slips) {
            set_velocity_zero(row);
        } else {
            set_impulse(row, stretch[d] * at_n * along[d]);
            if (!is_unknown(row)) continue;
            const double stiff = stiffness(row);
            add_derivative(row, -stiff * stretch[d] * most.by_load * along[d], z);
            // The direction of t turns with that part of its change that lies across it.
            const double bend = stiff * stretch[d] * (most.by_turn * along[d] + most.size * across[d]) / size;
            for (int e = 0; e < COUNT; ++e) {
                if (!mobile[e]) continue;
                add_response(row, r * bend * across[e] * stretch[e], first + e);
                add_derivative(row, -bend * across[e] / stretch[e], first + e);
            }
        }
    }
}

/// With g = f / stretch and y = stretch w, a point slips where t = g - r y leaves |g| <= limit, and then
/// g = limit t / |t|, which also opposes the slip.
void PointEquations::cone_equations(int k, double pushed) {
    const int z = 3 * k;
    const Along<double> t = relaxed(FrictionOf{k});
    const double size = norm(t.x, t.y);
    const double along[2] = {size > 0.0 ? t.x / size : 1.0, size > 0.0 ? t.y / size : 0.0};
    const Limit most = limit(k, pushed, -along[0], -along[1]);
    slips_[k] = size > most.size;
    slip_equations<2>({z, z + 1, {map(k).stretch_x, map(k).stretch_y}, {moves(z + 1), moves(z + 2)}, friction_gain(k), size,
                       {along[0], along[1]}, most, most.size + most.by_load * (x[z] - pushed)});
}

/// The same for the torque of a soft point, whose limit depends on nothing but n.
void PointEquations::torque_equations(int number) {
    const TorqueRows& torque = torques[number];
    const int z = 3 * torque.point;
    const double pushed = relaxed(SingleRow{z});
    const bool closed = deriving_ ? unknown_index_[z] >= 0 : pushed > 0.0;
    if (!closed && points[torque.point].fixed < 0.0) {
        for (int row = torque.first; row < torque.end(); ++row) fix(row, 0.0);
        return;
    }
    const Along<double> t = relaxed(TorqueOf{number});
    const Limit most = torque_limit(torque, pushed);
    const double size = norm(t.x, t.y);
    const RoundBlock block{z, torque.first, {1.0, 1.0}, {true, true}, torque_gain(torque), size,
                           {size > 0.0 ? t.x / size : 1.0, size > 0.0 ? t.y / size : 0.0}, most,
                           most.size + most.by_load * (x[z] - pushed)};
    if (torque.count == 1)
        slip_equations<1>(block);
    else
        slip_equations<2>(block);
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
    const Bounds& bounds = bounded[row - first_bounded_];
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
    for (int number = 0; number < static_cast<int>(torques.size()); ++number) torque_equations(number);
    for (int row = first_bounded_; row < n; ++row) bounded_equation(row);
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
