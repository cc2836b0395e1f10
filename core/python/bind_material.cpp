// Materials, for Python.
#include <nanobind/stl/vector.h>

#include "python/arrays.hpp"
#include "laws/material.hpp"
#include "friction/points.hpp"
#include "contact/normal_impulse.hpp"
#include "python/owned_contacts.hpp"

namespace stiction {
namespace {

Spline spline(double begin, double step, const std::vector<double>& coefficients, double low, double high) {
    if (coefficients.empty()) return {};
    if (coefficients.size() < 4 || !(step > 0.0)) throw nb::value_error("A spline needs at least four coefficients.");
    const double end = begin + step * static_cast<double>(coefficients.size() - 3);
    if (!(begin <= low && low <= high && high <= end * (1 + 1e-12) + 1e-9))
        throw nb::value_error("The range of a spline must be within its knots.");
    return {begin, step, coefficients, low, high};
}

}  // namespace

void bind_material(nb::module_& m) {
    m.attr("MOST_VISCOUS") = FrictionMap::MOST_VISCOUS;
    m.attr("RESTITUTION_SPEED") = RESTITUTION_SPEED;
    m.def("material_points",
          [](int vertices) { return vertices <= MAX_MATERIAL_POINTS ? std::max(vertices, 1) : EXTREMES; }, nb::arg("vertices"),
          "Number of points at which a material is solved on a patch with this number of vertices.");
    nb::class_<Spline>(m, "Spline", "A cubic B-spline over equidistant knots, held outside of what was seen.")
        .def("__init__",
             [](Spline* self, double begin, double step, const std::vector<double>& coefficients, double low, double high) {
                 new (self) Spline(spline(begin, step, coefficients, low, high));
             },
             nb::arg("begin"), nb::arg("step"), nb::arg("coefficients"), nb::arg("low"), nb::arg("high"))
        .def("__call__",
             [](const Spline& self, Input<double, -1> x) {
                 return values_of<double>(x.shape(0), [&](int i) { return self(x.data()[i]).value; });
             },
             "Values (n,) at x (n,).");

    nb::class_<FrictionMap>(m, "FrictionMap", "Friction at one point by direction, speed and load.")
        .def("__init__",
             [](FrictionMap* self, double scale, double stretch_x, double stretch_y, std::vector<double> cosines,
                std::vector<double> sines, const Spline& speed, const Spline& load, double viscosity, bool round,
                bool frictionless_limit) {
                 if (cosines.size() != sines.size()) throw nb::value_error("As many sines as cosines are needed.");
                 new (self) FrictionMap{};
                 self->scale = scale, self->stretch_x = stretch_x, self->stretch_y = stretch_y;
                 self->cosines = std::move(cosines), self->sines = std::move(sines);
                 self->speed = speed, self->load = load, self->viscosity = viscosity;
                 self->cone = round ? Cone::ROUND : Cone::BOX;
                 self->frictionless_limit = frictionless_limit;
             },
             nb::kw_only(), nb::arg("scale"), nb::arg("stretch_x"), nb::arg("stretch_y"), nb::arg("cosines"),
             nb::arg("sines"), nb::arg("speed"), nb::arg("load"), nb::arg("viscosity"), nb::arg("round"),
             nb::arg("frictionless_limit"))
        .def("__call__",
             [](const FrictionMap& self, Input<double, -1> direction, Input<double, -1> speed, Input<double, -1> load) {
                 const std::size_t n = direction.shape(0);
                 if (speed.shape(0) != n || load.shape(0) != n) throw nb::value_error("As many of each are needed.");
                 return values_of<double>(n, [&](int i) {
                     const double angle = direction.data()[i], pressing = load.data()[i];
                     SlidingPoint point = self.at(speed.data()[i], pressing, 1.0);  // in steps of 1 s, impulses are forces
                     return self.limit(point, pressing, std::cos(angle), std::sin(angle), 1.0).size / pressing;
                 });
             },
             nb::arg("direction"), nb::arg("speed"), nb::arg("load"),
             "Coefficients (n,) for directions of slip [rad], speeds [m/s] and loads [N], each (n,).");

    nb::class_<MaterialLaw, Law>(m, "MaterialLaw", "Friction at the points of a patch, by a friction map.")
        .def("__init__",
             [](MaterialLaw* self, const FrictionMap& map, double e0, double fall, double threshold, bool body_axes,
                double compliance, double mu_x, double mu_y, bool reference) {
                 new (self) MaterialLaw(map, {e0, fall, threshold},
                                        {body_axes, compliance, {mu_x, mu_y, map.cone == Cone::ROUND}, reference});
             },
             nb::kw_only(), nb::arg("map"), nb::arg("e0"), nb::arg("fall"), nb::arg("threshold"), nb::arg("body_axes"),
             nb::arg("softness"), nb::arg("mu_x"), nb::arg("mu_y"), nb::arg("reference") = false)
        .def("impulses",
             [](MaterialLaw& law, const OwnedContacts& contacts, int i) {
                 contacts.at(i);  // raises where there is none
                 PatchImpulses impulses = law.solve(contacts[i], contacts.workspace().friction);
                 const auto points = impulses.all();
                 return nb::make_tuple(rows_of(points.size(), 3, [&](int k) { return points[k].place; }),
                                       rows_of(points.size(), 3, [&](int k) { return points[k].impulse; }));
             },
             nb::arg("contacts"), nb::arg("i"),
             "Points (m, 3) of contact i relative to the centre of mass [m], and their impulses (m, 3) [N s]; none where "
             "nothing approaches.")
        .def_prop_ro("unsolved", &MaterialLaw::unsolved, "Contacts so far for which no solution was found.");
}

}  // namespace stiction
