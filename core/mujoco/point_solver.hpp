// Solves the contact problem of a group of points (point_problem.hpp): exactly where it can, else by guards.
#pragma once

#include <vector>

#include "mujoco/point_problem.hpp"

namespace stiction::mujoco {

class PointSolver {
  public:
    PointSolver(PointProblem& problem, const Settings& settings) : problem_(problem), settings_(settings) {}

    /// Solve for the impulses, and store them in the points; add points that would penetrate, and solve again. False where
    /// not all laws are fulfilled: then the impulses keep the limits of friction and add no energy.
    bool solve();

  private:
    PointProblem& problem_;
    const Settings& settings_;

    std::vector<double>& x() { return problem_.friction.x; }
    bool solve_points();
    bool solve_few();
    bool solve_many();
    bool run_newton(int max_steps, bool compliant = false);
    bool run_newton_with(double share);
    bool is_acceptable();
    bool is_safe();
    void refine(bool coarse);
    bool solve_with_rebound();
    bool solve_sub_impacts(int count);
    void guard();
};

}  // namespace stiction::mujoco
