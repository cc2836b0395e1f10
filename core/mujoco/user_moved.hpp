// Velocities of bodies that the user moves from step to step ("mocap"), estimated from their poses.
//
// MuJoCo gives such bodies no velocity. With none, they would pass through what they push, and leave behind what rests on
// them. A body that is moved in every n-th step is assumed to move evenly over n steps. One that has not moved for longer
// than the last time is at rest, and so is one that jumps.
#pragma once

#include "math/vectors.hpp"
#include "mujoco/engine.hpp"

namespace stiction::mujoco {

/// One of them: numbers only, so that it can be saved.
struct UserMovedBody {
    static constexpr double UNSEEN = -1.0;     ///< `since` of one whose pose is not known yet
    static constexpr double MAX_SPEED = 20.0;  ///< [m/s], [rad/s]: a faster one jumps

    double body;
    Vector position;
    double quaternion[4];
    double since, period;  ///< steps since it was moved last; steps between its moves, or 0 where it is at rest
    Vector linear, angular;

    /// Velocity of its point at a position in the world [m/s].
    Vector velocity_at(const Vector& at) const { return linear + cross(angular, at - position); }

    /// Estimate its velocity from its present pose in the world.
    void update(const Vector& now, const double* turned, double timestep) {
        if (since == UNSEEN) return set_pose(now, turned);
        since += 1.0;
        const Vector way = now - position;
        if (way.x == 0.0 && way.y == 0.0 && way.z == 0.0 && std::equal(turned, turned + 4, quaternion)) {
            if (since >= period) stop();
            return;
        }
        const double *q = turned, *p = quaternion, per_time = 1 / (since * timestep);
        const double w = q[0] * p[0] + q[1] * p[1] + q[2] * p[2] + q[3] * p[3];
        const Vector sine{q[1] * p[0] - q[0] * p[1] - q[2] * p[3] + q[3] * p[2], q[2] * p[0] - q[0] * p[2] - q[3] * p[1] + q[1] * p[3],
                          q[3] * p[0] - q[0] * p[3] - q[1] * p[2] + q[2] * p[1]};  // of half the angle, along its axis
        const double size = length(sine), angle = 2 * std::atan2(size, std::fabs(w));
        const Vector spin = size > 0.0 ? (std::copysign(angle, w) * per_time / size) * sine : Vector{};
        const Vector speed = per_time * way;
        if (length(speed) < MAX_SPEED && length(spin) < MAX_SPEED) {
            period = since, linear = speed, angular = spin;
        } else {
            stop();
        }
        set_pose(now, turned);
    }

  private:
    void stop() { period = 0.0, linear = angular = {}; }
    void set_pose(const Vector& now, const double* turned) {
        position = now, since = 0.0;
        std::copy_n(turned, 4, quaternion);
    }
};

/// All of a model.
class UserMovedBodies {
  public:
    std::vector<UserMovedBody> all;

    /// Forget their poses and velocities.
    void reset(const Engine& engine) {
        all.clear();
        for (int body = 0; body < engine.model.nbody; ++body)
            if ((*engine.model.body_mocapid)[body] >= 0)
                all.push_back({static_cast<double>(body), {}, {}, UserMovedBody::UNSEEN, 0.0, {}, {}});
    }
    void update(const Engine& engine) {
        for (UserMovedBody& one : all) {
            const int body = static_cast<int>(one.body);
            one.update(vector_from(*engine.data.xpos + 3 * body), *engine.data.xquat + 4 * body, engine.timestep());
        }
    }
    /// The moving one that carries this body, or null.
    const UserMovedBody* carrier(const Engine& engine, int body) const {
        const int root = (*engine.model.body_rootid)[body];
        if (all.empty() || (*engine.model.body_mocapid)[root] < 0) return nullptr;
        const auto found = std::find_if(all.begin(), all.end(), [&](const UserMovedBody& one) { return one.body == root; });
        return found != all.end() && found->period > 0.0 ? &*found : nullptr;
    }
};

}  // namespace stiction::mujoco
