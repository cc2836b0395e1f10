"""A few points that stand for a patch, and how its normal impulse is shared among them."""

import numpy as np

from stiction.compiled import compiled, lean
from stiction.patch import contact_point, lowest_of_patch
from stiction.semidefinite import solve_three
from stiction.state import Kind

MOST_POINTS = 8  # a patch with more vertices is represented by its extreme ones in as many directions


@lean
def number_of_points(c):
    """How many points stand for the patch of a record."""
    return np.int64(1) if c.kind == Kind.POINT else min(np.int64(c.count), np.int64(MOST_POINTS))


@lean
def write_points(contacts, i, points):
    """Write the points (k, 3) relative to the centre of mass: all vertices, or the extreme ones of many."""
    c = contacts.record[i]
    if c.kind == Kind.POINT:
        for m in range(3):
            points[0, m] = c.centre[m]
        return
    if c.count <= MOST_POINTS:
        for k in range(c.count):
            points[k, 0], points[k, 1], points[k, 2] = contact_point(contacts, i, k)
        return
    for d in range(MOST_POINTS):
        angle = (2 * d + 1) * np.pi / MOST_POINTS
        k = lowest_of_patch(contacts, i, -np.cos(angle), -np.sin(angle))
        points[d, 0], points[d, 1], points[d, 2] = contact_point(contacts, i, k)


@compiled
def patch_points(contacts, i):
    """The points of the patch, as an array (k, 3)."""
    points = np.empty((number_of_points(contacts.record[i]), 3))
    write_points(contacts, i, points)
    return points


@lean
def share_load(W, points, k, P, load):
    """Write loads (k,) of the points [N s] that add up to the normal impulse P, none of them a pull; heaviest first.

    The points (k, 3) are put into the same order. W: inverse inertia (6, 6)

    Each load is weighted by the point's own response, as by a contact that yields a little: among all ways to share
    the load among more than three points, the one that soft contacts take.
    """
    if k == 1:
        load[0] = max(0.0, P[0])
        return
    for j in range(k):
        load[j] = 1.0  # while it is not known otherwise, a point pushes
    for _ in range(k):
        # Sums over the points that push of a a^T / yield, with a = (1, y, -x).
        n = s_y = s_x = yy = xx = xy = 0.0
        for j in range(k):
            if load[j] > -np.inf:
                x, y = points[j, 0], points[j, 1]
                weight = 1.0 / _yield(W, x, y)
                n += weight
                s_y += weight * y
                s_x -= weight * x
                yy += weight * y * y
                xx += weight * x * x
                xy -= weight * x * y
        a, b, c = solve_three(n, s_y, s_x, yy, xy, xx, P[0], P[1], P[2])
        worst, least = np.int64(-1), -1e-12 * P[0]
        for j in range(k):
            if load[j] > -np.inf:
                x, y = points[j, 0], points[j, 1]
                load[j] = (a + b * y - c * x) / _yield(W, x, y)
                if load[j] < least:
                    worst, least = j, load[j]
        if worst < 0:
            break
        load[worst] = -np.inf
    for j in range(k):
        load[j] = max(0.0, load[j])
    _heaviest_first(points, k, load)


@lean
def _yield(W, x, y):
    """How fast a point at (x, y) rises for a unit push."""
    return W[2, 2] + y * (W[3, 3] * y - W[3, 4] * x) - x * (W[4, 3] * y - W[4, 4] * x)


@lean
def _heaviest_first(points, k, load):
    """Sort both in place."""
    for n in range(1, k):
        m = n
        while m > 0 and load[m - 1] < load[m]:
            load[m - 1], load[m] = load[m], load[m - 1]
            for s in range(3):
                points[m - 1, s], points[m, s] = points[m, s], points[m - 1, s]
            m -= 1
