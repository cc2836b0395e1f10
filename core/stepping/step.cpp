#include "stepping/step.hpp"

#include <cstring>

#include "contact/algorithm1.hpp"
#include "contact/labels.hpp"
#include "contact/frictionless_lcp.hpp"
#include "geometry/patch.hpp"

namespace stiction {

Twist free_twist(const Hull& hull, const Rotation& R, const StepSettings& setting, const Twist& twist) {
    const double h = setting.timestep;
    Twist v1 = twist;
    if (hull.planar) {
        v1.linear.x += h * setting.gravity.x;
        v1.linear.z += h * setting.gravity.z;
        return v1;
    }
    v1.linear += h * setting.gravity;
    const Vector spin = R.inverse(twist.angular);  // in body axes, where the inertia stays the same
    const Vector torque = cross(hull.inertia * spin, spin), acceleration = hull.inverse_inertia * torque;
    v1.angular += h * (R * acceleration);
    // The torque only turns the spin, but an explicit step adds |h acceleration|^2 / 2 to its energy. The weight's step takes
    // m |h g|^2 / 2: what is more than that, as where a body spins too fast for its steps, is taken back.
    const double excess = 0.5 * h * h * (dot(acceleration, torque) - hull.mass * dot(setting.gravity, setting.gravity));
    if (setting.limits_spin && excess > 0.0) {
        const Vector turned = R.inverse(v1.angular);
        const double energy = 0.5 * dot(turned, hull.inertia * turned);
        v1.angular = std::sqrt(std::max(0.0, 1.0 - excess / energy)) * v1.angular;
    }
    return v1;
}

InverseInertia inverse_inertia_of(const Hull& hull, const Rotation& R) {
    const double per_mass = 1 / hull.mass;
    if (hull.planar) return {{per_mass, 0.0, per_mass}, {.yy = 1 / hull.inertia.yy}};
    return {{per_mass, per_mass, per_mass}, R.turned(hull.inverse_inertia)};
}

bool start_body(const StepSettings& setting, const Hull& hull, ContactMemory& memory, int index, BodyState& moving, double touch) {
    Contact& c = memory.next();
    c.height = moving.position.z;
    c.rotation = moving.quaternion.matrix();
    c.before = moving.twist;
    moving.twist = free_twist(hull, c.rotation, setting, moving.twist);
    if (!append_contact(memory, hull, index, touch)) return false;
    c.velocity = moving.twist;
    c.timestep = setting.timestep;
    c.fall = std::max(0.0, -setting.timestep * setting.gravity.z);
    c.impacts = moving.impacts;
    return true;
}

bool append_contact(ContactMemory& memory, const Hull& hull, int index, double touch) {
    Contact& c = memory.next();
    c.hull = &hull;
    c.touch = touch;
    c.diameter = hull.diameter;
    if (!detect(c, memory.next_touching())) return false;
    c.index = index;
    c.inverse_inertia = inverse_inertia_of(hull, c.rotation);
    c.impacts = 0;
    c.in_system = false;
    c.reset_response();
    memory.append();
    return true;
}

Twist penetration_recovery(const Contact& c, double compliance, Targets targets) {
    if (c.depth < NEGLIGIBLE_DEPTH) return {};
    const Normal p = normal_impulse(c, {}, compliance, targets);
    return c.inverse_inertia * Wrench{{0.0, 0.0, p.p_z}, {p.m_x, p.m_y, 0.0}};
}

void move_body(BodyState& moving, const Twist& correction, double h) {
    moving.position += h * correction.linear;
    moving.position += h * moving.twist.linear;
    moving.quaternion.turn(h * moving.twist.angular + h * correction.angular);
}

void Record::write_state(int body, int state, const BodyState& m) {
    const std::size_t at = std::size_t(body) * (kept + 1) + state;
    const auto [origin, its_velocity] = Origin(m, com);
    write(origin, position + 3 * at);
    write(m.quaternion, quaternion + 4 * at);
    write(its_velocity, velocity + 3 * at);
    write(m.twist.angular, spin + 3 * at);
}

void Record::write_step(int body, int t, const StepOutcome& outcome, const BodyState& after) {
    const std::size_t at = std::size_t(body) * kept + t / every;
    double* sum = impulse + 6 * at;
    if (t % every == 0) std::fill(sum, sum + 6, 0.0);
    write(wrench_from(sum) + outcome.impulse, sum);
    mode[at] = static_cast<std::int8_t>(outcome.mode), kind[at] = static_cast<std::int8_t>(outcome.kind);
    if ((t + 1) % every == 0) write_state(body, (t + 1) / every, after);
}

namespace {

/// Whether two poses are the same, bit by bit: zeros of different signs are not.
bool same_pose(const BodyState& a, const BodyState& b) {
    return std::memcmp(&a.position, &b.position, sizeof a.position) == 0 &&
           std::memcmp(&a.quaternion, &b.quaternion, sizeof a.quaternion) == 0;
}

/// The end of a time step for a body whose v1, and impulse if it touches, is known.
StepOutcome finish_step(const Batch& batch, BodyState& body, const Contact* contact) {
    const BodyState before = body;
    const double h = batch.setting.timestep, compliance = batch.law.compliance;
    Twist correction;
    StepOutcome now;
    bool at_rest = false;
    if (contact != nullptr) {
        const Contact& c = *contact;
        at_rest = c.mode == Mode::STATIC && c.is_maximal() && compliance == 0.0;
        body.twist = at_rest ? Twist{} : c.after(c.impulse);  // what would be left of one at rest is rounding
        body.impacts += c.is_impact;
        now = {c.impulse, recorded_mode(c, body.twist, compliance), c.kind};
        correction = penetration_recovery(c, compliance, {RECOVERY_SHARE / h, MAX_RECOVERY_SPEED});
    }
    move_body(body, correction, h);
    now.unmoved = at_rest && same_pose(before, body);
    return now;
}

}  // namespace

void whole_step(const Batch& batch, std::span<StepOutcome> outcome) {
    const auto& [law, setting, hull, memory, bodies, first] = batch;
    const int n = static_cast<int>(bodies.size());
    const auto finish = [&](int i, const Contact* contact) {
        StepOutcome now = finish_step(batch, bodies[i], contact);
        now.follow(outcome[i], law);
        outcome[i] = now;
    };
    memory.clear();
    for (int i = 0; i < n; ++i) {
        if (outcome[i].settled) continue;
        outcome[i].is_taken = false;
        if (!start_body(setting, hull, memory, first + i, bodies[i], TOUCH)) continue;
        if (!stays_at_rest(memory.last(), law)) continue;
        Contact& c = memory.drop();  // mechanics decides: the law is not asked
        c.mode = stop_patch(c, law.compliance);
        finish(i, &c);
        outcome[i].is_taken = true;
    }
    const Contacts contacts = memory.all();
    if (contacts.size() > 0) law.respond(contacts);
    const Contact* next = contacts.begin();
    for (int i = 0; i < n; ++i) {
        if (outcome[i].settled || outcome[i].is_taken) continue;
        const bool touches = next != contacts.end() && next->index == first + i;
        finish(i, touches ? next++ : nullptr);
    }
}

void time_step(const Batch& batch, std::span<StepOutcome> outcome) {
    (batch.setting.substeps > 0 ? cut_step : whole_step)(batch, outcome);
}

void simulate(const Batch& batch, Record& record, const std::function<void()>& pause) {
    const int n = static_cast<int>(batch.bodies.size()), steps = record.steps();
    std::vector<StepOutcome> outcome(n);
    std::vector<int> written(n, 0);  // time steps of each body; of one that has settled, all at once
    for (int i = 0; i < n; ++i) record.write_state(batch.first + i, 0, batch.bodies[i]);
    for (int t = 0; t < steps; ++t) {
        time_step(batch, outcome);
        if ((t + 1) % 128 == 0) pause();
        for (int i = 0; i < n; ++i)
            for (const int end = outcome[i].settled ? steps : t + 1; written[i] < end; ++written[i])
                record.write_step(batch.first + i, written[i], outcome[i], batch.bodies[i]);
    }
}

}  // namespace stiction
