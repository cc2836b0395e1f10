// Solves the contact problem of a group of points (point_problem.hpp): exactly where it can, else by guards.
//
// Methods, in the order in which they are tried:
//   few rows    Newton's method with the dense Delassus operator, from the impulses of the last step.
//   all others  Newton's method and an interior-point method on sparse rows (condensed_solver.hpp).
//   impacts     the solution without restitution, then with it; a mixture of both that gains no energy.
//   guards      where none of these finds a solution: as much friction as dissipates energy, under normal impulses that keep
//               the bodies apart.
//
// Impulses of impacts, and all that are not exact, add no mechanical energy (PointProblem::energy_added), height included: what
// is left of them in the end is none, if it must be. Solutions without bounce add none, as solutions of the laws, to their tolerance.
#include "contact/energy.hpp"
#include "mujoco/point_problem.hpp"

namespace stiction::mujoco {
namespace {

class PointSolver {
  public:
    PointSolver(PointProblem& problem, const Settings& settings) : problem_(problem), settings_(settings) {}

    bool solve() {
        bool solved = solve_active();
        for (int pass = 1; pass <= settings_.max_activations && solved; ++pass) {
            if (!problem_.activate(pass == settings_.max_activations)) break;
            solved = solve_active();
        }
        return solved;
    }

  private:
    PointProblem& problem_;
    const Settings& settings_;

    std::vector<double>& x() { return problem_.friction.x; }

    bool solve_active() {
        const bool bounces = problem_.n_sub_impacts() > 0;
        bool solved = bounces ? solve_with_rebound() : find();
        if (!solved) {
            problem_.set_right_side();  // the guards know no restitution
            if (bounces || !is_usable()) guard();
        } else if (!bounces && problem_.is_dense()) {
            refine();
        }
        // The residual may exceed the limit of friction of a light load. Sub-impacts are limited one by one.
        if (!bounces || problem_.n_sub_impacts() == 1) problem_.limit_friction(1.0);
        problem_.store_solution(solved);
        return solved;
    }

    /// Find impulses that fulfil all laws.
    bool find() {
        problem_.set_proximal(settings_.fine);
        const std::vector<double> first = x();
        if (problem_.is_dense() && problem_.solve_dense()) return true;
        x() = first;
        return problem_.solve_condensed();
    }

    /// What the impulses add to the energy; infinite if they are far too great.
    double gained() {
        return problem_.is_moderate() ? problem_.energy_added(x()) : std::numeric_limits<double>::infinity();
    }

    /// Go from impulses that gain no energy towards x, as far as that gains none. Returns the share of the way.
    double approach_from(const std::vector<double>& safe) {
        const std::vector<double> all = x();
        const auto gained_at = [&](double share) {
            for (std::size_t r = 0; r < all.size(); ++r) x()[r] = safe[r] + share * (all[r] - safe[r]);
            return gained();
        };
        const double at_all = gained();
        if (at_all <= 0.0) return 1.0;
        const double share = largest_share(gained_at, gained_at(0.0), at_all);
        gained_at(share);
        // Where friction depends on the load, its limit may be less between both. Sub-impacts are limited one by one.
        if (problem_.n_sub_impacts() <= 1) problem_.limit_friction(1.0);
        if (gained() <= 0.0) return share;
        x() = safe;
        return 0.0;
    }

    /// Scale the impulses of the points down until they gain no energy; true if this share of them is left, else they stay.
    bool scale_down(double least) {
        const std::vector<double> all = x();
        std::vector<double> none = all;
        std::fill_n(none.begin(), problem_.point_rows(), 0.0);
        if (approach_from(none) >= least) return true;
        x() = all;
        return false;
    }

    /// Whether the best impulses will do, though not to the last digits, as where bodies roll over each other ever more slowly.
    bool is_usable() {
        if (!(problem_.residual() <= settings_.usable)) return false;
        problem_.limit_friction(1.0);
        return scale_down(1.0 - settings_.scaled_guarded);
    }

    /// Solve again with the proximal term centred on the solution so far, where all points stick, until it has no effect.
    void refine() {
        PointFriction& friction = problem_.friction;
        for (int time = 0; time < settings_.max_refinements; ++time) {
            bool slips = false;
            for (int k = 0; k < friction.size(); ++k) slips = slips || (friction.slips(k) && friction.x[3 * k] > 0.0);
            if (problem_.proximal_speed() < settings_.exact_speed || slips) return;
            const std::vector<double> found = x();
            std::copy_n(found.begin(), problem_.point_rows(), problem_.previous.begin());
            problem_.set_proximal(settings_.fine);
            if (!problem_.solve_dense()) {
                x() = found;
                return;
            }
        }
    }

    /// Bounce as far as that gains no energy: somewhere between no restitution and all of it.
    bool solve_with_rebound() {
        problem_.set_right_side();  // an earlier round may have left rebounds
        bool solved = find();
        const std::vector<double> still = x();
        problem_.set_right_side(true);
        const int count = problem_.n_sub_impacts();
        solved = (count > 1 ? solve_sub_impacts(count) : find()) && solved;
        if (count == 1) problem_.limit_friction(1.0);
        approach_from(still);
        return solved;
    }

    /// Divide an impact into sub-impacts. Each brings the normal velocities an equal share nearer to the wanted ones; its
    /// friction is limited by its own loads, with the coefficient of the slip after those before, and opposes the slip after it.
    bool solve_sub_impacts(int count) {
        const PointFriction whole = problem_.friction;
        std::vector<std::vector<double>> totals{std::vector<double>(x().size(), 0.0)};
        for (double& impulse : x()) impulse /= count;  // each starts from the sub-impact before, the first from its share
        bool solved = true;
        for (int number = 1; number <= count; ++number) {
            problem_.write_sub_impact(count, totals, whole);
            solved = (problem_.solve_dense() || problem_.friction.error() <= settings_.acceptable) && solved;
            problem_.limit_friction(1.0);
            totals.push_back(totals.back());
            for (std::size_t row = 0; row < x().size(); ++row) totals.back()[row] += x()[row];
        }
        problem_.friction.timestep = whole.timestep, problem_.friction.b = whole.b;
        problem_.friction.A = whole.A, problem_.friction.symmetric = whole.symmetric;
        problem_.friction.bounded = whole.bounded, problem_.friction.points = whole.points;
        x() = totals.back();
        return solved;
    }

    /// Where no solution was found: as much of the best friction as dissipates energy, under normal impulses that keep the
    /// bodies apart.
    void guard() {
        const std::vector<double> best = x();
        for (const double share : {1.0, 0.3, 0.0}) {
            x() = best;
            problem_.limit_friction(share);
            for (int pass = 0; pass < 2; ++pass) {  // the second for loads that the first has changed
                problem_.find_normal_impulses();
                if (!problem_.limit_friction(1.0)) break;
            }
            if (scale_down(1.0 - settings_.scaled_guarded)) return;
        }
        // Not even the normal impulses were found: as much of them as gains no energy.
        scale_down(0.0);
    }
};

}  // namespace

bool solve_points(PointProblem& problem, const Settings& settings) { return PointSolver(problem, settings).solve(); }

}  // namespace stiction::mujoco
