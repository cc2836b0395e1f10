#include "mujoco/point_problem.hpp"

#include "contact/energy.hpp"
#include "mujoco/soft_coupling.hpp"
#include "stepping/step.hpp"

namespace stiction::mujoco {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

}  // namespace

void PointProblem::clear() {
    points.clear(), inactive.clear(), constraints.clear();
    is_constrained = false;
    n_newton = 0;
}

void PointProblem::write() {
    rows_.clear();
    for (const ContactPoint& point : points) context_.kinematics.add_point(point, rows_);
    torque_rows_ = 0;
    for (const ContactPoint& point : points) {
        const Vector* const axes[3] = {&point.z, &point.x, &point.y};
        if (point.torsion > 0.0) context_.kinematics.add_turning(point, std::span(axes, 1), rows_), torque_rows_ += 1;
        if (point.rolling > 0.0) context_.kinematics.add_turning(point, std::span(axes + 1, 2), rows_), torque_rows_ += 2;
    }
    for (const int number : constraints) context_.kinematics.add_constraint(number, rows_);
    const int n = point_rows(), all = rows_.size();
    is_set_up_ = is_condensed_ = rebounds_ = false;
    write_white_rows();
    w_free_.resize(n), w_before_.resize(n), proximal_.assign(n, 0.0), previous.assign(n, 0.0);
    for (int row = 0; row < n; ++row) {
        w_free_[row] = rows_.dot(row, context_.free_motion.velocity.data());
        w_before_[row] = rows_.dot(row, *context_.engine.data.qvel);
    }
    for (std::size_t k = 0; k < points.size(); ++k) {
        ContactPoint& point = points[k];
        const std::size_t z = 3 * k;
        for (std::vector<double>* w : {&w_free_, &w_before_})
            for (int d = 0; d < 3; ++d) (*w)[z + d] += dot(point.surface_velocity, point.axis(d));
        const Vector& error = point.prediction_error;
        w_free_[z] += error.x, w_free_[z + 1] += error.y, w_free_[z + 2] += error.z;
        const Restitution restitution = restitution_of(point, diagonal_[z]);
        if (restitution.e0 > 0.0 && point.distance + timestep() * w_free_[z] < 0.0)  // it arrives within the step
            point.rebound = restitution.rebound(-w_before_[z], std::max(0.0, w_before_[z] - w_free_[z]));
    }
    is_dense_ = all <= context_.settings.dense_rows || n_sub_impacts() > 1;
    friction.resize(force_rows() / 3, all - n, torque_rows_, is_dense_);
    friction.timestep = timestep();
    friction.symmetric = !(context_.free_motion.is_damped() && all > n);
    write_torques();
    for (std::size_t k = 0; k < points.size(); ++k) {
        const PairLaw& law = context_.law(points[k]);
        friction.points[k] = law.map.at(std::hypot(w_before_[3 * k + 1], w_before_[3 * k + 2]), 0.0, timestep());
        if (points[k].rebound > 0.0 && law.impact_time > 0.0) friction.points[k].load_time = law.impact_time / timestep();
    }
    if (is_dense_) write_delassus();
    for_torques([&](const TorqueRows& torque, int row, double Vector::* about, const Vector& axis, double arm) {
        if (white_.squared_norm(row) == 0.0) return;  // nothing turns there
        const ContactPoint& point = points[torque.point];
        const double still = arm * dot(point.surface_spin, axis);
        w_free_[row] += still + arm * (point.spin_error.*about), w_before_[row] += still;
    });
    for (int row = n; row < all; ++row) write_constraint(row);
    write_start();
    shared_.assign(n, 0.0);
    share_friction(friction, w_before_, previous, diagonal_, context_.settings.at_rest, shared_);
    for (std::size_t k = 0, centre = 0; k < points.size(); ++k) {  // the centre of an evenly pressed face is its first point
        if (points[k].load_share == 0.0) continue;
        const bool is_same = points[k].geom1 == points[centre].geom1 && points[k].geom2 == points[centre].geom2;
        if (!is_same || points[centre].load_share == 0.0) centre = k;
        shared_[3 * k] += context_.settings.face * diagonal_[3 * centre] / points[k].load_share;
    }
    set_proximal(context_.settings.fine);
    lost_to_forces_ = lost_to_forces();
    // Where a law limits friction by the load that there would be without friction, find these loads.
    const auto is_limited = [&](const ContactPoint& point) { return context_.law(point).map.frictionless_limit; };
    if (std::none_of(points.begin(), points.end(), is_limited)) return;
    start_normals();
    for (std::size_t k = 0; k < points.size(); ++k) normals_.b[k] = w_free_[3 * k] + std::max(points[k].distance, 0.0) / timestep();
    solve_normals();
    for (std::size_t k = 0; k < points.size(); ++k)
        if (is_limited(points[k])) friction.points[k].fixed = std::max(0.0, normals_.x[k]);
}

/// The restitution of a point, with the share of turning in its answer to a push: 1 - (1 / m_1 + 1 / m_2) / response.
Restitution PointProblem::restitution_of(const ContactPoint& point, double normal_response) const {
    const PairLaw& law = context_.law(point);
    Restitution restitution = law.restitution;
    if (law.lever == 0.0 || !(normal_response > 0.0)) return restitution;
    const Model& model = context_.engine.model;
    const auto inverse_mass = [&](int body) {
        for (int b = body; b > 0; b = (*model.body_parentid)[b])
            if ((*model.body_dofnum)[b] > 0) return 1.0 / std::max((*model.body_mass)[body], 1e-300);
        return 0.0;  // it does not move
    };
    const double moving = inverse_mass(point.body1) + inverse_mass(point.body2);
    restitution.e0 *= 1.0 + law.lever * std::clamp(1.0 - moving / normal_response, 0.0, 1.0);
    restitution.e0 = std::clamp(restitution.e0, 0.0, 1.0);
    return restitution;
}

/// Write the rows in the coordinates in which the effective inertia is the unit matrix, and find how mobile each is.
void PointProblem::write_white_rows() {
    const int n = point_rows();
    rows_.whiten(context_.free_motion.effective_inertia(), context_.engine.model.nv, white_);
    diagonal_.resize(n);
    double greatest = 0.0;
    for (int row = 0; row < n; ++row) greatest = std::max(greatest, diagonal_[row] = white_.squared_norm(row));
    for (int z = 0; z < force_rows(); z += 3) {  // a point that cannot move along its normal, or not at all, yields a little
        const double trace = diagonal_[z] + diagonal_[z + 1] + diagonal_[z + 2];
        diagonal_[z] = std::max({diagonal_[z], 1e-9 * trace, 1e-15 * greatest});
    }
}

/// Number the torques, and measure each in a length in which it is as mobile as its point.
void PointProblem::write_torques() {
    for (std::size_t k = 0; k < points.size(); ++k) {
        if (points[k].torsion > 0.0) friction.add_torque(static_cast<int>(k), 1, points[k].torsion);
        if (points[k].rolling > 0.0) friction.add_torque(static_cast<int>(k), 2, points[k].rolling);
    }
    arms_.clear();
    for (TorqueRows& torque : friction.torques) {
        const int z = 3 * torque.point;
        const double mobility = (diagonal_[z] + diagonal_[z + 1] + diagonal_[z + 2]) / 3;
        const double turning = std::max(diagonal_[torque.first], diagonal_[torque.end() - 1]);
        const double arm = torque_arm(mobility, turning, torque.coefficient);
        arms_.push_back(arm);
        torque.coefficient = arm > 0.0 ? torque.coefficient / arm : 0.0;
        for (int row = torque.first; row < torque.end(); ++row) {
            const bool turns = arm > 0.0 && diagonal_[row] > IMMOBILE_SHARE * turning;
            const double factor = turns ? arm : 0.0;
            rows_.scale(row, factor), white_.scale(row, factor);
            w_free_[row] *= factor, w_before_[row] *= factor;
            diagonal_[row] = turns ? arm * arm * diagonal_[row] : mobility > 0.0 ? mobility : 1.0;
        }
    }
}

void PointProblem::write_delassus() {
    const int n = point_rows(), all = rows_.size(), nv = context_.engine.model.nv;
    const FreeMotion& free = context_.free_motion;
    Matrix& A = friction.A;
    const int forces = force_rows();
    for (int r = 0; r < forces; r += 3) white_.products(r, r + 3, 0, r + 3, forces, nv, A);  // the rest by symmetry
    if (forces < n) white_.products(forces, n, 0, n, forces, nv, A);
    for (int r = 0; r < n; ++r)
        for (int c = r + 1; c < n; ++c) A[r][c] = A[c][r];
    if (all == n) return;
    white_.products(0, n, n, all, forces, nv, A);
    if (free.is_damped()) rows_.whiten(free.inertia(), nv, white_M_);
    (free.is_damped() ? white_M_ : white_).products(n, all, 0, all, forces, nv, A);
    for (int row = n; row < all; ++row) A[row][row] += (*context_.engine.data.efc_R)[constraints[row - n]];
}

/// Give a solver the rows of a problem; those of MuJoCo's constraints are the last ones of both.
void PointProblem::set_up_condensed(CondensedSolver& solver, const PointSystem& problem, const SystemRows& rows) {
    const FreeMotion& free = context_.free_motion;
    const Model& model = context_.engine.model;
    const int all = rows.size(), n = all - static_cast<int>(constraints.size());
    const bool is_other = free.is_damped() && n < all;
    unwhite_.clear();
    std::vector<double> z;
    std::vector<int> dofs;
    for (int row = point_rows(); is_other && row < rows_.size(); ++row) {  // J M^-1 in the coordinates of W, on whole trees
        z.assign(model.nv, 0.0), dofs.clear();
        rows_.add_to(z.data(), row, 1.0);
        const int* tree = *model.dof_treeid;
        for (int dof = 0; dof < model.nv; ++dof)
            if (std::any_of(rows_.dofs(row).begin(), rows_.dofs(row).end(), [&](int on) { return tree[on] == tree[dof]; }))
                dofs.push_back(dof);
        free.inertia().solve(z.data());
        free.effective_inertia().unwhiten(z.data());
        double* values = unwhite_.add(dofs);
        for (std::size_t k = 0; k < dofs.size(); ++k) values[k] = z[dofs[k]];
    }
    solver.system.set_up(problem, rows, is_other ? &unwhite_ : nullptr, *model.dof_treeid, model.nv);
    solver.compliance.assign(all, 0.0);
    for (int row = n; row < all; ++row) solver.compliance[row] = (*context_.engine.data.efc_R)[constraints[row - n]];
}

Matrix PointProblem::delassus() {
    if (is_dense_) return friction.A;
    Matrix A(rows_.size(), rows_.size());
    std::swap(A, friction.A);
    write_delassus();
    for (int row = 0; row < point_rows(); ++row) friction.A[row][row] = diagonal_[row] + softness(row);
    std::swap(A, friction.A);
    return A;
}

bool PointProblem::solve_dense() {
    is_condensed_ = false;
    friction.max_newton_steps = context_.settings.dense_newton;
    const bool solved = friction.solve();
    n_newton += friction.steps();
    return solved;
}

double PointProblem::residual() {
    set_up_condensed();
    set_proximal(0.0);
    return condensed_.measure(friction, context_.settings);
}

void PointProblem::set_up_condensed() {
    if (!is_set_up_) set_up_condensed(condensed_, friction, white_), is_set_up_ = true;
    for (int row = 0; row < point_rows(); ++row) condensed_.compliance[row] = softness(row);
}

bool PointProblem::solve_condensed() {
    set_up_condensed();
    set_proximal(0.0);
    const bool solved = condensed_.solve(friction, context_.settings);
    n_newton += condensed_.steps();
    is_condensed_ = true;
    return solved;
}

/// Visit the rows of all torques, visit(torque, row, component of (z, x, y), axis in the world, arm).
template <class Visit> void PointProblem::for_torques(Visit visit) const {
    constexpr double Vector::* about[3] = {&Vector::x, &Vector::y, &Vector::z};
    for (std::size_t t = 0; t < friction.torques.size(); ++t) {
        const TorqueRows& torque = friction.torques[t];
        for (int row = torque.first; row < torque.end(); ++row) {
            const int d = torque.count == 1 ? 0 : 1 + row - torque.first;
            visit(torque, row, about[d], points[torque.point].axis(d), arms_[t]);
        }
    }
}

/// One of MuJoCo's constraints: a spring on accelerations, with bounds on its force.
void PointProblem::write_constraint(int row) {
    const Data& d = context_.engine.data;
    const Constants& known = context_.engine.constants;
    const int number = constraints[row - point_rows()], type = (*d.efc_type)[number];
    const double h = timestep(), aref = (*d.efc_aref)[number];
    friction.b[row] = h * (rows_.dot(row, *d.qacc_smooth) - aref);
    Bounds bounds{0.0, INFINITE};
    if (type == known.equality) bounds.low = -INFINITE;
    if (type == known.friction_dof || type == known.friction_tendon)
        bounds.high = h * (*d.efc_frictionloss)[number], bounds.low = -bounds.high;
    friction.bounded[row - point_rows()] = bounds;
    const double force = -(*d.efc_D)[number] * (rows_.dot(row, *d.qacc_warmstart) - aref);  // of the last step
    friction.x[row] = std::clamp(h * force, bounds.low, bounds.high);
}

/// Start from the impulses of an earlier pass, or from those of the last step.
void PointProblem::write_start() {
    for (std::size_t k = 0; k < points.size(); ++k)
        if (const auto last = context_.memory.nearest(points[k])) stiction::write(last->impulse, &previous[3 * k]);
    for_torques([&](const TorqueRows& torque, int row, double Vector::* about, const Vector&, double arm) {
        const ContactPoint& point = points[torque.point];
        const auto last = arm > 0.0 ? context_.memory.nearest(point) : std::nullopt;
        if (last) previous[row] = last->torque.*about / arm;
        if (arm > 0.0) friction.x[row] = point.impulse.x == 0.0 ? previous[row] : point.torque.*about / arm;
    });
    for (std::size_t k = 0; k < points.size(); ++k) {
        const bool is_new = points[k].impulse.x == 0.0;
        if (is_new)
            std::copy_n(&previous[3 * k], 3, &friction.x[3 * k]);
        else
            stiction::write(points[k].impulse, &friction.x[3 * k]);
    }
}

void PointProblem::set_proximal(double share) {
    for (int row = 0; row < point_rows(); ++row) {
        proximal_[row] = (row < force_rows() ? share : std::min(context_.settings.torques * share, 0.1)) * diagonal_[row];
        if (is_dense_) friction.A[row][row] = diagonal_[row] + softness(row) + proximal_[row];
    }
    set_right_side(rebounds_);
}

void PointProblem::set_right_side(bool rebounds) {
    rebounds_ = rebounds;
    for (int row = 0; row < point_rows(); ++row) {
        friction.b[row] = w_free_[row] - proximal_[row] * previous[row];
        if (row % 3 != 0 || row >= force_rows()) continue;
        const double gap_speed = std::max(points[row / 3].distance, 0.0) / timestep(), rebound = points[row / 3].rebound;
        friction.b[row] += gap_speed;
        if (rebounds && rebound > 0.0) friction.b[row] -= gap_speed + rebound;
    }
}

void PointProblem::write_sub_impact(int count, const std::vector<std::vector<double>>& totals, const PointFriction& whole) {
    const int n = point_rows(), all = rows_.size(), number = static_cast<int>(totals.size());
    const double h = timestep();
    const std::vector<double>& total = totals.back();
    double lag = 0.0;  // in sub-impacts
    for (const ContactPoint& point : points)
        if (point.rebound > 0.0) lag = std::max(lag, count * context_.law(point).lag);
    if (lag > 0.0) friction.A = whole.A, friction.symmetric = false;
    std::vector<double> now = velocities_after(total);
    if (lag > 0.0) {
        // Friction and torques see the normal impulses of a while ago, and at most a share of those of this sub-impact.
        const double seen = std::max(0.0, number - lag), share = std::clamp(seen - (number - 1), 0.0, 1.0);
        const int first = std::min(static_cast<int>(seen), number - 1), next = std::min(first + 1, number - 1);
        const int forces = force_rows();
        for (int row = 0; row < n; ++row)
            for (int c = 0; c < forces && (row % 3 != 0 || row >= forces); c += 3) {
                const double then = totals[first][c] + (seen - first) * (totals[next][c] - totals[first][c]);
                now[row] += whole.A[row][c] * (then - total[c]);
                friction.A[row][c] *= share;
            }
    }
    friction.timestep = whole.timestep / count;
    for (std::size_t k = 0; k < points.size(); ++k) {
        const std::size_t z = 3 * k;
        const double wanted = points[k].rebound > 0.0 ? points[k].rebound : -std::max(points[k].distance, 0.0) / h;
        const double goal = wanted - std::max(0.0, wanted - w_free_[z]) * (count - number) / count;
        friction.b[z] = now[z] - goal, friction.b[z + 1] = now[z + 1], friction.b[z + 2] = now[z + 2];
        const double fixed = std::max(0.0, whole.points[k].fixed) / count;
        friction.points[k] = whole.points[k].map->at(std::hypot(now[z + 1], now[z + 2]), fixed, h / count);
        friction.points[k].load_time = whole.points[k].load_time;
    }
    for (int row = force_rows(); row < n; ++row) friction.b[row] = now[row];
    for (int row = n; row < all; ++row) {
        friction.b[row] = whole.b[row];
        for (int c = 0; c < all; ++c) friction.b[row] += friction.A[row][c] * total[c];
        const Bounds& bounds = whole.bounded[row - n];
        friction.bounded[row - n] = {bounds.low - total[row], bounds.high - total[row]};
    }
}

/// Velocities that the first impulses of x bring along the rows of points.
std::vector<double> PointProblem::responses_to(const std::vector<double>& x, int columns) const {
    const int n = point_rows();
    std::vector<double> w(n, 0.0);
    if (is_dense_) {
        for (int r = 0; r < n; ++r) {
            for (int c = 0; c < columns; ++c) w[r] += friction.A[r][c] * x[c];
            w[r] -= (proximal_[r] + softness(r)) * x[r];
        }
        return w;
    }
    std::vector<double> y(context_.engine.model.nv, 0.0);
    for (int c = 0; c < columns; ++c)
        if (x[c] != 0.0) white_.add_to(y.data(), c, x[c]);
    for (int r = 0; r < n; ++r) w[r] = white_.dot(r, y.data());
    return w;
}

std::vector<double> PointProblem::velocities_after(const std::vector<double>& x) const {
    std::vector<double> w = responses_to(x, rows_.size());
    for (int row = 0; row < point_rows(); ++row) w[row] += w_free_[row];
    return w;
}

double PointProblem::energy_gained(const std::vector<double>& x) const {
    const std::vector<double> after = velocities_after(x), change = responses_to(x, point_rows());
    double total = 0.0;
    for (int r = 0; r < point_rows(); ++r) total += x[r] * (after[r] - 0.5 * change[r]);
    return total;
}

double PointProblem::energy_added(const std::vector<double>& x) const {
    double height = -lost_to_forces_, scale = 0.0;
    for (int r = 0; r < point_rows(); ++r) {
        height += x[r] * (w_before_[r] - w_free_[r]);
        scale += std::fabs(x[r]) * (std::fabs(w_before_[r]) + std::fabs(w_free_[r]));
    }
    return finite_gain(energy_gained(x) + std::max(0.0, height) - ENERGY_SLACK * scale);
}

/// |v_free - v|^2 / 2 of the trees of the points: of a body that falls, m |h g|^2 / 2, which a step without contact loses.
double PointProblem::lost_to_forces() const {
    const Engine& engine = context_.engine;
    const FreeMotion& free = context_.free_motion;
    std::vector<char> is_moved(engine.model.ntree);
    for (const ContactPoint& point : points)
        for (const int body : {point.body1, point.body2})
            if (const int tree = context_.kinematics.tree(body); tree >= 0) is_moved[tree] = 1;
    std::vector<double> change(engine.model.nv, 0.0);
    for (int dof = 0; dof < engine.model.nv; ++dof)
        if (is_moved[(*engine.model.dof_treeid)[dof]]) change[dof] = free.velocity[dof] - free.before[dof];
    return engine.kinetic_energy(change.data());
}

double PointProblem::proximal_speed() const {
    double speed = 0.0;
    for (int row = 0; row < point_rows(); ++row)
        speed = std::max(speed, proximal_[row] * std::fabs(friction.x[row] - previous[row]));
    return speed;
}

bool PointProblem::is_moderate() const {
    constexpr double far_greater = 100.0;
    double speed = 1.0, greatest = 0.0;  // [m/s]
    for (int row = 0; row < point_rows(); ++row) {
        speed = std::max({speed, std::fabs(w_free_[row]), std::fabs(w_before_[row])});
        greatest = std::max(greatest, std::fabs(diagonal_[row] * friction.x[row]));
    }
    return greatest <= far_greater * speed;
}

int PointProblem::n_sub_impacts() const {
    int most = 0;
    for (const ContactPoint& point : points)
        if (point.rebound > 0.0) most = std::max(most, context_.law(point).n_sub_impacts);
    return most;
}

bool PointProblem::limit_friction(double share) {
    bool was_beyond = false;
    for (std::size_t k = 0; k < points.size(); ++k) {
        const FrictionMap& map = context_.law(points[k]).map;
        double &load = friction.x[3 * k], *f = &load + 1;
        load = std::max(0.0, load);
        const double g[2] = {f[0] / map.stretch_x, f[1] / map.stretch_y};
        const auto scale = [&](double size, double along, double across) {
            const double limit = share * map.limit(friction.points[k], load, -along, -across, friction.timestep).size;
            return size > limit ? limit / size : 1.0;
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
    for (const TorqueRows& torque : friction.torques) {
        const double fixed = friction.points[torque.point].fixed, load = fixed >= 0.0 ? fixed : friction.x[3 * torque.point];
        double &first = friction.x[torque.first], &last = friction.x[torque.end() - 1];
        const double size = torque.count == 1 ? std::fabs(first) : norm(first, last);
        const double limit = share * torque.coefficient * std::max(0.0, load);
        if (!(size > limit)) continue;
        first *= limit / size, was_beyond = true;
        if (torque.count == 2) last *= limit / size;
    }
    return was_beyond;
}

bool PointProblem::activate(bool all) {
    if (inactive.empty()) return false;
    std::vector<double> v(context_.engine.model.nv, 0.0);
    for (int row = 0; row < rows_.size(); ++row) rows_.add_to(v.data(), row, friction.x[row]);
    context_.free_motion.effective_inertia().solve(v.data());
    for (std::size_t k = 0; k < v.size(); ++k) v[k] += context_.free_motion.velocity[k];
    const auto stays_apart = [&](const ContactPoint& point) {
        const double speed = dot(context_.kinematics.velocity(point, v.data()), point.z);
        return !all && point.distance + timestep() * speed >= -context_.settings.sinking;
    };
    const auto first = std::stable_partition(inactive.begin(), inactive.end(), stays_apart);
    if (first == inactive.end()) return false;
    points.insert(points.end(), first, inactive.end());
    inactive.erase(first, inactive.end());
    write();
    return true;
}

void PointProblem::store_solution(bool is_solved) {
    const std::vector<double> after = is_uncertain() || !is_solved ? velocities_after(friction.x) : std::vector<double>();
    const std::vector<double>& w = !is_solved ? after : is_condensed_ ? condensed_.velocities : friction.velocities();
    for (std::size_t k = 0; k < points.size(); ++k) {
        ContactPoint& point = points[k];
        const std::size_t z = 3 * k;
        point.impulse = vector_from(&friction.x[z]);
        point.slips = point.presses() && std::hypot(w[z + 1], w[z + 2]) > context_.settings.at_rest;
        point.outside = point.slips && !context_.law(point).map.covers(friction.points[k], point.impulse.x, friction.timestep);
        point.constrained = is_constrained, point.guarded = !is_solved;
        if (!is_uncertain()) continue;
        double predicted[3];
        point.change = 0.0;
        for (int d = 0; d < 3; ++d) {
            const int row = static_cast<int>(z) + d;
            predicted[d] = after[row];
            point.change = std::max(point.change, std::fabs(predicted[d] - w_free_[row]));
        }
        point.predicted = vector_from(predicted);
    }
    for_torques([&](const TorqueRows& torque, int row, double Vector::* about, const Vector&, double arm) {
        ContactPoint& point = points[torque.point];
        point.torque.*about = arm * friction.x[row];
        if (!is_uncertain() || arm == 0.0) return;
        const double predicted = after[row];
        point.predicted_spin.*about = predicted / arm;
        point.change = std::max(point.change, std::fabs(predicted - w_free_[row]));
    });
}

PointProblem::PredictionError PointProblem::compare(const double* velocities) {
    PredictionError found;
    for (std::size_t k = 0; k < points.size(); ++k) {
        ContactPoint& point = points[k];
        const Vector w = context_.kinematics.velocity(point, velocities);
        const Vector d = Vector{dot(w, point.z), dot(w, point.x), dot(w, point.y)} - point.predicted;
        found.error = std::max(found.error, greatest_size(d));
        found.change = std::max(found.change, point.change);
        point.prediction_error += d;
        w_free_[3 * k] += d.x, w_free_[3 * k + 1] += d.y, w_free_[3 * k + 2] += d.z;
    }
    for_torques([&](const TorqueRows& torque, int row, double Vector::* about, const Vector& axis, double arm) {
        ContactPoint& point = points[torque.point];
        const double d = dot(context_.kinematics.spin(point, velocities), axis) - point.predicted_spin.*about;
        if (arm == 0.0) return;
        found.error = std::max(found.error, arm * std::fabs(d));
        point.spin_error.*about += d, w_free_[row] += arm * d;
    });
    return found;
}

}  // namespace stiction::mujoco
