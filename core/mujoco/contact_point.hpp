// Which law holds between two geoms, a point where they touch, and the impulses of the last step, where the next one starts.
#pragma once

#include <map>
#include <numeric>
#include <optional>

#include "contact/contact.hpp"
#include "friction/friction_map.hpp"
#include "math/vectors.hpp"
#include "mujoco/curved_mesh.hpp"
#include "mujoco/engine.hpp"

namespace stiction::mujoco {

/// Friction and restitution between two surfaces. Slip is the velocity of the law's first surface over the second.
struct PairLaw {
    FrictionMap map;
    Restitution restitution;
    bool body_axes = false;  ///< whether directions of slip are in the axes of the first body, not the world's
    int n_sub_impacts = 1;   ///< successive impulses into which an impact is divided
    double impact_time = 0;  ///< over which the load of an impact acts, as far as friction depends on it [s]; 0: the time step
    double lever = 0;        ///< relative growth of restitution where a push mostly turns the bodies
    double lag = 0;          ///< share of an impact by which friction follows the normal impulse late
    bool names_both = true;  ///< whether its key names both surfaces: then it also rules contacts without friction (condim 1)

    bool even_faces = false; ///< whether flat faces carry their load evenly, see pressed_faces.hpp

    /// The same without friction.
    PairLaw without_friction() const {
        PairLaw smooth = *this;
        smooth.map = FrictionMap{};
        return smooth;
    }
};

/// The law of each pair of geoms. Geoms of one class have the same laws with all others.
struct PairTable {
    std::vector<int> class_of;  ///< of each geom
    int n_classes = 0;
    int n_unnamed = 1;          ///< the first classes are those of geoms that no law names
    std::vector<int> laws;      ///< of each pair of classes: 2 law + (0 if the first geom is the law's first, else 1), or -1
    std::vector<double> gaps;   ///< of each geom: the model's own gap [m], before contacts were to be listed earlier
    std::map<std::pair<int, int>, double> pair_gaps;  ///< of pairs of geoms that the model names
    std::map<int, CurvedMesh> curved;  ///< of geoms with such a mesh

    bool has_law(int geom) const { return class_of[geom] >= n_unnamed; }
    int law(int geom1, int geom2) const { return laws[class_of[geom1] * n_classes + class_of[geom2]]; }
    /// Greatest distance at which the model itself lists two surfaces as a contact [m].
    double gap(int geom1, int geom2) const {
        const auto named = pair_gaps.empty() ? pair_gaps.end() : pair_gaps.find(std::minmax(geom1, geom2));
        return named != pair_gaps.end() ? named->second : gaps[geom1] + gaps[geom2];
    }
};

/// A point where two bodies touch by a law, or may touch before the step ends.
struct ContactPoint {
    int key, law;             ///< numbers of the key that it follows, and of its law
    int body1, body2;         ///< the law's first body and the other one
    int geom1, geom2;         ///< as MuJoCo lists them
    double distance;          ///< negative where the bodies overlap [m]
    Vector position;          ///< in the world [m]
    Vector z, x, y;           ///< the normal, into the first body, and the axes of friction
    Vector surface_velocity;  ///< of the first surface over the second while all joints are still [m/s]
    double torsion = 0, rolling = 0;  ///< coefficients of a soft contact [m]
    Vector surface_spin;      ///< of the first body over the second while all joints are still [rad/s]
    double load_share = 0;    ///< of an evenly pressed face; 0: the point is rigid
    double rebound = 0;       ///< wanted speed of separation [m/s]
    Vector impulse;           ///< (n, f_x, f_y) on the first body [N s]
    Vector torque;            ///< of a soft contact, about z, x and y, on the first body [N m s]
    bool slips = false;
    bool constrained = false, guarded = false;  ///< whether MuJoCo's constraints act on it; whether the guards set its impulse
    bool outside = false;     ///< whether slip or load exceed those from which its material was learned
    Vector predicted;         ///< velocity along z, x and y after the step [m/s]
    double change = 0;        ///< of this velocity by impulses [m/s]
    Vector prediction_error;  ///< obtained less predicted velocity along z, x and y, summed over rounds [m/s]
    Vector predicted_spin, spin_error;  ///< the same of the turning about z, x and y [rad/s]

    /// z, x or y.
    const Vector& axis(int k) const { return k == 0 ? z : k == 1 ? x : y; }
    /// The impulse on the first body in world axes [N s].
    Vector world_impulse() const { return impulse.x * z + impulse.y * x + impulse.z * y; }
    Vector world_torque() const { return torque.x * z + torque.y * x + torque.z * y; }
    bool is_soft() const { return torsion > 0.0 || rolling > 0.0; }
    bool presses() const { return impulse.x > 0.0; }
};

/// Choose axes in the plane across a normal: the projection of the reference, or of the other one where that is too short.
inline void set_axes(ContactPoint& point, const Vector& reference, const Vector& other) {
    Vector x = reference - dot(reference, point.z) * point.z;
    if (dot(x, x) < 0.01) x = other - dot(other, point.z) * point.z;
    point.x = (1 / std::sqrt(dot(x, x))) * x;
    point.y = cross(point.z, point.x);
}

/// The impulse at one point, or the torque of a soft one, which follows its impulse: numbers only, so that they can be saved.
struct RememberedImpulse {
    double geom1, geom2;  ///< of a torque, geom1 is coded as below zero
    Vector position;     ///< in the frame of the first body, from its centre of mass [m]
    Vector impulse;      ///< world axes [N s]; of a torque [N m s]

    bool is_torque() const { return geom1 < -1.0; }
    static double torque_of(int geom) { return -2.0 - geom; }
    std::pair<double, double> pair() const { return {is_torque() ? -2.0 - geom1 : geom1, geom2}; }
};

/// The impulses of the last step.
class PointMemory {
  public:
    explicit PointMemory(const Engine& engine) : engine_(engine) {}

    std::vector<RememberedImpulse> impulses;

    /// Remember the impulses of points, also of those without load, by pairs of geoms.
    void store(std::span<const ContactPoint> points) {
        order_.resize(points.size());
        std::iota(order_.begin(), order_.end(), 0);
        std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return pair_of(points[a]) < pair_of(points[b]); });
        impulses.clear();
        for (const int k : order_) {
            const ContactPoint& point = points[k];
            const auto [geom1, geom2] = pair_of(point);
            impulses.push_back({geom1, geom2, in_body(point), point.world_impulse()});
            if (point.is_soft())
                impulses.push_back({RememberedImpulse::torque_of(point.geom1), geom2, in_body(point), point.world_torque()});
        }
    }

    /// Whether the geoms of a point pressed against each other in the last step.
    bool has_pressed(const ContactPoint& point) const {
        const auto [first, last] = between(point);
        return std::any_of(first, last, [](const RememberedImpulse& old) { return dot(old.impulse, old.impulse) > 0.0; });
    }

    /// The last impulse between the geoms of a point at the nearest position, (n, f_x, f_y), and the torque there.
    struct Last {
        Vector impulse, torque;  ///< along and about z, x and y
    };
    std::optional<Last> nearest(const ContactPoint& point) const {
        const Vector here = in_body(point);
        const RememberedImpulse* nearest = nullptr;
        double least = std::numeric_limits<double>::infinity();
        const auto [first, last] = between(point);
        for (auto old = first; old != last; ++old) {
            if (old->is_torque()) continue;
            const Vector apart = here - old->position;
            if (const double squared = dot(apart, apart); squared < least) least = squared, nearest = &*old;
        }
        if (!nearest) return std::nullopt;
        const bool is_followed = nearest != &impulses.back() && nearest[1].is_torque();
        const Vector impulse = nearest->impulse, torque = is_followed ? nearest[1].impulse : Vector{};
        return Last{{std::max(0.0, dot(impulse, point.z)), dot(impulse, point.x), dot(impulse, point.y)},
                    {dot(torque, point.z), dot(torque, point.x), dot(torque, point.y)}};
    }

  private:
    const Engine& engine_;
    std::vector<int> order_;

    static std::pair<double, double> pair_of(const ContactPoint& point) { return {point.geom1, point.geom2}; }
    /// The impulses between the geoms of a point, each followed by its torque.
    using Iterator = std::vector<RememberedImpulse>::const_iterator;
    std::pair<Iterator, Iterator> between(const ContactPoint& point) const {
        struct ByPair {
            bool operator()(const RememberedImpulse& a, const std::pair<double, double>& b) const { return a.pair() < b; }
            bool operator()(const std::pair<double, double>& a, const RememberedImpulse& b) const { return a < b.pair(); }
        };
        return std::equal_range(impulses.begin(), impulses.end(), pair_of(point), ByPair{});
    }

    /// The position of a point in the frame of its first body, from the centre of mass [m].
    Vector in_body(const ContactPoint& point) const {
        const Vector r = point.position - vector_from(*engine_.data.xipos + 3 * point.body1);
        return rotation_from(*engine_.data.xmat + 9 * point.body1).inverse(r);
    }
};

}  // namespace stiction::mujoco
