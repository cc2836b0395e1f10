// The links of a multibody system and Algorithm 2, for Python.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "python/owned_contacts.hpp"

namespace stiction {
namespace {

auto touch(PythonLinks& links, Input<double, -1, 3> position, Input<double, -1, 3, 3> rotation,
           std::optional<Input<double, -1, 6>> before) {
    const std::size_t n = std::size_t(links.size());
    if (position.shape(0) != n || rotation.shape(0) != n || (before && before->shape(0) != n))
        throw nb::value_error("position, rotation and before must have a row for each link.");
    links.touch([&](int i) { return vector_from(position.data() + 3 * i); },
                [&](int i) { return rotation_from(rotation.data() + 9 * i); });
    for (Contact& c : links.contacts())
        if (before) c.before = twist_from(before->data() + 6 * c.index);
    return touching_links(links);
}

/// (impulse (n, 6), mode (n,), outside (n,), evaluations, solved)
nb::tuple as_tuple(const Solution& s) {
    const std::size_t n = s.mode.size();
    return nb::make_tuple(copy_of(s.impulse, {n, 6}), values_of<std::int64_t>(n, [&](int i) { return s.mode[i]; }),
                          values_of<bool>(n, [&](int i) { return s.outside[i]; }), s.evaluations, s.solved);
}

/// Take the solution of another solver, at which H was evaluated last.
void accept(PythonLinks& links, Input<double, -1> p, int evaluations, bool solved) {
    links.check_started();
    Solution& s = links.algorithm2().solution();
    if (p.shape(0) != s.impulse.size()) throw nb::value_error("Six numbers for each touching link are needed.");
    std::copy_n(p.data(), p.shape(0), s.impulse.begin());
    s.evaluations = evaluations, s.solved = solved;
    const Contacts contacts = links.contacts();
    for (int i = 0; i < contacts.size(); ++i) s.mode[i] = contacts[i].mode;
    links.algorithm2().note_outcome();
}

}  // namespace

void bind_links(nb::module_& m) {
    nb::class_<PythonLinks>(m, "Links", "Links of a multibody system that have a law, and Algorithm 2 for them.")
        .def("__init__",
             [](PythonLinks* self, const std::vector<std::shared_ptr<Law>>& laws,
                const std::vector<std::shared_ptr<Hull>>& hulls, double timestep) {
                 if (laws.size() != hulls.size() || laws.empty())
                     throw nb::value_error("A law and a hull are needed for each link.");
                 const auto is_none = [](const auto& part) { return part == nullptr; };
                 if (std::any_of(laws.begin(), laws.end(), is_none) || std::any_of(hulls.begin(), hulls.end(), is_none))
                     throw nb::value_error("A link needs a law and a hull, got None.");
                 new (self) PythonLinks(laws, hulls, timestep);
             },
             "laws"_a, "hulls"_a, "timestep"_a = 0.002)
        .def("__len__", [](const PythonLinks& links) { return links.size(); })
        .def("touch", &touch, "position"_a, "rotation"_a, "before"_a = nb::none(),
             "Numbers of the links that touch the ground, in the order in which `solve` wants them.")
        .def_prop_ro("contacts", [](const PythonLinks& links) { return OwnedContacts(links.contacts()); },
                     "Contacts of the last `touch`; the index of each is its link's number.")
        .def("solve",
             [](PythonLinks& links, const Input<double, -1>& V_free, const Input<double, -1, -1>& L, double tolerance) {
                 links.take_system(V_free, L);
                 return as_tuple(links.solve(links.V_free.data(), links.L, tolerance));
             },
             "V_free"_a, "L"_a, "tolerance"_a,
             "Algorithm 2: (impulse (n, 6), mode (n,), outside (n,), evaluations, solved).")
        .def("begin",
             [](PythonLinks& links, const Input<double, -1>& V_free, const Input<double, -1, -1>& L) -> nb::object {
                 links.take_system(V_free, L);
                 Algorithm2& algorithm = links.algorithm2();
                 if (!links.start(links.V_free.data(), links.L)) return nb::none();
                 algorithm.stop_pressed();
                 return nb::cast(copy_of(algorithm.solution().impulse));
             },
             "V_free"_a, "L"_a,
             "For another solver: impulses (6 n,) as if all that is pressed were to stick; None if nothing is.")
        .def("ask",
             [](PythonLinks& links, const Input<double, -1>& p) {
                 links.check_started();
                 if (p.shape(0) != links.V_free.size())
                     throw nb::value_error("Six numbers for each touching link are needed.");
                 links.algorithm2().handle(p.data());
                 std::vector<double> impulses(p.shape(0));
                 for (int i = 0; i < links.contacts().size(); ++i) write(links.contacts()[i].impulse, &impulses[6 * i]);
                 return copy_of(impulses);
             },
             "p"_a, "H(V1) for impulses p (6 n,), V1 = V_free + (L - M_b^-1) p: Algorithm 1 for each link.")
        .def("accept", &accept, "p"_a, "evaluations"_a, "solved"_a,
             "Take the impulses p (6 n,) of another solver, at which H was evaluated last, as the solution.")
        .def_prop_ro("solution", [](PythonLinks& links) { return as_tuple(links.algorithm2().solution()); },
                     "What `solve` gave last.");
}

}  // namespace stiction
