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

namespace {

/// The highest level of x86-64 that this processor has: 1 (any), 3 (AVX2 and FMA) or 4 (AVX-512); elsewhere 1.
int processor_level() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool third = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool fourth = third && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl");
    return fourth ? 4 : third ? 3 : 1;
#else
    return 1;
#endif
}

}  // namespace

NB_MODULE(STICTION_MODULE, module) {
    module.def("processor_level", &processor_level, "Highest level of x86-64 that this processor has: 1, 3 or 4.");
    stiction::bind_contacts(module);
    stiction::bind_laws(module);
    stiction::bind_estimators(module);
    stiction::bind_impact(module);
    stiction::bind_step(module);
}
