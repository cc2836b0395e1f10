#include "laws/impact.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "contact/algorithm1.hpp"
#include "contact/normal_impulse.hpp"
#include "friction/dissipation.hpp"

namespace stiction {
namespace {

constexpr int SWEEPS = 4;               // of normal impulse and friction, one after the other
constexpr double CONVERGED = 1e-4;         // relative change of the normal impulse at which the sweeps have converged
constexpr double SLOWEST = 0.02;        // [m/s] slip speeds below it count as this one in the coefficient of friction
constexpr double SLIP_SPEED = 0.3;      // [m/s] at which the coefficient of friction is stated
constexpr double IMPACT_TIME = 1.7e-3;  // [s] over which the normal impulse of an impact acts, as far as friction cares
constexpr double LEAST_SPIN = 1e-3;     // [m] radius of friction against spinning of a patch that is a point
constexpr double STILL = 2e-3;          // [m/s] a surface that sticks at less than this speed is stopped exactly

/// Whether a body moves no faster than one that has just come to rest. A link is pushed by its system while it rests.
bool is_slow(const Contact& c) {
    const auto size = [](const Vector& v) { return std::fabs(v.x) + std::fabs(v.y) + std::fabs(v.z); };
    const Twist& v = c.in_system ? c.before : c.velocity;
    return size(v.linear) + size(v.angular) * c.diameter < STILL + 2 * c.fall;
}

/// How much of the answer to a push at the patch's centre is turning: 0 below the centre of mass, towards 1 far from it.
double turning_share(const Contact& c) {
    const double x = c.centre.x, y = c.centre.y, whole = c.inverse_inertia.normal_response(x, y, x, y);
    return whole > 0.0 ? 1.0 - c.inverse_inertia.linear.z / whole : 0.0;
}

}  // namespace

ImpactLaw::ImpactLaw(const ImpactMaterial& material, BodyFactors each, Residual residual)
    : material_(material), each_(std::move(each)), residual_(std::move(residual)) {}

void ImpactLaw::classify(const Contacts& contacts) {
    for (Contact& c : contacts) c.mode = solve(c);
}

Mode ImpactLaw::solve(Contact& c) const {
    c.found = {};
    c.is_impact = false;
    c.restitution = material_.restitution;
    const double approach = c.greatest_approach();
    c.restitution.e0 *= each_.restitution(c.index) * (1.0 + material_.restitution_lever * turning_share(c)) *
                        residual_.of_restitution(approach);
    c.restitution.e0 = std::clamp(c.restitution.e0, 0.0, 1.0);
    Normal normal = normal_impulse(c, c.velocity);
    if (!(normal.p_z > 0.0)) return Mode::DETACH;

    const bool impact = c.is_impact = approach > c.restitution.threshold;
    const double turn = impact ? each_.turn(c.index, c.impacts + 1) : 0.0;
    const bool planar = c.inverse_inertia.linear.y == 0.0;  // then friction cannot turn: its size differs instead
    Load load{.duration = impact ? IMPACT_TIME : c.timestep,
              .parts = impact ? material_.parts : 1,
              .factor = each_.friction(c.index) * (planar ? std::exp(turn) : 1.0),
              .turn = planar ? 0.0 : turn};

    // The normal impulse depends on friction and friction on it: found one after the other, they soon agree.
    bool sticks = false;
    for (int sweep = 0; sweep < SWEEPS && normal.p_z > 0.0; ++sweep) {
        load.normal = normal.p_z;
        const Vector pressure{-normal.m_y / load.normal, normal.m_x / load.normal, c.centre.z};
        const double x = pressure.x - c.centre.x, y = pressure.y - c.centre.y;
        load.radius = material_.spin * std::sqrt(std::max(0.0, c.radius * c.radius - (x * x + y * y))) + LEAST_SPIN;
        const BuiltUp built = build_up(Sliding(c, pressure, normal), load);
        const Vector& f = built.friction;
        sticks = built.sticks;
        c.found = {f.x, f.y, f.z + x * f.y - y * f.x};
        normal = normal_impulse(c, c.after(friction_wrench(pressure, {f.x, f.y, f.z})));
        if (std::fabs(normal.p_z - load.normal) < CONVERGED * load.normal) break;
    }
    const bool rests = sticks && c.is_maximal() && !impact && is_slow(c);
    return rests ? Mode::STATIC : Mode::DYNAMIC;
}

ImpactLaw::BuiltUp ImpactLaw::build_up(const Sliding& sliding, const Load& load) const {
    const ImpactMaterial& m = material_;
    const double share = load.normal / load.parts;
    const double unloaded = 1.0 / (1.0 + load.normal / load.duration / m.friction_load);
    const double cosine = std::cos(load.turn), sine = std::sin(load.turn);
    BuiltUp built;
    for (int k = 0; k < load.parts; ++k) {
        // Friction answers the slip as it was when the last share of the impact had not come yet.
        const double done = load.parts == 1 ? 1.0 : std::max(0.0, (k + 1.0) / load.parts - m.lag);
        const Vector slip = sliding.slip + done * sliding.push + sliding.response * built.friction;
        const double spin = load.radius * slip.z;
        const double speed = std::max(SLOWEST, std::sqrt(slip.x * slip.x + slip.y * slip.y + spin * spin));
        const double light = m.friction * (1.0 + m.friction_rise * std::log10(speed / SLIP_SPEED));
        const double factor = load.factor * residual_.of_friction(slip, speed, load.normal, load.duration);
        const double mu = factor * (m.friction_loaded + (light - m.friction_loaded) * unloaded);
        const double limit = std::max(0.0, mu) * share;
        const auto [y, sticks] = dissipate(sliding.response, slip, limit, limit * load.radius);
        built.friction += Vector{limit * (cosine * y.x - sine * y.y), limit * (sine * y.x + cosine * y.y),
                                 limit * load.radius * y.z};
        built.sticks = sticks;
    }
    return built;
}

}  // namespace stiction
