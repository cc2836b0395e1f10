// FrictionlessLCP, line 10 of Algorithm 1: the normal impulse of one body, which physics settles exactly.
//
// It is unique in three numbers (p_z, m_x, m_y), however many vertices touch: the vertex at (x, y) moves up with
// v_z + y w_x - x w_y, and its load n adds n (1, y, -x). Patches of one or two vertices, and faces that press as a
// whole, have closed forms; all others are solved by the method in loads.hpp, soft ones of many vertices by that in
// soft_loads.hpp.
#pragma once

#include <algorithm>
#include <cmath>

#include "contact/contact.hpp"
#include "contact/loads.hpp"

namespace stiction {

/// Vertices of a patch that may carry load at once, in loads.hpp: three suffice for a rigid one, a soft one of more
/// vertices than these goes to soft_loads.hpp.
constexpr int MOST_LOADED = 8;

/// Speeds at which vertices are to separate.
struct Targets {
    double rate = 0.0, cap = 0.0;  ///< rate > 0: min(rate * depth, cap) [1/s, m/s]; else as the vertex bounces
    bool bounce = true;            ///< whether it does

    /// Of the k-th vertex, at p.
    double of(const Contact& c, int k, const Vector& p) const {
        if (rate > 0.0) return std::min(rate * std::max(0.0, -c.height_of(c.vertex(k))), cap);
        return bounces(c) ? rebound(c, p) : 0.0;
    }
    bool bounces(const Contact& c) const { return bounce && c.restitution.e0 > 0.0; }

    /// The speed at which a vertex leaves again, which approached with the speed it has before the step.
    static double rebound(const Contact& c, const Vector& p) {
        return c.restitution.rebound(c.approach(p.x, p.y), c.gained(p.x, p.y));
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

/// Add the load of a vertex at (x, y).
inline void add_load(Normal& sum, double load, double x, double y) {
    sum.p_z += load;
    sum.m_x += load * y;
    sum.m_y -= load * x;
}

/// Look for the vertex of a link's patch that falls short most; vertices that carry load are left out.
/// now: twist of the link, of which (v_z, w_x, w_y) count; worst: is replaced by what falls short more
template <class Loads>
void look_for_violation(const Contact& c, int link, const Twist& now, Targets targets, const Loads& loads,
                        Violation& worst) {
    const auto look_at = [&](int k, bool skip_loaded) {
        const Vector p = c.point(k);
        const double speed = now.rise(p.x, p.y), target = targets.of(c, k, p);
        worst.largest = std::max({worst.largest, std::fabs(speed), target});
        if (speed - target < worst.gap && !(skip_loaded && loads.has(link, k)))
            worst.gap = speed - target, worst.vertex = {link, k, p.x, p.y};
    };
    if (c.count <= MANY || c.face < 0 || targets.bounces(c)) {
        for (int k = 0; k < c.count; ++k) look_at(k, true);
        return;
    }
    // Not every vertex is looked at: the speed is linear along a face, and so is what is missing, but for the cap. The
    // patch is rigid: a vertex that carries load has reached its target, and counts as no violation by itself.
    const double v = now.angular.x, w = now.angular.y;
    look_at(c.lowest(-w, v), false);
    look_at(c.lowest(w, -v), false);
    if (targets.rate > 0.0) {
        const DepthPlane depth(c);
        look_at(c.lowest(targets.rate * depth.f - w, v - targets.rate * depth.e), false);
    }
}

/// The normal impulse after which every touching vertex separates at its target speed or faster.
///
/// before: twist before the normal impulse
/// softness: share of a vertex's own response by which it yields under load; 0 is a rigid contact
Normal normal_impulse(const Contact& contact, const Twist& before, double softness = 0.0, Targets targets = {});

}  // namespace stiction
