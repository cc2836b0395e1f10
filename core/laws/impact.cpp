#include "laws/impact.hpp"

#include "contact/algorithm1.hpp"
#include "contact/frictionless_lcp.hpp"
#include "contact/static_impulse.hpp"

namespace stiction {

/// How a patch slides at its centre of pressure.
struct Sliding {
    Tensor response;  ///< of the slip to an impulse
    Vector slip;      ///< before the contact
    Vector push;      ///< what the normal impulse adds to it, and in a system, what the system does

    /// at: the centre of pressure, relative to the centre of mass
    Sliding(const Contact& c, const Vector& at, const Normal& normal) {
        const InverseInertia& W = c.inverse_inertia;
        // Torques of unit impulses; no force turns the body and no torque moves it.
        const Vector along_x{0.0, at.z, -at.y}, along_y{-at.z, 0.0, at.x}, spin{0.0, 0.0, 1.0};
        const Vector x = W.angular * along_x, y = W.angular * along_y, s = W.angular * spin;
        response = {W.linear.x + dot(along_x, x), dot(along_x, y), dot(along_x, s),
                    W.linear.y + dot(along_y, y), dot(along_y, s), dot(spin, s)};
        const Twist& before = c.in_system ? c.free : c.velocity;
        const Vector v = before.at(at);
        slip = {v.x, v.y, before.angular.z};
        const Vector turned = W.angular * Vector{normal.m_x, normal.m_y, 0.0};
        push = {dot(along_x, turned), dot(along_y, turned), dot(spin, turned)};
        if (c.in_system) {  // what the system does about the contact comes with the impact
            const Twist answer = c.velocity - c.free;
            const Vector more = answer.at(at);
            push += Vector{more.x, more.y, answer.angular.z};
        }
    }
};

namespace {

constexpr struct {
    int max_rounds = 4;            // of normal impulse and friction, one after the other
    int max_sliding_rounds = 40;   // ... of a surface that slides: friction tilts it, which the normal impulse must balance
    double converged = 1e-4;       // change of an impulse, relative to the normal impulse, that ends them
    double slowest = 0.02;         // [m/s] slip speeds below it count as this one in the coefficient of friction
    double slip_speed = 0.3;       // [m/s] at which the coefficient of friction is stated
    double impact_time = 1.7e-3;   // [s] over which the normal impulse of an impact acts, as far as friction cares
    double min_spin_radius = 1e-3; // [m] radius of friction against spinning of a patch that is a point
} SETTINGS;

/// How much of the answer to a push at the patch's centre is turning: 0 below the centre of mass, towards 1 far from it.
double turning_share(const Contact& c) {
    const double x = c.centre.x, y = c.centre.y, whole = c.inverse_inertia.normal_response(x, y, x, y);
    return whole > 0.0 ? 1.0 - c.inverse_inertia.linear.z / whole : 0.0;
}

// Friction of greatest dissipation: of all impulses that a patch can give as a whole, the one that leaves the least energy to
// its sliding. Vectors are (x, y, spin about the vertical) at the centre of pressure: slip in [m/s, rad/s], impulses in
// [N s, N m s].

/// The share y of its limits, |y| <= 1, for which the impulse (limit, limit, spin_limit) y leaves the least energy to a slip.
///
/// With response B and slip b in coordinates scaled by the limits: minimise b . y + y . B y / 2 over |y| <= 1, a trust-region
/// problem (More and Sorensen, "Computing a trust region step", 1983). Its conditions: (B + t) y = -b with t >= 0 and |y| = 1,
/// or t = 0. As a function of t, 1 / |y| is concave and rises: Newton's method from below never overshoots.
Vector dissipate(const Tensor& response, const Vector& slip, double limit, double spin_limit) {
    const Vector b{slip.x * limit, slip.y * limit, slip.z * spin_limit};
    const double size = length(b);
    if (!(size > 0.0)) return {};
    const Tensor& A = response;
    const Tensor B{A.xx * limit * limit, A.xy * limit * limit,      A.xz * limit * spin_limit,
                   A.yy * limit * limit, A.yz * limit * spin_limit, A.zz * spin_limit * spin_limit};
    const double trace = B.xx + B.yy + B.zz, least = 1e-12 * trace;
    double t = std::max(least, size - trace), norm = 0.0;
    Vector y;
    for (int k = 0; k < 60; ++k) {
        // By cofactors: a triangular factorisation would wait for one division after the other.
        const Tensor C = cofactors_of({B.xx + t, B.xy, B.xz, B.yy + t, B.yz, B.zz + t});
        const double inverse = 1.0 / ((B.xx + t) * C.xx + B.xy * C.xy + B.xz * C.xz);
        y = -inverse * (C * b);
        norm = length(y);
        if (norm <= 1.0 + 1e-9) {
            if (k == 0 && t <= least) return y;
            break;
        }
        const double steep = inverse * dot(y, C * y);  // y . (B + t)^-1 y
        t += steep > 0.0 ? (norm - 1.0) * norm * norm / steep : size;
    }
    return norm > 0.0 ? (1.0 / norm) * y : y;
}

}  // namespace

ImpactLaw::ImpactLaw(const ImpactMaterial& material, BodyFactors each, Residual residual)
    : material_(material), each_(std::move(each)), residual_(std::move(residual)) {
    // The constants with which the shipped laws were identified: others would change their forecasts.
    near_ground = {.touch_share = 1.0, .recovery_share = 0.01, .recovery_speed = 1e-3};
}

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
    Load load{.duration = impact ? SETTINGS.impact_time : c.timestep,
              .parts = impact ? material_.parts : 1,
              .factor = each_.friction(c.index) * (planar ? std::exp(turn) : 1.0),
              .turn = planar ? 0.0 : turn};

    const bool slides = !impact && c.is_maximal();
    if (slides && can_stop(c, load)) return Mode::STATIC;
    // The normal impulse depends on friction and friction on it: found one after the other, they converge.
    Vector last;
    for (int round = 0; round < (slides ? SETTINGS.max_sliding_rounds : SETTINGS.max_rounds) && normal.p_z > 0.0; ++round) {
        const Vector pressure = set_pressure(c, normal, load);
        const Vector f = build_up(Sliding(c, pressure, normal), load);
        const double x = pressure.x - c.centre.x, y = pressure.y - c.centre.y;
        c.found = {f.x, f.y, f.z + x * f.y - y * f.x};
        normal = normal_impulse(c, c.after(friction_wrench(pressure, {f.x, f.y, f.z})));
        const double small = SETTINGS.converged * load.normal, change = std::max(std::fabs(f.x - last.x), std::fabs(f.y - last.y));
        if (std::fabs(normal.p_z - load.normal) < small && (!slides || change < small)) break;
        last = f;
    }
    return Mode::DYNAMIC;
}

/// Note the load of a normal impulse; returns its centre of pressure.
Vector ImpactLaw::set_pressure(const Contact& c, const Normal& normal, Load& load) const {
    load.normal = normal.p_z;
    const Vector pressure{-normal.m_y / load.normal, normal.m_x / load.normal, c.centre.z};
    const double x = pressure.x - c.centre.x, y = pressure.y - c.centre.y;
    const double spread = std::sqrt(std::max(0.0, c.radius * c.radius - (x * x + y * y)));
    load.radius = material_.spin * spread + SETTINGS.min_spin_radius;
    return pressure;
}

/// Return whether a patch that does not bounce is stopped: whether the impulse that stops it presses within the patch and has a
/// friction within its limits.
bool ImpactLaw::can_stop(Contact& c, Load load) const {
    const Wrench p = static_impulse(c);
    if (!(p.linear.z > 0.0) || !presses_within(c, p)) return false;
    const Friction f = c.found = friction_part(c, p);
    const Wrench press = p - friction_wrench(c.centre, f);
    const Normal normal{press.linear.z, press.angular.x, press.angular.y};
    const Vector pressure = set_pressure(c, normal, load);
    const double spin = f.m_z - (pressure.x - c.centre.x) * f.p_y + (pressure.y - c.centre.y) * f.p_x;
    const double limit = coefficient(Sliding(c, pressure, normal).slip, load) * load.normal;
    return length(Vector{f.p_x, f.p_y, spin / load.radius}) <= limit;
}

/// The coefficient of friction for a slip.
double ImpactLaw::coefficient(const Vector& slip, const Load& load) const {
    const ImpactMaterial& m = material_;
    const double unloaded = 1.0 / (1.0 + load.normal / load.duration / m.friction_load), spin = load.radius * slip.z;
    const double speed = std::max(SETTINGS.slowest, std::sqrt(slip.x * slip.x + slip.y * slip.y + spin * spin));
    const double light = m.friction * (1.0 + m.friction_rise * std::log10(speed / SETTINGS.slip_speed));
    const double factor = load.factor * residual_.of_friction(slip, speed, load.normal, load.duration);
    return std::max(0.0, factor * (m.friction_loaded + (light - m.friction_loaded) * unloaded));
}

Vector ImpactLaw::build_up(const Sliding& sliding, const Load& load) const {
    const double share = load.normal / load.parts, cosine = std::cos(load.turn), sine = std::sin(load.turn);
    Vector friction;
    for (int k = 0; k < load.parts; ++k) {
        // Friction answers the slip as it was when the last share of the impact had not come yet.
        const double done = load.parts == 1 ? 1.0 : std::max(0.0, (k + 1.0) / load.parts - material_.lag);
        const Vector slip = sliding.slip + done * sliding.push + sliding.response * friction;
        const double limit = coefficient(slip, load) * share;
        const Vector y = dissipate(sliding.response, slip, limit, limit * load.radius);
        friction += Vector{limit * (cosine * y.x - sine * y.y), limit * (sine * y.x + cosine * y.y), limit * load.radius * y.z};
    }
    return friction;
}

}  // namespace stiction
