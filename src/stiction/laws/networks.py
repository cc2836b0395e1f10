"""Small feed-forward networks: ReLU layers on standardised inputs, single precision."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stiction.compiled import compiled

MOST_LAYERS = 4


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
        """Weights and bias of each layer in turn, for compiled code."""
        pairs = zip(self.weights, self.biases, strict=True)
        return [part for weight, bias in pairs for part in (np.ascontiguousarray(weight).ravel(), bias)]


@compiled
def evaluate_network(numbers, at, layout, value, out):
    """Write the outputs for the standardised inputs `value` (n,); numbers begin at `at`."""
    n, layers = len(value), layout[0]
    for layer in range(layers):
        m = layout[1 + layer]
        bias = at + n * m
        new = np.empty(m, dtype=np.float32)
        for j in range(m):
            new[j] = numbers[bias + j]
        for k in range(n):
            v = value[k]
            if v != np.float32(0.0):
                w = numbers[at + k * m : at + (k + 1) * m]
                for j in range(m):
                    new[j] += v * w[j]
        if layer < layers - 1:
            for j in range(m):
                new[j] = max(new[j], np.float32(0.0))
        at, n, value = bias + m, m, new
    for j in range(n):
        out[j] = value[j]
