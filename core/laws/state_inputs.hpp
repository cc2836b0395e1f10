// The paper's own inputs: orientation, twist, and two redundant features, in world axes and as they are.
//
// The orientation may be written in four ways, which the paper compares; impulses are not divided by the load.
#pragma once

#include <algorithm>
#include <cmath>

#include "contact/contact.hpp"
#include "laws/describe.hpp"

namespace stiction {

/// The unit quaternion of a rotation matrix, w >= 0.
inline Quaternion quaternion_of(const Rotation& R) {
    const double xx = R.x.x, yy = R.y.y, zz = R.z.z;
    const double w2 = 1 + xx + yy + zz, x2 = 1 + xx - yy - zz, y2 = 1 - xx + yy - zz, z2 = 1 - xx - yy + zz;
    const double a = R.z.y - R.y.z, b = R.x.z - R.z.x, c = R.y.x - R.x.y;
    const double d = R.x.y + R.y.x, e = R.x.z + R.z.x, f = R.y.z + R.z.y;
    // The greatest of the four is found without a loss of digits, the others from it.
    const double best = std::max({w2, x2, y2, z2}), s = 0.5 / std::sqrt(best);
    Quaternion q;
    if (best == w2)
        q = {s * w2, s * a, s * b, s * c};
    else if (best == x2)
        q = {s * a, s * x2, s * d, s * e};
    else if (best == y2)
        q = {s * b, s * d, s * y2, s * f};
    else
        q = {s * c, s * e, s * f, s * z2};
    return q.w < 0.0 ? Quaternion{-q.w, -q.x, -q.y, -q.z} : q;
}

/// Write an orientation in its numbers; the place after them back.
inline double* write_orientation(const Rotation& R, Inputs how, double* x) {
    const auto write = [&x](const auto&... numbers) { ((*x++ = numbers), ...); };
    if (how == Inputs::MATRIX) {
        write(R.x.x, R.x.y, R.x.z, R.y.x, R.y.y, R.y.z, R.z.x, R.z.y, R.z.z);
    } else if (how == Inputs::EULER) {  // turns about x, then y, then z of the world
        write(std::atan2(R.z.y, R.z.z), -std::asin(std::clamp(R.z.x, -1.0, 1.0)), std::atan2(R.y.x, R.x.x));
    } else {
        const Quaternion q = quaternion_of(R);
        if (how == Inputs::QUATERNION) {
            write(q.w, q.x, q.y, q.z);
        } else {
            const double sine = length({q.x, q.y, q.z});
            const double factor = sine > 1e-12 ? 2 * std::atan2(sine, q.w) / sine : 2.0;
            write(factor * q.x, factor * q.y, factor * q.z);
        }
    }
    return x;
}

/// Describe a contact by the state of its body, impulses in units of its mass and lengths of its diameter.
inline void describe_state(Contact& c, const Recipe& recipe) {
    Description& d = c.description;
    double* x = write_orientation(c.rotation, recipe.inputs, d.features);
    const auto write = [&x](const Vector& v) { *x++ = v.x, *x++ = v.y, *x++ = v.z; };
    *x++ = c.height;
    write(c.velocity.linear);
    write(c.velocity.angular);
    if (recipe.centre) write(c.rotation.inverse(c.centre));
    if (recipe.slip) write(c.velocity.at(c.centre));
    std::fill(d.guess, d.guess + 3, 0.0);
    d.unit_impulse = recipe.mass;
    d.unit_length = c.diameter;
    d.turn[0] = d.turn[3] = 1.0;
    d.turn[1] = d.turn[2] = 0.0;
}

}  // namespace stiction
