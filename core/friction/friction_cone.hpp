// Friction cones: Coulomb's law with the actual normal impulse at every vertex, round or elliptic.
//
// Rows as in friction_box.hpp: the vertices' normals, then x and y of one vertex after another.
#pragma once

#include <vector>

#include "math/dense.hpp"

namespace stiction {

/// Newton's method, with Gauss-Seidel sweeps to bring it close enough.
std::vector<double> cone_impulses(const Matrix& A, const std::vector<double>& b, double mu_x, double mu_y);

}  // namespace stiction
