// The guard on energy: contact never adds energy to a motion.
#pragma once

#include "math/vectors.hpp"

namespace stiction {

constexpr double ENERGY_SLACK = 1e-12;  ///< relative gain that is only rounding

/// A gain of energy; infinite where it is NaN or its terms overflow.
inline double finite_gain(double gain) {
    return std::isfinite(gain) ? gain : std::numeric_limits<double>::infinity();
}

/// The largest share of a friction, from 0 to 1 and to within a thousandth, with which contact gains nothing.
///
/// gained(share): what it gains, convex in the share; infinite where the contact would not press at all
/// at_none, at_all: the gains at 0, where physics alone decides and nothing is gained, and at 1
template <class Gained> double largest_share(Gained gained, double at_none, double at_all) {
    // Friction is at most 1e20 times the momentum at hand (algorithm1.cpp): a share that is smaller than `least` is none.
    constexpr double close = 1e-3, least = 1e-30, infinite = std::numeric_limits<double>::infinity();
    double low = 0.0, high = 1.0, below = at_none, above = at_all;
    for (int round = 0; round < 1100 && high > least && high - low > close * high; ++round) {
        // Where the chord between a share that holds and one that does not meets zero, a convex gain holds. Every other
        // time the middle is tried, which brings the upper end down.
        const bool by_chord = round % 2 == 0 && below < 0.0 && above < infinite;
        const double middle = low + (by_chord ? below / (below - above) : 0.5) * (high - low);
        const double gain = gained(middle);
        if (gain <= 0.0) {
            const bool is_close = middle - low <= close * middle;
            low = middle, below = gain;
            if (is_close) break;
        } else {
            high = middle, above = gain;
        }
    }
    return low;
}

/// The largest share s in [0, 1] up to which a convex gain, least + slope s + curve s^2, is not positive, if it is not
/// positive at s = 0 and is at s = 1.
inline double share_within(double least, double slope, double curve) {
    const double root = std::sqrt(std::max(0.0, slope * slope - 4.0 * curve * std::min(0.0, least)));
    return std::min(1.0, std::max(0.0, (-slope + root) / (2.0 * curve)));
}

}  // namespace stiction
