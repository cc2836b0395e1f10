// Regressors beside networks: kernel machines and gradient-boosted trees.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace stiction {

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

    int inputs() const { return inputs_; }
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
    Trees(int inputs, std::vector<float> bias, std::vector<std::int32_t> roots, std::vector<std::int32_t> output,
          std::vector<Node> nodes)
        : inputs_(inputs), bias_(std::move(bias)), roots_(std::move(roots)), output_(std::move(output)),
          nodes_(std::move(nodes)) {}

    int inputs() const { return inputs_; }
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
    int inputs_;
    std::vector<float> bias_;
    std::vector<std::int32_t> roots_, output_;
    std::vector<Node> nodes_;
};

}  // namespace stiction
