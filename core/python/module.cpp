// The Python module: bindings only. Each file bind_*.cpp binds one part of the core.
#include <nanobind/nanobind.h>
#if defined(_WIN32)
#include <windows.h>
#endif

#include "python/arrays.hpp"

namespace nb = nanobind;

namespace stiction {
void bind_contacts(nb::module_& module);
void bind_laws(nb::module_& module);
void bind_material(nb::module_& module);
void bind_links(nb::module_& module);
void bind_mujoco(nb::module_& module);
void bind_step(nb::module_& module);
}  // namespace stiction

namespace {

/// Whether this processor has AVX2 and fused multiply-add, which the module `v3` needs.
bool has_avx2() {
#if defined(_WIN32)
    return IsProcessorFeaturePresent(PF_AVX2_INSTRUCTIONS_AVAILABLE);  // clang-cl lacks what __builtin_cpu_supports needs
#elif defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

/// Raise what the core refuses as stiction's own error.
void raise_refusal(const std::exception_ptr& raised, void*) {
    try {
        std::rethrow_exception(raised);
    } catch (const stiction::Refusal& refusal) {
        const nb::object error = nb::module_::import_("stiction.basics.checks").attr("InputError");
        PyErr_SetString(error.ptr(), refusal.what());
    }
}

}  // namespace

NB_MODULE(STICTION_MODULE, module) {
    nb::register_exception_translator(raise_refusal);
    nb::set_leak_warnings(false);  // what a program holds when it ends is its own matter
    module.def("has_avx2", &has_avx2, "Whether this processor has AVX2 and fused multiply-add.");
    stiction::bind_contacts(module);
    stiction::bind_laws(module);
    stiction::bind_material(module);
    stiction::bind_links(module);
    stiction::bind_mujoco(module);
    stiction::bind_step(module);
}
