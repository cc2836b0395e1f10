#include "multibody/joint_space.hpp"

#include <algorithm>

namespace stiction {
namespace {

bool any(std::span<const double> values) {
    return std::any_of(values.begin(), values.end(), [](double x) { return x != 0.0; });
}

/// Whether there is damping that is not linear, or a contact that slides.
bool has_no_closed_form(const EngineArrays& engine, const EngineConstraints& constraints) {
    for (const auto& damping : engine.other_damping)
        if (any(damping)) return true;
    return std::find(constraints.state, constraints.state + constraints.count, constraints.cone) !=
           constraints.state + constraints.count;
}

/// Visit the dofs that move a link, visit(dof, twist of the link for a unit of its velocity).
template <class Visit> void for_dofs(const EngineArrays& engine, const PlacedLink& link, Visit visit) {
    const Vector arm = vector_from(engine.xipos + 3 * link.body) - vector_from(engine.subtree_com + 3 * link.root);
    for (const int d : link.dofs) {
        const Vector w = vector_from(engine.cdof + 6 * d);
        visit(d, link.to_plane(Twist{vector_from(engine.cdof + 6 * d + 3) + cross(w, arm), w}));
    }
}

/// Write the columns of J^T of one link, which begin with `first`.
void write_jacobian(const EngineArrays& engine, const PlacedLink& link, int first, Matrix& J) {
    for_dofs(engine, link, [&](int d, const Twist& unit) { write(unit, J[d] + first); });
}

void add_inertia(const EngineArrays& engine, Matrix& A) {
    for (int r = 0; r < A.rows(); ++r) {
        int k = engine.M_rowadr[r];
        for (; engine.M_colind[k] < r; ++k) {
            const int c = engine.M_colind[k];
            A[r][c] += engine.M[k];
            A[c][r] += engine.M[k];
        }
        A[r][r] += engine.M[k];
    }
}

/// Add row^T stiffness row of constraint c.
void add_spring(const EngineConstraints& all, int c, Matrix& A) {
    const int first = all.sparse ? all.start[c] : c * A.rows(), count = all.sparse ? all.length[c] : A.rows();
    const auto column = [&](int k) { return all.sparse ? all.column[first + k] : k; };
    const double* row = all.rows + first;
    for (int k = 0; k < count; ++k) {
        const double a = all.stiffness[c] * row[k];
        if (a == 0.0) continue;
        double* out = A[column(k)];
        for (int m = 0; m < count; ++m) out[column(m)] += a * row[m];
    }
}

}  // namespace

Twist twist_of(const EngineArrays& engine, const PlacedLink& link) {
    Twist total;
    for_dofs(engine, link, [&](int d, const Twist& unit) { total = total + engine.qvel[d] * unit; });
    return total;
}

bool LinearStep::find(const EngineArrays& engine, const EngineConstraints& constraints,
                      std::span<const PlacedLink* const> links, double timestep, bool damps) {
    if (has_no_closed_form(engine, constraints)) return false;
    const int n = 6 * static_cast<int>(links.size()), dofs = static_cast<int>(engine.qvel.size());
    J_.resize(dofs, n);
    for (std::size_t i = 0; i < links.size(); ++i) write_jacobian(engine, *links[i], 6 * static_cast<int>(i), J_);
    met_.resize(dofs, dofs);  // what the impulses meet: inertia and springs, or inertia and damping
    add_inertia(engine, met_);
    bool any_spring = false;
    for (int c = 0; c < constraints.count; ++c)
        if (constraints.state[c] == constraints.quadratic) {
            add_spring(constraints, c, met_);
            any_spring = true;
        }
    // What meets velocities in the end: inertia and damping. Constraint forces come from M alone, damping acts on what
    // is left: (M + h D)^-1 M (M + C)^-1.
    const bool damped = damps && any(engine.dof_damping), twice = damped && any_spring;
    Matrix& later = twice ? met_later_ : met_;
    if (twice) {
        met_later_.resize(dofs, dofs);
        add_inertia(engine, met_later_);
    }
    if (damped)
        for (int k = 0; k < dofs; ++k) later[k][k] += timestep * engine.dof_damping[k];
    factor(met_, dofs);
    R = J_;
    solve_factored(met_, dofs, R);
    if (twice) {
        M_.resize(dofs, dofs);
        add_inertia(engine, M_);
        before_ = R;
        multiply(M_, before_, R);
        factor(later, dofs);
        solve_factored(later, dofs, R);
    }
    change_.resize(dofs);
    for (int k = 0; k < dofs; ++k)
        change_[k] = damped ? engine.qfrc_smooth[k] + engine.qfrc_constraint[k] : engine.qacc[k];
    if (damped) solve_factored(later, dofs, change_.data());
    V.assign(n, 0.0);
    L.resize(n, n);
    for (int k = 0; k < dofs; ++k) {
        const double velocity = engine.qvel[k] + timestep * change_[k];
        const double *direction = J_[k], *follows = R[k];
        for (int r = 0; r < n; ++r) {
            if (direction[r] == 0.0) continue;
            V[r] += direction[r] * velocity;
            double* out = L[r];
            for (int c = 0; c < n; ++c) out[c] += direction[r] * follows[c];
        }
    }
    return true;
}

void LinearStep::turn_to_planes(std::span<const PlacedLink* const> links) {
    for (std::size_t i = 0; i < links.size(); ++i) {
        const PlacedLink& link = *links[i];
        if (!link.turned) continue;
        const int first = 6 * static_cast<int>(i);
        const auto turn = [&](double* six) { write(link.to_plane(twist_from(six)), six); };
        turn(V.data() + first);
        for (int d = 0; d < R.rows(); ++d) turn(R[d] + first);
        for (int r = 0; r < L.rows(); ++r) turn(L[r] + first);  // its columns, then its rows
        for (int c = 0; c < L.columns(); ++c) {
            double column[6];
            for (int k = 0; k < 6; ++k) column[k] = L[first + k][c];
            turn(column);
            for (int k = 0; k < 6; ++k) L[first + k][c] = column[k];
        }
    }
}

}  // namespace stiction
