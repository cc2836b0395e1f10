// Bodies that the user moves from step to step ("mocap"): how fast they move, as seen in their poses.
//
// MuJoCo gives such bodies no velocity. With none, they would pass through what they push, and what lies on them would
// stay behind. A body that is moved in every n-th step is taken to move evenly over n steps. One that has not moved for
// longer than the last time rests; so does one that leaps.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "math/vectors.hpp"

namespace stiction::mujoco {

constexpr double FASTEST_MOVED = 20.0;  // [m/s], [rad/s]: what is faster leaps

/// One of them: numbers only, so that it can be saved.
struct HandMoved {
    static constexpr double NOT_YET = -1.0;  ///< `since` of one that was not looked at

    double body;
    double place[3], quaternion[4];
    double since, period;  ///< steps since it was moved last; steps from one time to the next, or 0 where it rests
    double linear[3], angular[3];

    /// Velocity of its point at a place in the world [m/s].
    Vector velocity_at(const Vector& at) const {
        const Vector w{angular[0], angular[1], angular[2]};
        return Vector{linear[0], linear[1], linear[2]} + cross(w, at - Vector{place[0], place[1], place[2]});
    }

    void rest() {
        period = 0.0;
        std::fill_n(linear, 3, 0.0), std::fill_n(angular, 3, 0.0);
    }

    /// Compare with where it is now, in the world.
    void look(const double* now, const double* turned, double timestep) {
        since += 1.0;
        if (std::equal(now, now + 3, place) && std::equal(turned, turned + 4, quaternion)) {
            if (since >= period) rest();
            return;
        }
        const double *q = turned, *p = quaternion, per_time = 1 / (since * timestep);
        const double w = q[0] * p[0] + q[1] * p[1] + q[2] * p[2] + q[3] * p[3];
        const Vector sine{q[1] * p[0] - q[0] * p[1] - q[2] * p[3] + q[3] * p[2], q[2] * p[0] - q[0] * p[2] - q[3] * p[1] + q[1] * p[3],
                          q[3] * p[0] - q[0] * p[3] - q[1] * p[2] + q[2] * p[1]};  // of half the angle, along its axis
        const double size = length(sine), angle = 2 * std::atan2(size, std::fabs(w));
        const Vector spin = size > 0.0 ? (std::copysign(angle, w) * per_time / size) * sine : Vector{};
        const Vector speed = per_time * Vector{now[0] - place[0], now[1] - place[1], now[2] - place[2]};
        if (length(speed) < FASTEST_MOVED && length(spin) < FASTEST_MOVED) {
            period = since;
            linear[0] = speed.x, linear[1] = speed.y, linear[2] = speed.z;
            angular[0] = spin.x, angular[1] = spin.y, angular[2] = spin.z;
        } else {
            rest();
        }
        stand_at(now, turned);
    }

    void stand_at(const double* now, const double* turned) {
        std::copy_n(now, 3, place), std::copy_n(turned, 4, quaternion);
        since = 0.0;
    }
};

}  // namespace stiction::mujoco
