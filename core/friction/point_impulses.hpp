// What impulses at the points of a patch add up to, and what becomes of the patch.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "contact/contact.hpp"

namespace stiction {

/// Softness of the problem of all points at least: the load of each is unique only where they yield a little.
constexpr double MIN_COMPLIANCE = 1e-9;

/// An impulse (f_x, f_y, n) [N s] on a point of a patch.
struct PointImpulse {
    Vector place;  ///< relative to the centre of mass [m]
    Vector impulse;
};

/// The friction of all impulses at the patch's centre.
inline Friction friction_of(const Contact& c, std::span<const PointImpulse> points) {
    Friction sum;
    for (const auto& [place, f] : points) {
        const Vector r = place - c.centre;
        sum.p_x += f.x, sum.p_y += f.y;
        sum.m_z += r.x * f.y - r.y * f.x;
        sum.m_x -= r.z * f.y, sum.m_y += r.z * f.x;
    }
    return sum;
}

/// Whether the impulses leave all points at rest, but for the compliance of their problem.
///
/// A soft contact yields, and so does not stop; but a slow body that rests on a surface is stopped, as by a rigid one.
inline bool stops(const Contact& c, std::span<const PointImpulse> points, double compliance) {
    constexpr double still = 1e-7;  // a point that keeps less than this share of the greatest speed has stopped
    constexpr double slow = 0.1;    // [m/s] below this speed, a body that comes to rest on a soft surface is stopped
    if (compliance > 0.0 && !c.is_maximal()) return false;
    Wrench p;
    for (const auto& [place, impulse] : points) p = p + Wrench::at(place, impulse);
    const Twist after = c.after(p);
    const auto greatest = [](const Vector& v) { return std::max({std::fabs(v.x), std::fabs(v.y), std::fabs(v.z)}); };
    double fast_before = 0.0, fast_after = 0.0;
    for (const auto& point : points) {
        fast_before = std::max(fast_before, greatest(c.velocity.at(point.place)));
        fast_after = std::max(fast_after, greatest(after.at(point.place)));
    }
    if (compliance > 0.0 && fast_before > slow) return false;
    return fast_after <= std::max(still, 20 * compliance) * fast_before;
}

}  // namespace stiction
