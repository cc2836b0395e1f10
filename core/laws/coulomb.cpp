#include "laws/coulomb.hpp"

#include <algorithm>
#include <cmath>

#include "friction/friction_box.hpp"
#include "friction/friction_cone.hpp"
#include "friction/point_impulses.hpp"

namespace stiction {
namespace {

Wrench row_of(const Matrix& J, int r) {
    const double* j = J[r];
    return {{j[0], j[1], j[2]}, {j[3], j[4], j[5]}};
}

}  // namespace

VertexProblem::VertexProblem(const Contact& c, double softness, bool even) {
    const SolvedVertices vertices(c);
    const int m = vertices.count, n = 3 * m;
    J.resize(n, 6), A.resize(n, n), b.assign(n, 0.0);
    for (int k = 0; k < m; ++k) {
        const auto [x, y, z] = vertices.point(k);
        double *up = J[k], *along_x = J[m + 2 * k], *along_y = J[m + 2 * k + 1];
        up[2] = 1.0, up[3] = y, up[4] = -x;
        along_x[0] = 1.0, along_x[4] = z, along_x[5] = -y;
        along_y[1] = 1.0, along_y[3] = -z, along_y[5] = x;
    }
    for (int r = 0; r < n; ++r) {
        const Twist response = c.mobility * row_of(J, r);
        b[r] = dot(row_of(J, r), c.velocity);
        for (int k = 0; k < n; ++k) A[r][k] = dot(row_of(J, k), response);
    }
    std::vector<double> own(n);
    for (int r = 0; r < n; ++r) own[r] = A[r][r];
    for (int r = 0; r < n; ++r) {
        const int pair = (r - m) % 2 == 0 ? r + 1 : r - 1;
        A[r][r] += softness * (even && r >= m ? 0.5 * (own[r] + own[pair]) : own[r]);
    }
}

void CoulombLaw::classify(const Contacts& contacts) {
    for (Contact& c : contacts) {
        const VertexProblem problem(c, std::max(softness, LEAST_SOFTNESS), friction_.round);
        const std::vector<double> x = friction_.round
                                          ? cone_impulses(problem.A, problem.b, friction_.mu_x, friction_.mu_y)
                                          : box_impulses(problem.A, problem.b, friction_.mu_x, friction_.mu_y);
        std::vector<PointImpulse> points;
        const SolvedVertices vertices(c);
        const int m = vertices.count;
        for (int k = 0; k < m; ++k) points.push_back({vertices.point(k), {x[m + 2 * k], x[m + 2 * k + 1], x[k]}});
        c.found = friction_of(c, points);
        c.mode = mode_of(c, points, softness);
    }
}

}  // namespace stiction
