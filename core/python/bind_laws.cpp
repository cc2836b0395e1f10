// Laws, for Python.
#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "contact/algorithm1.hpp"
#include "python/arrays.hpp"
#include "python/owned_contacts.hpp"
#include "laws/describe.hpp"
#include "laws/learned.hpp"

namespace stiction {
namespace {

/// A law in plain Python: `callbacks` has methods classify(contacts) and friction(contacts),
/// which write into the contacts' record, and outside(contacts); whole: it answers with respond(contacts) instead.
class PythonLaw final : public Law {
  public:
    PythonLaw(nb::object callbacks, double compliance_, bool whole, CoulombFriction coulomb_estimate)
        : callbacks_(std::move(callbacks)), whole_(whole), coulomb_estimate_(coulomb_estimate) {
        compliance = compliance_;
    }
    PythonLaw(const PythonLaw&) = delete;
    PythonLaw& operator=(const PythonLaw&) = delete;
    ~PythonLaw() override {
        nb::gil_scoped_acquire locked;
        callbacks_.reset();
    }

    void classify(const Contacts& contacts) override { call("classify", contacts); }
    void friction(const Contacts& contacts) override { call("friction", contacts); }
    void respond(const Contacts& contacts) override {
        if (whole_) return call("respond", contacts);
        Law::respond(contacts);
        // Torques of friction that a law returns must not move the centre of pressure out of the patch.
        for (Contact& c : contacts)
            if (c.mode == Mode::DYNAMIC && (c.friction.m_x != 0.0 || c.friction.m_y != 0.0) && !presses_within(c, c.impulse)) {
                c.friction = tilted(c, {c.friction.p_x, c.friction.p_y, c.friction.m_z});
                c.mode = slide_patch(c, within_reason(c, c.friction), compliance);
            }
    }
    bool outside(const Contacts& contacts, int i) override {
        nb::gil_scoped_acquire locked;
        const nb::object answer = callbacks_.attr("outside")(OwnedContacts(contacts.part(i, 1)))[0];
        const int truth = PyObject_IsTrue(answer.ptr());  // it may be NumPy's
        if (truth < 0) throw nb::python_error();
        return truth == 1;
    }
    CoulombFriction coulomb_estimate() const override { return coulomb_estimate_; }
    bool predicts_impulses() const override { return whole_; }
    bool repeats_itself() const override { return false; }  // it may have state

  private:
    nb::object callbacks_;
    bool whole_;
    CoulombFriction coulomb_estimate_;

    void call(const char* name, const Contacts& contacts) const {
        nb::gil_scoped_acquire locked;
        callbacks_.attr(name)(OwnedContacts(contacts));
    }
};

Approximator network(Input<float, -1> mean, Input<float, -1> scale, const std::vector<Input<float, -1, -1>>& weights,
                     const std::vector<Input<float, -1>>& biases) {
    Network layers;
    std::size_t inputs = mean.shape(0);
    if (weights.empty() || weights.size() != biases.size() || scale.shape(0) != inputs)
        throw nb::value_error("The parts of a network do not fit together.");
    for (std::size_t k = 0; k < weights.size(); ++k) {
        const std::size_t outputs = biases[k].shape(0);
        if (weights[k].shape(0) != inputs || weights[k].shape(1) != outputs || std::max(inputs, outputs) > WIDEST)
            throw nb::value_error("The layers of a network do not fit together.");
        layers.add(static_cast<int>(inputs), static_cast<int>(outputs), weights[k].data(), biases[k].data());
        inputs = outputs;
    }
    check_sizes(mean.shape(0), inputs);
    return {numbers_of(mean), numbers_of(scale), std::move(layers)};
}

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
            Trees(numbers_of(bias), numbers_of(roots), numbers_of(output), std::move(nodes))};
}

ByKind by_kind(const std::vector<Approximator>& all, int outputs) {
    if (all.size() != 3) throw nb::value_error("One approximator for each kind of patch is needed.");
    for (const Approximator& one : all)
        if (one.outputs() < outputs) throw nb::value_error("An approximator has too few outputs for its part in a law.");
    return {all[0], all[1], all[2]};
}

/// Targets (n, 3) and whole impulses in standard form (n, 6) of the observed impulses of described contacts.
nb::tuple targets(const OwnedContacts& contacts, Input<double, -1, 6> impulse) {
    const std::size_t n = contacts.size();
    check_rows(n, impulse);
    double *y, *whole;
    auto ys = new_array<double>({n, 3}, &y);
    auto wholes = new_array<double>({n, 6}, &whole);
    std::fill(y, y + 3 * n, 0.0), std::fill(whole, whole + 6 * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
        const Contact& c = contacts[static_cast<int>(i)];
        if (!c.description.exists()) continue;
        const Wrench p = wrench_from(impulse.data() + 6 * i);
        target_of(c, p, y + 3 * i), whole_target(c, p, whole + 6 * i);
    }
    return nb::make_tuple(ys, wholes);
}

}  // namespace

void bind_laws(nb::module_& m) {
    nb::class_<Law>(m, "Law", "What the data decides: the classifier C and the regressor R of the paper.")
        .def_ro("softness", &Law::compliance, "Share of its own response by which a loaded contact yields.")
        .def("classify", [](Law& law, const OwnedContacts& all) { law.classify(all); },
             "Write the mode of each contact into its record.")
        .def("friction", [](Law& law, const OwnedContacts& all) { law.friction(all); },
             "Write the friction of each dynamic contact into its record.")
        .def("respond", [](Law& law, const OwnedContacts& all) { law.respond(all); },
             "Write impulse and mode of each contact into its record: Algorithm 1.")
        .def("outside",
             [](Law& law, const OwnedContacts& all) {
                 return values_of<bool>(all.size(), [&](int i) { return law.outside(all, i); });
             },
             "Whether each contact, as classified last, is outside of the law's training range, (n,).");

    nb::class_<PythonLaw, Law>(m, "PythonLaw", "A law in plain Python.")
        .def("__init__",
             [](PythonLaw* self, nb::object callbacks, double compliance, bool whole, double mu_x, double mu_y, bool round) {
                 new (self) PythonLaw(std::move(callbacks), compliance, whole, {mu_x, mu_y, round});
             });

    nb::enum_<Fold>(m, "Fold").value("NONE", Fold::NONE).value("MIRROR", Fold::MIRROR)
        .value("MIRROR_SWAP", Fold::MIRROR_SWAP).value("HEADING", Fold::HEADING);
    nb::enum_<Inputs>(m, "Inputs").value("CONTACT", Inputs::CONTACT).value("MATRIX", Inputs::MATRIX)
        .value("QUATERNION", Inputs::QUATERNION).value("EULER", Inputs::EULER)
        .value("AXIS_ANGLE", Inputs::AXIS_ANGLE);
    nb::class_<Recipe>(m, "Recipe", "How contacts are described to a learned law.")
        .def("__init__",
             [](Recipe* self, Fold fold, double mu_x, double mu_y, bool round, bool guess, bool scaled, Inputs inputs,
                bool centre, bool slip, double mass, bool absolute, std::shared_ptr<Law> material) {
                 new (self) Recipe{fold,   {mu_x, mu_y, round}, guess, scaled, inputs, centre, slip, mass,
                                   absolute, std::move(material)};
             },
             nb::kw_only(), "fold"_a, "mu_x"_a, "mu_y"_a, "round"_a, "guess"_a, "scaled"_a, "inputs"_a, "centre"_a, "slip"_a,
             "mass"_a, "absolute"_a = false, "material"_a.none() = nb::none());
    const auto of_kinds = [](int (*of)(Kind)) {
        return nb::make_tuple(of(Kind::POINT), of(Kind::LINE), of(Kind::SURFACE));
    };
    m.attr("FEATURES") = of_kinds(features_of);
    m.attr("ABSOLUTE_FEATURES") = of_kinds(absolute_features_of);
    m.def("describe", [](const OwnedContacts& contacts, const Recipe& recipe) { describe(contacts, recipe); },
          "Write the description of each contact that needs a normal impulse into its record.");
    m.def("targets", &targets, "What a regressor should add to the guess (n, 3), and whole impulses in standard form.");
    m.def("friction_from",
          [](const OwnedContacts& contacts, int i, Input<double, 3> output) {
              const Friction f = friction_from(contacts.at(i).description, output.data());
              return nb::make_tuple(f.p_x, f.p_y, f.m_z);
          },
          "The friction (p_x, p_y, m_z) of contact i for what a regressor adds to its guess.");
    m.def("impulse_from",
          [](const OwnedContacts& contacts, int i, Input<double, 6> output) {
              return array_of(impulse_from(contacts.at(i), output.data()));
          },
          "The impulse (6,) of contact i from its standard form.");

    nb::class_<Approximator>(m, "Approximator", "A network, kernel machine or trees.")
        .def_prop_ro("inputs", &Approximator::inputs)
        .def("__call__",
             [](const Approximator& self, Input<double, -1, -1> x) {
                 if (static_cast<int>(x.shape(1)) != self.inputs() || self.inputs() > MAX_FEATURES)
                     throw nb::value_error("The number of inputs does not fit.");
                 double* out;
                 auto result = new_array<double>({x.shape(0), std::size_t(MAX_OUTPUTS)}, &out);
                 std::fill(out, out + MAX_OUTPUTS * x.shape(0), 0.0);
                 std::vector<float> space;
                 std::vector<Description> asked(TOGETHER);
                 for (std::size_t i = 0; i < x.shape(0); i += TOGETHER) {
                     const int count = static_cast<int>(std::min<std::size_t>(TOGETHER, x.shape(0) - i));
                     Description* some[TOGETHER];
                     for (int c = 0; c < count; ++c) {
                         some[c] = &(asked[c] = Description{});
                         std::copy_n(x.data() + (i + c) * x.shape(1), x.shape(1), asked[c].features);
                     }
                     self.answer(some, count, space);
                     for (int c = 0; c < count; ++c) std::copy_n(asked[c].answer, MAX_OUTPUTS, out + (i + c) * MAX_OUTPUTS);
                 }
                 return result;
             },
             "Answers (n, 6) for descriptions (n, inputs); what an approximator does not have is 0.");
    m.attr("WIDEST") = WIDEST;
    m.attr("FARTHEST") = FARTHEST;
    m.def("network", &network, "A network from the mean and scale of its inputs, its weights and its biases.");
    m.def("kernel_machine", &kernel_machine, "mean"_a, "scale"_a, "centres"_a, "weights"_a, "gamma"_a, "bias"_a,
          "A kernel machine from the arrays of laws.kernels.KernelMachine.");
    m.def("trees", &trees, "mean"_a, "scale"_a, "bias"_a, "roots"_a, "output"_a, "feature"_a, "threshold"_a, "left"_a,
          "Trees from the arrays of laws.trees.Trees, which must lead to leaves.");
    m.attr("LEAF") = int(Trees::LEAF);

    nb::class_<AugmentedLaw, Law>(m, "AugmentedLaw", "The data-augmented law of the paper.")
        .def("__init__",
             [](AugmentedLaw* self, const Recipe& recipe, const std::vector<Approximator>& classifiers,
                const std::vector<Approximator>& regressors, std::array<bool, 3> classifies, std::array<bool, 3> corrects) {
                 new (self) AugmentedLaw(recipe, by_kind(classifiers, 3), by_kind(regressors, 2), classifies, corrects);
             },
             "recipe"_a, "classifiers"_a, "regressors"_a, "classifies"_a, "corrects"_a);
    nb::class_<StatisticalLaw, Law>(m, "StatisticalLaw", "The purely data-driven baseline of the paper.")
        .def("__init__", [](StatisticalLaw* self, const Recipe& recipe, const std::vector<Approximator>& impulses) {
            new (self) StatisticalLaw(recipe, by_kind(impulses, MAX_OUTPUTS));
        });
}

}  // namespace stiction
