"""Approximators: learned maps from a contact's description to its mode or friction.

Networks, kernel machines or trees, as plain arrays that are checked before the native core reads them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks

MAX_LAYERS = 4
MAX_WIDTH = _core.WIDEST  # inputs, or units of a layer
FARTHEST = _core.FARTHEST  # standardised inputs are clipped here: there are no training data beyond
LEAF = _core.LEAF  # the feature of a leaf


def check_names(what: str, arrays: Iterable[str], wanted: list[str]) -> None:
    """Refuse arrays with other names than `wanted`."""
    for name in wanted:
        if name not in arrays:
            raise checks.InputError(f"{what} has no array {name!r}.")
    for name in arrays:
        if name not in wanted:
            raise checks.InputError(f"{what} has an unknown array {checks.shown(name)}.")


def taken(tensors: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Remove the tensors whose names start with `prefix` and return them by the rest of their names."""
    return {key.removeprefix(prefix): tensors.pop(key) for key in list(tensors) if key.startswith(prefix)}


def _length(array: Any, ndim: int = 1) -> int:
    """Length of the first axis; -1, which fits nothing, unless this is an array of `ndim` axes."""
    return len(array) if isinstance(array, np.ndarray) and array.ndim == ndim else -1


@dataclass(frozen=True)
class Approximator(ABC):
    """A map from n inputs, which enter as (x - mean) / scale, to outputs; mean and scale have shape (n,)."""

    NAME: ClassVar[str] = ""
    mean: NDArray[np.float32]
    scale: NDArray[np.float32]

    @property
    @abstractmethod
    def sizes(self) -> list[int]:
        """Numbers of inputs, of inner parts, and of outputs."""

    @property
    @abstractmethod
    def native(self) -> _core.Approximator:
        """The approximator in the native core."""

    def arrays(self) -> dict[str, NDArray]:
        """All arrays by name, for a model file."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> Self:
        """The approximator whose `arrays()` these are."""
        check_names(cls.NAME.capitalize(), arrays, [part.name for part in fields(cls)])
        return cls(**arrays)

    def freeze(self) -> None:
        """Make all arrays read-only, because the core has a copy that would not follow."""
        for array in self.arrays().values():
            array.flags.writeable = False

    def _check(self, dtype: Any, shapes: dict[str, tuple[int, ...]]) -> None:
        """Refuse arrays of another type or shape, and scales that are not positive."""
        arrays = self.arrays()
        for name, shape in shapes.items():
            array = arrays[name]
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
                got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
                raise checks.InputError(f"{name} of {self.NAME} must be {np.dtype(dtype)} of shape {shape}, got {got}.")
        if "scale" in shapes and not np.all(self.scale > 0):
            raise checks.InputError(f"scale of {self.NAME} must be positive, got {self.scale.min():g}.")


@dataclass(frozen=True)
class Network(Approximator):
    """A feed-forward network with ReLU between layers, in single precision.

    weights, biases: one pair a layer, shapes (n_in, n_out) and (n_out,)
    """

    NAME = "a network"
    weights: tuple[NDArray[np.float32], ...]
    biases: tuple[NDArray[np.float32], ...]

    def __post_init__(self) -> None:
        sizes, layers = self.sizes, len(self.biases)
        if not 1 <= layers <= MAX_LAYERS or len(self.weights) != layers or max(sizes) > MAX_WIDTH:
            raise checks.InputError(
                f"A network may have {MAX_LAYERS} layers of up to {MAX_WIDTH} units, got {sizes[1:]} on "
                f"{sizes[0]} inputs."
            )
        shapes: dict[str, tuple[int, ...]] = {"mean": (sizes[0],), "scale": (sizes[0],)}
        for k, (a, b) in enumerate(pairwise(sizes)):
            shapes |= {f"weight{k}": (a, b), f"bias{k}": (b,)}
        self._check(np.float32, shapes)

    @property
    def sizes(self) -> list[int]:
        """Numbers of inputs, of units of each layer, and of outputs."""
        return [_length(self.mean), *(_length(bias) for bias in self.biases)]

    def in_double(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Outputs (k, m) for inputs (k, n), computed in double precision."""
        value = np.clip((x - self.mean) / self.scale, -FARTHEST, FARTHEST)
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            value = (np.maximum(value, 0.0) if layer else value) @ weight.astype(np.float64) + bias
        return value

    @classmethod
    def random(cls, sizes: list[int], rng: np.random.Generator) -> "Network":
        """A network with random weights of the usual size."""
        pairs = list(pairwise(sizes))
        weights = tuple(rng.normal(0, np.sqrt(2 / a), (a, b)).astype(np.float32) for a, b in pairs)
        biases = tuple(rng.normal(0, 0.1, b).astype(np.float32) for _, b in pairs)
        return cls(np.zeros(sizes[0], np.float32), np.ones(sizes[0], np.float32), weights, biases)

    def arrays(self) -> dict[str, NDArray]:
        """All arrays by name, for a model file."""
        arrays = {"mean": self.mean, "scale": self.scale}
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays |= {f"weight{k}": weight, f"bias{k}": bias}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> "Network":
        """The network whose `arrays()` these are."""
        layers = sum(name.startswith("weight") for name in arrays)
        names = [f"{part}{k}" for k in range(layers) for part in ("weight", "bias")]
        check_names("A network", arrays, ["mean", "scale", *names])
        weights, biases = (tuple(arrays[f"{part}{k}"] for k in range(layers)) for part in ("weight", "bias"))
        return cls(arrays["mean"], arrays["scale"], weights, biases)

    @property
    def native(self) -> _core.Approximator:
        """The network in the native core."""
        return _core.network(self.mean, self.scale, list(self.weights), list(self.biases))


@dataclass(frozen=True)
class KernelMachine(Approximator):
    """A sum of Gaussian kernels around training examples: a trained support vector machine or Gaussian process.

    Output k is bias_k + sum_i weight_ik exp(-gamma_k |z - centre_i|^2), with the standardised inputs z.

    centres: (m, n), standardised; weights: (m, outputs); gamma, bias: (outputs,)
    """

    NAME = "a kernel machine"
    centres: NDArray[np.float32]
    weights: NDArray[np.float32]
    gamma: NDArray[np.float32]
    bias: NDArray[np.float32]

    def __post_init__(self) -> None:
        (n, m, k), max_centres = self.sizes, 50_000
        if not 0 <= m <= max_centres or n > MAX_WIDTH:
            raise checks.InputError(
                f"A kernel machine may have {max_centres} centres of {MAX_WIDTH} inputs, got {m} of {n}."
            )
        shapes = {"mean": (n,), "scale": (n,), "centres": (m, n), "weights": (m, k), "gamma": (k,), "bias": (k,)}
        self._check(np.float32, shapes)
        if not np.all(self.gamma >= 0):  # otherwise kernels grow without limit away from their centres
            raise checks.InputError(f"gamma of a kernel machine must not be negative, got {self.gamma.min():g}.")

    @property
    def sizes(self) -> list[int]:
        """Numbers of inputs, of centres, and of outputs."""
        return [_length(self.mean), _length(self.centres, 2), _length(self.bias)]

    @property
    def native(self) -> _core.Approximator:
        """The machine in the native core."""
        return _core.kernel_machine(self.mean, self.scale, self.centres, self.weights, self.gamma, self.bias)


@dataclass(frozen=True)
class Trees(Approximator):
    """Gradient-boosted trees: output k is bias_k plus the values of the leaves that the inputs lead to.

    The nodes of all trees are stored one after another.

    bias: (outputs,)
    roots: index of the first node of each tree; output: index of the output it adds to; both (trees,), int32
    feature: input that a node tests, or LEAF, (nodes,), int32
    threshold: standardised; up to it the path goes to `left`, above to the next node; for a leaf its value (nodes,)
    left: index of a node, greater than the node's own (nodes,), int32
    """

    NAME = "an ensemble of trees"
    bias: NDArray[np.float32]
    roots: NDArray[np.int32]
    output: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]

    def __post_init__(self) -> None:
        (n, trees, k), nodes, max_nodes = self.sizes, _length(self.feature), 1_000_000
        if nodes > max_nodes or trees > nodes or n > MAX_WIDTH:
            raise checks.InputError(
                f"Trees may have {max_nodes} nodes on {MAX_WIDTH} inputs, got {trees} trees of {nodes} nodes on {n}."
            )
        self._check(np.float32, {"mean": (n,), "scale": (n,), "bias": (k,), "threshold": (nodes,)})
        self._check(np.int32, {"roots": (trees,), "output": (trees,), "feature": (nodes,), "left": (nodes,)})
        self._check_paths(nodes)

    def _check_paths(self, nodes: int) -> None:
        """Refuse paths that lead back, out, or into another tree, so that every look-up ends."""
        inner = self.feature != LEAF
        starts = np.r_[self.roots, nodes].astype(np.int64)
        sound = nodes == 0 or (len(self.roots) > 0 and starts[0] == 0 and np.all(np.diff(starts) > 0))
        if sound:
            node, left = np.flatnonzero(inner), self.left[inner].astype(np.int64)
            end = np.repeat(starts[1:], np.diff(starts))[inner]  # of the tree that a node belongs to
            sound = np.all((left > node) & (left + 1 < end))
        sound = sound and np.all((self.output >= 0) & (self.output < len(self.bias)))
        if not sound or not np.all((self.feature[inner] >= 0) & (self.feature[inner] < len(self.mean))):
            raise checks.InputError("The trees are damaged: every path must lead on to a leaf of the same tree.")

    @property
    def sizes(self) -> list[int]:
        """Numbers of inputs, of trees, and of outputs."""
        return [_length(self.mean), _length(self.roots), _length(self.bias)]

    @property
    def native(self) -> _core.Approximator:
        """The trees in the native core."""
        return _core.trees(**self.arrays())


def from_arrays(arrays: dict[str, NDArray]) -> Approximator:
    """The approximator whose `arrays()` these are."""
    for mark, of in (("weight0", Network), ("centres", KernelMachine), ("roots", Trees)):  # arrays only this type has
        if mark in arrays:
            return of.from_arrays(arrays)
    raise checks.InputError("An approximator is missing, or of an unknown type.")
