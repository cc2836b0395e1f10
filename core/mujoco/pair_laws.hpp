// Which law holds between two geoms, and where they touch.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "contact/contact.hpp"
#include "friction/friction_map.hpp"
#include "math/vectors.hpp"

namespace stiction::mujoco {

/// Friction and restitution between two surfaces. The law belongs to the first; slip is that of the first over the other.
struct PairLaw {
    FrictionMap map;
    Restitution restitution;
    bool body_axes = false;  ///< directions of slip are told in the axes of the first body, else in the world's
    int parts = 1;           ///< in which the impulses of an impact come
};

/// Geoms of one class have the same laws with all others.
struct PairTable {
    std::vector<int> class_of;  ///< of each geom
    int classes = 0;
    int unnamed = 1;            ///< the first so many classes are of geoms that no law names
    std::vector<int> laws;      ///< for each pair of classes: 2 law + (0 if the first geom is the law's first, else 1), or -1

    std::vector<double> gaps;                         ///< of each geom, as the model has it by itself [m]
    std::map<std::pair<int, int>, double> pair_gaps;  ///< of pairs of geoms that the model names [m]

    bool has_law(int geom) const { return class_of[geom] >= unnamed; }
    int law(int geom1, int geom2) const { return laws[class_of[geom1] * classes + class_of[geom2]]; }
    /// How far apart two surfaces may be that the model by itself lists as a contact [m].
    double gap(int geom1, int geom2) const {
        const auto named = pair_gaps.empty() ? pair_gaps.end() : pair_gaps.find(std::minmax(geom1, geom2));
        return named != pair_gaps.end() ? named->second : gaps[geom1] + gaps[geom2];
    }
};

/// A point where two bodies touch by a law, or may touch before the step ends.
struct TouchingPoint {
    int law;
    int own, other;       ///< bodies, the law's first and the other
    int geom1, geom2;     ///< as MuJoCo lists them
    double distance;      ///< below zero where the bodies overlap [m]
    Vector place;         ///< in the world [m]
    Vector z, x, y;       ///< the normal, into the own body, and the axes of friction
    Vector surface;       ///< how the own surface moves over the other's while all joints are still [m/s]
    double rebound = 0;   ///< speed of separation that is wanted [m/s]
    Vector impulse;       ///< (n, f_x, f_y) on the own body [N s]
    bool slips = false;
    bool constrained = false, guarded = false;  ///< whether it feels MuJoCo's constraints; whether its impulse is the guards'
    bool outside = false; ///< whether its material was learned from slower slip or lesser loads
    Vector expected;      ///< velocity along z, x and y that is foreseen after the step [m/s]
    double change = 0;    ///< by which impulses change this velocity [m/s]
    Vector unforeseen;    ///< velocity along z, x and y that came out otherwise than was foreseen [m/s]

    /// z, x or y.
    const Vector& axis(int k) const { return k == 0 ? z : k == 1 ? x : y; }
    /// The impulse on the own body in the world's axes [N s].
    Vector world_impulse() const { return impulse.x * z + impulse.y * x + impulse.z * y; }
    bool presses() const { return impulse.x > 0.0; }
};

/// Axes in the plane across a normal: the reference seen along it, or the other reference where that stands upright.
inline void set_axes(TouchingPoint& point, const Vector& reference, const Vector& other) {
    Vector x = reference - dot(reference, point.z) * point.z;
    if (dot(x, x) < 0.01) x = other - dot(other, point.z) * point.z;
    point.x = (1 / std::sqrt(dot(x, x))) * x;
    point.y = cross(point.z, point.x);
}

}  // namespace stiction::mujoco
