#include "stepping/step.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "contact/labels.hpp"
#include "contact/normal_impulse.hpp"
#include "geometry/patch.hpp"

namespace stiction {

Twist free_twist(const Hull& hull, const Rotation& R, const Setting& setting, const Twist& twist) {
    const double h = setting.timestep;
    Twist v1 = twist;
    if (hull.planar) {
        v1.linear.x += h * setting.gravity.x;
        v1.linear.z += h * setting.gravity.z;
        return v1;
    }
    v1.linear += h * setting.gravity;
    const Vector spin = R.inverse(twist.angular);  // in body axes, where the inertia stays the same
    v1.angular += h * (R * (hull.inverse_inertia * cross(hull.inertia * spin, spin)));
    return v1;
}

Mobility mobility_of(const Hull& hull, const Rotation& R) {
    const double per_mass = 1 / hull.mass;
    if (hull.planar) return {{per_mass, 0.0, per_mass}, {.yy = 1 / hull.inertia.yy}};
    return {{per_mass, per_mass, per_mass}, R.turned(hull.inverse_inertia)};
}

bool begin_body(const Setting& setting, const Hull& hull, ContactMemory& memory, int index, Moving& moving, double touch) {
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
    c.mobility = mobility_of(hull, c.rotation);
    c.impacts = 0;
    c.in_system = false;
    c.reset_response();
    memory.admit();
    return true;
}

Twist depth_correction(const Contact& c, double softness, double timestep) {
    if (c.depth < SETTLED_DEPTH) return {};
    const Normal p = normal_impulse(c, {}, softness, {CORRECTION / timestep, CORRECTION_SPEED});
    return c.mobility * Wrench{{0.0, 0.0, p.p_z}, {p.m_x, p.m_y, 0.0}};
}

void move_body(Moving& moving, const Twist& correction, double h) {
    moving.position += h * correction.linear;
    moving.position += h * moving.twist.linear;
    moving.quaternion.turn(h * moving.twist.angular + h * correction.angular);
}

void Record::write_state(int body, int state, const Moving& m) {
    const std::size_t at = std::size_t(body) * (kept + 1) + state;
    const auto [origin, its_velocity] = Origin(m, com);
    write(origin, position + 3 * at);
    write(m.quaternion, quaternion + 4 * at);
    write(its_velocity, velocity + 3 * at);
    write(m.twist.angular, spin + 3 * at);
}

void Record::write_step(int body, int t, const Happened& happened, const Moving& after) {
    const std::size_t at = std::size_t(body) * kept + t / every;
    double* sum = impulse + 6 * at;
    if (t % every == 0) std::fill(sum, sum + 6, 0.0);
    write(wrench_from(sum) + happened.impulse, sum);
    mode[at] = static_cast<std::int8_t>(happened.mode), kind[at] = static_cast<std::int8_t>(happened.kind);
    if ((t + 1) % every == 0) write_state(body, (t + 1) / every, after);
}

namespace {

/// Whether two poses are the same, bit by bit: zeros of different signs are not.
bool same_pose(const Moving& a, const Moving& b) {
    return std::memcmp(&a.position, &b.position, sizeof a.position) == 0 &&
           std::memcmp(&a.quaternion, &b.quaternion, sizeof a.quaternion) == 0;
}

}  // namespace

void whole_step(const Batch& batch, std::span<Happened> happened) {
    const auto& [law, setting, hull, memory, bodies, first] = batch;
    const int n = static_cast<int>(bodies.size());
    memory.clear();
    for (int i = 0; i < n; ++i)
        if (!happened[i].settled) begin_body(setting, hull, memory, first + i, bodies[i], TOUCH);
    const Contacts contacts = memory.all();
    if (contacts.size() > 0) law.respond(contacts);
    const Contact* next = contacts.begin();
    for (int i = 0; i < n; ++i) {
        if (happened[i].settled) continue;
        Moving& body = bodies[i];
        const Moving before = body;
        Twist correction;
        Happened now;
        bool at_rest = false;
        if (next != contacts.end() && next->index == first + i) {
            const Contact& c = *next++;
            at_rest = c.mode == Mode::STATIC && c.kind == Kind::SURFACE && law.softness == 0.0;
            body.twist = at_rest ? Twist{} : c.after(c.impulse);  // what would be left of one at rest is rounding
            body.impacts += c.is_impact;
            now = {c.impulse, recorded_mode(c, body.twist, law.softness), c.kind};
            correction = depth_correction(c, law.softness, setting.timestep);
        }
        move_body(body, correction, setting.timestep);
        now.unmoved = at_rest && same_pose(before, body);
        now.follow(happened[i], law);
        happened[i] = now;
    }
}

void time_step(const Batch& batch, std::span<Happened> happened) {
    (batch.setting.substeps > 0 ? cut_step : whole_step)(batch, happened);
}

void simulate(const Batch& batch, Record& record, const std::function<void()>& pause) {
    const int n = static_cast<int>(batch.bodies.size()), steps = record.steps();
    std::vector<Happened> happened(n);
    std::vector<int> written(n, 0);  // time steps of each body; of one that has settled, all at once
    for (int i = 0; i < n; ++i) record.write_state(batch.first + i, 0, batch.bodies[i]);
    for (int t = 0; t < steps; ++t) {
        time_step(batch, happened);
        if ((t + 1) % 128 == 0) pause();
        for (int i = 0; i < n; ++i)
            for (const int end = happened[i].settled ? steps : t + 1; written[i] < end; ++written[i])
                record.write_step(batch.first + i, written[i], happened[i], batch.bodies[i]);
    }
}

}  // namespace stiction
