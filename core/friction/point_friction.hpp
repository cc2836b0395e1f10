// Friction at points that act together through one body, or one system of bodies, and beside other constraints.
//
// Each point has a normal impulse n and a friction impulse f in the plane; w = A x + b are the velocities of all points
// after the impulses x. A point is open (n = 0, f = 0, w_z >= 0), it sticks (w = 0, f within its limit), or it slips
// (w_z = 0, f at its limit and against the slip). The limit is any FrictionMap: it may depend on n and on the direction
// of slip. Other constraints (limits of joints, springs, joints that rub) are rows with bounds: w = 0, or x at a bound.
//
// Gauss-Seidel sweeps come close to a solution, and Newton's method on these equations (Alart and Curnier, "A mixed
// formulation for frictional contact problems prone to Newton like solution methods", 1991) makes it exact. The
// equations have corners, between which Newton's method may go round in circles. Where it does, with steps that are
// shortened if they lead away or with whole ones, with another scale of slip in the equations, or from another start, it
// mostly leads on. So there are several tries, and their number is bounded.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "math/dense.hpp"
#include "friction/friction_map.hpp"

namespace stiction {

struct Attempt;

/// What an impulse must lie between.
struct Bounds {
    double low, high;
};

/// Rows of point k: 3 k is z, along the normal, 3 k + 1 and 3 k + 2 are x and y in the plane. The rows with bounds
/// follow those of all points.
class PointFriction {
  public:
    Matrix A;               ///< velocities for unit impulses; positive on the diagonal along z and of rows with bounds
    std::vector<double> b;  ///< velocities without impulses; along z, less the speed of separation that is wanted
    std::vector<double> x;  ///< impulses, the solution [N s]
    std::vector<SlidingPoint> points;
    std::vector<Bounds> bounded;
    double timestep = 0.0;   ///< [s]
    bool symmetric = true;   ///< whether A is
    int most_steps = 300;    ///< of Newton's method, in all tries

    bool bold = false;       ///< only whole steps of Newton's method, in few tries: all it takes where points yield much

    /// Make room for so many points and rows with bounds, with all numbers zero.
    void resize(int points, int bounded = 0);
    int size() const { return static_cast<int>(points.size()); }

    /// Solve for x, from the x that is there. False if no solution was found; then x is the best that was seen.
    bool solve();

    /// Look at the x that is there: what is left of the equations, as a share of the greatest velocity.
    double measure();

    /// Whether point k slips in the solution.
    bool slips(int k) const { return slips_[k] != 0; }
    /// What was left of the equations in the end, as a share of the greatest velocity.
    double error() const { return speed_ > 0.0 ? least_ / speed_ : 0.0; }
    /// Steps of Newton's method that the last solution took.
    int steps() const { return steps_; }
    /// The velocities w of the last solution.
    const std::vector<double>& velocities() const { return w_; }

  private:
    Matrix columns_;                    // A transposed, if it is not symmetric
    Matrix J_;                          // derivatives of the equations of `unknown_`
    std::vector<int> unknown_, place_;  // rows whose x is not known; where each row stands among them, or -1
    std::vector<double> w_, residual_;  // velocities; what is left of the equations [m/s]
    std::vector<double> best_, swept_;  // the x with the least residual so far; where Newton's method began
    std::vector<double> step_, from_, to_;
    double least_ = 0.0;                // that residual
    double speed_ = 0.0, other_ = 0.0;  // the greatest speed without impulses, of points and of rows with bounds
    double slip_scale_ = 1.0;                 // scale of `gain`: where Newton's method cycles with one, another may lead on
    double friction_share_ = 1.0;                // of friction, while it is raised from none
    int steps_ = 0;
    std::vector<char> slips_;

    void begin();
    bool attempt(std::span<const Attempt> attempts);
    void raise_friction();
    void measure_speeds();
    void update_velocities();
    void sweep();
    void sweep_box(int k);
    void sweep_cone(int k);
    bool newton(int iterations, bool cautious);
    double shorten(double before);
    bool improve();
    bool pivot();

    // point_equations.cpp
    double look();
    void equations(int k);
    void cone_equations(int k, double pushed);
    void box_equations(int k, double pushed);
    void bounded_equation(int row);
    // An equation as it is written: its residual, and its derivatives where they are asked for.
    void stop(int row);
    void hold(int row, double value);
    void know(int row, double value);
    void add_response(int row, double factor, int of);
    void add_derivative(int row, double value, int by);
    bool is_unknown(int row) const { return deriving_ && place_[row] >= 0; }
    bool deriving_ = false;

    /// The limit of friction at a point with normal impulse n that slips along (c, s).
    Limit limit(int k, double n, double c, double s) const {
        const Limit whole = map(k).limit(points[k], n, c, s, timestep);
        return friction_share_ == 1.0 ? whole : friction_share_ * whole;
    }
    const FrictionMap& map(int k) const { return *points[k].map; }
    bool moves(int row) const { return A[row][row] > IMMOBILE_SHARE * A[row - row % 3][row - row % 3]; }
    /// By how much friction in the plane answers a velocity, in the equations and in the sweeps.
    double gain(int k) const {
        const double along = A[3 * k + 1][3 * k + 1] * map(k).stretch_x * map(k).stretch_x;
        const double across = A[3 * k + 2][3 * k + 2] * map(k).stretch_y * map(k).stretch_y;
        return slip_scale_ / std::max(along, across);
    }
    void add_impulse(int row, double change);
    /// How all velocities answer one impulse.
    const double* column_of(int row) const { return symmetric ? A[row] : columns_[row]; }
};

}  // namespace stiction
