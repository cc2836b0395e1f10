// Materials and the impact law, for Python.
#include <nanobind/stl/vector.h>

#include "python/arrays.hpp"
#include "laws/impact.hpp"
#include "laws/material.hpp"
#include "friction/points.hpp"
#include "contact/frictionless_lcp.hpp"
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

constexpr int MAX_PARTS = 1000;

void make_impact_law(ImpactLaw* self, double restitution, double restitution_fall, double restitution_threshold,
                     double restitution_lever,
                     double friction, double friction_loaded, double friction_load, double friction_rise, double spin,
                     double lag, int memory, double drag, Input<double, -1, -1> each,
                     const FrictionMap& friction_factor, const Spline& restitution_factor) {
    if (each.shape(0) < 1 || each.shape(1) < 2) throw nb::value_error("each must have a row of two numbers or more.");
    if (memory < 1 || memory > MAX_PARTS) throw nb::value_error("An impact comes in 1 to 1000 parts.");
    if (!(drag >= 0.0)) throw nb::value_error("drag must not be negative.");
    const ImpactMaterial material{.restitution = {restitution, restitution_fall, restitution_threshold},
                                  .restitution_lever = restitution_lever,
                                  .friction = friction,
                                  .friction_loaded = friction_loaded,
                                  .friction_load = friction_load,
                                  .friction_rise = friction_rise,
                                  .spin = spin,
                                  .lag = lag,
                                  .parts = memory};
    new (self) ImpactLaw(material, BodyFactors(numbers_of(each), static_cast<int>(each.shape(1))),
                         Residual{friction_factor, restitution_factor});
    self->drag = drag;
}

}  // namespace

void bind_material(nb::module_& m) {
    m.attr("MOST_VISCOUS") = FrictionMap::MOST_VISCOUS;
    m.attr("RESTITUTION_SPEED") = RESTITUTION_SPEED;
    m.def("material_points",
          [](int vertices) { return vertices <= MAX_MATERIAL_POINTS ? std::max(vertices, 1) : EXTREMES; }, "vertices"_a,
          "Number of points at which a material is solved on a patch with this number of vertices.");
    nb::class_<Spline>(m, "Spline", "A cubic B-spline over equidistant knots, held outside of what was seen.")
        .def("__init__",
             [](Spline* self, double begin, double step, const std::vector<double>& coefficients, double low, double high) {
                 new (self) Spline(spline(begin, step, coefficients, low, high));
             },
             "begin"_a, "step"_a, "coefficients"_a, "low"_a, "high"_a)
        .def("__call__",
             [](const Spline& self, Input<double, -1> x) {
                 return values_of<double>(x.shape(0), [&](int i) { return self(x.data()[i]).value; });
             },
             "Values (n,) at x (n,).");

    nb::class_<FrictionMap>(m, "FrictionMap", "Friction at one point by direction, speed and load.")
        .def("__init__",
             [](FrictionMap* self, double scale, double stretch_x, double stretch_y, std::vector<double> cosines,
                std::vector<double> sines, const Spline& speed, const Spline& load, double viscosity, bool round,
                bool frictionless_limit, double torsion, double rolling, std::vector<double> texture) {
                 const std::size_t n = texture.size();
                 if (n != 0 && n != 3 && n != 8 && n != 15 && n != 24)
                     throw nb::value_error("A texture has 3, 8, 15 or 24 coefficients.");
                 if (cosines.size() != sines.size()) throw nb::value_error("As many sines as cosines are needed.");
                 new (self) FrictionMap{scale, stretch_x, stretch_y, std::move(cosines), std::move(sines), speed, load,
                                        viscosity, round ? Cone::ROUND : Cone::BOX, frictionless_limit, torsion, rolling,
                                        std::move(texture)};
             },
             nb::kw_only(), "scale"_a, "stretch_x"_a, "stretch_y"_a, "cosines"_a, "sines"_a, "speed"_a, "load"_a, "viscosity"_a,
             "round"_a, "frictionless_limit"_a, "torsion"_a = 0.0, "rolling"_a = 0.0, "texture"_a = std::vector<double>{})
        .def("__call__",
             [](const FrictionMap& self, Input<double, -1> direction, Input<double, -1> speed, Input<double, -1> load) {
                 const std::size_t n = direction.shape(0);
                 if (speed.shape(0) != n || load.shape(0) != n) throw nb::value_error("As many of each are needed.");
                 const TextureSeries texture = self.texture_at({1.0, 0.0, 0.0}, {0.0, 1.0, 0.0});
                 return values_of<double>(n, [&](int i) {
                     const double angle = direction.data()[i], pressing = load.data()[i];
                     SlidingPoint point = self.at(speed.data()[i], pressing, 1.0);  // in steps of 1 s, impulses are forces
                     if (!self.texture.empty()) point.texture = &texture;
                     return self.limit(point, pressing, std::cos(angle), std::sin(angle), 1.0).size / pressing;
                 });
             },
             "direction"_a, "speed"_a, "load"_a,
             "Coefficients (n,) for directions of slip [rad], speeds [m/s] and loads [N], each (n,).");

    nb::class_<MaterialLaw, Law>(m, "MaterialLaw", "Friction at the points of a patch, by a friction map.")
        .def("__init__",
             [](MaterialLaw* self, const FrictionMap& map, double e0, double fall, double threshold, bool body_axes,
                double compliance, double mu_x, double mu_y, bool reference) {
                 new (self) MaterialLaw(map, {e0, fall, threshold},
                                        {body_axes, compliance, {mu_x, mu_y, map.cone == Cone::ROUND}, reference});
             },
             nb::kw_only(), "map"_a, "e0"_a, "fall"_a, "threshold"_a, "body_axes"_a, "softness"_a, "mu_x"_a, "mu_y"_a,
             "reference"_a = false)
        .def("impulses",
             [](MaterialLaw& law, const OwnedContacts& contacts, int i) {
                 contacts.at(i);  // raises where there is none
                 PatchImpulses impulses = law.solve(contacts[i], contacts.workspace().friction);
                 const auto points = impulses.all();
                 return nb::make_tuple(rows_of(points.size(), 3, [&](int k) { return points[k].place; }),
                                       rows_of(points.size(), 3, [&](int k) { return points[k].impulse; }));
             },
             "contacts"_a, "i"_a,
             "Points (m, 3) of contact i relative to the centre of mass [m], and their impulses (m, 3) [N s]; none where "
             "nothing approaches.")
        .def_prop_ro("unsolved", &MaterialLaw::unsolved, "Contacts so far for which no solution was found.");

    nb::class_<ImpactLaw, Law>(m, "ImpactLaw", "Impacts that bounce; friction that follows the slip meanwhile.")
        .def("__init__", &make_impact_law, nb::kw_only(), "restitution"_a, "restitution_fall"_a, "restitution_threshold"_a,
             "restitution_lever"_a, "friction"_a, "friction_loaded"_a, "friction_load"_a, "friction_rise"_a, "spin"_a, "lag"_a,
             "memory"_a, "drag"_a, "each"_a, "friction_factor"_a, "restitution_factor"_a,
             "each: rows of factors of friction and restitution, then turns of friction [rad]; one a body, or one for "
             "all. friction_factor: a map whose coefficient is a factor of friction. restitution_factor: logarithm of that of "
             "restitution, by the logarithm of the approach speed [m/s].");
}

}  // namespace stiction
