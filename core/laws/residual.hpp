// What the parameters of an impact law leave, as a material has it: factors of friction and of restitution.
#pragma once

#include <algorithm>
#include <cmath>

#include "math/vectors.hpp"
#include "friction/friction_map.hpp"

namespace stiction {

struct Residual {
    FrictionMap friction;  ///< its coefficient is the factor of friction
    Spline restitution;    ///< logarithm of the factor of restitution, by that of the approach speed [m/s]

    /// Of a patch that slips so, at `speed` with its spinning, under a normal impulse that acts for `duration`.
    double of_friction(const Vector& slip, double speed, double impulse, double duration) const {
        if (!friction.varies()) return friction.scale;
        const double size = std::sqrt(slip.x * slip.x + slip.y * slip.y);
        const double c = size > 0.0 ? slip.x / size : 0.0, s = size > 0.0 ? slip.y / size : 0.0;  // no slip, no direction
        return friction.limit(friction.at(speed, impulse, duration), impulse, c, s, duration).size / impulse;
    }

    /// approach: speed of the contact's fastest vertex towards the ground before the step [m/s]
    double of_restitution(double approach) const {
        return restitution.exists() ? std::exp(restitution(std::log(std::max(approach, 1e-300))).value) : 1.0;
    }
};

}  // namespace stiction
