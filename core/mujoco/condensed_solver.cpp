#include "mujoco/condensed_solver.hpp"

namespace stiction::mujoco {
namespace {

constexpr double EXACT = 1e-15;     // residual, as a share of the greatest velocity, that is rounding
constexpr double SOLVED = 1e-12;    // that of a solution, which is improved as long as steps improve it ...
constexpr double NEARLY = 1e-10;    // ... that ends the attempts ...
constexpr double ACCEPTED = 1e-8, ACCEPTED_SPEED = 1e-7;  // ... and that is accepted after the last of them; [m/s]
constexpr double CLOSE = 1e-6;      // the interior-point method does not run again
constexpr double INNER = 1e-3, DIVERGED = 1e3;  // shares of the residual at the centre that end these

}  // namespace

constexpr CondensedSolver::Run CondensedSolver::RUNS[] = {{0.1, true}, {0.3, false}};
constexpr CondensedSolver::NewtonAttempt CondensedSolver::WARM{8, 1.0, 1.0}, CondensedSolver::LAST{24, 10.0, 0.0, 6};
/// Chosen on problems of heaps in which Newton's method fails from the impulses of the last step: it solves half of them after the
/// first phase, four fifths after the second.
constexpr CondensedSolver::Phase CondensedSolver::PHASES[] = {
    {1e-4, 30, {5, 100.0, 3.0}},
    {1e-6, 20, {10, 100.0, 3.0}},
    {1e-8, 10, {12, 100.0, 30.0}},
};

bool CondensedSolver::solve(PointSystem& problem, const Settings& settings) {
    problem_ = &problem, settings_ = &settings;
    if (system.rows() == 0) return true;
    start();
    best_ = problem.x, best_velocities_ = problem.b;
    double error = evaluate();
    if (!std::isfinite(error) || point_speed_ == 0.0) {
        std::fill(problem.x.begin(), problem.x.end(), 0.0);
        best_ = problem.x, least_ = std::numeric_limits<double>::infinity(), error = evaluate();
    }
    if (error <= SOLVED * point_speed_) {
        proximal_ = settings.fine, gain_ = 1.0, centre_ = problem.x;
        if (step()) evaluate();  // bodies at rest: the solution becomes more exact with each step
        problem.x = best_, velocities = best_velocities_;
        return true;
    }
    bool solved = newton(WARM);
    for (const Run& run : RUNS) {
        if (solved || least_ <= std::max(CLOSE * point_speed_, ACCEPTED_SPEED)) break;
        run_ = &run;
        start_interior_point();
        for (const Phase& phase : PHASES) {
            if (solved || (phase.residual < CLOSE && least_ <= ACCEPTED_SPEED) || !interior_point(phase)) break;
            solved = newton(phase.newton);
        }
    }
    const double accepted = std::max(ACCEPTED * point_speed_, ACCEPTED_SPEED);
    if (least_ > accepted) problem.x = best_, newton(LAST);
    problem.x = best_, velocities = best_velocities_;
    return least_ <= accepted;
}

double CondensedSolver::measure(PointSystem& problem, const Settings& settings) {
    problem_ = &problem, settings_ = &settings;
    start();
    const double residual = evaluate();
    return point_speed_ > 0.0 ? residual / point_speed_ : 0.0;
}

/// The greatest speeds without impulses: scales of the residual.
void CondensedSolver::start() {
    PointSystem& p = *problem_;
    const int n = system.rows(), first = n - static_cast<int>(p.bounded.size());
    response_.resize(n), responses_.resize(system.blocks().size());
    steps_ = 0, least_ = std::numeric_limits<double>::infinity();
    for (int row = 0; row < n; ++row) response_[row] = system.diagonal(row) + compliance[row];
    const double greatest_own = *std::max_element(response_.begin(), response_.end());
    for (int k = 0; k < p.size(); ++k)
        response_[3 * k] = std::max({response_[3 * k], 1e-9 * (response_[3 * k + 1] + response_[3 * k + 2]), 1e-15 * greatest_own});
    for (int row = 3 * p.size(); row < n; ++row)
        if (!(response_[row] > 0.0)) response_[row] = greatest_own;  // nothing turns there
    point_speed_ = 0.0;
    double bounded_speed = 0.0;
    for (int row = 0; row < n; ++row) {
        double& greatest = row < first ? point_speed_ : bounded_speed;
        greatest = std::max(greatest, std::fabs(p.b[row]));
    }
    if (first < n) {
        // Bodies that fall together have no relative speed: the scale comes from the constraints that stop one of them.
        std::vector<double> alone(n, 0.0), w;
        for (int row = first; row < n; ++row)
            alone[row] = std::clamp(-p.b[row] / response_[row], p.bounded[row - first].low, p.bounded[row - first].high);
        system.velocities(std::vector<double>(n, 0.0), std::vector<double>(n, 0.0), alone, w);
        for (int row = 0; row < first; ++row) point_speed_ = std::max(point_speed_, std::fabs(w[row]));
    }
    if (!(point_speed_ > 0.0)) point_speed_ = bounded_speed;
    bounded_scale_ = bounded_speed > point_speed_ ? point_speed_ / bounded_speed : 1.0;
}

/// The greatest residual at the present x [m/s]; the best x is kept.
double CondensedSolver::evaluate() {
    PointSystem& p = *problem_;
    system.velocities(p.b, compliance, p.x, velocities);
    double worst = 0.0;
    for (const RowBlock& block : system.blocks()) {
        const double error = linearise(block, nullptr);
        if (!(error <= worst)) worst = error;
        if (std::isnan(worst)) break;  // the worst of all
    }
    if (worst < least_) least_ = worst, best_ = p.x, best_velocities_ = velocities;
    return worst;
}

bool CondensedSolver::newton(const NewtonAttempt& attempt) {
    double first = 0.0, before = std::numeric_limits<double>::infinity(), factor = attempt.proximal;
    for (int k = 0;;) {
        double error = evaluate();
        if (error <= EXACT * point_speed_ || (error <= SOLVED * point_speed_ && error > 0.1 * before)) return true;
        if (k == 0) first = error;
        const bool is_hopeless = !std::isfinite(error) || (attempt.max_inner == 1 && k >= 4 && least_ > 0.5 * first);
        if (k >= attempt.max_steps || is_hopeless) break;
        if (attempt.max_inner > 1 && !(error < before)) {  // too far from the centre: back, with a larger proximal term
            if (proximal_ >= settings_->coarse) break;
            problem_->x = best_, error = evaluate(), factor *= 10.0;
        }
        before = error;
        centre_ = problem_->x;
        proximal_ = std::clamp(factor * error / point_speed_, settings_->fine, settings_->coarse);
        gain_ = attempt.gain > 0.0 ? attempt.gain : 1 / proximal_;
        for (int inner = 0; inner < attempt.max_inner; ++inner) {
            ++k;
            if (!step()) return false;
            if (attempt.max_inner == 1) break;  // evaluated above
            const double now = evaluate();
            if (step_residual_ <= INNER * error || (inner > 0 && !(now <= DIVERGED * error))) break;
        }
    }
    return least_ <= NEARLY * point_speed_;
}

/// One Newton step towards the centre's solution; false where it cannot be taken.
bool CondensedSolver::step() {
    ++steps_;
    const std::span<const RowBlock> blocks = system.blocks();
    step_residual_ = 0.0;
    for (std::size_t at = 0; at < blocks.size(); ++at) {
        responses_[at] = {};
        step_residual_ = std::max(step_residual_, linearise(blocks[at], &responses_[at]));
    }
    if (!system.solve(responses_, change_)) return false;
    std::vector<double>& x = problem_->x;
    for (std::size_t at = 0; at < blocks.size(); ++at) {
        const RowBlock& block = blocks[at];
        for (int r = 0; r < block.count; ++r) {
            double dx = responses_[at].g[r];
            for (int c = 0; c < block.count; ++c)
                if (const double share = responses_[at].G[r * RowBlock::MAX_ROWS + c]; share != 0.0) dx -= share * change_[block.rows[c]];
            if (!std::isfinite(dx)) return false;
            x[block.rows[r]] += dx;
        }
    }
    return true;
}

double CondensedSolver::proximal(int row) const {
    return proximal_ * (row < 3 * problem_->size() ? 1.0 : settings_->torques) * response_[row];
}

/// The condition w = 0 of a row, at place `at` of its block.
double CondensedSolver::stick(int at, int row, BlockResponse* out) const {
    if (!out) return std::fabs(velocities[row]);
    const double R = proximal(row), w = velocities[row] + R * (problem_->x[row] - centre_[row]);
    out->G[at * RowBlock::MAX_ROWS + at] = 1 / (compliance[row] + R), out->g[at] = -w / (compliance[row] + R);
    return std::fabs(w);
}

/// The impulse in x, or in the centre of a Newton step, less what stops the motion along a row alone: x - gain w.
double CondensedSolver::relaxed(int row, double gain, bool is_step) const {
    return is_step ? centre_[row] - gain_ * gain * velocities[row] : problem_->x[row] - gain * velocities[row];
}

/// The condition x = value.
double CondensedSolver::set(int at, int row, double value, double stiffness, BlockResponse* out) const {
    const double change = value - problem_->x[row];
    if (out) out->g[at] = change;
    return stiffness * std::fabs(change);
}

/// The residual of a block [m/s]; its linearised conditions, where they are wanted.
double CondensedSolver::linearise(const RowBlock& block, BlockResponse* out) const {
    if (block.point < 0) return bounded_scale_ * linearise_bounded(block.rows[0], out);
    const PointSystem& p = *problem_;
    const int z = 3 * block.point;
    const double pushed = relaxed(z, 1 / response_[z], out);
    double worst = pushed > 0.0 ? stick(0, z, out) : set(0, z, 0.0, response_[z], out);
    if (pushed > 0.0 || p.points[block.point].fixed >= 0.0)
        return std::max(worst, linearise_friction(block, pushed, out));
    for (int r = 1; r < block.count; ++r)  // with no load of its own, it has no friction
        worst = std::max(worst, set(r, block.rows[r], 0.0, response_[z], out));
    return worst;
}

/// Rows that slip together, as in PointEquations: g = x / stretch and y = stretch w leave |g| <= limit with t = g - gain y.
struct CondensedSolver::SlipRows {
    int place, row, count;  // of the first: in the block, in the system
    double stretch[2], gain, t[2], size;
    bool mobile[2];
    Limit most;
    double pushed, load;    // the normal impulse that stops the point alone, and that of x
    double stiffness;
};

double CondensedSolver::linearise_round(const SlipRows& rows, BlockResponse* out) const {
    double worst = 0.0;
    if (rows.size <= rows.most.size) {
        for (int d = 0; d < rows.count; ++d)
            worst = std::max(worst, rows.mobile[d] ? stick(rows.place + d, rows.row + d, out)
                                                   : set(rows.place + d, rows.row + d, 0.0, rows.stiffness, out));
        return worst;
    }
    const double along[2] = {rows.t[0] / rows.size, rows.t[1] / rows.size}, across[2] = {-along[1], along[0]};
    const double at_load = rows.most.size + rows.most.by_load * (rows.load - rows.pushed);
    double rhs[2] = {}, by_load[2] = {}, N[2][2] = {{1.0, 0.0}, {0.0, 1.0}}, Q[2][2] = {};
    for (int d = 0; d < rows.count; ++d) {
        const double value = rows.mobile[d] ? rows.stretch[d] * at_load * along[d] : 0.0;
        rhs[d] = value - problem_->x[rows.row + d];
        worst = std::max(worst, rows.stiffness * std::fabs(rhs[d]));
        if (!rows.mobile[d]) continue;
        by_load[d] = rows.stretch[d] * rows.most.by_load * along[d];
        N[d][d] += proximal_;  // damps the direction of friction where the point hardly slips
        if (rows.count == 1) continue;
        const double bend = rows.stretch[d] * (rows.most.by_turn * along[d] + rows.most.size * across[d]) / rows.size;
        for (int e = 0; e < 2; ++e) {
            if (!rows.mobile[e]) continue;
            N[d][e] -= bend * across[e] * (1 / rows.stretch[e] - rows.gain * rows.stretch[e] * compliance[rows.row + e]);
            Q[d][e] = bend * across[e] * rows.gain * rows.stretch[e];
        }
    }
    if (!out) return worst;
    const double det = N[0][0] * N[1][1] - N[0][1] * N[1][0];
    const double inverse[2][2] = {{N[1][1] / det, -N[0][1] / det}, {-N[1][0] / det, N[0][0] / det}};
    const double normal = out->G[0], of_normal = out->g[0];
    for (int d = 0; d < rows.count; ++d) {
        double* line = out->G.data() + (rows.place + d) * RowBlock::MAX_ROWS;
        double load = 0.0;
        for (int e = 0; e < rows.count; ++e) {
            load += inverse[d][e] * by_load[e];
            out->g[rows.place + d] += inverse[d][e] * rhs[e];
            for (int c = 0; c < rows.count; ++c) line[rows.place + c] += inverse[d][e] * Q[e][c];
        }
        out->g[rows.place + d] += load * of_normal, line[0] += load * normal;
    }
    return worst;
}

double CondensedSolver::linearise_friction(const RowBlock& block, double pushed, BlockResponse* out) const {
    const PointSystem& p = *problem_;
    const int k = block.point, z = 3 * k;
    const SlidingPoint& point = p.points[k];
    const FrictionMap& map = *point.map;
    const double stretch[2] = {map.stretch_x, map.stretch_y};
    const auto limit = [&](double c, double s) { return map.limit(point, pushed, c, s, p.timestep); };
    const double scale = out ? gain_ : 1.0;
    double worst = 0.0;
    if (map.cone == Cone::BOX) {
        for (int d = 0; d < 2; ++d) {
            const int row = z + 1 + d;
            const double t = moves(row) ? relaxed(row, 1 / response_[row], out) : 0.0, side = t > 0 ? 1.0 : -1.0;
            const Limit most = limit(d == 0 ? -side : 0.0, d == 0 ? 0.0 : -side);
            const SlipRows rows{1 + d, row, 1, {stretch[d], 1.0}, scale / response_[row], {t / stretch[d], 0.0},
                                std::fabs(t) / stretch[d], {moves(row), true}, most, pushed, p.x[z], response_[z]};
            worst = std::max(worst, linearise_round(rows, out));
        }
    } else {
        SlipRows rows{1, z + 1, 2, {stretch[0], stretch[1]}, 0.0, {}, 0.0, {moves(z + 1), moves(z + 2)}, {}, pushed, p.x[z], response_[z]};
        rows.gain = scale / std::max(response_[z + 1] * stretch[0] * stretch[0], response_[z + 2] * stretch[1] * stretch[1]);
        for (int d = 0; d < 2; ++d)
            if (rows.mobile[d]) rows.t[d] = relaxed(z + 1 + d, rows.gain / scale * stretch[d] * stretch[d], out) / stretch[d];
        rows.size = norm(rows.t[0], rows.t[1]);
        rows.most = rows.size > 0.0 ? limit(-rows.t[0] / rows.size, -rows.t[1] / rows.size) : limit(-1.0, 0.0);
        worst = linearise_round(rows, out);
    }
    int place = 3;
    for (const int number : block.torques) {
        if (number < 0) continue;
        const TorqueRows& torque = p.torques[number];
        const double fixed = point.fixed, pressing = std::max(0.0, fixed >= 0.0 ? fixed : pushed);
        SlipRows rows{place, torque.first, torque.count, {1.0, 1.0}, scale / std::max(response_[torque.first], response_[torque.end() - 1]),
                      {}, 0.0, {true, true}, {torque.coefficient * pressing, fixed >= 0.0 ? 0.0 : torque.coefficient, 0.0},
                      pushed, p.x[z], response_[torque.first]};
        for (int d = 0; d < torque.count; ++d)
            rows.t[d] = relaxed(torque.first + d, rows.gain / scale, out);
        rows.size = norm(rows.t[0], rows.t[1]);
        worst = std::max(worst, linearise_round(rows, out));
        place += torque.count;
    }
    return worst;
}

double CondensedSolver::linearise_bounded(int row, BlockResponse* out) const {
    const Bounds& bounds = problem_->bounded[row - (system.rows() - static_cast<int>(problem_->bounded.size()))];
    const double alone = problem_->x[row] - velocities[row] / response_[row];
    if (alone > bounds.low && alone < bounds.high) {
        if (out) {
            const double inverse = 1 / (compliance[row] + 1e-12 * response_[row]);
            out->G[0] = inverse, out->g[0] = -velocities[row] * inverse;
        }
        return std::fabs(velocities[row]);
    }
    return set(0, row, std::clamp(alone, bounds.low, bounds.high), response_[row], out);
}

}  // namespace stiction::mujoco
