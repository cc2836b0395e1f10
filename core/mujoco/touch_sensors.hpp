// MuJoCo's touch sensors measure only contacts that MuJoCo solves: the forces of contacts with laws are added here.
#pragma once

#include <algorithm>
#include <vector>

#include "mujoco/engine.hpp"
#include "mujoco/contact_point.hpp"

namespace stiction::mujoco {

/// A sensor that sums the normal forces of all contacts of its body whose normal meets its site.
struct TouchSensor {
    int address;  ///< of its value in sensordata
    int site, body, shape;
    double cutoff;  ///< [N]; 0 is none
};

inline void add_to_touch_sensors(const std::vector<TouchSensor>& sensors, const std::vector<ContactPoint>& points,
                               const Engine& engine) {
    for (const TouchSensor& sensor : sensors) {
        double& value = (*engine.data.sensordata)[sensor.address];
        const double *position = *engine.data.site_xpos + 3 * sensor.site, *axes = *engine.data.site_xmat + 9 * sensor.site;
        const double* size = *engine.model.site_size + 3 * sensor.site;
        for (const ContactPoint& point : points) {
            if (!point.presses() || (point.body1 != sensor.body && point.body2 != sensor.body)) continue;
            const Vector out = (point.body1 == sensor.body ? -1.0 : 1.0) * point.z;
            const double at[3] = {point.position.x, point.position.y, point.position.z}, ray[3] = {out.x, out.y, out.z};
            if (engine.functions.rayGeom(position, axes, size, at, ray, sensor.shape, nullptr) >= 0.0)
                value += point.impulse.x / *engine.model.timestep;
        }
        if (sensor.cutoff > 0.0) value = std::min(value, sensor.cutoff);
    }
}

}  // namespace stiction::mujoco
