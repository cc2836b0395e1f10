// What keeps Algorithm 2 safe for any law: the guards of Algorithm 1, for the whole system.
//
// In the coordinates of the links, L^+ takes the place of M. With V' the twists of the links before the step, on which no
// force has acted yet, V+ = V_free + L p, p0 the impulses without friction of the sliding links and f that friction:
//
//     mechanical energy   p . V+ - |V+ - V'|^2 / 2 <= 0, and p . (V_free + V+) / 2 <= 0          (norm of L^+)
//     friction            kinetic energy is at most that with p0
//
// The system loses at least |V+ - V'|^2 / 2: the motion of its other parts adds to it. Static patches and normal impulses
// without a bounce do no work. If friction opposes the slip that it leaves as well, f . V+ <= 0, all of this holds.
#include "contact/algorithm1.hpp"
#include "contact/energy.hpp"
#include "multibody/algorithm2.hpp"

namespace stiction {
namespace {

Friction scaled(const Friction& f, double by) { return {by * f.p_x, by * f.p_y, by * f.m_z, by * f.m_x, by * f.m_y}; }

bool is_nothing(const Friction& f) {
    return f.p_x == 0.0 && f.p_y == 0.0 && f.m_z == 0.0 && f.m_x == 0.0 && f.m_y == 0.0;
}

}  // namespace

/// Note which links at rest stay at rest without friction (Algorithm 1: `stays_at_rest`), and nothing else that they feel may
/// slide; return whether these are all links that are pressed.
bool Algorithm2::all_stay_at_rest() {
    constexpr double still = 1e-9;  // speeds below this share of the speed without contact are rounding
    const auto speed = [](const Contact& c, const Twist& v) { return sum_of_sizes(v.linear) + c.diameter * sum_of_sizes(v.angular); };
    const auto is_still = [&](int i, const Twist& v) {
        return speed(contacts_[i], v) <= still * speed(contacts_[i], contacts_[i].free);
    };
    bool any = false;
    for (int i = 0; i < size(); ++i) {
        links_[i].at_rest = links_[i].pressed && compliance_ == 0.0 && contacts_[i].is_maximal() && is_still(i, contacts_[i].before);
        any = any || links_[i].at_rest;
    }
    if (!any) return false;
    scaled_.assign(size(), {});
    balance_.solve(scaled_, solution_.impulse.data());
    multiply(*L_, solution_.impulse.data(), change_.data());
    for (int i = 0; i < size(); ++i)
        links_[i].at_rest = links_[i].at_rest && is_still(i, contacts_[i].free + twist_from(&change_[6 * i]));
    const auto feels = [&](int i, int k) {
        for (int r = 6 * i; r < 6 * i + 6; ++r)
            if (std::any_of((*L_)[r] + 6 * k, (*L_)[r] + 6 * k + 6, [](double x) { return x != 0.0; })) return true;
        return false;
    };
    std::vector<char> disturbed(size());
    for (int i = 0; i < size(); ++i)
        for (int k = 0; k < size(); ++k)
            if (links_[k].pressed && !links_[k].at_rest && feels(i, k)) disturbed[i] = true;
    bool all = true;
    for (int i = 0; i < size(); ++i) {
        links_[i].at_rest = links_[i].at_rest && !disturbed[i];
        all = all && (links_[i].at_rest || !links_[i].pressed);
    }
    return all;
}

/// No friction without normal impulse, no energy from contact. What bounces, and friction, is scaled down until both hold.
/// Return whether the impulses are still those of the laws. tolerance: relative, of friction
bool Algorithm2::guard_energy(double tolerance) {
    std::vector<double>& p = solution_.impulse;
    bool untouched = true;
    for (int i = 0; i < size(); ++i)
        if (!assumed_[i].is_static && !(p[6 * i + 2] > 0.0) && !is_nothing(assumed_[i].friction)) {
            assumed_[i].friction = {};
            untouched = false;
        }
    if (!untouched) balance_links();
    const bool opposes = friction_opposes_slip(p);
    if (opposes && !bounces_ && takes_energy(p)) return untouched;
    lost_to_forces_ = lost_to_forces();
    if (opposes && bounces_ && energy_added(p) <= 0.0) return untouched;
    if (bounces_) {
        balance_.let_bounce(false);
        balance_links();
    }
    untouched = ((friction_opposes_slip(p) && takes_energy(p)) || guard_friction(tolerance)) && untouched;
    if (!bounces_) return untouched;
    balance_.let_bounce(true);
    bounced_.resize(p.size());
    balance_.solve(assumed_, bounced_.data());
    guard_bounce();
    return false;
}

/// Scale friction down until contact that does not bounce adds no energy, and leaves no more than without friction. Return
/// whether that changed it by no more than its tolerance.
bool Algorithm2::guard_friction(double tolerance) {
    constexpr double least = 1e-6;  // share of a friction that is none
    std::vector<double>& p = solution_.impulse;
    const std::vector<double> all = p;
    const auto solve = [&](double share) {
        scaled_ = assumed_;
        for (Assumption& link : scaled_) link.friction = scaled(link.friction, share);
        balance_.solve(scaled_, p.data());
    };
    solve(0.0);
    if (!(energy_added(p) <= 0.0)) {  // not solved exactly: no link is held, and as much is kept as adds no energy
        assumed_.assign(assumed_.size(), {});
        balance_links();
        const std::vector<double> none(p.size(), 0.0), way = p;
        const double share =
            std::min(share_of_way(none, way, V_free_, 0.0), share_of_way(none, way, arrival_.data(), lost_to_forces()));
        for (double& x : p) x *= share;
        return false;
    }
    const double most = std::min(0.0, energy_gained(p, V_free_));
    const auto gained = [&](double share) {
        solve(share);
        return std::max(energy_gained(p, V_free_) - most, energy_added(p));
    };
    const double at_all = gained(1.0);
    if (at_all <= 0.0) return true;
    const double at_least = gained(least);
    const double share = at_least > 0.0 ? 0.0 : largest_share(gained, at_least, at_all);
    solve(share);
    assumed_ = scaled_;
    return share >= 1.0 - tolerance;
}

/// Go from impulses without a bounce towards those with it, as far as contact adds no energy: along the way, it is convex.
void Algorithm2::guard_bounce() {
    std::vector<double>& p = solution_.impulse;
    for (std::size_t k = 0; k < p.size(); ++k) bounced_[k] -= p[k];
    const double share = std::min(share_of_way(p, bounced_, V_free_, 0.0),
                                  share_of_way(p, bounced_, arrival_.data(), lost_to_forces_));
    for (std::size_t k = 0; k < p.size(); ++k) p[k] += share * bounced_[k];
}

/// Whether the friction of the sliding links does no work on the twists after impulses p, nor at the mean slip if they bounce.
bool Algorithm2::friction_opposes_slip(const std::vector<double>& p) {
    multiply(*L_, p.data(), change_.data());
    double after = 0.0, mean = 0.0, scale = 0.0;
    for (int i = 0; i < size(); ++i) {
        if (assumed_[i].is_static) continue;
        double f[6];
        write(friction_wrench(contacts_[i].centre, assumed_[i].friction), f);
        for (int k = 0; k < 6; ++k) {
            const double v = V_free_[6 * i + k], change = change_[6 * i + k];
            after += f[k] * (v + change), mean += f[k] * (v + 0.5 * change), scale += std::fabs(f[k] * v);
        }
    }
    return finite_gain(bounces_ ? std::min(after, mean) : after) <= ENERGY_SLACK * scale;
}

/// Whether impulses p that do not bounce do no work on the twists after them, but for rounding.
bool Algorithm2::takes_energy(const std::vector<double>& p) {
    constexpr double rounding = 1e-9;
    multiply(*L_, p.data(), change_.data());
    double work = 0.0, scale = 0.0;
    for (std::size_t k = 0; k < p.size(); ++k) {
        work += p[k] * (V_free_[k] + change_[k]);
        scale += std::fabs(p[k] * V_free_[k]);
    }
    return finite_gain(work) <= rounding * scale;
}

/// What p adds to the mechanical energy of the system or to its kinetic energy without contact, whichever is more [J].
double Algorithm2::energy_added(const std::vector<double>& p) {
    return std::max(energy_gained(p, V_free_), energy_gained(p, arrival_.data()) - lost_to_forces_);
}

/// |V_free - V'|^2 / 2 in the norm of L^+: of a body that falls, m |h g|^2 / 2, which a step without contact loses [J].
///
/// Joints make L singular. The sum goes over coordinates that are independent of each other, found by Cholesky's method with
/// pivots: the next one is that whose response, once those before it are held, keeps the greatest share. Whatever they are,
/// it is not greater than what is lost.
double Algorithm2::lost_to_forces() const {
    constexpr double independent = 1e-10;  // least share of a response; below it is rounding
    const int n = 6 * size();
    Matrix A = *L_;
    std::vector<double> d(n);
    std::vector<char> is_used(n);
    for (int k = 0; k < n; ++k) d[k] = V_free_[k] - arrival_[k];
    double lost = 0.0;
    for (int round = 0; round < n; ++round) {
        int next = -1;
        double greatest = independent;
        for (int k = 0; k < n; ++k)
            if (const double own = (*L_)[k][k]; !is_used[k] && A[k][k] > greatest * own) next = k, greatest = A[k][k] / own;
        if (next < 0) break;
        is_used[next] = true;
        const double* pivot = A[next];
        lost += 0.5 * d[next] * d[next] / pivot[next];
        for (int k = 0; k < n; ++k) {
            if (is_used[k] || pivot[k] == 0.0) continue;
            const double share = pivot[k] / pivot[next];
            d[k] -= share * d[next];
            for (int m = 0; m < n; ++m)
                if (!is_used[m]) A[k][m] -= share * pivot[m];
        }
    }
    return std::isfinite(lost) ? lost : 0.0;
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
