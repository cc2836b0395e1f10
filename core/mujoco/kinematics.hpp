// Jacobians of contact points, bodies and MuJoCo's constraints with respect to the joint velocities ("dofs").
#pragma once

#include <iterator>
#include <tuple>

#include "mujoco/contact_point.hpp"
#include "mujoco/engine.hpp"
#include "mujoco/system_rows.hpp"

namespace stiction::mujoco {

class Kinematics {
  public:
    explicit Kinematics(const Engine& engine) : engine_(engine), chains_(engine.model.nbody) {
        const Model& m = engine.model;
        for (int body = 0; body < m.nbody; ++body) {
            std::vector<int>& dofs = chains_[body];
            for (int b = body; b > 0; b = (*m.body_parentid)[b])
                for (int k = (*m.body_dofnum)[b] - 1; k >= 0; --k) dofs.push_back((*m.body_dofadr)[b] + k);
            std::sort(dofs.begin(), dofs.end());
        }
    }

    bool is_fixed(int body) const { return chains_[body].empty(); }
    /// The kinematic tree of a body; -1: it is fixed.
    int tree(int body) const { return is_fixed(body) ? -1 : (*engine_.model.dof_treeid)[chains_[body].front()]; }

    /// Add the rows of a point's relative velocity along z, x and y.
    void add_point(const ContactPoint& point, SystemRows& rows) const {
        const std::vector<int>&first = chains_[point.body1], &second = chains_[point.body2];
        std::vector<int> dofs;
        std::set_union(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(dofs));
        std::vector<Vector> velocity(dofs.size());
        for (const auto& [chain, body, side] : {std::tuple{&first, point.body1, 1.0}, std::tuple{&second, point.body2, -1.0}}) {
            const Vector r = arm(body, point.position);
            std::size_t k = 0;
            for (const int dof : *chain) {
                while (dofs[k] != dof) ++k;
                velocity[k] = velocity[k] + side * (vector_from(motion(dof) + 3) + cross(vector_from(motion(dof)), r));
            }
        }
        for (const Vector* axis : {&point.z, &point.x, &point.y}) {
            double* row = rows.add(dofs);
            for (std::size_t k = 0; k < dofs.size(); ++k) row[k] = dot(*axis, velocity[k]);
        }
    }

    /// Add the rows of a point's relative turning about z, or about x and y.
    void add_turning(const ContactPoint& point, std::span<const Vector* const> axes, SystemRows& rows) const {
        const std::vector<int>&first = chains_[point.body1], &second = chains_[point.body2];
        std::vector<int> dofs;
        std::set_union(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(dofs));
        const auto turning = [&](const std::vector<int>& chain, int dof) {
            return std::binary_search(chain.begin(), chain.end(), dof) ? vector_from(motion(dof)) : Vector{};
        };
        for (const Vector* axis : axes) {
            double* row = rows.add(dofs);
            for (std::size_t k = 0; k < dofs.size(); ++k)
                row[k] = dot(*axis, turning(first, dofs[k]) - turning(second, dofs[k]));
        }
    }

    /// Add the rows of a body's twist about its centre of mass: linear, then angular, world axes.
    void add_twist(int body, SystemRows& rows) const {
        const std::vector<int>& chain = chains_[body];
        const Vector r = arm(body, centre_of_mass(body));
        for (int d = 0; d < 6; ++d) rows.add(chain);
        double* first = rows.numbers(rows.size() - 6);
        for (std::size_t k = 0; k < chain.size(); ++k) {
            const Vector angular = vector_from(motion(chain[k])), linear = vector_from(motion(chain[k]) + 3) + cross(angular, r);
            const double all[6] = {linear.x, linear.y, linear.z, angular.x, angular.y, angular.z};
            for (int d = 0; d < 6; ++d) first[d * chain.size() + k] = all[d];
        }
    }

    /// Add a weighted sum of successive rows of MuJoCo's constraints, on all dofs of their chains.
    void add_constraint(int first, std::span<const double> weights, SystemRows& rows) const {
        const Model& m = engine_.model;
        std::vector<double> values(m.nv, std::numeric_limits<double>::quiet_NaN());
        for (std::size_t k = 0; k < weights.size(); ++k)
            engine_.visit_row(first + static_cast<int>(k), [&](int dof, double value) {
                for (int up = dof; up >= 0 && std::isnan(values[up]); up = (*m.dof_parentid)[up]) values[up] = 0.0;
                values[dof] += weights[k] * value;
            });
        std::vector<int> dofs;
        for (int dof = 0; dof < m.nv; ++dof)
            if (!std::isnan(values[dof])) dofs.push_back(dof);
        double* row = rows.add(dofs);
        for (std::size_t k = 0; k < dofs.size(); ++k) row[k] = values[dofs[k]];
    }

    void add_constraint(int number, SystemRows& rows) const { add_constraint(number, std::array{1.0}, rows); }

    /// Velocity of the first surface over the second for these joint velocities, world axes [m/s].
    Vector velocity(const ContactPoint& point, const double* velocities) const {
        Vector total = point.surface_velocity;
        for (const auto& [body, side] : {std::pair{point.body1, 1.0}, std::pair{point.body2, -1.0}}) {
            Vector linear, angular;
            for (const int dof : chains_[body])
                angular += velocities[dof] * vector_from(motion(dof)), linear += velocities[dof] * vector_from(motion(dof) + 3);
            total += side * (linear + cross(angular, arm(body, point.position)));
        }
        return total;
    }

    /// Angular velocity of the first body over the second for these joint velocities, world axes [rad/s].
    Vector spin(const ContactPoint& point, const double* velocities) const {
        Vector total = point.surface_spin;
        for (const auto& [body, side] : {std::pair{point.body1, 1.0}, std::pair{point.body2, -1.0}})
            for (const int dof : chains_[body]) total += (side * velocities[dof]) * vector_from(motion(dof));
        return total;
    }

    /// Twist of a body for these joint velocities, about its centre of mass, world axes.
    Twist twist(int body, const double* velocities) const {
        const Vector r = arm(body, centre_of_mass(body));
        Twist total;
        for (const int dof : chains_[body]) {
            const Vector angular = vector_from(motion(dof));
            total = total + velocities[dof] * Twist{vector_from(motion(dof) + 3) + cross(angular, r), angular};
        }
        return total;
    }

    /// Whether any dof moves the surfaces over each other, beyond rounding. None does where a link overlaps with its
    /// parent at the very joint between them.
    bool is_movable(const ContactPoint& point) const {
        constexpr double rounding = 1e-12;  // of the square of a motion, against that of its parts
        double moves = 0.0, parts = 0.0;
        for (const auto& [body, other] : {std::pair{point.body1, point.body2}, std::pair{point.body2, point.body1}}) {
            const Vector r = arm(body, point.position);
            for (const int dof : chains_[body]) {
                if (std::binary_search(chains_[other].begin(), chains_[other].end(), dof)) continue;  // it moves both alike
                const Vector linear = vector_from(motion(dof) + 3), turned = cross(vector_from(motion(dof)), r);
                const Vector all = linear + turned;
                moves += dot(all, all), parts += dot(linear, linear) + dot(turned, turned);
            }
        }
        return moves > rounding * parts;
    }

  private:
    const Engine& engine_;
    std::vector<std::vector<int>> chains_;  // of each body: the dofs that move it, ascending

    /// From the point about which MuJoCo's motions of the body's tree are taken.
    Vector arm(int body, const Vector& position) const {
        return position - vector_from(*engine_.data.subtree_com + 3 * (*engine_.model.body_rootid)[body]);
    }
    Vector centre_of_mass(int body) const { return vector_from(*engine_.data.xipos + 3 * body); }
    /// Motion of a dof: angular, then linear.
    const double* motion(int dof) const { return *engine_.data.cdof + 6 * dof; }
};

}  // namespace stiction::mujoco
