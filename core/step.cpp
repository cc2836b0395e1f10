#include "step.hpp"

#include <algorithm>
#include <vector>

#include "labels.hpp"
#include "normal_impulse.hpp"
#include "patch.hpp"

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
    c.restitution = {};
    c.outside = false;
    c.impacts = 0, c.is_impact = false;
    c.mode = Mode::NONE;
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
    write(m.position, position + 3 * at);
    write(m.quaternion, quaternion + 4 * at);
    write(m.twist, twist + 6 * at);
}

void Record::write_contact(int body, int t, const Happened& happened) {
    const std::size_t at = std::size_t(body) * kept + t / every;
    double* sum = impulse + 6 * at;
    if (t % every == 0) std::fill(sum, sum + 6, 0.0);
    write(wrench_from(sum) + happened.impulse, sum);
    mode[at] = static_cast<std::int8_t>(happened.mode), kind[at] = static_cast<std::int8_t>(happened.kind);
}

void whole_step(const Batch& batch, std::span<Happened> happened) {
    const auto& [law, setting, hull, memory, bodies, first] = batch;
    const int n = static_cast<int>(bodies.size());
    memory.clear();
    for (int i = 0; i < n; ++i) begin_body(setting, hull, memory, first + i, bodies[i], TOUCH);
    const Contacts contacts = memory.all();
    if (contacts.size() > 0) law.respond(contacts);
    const Contact* next = contacts.begin();
    for (int i = 0; i < n; ++i) {
        Moving& body = bodies[i];
        Twist correction;
        happened[i] = {};
        if (next != contacts.end() && next->index == first + i) {
            const Contact& c = *next++;
            const bool at_rest = c.mode == Mode::STATIC && c.kind == Kind::SURFACE && law.softness == 0.0;
            body.twist = at_rest ? Twist{} : c.after(c.impulse);  // what would be left of one at rest is rounding
            body.impacts += c.is_impact;
            happened[i] = {c.impulse, recorded_mode(c, body.twist, law.softness), c.kind};
            correction = depth_correction(c, law.softness, setting.timestep);
        }
        move_body(body, correction, setting.timestep);
    }
}

void simulate(const Batch& batch, Record& record, const std::function<void()>& pause) {
    const int n = static_cast<int>(batch.bodies.size()), steps = record.kept * record.every;
    std::vector<Happened> happened(n);
    for (int i = 0; i < n; ++i) record.write_state(batch.first + i, 0, batch.bodies[i]);
    for (int t = 0; t < steps; ++t) {
        (batch.setting.substeps > 0 ? cut_step : whole_step)(batch, happened);
        const bool keep = (t + 1) % record.every == 0;
        if ((t + 1) % 128 == 0) pause();
        for (int i = 0; i < n; ++i) {
            record.write_contact(batch.first + i, t, happened[i]);
            if (keep) record.write_state(batch.first + i, (t + 1) / record.every, batch.bodies[i]);
        }
    }
}

}  // namespace stiction
