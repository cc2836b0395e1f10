"""Which vertices carry load, and how much: the steps of a dual active-set method (Goldfarb and Idnani 1983)."""

from typing import NamedTuple

import numpy as np

from stiction.compiled import compiled, lean
from stiction.semidefinite import solve_in_place
from stiction.spatial import dot

_TINY = 1e-12  # share of a vertex's own response that rounding leaves


class Loads(NamedTuple):
    """The vertices that carry load, then the newcomer.

    load: [N s]; number: what tells a vertex from others; place: its (x, y), (m, 2)
    gram: how fast each rises for a unit push on each, (m, m); system, coupling, relief, free: room to solve in
    count: how many carried load last time, (1,), for those who ask
    """

    load: np.ndarray
    number: np.ndarray
    place: np.ndarray
    gram: np.ndarray
    system: np.ndarray
    coupling: np.ndarray
    relief: np.ndarray
    free: np.ndarray
    count: np.ndarray


@compiled
def new_loads(most):
    """Room for so many vertices and a newcomer."""
    m = most + 1
    s = m * m
    numbers = np.zeros(2 * s + 5 * m)
    rest = numbers[2 * s :]
    return Loads(
        rest[:m],
        np.zeros(m, dtype=np.int64),
        rest[m : 3 * m].reshape(m, 2),
        numbers[:s].reshape(m, m),
        numbers[s : 2 * s].reshape(m, m),
        rest[3 * m : 4 * m],
        rest[4 * m :],
        np.zeros(m, dtype=np.bool_),
        np.zeros(1, dtype=np.int64),
    )


@lean
def carry(loads, active, softness):
    """Whether the first `active` vertices close their gaps, which `load` holds, together and without a pull; with the
    loads that they carry then."""
    load = loads.load
    for k in range(active):
        for m in range(active):
            loads.system[k, m] = loads.gram[k, m]
        loads.system[k, k] *= 1 + softness
    solve_in_place(loads.system, load, loads.free, active)
    for k in range(active):
        if not (loads.free[k] and 0.0 <= load[k] < np.inf):
            return False
    return True


@lean
def admit(loads, active, gap, softness):
    """Load the newcomer, number `active`, until its gap closes, dropping vertices whose load falls to zero on the way;
    how many carry load then."""
    load, gram, coupling, relief = loads.load, loads.gram, loads.coupling, loads.relief
    load[active] = 0.0
    while True:
        own = (1 + softness) * gram[active, active]
        for k in range(active):
            coupling[k] = relief[k] = gram[k, active]
            for m in range(active):
                loads.system[k, m] = gram[k, m]
            loads.system[k, k] *= 1 + softness
        solve_in_place(loads.system, relief, loads.free, active)  # load that the others lose for each unit
        stiffness = own - dot(coupling[:active], relief[:active])
        full = np.inf
        if stiffness > _TINY * own and active < len(load) - 1:
            full = -gap / stiffness
        first, step = np.int64(-1), full
        for k in range(active):
            if relief[k] > 0 and load[k] < step * relief[k]:
                first, step = np.int64(k), load[k] / relief[k]
        if not np.isfinite(step):
            return active  # only when the input was not finite: leave the newcomer out
        for k in range(active):
            load[k] = max(0.0, load[k] - step * relief[k])
        load[active] += step
        if first < 0:
            return active + 1
        gap += step * max(0.0, stiffness)
        _drop(loads, first, active)
        active -= 1


@lean
def _drop(loads, first, active):
    """Take vertex number `first` out; the newcomer, number `active`, moves up like all behind it."""
    for k in range(first, active):
        loads.load[k], loads.number[k] = loads.load[k + 1], loads.number[k + 1]
        loads.place[k, 0], loads.place[k, 1] = loads.place[k + 1, 0], loads.place[k + 1, 1]
        for m in range(active + 1):
            loads.gram[k, m] = loads.gram[k + 1, m]
    for k in range(active):
        for m in range(first, active):
            loads.gram[k, m] = loads.gram[k, m + 1]
