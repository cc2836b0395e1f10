// MuJoCo's touch sensors, which see only the contacts that MuJoCo solves, told of ours.
#pragma once

#include <algorithm>
#include <vector>

#include "mujoco/engine.hpp"
#include "mujoco/pair_laws.hpp"

namespace stiction::mujoco {

/// A sensor that adds up the forces along the normals of all contacts of its body whose normal meets its zone.
struct TouchSensor {
    int number;  ///< where its value stands in sensordata
    int site, body, shape;
    double cutoff;  ///< [N]; 0 is none
};

inline void tell_touch_sensors(const std::vector<TouchSensor>& sensors, const std::vector<TouchingPoint>& points,
                               const Engine& engine) {
    for (const TouchSensor& sensor : sensors) {
        double& value = (*engine.data.sensordata)[sensor.number];
        const double *place = *engine.data.site_xpos + 3 * sensor.site, *axes = *engine.data.site_xmat + 9 * sensor.site;
        const double* size = *engine.model.site_size + 3 * sensor.site;
        for (const TouchingPoint& point : points) {
            if (!point.presses() || (point.own != sensor.body && point.other != sensor.body)) continue;
            const Vector out = (point.own == sensor.body ? -1.0 : 1.0) * point.z;
            const double at[3] = {point.place.x, point.place.y, point.place.z}, ray[3] = {out.x, out.y, out.z};
            if (engine.functions.rayGeom(place, axes, size, at, ray, sensor.shape, nullptr) >= 0.0)
                value += point.impulse.x / *engine.model.timestep;
        }
        if (sensor.cutoff > 0.0) value = std::min(value, sensor.cutoff);
    }
}

}  // namespace stiction::mujoco
