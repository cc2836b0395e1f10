// How links respond to impulses in a step, together with everything else that MuJoCo and the points do.
//
// V are the twists of n links after the step, L = dV/dp (6 n, 6 n) is their inverse effective inertia (the Delassus operator of
// the links), and R = dv/dp (dofs, 6 n) the response of the joint velocities. Points that stick hold in all directions, points
// that slip along their normal and, as friction turns with the slip, across it; MuJoCo's active constraints are springs. With
// the rows J_c of all of these and their compliance C, the response is that of
//
//     H v = J_l^T p + J_c^T x,    (J_c H^-1 J_c^T + C) x = -J_c H^-1 J_l^T p.
#pragma once

#include <span>
#include <vector>

#include "math/dense.hpp"
#include "mujoco/point_problem.hpp"

namespace stiction::mujoco {

struct LinkResponse {
    std::vector<double> V;  ///< twists of the links, (6 n,)
    Matrix R, L;
    bool is_coupled = false;  ///< whether any point or constraint responds to impulses on the links

    /// Find it in world axes. velocities: of the joints, from which V follows
    void find(const PointContext& context, std::span<const int> bodies, std::span<const ContactPoint> points,
              const double* velocities);

  private:
    SystemRows rows_, white_, white_M_;
    std::vector<double> compliance_;  // of each row

    void add_held_point(const PointContext& context, const ContactPoint& point);
    void add_constraints(const PointContext& context);
    void add_cone(const PointContext& context, int first);
};

}  // namespace stiction::mujoco
