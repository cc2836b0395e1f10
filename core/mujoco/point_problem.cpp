// What is solved for in a step: the motion without contact, the rows of points and constraints, and their problem.
#include <algorithm>
#include <cmath>
#include <limits>

#include "mujoco/point_step.hpp"

namespace stiction::mujoco {
namespace {

constexpr int MOST_STEPS = 66, LEAST_STEPS = 14;  // of Newton's method in a time step ...
constexpr int STEPPED_ROWS = 2600;        // ... the fewer, the more rows there are: no step may take very long

}  // namespace

/// Find the velocities after a step without our contacts and without MuJoCo's constraints, and what meets impulses.
void PointStep::free_motion() {
    const Model& m = engine.model;
    const Data& d = engine.data;
    const TreeFactor::Pattern pattern{*m.M_rowadr, *m.M_rownnz, *m.M_colind, m.nv};
    const double h = timestep();
    inertia_.take(pattern, *d.qLD, *d.qLDiagInv);
    save_state();
    v_free_.resize(m.nv);
    v_before_.assign(*d.qvel, *d.qvel + m.nv);
    damped_ = true;
    const bool euler = *m.integrator == engine.constants.euler;
    if (!euler || m.has_curved_damping()) {
        probe(euler ? engine.functions.Euler : engine.functions.implicit);
        return;
    }
    const double* damping = *m.dof_damping;
    const bool damps = !(*m.disableflags & (engine.constants.no_eulerdamp | engine.constants.no_damper));
    damped_ = damps && std::any_of(damping, damping + m.nv, [](double x) { return x != 0.0; });
    if (damped_) {
        scratch_.assign(damping, damping + m.nv);
        for (double& x : scratch_) x *= h;
        effective_.factor(pattern, *d.M, scratch_);
        std::copy(*d.qfrc_smooth, *d.qfrc_smooth + m.nv, v_free_.begin());
        effective_.solve(v_free_.data());
    } else {
        std::copy(*d.qacc_smooth, *d.qacc_smooth + m.nv, v_free_.begin());
    }
    for (int k = 0; k < m.nv; ++k) v_free_[k] = (*d.qvel)[k] + h * v_free_[k];
}

/// The same by MuJoCo's own integrator, which is then taken back.
void PointStep::probe(Stage integrate) {
    const Model& m = engine.model;
    const Data& d = engine.data;
    std::copy(*d.qacc_smooth, *d.qacc_smooth + m.nv, *d.qacc);
    std::fill(*d.qfrc_constraint, *d.qfrc_constraint + m.nv, 0.0);
    engine.run(integrate);
    std::copy(*d.qvel, *d.qvel + m.nv, v_free_.begin());
    go_back();
    const TreeFactor::Pattern pattern{*m.M_rowadr, *m.M_rownnz, *m.M_colind, m.nv};
    if (*m.integrator != engine.constants.implicit) {
        effective_.take(pattern, *d.qH, *d.qHDiagInv);
        return;
    }
    // The implicit integrator's own matrix is not symmetric; what its symmetric part leaves is corrected in rounds.
    const int numbers = m.nv > 0 ? pattern.first[m.nv - 1] + pattern.count[m.nv - 1] : 0;
    scratch_.assign(*d.M, *d.M + numbers);
    for (int k = 0; k < numbers; ++k) scratch_[k] -= timestep() * (*d.qDeriv)[(*m.mapD2M)[k]];
    const std::vector<double> H = scratch_;
    effective_.factor(pattern, H.data(), {});
}

void PointStep::write_rows() {
    rows_.clear();
    for (const TouchingPoint& point : points) write_point(point);
    for (const int number : constraints_) write_constraint(number);
}

/// How a point of the own body moves over the other, along z, x and y.
void PointStep::write_point(const TouchingPoint& point) {
    const std::vector<int>&own = chains_[point.own], &other = chains_[point.other];
    std::vector<int> dofs;
    std::set_union(own.begin(), own.end(), other.begin(), other.end(), std::back_inserter(dofs));
    std::vector<Vector> velocity(dofs.size());
    for (const auto& [chain, body, side] : {std::tuple{&own, point.own, 1.0}, std::tuple{&other, point.other, -1.0}}) {
        const Vector arm = point.place - vector_from(*engine.data.subtree_com + 3 * (*engine.model.body_rootid)[body]);
        std::size_t k = 0;
        for (const int dof : *chain) {
            while (dofs[k] != dof) ++k;
            const double* motion = *engine.data.cdof + 6 * dof;
            velocity[k] = velocity[k] + side * (vector_from(motion + 3) + cross(vector_from(motion), arm));
        }
    }
    for (const Vector* axis : {&point.z, &point.x, &point.y}) {
        double* row = rows_.add(dofs);
        for (std::size_t k = 0; k < dofs.size(); ++k) row[k] = dot(*axis, velocity[k]);
    }
}

/// A row of MuJoCo's, with all dofs that carry one of its own.
void PointStep::write_constraint(int number) {
    const Model& m = engine.model;
    scratch_.assign(m.nv, std::numeric_limits<double>::quiet_NaN());
    engine.look_at_row(number, [&](int dof, double value) {
        scratch_[dof] = value;
        for (int up = (*m.dof_parentid)[dof]; up >= 0 && std::isnan(scratch_[up]); up = (*m.dof_parentid)[up]) scratch_[up] = 0.0;
    });
    std::vector<int> dofs;
    for (int dof = 0; dof < m.nv; ++dof)
        if (!std::isnan(scratch_[dof])) dofs.push_back(dof);
    double* row = rows_.add(dofs);
    for (std::size_t k = 0; k < dofs.size(); ++k) row[k] = scratch_[dofs[k]];
}

void PointStep::write_problem() {
    const int n = point_rows(), all = rows_.size(), nv = engine.model.nv;
    const double h = timestep(), *v = *engine.data.qvel;
    problem_.resize(n / 3, all - n);
    problem_.timestep = h;
    most_steps_ = std::clamp(STEPPED_ROWS / all, LEAST_STEPS, MOST_STEPS);
    normals_.most_steps = LEAST_STEPS / 2;
    problem_.symmetric = !(damped_ && all > n);
    rows_.whiten(met(), nv, white_);
    Matrix& A = problem_.A;
    for (int r = 0; r < n; r += 3) white_.products(r, r + 3, 0, r + 3, n, nv, A);  // the rest by symmetry
    for (int r = 0; r < n; ++r)
        for (int c = r + 1; c < n; ++c) A[r][c] = A[c][r];
    if (all > n) {
        white_.products(0, n, n, all, n, nv, A);
        if (damped_) rows_.whiten(inertia_, nv, white_M_);
        (damped_ ? white_M_ : white_).products(n, all, 0, all, n, nv, A);
    }
    w_free_.resize(n), w_before_.resize(n), proximal_.assign(n, 0.0), previous_.assign(n, 0.0), mobility_.assign(n, 0.0);
    for (int row = 0; row < n; ++row)
        w_free_[row] = rows_.dot(row, v_free_.data()), w_before_[row] = rows_.dot(row, v);
    for (std::size_t k = 0; k < points.size(); ++k) {
        TouchingPoint& point = points[k];
        const std::size_t z = 3 * k;
        for (std::vector<double>* w : {&w_free_, &w_before_})
            for (int d = 0; d < 3; ++d) (*w)[z + d] += dot(point.surface, point.axis(d));
        w_free_[z] += point.unforeseen.x, w_free_[z + 1] += point.unforeseen.y, w_free_[z + 2] += point.unforeseen.z;
        const PairLaw& law = laws_[point.law];
        const double slip = std::hypot(w_before_[z + 1], w_before_[z + 2]);
        problem_.points[k] = law.map.at(slip, 0.0, h);
        // It comes back if it arrives within the step.
        if (law.restitution.e0 > 0.0 && point.distance + h * w_free_[z] < 0.0)
            point.rebound = law.restitution.rebound(-w_before_[z], std::max(0.0, w_before_[z] - w_free_[z]));
    }
    for (int k = n; k < all; ++k) write_constraint_problem(k);
    recall();
    double greatest = 0.0;
    for (int row = 0; row < n; ++row) greatest = std::max(greatest, A[row][row]);
    for (int row = 0; row < n; ++row) {
        double& own = problem_.A[row][row];
        if (row % 3 == 0) {  // a point that cannot move along its normal, or not at all, yields a little
            const double whole = own + problem_.A[row + 1][row + 1] + problem_.A[row + 2][row + 2];
            own = std::max({own, 1e-9 * whole, 1e-15 * greatest});
        }
        mobility_[row] = own;
    }
    set_yield(COARSE);
    limit_by_frictionless_loads();
}

/// One of MuJoCo's constraints: a spring on accelerations, with bounds on its force.
void PointStep::write_constraint_problem(int k) {
    const Data& d = engine.data;
    const int number = constraints_[k - point_rows()], kind = (*d.efc_type)[number];
    const double h = timestep(), infinite = std::numeric_limits<double>::infinity();
    const double aref = (*d.efc_aref)[number];
    problem_.A[k][k] += (*d.efc_R)[number];
    problem_.b[k] = h * (rows_.dot(k, *d.qacc_smooth) - aref);
    Bounds bounds{0.0, infinite};
    if (kind == engine.constants.equality) bounds.low = -infinite;
    if (kind == engine.constants.friction_dof || kind == engine.constants.friction_tendon)
        bounds.high = h * (*d.efc_frictionloss)[number], bounds.low = -bounds.high;
    problem_.bounded[k - point_rows()] = bounds;
    // It begins with its force in the last step.
    const double force = -(*d.efc_D)[number] * (rows_.dot(k, *d.qacc_warmstart) - aref);
    problem_.x[k] = std::clamp(h * force, bounds.low, bounds.high);
}

/// Where a law limits friction by the load that there would be without friction, find these loads.
void PointStep::limit_by_frictionless_loads() {
    const auto is_limited = [&](const TouchingPoint& point) { return laws_[point.law].map.frictionless_limit; };
    if (std::none_of(points.begin(), points.end(), is_limited)) return;
    std::vector<double> b(points.size());
    for (std::size_t k = 0; k < points.size(); ++k)
        b[k] = w_free_[3 * k] + std::max(points[k].distance, 0.0) / timestep();
    solve_normals(b);
    for (std::size_t k = 0; k < points.size(); ++k)
        if (is_limited(points[k])) problem_.points[k].fixed = std::max(0.0, normals_.x[k]);
}

}  // namespace stiction::mujoco
