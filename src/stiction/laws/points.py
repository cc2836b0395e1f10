"""A few points that stand for a patch, and how its normal impulse is shared among them."""

import numpy as np

from stiction.compiled import compiled
from stiction.lcp import solve_semidefinite
from stiction.patch import contact_point
from stiction.spatial import dot
from stiction.state import Kind

MOST_POINTS = 8  # a patch with more vertices is represented by its extreme ones in as many directions


@compiled
def patch_points(contacts, i):
    """Points (k, 3) of the patch relative to the centre of mass: all its vertices, or the extreme ones of many."""
    c = contacts.record[i]
    if c.kind == Kind.POINT:
        out = np.empty((1, 3))
        for m in range(3):
            out[0, m] = c.centre[m]
        return out
    if c.count <= MOST_POINTS:
        out = np.empty((c.count, 3))
        for k in range(c.count):
            out[k, 0], out[k, 1], out[k, 2] = contact_point(contacts, i, k)
        return out
    out = np.empty((MOST_POINTS, 3))
    for d in range(MOST_POINTS):
        angle = (2 * d + 1) * np.pi / MOST_POINTS
        out[d, 0], out[d, 1], out[d, 2] = _extreme_point(contacts, i, np.cos(angle), np.sin(angle))
    return out


@compiled
def _extreme_point(contacts, i, dx, dy):
    best, farthest = np.int64(0), -np.inf
    for k in range(contacts.record[i].count):
        x, y, _z = contact_point(contacts, i, k)
        if dx * x + dy * y > farthest:
            best, farthest = k, dx * x + dy * y
    return contact_point(contacts, i, best)


@compiled
def share_load(contacts, i, points, P):
    """Loads (k,) of the points [N s] that add up to the normal impulse P, none of them a pull; heaviest first.

    The points (k, 3) are put into the same order.

    Each load is weighted by the point's own response, as by a contact that yields a little: among all ways to share
    the load among more than three points, the one that soft contacts take.
    """
    c = contacts.record[i]
    k = len(points)
    load, yields = np.zeros(k), np.zeros(k)
    rows = np.empty((k, 3))
    for j in range(k):
        rows[j, 0], rows[j, 1], rows[j, 2] = 1.0, points[j, 1], -points[j, 0]
        for r in range(3):
            for s in range(3):
                yields[j] += rows[j, r] * c.inverse_inertia[2 + r, 2 + s] * rows[j, s]
    pushes = np.ones(k, dtype=np.bool_)
    for _ in range(k):
        A = np.zeros((3, 3))
        for j in range(k):
            if pushes[j]:
                for r in range(3):
                    for s in range(3):
                        A[r, s] += rows[j, r] * rows[j, s] / yields[j]
        multiplier = solve_semidefinite(A, P)
        worst, least = -1, -1e-12 * P[0]
        for j in range(k):
            load[j] = dot(rows[j], multiplier) / yields[j] if pushes[j] else 0.0
            if load[j] < least:
                worst, least = j, load[j]
        if worst < 0:
            break
        pushes[worst] = False
    for j in range(k):
        load[j] = max(0.0, load[j])
    _heaviest_first(points, load)
    return load


@compiled
def _heaviest_first(points, load):
    """Sort both in place."""
    for k in range(1, len(load)):
        m = k
        while m > 0 and load[m - 1] < load[m]:
            load[m - 1], load[m] = load[m], load[m - 1]
            for s in range(3):
                points[m - 1, s], points[m, s] = points[m, s], points[m - 1, s]
            m -= 1
