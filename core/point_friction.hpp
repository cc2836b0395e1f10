// Friction at points that act together through one body, or one system of bodies.
//
// Each point has a normal impulse n and a friction impulse f in the plane; w = A x + b are the velocities of all points
// after the impulses x. A point is open (n = 0, f = 0, w_z >= 0), it sticks (w = 0, f within its limit), or it slips
// (w_z = 0, f at its limit and against the slip). The limit is any FrictionMap: it may depend on n and on the direction
// of slip. Gauss-Seidel sweeps come close to a solution, and Newton's method on these equations (Alart and Curnier, "A
// mixed formulation for frictional contact problems prone to Newton like solution methods", 1991) makes it exact.
#pragma once

#include <vector>

#include "dense.hpp"
#include "laws/friction_map.hpp"

namespace stiction {

/// Rows of point k: 3 k is z, along the normal, 3 k + 1 and 3 k + 2 are x and y in the plane.
class PointFriction {
  public:
    Matrix A;               ///< velocities for unit impulses; symmetric, positive semidefinite, positive along z
    std::vector<double> b;  ///< velocities without impulses; along z, less the speed of separation that is wanted
    std::vector<double> x;  ///< impulses, the solution [N s]
    std::vector<SlidingPoint> points;
    double timestep = 0.0;  ///< [s]

    /// Make room for so many points, with all numbers zero.
    void resize(int points);
    int size() const { return static_cast<int>(points.size()); }

    /// Solve for x, from the x that is there. False if no solution was found; then x is the best that was seen.
    bool solve(const FrictionMap& map);

    /// Whether point k slips in the solution.
    bool slips(int k) const { return slips_[k] != 0; }

  private:
    const FrictionMap* map_ = nullptr;
    Matrix J_;                          // derivatives of the equations
    std::vector<double> w_, residual_;  // velocities; what is left of the equations [m/s]
    std::vector<double> best_, swept_;  // the x with the least residual so far; where Newton's method began
    double least_ = 0.0;                // that residual
    double gain_ = 1.0;                 // scale of `gain`: where Newton's method cycles with one, another may lead on
    std::vector<char> slips_;

    double greatest_speed() const;
    void update_velocities();
    void sweep();
    bool newton();
    double write_equations();
    void cone_equations(int k, double pushed);
    void box_equations(int k, double pushed);
    void hold(int row, double value);
    bool improve();
    bool pivot();

    bool moves(int row) const { return A[row][row] > NO_MOBILITY * A[row - row % 3][row - row % 3]; }
    /// By how much friction in the plane answers a velocity, in the equations and in the sweeps.
    double gain(int k) const;
    void add_impulse(int row, double change);
};

}  // namespace stiction
