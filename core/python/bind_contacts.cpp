// Bodies and their contacts, for Python: hulls, patches, and what physics settles exactly.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "contact/algorithm1.hpp"
#include "python/arrays.hpp"
#include "python/owned_contacts.hpp"
#include "contact/labels.hpp"
#include "contact/frictionless_lcp.hpp"
#include "geometry/patch.hpp"
#include "contact/static_impulse.hpp"
#include "stepping/step.hpp"

namespace stiction {
namespace {

/// The fields of a Contact that Python sees, as a NumPy dtype.
nb::object contact_dtype() {
    static const Contact c;
    const Description& d = c.description;
    const std::string features = std::to_string(MAX_FEATURES) + "f8";
    return Fields(c)
        .add("index", "i8", c.index).add("rotation", "(3,3)f8", c.rotation).add("height", "f8", c.height)
        .add("velocity", "6f8", c.velocity).add("before", "6f8", c.before).add("inverse_mass", "3f8", c.inverse_inertia)
        .add("kind", "i8", c.kind).add("depth", "f8", c.depth).add("count", "i8", c.count).add("centre", "3f8", c.centre)
        .add("axis", "3f8", c.axis).add("radius", "f8", c.radius).add("diameter", "f8", c.diameter)
        .add("timestep", "f8", c.timestep).add("fall", "f8", c.fall).add("restitution", "3f8", c.restitution)
        .add("mode", "i8", c.mode).add("friction", "5f8", c.friction).add("impulse", "6f8", c.impulse)
        .add("features", features.c_str(), d.features).add("guess", "3f8", d.guess)
        .add("unit_impulse", "f8", d.unit_impulse).add("unit_length", "f8", d.unit_length).add("turn", "4f8", d.turn)
        .dtype();
}

/// All contacts as one structured array, a view. It can only be read: the core relies on what is in it.
nb::object record_of(const OwnedContacts& contacts) {
    static nb::object* dtype = new nb::object(contact_dtype());  // lives as long as the process
    const std::size_t shape[1] = {static_cast<std::size_t>(contacts.size()) * sizeof(Contact)};
    nb::ndarray<nb::numpy, const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(contacts.begin()), 1, shape, nb::cast(contacts.memory));
    nb::object numpy = nb::module_::import_("numpy");
    return nb::cast(bytes).attr("view")(*dtype).attr("view")(numpy.attr("recarray"));
}

/// M^-1 of all contacts, (n, 6, 6).
auto inverse_inertia(const OwnedContacts& contacts) {
    double* out;
    auto result = new_array<double>({std::size_t(contacts.size()), 6, 6}, &out);
    for (const Contact& c : contacts) {
        const Dense6 W(c.inverse_inertia);
        out = std::copy_n(W[0], 36, out);
    }
    return result;
}

auto points_of(const OwnedContacts& contacts, int i) {
    const Contact& c = contacts.at(i);
    return rows_of(c.count, 3, [&](int k) { return c.point(k); });
}

auto vertices_of(const OwnedContacts& contacts, int i) {
    const Contact& c = contacts.at(i);
    return values_of<std::int64_t>(c.count, [&](int k) { return c.vertex(k); });
}

std::vector<Vector> vectors_from(const Input<double, -1, 3>& rows) {
    std::vector<Vector> out;
    for (std::size_t k = 0; k < rows.shape(0); ++k) out.push_back(vector_from(rows.data() + 3 * k));
    return out;
}

/// Line 1 and detection for states at the centre of mass; the bodies that touch.
OwnedContacts touching(std::shared_ptr<Hull> hull, Input<double, -1, 3> position,
                                   Input<double, -1, 4> quaternion, Input<double, -1, 6> twist, double timestep,
                                   Input<double, 3> gravity, double touch) {
    std::vector<BodyState> states = states_from(position, quaternion, twist);
    const int n = static_cast<int>(states.size());
    auto memory = std::make_shared<ContactMemory>(n, static_cast<int>(hull->vertices.size()), hull);
    const StepSettings setting{timestep, vector_from(gravity.data())};
    for (int i = 0; i < n; ++i) start_body(setting, *hull, *memory, i, states[i], touch);
    return OwnedContacts(memory->all());
}

/// v1 of states without a look at the ground, (n, 6).
auto free_twists(const Hull& hull, Input<double, -1, 4> quaternion, Input<double, -1, 6> twist, double timestep,
                 Input<double, 3> gravity) {
    check_rows(twist.shape(0), quaternion);
    const StepSettings setting{timestep, vector_from(gravity.data())};
    return rows_of(twist.shape(0), 6, [&](int i) {
        return free_twist(hull, quaternion_from(quaternion.data() + 4 * i).matrix(), setting, twist_from(twist.data() + 6 * i));
    });
}

/// Impulse and mode of each contact, from the twists after the step (n, 6): p = M (v' - v1).
nb::tuple observe(const OwnedContacts& contacts, Input<double, -1, 6> after) {
    check_rows(contacts.size(), after);
    const auto now = [&](int i) { return twist_from(after.data() + 6 * i); };
    const auto impulse = [&](int i) {
        const Contact& c = contacts[i];
        const Twist change = now(i) - c.velocity;
        return Wrench{c.hull->mass * change.linear, c.rotation.turned(c.hull->inertia) * change.angular};
    };
    return nb::make_tuple(rows_of(contacts.size(), 6, impulse), values_of<std::int8_t>(contacts.size(), [&](int i) {
                              return observed_mode(contacts[i], now(i), impulse(i));
                          }));
}

/// States of body frames as those of centres of mass, which lie at `com` in the frames: position, quaternion, twist.
nb::tuple to_centre_of_mass(Input<double, 3> com, Input<double, -1, 3> position, Input<double, -1, 4> quaternion,
                            Input<double, -1, 3> velocity, Input<double, -1, 3> spin) {
    const std::size_t n = position.shape(0);
    check_rows(n, quaternion, velocity, spin);
    std::vector<BodyState> states(n);
    for (std::size_t i = 0; i < n; ++i) {
        BodyState& state = states[i];
        state.quaternion = quaternion_from(quaternion.data() + 4 * i);
        const Vector arm = state.quaternion.matrix() * vector_from(com.data()), w = vector_from(spin.data() + 3 * i);
        state.position = vector_from(position.data() + 3 * i) + arm;
        state.twist = {vector_from(velocity.data() + 3 * i) + cross(w, arm), w};
    }
    return as_tuple(states);
}

/// The inverse: positions, velocities and spins of the body frames.
nb::tuple to_body_frame(Input<double, 3> com, Input<double, -1, 3> position, Input<double, -1, 4> quaternion,
                        Input<double, -1, 6> twist) {
    const std::vector<BodyState> states = states_from(position, quaternion, twist);
    double *x, *v, *w;
    auto positions = new_array<double>({states.size(), 3}, &x);
    auto velocities = new_array<double>({states.size(), 3}, &v);
    auto spins = new_array<double>({states.size(), 3}, &w);
    for (std::size_t i = 0; i < states.size(); ++i) {
        const Origin origin(states[i], vector_from(com.data()));
        write(origin.position, x + 3 * i);
        write(origin.velocity, v + 3 * i);
        write(states[i].twist.angular, w + 3 * i);
    }
    return nb::make_tuple(positions, velocities, spins);
}

/// Height of the lowest point of each body above the ground [m]; positions are those of the centres of mass.
auto lowest_heights(const Hull& hull, Input<double, -1, 3> position, Input<double, -1, 4> quaternion) {
    check_rows(position.shape(0), quaternion);
    return values_of<double>(position.shape(0), [&](int i) {
        const Vector up = quaternion_from(quaternion.data() + 4 * i).matrix().z;
        const Vector& lowest = hull.vertices[hull.extreme_vertex({-up.x, -up.y, -up.z})];
        return position.data()[3 * i + 2] + dot(up, lowest) - hull.rounding;
    });
}

/// Write the modes (n,) that a law in Python has found.
void set_mode(const OwnedContacts& contacts, Input<std::int64_t, -1> mode) {
    check_rows(contacts.size(), mode);
    for (std::size_t i = 0; i < mode.shape(0); ++i)
        if (mode.data()[i] < 0 || mode.data()[i] > 3) throw nb::value_error("A mode is a value of Mode.");
    for (int i = 0; i < contacts.size(); ++i) contacts[i].mode = static_cast<Mode>(mode.data()[i]);
}

/// The same friction with no greater torques (m_x, m_y) than vertices at unequal depths can give it: a law in Python
/// may not tip a body by them.
Friction with_possible_tilt(const Contact& c, Friction f) {
    double spread = 0.0;
    for (int k = 0; k < c.count; ++k) spread = std::max(spread, std::fabs(c.point(k).z - c.centre.z));
    const double arm = std::max(c.radius, 1e-3 * c.diameter);
    const double most = 2 * spread * (std::fabs(f.p_x) + std::fabs(f.p_y) + std::fabs(f.m_z) / arm);
    const auto limited = [&](double m) { return std::fabs(m) > most ? std::copysign(most, m) : m; };
    return {f.p_x, f.p_y, f.m_z, limited(f.m_x), limited(f.m_y)};
}

/// Write the friction (k, 5) of the contacts with these numbers (k,).
void set_friction(const OwnedContacts& contacts, Input<std::int64_t, -1> numbers, Input<double, -1, 5> friction) {
    check_rows(numbers.shape(0), friction);
    for (std::size_t k = 0; k < numbers.shape(0); ++k) {
        const int i = static_cast<int>(numbers.data()[k]);
        const double* f = friction.data() + 5 * k;
        contacts[i].friction = with_possible_tilt(contacts.at(i), {f[0], f[1], f[2], f[3], f[4]});
    }
}

/// Write a twist or a wrench of each contact, (n, 6).
template <auto Field> void set_six(const OwnedContacts& contacts, Input<double, -1, 6> rows) {
    check_rows(contacts.size(), rows);
    for (int i = 0; i < contacts.size(); ++i) {
        const double* six = rows.data() + 6 * i;
        contacts[i].*Field = {vector_from(six), vector_from(six + 3)};
    }
}

}  // namespace

void bind_contacts(nb::module_& m) {
    nb::class_<Hull>(m, "Hull", "The convex hull of a body, prepared for contact queries.")
        .def("__init__",
             [](Hull* self, Input<double, -1, 3> vertices, const std::vector<std::vector<int>>& faces, double mass,
                Input<double, 3, 3> inertia, bool planar, double rounding) {
                 if (vertices.shape(0) < 3 || faces.empty()) throw nb::value_error("A hull needs vertices and faces.");
                 for (const auto& face : faces) {
                     if (face.size() < 3) throw nb::value_error("A face needs three vertices.");
                     for (int v : face)
                         if (v < 0 || v >= static_cast<int>(vertices.shape(0)))
                             throw nb::value_error("A face names a vertex that is not there.");
                 }
                 new (self) Hull(vectors_from(vertices), faces, mass, tensor_from(inertia.data()), planar, rounding);
             })
        .def_ro("diameter", &Hull::diameter, "Greatest extent [m].");

    nb::class_<ContactMemory>(m, "ContactMemory", "Memory of contacts.");
    nb::class_<OwnedContacts>(m, "Contacts", "Contacts of some bodies in one step, the batch that laws evaluate.")
        .def("__len__", [](const OwnedContacts& all) { return all.size(); })
        .def_prop_ro("record", &record_of, "One row a contact, a view that can only be read: what laws look at.")
        .def_prop_ro("inverse_inertia", &inverse_inertia, nb::rv_policy::automatic, "M^-1 of each contact, (n, 6, 6).")
        .def("points", &points_of, "Contact points (k, 3) of contact i, relative to the centre of mass [m].")
        .def("vertices", &vertices_of, "Numbers (k,) of the touching vertices of contact i.")
        .def("normal_impulse",
             [](const OwnedContacts& all, int i, Input<double, 6> twist, double compliance, double rate, double cap) {
                 const Normal n = normal_impulse(all.at(i), twist_from(twist.data()), compliance, {rate, cap});
                 return nb::make_tuple(n.p_z, n.m_x, n.m_y);
             },
             "i"_a, "twist"_a, "softness"_a = 0.0, "rate"_a = 0.0, "cap"_a = 0.0,
             "The frictionless normal impulse (p_z, m_x, m_y) of contact i for a twist before it.")
        .def("static_impulse",
             [](const OwnedContacts& all, int i) { return array_of(static_impulse(all.at(i))); },
             "The impulse (6,) that stops the patch of contact i.")
        .def("set_mode", &set_mode, "Write the mode of each contact, (n,).")
        .def("set_friction", &set_friction, "Write the friction (k, 5) of the contacts with these numbers (k,).")
        .def("set_impulse", &set_six<&Contact::impulse>, "Write the impulse of each contact, (n, 6).")
        .def("set_velocity",
             [](const OwnedContacts& all, Input<double, -1, 6> rows) {
                 for (Contact& c : all) c.before = c.before - c.velocity;  // forces change the velocity as they did
                 set_six<&Contact::velocity>(all, rows);
                 for (Contact& c : all) c.before = c.before + c.velocity;
             },
             "Ask about other twists v1 of the same contacts, (n, 6).")
        .def("tilt",
             [](const OwnedContacts& all) {
                 for (Contact& c : all)
                     if (c.mode == Mode::DYNAMIC) c.friction = tilted(c, c.friction);
             },
             "Add the torques that the spin of each dynamic contact's friction has where its ends lie at unequal depths.")
        .def("observe", &observe, "Impulses (n, 6) and modes (n,) of contacts, from the twists after the step (n, 6).");

    m.def("touching", &touching, "hull"_a, "position"_a, "quaternion"_a, "twist"_a, "timestep"_a, "gravity"_a,
          "touch"_a = TOUCH,
          "The contacts of bodies at the start of a step, with v1; states are at the centre of mass.");
    m.def("to_centre_of_mass", &to_centre_of_mass,
          "States of body frames as those of their centres of mass: position, quaternion, twist.");
    m.def("to_body_frame", &to_body_frame, "States of centres of mass as those of body frames: position, velocity, spin.");
    m.def("lowest_heights", &lowest_heights, "Height of the lowest point of each body [m], (n,).");
    m.def("free_twists", &free_twists, "v1 (n, 6) of bodies, wherever the ground is.");
    m.attr("TOUCH") = TOUCH;
    m.attr("DETACH_IMPULSE") = DETACH_IMPULSE;
}

}  // namespace stiction
