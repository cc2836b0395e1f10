"""Small feed-forward networks: ReLU layers on standardised inputs, single precision."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks

MOST_LAYERS = 4
WIDEST = _core.WIDEST  # inputs or units of a layer, at most


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

    @property
    def native(self) -> _core.Approximator:
        """The network as the native core asks it."""
        return _core.network(self.mean, self.scale, list(self.weights), list(self.biases))
