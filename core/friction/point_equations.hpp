// The contact problem at points (see point_friction.hpp): impulses and velocities, projected Gauss-Seidel sweeps, and the
// equations that Newton's method solves.
#pragma once

#include "math/dense.hpp"
#include "friction/friction_map.hpp"

namespace stiction {

/// One projected Gauss-Seidel sweep over a contact problem (Jean, "The non-smooth contact dynamics method", 1999). The rows of
/// each block move together to
///
///     x <- P(x - r w),
///
/// with a relaxation r and the projection P into the limits of the block, and the velocities w = A x + b follow every change.
///
/// System: for_blocks(visit), in the order of the sweep; relaxed(block), which is x - r w; project(block, impulses);
/// move(block, impulses), which sets x and updates w
template <class System> inline void gauss_seidel_sweep(System& system) {
    system.for_blocks([&](const auto& block) { system.move(block, system.project(block, system.relaxed(block))); });
}

/// Blocks of a sweep: one row by itself; the normal impulse of a point; both components of its friction.
struct SingleRow {
    int row;
};
struct NormalOf {
    int point;
};
struct FrictionOf {
    int point;
};
struct TorqueOf {
    int number;  ///< among `torques`
};

/// Bounds of an impulse.
struct Bounds {
    double low, high;
};

/// The torque of a soft point about its normal (one row), or about the two axes across it, which share a round limit.
struct TorqueRows {
    int point;
    int first, count;    ///< rows: 1 or 2
    double coefficient;  ///< of the limit |x| <= coefficient n

    int end() const { return first + count; }
};

/// The length in which a torque is measured so that its rows are as mobile as its point is [m]; 0 where nothing turns.
/// mobility, turning: inverse effective inertia of the point (the mean of its rows), and the greatest of the torque's rows
inline double torque_arm(double mobility, double turning, double coefficient) {
    return turning * coefficient * coefficient > IMMOBILE_SHARE * mobility ? std::sqrt(mobility / turning) : 0.0;
}

/// Impulses x and velocities w = A x + b. Rows of point k: 3 k is z, along the normal, 3 k + 1 and 3 k + 2 are x and y in the
/// plane. The rows of torques follow those of all points, then the rows with bounds.
class PointSystem {
  public:
    Matrix A;               ///< velocities for unit impulses; positive on the diagonal along z and of rows with bounds
    std::vector<double> b;  ///< velocities without impulses; along z, less the speed of separation that is wanted
    std::vector<double> x;  ///< impulses, the solution [N s]
    std::vector<SlidingPoint> points;
    std::vector<TorqueRows> torques;  ///< of soft points
    std::vector<Bounds> bounded;
    double timestep = 0.0;  ///< [s]
    bool symmetric = true;  ///< whether A is

    /// Set the number of points, of bounded rows and of rows of torques; all numbers become zero, and there are no torques.
    /// dense: whether there will be a matrix A, or other means to find velocities
    void resize(int points, int bounded = 0, int torque_rows = 0, bool dense = true);
    int size() const { return static_cast<int>(points.size()); }
    /// Add a torque of a point, with its limit in metres; returns its first row.
    int add_torque(int point, int count, double coefficient);
    /// Measure the rows of a torque in a length with which they are as mobile as its point is: then velocities are in m/s, and
    /// impulses in N s. Where nothing turns, they are made to stay zero. Returns the length [m], or 0.
    double balance(TorqueRows& torque);
    /// The velocities w of the last solution.
    const std::vector<double>& velocities() const { return w_; }
    /// Whether point k slips in the last solution.
    bool slips(int k) const { return slips_[k] != 0; }

  protected:
    std::vector<double> w_;
    std::vector<char> slips_;
    int first_torque_ = 0, first_bounded_ = 0;  // the rows after those of the points, and after those of their torques
    double slip_scale_ = 1.0;      // factor of `friction_gain`: see Attempt
    double friction_share_ = 1.0;  // factor of friction, while it is raised from none

    void transpose();
    void update_velocities();
    void add_impulse(int row, double change);
    void sweep();
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

    double torque_gain(const TorqueRows& torque) const {
        return slip_scale_ / std::max(A[torque.first][torque.first], A[torque.end() - 1][torque.end() - 1]);
    }
    /// The limit of a torque at a point with normal impulse n.
    Limit torque_limit(const TorqueRows& torque, double n) const {
        const double fixed = points[torque.point].fixed, pressing = fixed >= 0.0 ? fixed : n;
        if (!(pressing > 0.0)) return {};
        return friction_share_ * Limit{torque.coefficient * pressing, fixed >= 0.0 ? 0.0 : torque.coefficient, 0.0};
    }

    double relaxed(SingleRow block) const { return x[block.row] - w_[block.row] / A[block.row][block.row]; }
    Along<double> relaxed(FrictionOf block) const;
    Along<double> relaxed(TorqueOf block) const;

  private:
    Matrix columns_;  // A transposed, if it is not symmetric

    template <class System> friend void gauss_seidel_sweep(System& system);
    template <class Visit> void for_blocks(Visit visit);
    double project(SingleRow block, double impulse) const;
    void move(SingleRow block, double impulse) { add_impulse(block.row, impulse - x[block.row]); }
    Along<double> project(FrictionOf block, Along<double> impulse) const;
    void move(FrictionOf block, Along<double> impulse);
    Along<double> project(TorqueOf block, Along<double> impulse) const;
    void move(TorqueOf block, Along<double> impulse);
    /// All velocities for a unit of one impulse.
    const double* column_of(int row) const { return symmetric ? A[row] : columns_[row]; }
};

/// The conditions of all rows as equations, piece by piece smooth: their residual, and one step of Newton's method.
class PointEquations : public PointSystem {
  protected:
    double point_speed_ = 0.0, bounded_speed_ = 0.0;  // the greatest speed without impulses, of points and of bounded rows

    void find_reference_speeds();
    double update_residual();
    bool newton_step();

  private:
    Matrix J_;                                  // derivatives of the equations of `unknown_`
    std::vector<int> unknown_, unknown_index_;  // rows whose x is not known; the index of each row among them, or -1
    std::vector<double> residual_, step_;       // of the equations [m/s]; known impulses, then the Newton step
    bool deriving_ = false;

    void equations(int k);
    void cone_equations(int k, double pushed);
    void box_equations(int k, double pushed);
    void torque_equations(int number);
    struct RoundBlock;
    template <int COUNT> void slip_equations(const RoundBlock& block);
    void bounded_equation(int row);
    // These write the residual of one row, and its derivatives while deriving_.
    void set_velocity_zero(int row);
    void set_impulse(int row, double value);
    void fix(int row, double value);
    void add_response(int row, double factor, int of);
    void add_derivative(int row, double value, int by);
    /// Scale of the equation x = value in units of velocity.
    double stiffness(int row) const {
        const int own = row < first_torque_ ? row - row % 3 : row;
        return A[own][own];
    }
    bool is_unknown(int row) const { return deriving_ && unknown_index_[row] >= 0; }
};

}  // namespace stiction
