// Kernel machines and trees, for Python: approximators beside networks.
#include "python/arrays.hpp"
#include "laws/approximator.hpp"

namespace stiction {
namespace {

Approximator kernel_machine(Input<float, -1> mean, Input<float, -1> scale, Input<float, -1, -1> centres,
                            Input<float, -1, -1> weights, Input<float, -1> gamma, Input<float, -1> bias) {
    const std::size_t inputs = mean.shape(0), outputs = bias.shape(0), examples = centres.shape(0);
    if (scale.shape(0) != inputs || centres.shape(1) != inputs || weights.shape(0) != examples ||
        weights.shape(1) != outputs || gamma.shape(0) != outputs)
        throw nb::value_error("The parts of a kernel machine do not fit together.");
    check_sizes(inputs, outputs);
    return {numbers_of(mean), numbers_of(scale),
            KernelMachine(static_cast<int>(inputs), numbers_of(centres), numbers_of(weights), numbers_of(gamma),
                          numbers_of(bias))};
}

Approximator trees(Input<float, -1> mean, Input<float, -1> scale, Input<float, -1> bias,
                   Input<std::int32_t, -1> roots, Input<std::int32_t, -1> output, Input<std::int32_t, -1> feature,
                   Input<float, -1> threshold, Input<std::int32_t, -1> left) {
    const std::size_t inputs = mean.shape(0), outputs = bias.shape(0), count = feature.shape(0);
    if (scale.shape(0) != inputs || roots.shape(0) != output.shape(0) || threshold.shape(0) != count ||
        left.shape(0) != count)
        throw nb::value_error("The parts of the trees do not fit together.");
    check_sizes(inputs, outputs);
    for (std::size_t t = 0; t < roots.shape(0); ++t)
        if (roots.data()[t] < 0 || std::size_t(roots.data()[t]) >= count || output.data()[t] < 0 ||
            std::size_t(output.data()[t]) >= outputs)
            throw nb::value_error("A tree starts at no node, or adds to no output.");
    for (std::size_t k = 0; k < count; ++k) {
        const std::int64_t input = feature.data()[k], next = left.data()[k];
        if (input == Trees::LEAF) continue;
        if (input < 0 || input >= std::int64_t(inputs) || next <= std::int64_t(k) || next + 1 >= std::int64_t(count))
            throw nb::value_error("A node looks at no input, or leads nowhere.");
    }
    std::vector<Trees::Node> nodes;
    for (std::size_t k = 0; k < count; ++k)
        nodes.push_back({feature.data()[k], threshold.data()[k], left.data()[k]});
    return {numbers_of(mean), numbers_of(scale),
            Trees(static_cast<int>(inputs), numbers_of(bias), numbers_of(roots), numbers_of(output),
                  std::move(nodes))};
}

}  // namespace

void bind_estimators(nb::module_& m) {
    m.def("kernel_machine", &kernel_machine, nb::arg("mean"), nb::arg("scale"), nb::arg("centres"), nb::arg("weights"),
          nb::arg("gamma"), nb::arg("bias"), "A kernel machine from the arrays of laws.kernels.KernelMachine.");
    m.def("trees", &trees, nb::arg("mean"), nb::arg("scale"), nb::arg("bias"), nb::arg("roots"), nb::arg("output"),
          nb::arg("feature"), nb::arg("threshold"), nb::arg("left"),
          "Trees from the arrays of laws.trees.Trees, which must lead to leaves.");
    m.attr("LEAF") = int(Trees::LEAF);
}

}  // namespace stiction
