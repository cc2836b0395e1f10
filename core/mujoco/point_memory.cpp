// Impulses that one step leaves to the next, which begins with them.
#include <algorithm>
#include <limits>

#include "mujoco/point_step.hpp"

namespace stiction::mujoco {

/// The place of a point in the frame of its own body, from the centre of mass [m].
Vector PointStep::in_own_frame(const TouchingPoint& point) const {
    const double* R = *engine.data.xmat + 9 * point.own;
    const Vector r = point.place - vector_from(*engine.data.xipos + 3 * point.own);
    return {R[0] * r.x + R[3] * r.y + R[6] * r.z, R[1] * r.x + R[4] * r.y + R[7] * r.z,
            R[2] * r.x + R[5] * r.y + R[8] * r.z};
}

void PointStep::remember() {
    memory.clear();
    for (const TouchingPoint& point : points) {
        if (!point.presses()) continue;
        const Vector at = in_own_frame(point), p = point.world_impulse();
        memory.push_back({static_cast<double>(point.geom1), static_cast<double>(point.geom2),
                          {at.x, at.y, at.z}, {p.x, p.y, p.z}});
    }
}

/// Whether these geoms pressed against each other in the last step.
bool PointStep::pressed_before(const TouchingPoint& point) const {
    return std::any_of(memory.begin(), memory.end(), [&](const Remembered& old) { return old.is_between(point); });
}

/// Begin with the impulses of the last step, each at the point of the same geoms that is nearest.
void PointStep::recall() {
    for (std::size_t k = 0; k < points.size(); ++k) {
        const TouchingPoint& point = points[k];
        const Vector here = in_own_frame(point);
        const Remembered* nearest = nullptr;
        double least = std::numeric_limits<double>::infinity();
        for (const Remembered& old : memory) {
            if (!old.is_between(point)) continue;
            const Vector apart = here - vector_from(old.place);
            if (const double far = dot(apart, apart); far < least) least = far, nearest = &old;
        }
        if (!nearest) continue;
        const Vector impulse = vector_from(nearest->impulse);
        previous_[3 * k] = std::max(0.0, dot(impulse, point.z));
        previous_[3 * k + 1] = dot(impulse, point.x), previous_[3 * k + 2] = dot(impulse, point.y);
    }
    for (std::size_t k = 0; k < points.size(); ++k) {
        const Vector& p = points[k].impulse;  // of an earlier pass
        const bool is_new = p.x == 0.0;
        if (is_new)
            std::copy_n(&previous_[3 * k], 3, &problem_.x[3 * k]);
        else
            write(p, &problem_.x[3 * k]);
    }
}

}  // namespace stiction::mujoco
