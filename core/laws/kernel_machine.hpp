// Kernel machines: sums of Gaussian bumps around training examples, as support vector machines and Gaussian processes
// are once they are trained.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

namespace stiction {

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

}  // namespace stiction
