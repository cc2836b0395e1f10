// The guard on energy: contact never adds energy to a motion, whatever a law returns.
#pragma once

#include "contact/contact.hpp"

namespace stiction {

constexpr double ENERGY_SLACK = 1e-12;  ///< relative gain that is only rounding

/// A gain of energy; infinite where it is NaN or its terms overflow.
inline double finite_gain(double gain) {
    return std::isfinite(gain) ? gain : std::numeric_limits<double>::infinity();
}

/// The energy that contact adds to one body in a time step. The guard: neither is positive.
///
/// v' = v1 - h g is the velocity without contact and without weight, v+ = v1 + M^-1 p the one after the step, p0 the
/// impulse without friction, f the friction in p. Norms are those of M for velocities, of M^-1 for impulses.
///
/// 1. Positions move with v+, so that contact changes the mechanical energy, height included, by p . v+ - |v+ - v'|^2 / 2.
///    The kinetic energy of v1 changes by p . (v1 + v+) / 2.
/// 2. Friction leaves no more kinetic energy than contact without friction, f . v+ <= (|p|^2 - |p0|^2) / 2, or its work at
///    the mean slip is not positive, f . (v1 + v+) / 2 <= 0, as for friction that has followed the slip through an impact.
///
/// Normal impulses of contact without a bounce do no work, n . v+ = 0. If friction opposes the slip that it leaves as well,
/// f . v+ <= 0, the guard holds: docs/concepts.md has the proof.
class StepEnergy {
  public:
    explicit StepEnergy(const Contact& contact) : c_(contact) {
        if (c_.in_system) return;  // V1 is a velocity that a link in a system never had
        fall_ = c_.velocity.linear - c_.before.linear;
        lost_in_fall_ = 0.5 * dot(fall_, fall_) / c_.inverse_inertia.linear.x;
    }

    /// Rounding error of the work of an impulse on v1 [J].
    double rounding(const Wrench& p) const {
        const auto size = [](const Vector& a, const Vector& b) {
            return std::fabs(a.x * b.x) + std::fabs(a.y * b.y) + std::fabs(a.z * b.z);
        };
        return ENERGY_SLACK * (size(p.linear, c_.velocity.linear) + size(p.angular, c_.velocity.angular));
    }

    /// What p adds to the mechanical energy or to the kinetic energy of v1, whichever is more [J].
    double of_step(const Wrench& p) const {
        const double height = -dot(p.linear, fall_) - lost_in_fall_;  // of the mechanical energy, beside the kinetic one
        return finite_gain(0.5 * dot(p, c_.velocity + c_.after(p)) + std::max(0.0, height) - rounding(p));
    }

    /// What friction f, a part of p, adds [J]. p0: the impulse without friction
    double of_friction(const Wrench& f, const Wrench& p, const Wrench& p0) const {
        const Twist &v1 = c_.velocity, after = c_.after(p);
        const double beyond_p0 = dot(f, after) - 0.5 * dot(p - p0, c_.inverse_inertia * (p + p0));
        return finite_gain(std::min(beyond_p0, 0.5 * dot(f, v1 + after)));
    }

  private:
    const Contact& c_;
    Vector fall_;                ///< h g
    double lost_in_fall_ = 0.0;  ///< m |h g|^2 / 2: what a step without contact takes from the energy
};

/// The largest share of a friction, from 0 to 1 and to ten digits, with which contact gains nothing. A coarse one would
/// turn rounding errors of a law into visible differences.
///
/// gained(share): what it gains, convex in the share; infinite where the contact would not press at all
/// at_none, at_all: the gains at 0, where physics alone decides and nothing is gained, and at 1
template <class Gained> double largest_share(Gained gained, double at_none, double at_all) {
    // Friction is at most 1e20 times the momentum at hand (algorithm1.cpp): a share that is smaller than `least` is none.
    constexpr double close = 1e-10, least = 1e-30, infinite = std::numeric_limits<double>::infinity();
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
