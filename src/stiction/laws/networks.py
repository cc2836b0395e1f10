"""Small feed-forward networks: ReLU layers on standardised inputs, single precision."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks
from stiction.laws.fitting import check_arrays, check_names, check_scale, length

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
        sizes, layers = self.sizes, len(self.biases)
        if not 1 <= layers <= MOST_LAYERS or len(self.weights) != layers or max(sizes) > WIDEST:
            raise checks.InputError(
                f"A network may have {MOST_LAYERS} layers of up to {WIDEST} units, got {sizes[1:]} on "
                f"{sizes[0]} inputs."
            )
        shapes: dict[str, tuple[int, ...]] = {"mean": (sizes[0],), "scale": (sizes[0],)}
        for k, (a, b) in enumerate(pairwise(sizes)):
            shapes |= {f"weight{k}": (a, b), f"bias{k}": (b,)}
        check_arrays("a network", np.float32, self.arrays(), shapes)
        check_scale("a network", self.scale)

    @property
    def sizes(self) -> list[int]:
        """Numbers of inputs, of units of each layer, and of outputs."""
        return [length(self.mean), *(length(bias) for bias in self.biases)]

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
        layers = sum(name.startswith("weight") for name in arrays)
        names = [f"{part}{k}" for k in range(layers) for part in ("weight", "bias")]
        check_names("A network", arrays, ["mean", "scale", *names])
        weights, biases = (tuple(arrays[f"{part}{k}"] for k in range(layers)) for part in ("weight", "bias"))
        return cls(arrays["mean"], arrays["scale"], weights, biases)

    @property
    def native(self) -> _core.Approximator:
        """The network as the native core asks it."""
        return _core.network(self.mean, self.scale, list(self.weights), list(self.biases))
