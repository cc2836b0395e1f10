// Jacobians of contact points, bodies and MuJoCo's constraints with respect to the joint velocities ("dofs").
#pragma once

#include <array>
#include <span>
#include <vector>

#include "mujoco/contact_point.hpp"
#include "mujoco/engine.hpp"
#include "mujoco/system_rows.hpp"

namespace stiction::mujoco {

class Kinematics {
  public:
    explicit Kinematics(const Engine& engine);

    /// The dofs that move a body, ascending.
    const std::vector<int>& chain(int body) const { return chains_[body]; }
    bool is_fixed(int body) const { return chains_[body].empty(); }
    /// The kinematic tree of a body; -1: it is fixed.
    int tree(int body) const { return is_fixed(body) ? -1 : (*engine_.model.dof_treeid)[chains_[body].front()]; }

    /// Add the rows of a point's relative velocity along z, x and y.
    void add_point(const ContactPoint& point, SystemRows& rows) const;
    /// Add the rows of a body's twist about its centre of mass: linear, then angular, world axes.
    void add_twist(int body, SystemRows& rows) const;
    /// Add a weighted sum of successive rows of MuJoCo's constraints, on all dofs of their chains.
    void add_constraint(int first, std::span<const double> weights, SystemRows& rows) const;
    void add_constraint(int number, SystemRows& rows) const { add_constraint(number, std::array{1.0}, rows); }

    /// Velocity of the first surface over the second for these joint velocities, world axes [m/s].
    Vector velocity(const ContactPoint& point, const double* velocities) const;
    /// Twist of a body for these joint velocities, about its centre of mass, world axes.
    Twist twist(int body, const double* velocities) const;
    /// Whether any dof moves the surfaces over each other, beyond rounding. None does where a link overlaps with its
    /// parent at the very joint between them.
    bool is_movable(const ContactPoint& point) const;

  private:
    const Engine& engine_;
    std::vector<std::vector<int>> chains_;

    /// From the point about which MuJoCo's motions of the body's tree are taken.
    Vector arm(int body, const Vector& position) const {
        return position - vector_from(*engine_.data.subtree_com + 3 * (*engine_.model.body_rootid)[body]);
    }
    Vector centre_of_mass(int body) const { return vector_from(*engine_.data.xipos + 3 * body); }
    /// Motion of a dof: angular, then linear.
    const double* motion(int dof) const { return *engine_.data.cdof + 6 * dof; }
};

}  // namespace stiction::mujoco
