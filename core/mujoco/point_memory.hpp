// The impulses of the last step, from which the next one starts.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "mujoco/contact_point.hpp"
#include "mujoco/engine.hpp"

namespace stiction::mujoco {

/// The impulse at one point: numbers only, so that it can be saved.
struct RememberedImpulse {
    double geom1, geom2;
    double position[3];  ///< in the frame of the first body, from its centre of mass [m]
    double impulse[3];   ///< world axes [N s]

    bool is_between(const ContactPoint& point) const { return geom1 == point.geom1 && geom2 == point.geom2; }
};

class PointMemory {
  public:
    explicit PointMemory(const Engine& engine) : engine_(engine) {}

    std::vector<RememberedImpulse> impulses;

    /// Remember the impulses of the points that press.
    void store(std::span<const ContactPoint> points) {
        impulses.clear();
        for (const ContactPoint& point : points) {
            if (!point.presses()) continue;
            const Vector at = in_body(point), p = point.world_impulse();
            impulses.push_back({static_cast<double>(point.geom1), static_cast<double>(point.geom2),
                                {at.x, at.y, at.z}, {p.x, p.y, p.z}});
        }
    }

    /// Whether the geoms of a point pressed against each other in the last step.
    bool has_pressed(const ContactPoint& point) const {
        return std::any_of(impulses.begin(), impulses.end(), [&](const RememberedImpulse& old) { return old.is_between(point); });
    }

    /// The last impulse between the geoms of a point, at the nearest position: (n, f_x, f_y).
    std::optional<Vector> nearest(const ContactPoint& point) const {
        const Vector here = in_body(point);
        const RememberedImpulse* nearest = nullptr;
        double least = std::numeric_limits<double>::infinity();
        for (const RememberedImpulse& old : impulses) {
            if (!old.is_between(point)) continue;
            const Vector apart = here - vector_from(old.position);
            if (const double squared = dot(apart, apart); squared < least) least = squared, nearest = &old;
        }
        if (!nearest) return std::nullopt;
        const Vector impulse = vector_from(nearest->impulse);
        return Vector{std::max(0.0, dot(impulse, point.z)), dot(impulse, point.x), dot(impulse, point.y)};
    }

  private:
    const Engine& engine_;

    /// The position of a point in the frame of its first body, from the centre of mass [m].
    Vector in_body(const ContactPoint& point) const {
        const Vector r = point.position - vector_from(*engine_.data.xipos + 3 * point.body1);
        return rotation_from(*engine_.data.xmat + 9 * point.body1).inverse(r);
    }
};

}  // namespace stiction::mujoco
