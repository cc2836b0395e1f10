"""The normal impulse of a patch of few vertices, found again and again while friction changes.

The same problem as `lcp.normal_impulse`. Here points and targets are looked up once, and the vertices that carried the
load last time are tried first, which is right nearly always.
"""

import numpy as np

from stiction.compiled import lean
from stiction.few import MOST_VERTICES, press_few
from stiction.lcp import normal_impulse


@lean
def press(contacts, i, points, twist, last, P):
    """Write the normal impulse P = (p_z, m_x, m_y) for a twist (6,); the bits of the vertices that carry it.

    points: from `lcp.gather`, if the vertices are few
    last: bits of the vertices to try first; 0: none
    """
    c = contacts.record[i]
    found = np.int64(-1)
    if c.count <= MOST_VERTICES:
        found = press_few(c.inverse_inertia, points, c.count, twist, last, P)
    if found < 0:
        whole = normal_impulse(contacts, i, twist, 0.0, 0.0, 0.0)
        for k in range(3):
            P[k] = whole[k]
    return max(np.int64(0), found)
