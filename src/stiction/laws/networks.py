"""Small feed-forward networks in compiled code: ReLU layers on standardised inputs, single precision.

All networks of a law lie in one array of numbers with a table of where each begins, so that compiled code carries two
arrays, however many networks there are.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stiction.compiled import compiled

FARTHEST = 6.0  # standardised inputs are clipped here: beyond it a network has seen nothing
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


def pack(networks: list[Network]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """All numbers one after another, and a table (networks, MOST_LAYERS + 3): begin, layers, sizes."""
    numbers: list[NDArray[np.float32]] = []
    table = np.zeros((len(networks), MOST_LAYERS + 3), dtype=np.int64)
    begin = 0
    for row, network in enumerate(networks):
        parts = [network.mean, 1 / network.scale]
        for weight, bias in zip(network.weights, network.biases, strict=True):
            parts += [np.ascontiguousarray(weight).ravel(), bias]
        table[row, 0], table[row, 1] = begin, len(network.weights)
        table[row, 2 : 3 + len(network.weights)] = network.sizes
        begin += sum(len(part) for part in parts)
        numbers += [np.asarray(part, np.float32) for part in parts]
    return np.concatenate(numbers), table


@compiled
def evaluate(numbers, table, row, x, out):
    """Write the outputs of network `row` for the inputs x into `out` (float64)."""
    at, layers, n = table[row, 0], table[row, 1], table[row, 2]
    value = np.empty(n, dtype=np.float32)
    for k in range(n):
        z = (np.float32(x[k]) - numbers[at + k]) * numbers[at + n + k]
        value[k] = min(max(z, np.float32(-FARTHEST)), np.float32(FARTHEST))
    at += 2 * n
    for layer in range(layers):
        m = table[row, 3 + layer]
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


@compiled
def beyond(numbers, table, row, x):
    """Whether network `row` would clip an input of x: it has seen nothing like it."""
    at, n = table[row, 0], table[row, 2]
    for k in range(n):
        if not abs((np.float32(x[k]) - numbers[at + k]) * numbers[at + n + k]) <= np.float32(FARTHEST):
            return True
    return False
