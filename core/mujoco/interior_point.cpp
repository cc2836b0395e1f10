// The interior-point method. Points have the cone of Lorentz: x_0 >= |x_1..|, of dimension 1 to 6. Its determinant is x_0^2 - |x_1..|^2,
// and J = diag(1, -1, ...).
#include <numeric>

#include "mujoco/condensed_solver.hpp"

namespace stiction::mujoco {
namespace {

constexpr int STRIDE = RowBlock::MAX_ROWS;
constexpr double SMOOTH = 0.1;  // of the dual: the shift has no derivative without slip

using Cone6 = std::array<double, RowBlock::MAX_ROWS>;

double determinant(const Cone6& a, const Cone6& b, int n) {
    double total = a[0] * b[0];
    for (int d = 1; d < n; ++d) total -= a[d] * b[d];
    return total;
}

/// The greatest share of the way d from x at which x is still in the cone.
double step_to_boundary(const Cone6& x, const Cone6& d, int n) {
    const double a = determinant(d, d, n), b = determinant(x, d, n), c = determinant(x, x, n);
    double least = std::numeric_limits<double>::infinity();
    if (d[0] < 0.0) least = -x[0] / d[0];
    if (n == 1) return least;
    const double root = b * b - a * c;
    if (!(root >= 0.0)) return least;
    const double q = -(b + std::copysign(std::sqrt(root), b));
    for (const double share : {q / a, c / q})
        if (share > 0.0) least = std::min(least, share);
    return least;
}

}  // namespace

void CondensedSolver::start_interior_point() {
    const PointSystem& p = *problem_;
    const int first = system.rows() - static_cast<int>(p.bounded.size());
    barriers_.assign(system.blocks().size(), {});
    centring_ = run_->least_centring;
    const double speed = std::max(point_speed_, std::numeric_limits<double>::min());
    const double mobility = std::accumulate(response_.begin(), response_.end(), 0.0) / static_cast<double>(response_.size());
    const double usual = speed / mobility;  // impulse
    for (std::size_t at = 0; at < barriers_.size(); ++at) {
        const RowBlock& block = system.blocks()[at];
        Barrier& own = barriers_[at];
        if (block.point < 0) {
            const int row = block.rows[0];
            const Bounds& bounds = p.bounded[row - first];
            own.low = bounds.low, own.high = bounds.high, own.count = 1, own.rows[0] = row, own.scale[0] = 1.0;
            const bool has_low = std::isfinite(bounds.low), has_high = std::isfinite(bounds.high);
            const double impulse = usual * speed / std::max(std::fabs(p.b[row]), speed);
            own.x[0] = has_low && has_high ? 0.5 * (bounds.low + bounds.high) : has_low ? bounds.low + impulse
                       : has_high ? bounds.high - impulse : best_[row];
            const double half = has_low && has_high ? 0.5 * (bounds.high - bounds.low) : impulse;
            own.w[0] = has_low && half > 0.0 ? usual * speed / half : 0.0;
            own.w[1] = has_high && half > 0.0 ? usual * speed / half : 0.0;
            continue;
        }
        const int z = 3 * block.point;
        const SlidingPoint& point = p.points[block.point];
        const FrictionMap& map = *point.map;
        own.count = 1, own.scale[0] = 1.0, own.rows[0] = z;
        const double load = point.fixed >= 0.0 ? std::max(point.fixed, 1e-3 * usual) : std::max(best_[z], 0.1 * usual);
        const double slip[2] = {p.b[z + 1], p.b[z + 2]}, size = norm(slip[0], slip[1]);
        const Limit most = size > 0.0 ? map.limit(point, load, slip[0] / size, slip[1] / size, p.timestep)
                                      : map.limit(point, load, 1.0, 0.0, p.timestep);
        const double mu = std::min(most.size / load, 100.0);
        const double coefficient[2] = {mu * map.stretch_x, mu * map.stretch_y};
        const auto add = [&](int place, double by) {
            if (by > 0.0 && moves(block.rows[place])) {
                own.rows[own.count] = block.rows[place], own.places[own.count] = place, own.scale[own.count++] = by;
            }
        };
        add(1, coefficient[0]), add(2, coefficient[1]);
        int place = 3;
        for (const int number : block.torques)
            for (int d = 0; number >= 0 && d < p.torques[number].count; ++d) {
                const double by = p.torques[number].coefficient;
                if (by > 0.0) own.rows[own.count] = block.rows[place], own.places[own.count] = place, own.scale[own.count++] = by;
                ++place;
            }
        own.x = {}, own.w = {};
        own.x[0] = usual, own.w[0] = speed;
    }
}

/// Iterate until the residual in Coulomb's law is small enough, or becomes no smaller; false if no step can be taken.
bool CondensedSolver::interior_point(const Phase& phase) {
    double least = std::numeric_limits<double>::infinity();
    int stalled = 0;
    for (int k = 0; k < phase.max_steps; ++k) {
        std::vector<double>& x = problem_->x;
        std::fill(x.begin(), x.end(), 0.0);
        for (const Barrier& own : barriers_)
            for (int d = 0; d < own.count; ++d) x[own.rows[d]] = own.scale[d] * own.x[d];
        const double error = evaluate();
        if (error <= phase.residual * point_speed_ || ++stalled > settings_->max_stalled) return true;
        if (error < 0.9 * least) stalled = 0;
        least = std::min(least, error);
        if (!interior_step()) return false;
    }
    return true;
}

/// Make dx = g - G w, with velocities w that follow x by the compliance C, too, a response to the other part: dx = (1 + G C)^-1 (g - G U dy).
void CondensedSolver::add_compliance(const RowBlock& block, BlockResponse& out) const {
    const int n = block.count;
    if (std::none_of(block.rows.begin(), block.rows.begin() + n, [&](int row) { return compliance[row] != 0.0; })) return;
    Matrix A(n, n), X(n, n + 1);
    for (int r = 0; r < n; ++r) {
        for (int c = 0; c < n; ++c) {
            X[r][c] = out.G[r * STRIDE + c];
            A[r][c] = (r == c ? 1.0 : 0.0) + X[r][c] * compliance[block.rows[c]];
        }
        X[r][n] = out.g[r];
    }
    solve_by_elimination(A, X[0], n + 1);
    for (int r = 0; r < n; ++r) {
        std::copy_n(X[r], n, out.G.data() + r * STRIDE);
        out.g[r] = X[r][n];
    }
}

bool CondensedSolver::interior_step() {
    ++steps_;
    const std::span<const RowBlock> blocks = system.blocks();
    double gap = 0.0;
    int count = 0;
    for (std::size_t at = 0; at < blocks.size(); ++at) {
        const Barrier& own = barriers_[at];
        if (blocks[at].point >= 0) {
            for (int d = 0; d < own.count; ++d) gap += own.x[d] * own.w[d];
            ++count;
        } else if (own.low != own.high) {
            if (std::isfinite(own.low)) gap += (own.x[0] - own.low) * own.w[0], ++count;
            if (std::isfinite(own.high)) gap += (own.high - own.x[0]) * own.w[1], ++count;
        }
    }
    const double target = centring_ * gap / std::max(count, 1);
    std::vector<Cone6> residuals(blocks.size());
    for (std::size_t at = 0; at < blocks.size(); ++at) {
        Barrier& own = barriers_[at];
        BlockResponse& out = responses_[at];
        out = {};
        if (blocks[at].point < 0) {
            const int row = own.rows[0];
            double stiffness = compliance[row] + 1e-12 * response_[row], push = 0.0;
            if (own.low == own.high) continue;
            if (std::isfinite(own.low)) stiffness += own.w[0] / (own.x[0] - own.low), push += target / (own.x[0] - own.low);
            if (std::isfinite(own.high)) stiffness += own.w[1] / (own.high - own.x[0]), push -= target / (own.high - own.x[0]);
            out.G[0] = 1 / stiffness, out.g[0] = (push - velocities[row]) / stiffness;
            continue;
        }
        // The residual of the dual, with De Saxce's shift at the present velocities.
        const int n = own.count;
        Cone6& rest = residuals[at];
        double slip = 0.0;
        for (int d = 0; d < n; ++d) {
            const double w = own.scale[d] * velocities[own.rows[d]];
            rest[d] = w - own.w[d];
            if (d > 0) slip += w * w;
        }
        slip = std::sqrt(slip);
        rest[0] += slip;
        Cone6& turn = own.turn;
        turn = {};
        for (int d = 1; d < n && run_->predicts_shift; ++d)
            turn[d] = own.scale[d] * velocities[own.rows[d]] / (slip + SMOOTH * own.w[0]);
        // Nesterov and Todd's scaling point: G w = x with G = beta (2 v v^T - J).
        const double size_x = std::sqrt(determinant(own.x, own.x, n)), det_w = determinant(own.w, own.w, n), size_w = std::sqrt(det_w);
        double product = 0.0;
        for (int d = 0; d < n; ++d) product += own.x[d] / size_x * (own.w[d] / size_w);
        const double gamma = 2 * std::sqrt(0.5 * (1 + product)), beta = size_x / size_w;
        Cone6 v{};
        for (int d = 0; d < n; ++d) v[d] = (own.x[d] / size_x + (d == 0 ? 1.0 : -1.0) * own.w[d] / size_w) / gamma;
        for (int r = 0; r < n; ++r) {
            const int place = own.places[r];
            double g = target * (r == 0 ? own.w[0] : -own.w[r]) / det_w - own.x[r];
            for (int c = 0; c < n; ++c) {
                const double G = beta * (2 * v[r] * v[c] - (r != c ? 0.0 : r == 0 ? 1.0 : -1.0));
                g -= G * rest[c];
                const double first = beta * (2 * v[r] * v[0] - (r == 0 ? 1.0 : 0.0));
                out.G[place * STRIDE + own.places[c]] = own.scale[r] * (G + first * turn[c]) * own.scale[c];
            }
            out.g[place] = own.scale[r] * g;
        }
        add_compliance(blocks[at], out);
    }
    if (!system.solve(responses_, change_)) return false;
    double share = 1.0;
    constexpr double kept = 0.98;  // share of the way to the boundary
    const auto limit = [&](double way) { share = std::min(share, kept * way); };
    for (std::size_t at = 0; at < blocks.size(); ++at) {
        Barrier& own = barriers_[at];
        const BlockResponse& out = responses_[at];
        const int n = own.count;
        for (int r = 0; r < n; ++r) {
            double dx = out.g[own.places[r]];
            for (int c = 0; c < n; ++c) dx -= out.G[own.places[r] * STRIDE + own.places[c]] * change_[own.rows[c]];
            if (!std::isfinite(dx)) return false;
            own.dx[r] = dx / own.scale[r];
        }
        for (int r = 0; r < n; ++r) {
            const auto change = [&](int c) {
                return own.scale[c] * (change_[own.rows[c]] + compliance[own.rows[c]] * own.scale[c] * own.dx[c]);
            };
            own.dw[r] = residuals[at][r] + change(r);
            for (int c = 1; r == 0 && c < n; ++c) own.dw[0] += own.turn[c] * change(c);
        }
        if (blocks[at].point >= 0) {
            limit(step_to_boundary(own.x, own.dx, n)), limit(step_to_boundary(own.w, own.dw, n));
            continue;
        }
        own.dw = {};
        if (own.low == own.high) continue;
        const double dx = own.dx[0];
        if (std::isfinite(own.low)) {
            const double room = own.x[0] - own.low;
            own.dw[0] = (target - own.w[0] * (room + dx)) / room;
            if (dx < 0.0) limit(-room / dx);
            if (own.dw[0] < 0.0) limit(-own.w[0] / own.dw[0]);
        }
        if (std::isfinite(own.high)) {
            const double room = own.high - own.x[0];
            own.dw[1] = (target - own.w[1] * (room - dx)) / room;
            if (dx > 0.0) limit(room / dx);
            if (own.dw[1] < 0.0) limit(-own.w[1] / own.dw[1]);
        }
    }
    for (Barrier& own : barriers_)
        for (int d = 0; d < STRIDE; ++d) own.x[d] += share * own.dx[d], own.w[d] += share * own.dw[d];
    centring_ = std::max(run_->least_centring, share > 0.7 ? 0.1 : share > 0.2 ? 0.3 : 0.6);
    return true;
}

}  // namespace stiction::mujoco
