"""Gradient-boosted trees: sums of the leaves that the inputs lead to."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction import _core

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
        nodes, trees, inner = len(self.feature), len(self.roots), self.feature != LEAF
        whole = all(part.dtype == np.int32 for part in (self.roots, self.output, self.feature, self.left))
        if not whole or self.output.shape != (trees,) or not len(self.left) == len(self.threshold) == nodes:
            raise ValueError("the parts of the trees do not fit together")
        # Paths only lead on, never back or out: whatever the file says, looking up a leaf comes to an end.
        sound = (
            np.all((self.roots >= 0) & (self.roots < nodes))
            and np.all((self.output >= 0) & (self.output < len(self.bias)))
            and np.all((self.feature[inner] >= 0) & (self.feature[inner] < len(self.mean)))
            and np.all((self.left > np.arange(nodes))[inner] & (self.left < nodes - 1)[inner])
        )
        if not sound:
            raise ValueError("the trees lead nowhere")

    @property
    def sizes(self) -> list[int]:
        """Numbers of inputs, of trees, and of outputs."""
        return [len(self.mean), len(self.roots), len(self.bias)]

    def arrays(self) -> dict[str, NDArray]:
        """Everything by name, for a model file."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> "Trees":
        """The trees that `arrays` described."""
        return cls(**arrays)

    @property
    def native(self) -> _core.Approximator:
        """The trees as the native core asks them."""
        return _core.trees(**self.arrays())
