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
// A soft point also has a torque m about its normal and a torque about the axes across it (one row and two rows, each where
// its coefficient is not zero): sticking, w = 0 and |m| <= coefficient n, or slipping, m = -coefficient n w / |w|, with the
// angular velocity w about these axes. Each has a limit of its own, beside that of f.
//
// The limit is any FrictionMap: it may depend on n and on the direction of slip. Other constraints (joint limits, springs,
// joint friction) are bounded rows: w = 0, or x at a bound and w pushing against it.
//
// Method: projected Gauss-Seidel sweeps, then Newton's method on a semismooth form of these conditions (Alart and Curnier,
// "A mixed formulation for frictional contact problems prone to Newton like solution methods", 1991). Newton's method may
// cycle between the pieces of the equations; a line search or full steps, another scale of slip in the residual or another
// start mostly converge: see the table of attempts in point_friction.cpp.
// point_equations.hpp has the problem, the sweeps and the equations; here are the attempts to solve them.
#pragma once

#include "friction/point_equations.hpp"

namespace stiction {

struct Attempt;

class PointFriction : public PointEquations {
  public:
    int max_newton_steps = 300;  ///< in all attempts

    /// Solve for x, starting from the present x. False if no attempt converged; then x has the least residual that was seen.
    bool solve();
    /// The residual at the end, as a share of the greatest velocity.
    double error() const { return point_speed_ > 0.0 ? least_residual_ / point_speed_ : 0.0; }
    /// Steps of Newton's method that the last solution took.
    int steps() const { return steps_; }

  private:
    std::vector<double> best_, swept_;  // the x with the least residual so far; the start of Newton's method
    std::vector<double> step_start_, step_end_;
    double least_residual_ = 0.0;       // of best_ [m/s]
    int steps_ = 0;

    void start();
    bool attempt(std::span<const Attempt> attempts);
    void continue_from_no_friction();
    bool newton(int max_iterations, bool with_line_search);
    double line_search(double before);
    bool pivot();
    double evaluate();
};

}  // namespace stiction
