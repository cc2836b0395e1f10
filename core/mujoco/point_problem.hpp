// The contact problem of a group of points that act on each other.
//
// Unknowns: the impulses x of all points, (n, f_x, f_y) each, the torques of soft points, and the impulses of those of MuJoCo's
// constraints that act on the same kinematic trees. With the Jacobian J of all rows and the effective inertia H (see
// free_motion.hpp), the Delassus operator A = J H^-1 J^T gives the velocities after the step:
//
//     w = A x + J v_free (+ surface velocities + prediction errors of earlier rounds).
//
// Points: 0 <= n  _|_  w_z + max(distance, 0) / h - rebound >= 0, and friction f within the limit of its law, at the limit and
// against the slip (w_x, w_y) where the point slips. MuJoCo's constraints are springs on accelerations with bounds on their
// forces: low <= x _|_ w + R x - h aref. A is a dense matrix in small groups, for friction/point_friction.hpp, where a proximal
// term, a small share of its diagonal, draws x to the impulses of the last step: loads that can be shared in many ways are then
// unique. It is a product of sparse rows in others, and where the former fails (condensed_solver.hpp).
#pragma once

#include "friction/point_friction.hpp"
#include "mujoco/condensed_solver.hpp"
#include "mujoco/free_motion.hpp"
#include "mujoco/kinematics.hpp"
#include "mujoco/settings.hpp"

namespace stiction::mujoco {

/// What all groups share.
struct PointContext {
    const Engine& engine;
    const Kinematics& kinematics;
    const FreeMotion& free_motion;
    const std::vector<PairLaw>& laws;
    const PointMemory& memory;
    const Settings& settings;

    const PairLaw& law(const ContactPoint& point) const { return laws[point.law]; }
};

class PointProblem {
  public:
    explicit PointProblem(const PointContext& context) : context_(context) {}

    std::vector<ContactPoint> points, inactive; ///< that are solved for; that may have to be activated
    std::vector<int> constraints;               ///< numbers of MuJoCo's constraints that are solved for, too
    bool is_constrained = false;                ///< by these or by MuJoCo's elliptic cones
    int n_newton = 0;                           ///< Newton steps so far in this time step
    PointFriction friction;                     ///< the problem as the friction solver has it, with the solution x

    void clear();
    /// Set up the problem for `points` and `constraints`.
    void write();
    /// Draw impulses to `previous` by a proximal term of this share of the inverse effective inertia.
    void set_proximal(double share);
    /// Set the right side: points close their gaps at most, or separate at their rebound speeds.
    void set_right_side(bool rebounds = false);
    /// Set up one of the sub-impacts of an impact. totals: the sums of impulses after each of those before, from none on;
    /// whole: the problem of the impact
    void write_sub_impact(int count, const std::vector<std::vector<double>>& totals, const PointFriction& whole);

    /// Whether the problem has the matrix A.
    bool is_dense() const { return is_dense_; }
    /// Solve it with A, or on sparse rows, from the present x.
    bool solve_dense();
    bool solve_condensed();
    /// The matrix A of the present problem, for inspection.
    Matrix delassus();
    /// The residual of the present impulses in the conditions of all rows, as a share of the greatest velocity without impulses.
    double residual();

    /// Whether velocities may come out differently from what is predicted.
    bool is_uncertain() const { return is_constrained || !context_.engine.is_euler(); }
    /// Rows of the points, which those of their torques follow.
    int force_rows() const { return static_cast<int>(3 * points.size()); }
    int point_rows() const { return force_rows() + torque_rows_; }
    /// Velocities after the step along the rows of points, with impulses x.
    std::vector<double> velocities_after(const std::vector<double>& x) const;
    /// Kinetic energy that impulses x at the points add to the motion without them [J].
    double energy_gained(const std::vector<double>& x) const;
    /// The same, or what they add to the mechanical energy in a step, height included, if that is more [J]: with velocities v
    /// before and v+ after the step, x . w - |v+ - v|^2 / 2 in the norm of the inertia, where positions move with v+. Less
    /// what rounding explains.
    double energy_added(const std::vector<double>& x) const;
    /// Greatest velocity by which the proximal term lets a point move [m/s].
    double proximal_speed() const;
    /// Whether no impulse is far greater than the motion calls for, as between bodies that are jammed.
    bool is_moderate() const;
    /// Into how many sub-impacts the points that bounce want the impact to be divided; 0 if none bounces.
    int n_sub_impacts() const;

    /// Scale friction down to a share of its limits; whether some was beyond.
    bool limit_friction(double share);
    /// Solve for the normal impulses with the friction of x.
    void find_normal_impulses();
    /// Activate points that would penetrate with the impulses of x, or all; whether there are any.
    bool activate(bool all);
    /// Write the solution, and the velocities that it predicts, to the points.
    void store_solution(bool is_solved);
    /// Take the velocities that were obtained into account: relative prediction error of the points.
    struct PredictionError {
        double error = 0.0, change = 0.0;  ///< greatest difference, and greatest change by impulses [m/s]
    };
    PredictionError compare(const double* velocities);
    /// Add the joint velocities by which penetration is recovered; false where there is none.
    bool add_recovery(std::vector<double>& velocities);

    std::vector<double> previous;               ///< impulses to which the proximal term draws

  private:
    PointContext context_;
    SystemRows rows_, white_, white_M_;         // of all points (z, x, y each), of their torques, then of the constraints
    int torque_rows_ = 0;
    double lost_to_forces_ = 0.0;               // see lost_to_forces() [J]
    std::vector<double> arms_;                  // of each torque: see PointSystem::balance [m]
    std::vector<double> w_free_, w_before_, proximal_, diagonal_;
    std::vector<double> shared_;                // compliance by spin of soft contacts, see soft_coupling.hpp
    PointFriction normals_;                     // the frictionless problem
    bool is_dense_ = true, is_condensed_ = false;  // whether A is written; whether the last solution is that of condensed_
    bool rebounds_ = false;                     // whether the right side asks for rebounds
    bool is_set_up_ = false;                    // whether condensed_ has the rows of this problem
    CondensedSolver condensed_;
    CondensedSolver condensed_normals_;
    SystemRows unwhite_, normal_rows_;          // see TreeFactor::unwhiten; the rows of normals_

    double timestep() const { return context_.engine.timestep(); }
    void write_white_rows();
    void write_delassus();
    void set_up_condensed();
    void set_up_condensed(CondensedSolver& solver, const PointSystem& problem, const SystemRows& rows);
    std::vector<double> responses_to(const std::vector<double>& x, int columns) const;
    bool solve_normals();
    double lost_to_forces() const;
    void write_torques();
    template <class Visit> void for_torques(Visit visit) const;
    void write_constraint(int row);
    void write_start();
    void start_normals();
    Restitution restitution_of(const ContactPoint& point, double normal_response) const;
    double softness(int row) const { return shared_[row] + context_.settings.softness * diagonal_[row]; }
};

/// Solve for the impulses, and store them in the points; activate points that would penetrate, and solve again. False where not
/// all laws are fulfilled: then the impulses keep the limits of friction and add no energy. See point_solver.cpp.
bool solve_points(PointProblem& problem, const Settings& settings);

}  // namespace stiction::mujoco
