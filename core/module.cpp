// The Python module: bindings only. Each file bind_*.cpp binds one room of the core.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace stiction {
void bind_contacts(nb::module_& module);
}

NB_MODULE(STICTION_MODULE, module) {
    stiction::bind_contacts(module);
}
