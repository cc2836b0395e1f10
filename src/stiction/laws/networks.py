"""Small feed-forward networks: ReLU layers on standardised inputs, single precision."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stiction import checks
from stiction.compiled import compiled, fused, lean

MOST_LAYERS = 4
TOGETHER = 4  # contacts that go through a network together
WIDEST = 512  # inputs or units of a layer, at most, with three to spare


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
        if max(self.sizes) > WIDEST - 3 or len(self.biases) > MOST_LAYERS:
            raise checks.InputError(
                f"A network may have {MOST_LAYERS} layers of up to {WIDEST - 3} units, got {self.sizes[1:]} on "
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
        """Weights and bias of each layer in turn, for compiled code."""
        pairs = zip(self.weights, self.biases, strict=True)
        return [part for weight, bias in pairs for part in (np.ascontiguousarray(weight).ravel(), bias)]


@compiled
def new_space():
    """Room for the values of two layers, each of TOGETHER contacts."""
    return np.empty((2, TOGETHER * WIDEST), dtype=np.float32)


@lean
def evaluate_network(numbers, at, layout, n, count, space, places, out):
    """Write the outputs for the first `count` of the standardised inputs (n,) in `space`, as rows `places` of `out`.

    Weights are read once for TOGETHER contacts. What becomes of one does not depend on the others.
    """
    layers = layout[0]
    for layer in range(layers):
        m = layout[1 + layer]
        value, new = space[layer % 2], space[1 - layer % 2]
        _multiply(numbers[at : at + n * m], numbers[at + n * m : at + (n + 1) * m], n, count, value, new)
        if layer < layers - 1:
            for c in range(count):
                _cut_off(new[c * WIDEST : c * WIDEST + m])
        at, n = at + (n + 1) * m, m
    for k in range(count):
        for j in range(n):
            out[places[k], j] = space[layers % 2, k * WIDEST + j]


@lean
def _cut_off(values):
    """ReLU, in place."""
    for j in range(len(values)):
        values[j] = values[j] if values[j] > np.float32(0.0) else np.float32(0.0)


@lean
def _multiply(weights, bias, n, count, value, new):
    """Write bias + value . weights for each of `count` contacts."""
    m = len(bias)
    for c in range(count):
        for j in range(m):
            new[c * WIDEST + j] = bias[j]
        for k in range(n, n + 3):
            value[c * WIDEST + k] = np.float32(0.0)  # so that inputs may come four at a time
    for k in range(0, n, 4):
        w = weights[k * m : (k + 1) * m]
        x, y, z = w, w, w
        if k + 3 < n:
            x, y, z = weights[(k + 1) * m : (k + 2) * m], weights[(k + 2) * m : (k + 3) * m], weights[(k + 3) * m :]
        elif k + 2 < n:
            x, y = weights[(k + 1) * m : (k + 2) * m], weights[(k + 2) * m :]
        elif k + 1 < n:
            x = weights[(k + 1) * m :]
        if count == TOGETHER:
            _add_inputs(new, value, k, w, x, y, z)
        else:
            for c in range(count):
                _add_inputs_of_one(new[c * WIDEST :], value[c * WIDEST :], k, w, x, y, z)


@fused
def _add_inputs_of_one(new, value, k, w, x, y, z):
    """As `_add_inputs`, for one contact alone, with the same bits."""
    a0, a1, a2, a3 = value[k], value[k + 1], value[k + 2], value[k + 3]
    for j in range(len(w)):
        new[j] = new[j] + a0 * w[j] + a1 * x[j] + a2 * y[j] + a3 * z[j]


@fused
def _add_inputs(new, value, k, w, x, y, z):
    """Add inputs k to k + 3, whose weights are w, x, y and z, to the values of four contacts."""
    a0, a1, a2, a3 = value[k], value[k + 1], value[k + 2], value[k + 3]
    b = k + WIDEST
    b0, b1, b2, b3 = value[b], value[b + 1], value[b + 2], value[b + 3]
    c = k + 2 * WIDEST
    c0, c1, c2, c3 = value[c], value[c + 1], value[c + 2], value[c + 3]
    d = k + 3 * WIDEST
    d0, d1, d2, d3 = value[d], value[d + 1], value[d + 2], value[d + 3]
    for j in range(min(len(w), WIDEST)):
        p, q, r, s = w[j], x[j], y[j], z[j]
        new[j] = new[j] + a0 * p + a1 * q + a2 * r + a3 * s
        new[j + WIDEST] = new[j + WIDEST] + b0 * p + b1 * q + b2 * r + b3 * s
        new[j + 2 * WIDEST] = new[j + 2 * WIDEST] + c0 * p + c1 * q + c2 * r + c3 * s
        new[j + 3 * WIDEST] = new[j + 3 * WIDEST] + d0 * p + d1 * q + d2 * r + d3 * s
