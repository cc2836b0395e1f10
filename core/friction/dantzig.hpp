// Boxed linear complementarity problems, solved by Dantzig's pivoting method as in the Open Dynamics Engine and DART.
//
// Unknowns: impulses x. Given: the Delassus operator A, velocities b without impulses, bounds low <= x <= high.
//
//     w = A x + b;   w_i = 0 and low_i <= x_i <= high_i,   or x_i = low_i and w_i >= 0,   or x_i = high_i and w_i <= 0
//
// Rows are solved one after another. A row that is not solved yet is driven towards its solution, while the free rows
// before it follow so that their w stays 0; rows that meet or leave a bound change sides (Baraff, "Fast contact force
// computation for nonpenetrating rigid bodies", 1994).
#pragma once

#include "math/dense.hpp"

namespace stiction {

/// Impulses with given bounds on each row.
std::vector<double> boxed_lcp(const Matrix& A, const std::vector<double>& b, const std::vector<double>& low,
                                     const std::vector<double>& high);

/// Coulomb friction in boxes, the rule of DART's Dantzig solver: first the normal impulses n0 without friction; then
/// all rows with |f_x| <= mu_x n0, |f_y| <= mu_y n0.
///
/// Rows of point k as in PointFriction: 3 k is z, 3 k + 1 and 3 k + 2 are x and y.
std::vector<double> dantzig_friction(const Matrix& A, const std::vector<double>& b, double mu_x, double mu_y);

}  // namespace stiction
