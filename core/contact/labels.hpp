// What a recorded step was: its mode, seen in the motion as the paper does it.
#pragma once

#include "contact/contact.hpp"

namespace stiction {

constexpr double DETACH_IMPULSE = 1e-8;  ///< [N s]; a contact with less was detaching
constexpr double STILL_SPEED = 1e-5;     ///< [m/s]; a patch vertex slower than this after the step has stopped ...
constexpr double STILL_SHARE = 2e-4;     ///< ... or than this share of the patch's greatest speed before it

/// Mode of a contact from its twist after the step and its impulse.
/// share: of the patch's greatest speed before, with which it still counts as stopped
inline Mode observed_mode(const Contact& c, const Twist& after, const Wrench& p, double share = STILL_SHARE) {
    if (length(p.linear) < DETACH_IMPULSE) return Mode::DETACH;
    double fastest_before = 0.0, fastest_after = 0.0;
    for (int k = 0; k < c.count; ++k) {
        const Vector at = c.point(k);
        fastest_before = std::max(fastest_before, length(c.velocity.at(at)));
        fastest_after = std::max(fastest_after, length(after.at(at)));
    }
    return fastest_after < STILL_SPEED + share * fastest_before ? Mode::STATIC : Mode::DYNAMIC;
}

/// The mode by which a contact is recorded. A soft law never stops a patch exactly, and a statistical one has no modes:
/// these are named by what is seen in the twist after the step.
inline Mode recorded_mode(const Contact& c, const Twist& after, double compliance) {
    if (compliance == 0.0 && c.mode != Mode::NONE) return c.mode;
    const double yields = 2 * compliance;  // what a soft patch keeps of its speed when it is stopped, and somewhat more
    return observed_mode(c, after, c.impulse, std::max(STILL_SHARE, yields));
}

}  // namespace stiction
