// How links respond to impulses in a step, together with everything else that MuJoCo and the points do.
//
// V are the twists of n links after the step, L = dV/dp (6 n, 6 n) is their inverse effective inertia (the Delassus operator of
// the links), and R = dv/dp (dofs, 6 n) the response of the joint velocities. Points that stick hold in all directions, points
// that slip along their normal and, as friction turns with the slip, across it; MuJoCo's active constraints are springs. With
// the rows J_c of all of these and their compliance C, the response is that of
//
//     H v = J_l^T p + J_c^T x,    (J_c H^-1 J_c^T + C) x = -J_c H^-1 J_l^T p.
#pragma once

#include "math/dense.hpp"
#include "mujoco/point_problem.hpp"

namespace stiction::mujoco {

struct LinkResponse {
    std::vector<double> V;  ///< twists of the links, (6 n,)
    Matrix R, L;
    bool is_coupled = false;  ///< whether any point or constraint responds to impulses on the links

    /// Find it in world axes. velocities: of the joints, from which V follows
    void find(const PointContext& context, std::span<const int> bodies, std::span<const ContactPoint> points,
              const double* velocities) {
        constexpr double shared = 1e-6;      // compliance of a held point, as a share of its diagonal: many can share a load
        constexpr double immovable = 1e-15;  // compliance of a point that cannot move, against the one that moves most
        const FreeMotion& free = context.free_motion;
        const int nv = context.engine.model.nv, n = static_cast<int>(6 * bodies.size());
        rows_.clear();
        for (const int body : bodies) context.kinematics.add_twist(body, rows_);
        compliance_.assign(n, 0.0);
        for (const ContactPoint& point : points)
            if (point.presses()) add_held_point(context, point);
        const int held = rows_.size() - n;
        add_constraints(context);
        const int all = rows_.size(), active = all - n;
        Matrix X(active, n);  // impulses of the active rows for unit impulses on the links
        is_coupled = false;
        if (active > 0) {
            Matrix A(all, all), C(active, active);
            rows_.whiten(free.effective_inertia(), nv, white_);
            white_.products(n, n + held, 0, all, 0, nv, A);
            if (free.is_damped()) rows_.whiten(free.inertia(), nv, white_M_);
            // MuJoCo damps after its constraints.
            (free.is_damped() ? white_M_ : white_).products(n + held, all, 0, all, 0, nv, A);
            double greatest = 0.0;
            for (int r = n; r < n + held; ++r) greatest = std::max(greatest, A[r][r]);
            for (int r = 0; r < active; ++r) {
                const double* row = A[n + r];
                std::copy(row + n, row + all, C[r]);
                C[r][r] += compliance_[n + r];
                if (r < held) C[r][r] += (shared + context.settings.softness) * row[n + r] + immovable * greatest;
                for (int c = 0; c < n; ++c) X[r][c] = -row[c];
                is_coupled = is_coupled || std::any_of(row, row + n, [](double x) { return x != 0.0; });
            }
            solve_by_elimination(C, X[0], n);
        }
        V.resize(n), R.resize(nv, n), L.resize(n, n);
        std::vector<double> response;
        for (int c = 0; c < n; ++c) {
            response.assign(nv, 0.0);
            rows_.add_to(response.data(), c, 1.0);
            for (int r = 0; r < active; ++r) rows_.add_to(response.data(), n + r, X[r][c]);
            free.effective_inertia().solve(response.data());
            V[c] = rows_.dot(c, velocities);
            for (int dof = 0; dof < nv; ++dof) R[dof][c] = response[dof];
            for (int r = 0; r < n; ++r) L[r][c] = rows_.dot(r, response.data());
        }
    }

  private:
    SystemRows rows_, white_, white_M_;
    std::vector<double> compliance_;  // of each row

    /// Add the rows along which a point that presses holds.
    void add_held_point(const PointContext& context, const ContactPoint& point) {
        context.kinematics.add_point(point, rows_);
        compliance_.resize(rows_.size(), 0.0);
        if (!point.slips) return;
        const Vector w = context.kinematics.velocity(point, *context.engine.data.qvel);
        const double slip[2] = {dot(w, point.x), dot(w, point.y)}, speed = std::hypot(slip[0], slip[1]);
        const double friction = std::hypot(point.impulse.y, point.impulse.z);
        const int along_x = rows_.size() - 2;
        const bool turns = speed > 0.0 && friction > 0.0;
        double *x = rows_.numbers(along_x), *y = rows_.numbers(along_x + 1);
        for (std::size_t k = 0; turns && k < rows_.dofs(along_x).size(); ++k) x[k] = (slip[0] * y[k] - slip[1] * x[k]) / speed;
        rows_.drop(turns ? 1 : 2);
        compliance_.resize(rows_.size());
        if (turns) compliance_.back() = speed / friction;
    }

    void add_constraints(const PointContext& context) {
        const Engine& engine = context.engine;
        for (int k = 0; k < *engine.data.nefc; ++k) {
            if ((*engine.data.efc_state)[k] == engine.constants.quadratic) {
                context.kinematics.add_constraint(k, rows_);
                compliance_.push_back((*engine.data.efc_R)[k]);
            } else if ((*engine.data.efc_state)[k] == engine.constants.cone) {
                add_cone(context, k);
                k += engine.contact((*engine.data.efc_id)[k]).dim() - 1;
            }
        }
    }

    /// Add the rows of one of MuJoCo's contacts that slides on its elliptic cone, whose first constraint is given. MuJoCo minimises
    /// D (N - mu T)^2 / 2, where (N, T u) is the scaled constraint-space acceleration: a spring along the derivative of N - mu T,
    /// and one across the slip u, as friction turns with it.
    void add_cone(const PointContext& context, int first) {
        const Data& d = context.engine.data;
        const EngineContact contact = context.engine.contact((*d.efc_id)[first]);
        const int dim = contact.dim();
        const double mu = contact.mu(), D = (*d.efc_D)[first] / (mu * mu * (1 + mu * mu));
        double scale[6] = {mu}, U[6], T = 0.0;
        std::copy_n(contact.friction(), dim - 1, scale + 1);
        for (int k = 0; k < dim; ++k) {
            double acceleration = -(*d.efc_aref)[first + k];
            context.engine.visit_row(first + k, [&](int dof, double value) { acceleration += value * (*d.qacc)[dof]; });
            U[k] = scale[k] * acceleration;
            if (k > 0) T += U[k] * U[k];
        }
        T = std::sqrt(T);
        const double sliding = mu * T - U[0];
        if (!(T > 0.0 && sliding > 0.0)) return;
        double weights[6] = {mu};
        for (int k = 1; k < dim; ++k) weights[k] = -mu * U[k] / T * scale[k];
        context.kinematics.add_constraint(first, std::span(weights, dim), rows_);
        compliance_.push_back(1 / D);
        if (dim != 3) return;  // what torsional and rolling friction add is left to the convergence loop
        const double across[3] = {0.0, -U[2] / T * scale[1], U[1] / T * scale[2]};
        context.kinematics.add_constraint(first, across, rows_);
        compliance_.push_back(T / (D * mu * sliding));
    }
};

}  // namespace stiction::mujoco
