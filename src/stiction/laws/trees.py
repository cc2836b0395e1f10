"""Gradient-boosted trees: sums of the leaves that the inputs lead to."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks
from stiction.laws.fitting import check_arrays, check_names, check_scale, length
from stiction.laws.networks import WIDEST

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
