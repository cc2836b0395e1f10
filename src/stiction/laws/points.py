"""A few points that stand for a patch, and how its normal impulse is shared among them."""

import numpy as np

from stiction.bodies.state import Kind
from stiction.compiled import lean
from stiction.lanes import any_of, load, store, where
from stiction.laws.rows import INERTIA, LOAD, MASSES, NORMAL, OF_A_POINT, POINTS, RELAX, X, Y, Z
from stiction.patch import contact_point, lowest_of_patch
from stiction.semidefinite import solve_three

MOST_POINTS = 5  # of a patch with more vertices, the extreme ones in EXTREMES directions stand for all
EXTREMES = 4
_WEIGHT = RELAX  # a row that is free until the sweeps
_SMALL_LOAD = 1e-12  # share of the whole that is rounding


@lean
def number_of_points(c):
    """How many points stand for the patch of a record."""
    if c.kind == Kind.POINT:
        return np.int64(1)
    return np.int64(c.count) if c.count <= MOST_POINTS else np.int64(EXTREMES)


@lean
def write_points(contacts, i, x, y, out, first, step, stride):
    """Write the points relative to the centre of mass, all vertices or the extreme ones of many, into a flat array.

    x, y: direction in which the first of the extreme ones lies; where the load is, so that they can carry it
    first: place of the first point's x; its y and z are `step` and 2 `step` further, the next point `stride` further
    """
    c = contacts.record[i]
    if c.kind == Kind.POINT:
        for m in range(3):
            out[first + m * step] = c.centre[m]
        return
    for d in range(number_of_points(c)):
        k = np.int64(d)
        if c.count > MOST_POINTS:
            k = lowest_of_patch(contacts, i, -x, -y)
            x, y = -y, x  # a quarter turn on
        at = first + d * stride
        out[at], out[at + step], out[at + 2 * step] = contact_point(contacts, i, k)


@lean
def share_load(room, k, zero):
    """Share the normal impulse P among k points, in lanes: loads [N s] that add up to it, none a pull; heaviest first.

    Each load is weighted by the point's own response, as by a contact that yields a little: among all ways to share
    the load among more than three points, the one that soft contacts take.
    """
    p_z, m_x, m_y = load(room, NORMAL, zero), load(room, NORMAL + 1, zero), load(room, NORMAL + 2, zero)
    if k == 1:
        store(room, POINTS + LOAD, where(p_z > 0.0, p_z, zero))
        return
    for j in range(k):
        store(room, POINTS + OF_A_POINT * j + _WEIGHT, _one_over_yield(room, j, zero))
    for _ in range(k):
        # Sums over the points that push of a a^T / yield, with a = (1, y, -x).
        n, s_y, s_x, yy, xx, xy = zero, zero, zero, zero, zero, zero
        for j in range(k):
            p = POINTS + OF_A_POINT * j
            x, y, weight = load(room, p + X, zero), load(room, p + Y, zero), load(room, p + _WEIGHT, zero)
            n, s_y, s_x = n + weight, s_y + weight * y, s_x - weight * x
            yy, xx, xy = yy + weight * y * y, xx + weight * x * x, xy - weight * x * y
        a, b, c = solve_three(n, s_y, s_x, yy, xy, xx, p_z, m_x, m_y)
        worst, least = zero - 1.0, -_SMALL_LOAD * p_z
        for j in range(k):
            p = POINTS + OF_A_POINT * j
            x, y, weight = load(room, p + X, zero), load(room, p + Y, zero), load(room, p + _WEIGHT, zero)
            own = (a + b * y - c * x) * weight
            store(room, p + LOAD, where(own > _SMALL_LOAD * p_z, own, zero))
            worst, least = where(own < least, zero + j, worst), where(own < least, own, least)
        if not any_of(worst > -1.0):
            break
        for j in range(k):  # who would have to pull most is left out
            p = POINTS + OF_A_POINT * j
            store(room, p + _WEIGHT, where(worst == 1.0 * j, zero, load(room, p + _WEIGHT, zero)))
    _heaviest_first(room, k, zero)


@lean
def _one_over_yield(room, j, zero):
    """The inverse of how fast point j rises for a unit push."""
    p = POINTS + OF_A_POINT * j
    x, y, mass = load(room, p + X, zero), load(room, p + Y, zero), load(room, MASSES + 2, zero)
    a, b, d = load(room, INERTIA, zero), load(room, INERTIA + 1, zero), load(room, INERTIA + 3, zero)
    return 1.0 / (mass + y * (a * y - b * x) - x * (b * y - d * x))


@lean
def _heaviest_first(room, k, zero):
    """Put the points in the order of their loads."""
    for n in range(1, k):
        for m in range(n, 0, -1):
            p = POINTS + OF_A_POINT * m
            q = p - OF_A_POINT
            lighter = load(room, q + LOAD, zero) < load(room, p + LOAD, zero)
            if not any_of(lighter):
                break
            for row in (X, Y, Z, LOAD):
                a, b = load(room, q + row, zero), load(room, p + row, zero)
                store(room, q + row, where(lighter, b, a))
                store(room, p + row, where(lighter, a, b))
