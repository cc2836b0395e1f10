// Friction boxes: the boxed linear complementarity problem of all vertices, solved as DART's Dantzig solver does.
//
// Rows are the vertices' normals, then x and y of one vertex after another: A x + b = w is the velocity after the impulses x.
#pragma once

#include <vector>

#include "math/dense.hpp"

namespace stiction {

/// Dantzig's method: the normals first, without friction; then friction within mu times those normals.
std::vector<double> box_impulses(const Matrix& A, const std::vector<double>& b, double mu_x, double mu_y);

/// The same with given limits of each row: x is free with w = 0, at its lower limit with w >= 0 or at its upper with w <= 0.
std::vector<double> limited_impulses(const Matrix& A, const std::vector<double>& b, const std::vector<double>& low,
                                     const std::vector<double>& high);

}  // namespace stiction
