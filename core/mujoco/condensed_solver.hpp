// Solves contact problems of many points, or hard ones of few: the conditions of point_friction.hpp, on sparse rows.
//
// Newton's method. The conditions of each point are linearised as those of PointEquations (Alart and Curnier), with a proximal
// term centred on the present impulses, so that loads which can be shared in many ways need no unique share. It converges in a
// few steps where it starts close to a solution, from the impulses of the last step, and may cycle where it does not.
//
// Interior-point method, from where Newton's method is started then. Let K be the cone of impulses (n, f) with |f| <= mu n. With
// De Saxce's shift, Coulomb's law says that x in K and w + mu |w_t| e_z in the dual of K are orthogonal (De Saxce and Feng, "The
// bipotential method", 1998). For a given shift this is the optimality condition of
//
//     minimise  |W^T x|^2 / 2 + (b + shift) . x    over all x in K,
//
// a convex problem, which always has a solution that the method finds in 10 to 30 factorisations. The shift follows the present
// w. Steps are those of Nesterov and Todd's scaling ("Self-scaled barriers and interior-point methods", 1997), as in Vandenberghe,
// "The CVXOPT linear and quadratic cone program solvers", 2010. Its iterates stay in the middle of all solutions: impulses that
// hold lie inside their cones, and the active set is clear.
//
// What is guaranteed: convergence for a given shift, which is Coulomb's law wherever no point slips. The outer iteration over the
// shift mostly converges, but no method is known that always does. Both methods stop at a residual in the conditions of Coulomb's
// law itself, which `measure` returns. Limits of another form (boxes, known loads, maps, torques) are approximated by one cone each in the
// interior-point method, from whose iterates Newton's method solves for the true ones.
#pragma once

#include "mujoco/condensed_system.hpp"
#include "mujoco/settings.hpp"

namespace stiction::mujoco {

class CondensedSolver {
  public:
    CondensedSystem system;
    std::vector<double> compliance;   ///< C of each row
    std::vector<double> velocities;   ///< w of the last solution

    /// problem: its A is not used; its x is the start, and the solution. False if no solution was found; then x has the least residual.
    bool solve(PointSystem& problem, const Settings& settings);
    /// The residual at the present x, as a share of the greatest velocity without impulses.
    double measure(PointSystem& problem, const Settings& settings);
    int steps() const { return steps_; }

  private:
    PointSystem* problem_ = nullptr;
    const Settings* settings_ = nullptr;
    std::vector<BlockResponse> responses_;
    std::vector<double> best_, best_velocities_, centre_, change_, response_;
    double point_speed_ = 0.0, bounded_scale_ = 1.0, least_ = 0.0;
    int steps_ = 0;

    /// How the interior-point method runs: the least share of complementarity that a step aims at, and whether its steps predict
    /// the change of the shift, with which it converges faster, or keep the shift as it is.
    struct Run {
        double least_centring;
        bool predicts_shift;
    };

    /// Newton's method with a proximal term, which keeps steps short where loads can be shared in many ways. It is a multiple of the
    /// relative residual, so that the convergence is superlinear (Fan and Yuan, "On the quadratic convergence of the
    /// Levenberg-Marquardt method without nonsingularity assumption", 2005). Points are sorted into open, sticking and slipping ones by
    /// x - gain w / a, with their inverse effective inertia a; gain 0 is that of the proximal term, whose centre is then kept
    /// for several steps (the method of multipliers).
    struct NewtonAttempt {
        int max_steps;
        double proximal, gain;
        int max_inner = 1;  ///< steps with the same centre
    };

    /// Interior-point steps down to this residual, at most `max_steps`, then Newton's method.
    struct Phase {
        double residual;
        int max_steps;
        NewtonAttempt newton;
    };
    static const NewtonAttempt WARM, LAST;
    static const Run RUNS[2];
    static const Phase PHASES[3];
    const Run* run_ = nullptr;

    /// A block in the interior-point method. For a point, x and the dual of its cone, both scaled so that the cone is that of
    /// Lorentz; for a constraint, x[0], and w[0], w[1] are the multipliers of its lower and upper bound.
    struct Barrier {
        std::array<double, RowBlock::MAX_ROWS> scale, x, w, dx, dw, turn;
        int count;                                    ///< rows of the block that belong to the cone come first
        std::array<int, RowBlock::MAX_ROWS> rows, places;  ///< and their places in the block
        double low, high;
    };
    std::vector<Barrier> barriers_;
    double centring_ = 0.1;                   // of the next interior-point step
    double proximal_ = 0.0, gain_ = 1.0;      // of the present Newton step
    double step_residual_ = 0.0;              // before it [m/s]

    void start();
    double evaluate();
    bool newton(const NewtonAttempt& attempt);
    bool step();
    double linearise(const RowBlock& block, BlockResponse* out) const;
    double linearise_friction(const RowBlock& block, double pushed, BlockResponse* out) const;
    double linearise_bounded(int row, BlockResponse* out) const;
    struct SlipRows;
    double linearise_round(const SlipRows& rows, BlockResponse* out) const;
    double stick(int at, int row, BlockResponse* out) const;
    double set(int at, int row, double value, double stiffness, BlockResponse* out) const;
    double relaxed(int row, double gain, bool is_step) const;
    double proximal(int row) const;
    bool moves(int row) const { return response_[row] > IMMOBILE_SHARE * response_[row - row % 3]; }

    void start_interior_point();
    bool interior_point(const Phase& phase);
    bool interior_step();
    void add_compliance(const RowBlock& block, BlockResponse& out) const;
};

}  // namespace stiction::mujoco
