// Small feed-forward networks: ReLU layers on standardised inputs, single precision.
//
// Weights are read once for several contacts, whose sums stay in registers while the inputs go by. What becomes of one
// contact does not depend on the others: the sums of one have the same order however many there are.
#pragma once

#include <algorithm>
#include <vector>

#include "math/simd.hpp"

namespace stiction {

constexpr int TOGETHER = 4;  ///< contacts that share the weights once they are loaded
constexpr int WIDEST = 512;  ///< inputs or units of a layer, at most

namespace detail {

/// Write `Packs` packs of outputs, bias + value . weights, of each of `Number` contacts; with `relu` at least 0.
///
/// weights: of the first of these outputs; rows of weights are `row` apart; value, out: of the first contact, those of
/// the next are WIDEST further; Parts: sums that do not wait for each other, for a lone pack of outputs
template <class Floats, int Number, int Packs, int Parts>
inline void tile(const float* weights, const float* bias, int row, int inputs, const float* value, float* out, bool relu) {
    Floats sums[Parts][Number][Packs];
    for (int c = 0; c < Number; ++c)
        for (int v = 0; v < Packs; ++v) {
            sums[0][c][v] = Floats::load(bias + v * Floats::size);
            for (int part = 1; part < Parts; ++part) sums[part][c][v] = Floats(0.0f);
        }
    const auto add = [&](int i, int part) {
        Floats column[Packs];
        for (int v = 0; v < Packs; ++v) column[v] = Floats::load(weights + std::size_t(i) * row + v * Floats::size);
        for (int c = 0; c < Number; ++c) {
            const Floats x(value[c * WIDEST + i]);
            for (int v = 0; v < Packs; ++v) sums[part][c][v] = multiply_add(x, column[v], sums[part][c][v]);
        }
    };
    int i = 0;
    for (; i + Parts <= inputs; i += Parts)
        for (int part = 0; part < Parts; ++part) add(i + part, part);
    for (; i < inputs; ++i) add(i, 0);
    for (int c = 0; c < Number; ++c)
        for (int v = 0; v < Packs; ++v) {
            Floats y = sums[0][c][v];
            for (int part = 1; part < Parts; ++part) y = y + sums[part][c][v];
            if (relu) y = Floats(typename Floats::Values(y.values > Floats(0.0f).values ? y.values : Floats(0.0f).values));
            y.store(out + c * WIDEST + v * Floats::size);
        }
}

}  // namespace detail

class Network {
  public:
    struct Layer {
        int inputs, outputs, row;     ///< row: places of a row of weights, the outputs rounded up to full packs
        std::vector<float> weights;   ///< (inputs, row)
        std::vector<float> bias;      ///< (row,)
    };

    /// Add a layer with weights (inputs, outputs) and biases (outputs,).
    void add(int inputs, int outputs, const float* weights, const float* bias) {
        Layer layer{inputs, outputs, (outputs + 7) / 8 * 8, {}, {}};
        layer.weights.assign(std::size_t(inputs) * layer.row, 0.0f);
        layer.bias.assign(layer.row, 0.0f);
        for (int i = 0; i < inputs; ++i)
            std::copy_n(weights + std::size_t(i) * outputs, outputs, layer.weights.data() + std::size_t(i) * layer.row);
        std::copy_n(bias, outputs, layer.bias.data());
        layers_.push_back(std::move(layer));
    }

    int outputs() const { return layers_.back().outputs; }

    /// The outputs for `count` contacts, at most TOGETHER: those of contact c start at c * WIDEST of the result.
    /// space: two blocks of TOGETHER * WIDEST numbers; the first one holds the inputs, WIDEST apart
    const float* evaluate(int count, float* space) const {
        float *from = space, *to = space + TOGETHER * WIDEST;
        for (const Layer& layer : layers_) {
            const bool relu = &layer != &layers_.back();
            if (count == TOGETHER)
                apply<TOGETHER, 1>(layer, from, to, relu);
            else
                for (int c = 0; c < count; ++c) apply<1, 4>(layer, from + c * WIDEST, to + c * WIDEST, relu);
            std::swap(from, to);
        }
        return from;
    }

  private:
    std::vector<Layer> layers_;

    /// Apply a layer, `Blocks` blocks of 16 outputs at a time; what is left of it, 8 outputs, is summed in parts.
    template <int Number, int Blocks> static void apply(const Layer& layer, const float* from, float* to, bool relu) {
        using Full = Pack<float, REGISTER / 4>;
        const auto tile = [&]<class Floats, int Packs, int Parts>(int j) {
            detail::tile<Floats, Number, Packs, Parts>(layer.weights.data() + j, layer.bias.data() + j, layer.row,
                                                       layer.inputs, from, to + j, relu);
        };
        int j = 0;
        for (; j + 16 * Blocks <= layer.row; j += 16 * Blocks)
            tile.template operator()<Full, Blocks * 16 / Full::size, 1>(j);
        for (; j + 16 <= layer.row; j += 16) tile.template operator()<Full, 16 / Full::size, 1>(j);
        if (j < layer.row) tile.template operator()<Full, 8 / Full::size, 4>(j);
    }
};

}  // namespace stiction
