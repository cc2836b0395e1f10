"""Small feed-forward networks: ReLU layers on standardised inputs, single precision."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.compiled import lean
from stiction.laws.layers import TOGETHER, WIDE, padded, write_layer

MOST_LAYERS = 4
WIDEST = 512  # inputs or units of a layer, at most
SPACE = 2 * TOGETHER * WIDEST  # numbers, for the values of two layers


@dataclass(frozen=True)
class Network:
    """A network as plain arrays.

    mean, scale: of the inputs, shape (n,): they enter as (x - mean) / scale
    weights, biases: one pair a layer, shapes (n_in, n_out) and (n_out,); ReLU between layers
    """

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    weights: tuple[NDArray[np.float32], ...]
    biases: tuple[NDArray[np.float32], ...]

    def __post_init__(self) -> None:
        if max(self.sizes) > WIDEST or len(self.biases) > MOST_LAYERS:
            raise checks.InputError(
                f"A network may have {MOST_LAYERS} layers of up to {WIDEST} units, got {self.sizes[1:]} on "
                f"{self.sizes[0]} inputs."
            )

    @property
    def sizes(self) -> list[int]:
        """Numbers of inputs, of units of each layer, and of outputs."""
        return [len(self.mean), *(len(bias) for bias in self.biases)]

    @classmethod
    def random(cls, sizes: list[int], rng: np.random.Generator) -> "Network":
        """Random weights of the usual size."""
        pairs = list(pairwise(sizes))
        weights = tuple(rng.normal(0, np.sqrt(2 / a), (a, b)).astype(np.float32) for a, b in pairs)
        biases = tuple(rng.normal(0, 0.1, b).astype(np.float32) for _, b in pairs)
        return cls(np.zeros(sizes[0], np.float32), np.ones(sizes[0], np.float32), weights, biases)

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Everything by name, for a model file."""
        arrays = {"mean": self.mean, "scale": self.scale}
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays |= {f"weight{k}": weight, f"bias{k}": bias}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> "Network":
        """The network that `arrays` described."""
        layers = [k for k in range(MOST_LAYERS) if f"weight{k}" in arrays]
        network = cls(
            arrays["mean"],
            arrays["scale"],
            tuple(arrays[f"weight{k}"] for k in layers),
            tuple(arrays[f"bias{k}"] for k in layers),
        )
        for (a, b), weight in zip(pairwise(network.sizes), network.weights, strict=True):
            if weight.shape != (a, b):
                raise ValueError(f"a layer has weights of shape {weight.shape}, not {(a, b)}")
        return network

    def layout(self) -> list[int]:
        """Number of layers and their units, for compiled code."""
        return [len(self.weights), *self.sizes[1:]]

    def numbers(self) -> list[NDArray[np.float32]]:
        """Weights and bias of each layer in turn, rows padded with zeros, for compiled code."""
        return [
            np.pad(part, ((0, 0), (0, padded(part.shape[1]) - part.shape[1]))).ravel()
            for weight, bias in zip(self.weights, self.biases, strict=True)
            for part in (weight, bias[np.newaxis])
        ]


@lean
def evaluate_network(numbers, at, layout, n, count, space, places, out):
    """Write the outputs for the first `count` of the standardised inputs (n,) in `space`, as rows `places` of `out`.

    space: (SPACE,), for the values of two layers in turn, a half each

    Weights are read once for TOGETHER contacts. What becomes of one does not depend on the others.
    """
    layers = layout[0]
    for layer in range(layers):
        m = layout[1 + layer]
        odd, half = layer % 2 == 1, SPACE // 2
        value, new = (space[half:], space[:half]) if odd else (space[:half], space[half:])
        write_layer(numbers, at, n, m, count, value, new, np.int64(WIDEST), layer < layers - 1)
        at, n = at + (n + 1) * (-(-m // WIDE) * WIDE), m
    for k in range(count):
        for j in range(n):
            out[places[k], j] = space[layers % 2 * (SPACE // 2) + k * WIDEST + j]
