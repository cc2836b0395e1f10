// A learned map from a contact's description to its mode or friction: a network, a kernel machine or trees.
#pragma once

#include <array>
#include <cmath>
#include <stdexcept>
#include <variant>
#include <vector>

#include "contact/contact.hpp"
#include "laws/regressors.hpp"
#include "laws/networks.hpp"

namespace stiction {

constexpr float FARTHEST = 6.0f;  ///< standardised inputs are clipped here: beyond it nothing was seen

/// Raise unless these numbers of inputs and outputs fit into a contact's description.
inline void check_sizes(std::size_t inputs, std::size_t outputs) {
    if (inputs > MAX_FEATURES || outputs > MAX_OUTPUTS)
        throw std::invalid_argument("An approximator of a law has at most 81 inputs and 6 outputs.");
}

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
