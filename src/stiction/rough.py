"""Where to begin: friction of all links together by a rough Coulomb law, with a few projected sweeps.

A light foot of a heavy robot is asked about its own small momentum, so that the law's answers move its friction by
small steps only. Coulomb's law for the whole system has no such trouble, and leaves the learned law a short way to go.
"""

import numpy as np

from stiction.compiled import compiled
from stiction.laws.points import MOST_POINTS, patch_points

SWEEPS = 60


@compiled
def rough_impulses(contacts, L, V, mu, is_round, p_f):
    """Write friction p_f (n, 5) at the patches' centres, for twists V (6 n,) without contact and inverse inertia L."""
    n = len(contacts.record)
    place = np.empty((MOST_POINTS * n, 3))
    link = np.empty(MOST_POINTS * n, dtype=np.int64)
    count = 0
    for i in range(n):
        points = patch_points(contacts, i)
        for j in range(len(points)):
            for k in range(3):
                place[count, k] = points[j, k]
            link[count] = i
            count += 1
    response, own = np.zeros((3 * count, 6 * n)), np.zeros(3 * count)
    rows = np.zeros((3 * count, 6))
    for j in range(count):
        x, y, z = place[j]
        rows[3 * j, 2], rows[3 * j, 3], rows[3 * j, 4] = 1.0, y, -x
        rows[3 * j + 1, 0], rows[3 * j + 1, 4], rows[3 * j + 1, 5] = 1.0, z, -y
        rows[3 * j + 2, 1], rows[3 * j + 2, 3], rows[3 * j + 2, 5] = 1.0, -z, x
        for r in range(3 * j, 3 * j + 3):
            for m in range(6):
                if rows[r, m] != 0.0:
                    for k in range(6 * n):
                        response[r, k] += L[k, 6 * link[j] + m] * rows[r, m]
            for m in range(6):
                own[r] += rows[r, m] * response[r, 6 * link[j] + m]
    impulse, v = np.zeros(3 * count), V.copy()
    for _ in range(SWEEPS):
        for j in range(count):
            b = 6 * link[j]
            _set(impulse, v, response, 3 * j, max(0.0, _stopping(impulse, v, rows, own, 3 * j, b)))
            x = _stopping(impulse, v, rows, own, 3 * j + 1, b)
            y = _stopping(impulse, v, rows, own, 3 * j + 2, b)
            x, y = _within(x, y, mu[0] * impulse[3 * j], mu[1] * impulse[3 * j], is_round)
            _set(impulse, v, response, 3 * j + 1, x)
            _set(impulse, v, response, 3 * j + 2, y)
    for i in range(n):
        for k in range(5):
            p_f[i, k] = 0.0
    for j in range(count):
        i = link[j]
        c = contacts.record[i]
        x, y, z = place[j, 0] - c.centre[0], place[j, 1] - c.centre[1], place[j, 2] - c.centre[2]
        f_x, f_y = impulse[3 * j + 1], impulse[3 * j + 2]
        p_f[i, 0] += f_x
        p_f[i, 1] += f_y
        p_f[i, 2] += x * f_y - y * f_x
        p_f[i, 3] -= z * f_y
        p_f[i, 4] += z * f_x


@compiled
def _stopping(impulse, v, rows, own, r, b):
    """The impulse of row r that brings its velocity to rest; b is where its link begins."""
    if not own[r] > 0.0:
        return 0.0
    speed = 0.0
    for m in range(6):
        speed += rows[r, m] * v[b + m]
    return impulse[r] - speed / own[r]


@compiled
def _within(x, y, limit_x, limit_y, is_round):
    """The friction (x, y) brought into its box, or into its ellipse along the line to the origin."""
    if not is_round:
        return min(max(x, -limit_x), limit_x), min(max(y, -limit_y), limit_y)
    if limit_x <= 0.0 or limit_y <= 0.0:
        return 0.0, 0.0
    excess = max(1.0, np.hypot(x / limit_x, y / limit_y))
    return x / excess, y / excess


@compiled
def _set(impulse, v, response, r, new):
    """Change the impulse of row r, and all twists with it."""
    change = new - impulse[r]
    if change != 0.0:
        impulse[r] = new
        for k in range(len(v)):
            v[k] += response[r, k] * change
