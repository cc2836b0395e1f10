"""What learns the map from a contact's description to its mode or friction: networks, kernel machines or trees.

All approximators of a law lie in one array of numbers with a table of where each begins, so that compiled code carries
two arrays, whatever and however many they are.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.state import Mode
from stiction.compiled import inlined, lean
from stiction.laws.frame import is_described
from stiction.laws.kernels import KernelMachine, evaluate_kernels
from stiction.laws.networks import MOST_LAYERS, SPACE, TOGETHER, WIDEST, Network, evaluate_network
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


@lean
def evaluate_all(numbers, table, roles, role, contacts, mode):
    """Write the answers for the descriptions of the contacts in a mode, or of all if that is NONE, into their records.

    The table has `roles` approximators for each kind of patch; `role` is the number of the wanted one. The values of
    layers are in `contacts.room` meanwhile.
    """
    space = contacts.room[: SPACE // 2].view(np.float32)
    n = len(contacts.record)
    for kind in range(len(table) // roles):
        row, count = roles * kind + role, np.int64(0)
        for i in range(n):
            c = contacts.record[i]
            if c.kind == kind + 1 and is_described(c) and (mode == Mode.NONE or c.mode == mode):
                standardise(numbers, table, row, c.memo, space, count)
                contacts.record[count].place = i
                count += 1
            if count == TOGETHER or (count > 0 and i == n - 1):
                evaluate(numbers, table, row, count, space, contacts.record.place, contacts.record.answer)
                count = np.int64(0)


@inlined
def standardise(numbers, table, row, x, space, place):
    """Write the inputs x for approximator `row`, standardised and clipped, as number `place` of those in `space`."""
    at, n = table[row, 1], table[row, 2]
    mean, scale = numbers[at : at + n], numbers[at + n : at + 2 * n]
    z = space[place * WIDEST : place * WIDEST + n]
    for k in range(n):
        value = (np.float32(x[k]) - mean[k]) * scale[k]
        value = value if value > np.float32(-FARTHEST) else np.float32(-FARTHEST)
        z[k] = value if value < np.float32(FARTHEST) else np.float32(FARTHEST)


@inlined
def evaluate(numbers, table, row, count, space, places, out):
    """Write the outputs of approximator `row` for the first `count` inputs in `space`, as rows `places` of `out`."""
    n = table[row, 2]
    at, layout = table[row, 1] + 2 * n, table[row, _LAYOUT:]
    if table[row, 0] == 0:
        evaluate_network(numbers, at, layout, n, count, space, places, out)
        return
    for k in range(count):
        z, y = space[k * WIDEST : k * WIDEST + n], out[places[k]]
        if table[row, 0] == 1:
            evaluate_kernels(numbers, at, layout, z, y)
        else:
            evaluate_trees(numbers, at, layout, z, y)


@lean
def beyond(numbers, table, row, x):
    """Whether approximator `row` would clip an input of x: it has seen nothing like it."""
    at, n = table[row, 1], table[row, 2]
    for k in range(n):
        if not abs((np.float32(x[k]) - numbers[at + k]) * numbers[at + n + k]) <= np.float32(FARTHEST):
            return True
    return False
