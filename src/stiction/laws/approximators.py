"""What learns the map from a contact's description to its mode or friction: networks, kernel machines or trees."""

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks

# Arrays of an approximator, checked against each other before the native core sees them.


def check_arrays(whose: str, dtype: Any, arrays: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> None:
    """Refuse arrays that do not have just this type and these shapes, one a name."""
    for name, shape in shapes.items():
        array = arrays[name]
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
            got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            raise checks.InputError(f"{name} of {whose} must be {np.dtype(dtype)} of shape {shape}, got {got}.")


def check_scale(whose: str, scale: Any) -> None:
    """Refuse scales of inputs that are not above zero."""
    if not np.all(scale > 0):
        raise checks.InputError(f"scale of {whose} must be positive, got {scale.min():g}.")


def check_names(whose: str, arrays: dict[str, Any], wanted: list[str]) -> None:
    """Refuse arrays of other names than those that are wanted."""
    for name in wanted:
        if name not in arrays:
            raise checks.InputError(f"{whose} has no array {name!r}.")
    for name in arrays:
        if name not in wanted:
            raise checks.InputError(f"{whose} has an array {checks.shown(name)} that means nothing.")


def length(array: Any) -> int:
    """Of an array of one axis; -1 of anything else, which fits nothing."""
    return len(array) if isinstance(array, np.ndarray) and array.ndim == 1 else -1


def freeze(arrays: dict[str, Any]) -> None:
    """Let nobody write to these arrays from here on: the core has a copy, which would not follow."""
    for array in arrays.values():
        array.flags.writeable = False


# Small feed-forward networks: ReLU layers on standardised inputs, single precision.


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


# Kernel machines: sums of Gaussian bumps around training examples, as support vector machines and Gaussian processes
# are once they are trained.


MOST_CENTRES = 50_000


@dataclass(frozen=True)
class KernelMachine:
    """Output k is bias_k + sum_i weight_ik exp(-gamma_k |z - centre_i|^2), z the standardised inputs.

    mean, scale: of the inputs, shape (n,)
    centres: (m, n), standardised; weights: (m, outputs); gamma, bias: (outputs,)
    """

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    centres: NDArray[np.float32]
    weights: NDArray[np.float32]
    gamma: NDArray[np.float32]
    bias: NDArray[np.float32]

    def __post_init__(self) -> None:
        n, m, k = self.sizes
        if not 0 <= m <= MOST_CENTRES or n > WIDEST:
            raise checks.InputError(
                f"A kernel machine may have {MOST_CENTRES} centres of {WIDEST} inputs, got {m} of {n}."
            )
        shapes = {"mean": (n,), "scale": (n,), "centres": (m, n), "weights": (m, k), "gamma": (k,), "bias": (k,)}
        check_arrays("a kernel machine", np.float32, self.arrays(), shapes)
        check_scale("a kernel machine", self.scale)
        if not np.all(self.gamma >= 0):  # else bumps grow without end, away from their centres
            raise checks.InputError(f"gamma of a kernel machine must not be negative, got {self.gamma.min():g}.")

    @property
    def sizes(self) -> list[int]:
        """Numbers of inputs, of centres, and of outputs."""
        centres = len(self.centres) if isinstance(self.centres, np.ndarray) and self.centres.ndim == 2 else -1
        return [length(self.mean), centres, length(self.bias)]

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Everything by name, for a model file."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> "KernelMachine":
        """The machine that `arrays` described."""
        check_names("A kernel machine", arrays, [part.name for part in fields(cls)])
        return cls(**arrays)

    @property
    def native(self) -> _core.Approximator:
        """The machine as the native core asks it."""
        return _core.kernel_machine(**self.arrays())


# Gradient-boosted trees: sums of the leaves that the inputs lead to.


MOST_NODES = 1_000_000
LEAF = _core.LEAF  # the feature of a leaf


@dataclass(frozen=True)
class Trees:
    """Output k is bias_k plus the leaf of each tree that belongs to it. Nodes of all trees lie one after another.

    mean, scale: of the inputs, shape (n,)
    bias: (outputs,)
    roots: number of the first node of each tree; output: which one it adds to; both (trees,), int32
    feature: input that a node looks at, or LEAF, (nodes,), int32
    threshold: standardised; at most that much leads to `left`, more to the node after it; of a leaf, its value (nodes,)
    left: number of a node, greater than the node's own (nodes,), int32
    """

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    bias: NDArray[np.float32]
    roots: NDArray[np.int32]
    output: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]

    def __post_init__(self) -> None:
        n, trees, k = self.sizes
        nodes = length(self.feature)
        if nodes > MOST_NODES or trees > nodes or n > WIDEST:
            raise checks.InputError(
                f"Trees may have {MOST_NODES} nodes on {WIDEST} inputs, got {trees} trees of {nodes} nodes on {n}."
            )
        numbers = {"mean": (n,), "scale": (n,), "bias": (k,), "threshold": (nodes,)}
        places = {"roots": (trees,), "output": (trees,), "feature": (nodes,), "left": (nodes,)}
        check_arrays("trees", np.float32, self.arrays(), numbers)
        check_arrays("trees", np.int32, self.arrays(), places)
        check_scale("trees", self.scale)
        self._check_paths(nodes)

    def _check_paths(self, nodes: int) -> None:
        """Refuse paths that lead back, out, or into another tree: looking up leaves must end, whatever a file says."""
        inner = self.feature != LEAF
        begins = np.r_[self.roots, nodes].astype(np.int64)
        sound = nodes == 0 or (len(self.roots) > 0 and begins[0] == 0 and np.all(np.diff(begins) > 0))
        if sound:
            own, left = np.flatnonzero(inner), self.left[inner].astype(np.int64)
            end = np.repeat(begins[1:], np.diff(begins))[inner]  # of the tree that a node belongs to
            sound = np.all((left > own) & (left + 1 < end))
        sound = sound and np.all((self.output >= 0) & (self.output < len(self.bias)))
        if not sound or not np.all((self.feature[inner] >= 0) & (self.feature[inner] < len(self.mean))):
            raise checks.InputError("The trees lead nowhere: paths must lead on to leaves of the same tree.")

    @property
    def sizes(self) -> list[int]:
        """Numbers of inputs, of trees, and of outputs."""
        return [length(self.mean), length(self.roots), length(self.bias)]

    def arrays(self) -> dict[str, NDArray]:
        """Everything by name, for a model file."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> "Trees":
        """The trees that `arrays` described."""
        check_names("An ensemble of trees", arrays, [part.name for part in fields(cls)])
        return cls(**arrays)

    @property
    def native(self) -> _core.Approximator:
        """The trees as the native core asks them."""
        return _core.trees(**self.arrays())


Approximator = Network | KernelMachine | Trees
FARTHEST = _core.FARTHEST  # standardised inputs are clipped here: beyond it nothing was seen
_TYPES = {"weight0": Network, "centres": KernelMachine, "roots": Trees}  # by an array that only this type has


def from_arrays(arrays: dict[str, NDArray]) -> Approximator:
    """The approximator whose `arrays()` these are."""
    for mark, kind in _TYPES.items():
        if mark in arrays:
            return kind.from_arrays(arrays)
    raise checks.InputError("An approximator is missing, or of an unknown type.")
