// The Python module: bindings only. Each file bind_*.cpp binds one part of the core.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace stiction {
void bind_contacts(nb::module_& module);
void bind_laws(nb::module_& module);
void bind_estimators(nb::module_& module);
void bind_impact(nb::module_& module);
void bind_step(nb::module_& module);
}  // namespace stiction

NB_MODULE(STICTION_MODULE, module) {
    stiction::bind_contacts(module);
    stiction::bind_laws(module);
    stiction::bind_estimators(module);
    stiction::bind_impact(module);
    stiction::bind_step(module);
}
