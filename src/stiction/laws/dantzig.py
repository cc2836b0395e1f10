"""Friction boxes: the boxed linear complementarity problem of all vertices, solved as DART's Dantzig solver does.

Rows are the vertices' normals, then x and y of each vertex in turn: A x + b = w is the velocity after the impulses x.
"""

import numpy as np

from stiction.compiled import compiled
from stiction.semidefinite import solve_semidefinite


@compiled
def box_impulses(A, b, friction):
    """Dantzig's method: the normals first, without friction; then friction within mu times those normals."""
    n = len(b)
    m = n // 3
    x, w = np.zeros(n), b.copy()
    low, high = np.zeros(n), np.full(n, np.inf)
    free = np.zeros(n, dtype=np.bool_)
    for i in range(m):
        _drive(A, x, w, low, high, free, i, m)
    for k in range(m):
        for d in range(2):
            bound = friction[d] * x[k]
            low[m + 2 * k + d], high[m + 2 * k + d] = -bound, bound
    for r in range(m, n):
        for k in range(m):
            w[r] += A[r, k] * x[k]
    for i in range(m, n):
        _drive(A, x, w, low, high, free, i, n)
    return x


@compiled
def _drive(A, x, w, low, high, free, i, n):
    """Bring row i to a solution while the rows before it stay solved: one variable moves, the free ones follow.

    A row is solved when it is free with w = 0, or at its lower bound with w >= 0, or at its upper one with w <= 0.
    """
    if A[i, i] <= 0.0 or (x[i] == low[i] and w[i] >= 0) or (x[i] == high[i] and w[i] <= 0):
        return
    for _ in range(50 + 10 * n):
        direction = -1.0 if w[i] > 0 else 1.0
        members = np.flatnonzero(free[:i])
        block, side = np.empty((len(members), len(members))), np.empty(len(members))
        for r in range(len(members)):
            side[r] = -direction * A[members[r], i]
            for k in range(len(members)):
                block[r, k] = A[members[r], members[k]]
        follow = solve_semidefinite(block, side)
        speed = np.empty(n)  # of w
        for r in range(n):
            speed[r] = A[r, i] * direction
            for k in range(len(members)):
                speed[r] += A[r, members[k]] * follow[k]
        step, event = np.inf, i
        if w[i] == 0.0 or speed[i] * w[i] < 0:
            step = -w[i] / speed[i]
        bound = high[i] if direction > 0 else low[i]
        at_bound = abs(bound - x[i]) <= step
        if at_bound:
            step = abs(bound - x[i])
        for k in range(len(members)):
            r = members[k]
            limit = high[r] if follow[k] > 0 else low[r]
            if follow[k] != 0 and (limit - x[r]) / follow[k] < step:
                step, event = max(0.0, (limit - x[r]) / follow[k]), r
        for r in range(i):
            leaving = not free[r] and ((x[r] == low[r] and speed[r] < 0) or (x[r] == high[r] and speed[r] > 0))
            if leaving and low[r] < high[r] and -w[r] / speed[r] < step:
                step, event = max(0.0, -w[r] / speed[r]), r
        if not np.isfinite(step):
            return
        x[i] += step * direction
        for k in range(len(members)):
            x[members[k]] += step * follow[k]
        for r in range(n):
            w[r] += step * speed[r]
        if event == i:
            if at_bound:
                x[i] = bound
            else:
                w[i] = 0.0
                free[i] = True
            return
        if free[event]:  # it has met a bound
            free[event] = False
            x[event] = high[event] if abs(high[event] - x[event]) < abs(low[event] - x[event]) else low[event]
        else:  # it comes off its bound
            free[event] = True
            w[event] = 0.0
