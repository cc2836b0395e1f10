"""The normal impulse of a patch of few vertices, found again and again while friction changes.

The same problem as `lcp.normal_impulse`. Here points and targets are looked up once, and the vertices that carried the
load last time are tried first, which is right nearly always.
"""

import numpy as np

from stiction.compiled import compiled, lean
from stiction.few import MOST_VERTICES, press_few
from stiction.lcp import normal_impulse, rebound_speed
from stiction.patch import contact_point


@lean
def gather(contacts, i, points):
    """Note (x, y, target speed) of all vertices of contact i in `points` (ROOM,); whether they are few enough."""
    n = contacts.record[i].count
    if n > MOST_VERTICES:
        return False
    for k in range(n):
        x, y, _z = contact_point(contacts, i, k)
        points[3 * k], points[3 * k + 1] = x, y
        points[3 * k + 2] = rebound_speed(contacts.record[i], x, y)
    return True


@compiled
def press(contacts, i, few, points, twist, last, P):
    """Write the normal impulse P = (p_z, m_x, m_y) for a twist (6,); the bits of the vertices that carry it.

    few, points: from `gather`
    last: bits of the vertices to try first; 0: none
    """
    c = contacts.record[i]
    found = press_few(c.inverse_inertia, points, c.count, twist, last, P) if few else np.int64(-1)
    if found < 0:
        whole = normal_impulse(contacts, i, twist, 0.0, 0.0, 0.0)
        for k in range(3):
            P[k] = whole[k]
    return max(np.int64(0), found)
