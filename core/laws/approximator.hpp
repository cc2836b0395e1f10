// A learned map from a contact's description to its mode or friction: a network, a kernel machine or trees.
#pragma once

#include <stdexcept>
#include <variant>

#include "contact/contact.hpp"
#include "laws/networks.hpp"

namespace stiction {

constexpr float FARTHEST = 6.0f;  ///< standardised inputs are clipped here: beyond it nothing was seen

/// Raise unless these numbers of inputs and outputs fit into a contact's description.
inline void check_sizes(std::size_t inputs, std::size_t outputs) {
    if (inputs > MAX_FEATURES || outputs > MAX_OUTPUTS)
        throw std::invalid_argument("An approximator of a law has at most 81 inputs and 6 outputs.");
}

/// Sums of Gaussian bumps around training examples, as support vector machines and Gaussian processes are once trained.
///
/// Output k is bias_k + sum_i weight_ik exp(-gamma_k |z - centre_i|^2).
class KernelMachine {
  public:
    /// centres: a row of standardised inputs for each example; weights: a row of outputs for each
    KernelMachine(int inputs, std::vector<float> centres, std::vector<float> weights, std::vector<float> gamma,
                  std::vector<float> bias)
        : inputs_(inputs), centres_(std::move(centres)), weights_(std::move(weights)), gamma_(std::move(gamma)),
          bias_(std::move(bias)) {}

    int outputs() const { return static_cast<int>(bias_.size()); }

    /// z: standardised inputs
    void evaluate(const float* z, double* out) const {
        const int n = outputs();
        for (int k = 0; k < n; ++k) out[k] = bias_[k];
        const float* centre = centres_.data();
        for (const float* weight = weights_.data(); weight != weights_.data() + weights_.size(); weight += n) {
            double square = 0.0;
            for (int j = 0; j < inputs_; ++j) {
                const double difference = static_cast<double>(z[j]) - centre[j];
                square += difference * difference;
            }
            centre += inputs_;
            for (int k = 0; k < n; ++k)  // an example that one output does not need has no weight there
                if (weight[k] != 0.0f) out[k] += weight[k] * std::exp(-static_cast<double>(gamma_[k]) * square);
        }
    }

  private:
    int inputs_;
    std::vector<float> centres_, weights_, gamma_, bias_;
};

/// Gradient-boosted trees: sums of the leaves to which the inputs lead.
///
/// Output k is bias_k plus the leaf of each tree that belongs to it. Nodes of all trees lie one after another.
class Trees {
  public:
    /// A node. At most the threshold leads on to node `left`, more to the node after it; a leaf looks at no input.
    struct Node {
        std::int32_t feature;  ///< number of the input that it looks at, or LEAF
        float threshold;       ///< standardised; of a leaf, its value
        std::int32_t left;     ///< greater than the node's own number: every path ends
    };
    static constexpr std::int32_t LEAF = -1;

    /// roots: number of the first node of each tree; output: which one it adds to
    Trees(std::vector<float> bias, std::vector<std::int32_t> roots, std::vector<std::int32_t> output, std::vector<Node> nodes)
        : bias_(std::move(bias)), roots_(std::move(roots)), output_(std::move(output)), nodes_(std::move(nodes)) {}

    int outputs() const { return static_cast<int>(bias_.size()); }

    /// z: standardised inputs
    void evaluate(const float* z, double* out) const {
        for (std::size_t k = 0; k < bias_.size(); ++k) out[k] = bias_[k];
        for (std::size_t t = 0; t < roots_.size(); ++t) {
            const Node* node = &nodes_[roots_[t]];
            while (node->feature != LEAF) node = &nodes_[node->left + (z[node->feature] <= node->threshold ? 0 : 1)];
            out[output_[t]] += node->threshold;
        }
    }

  private:
    std::vector<float> bias_;
    std::vector<std::int32_t> roots_, output_;
    std::vector<Node> nodes_;
};

class Approximator {
  public:
    using Model = std::variant<Network, KernelMachine, Trees>;

    /// mean, scale: of the inputs, which enter as (x - mean) / scale
    Approximator(std::vector<float> mean, const std::vector<float>& scale, Model model)
        : mean_(std::move(mean)), model_(std::move(model)) {
        for (float s : scale) per_scale_.push_back(1 / s);
    }

    int inputs() const { return static_cast<int>(mean_.size()); }
    int outputs() const {
        return std::visit([](const auto& model) { return model.outputs(); }, model_);
    }

    /// Whether an input is outside of the training range.
    bool beyond(const double* x) const {
        for (int k = 0; k < inputs(); ++k)
            if (!(std::fabs((static_cast<float>(x[k]) - mean_[k]) * per_scale_[k]) <= FARTHEST)) return true;
        return false;
    }

    void standardise(const double* x, float* z) const {
        for (int k = 0; k < inputs(); ++k) {
            float value = (static_cast<float>(x[k]) - mean_[k]) * per_scale_[k];
            value = value > -FARTHEST ? value : -FARTHEST;
            z[k] = value < FARTHEST ? value : FARTHEST;
        }
    }

    /// Answer up to TOGETHER contacts, given by their descriptions.
    void answer(Description* const* asked, int count, std::vector<float>& space) const {
        space.resize(2 * TOGETHER * WIDEST);
        for (int c = 0; c < count; ++c) standardise(asked[c]->features, space.data() + c * WIDEST);
        if (const Network* network = std::get_if<Network>(&model_)) {
            const float* out = network->evaluate(count, space.data());
            for (int c = 0; c < count; ++c)
                for (int k = 0; k < network->outputs(); ++k) asked[c]->answer[k] = out[c * WIDEST + k];
            return;
        }
        for (int c = 0; c < count; ++c) {
            const float* z = space.data() + c * WIDEST;
            if (const KernelMachine* machine = std::get_if<KernelMachine>(&model_)) machine->evaluate(z, asked[c]->answer);
            if (const Trees* trees = std::get_if<Trees>(&model_)) trees->evaluate(z, asked[c]->answer);
        }
    }

  private:
    std::vector<float> mean_, per_scale_;
    Model model_;
};

/// One approximator for each kind of patch, and the kinds for which it is evaluated.
using ByKind = std::array<Approximator, 3>;
using ForKinds = std::array<bool, 3>;

inline int number_of(Kind kind) { return static_cast<int>(kind) - 1; }

/// Have the described contacts of a mode, or all if that is NONE, answered; the answers are in their descriptions.
inline void answer_all(const ByKind& by_kind, const Contacts& contacts, Mode mode, ForKinds asks = {true, true, true}) {
    Description* asked[3][TOGETHER];
    int count[3] = {};
    std::vector<float>& space = contacts.workspace().layers;
    for (Contact& c : contacts) {
        if (!c.description.exists() || (mode != Mode::NONE && c.mode != mode)) continue;
        const int k = number_of(c.kind);
        if (!asks[k]) continue;
        asked[k][count[k]++] = &c.description;
        if (count[k] == TOGETHER) by_kind[k].answer(asked[k], TOGETHER, space), count[k] = 0;
    }
    for (int k = 0; k < 3; ++k)
        if (count[k] > 0) by_kind[k].answer(asked[k], count[k], space);
}

}  // namespace stiction
