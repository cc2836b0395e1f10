// FrictionlessLCP, line 10 of Algorithm 1: the normal impulse of one body, which physics settles exactly.
//
// It is unique in three numbers (p_z, m_x, m_y), however many vertices touch: the vertex at (x, y) moves up with
// v_z + y w_x - x w_y, and its load n adds n (1, y, -x). Patches of one or two vertices, and faces that press as a
// whole, have closed forms; all others are solved by the method in loads.hpp.
#pragma once

#include <algorithm>
#include <cmath>

#include "contact.hpp"
#include "loads.hpp"

namespace stiction {

constexpr double RESTITUTION_SPEED = 0.5;  ///< [m/s] approach speed at which a coefficient of restitution is stated

/// Speeds at which vertices are to separate.
struct Targets {
    double rate = 0.0, cap = 0.0;  ///< rate > 0: min(rate * depth, cap) [1/s, m/s]; else as the vertex bounces

    /// Of the k-th vertex, at p.
    double of(const Contact& c, int k, const Vector& p) const {
        if (rate > 0.0) return std::min(rate * std::max(0.0, -c.height_of(c.vertex(k))), cap);
        return c.restitution.e0 > 0.0 ? rebound(c, p) : 0.0;
    }

    /// e(v) v for the approach speed v of a vertex before the step. What gravity adds in the step counts neither
    /// before nor after, or bounces would gain energy.
    static double rebound(const Contact& c, const Vector& p) {
        const auto& [e0, fall, threshold] = c.restitution;
        const double v = p.x * c.velocity.angular.y - p.y * c.velocity.angular.x - c.velocity.linear.z - c.fall;
        if (v <= threshold) return 0.0;
        const double e = fall != 0.0 ? e0 * std::pow(v / RESTITUTION_SPEED, -fall) : e0;
        return std::max(0.0, std::min(1.0, e * (1 - threshold / v)) * v - c.fall);
    }
};

/// Depths of the vertices of a patch on a face: depth = d + e y - f x.
struct DepthPlane {
    double d, e, f;

    explicit DepthPlane(const Contact& c) {
        const int n = static_cast<int>(c.count);
        const Vector p = c.point(0), q = c.point(n / 3), r = c.point(2 * n / 3);
        const double area = (q.x - p.x) * (r.y - p.y) - (r.x - p.x) * (q.y - p.y);
        const double slope_x = ((q.z - p.z) * (r.y - p.y) - (r.z - p.z) * (q.y - p.y)) / area;
        const double slope_y = ((r.z - p.z) * (q.x - p.x) - (q.z - p.z) * (r.x - p.x)) / area;
        d = -2.0 * (p.z + c.height) + 2.0 * (slope_x * p.x + slope_y * p.y);  // contact points lie at mid-depth
        e = -2.0 * slope_y;
        f = 2.0 * slope_x;
    }
};

/// The normal impulse after which every touching vertex separates at its target speed or faster.
///
/// before: twist before the normal impulse
/// softness: share of a vertex's own response by which it yields under load; 0 is a rigid contact
Normal normal_impulse(const Contact& contact, const Twist& before, double softness = 0.0, Targets targets = {});

}  // namespace stiction
