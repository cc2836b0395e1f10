// Contact with friction at points that act together through one body, or one system of bodies, and beside other
// constraints: the solver of all laws but DART's boxes.
//
// Unknowns: of each point a normal impulse n and a friction impulse f in the tangent plane, and an impulse of each bounded
// row; together x. Given: the Delassus operator A and the velocities b without impulses. With w = A x + b, each point is
//
//     open       n = 0,   f = 0,               w_z >= 0,
//     sticking   w = 0,   |f| <= limit(n, .),  n >= 0,   or
//     slipping   w_z = 0, f = -limit(n, w_xy / |w_xy|) w_xy / |w_xy|,   n >= 0.
//
// The limit is any FrictionMap: it may depend on n and on the direction of slip. Other constraints (joint limits, springs,
// joint friction) are bounded rows: w = 0, or x at a bound and w pushing against it.
//
// Method: projected Gauss-Seidel sweeps, then Newton's method on a semismooth form of these conditions (Alart and Curnier,
// "A mixed formulation for frictional contact problems prone to Newton like solution methods", 1991). Newton's method may
// cycle between the pieces of the equations; a line search or full steps, another scale of slip in the residual or another
// start mostly converge: see the table of attempts in point_friction.cpp.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "math/dense.hpp"
#include "friction/friction_map.hpp"

namespace stiction {

struct Attempt;

/// Bounds of an impulse.
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
    int most_steps = 300;    ///< of Newton's method, in all attempts
    bool bold = false;       ///< full Newton steps in one attempt: all it takes where points are compliant

    /// Set the number of points and of bounded rows; all numbers become zero.
    void resize(int points, int bounded = 0);
    int size() const { return static_cast<int>(points.size()); }

    /// Solve for x, starting from the present x. False if no attempt converged; then x has the least residual that was seen.
    bool solve();

    /// The residual at the present x, as a share of the greatest velocity.
    double measure();

    /// Whether point k slips in the solution.
    bool slips(int k) const { return slips_[k] != 0; }
    /// The residual at the end, as a share of the greatest velocity.
    double error() const { return point_speed_ > 0.0 ? least_residual_ / point_speed_ : 0.0; }
    /// Steps of Newton's method that the last solution took.
    int steps() const { return steps_; }
    /// The velocities w of the last solution.
    const std::vector<double>& velocities() const { return w_; }

  private:
    Matrix columns_;                    // A transposed, if it is not symmetric
    Matrix J_;                          // derivatives of the equations of `unknown_`
    std::vector<int> unknown_, unknown_index_;  // rows whose x is not known; the index of each row among them, or -1
    std::vector<double> w_, residual_;  // velocities; residual of the equations [m/s]
    std::vector<double> best_, swept_;  // the x with the least residual so far; the start of Newton's method
    std::vector<double> step_, step_start_, step_end_;
    double least_residual_ = 0.0;       // of best_ [m/s]
    double point_speed_ = 0.0, bounded_speed_ = 0.0;  // the greatest speed without impulses, of points and of bounded rows
    double slip_scale_ = 1.0;           // factor of `friction_gain`: see Attempt
    double friction_share_ = 1.0;       // factor of friction, while it is raised from none
    int steps_ = 0;
    std::vector<char> slips_;

    void start();
    bool attempt(std::span<const Attempt> attempts);
    void continue_from_no_friction();
    void find_reference_speeds();
    void update_velocities();
    void sweep();
    void sweep_box(int k);
    void sweep_cone(int k);
    bool newton(int max_iterations, bool with_line_search);
    double line_search(double before);
    bool newton_step();
    bool pivot();

    // point_equations.cpp
    double update_residual();
    void equations(int k);
    void cone_equations(int k, double pushed);
    void box_equations(int k, double pushed);
    void bounded_equation(int row);
    // These write the residual of one row, and its derivatives while deriving_.
    void set_velocity_zero(int row);
    void set_impulse(int row, double value);
    void fix(int row, double value);
    void add_response(int row, double factor, int of);
    void add_derivative(int row, double value, int by);
    bool is_unknown(int row) const { return deriving_ && unknown_index_[row] >= 0; }
    bool deriving_ = false;

    /// The limit of friction at a point with normal impulse n that slips along (c, s).
    Limit limit(int k, double n, double c, double s) const {
        const Limit whole = map(k).limit(points[k], n, c, s, timestep);
        return friction_share_ == 1.0 ? whole : friction_share_ * whole;
    }
    const FrictionMap& map(int k) const { return *points[k].map; }
    bool moves(int row) const { return A[row][row] > IMMOBILE_SHARE * A[row - row % 3][row - row % 3]; }
    /// Change of friction for each unit of slip velocity, in the equations and in the sweeps.
    double friction_gain(int k) const {
        const double along = A[3 * k + 1][3 * k + 1] * map(k).stretch_x * map(k).stretch_x;
        const double across = A[3 * k + 2][3 * k + 2] * map(k).stretch_y * map(k).stretch_y;
        return slip_scale_ / std::max(along, across);
    }
    void add_impulse(int row, double change);
    /// All velocities for a unit of one impulse.
    const double* column_of(int row) const { return symmetric ? A[row] : columns_[row]; }
};

}  // namespace stiction
