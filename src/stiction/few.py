"""The normal impulse of a patch of few vertices, each with its own target speed, without memory of its own.

A rigid patch needs at most three vertices to carry its load. They are searched for; where that runs in circles, all
sets are tried.
"""

import numpy as np

from stiction.compiled import inlined, lean

MOST_VERTICES = 4
ROOM = 3 * MOST_VERTICES  # numbers for (x, y, target speed) of all vertices
_SLACK = 1e-10  # relative violation that rounding explains
# Sets of vertices that may carry the load, as bits; those that do most often first.
_SETS = (7, 14, 13, 11, 3, 6, 12, 9, 5, 10, 1, 2, 4, 8, 0)


@lean
def press_few(W, points, n, twist, last, P):
    """Write the normal impulse P = (p_z, m_x, m_y) for a twist (6,); the bits of the vertices that carry it, or -1.

    W: inverse inertia (6, 6); points: x, y and target speed of n vertices in turn
    last: bits of the vertices to try first; 0: none
    """
    if last != 0 and _balances(W, points, n, twist, last, P):
        return last
    found = _search(W, points, n, twist, P)
    if found >= 0:
        return found
    for bits in _SETS:
        if bits < 1 << n and _balances(W, points, n, twist, np.int64(bits), P):
            return np.int64(bits)
    return np.int64(-1)


@lean
def _search(W, points, n, twist, P):
    """From those that lack speed, let go who would pull and take in who falls short; the bits where neither, or -1."""
    bits, least, excess = np.int64(0), np.int64(0), np.inf
    for k in range(n):
        lack = _lacks(points, k, twist)
        if lack > 0.0:
            bits |= np.int64(1) << k
            if lack < excess:
                least, excess = np.int64(k), lack
    if n > 3 and bits == (1 << n) - 1:
        bits ^= np.int64(1) << least  # three are enough
    for _ in range(8):
        P[0] = P[1] = P[2] = 0.0
        if bits != 0:
            puller = _load(W, points, n, twist, bits, P)
            if puller >= n:
                return np.int64(-1)
            if puller >= 0:
                bits ^= np.int64(1) << puller
                continue
        short = _falls_short(W, points, n, twist, P)
        if short < 0:
            return bits
        bits |= np.int64(1) << short
        if bits == (1 << n) - 1 and n > 3:
            return np.int64(-1)
    return np.int64(-1)


@lean
def _balances(W, points, n, twist, bits, P):
    """Load the vertices in `bits` until they reach their targets, write P, and say if nothing pulls or falls short."""
    P[0] = P[1] = P[2] = 0.0
    if bits != 0 and _load(W, points, n, twist, bits, P) >= 0:
        return False
    return _falls_short(W, points, n, twist, P) < 0


@inlined
def _falls_short(W, points, n, twist, P):
    """The vertex that is farthest below its target under P; -1: none is, but for rounding."""
    u0 = twist[2] + W[2, 2] * P[0] + W[2, 3] * P[1] + W[2, 4] * P[2]
    u1 = twist[3] + W[3, 2] * P[0] + W[3, 3] * P[1] + W[3, 4] * P[2]
    u2 = twist[4] + W[4, 2] * P[0] + W[4, 3] * P[1] + W[4, 4] * P[2]
    worst, most = np.int64(-1), 0.0
    for k in range(n):
        x, y, target = points[3 * k], points[3 * k + 1], points[3 * k + 2]
        size = abs(u0) + abs(y * u1) + abs(x * u2) + target + abs(twist[2])
        missing = target - (u0 + y * u1 - x * u2)
        if missing > _SLACK * size and missing > most:
            worst, most = np.int64(k), missing
    return worst


@lean
def _load(W, points, n, twist, bits, P):
    """Solve for the loads of up to three vertices by elimination and add them to P; -1.

    If one would pull, nothing is added, and it is returned; n: they are dependent.
    """
    # Row k of the triangle below: response of vertex k to those before it and to itself, then what it lacks.
    a = (0.0, 0.0, 0.0)
    k0 = k1 = k2 = np.int64(-1)
    for k in range(n):
        if bits >> k & 1:
            if k0 < 0:
                k0 = np.int64(k)
            elif k1 < 0:
                k1 = np.int64(k)
            else:
                k2 = np.int64(k)
    a00, l0 = _response(W, points, k0, k0), _lacks(points, k0, twist)
    if k1 < 0:
        if l0 < 0.0:
            return k0
        _add(points, k0, l0 / a00, P)
        return np.int64(-1)
    a10, a11, l1 = _response(W, points, k1, k0), _response(W, points, k1, k1), _lacks(points, k1, twist)
    m = a10 / a00
    d1, r1 = a11 - m * a10, l1 - m * l0
    if not d1 > 1e-9 * a11:
        return np.int64(n)
    n1, n2 = r1 / d1, 0.0
    if k2 >= 0:
        a20, a21 = _response(W, points, k2, k0), _response(W, points, k2, k1)
        a22, l2 = _response(W, points, k2, k2), _lacks(points, k2, twist)
        s = a20 / a00
        e = a21 - s * a10
        d2 = a22 - s * a20 - e * e / d1
        if not d2 > 1e-9 * a22:
            return np.int64(n)
        n2 = (l2 - s * l0 - e * r1 / d1) / d2
        n1 = (r1 - e * n2) / d1
        a = (a20, a21, a22)
    n0 = (l0 - a10 * n1 - a[0] * n2) / a00
    if n0 < 0.0 or n1 < 0.0 or n2 < 0.0:
        return k0 if n0 <= n1 and n0 <= n2 else k1 if n1 <= n2 else k2
    _add(points, k0, n0, P)
    _add(points, k1, n1, P)
    if k2 >= 0:
        _add(points, k2, n2, P)
    return np.int64(-1)


@inlined
def _response(W, points, k, m):
    """How fast vertex k moves up for a unit of load on vertex m."""
    x, y = points[3 * m], points[3 * m + 1]
    g0 = W[2, 2] + W[2, 3] * y - W[2, 4] * x
    g1 = W[3, 2] + W[3, 3] * y - W[3, 4] * x
    g2 = W[4, 2] + W[4, 3] * y - W[4, 4] * x
    return g0 + points[3 * k + 1] * g1 - points[3 * k] * g2


@inlined
def _lacks(points, k, twist):
    return points[3 * k + 2] - (twist[2] + points[3 * k + 1] * twist[3] - points[3 * k] * twist[4])


@inlined
def _add(points, k, load, P):
    P[0] += load
    P[1] += load * points[3 * k + 1]
    P[2] -= load * points[3 * k]
