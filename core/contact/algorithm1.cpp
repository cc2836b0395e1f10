#include "contact/algorithm1.hpp"

#include <numbers>

#include "contact/energy.hpp"
#include "contact/frictionless_lcp.hpp"
#include "contact/static_impulse.hpp"

namespace stiction {

// Line 1, v1 = v + h M^-1 tau, is done: the contacts have v1 as their velocity (stepping/step.cpp:start_body).
void algorithm1(Law& law, const Contacts& contacts) {
    law.classify(contacts);               //  2: c <- C(q, v1)
    for (Contact& c : contacts) {         //     guards: a patch that still approaches the ground does not detach, ...
        if (c.mode == Mode::DETACH && c.lowest_separation(c.velocity) < 0.0) c.mode = Mode::DYNAMIC;
        if (stays_at_rest(c, law)) c.mode = Mode::STATIC;  // ... and what needs no friction to rest is static
    }
    law.friction(contacts);               //  8: p_f <- R(q, v1), of all dynamic contacts together
    for (Contact& c : contacts) {
        if (c.mode == Mode::STATIC) {     //  3: if c = static
            c.mode = stop_patch(c, law.compliance);    //  4-6: p <- SolveConstraint(P), and a guard
        } else if (c.mode == Mode::DYNAMIC) {          //  7: else if c = dynamic
            c.mode = slide_patch(c, within_reason(c, c.friction), law.compliance);  //  9-11, and guards
        } else {                          // 12: else detach
            c.impulse = {};               // 13: p <- 0
        }
    }                                     // 15: return p
}

void Law::respond(const Contacts& contacts) { algorithm1(*this, contacts); }

namespace {

constexpr struct {
    double same_normal = 1e-9;     // relative difference at which two normal impulses count as equal
    double max_friction = 1e20;    // friction beyond this multiple of the body's momentum counts as none
    double pressure_slack = 1e-10; // distance of the centre of pressure from the patch that is rounding, in diameters
    int sides = 64;                // directions in which a patch of many points is checked
} SETTINGS;

/// Lines 9-11 of Algorithm 1 with the friction scaled: p = T_f p_f + T_n p_n.
Wrench with_normal(const Contact& c, const Friction& p_f, double scale, double compliance) {
    Wrench p = friction_wrench(c.centre, p_f, scale);
    const Twist v2 = c.after(p);                           //  9: v2 = v1 + M^-1 T_f p_f
    const Normal p_n = normal_impulse(c, v2, compliance);  // 10: p_n <- FrictionlessLCP(q, v2)
    p.linear.z += p_n.p_z, p.angular.x += p_n.m_x, p.angular.y += p_n.m_y;  // 11: p = T_n p_n + T_f p_f
    return p;
}

/// The impulse without friction, with as much of the bounce as adds no energy: vertices that bounce unequally can.
Wrench frictionless(Contact& c, double compliance) {
    const StepEnergy energy(c);
    const double e0 = c.restitution.e0;
    const auto bounced = [&](double share) {
        c.restitution.e0 = share * e0;
        return with_normal(c, {}, 0.0, compliance);
    };
    const Wrench p = bounced(1.0);
    const double gain = energy.of_step(p);
    if (e0 == 0.0 || gain <= 0.0) return p;
    const auto gained = [&](double share) { return energy.of_step(bounced(share)); };
    return bounced(largest_share(gained, gained(0.0), gain));
}

/// p with the bounce, then friction, scaled down until the contact presses and adds no energy.
Wrench scaled_down(Contact& c, const Friction& p_f, double compliance) {
    const Wrench p0 = frictionless(c, compliance), f = friction_wrench(c.centre, p_f);
    if (!(p0.linear.z > 0.0)) return p0;
    const StepEnergy energy(c);
    const auto scaled = [&](double share) { return with_normal(c, p_f, share, compliance); };
    // Divided by the share, what friction adds rises with it; so it starts with its value for a share of 0.
    const auto gained = [&](double share) {
        const Wrench p = scaled(share);
        if (!(p.linear.z > 0.0)) return std::numeric_limits<double>::infinity();
        return std::max(energy.of_step(p), energy.of_friction(share * f, p, p0) / share);
    };
    const double at_all = gained(1.0);
    if (at_all <= 0.0) return scaled(1.0);
    const Twist after = c.after(p0);
    const double at_none = std::min(dot(f, after), 0.5 * dot(f, c.velocity + after)) + energy.rounding(f);
    const double share = at_none < 0.0 ? largest_share(gained, at_none, at_all) : 0.0;  // else it pushes at any size
    return share > 0.0 ? scaled(share) : p0;
}

}  // namespace

bool stays_at_rest(const Contact& c, const Law& law) {
    const auto is_zero = [](const Vector& v) { return v.x == 0.0 && v.y == 0.0 && v.z == 0.0; };
    const Twist& v1 = c.velocity;
    if (!is_zero(c.before.linear) || !is_zero(c.before.angular) || c.in_system || !c.is_maximal()) return false;
    if (law.compliance > 0.0 || law.predicts_impulses()) return false;
    if (v1.linear.x != 0.0 || v1.linear.y != 0.0 || !(v1.linear.z < 0.0) || !is_zero(v1.angular)) return false;
    const Normal p = normal_impulse(c, v1);
    const double close = SETTINGS.same_normal * p.p_z, left = v1.linear.z + c.inverse_inertia.linear.z * p.p_z;
    return std::fabs(left) <= SETTINGS.same_normal * -v1.linear.z && std::fabs(p.m_x) <= close * c.diameter &&
           std::fabs(p.m_y) <= close * c.diameter;
}

Mode stop_patch(Contact& c, double compliance) {
    const Wrench p = static_impulse(c);
    const Friction p_f = c.grip == Grip::POINTS ? friction_part(c, p) : c.found;  // a soft patch has torques beside its load
    const Wrench pushed = with_normal(c, p_f, 1.0, compliance);
    const double close = SETTINGS.same_normal * std::fabs(p.linear.z);
    c.friction = p_f;
    if (p.linear.z > 0.0 && std::fabs(pushed.linear.z - p.linear.z) <= close &&
        std::fabs(pushed.angular.x - p.angular.x) <= close * c.diameter &&
        std::fabs(pushed.angular.y - p.angular.y) <= close * c.diameter) {
        c.impulse = p;
        return Mode::STATIC;
    }
    return slide_patch(c, p_f, compliance);
}

Mode slide_patch(Contact& c, const Friction& p_f, double compliance) {
    c.impulse = with_normal(c, p_f, 1.0, compliance);
    const StepEnergy energy(c);
    const Wrench f = friction_wrench(c.centre, p_f);
    const bool opposes_slip = dot(f, c.after(c.impulse)) <= energy.rounding(f);
    const bool bounces_too_much = c.restitution.e0 > 0.0 && energy.of_step(c.impulse) > 0.0;
    if (!(c.impulse.linear.z > 0.0) || !opposes_slip || bounces_too_much) c.impulse = scaled_down(c, p_f, compliance);
    if (c.impulse.linear.z > 0.0) return Mode::DYNAMIC;
    c.impulse = {};
    return Mode::DETACH;
}

Friction within_reason(const Contact& c, const Friction& f) {
    const double speed = sum_of_sizes(c.velocity.linear) + c.diameter * sum_of_sizes(c.velocity.angular);
    const double forces = std::fabs(f.p_x) + std::fabs(f.p_y);
    const double torques = std::fabs(f.m_z) + std::fabs(f.m_x) + std::fabs(f.m_y);
    // Momentum is speed / mobility; both sides are multiplied so that nothing is divided.
    const bool is_excessive = !((c.diameter * forces + torques) * c.inverse_inertia.linear.z <= SETTINGS.max_friction * c.diameter * speed);
    return is_excessive ? Friction{} : f;
}

bool presses_within(const Contact& c, const Wrench& p) {
    const Wrench rest = p - friction_wrench(c.centre, friction_part(c, p));
    const double x = -rest.angular.y / rest.linear.z, y = rest.angular.x / rest.linear.z;
    const auto is_beyond = [&](double a, double b) {  // in the direction (-a, -b), where a x + b y is smallest
        const Vector farthest = c.point(c.lowest(a, b));
        return !(a * (x - farthest.x) + b * (y - farthest.y) >= -SETTINGS.pressure_slack * c.diameter * norm(a, b));
    };
    if (c.count > MANY) {
        for (int k = 0; k < SETTINGS.sides; ++k)
            if (const double angle = 2 * std::numbers::pi * k / SETTINGS.sides; is_beyond(std::cos(angle), std::sin(angle))) return false;
        return true;
    }
    if (is_beyond(1.0, 0.0) || is_beyond(-1.0, 0.0) || is_beyond(0.0, 1.0) || is_beyond(0.0, -1.0)) return false;
    for (int i = 0; i < c.count; ++i)  // the sides of the patch are among the lines through two of its points
        for (int k = 0; k < i; ++k) {
            const Vector side = c.point(i) - c.point(k);
            if (is_beyond(-side.y, side.x) || is_beyond(side.y, -side.x)) return false;
        }
    return true;
}

Wrench friction_wrench(const Vector& centre, const Friction& f, double scale) {
    if (!std::isfinite(f.p_x + f.p_y + f.m_z + f.m_x + f.m_y)) return {};
    const double x = scale * f.p_x, y = scale * f.p_y;
    return {{x, y, 0.0},
            {scale * f.m_x - centre.z * y, scale * f.m_y + centre.z * x, scale * f.m_z + centre.x * y - centre.y * x}};
}

Friction friction_part(const Contact& c, const Wrench& p) {
    const double m_z = p.angular.z - (c.centre.x * p.linear.y - c.centre.y * p.linear.x);
    return tilted(c, {p.linear.x, p.linear.y, m_z});
}

Friction tilted(const Contact& c, Friction f) {
    const Vector& a = c.axis;
    const double flat = a.x * a.x + a.y * a.y;
    if (flat > 0.0) {  // the forces that make the spin act across the line at its ends
        f.m_x -= f.m_z * a.z * a.x / flat;
        f.m_y -= f.m_z * a.z * a.y / flat;
    }
    return f;
}

}  // namespace stiction
