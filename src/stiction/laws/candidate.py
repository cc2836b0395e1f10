"""A rough guess of the friction of a contact: Coulomb's law at the points of the patch, by a few projected sweeps.

It gives a learned law a sense of what friction does in general: which points stick, which way the patch turns. The law
learns the difference.
"""

import numpy as np

from stiction.compiled import compiled
from stiction.spatial import apply, dot

SWEEPS = 20
_OVER_RELAXATION = 1.3


@compiled
def coulomb_guess(contacts, i, points, load, Q, friction, is_round):
    """Friction (2 k,) of the points along the rows of Q (2, 2), both of each point in turn [N s], and the twist (6,)
    that it leaves. Heavier loaded points come first, so that mirror images are treated alike."""
    c = contacts.record[i]
    k = len(points)
    J, response, own = np.zeros((3 * k, 6)), np.empty((3 * k, 6)), np.empty(3 * k)
    for j in range(k):
        x, y, z = points[j]
        J[3 * j, 2], J[3 * j, 3], J[3 * j, 4] = 1.0, y, -x
        for d in range(2):
            a, b = Q[d, 0], Q[d, 1]
            J[3 * j + 1 + d, 0], J[3 * j + 1 + d, 1] = a, b
            J[3 * j + 1 + d, 3], J[3 * j + 1 + d, 4], J[3 * j + 1 + d, 5] = -b * z, a * z, b * x - a * y
    impulse, v = np.zeros(3 * k), np.empty(6)
    for s in range(6):
        v[s] = c.velocity[s]
    for r in range(3 * k):
        moved = apply(c.inverse_inertia, J[r])
        own[r] = dot(J[r], moved)
        if r % 3 == 0:
            impulse[r] = load[r // 3]
        for s in range(6):
            response[r, s] = moved[s]
            v[s] += moved[s] * impulse[r]
    for _ in range(SWEEPS):
        for j in range(k):
            x = _relaxed(impulse, v, J, own, 3 * j + 1)
            y = _relaxed(impulse, v, J, own, 3 * j + 2)
            bears = impulse[3 * j] if is_round else load[j]  # as in the laws that these cones belong to
            x, y = _within(x, y, friction[0] * bears, friction[1] * bears, is_round)
            _set(impulse, v, response, 3 * j + 1, x)
            _set(impulse, v, response, 3 * j + 2, y)
            _set(impulse, v, response, 3 * j, max(0.0, _relaxed(impulse, v, J, own, 3 * j)))
    f = np.empty(2 * k)
    for j in range(k):
        f[2 * j], f[2 * j + 1] = impulse[3 * j + 1], impulse[3 * j + 2]
    return f, v


@compiled
def _relaxed(impulse, v, J, own, r):
    """The impulse of row r that brings its velocity to rest, and a little beyond."""
    return impulse[r] - _OVER_RELAXATION * dot(J[r], v) / own[r] if own[r] > 0 else 0.0


@compiled
def _within(x, y, limit_x, limit_y, is_round):
    """The friction (x, y) brought into its box, or into its ellipse along the line to the origin."""
    if not is_round:
        return min(max(x, -limit_x), limit_x), min(max(y, -limit_y), limit_y)
    if limit_x <= 0 or limit_y <= 0:
        return 0.0, 0.0
    excess = max(1.0, np.hypot(x / limit_x, y / limit_y))
    return x / excess, y / excess


@compiled
def _set(impulse, v, response, r, new):
    """Change the impulse of row r, and the twist with it."""
    change = new - impulse[r]
    impulse[r] = new
    for s in range(6):
        v[s] += response[r, s] * change
