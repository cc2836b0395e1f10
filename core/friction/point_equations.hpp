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

/// Bounds of an impulse.
struct Bounds {
    double low, high;
};

/// Impulses x and velocities w = A x + b. Rows of point k: 3 k is z, along the normal, 3 k + 1 and 3 k + 2 are x and y in the
/// plane. The rows with bounds follow those of all points.
class PointSystem {
  public:
    Matrix A;               ///< velocities for unit impulses; positive on the diagonal along z and of rows with bounds
    std::vector<double> b;  ///< velocities without impulses; along z, less the speed of separation that is wanted
    std::vector<double> x;  ///< impulses, the solution [N s]
    std::vector<SlidingPoint> points;
    std::vector<Bounds> bounded;
    double timestep = 0.0;  ///< [s]
    bool symmetric = true;  ///< whether A is

    /// Set the number of points and of bounded rows; all numbers become zero.
    void resize(int points, int bounded = 0);
    int size() const { return static_cast<int>(points.size()); }
    /// The velocities w of the last solution.
    const std::vector<double>& velocities() const { return w_; }
    /// Whether point k slips in the last solution.
    bool slips(int k) const { return slips_[k] != 0; }

  protected:
    std::vector<double> w_;
    std::vector<char> slips_;
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

    double relaxed(SingleRow block) const { return x[block.row] - w_[block.row] / A[block.row][block.row]; }
    Along<double> relaxed(FrictionOf block) const;

  private:
    Matrix columns_;  // A transposed, if it is not symmetric

    template <class System> friend void gauss_seidel_sweep(System& system);
    template <class Visit> void for_blocks(Visit visit);
    double project(SingleRow block, double impulse) const;
    void move(SingleRow block, double impulse) { add_impulse(block.row, impulse - x[block.row]); }
    Along<double> project(FrictionOf block, Along<double> impulse) const;
    void move(FrictionOf block, Along<double> impulse);
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
    void bounded_equation(int row);
    // These write the residual of one row, and its derivatives while deriving_.
    void set_velocity_zero(int row);
    void set_impulse(int row, double value);
    void fix(int row, double value);
    void add_response(int row, double factor, int of);
    void add_derivative(int row, double value, int by);
    bool is_unknown(int row) const { return deriving_ && unknown_index_[row] >= 0; }
};

}  // namespace stiction
