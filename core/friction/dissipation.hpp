// Friction of greatest dissipation: of all impulses that a patch can give as a whole, the one that leaves the least
// energy to its sliding.
//
// Vectors here are (x, y, spin about the vertical) at the centre of pressure: slip in [m/s, rad/s], impulses in
// [N s, N m s].
#pragma once

#include <algorithm>
#include <cmath>

#include "contact/contact.hpp"

namespace stiction {

/// How a patch slides at its centre of pressure.
struct Sliding {
    Tensor response;  ///< of the slip to an impulse
    Vector slip;      ///< before the contact
    Vector push;      ///< what the normal impulse adds to it, and in a system, what the system does

    /// at: the centre of pressure, relative to the centre of mass
    Sliding(const Contact& c, const Vector& at, const Normal& normal) {
        const InverseInertia& W = c.inverse_inertia;
        // Torques of unit impulses; no force turns the body and no torque moves it.
        const Vector along_x{0.0, at.z, -at.y}, along_y{-at.z, 0.0, at.x}, spin{0.0, 0.0, 1.0};
        const Vector x = W.angular * along_x, y = W.angular * along_y, s = W.angular * spin;
        response = {W.linear.x + dot(along_x, x), dot(along_x, y), dot(along_x, s),
                    W.linear.y + dot(along_y, y), dot(along_y, s), dot(spin, s)};
        const Twist& begin = c.in_system ? c.free : c.velocity;
        const Vector v = begin.at(at);
        slip = {v.x, v.y, begin.angular.z};
        const Vector turned = W.angular * Vector{normal.m_x, normal.m_y, 0.0};
        push = {dot(along_x, turned), dot(along_y, turned), dot(spin, turned)};
        if (c.in_system) {  // what the system does about the contact comes with the impact
            const Twist answer = c.velocity - c.free;
            const Vector more = answer.at(at);
            push += Vector{more.x, more.y, answer.angular.z};
        }
    }
};

/// An impulse as a share of its limits, |y| <= 1, and whether it stops the slip.
struct Dissipated {
    Vector y;
    bool sticks;
};

/// The y, |y| <= 1, for which the impulse (limit, limit, spin_limit) y leaves the least energy to a slip.
///
/// The slip after it is opposite to y in the scaled coordinates: (B + t) y = -b with t >= 0 and |y| = 1, or t = 0. As a
/// function of t, 1 / |y| is concave and rises: Newton's method from below never overshoots.
inline Dissipated dissipate(const Tensor& response, const Vector& slip, double limit, double spin_limit) {
    const Vector b{slip.x * limit, slip.y * limit, slip.z * spin_limit};
    const double size = length(b);
    if (!(size > 0.0)) return {{}, true};
    const Tensor& A = response;
    const Tensor B{A.xx * limit * limit, A.xy * limit * limit,      A.xz * limit * spin_limit,
                   A.yy * limit * limit, A.yz * limit * spin_limit, A.zz * spin_limit * spin_limit};
    const double trace = B.xx + B.yy + B.zz, least = 1e-12 * trace;
    double t = std::max(least, size - trace), norm = 0.0;
    Vector y;
    for (int k = 0; k < 60; ++k) {
        // By cofactors: a triangular factorisation would wait for one division after the other.
        const double xx = B.xx + t, yy = B.yy + t, zz = B.zz + t;
        const Tensor C{yy * zz - B.yz * B.yz, B.xz * B.yz - B.xy * zz, B.xy * B.yz - B.xz * yy,
                       xx * zz - B.xz * B.xz, B.xy * B.xz - xx * B.yz, xx * yy - B.xy * B.xy};
        const double inverse = 1.0 / (xx * C.xx + B.xy * C.xy + B.xz * C.xz);
        y = -inverse * (C * b);
        norm = length(y);
        if (norm <= 1.0 + 1e-9) {
            if (k == 0 && t <= least) return {y, true};
            break;
        }
        const double steep = inverse * dot(y, C * y);  // y . (B + t)^-1 y
        t += steep > 0.0 ? (norm - 1.0) * norm * norm / steep : size;
    }
    if (norm > 0.0) y = (1.0 / norm) * y;
    return {y, false};
}

}  // namespace stiction
