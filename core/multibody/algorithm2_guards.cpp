// What keeps Algorithm 2 safe for any law: the guards of Algorithm 1, for the whole system.
#include <algorithm>
#include <cmath>

#include "multibody/algorithm2.hpp"
#include "contact/energy.hpp"

namespace stiction {
namespace {

Friction scaled(const Friction& f, double by) { return {by * f.p_x, by * f.p_y, by * f.m_z, by * f.m_x, by * f.m_y}; }

bool is_nothing(const Friction& f) {
    return f.p_x == 0.0 && f.p_y == 0.0 && f.m_z == 0.0 && f.m_x == 0.0 && f.m_y == 0.0;
}

}  // namespace

/// No friction without normal impulse, no energy from contact.
/// Friction, and what bounces, is scaled down until both hold; whether nothing had to be.
bool Algorithm2::guard_work() {
    bool untouched = true;
    for (int i = 0; i < size(); ++i)
        if (!assumed_[i].is_static && !(solution_.impulse[6 * i + 2] > 0.0) && !is_nothing(assumed_[i].friction)) {
            assumed_[i].friction = {};
            untouched = false;
        }
    if (!untouched) balance_links();
    if (bounces_) {
        bounced_ = solution_.impulse;
        balance_.let_bounce(false);
        balance_links();
        const double most = std::max(0.0, energy_gained(solution_.impulse, arrival_.data()));
        if (energy_gained(bounced_, V_free_) <= 0.0 && energy_gained(bounced_, arrival_.data()) <= most) {
            solution_.impulse = bounced_;
            return untouched;
        }
    } else if (energy_gained(solution_.impulse, V_free_) <= 0.0) {
        return untouched;
    }
    guard_friction();
    if (bounces_) guard_bounce();
    return false;
}

/// Scale friction down until contact that does not bounce adds no energy.
void Algorithm2::guard_friction() {
    const double gained_at_all = energy_gained(solution_.impulse, V_free_);
    if (gained_at_all <= 0.0) return;
    const auto gained = [&](double share) {
        scaled_ = assumed_;
        for (Assumption& link : scaled_) link.friction = scaled(link.friction, share);
        balance_.solve(scaled_, solution_.impulse.data());
        return energy_gained(solution_.impulse, V_free_);
    };
    gained(largest_share(gained, gained(0.0), gained_at_all));
}

/// Go from impulses without a bounce towards those with it, as far as contact adds no energy.
///
/// V_free is faster than the links arrive: forces have acted, and a bounce may turn that around before the height for it
/// is lost. So the energy over the arrival counts as well, p . (before + L p / 2): a bounce must not add to it, or must
/// leave it below zero. Along the way both gains are convex.
void Algorithm2::guard_bounce() {
    std::vector<double>& p = solution_.impulse;
    for (std::size_t k = 0; k < p.size(); ++k) bounced_[k] -= p[k];
    const double most = std::max(0.0, energy_gained(p, arrival_.data()));
    const double share =
        std::min(share_of_way(p, bounced_, V_free_, 0.0), share_of_way(p, bounced_, arrival_.data(), most));
    for (std::size_t k = 0; k < p.size(); ++k) p[k] += share * bounced_[k];
}

/// Kinetic energy that p adds to the system over twists V, p . (V + L p / 2) [J], beyond what rounding explains.
double Algorithm2::energy_gained(const std::vector<double>& p, const double* V) {
    multiply(*L_, p.data(), change_.data());
    double gain = 0.0, scale = 0.0;
    for (std::size_t k = 0; k < p.size(); ++k) {
        gain += p[k] * (V[k] + 0.5 * change_[k]);
        scale += std::fabs(p[k] * V[k]);
    }
    return finite_gain(gain - ENERGY_SLACK * scale);
}

/// The largest share of the way from p to p + way at which that energy is at most `most`.
double Algorithm2::share_of_way(const std::vector<double>& p, const std::vector<double>& way, const double* V,
                                double most) {
    double least = -most, slope = 0.0, curve = 0.0;
    multiply(*L_, p.data(), change_.data());
    for (std::size_t k = 0; k < p.size(); ++k) {
        least += p[k] * (V[k] + 0.5 * change_[k]);
        slope += way[k] * (V[k] + change_[k]);
    }
    multiply(*L_, way.data(), change_.data());
    for (std::size_t k = 0; k < p.size(); ++k) curve += 0.5 * way[k] * change_[k];
    return least + slope + curve <= 0.0 ? 1.0 : share_within(least, slope, curve);
}

}  // namespace stiction
