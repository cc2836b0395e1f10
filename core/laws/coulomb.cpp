#include "coulomb.hpp"

#include <algorithm>
#include <cmath>

#include "friction_box.hpp"
#include "friction_cone.hpp"

namespace stiction {
namespace {

constexpr double LEAST_SOFTNESS = 1e-9;  // of the inner problem, which needs a unique share of the load for each vertex
constexpr double STILL = 1e-7;  // a vertex that keeps less than this share of the greatest speed has stopped
constexpr double SLOW = 0.1;    // [m/s] below this speed, a body that comes to rest on a soft surface is stopped exactly

Wrench row_of(const Matrix& J, int r) {
    const double* j = J[r];
    return {{j[0], j[1], j[2]}, {j[3], j[4], j[5]}};
}

/// The friction of the vertices' impulses x, summed at the patch's centre.
Friction sum_at_centre(const Contact& c, const std::vector<double>& x) {
    const int m = static_cast<int>(c.count);
    Friction sum;
    for (int k = 0; k < m; ++k) {
        const Vector r = c.point(k) - c.centre;
        const double f_x = x[m + 2 * k], f_y = x[m + 2 * k + 1];
        sum.p_x += f_x, sum.p_y += f_y;
        sum.m_z += r.x * f_y - r.y * f_x;
        sum.m_x -= r.z * f_y, sum.m_y += r.z * f_x;
    }
    return sum;
}

/// Whether the impulses x leave all contact points at rest, but for the softness of the inner problem.
///
/// A soft contact yields, and so does not stop; but a slow body that rests on a surface is stopped, as by a rigid one.
bool stops(const Contact& c, const Matrix& J, const std::vector<double>& x, double softness) {
    const bool planar = c.mobility.linear.y == 0.0;
    if (softness > 0.0 && c.kind < (planar ? Kind::LINE : Kind::SURFACE)) return false;
    Wrench p;
    for (int r = 0; r < J.rows(); ++r) p = p + x[r] * row_of(J, r);
    const Twist after = c.after(p);
    double fast_before = 0.0, fast_after = 0.0;
    for (int r = 0; r < J.rows(); ++r) {
        fast_before = std::max(fast_before, std::fabs(dot(row_of(J, r), c.velocity)));
        fast_after = std::max(fast_after, std::fabs(dot(row_of(J, r), after)));
    }
    if (softness > 0.0 && fast_before > SLOW) return false;
    return fast_after <= std::max(STILL, 20 * softness) * fast_before;
}

}  // namespace

VertexProblem::VertexProblem(const Contact& c, double softness, bool even) {
    const int m = static_cast<int>(c.count), n = 3 * m;
    J.resize(n, 6), A.resize(n, n), b.assign(n, 0.0);
    for (int k = 0; k < m; ++k) {
        const auto [x, y, z] = c.point(k);
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
        c.found = sum_at_centre(c, x);
        double load = 0.0;
        for (int k = 0; k < c.count; ++k) load += x[k];
        if (!(load > 0.0))
            c.mode = Mode::DETACH;
        else
            c.mode = stops(c, problem.J, x, softness) ? Mode::STATIC : Mode::DYNAMIC;
    }
}

}  // namespace stiction
