// The impact law, for Python.
#include "python/arrays.hpp"
#include "laws/impact.hpp"

namespace stiction {
namespace {

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

void bind_impact(nb::module_& m) {
    nb::class_<ImpactLaw, Law>(m, "ImpactLaw", "Impacts that bounce; friction that follows the slip meanwhile.")
        .def("__init__", &make_impact_law, nb::kw_only(), nb::arg("restitution"), nb::arg("restitution_fall"),
             nb::arg("restitution_threshold"), nb::arg("restitution_lever"), nb::arg("friction"), nb::arg("friction_loaded"),
             nb::arg("friction_load"), nb::arg("friction_rise"), nb::arg("spin"), nb::arg("lag"), nb::arg("memory"),
             nb::arg("drag"), nb::arg("each"), nb::arg("friction_factor"), nb::arg("restitution_factor"),
             "each: rows of factors of friction and restitution, then turns of friction [rad]; one a body, or one for "
             "all. friction_factor: a map whose coefficient is a factor of friction. restitution_factor: logarithm of that of "
             "restitution, by the logarithm of the approach speed [m/s].");
}

}  // namespace stiction
