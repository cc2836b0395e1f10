"""What learns the map from a contact's description to its mode or friction: networks, kernel machines or trees.

All approximators of a law lie in one array of numbers with a table of where each begins, so that compiled code carries
two arrays, whatever and however many they are.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stiction.compiled import compiled
from stiction.laws.kernels import KernelMachine, evaluate_kernels
from stiction.laws.networks import MOST_LAYERS, Network, evaluate_network
from stiction.laws.trees import Trees, evaluate_trees

Approximator = Network | KernelMachine | Trees
FARTHEST = 6.0  # standardised inputs are clipped here: beyond it nothing was seen
_TYPES = (Network, KernelMachine, Trees)
_MARKS = ("weight0", "centres", "roots")  # an array that only this type has
_LAYOUT = 4  # columns of the table before the layout: type, begin, inputs, outputs


def pack(approximators: Sequence[Approximator]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """All numbers one after another, and a table: type, begin, inputs, outputs, layout."""
    numbers: list[NDArray[np.float32]] = []
    table = np.zeros((len(approximators), _LAYOUT + 1 + MOST_LAYERS), dtype=np.int64)
    begin = 0
    for row, approximator in enumerate(approximators):
        parts = [approximator.mean, 1 / approximator.scale, *approximator.numbers()]
        sizes, layout = approximator.sizes, approximator.layout()
        table[row, :_LAYOUT] = _TYPES.index(type(approximator)), begin, sizes[0], sizes[-1]
        table[row, _LAYOUT : _LAYOUT + len(layout)] = layout
        begin += sum(len(part) for part in parts)
        numbers += [np.asarray(part, np.float32) for part in parts]
    return np.concatenate(numbers), table


def from_arrays(arrays: dict[str, NDArray]) -> Approximator:
    """The approximator whose `arrays()` these are."""
    for kind, mark in zip(_TYPES, _MARKS, strict=True):
        if mark in arrays:
            return kind.from_arrays(arrays)
    raise ValueError("an approximator is missing, or of an unknown type")


@compiled
def outputs_of(table, row):
    """Number of outputs of approximator `row`."""
    return table[row, 3]


@compiled
def evaluate(numbers, table, row, x, out):
    """Write the outputs of approximator `row` for the inputs x into `out` (float64)."""
    at, n = table[row, 1], table[row, 2]
    z = np.empty(n, dtype=np.float32)
    for k in range(n):
        value = (np.float32(x[k]) - numbers[at + k]) * numbers[at + n + k]
        z[k] = min(max(value, np.float32(-FARTHEST)), np.float32(FARTHEST))
    at += 2 * n
    layout = table[row, _LAYOUT:]
    if table[row, 0] == 0:
        evaluate_network(numbers, at, layout, z, out)
    elif table[row, 0] == 1:
        evaluate_kernels(numbers, at, layout, z, out)
    else:
        evaluate_trees(numbers, at, layout, z, out)


@compiled
def beyond(numbers, table, row, x):
    """Whether approximator `row` would clip an input of x: it has seen nothing like it."""
    at, n = table[row, 1], table[row, 2]
    for k in range(n):
        if not abs((np.float32(x[k]) - numbers[at + k]) * numbers[at + n + k]) <= np.float32(FARTHEST):
            return True
    return False
