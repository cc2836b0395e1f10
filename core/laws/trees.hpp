// Gradient-boosted trees: sums of the leaves that the inputs lead to.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace stiction {

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
