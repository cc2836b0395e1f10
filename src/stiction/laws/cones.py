"""Friction cones: Coulomb's law with the actual normal impulse at every vertex, round or elliptic.

Rows as in `dantzig`: the vertices' normals, then x and y of each vertex in turn.
"""

import numpy as np

from stiction.compiled import compiled
from stiction.spatial import copy, dot

_ROUNDS, _SWEEPS, _NEWTON = 40, 4, 15  # of the cone solver: most rounds, and most sweeps and iterations in each
_SETTLED = 1e-13  # relative change at which it ends


@compiled
def cone_impulses(A, b, friction):
    """Newton's method, with Gauss-Seidel sweeps to bring it close enough."""
    x = np.zeros(len(b))
    for turn in range(_ROUNDS):
        settled = True
        for _ in range(_SWEEPS << min(turn, 5)):
            settled = _sweep_cones(A, b, friction, x)
        if settled:
            break
        exact = x.copy()
        if _newton(A, b, friction, exact):
            copy(exact, x)
            break
    return x


@compiled
def _sweep_cones(A, b, friction, x):
    """One Gauss-Seidel sweep over the vertices, each with its own cone solved exactly; True when nothing changes."""
    m = len(b) // 3
    change = size = 0.0
    B, q, old = np.empty((3, 3)), np.empty(3), np.empty(3)
    rows = np.empty(3, dtype=np.int64)
    for k in range(m):
        rows[0], rows[1], rows[2] = k, m + 2 * k, m + 2 * k + 1
        for r in range(3):
            old[r] = x[rows[r]]
            q[r] = b[rows[r]] + dot(A[rows[r]], x)
            for s in range(3):
                B[r, s] = A[rows[r], rows[s]]
                q[r] -= B[r, s] * x[rows[s]]
        new = _vertex_impulse(B, q, friction)
        for r in range(3):
            x[rows[r]] = new[r]
            change = max(change, abs(new[r] - old[r]))
            size = max(size, abs(new[r]))
    return change <= _SETTLED * size


@compiled
def _newton(A, b, friction, x):
    """Semi-smooth Newton method (Alart and Curnier 1991) from x, in place; False if it does not converge.

    In each iteration every vertex is open (x = 0), sticks (w = 0) or slips (w_z = 0, friction on the cone).
    """
    n = len(b)
    speed = 0.0
    for r in range(n):
        speed = max(speed, abs(b[r]))
    J, residual = np.empty((n, n)), np.empty(n)
    for _ in range(_NEWTON):
        error = 0.0
        for k in range(n // 3):
            _vertex_equations(A, b, friction, x, k, J, residual)
        for r in range(n):
            error = max(error, abs(residual[r]))
        if error <= _SETTLED * speed:
            return True
        step = _solve_general(J, residual)
        for r in range(n):
            x[r] -= step[r]
            if not np.isfinite(x[r]):
                return False
    return False


@compiled
def _vertex_equations(A, b, friction, x, k, J, residual):
    """Write the equations of vertex k, all in units of velocity, and their derivatives.

    With the cone scaled to a round one, g = f / mu and y = mu w: friction slips when t = g - r y leaves |g| <= n, and
    then g = n t / |t|, which also opposes the slip.
    """
    n = len(b)
    m = n // 3
    rows = (k, m + 2 * k, m + 2 * k + 1)
    stiff = A[k, k]
    for r in rows:
        residual[r] = b[r] + dot(A[r], x)
        for s in range(n):
            J[r, s] = A[r, s]
    load = x[k] - residual[k] / stiff
    if load <= 0.0:  # open
        for r in rows:
            _let_be_zero(x, r, stiff, J, residual)
        return
    r_f = 1.0 / (stiff * max(friction[0], friction[1], 1e-300) ** 2)
    t0 = t1 = 0.0
    if friction[0] > 0:
        t0 = x[rows[1]] / friction[0] - r_f * friction[0] * residual[rows[1]]
    if friction[1] > 0:
        t1 = x[rows[2]] / friction[1] - r_f * friction[1] * residual[rows[2]]
    length = np.hypot(t0, t1)
    if length > load or friction[0] == 0.0 or friction[1] == 0.0:
        _slip_equation(x, friction[0], t0, t1, length, r_f, k, rows[1], rows[2], friction[1], A, J, residual)
        _slip_equation(x, friction[1], t1, t0, length, r_f, k, rows[2], rows[1], friction[0], A, J, residual)


@compiled
def _let_be_zero(x, r, stiff, J, residual):
    for s in range(len(x)):
        J[r, s] = 0.0
    J[r, r] = stiff
    residual[r] = stiff * x[r]


@compiled
def _slip_equation(x, mu, t, t_other, length, r_f, k, row, other, mu_other, A, J, residual):
    """Replace `row` by mu (g - n t / |t|) = 0."""
    stiff = A[k, k]
    _let_be_zero(x, row, stiff, J, residual)
    if mu == 0.0 or length == 0.0:
        return
    d, d_other = t / length, t_other / length
    bend = x[k] / length
    residual[row] -= stiff * mu * x[k] * d
    J[row, k] -= stiff * mu * d
    # The direction t / |t| turns with that part of t's change that lies across it.
    across, across_other = (1 - d * d), -d * d_other
    J[row, row] -= stiff * bend * across
    if mu_other > 0:
        J[row, other] -= stiff * mu * bend * across_other / mu_other
    for s in range(len(x)):
        turn = across * mu * A[row, s] + across_other * mu_other * A[other, s]
        J[row, s] += stiff * mu * bend * r_f * turn


@compiled
def _solve_general(A, b):
    """Solve A x = b by elimination with row exchange; A is overwritten."""
    n = len(b)
    x = b.copy()
    for k in range(n):
        best = k
        for r in range(k + 1, n):
            if abs(A[r, k]) > abs(A[best, k]):
                best = r
        if best != k:
            for s in range(n):
                A[k, s], A[best, s] = A[best, s], A[k, s]
            x[k], x[best] = x[best], x[k]
        for r in range(k + 1, n):
            factor = A[r, k] / A[k, k]
            for s in range(k + 1, n):
                A[r, s] -= factor * A[k, s]
            x[r] -= factor * x[k]
    for k in range(n - 1, -1, -1):
        for s in range(k + 1, n):
            x[k] -= A[k, s] * x[s]
        x[k] /= A[k, k]
    return x


@compiled
def _vertex_impulse(B, q, friction):
    """Impulse (n, f_x, f_y) of one vertex with response B (3, 3) and velocity q (3,) without it."""
    p = np.zeros(3)
    if q[0] >= 0.0:
        return p
    # With u_z = 0 the normal impulse follows from friction; C f + c is then the sliding velocity.
    C, c = np.empty((2, 2)), np.empty(2)
    for r in range(2):
        c[r] = q[1 + r] - B[1 + r, 0] * q[0] / B[0, 0]
        for s in range(2):
            C[r, s] = B[1 + r, 1 + s] - B[1 + r, 0] * B[0, 1 + s] / B[0, 0]
    if friction[0] == 0.0 or friction[1] == 0.0:
        p[0] = -q[0] / B[0, 0]
        return p
    low, high = 0.0, 0.0
    if _excess(B, q, C, c, friction, 0.0, p) > 0.0:  # slides: find how strongly friction opposes the slip
        high = max(C[0, 0], C[1, 1]) * max(friction[0], friction[1]) ** 2
        while _excess(B, q, C, c, friction, high, p) > 0.0:
            low, high = high, 4 * high
        for _ in range(200):
            middle = 0.5 * (low + high)
            if middle <= low or middle >= high:
                break
            if _excess(B, q, C, c, friction, middle, p) > 0.0:
                low = middle
            else:
                high = middle
        _excess(B, q, C, c, friction, high, p)
    return p if p[0] > 0.0 else np.zeros(3)


@compiled
def _excess(B, q, C, c, friction, slip, p):
    """Fill p with the impulse whose slip is -slip f / mu^2 and return how far it lies outside the cone."""
    a = C[0, 0] + slip / friction[0] ** 2
    d = C[1, 1] + slip / friction[1] ** 2
    off = C[0, 1]
    det = a * d - off * off
    if det > 1e-14 * a * d:
        p[1] = (-c[0] * d + c[1] * off) / det
        p[2] = (-c[1] * a + c[0] * off) / det
    else:  # no mobility across: a planar body
        p[1] = -c[0] / a if a > 0 else 0.0
        p[2] = -c[1] / d if d > 0 and a <= 0 else 0.0
    p[0] = -(q[0] + B[0, 1] * p[1] + B[0, 2] * p[2]) / B[0, 0]
    return np.hypot(p[1] / friction[0], p[2] / friction[1]) - p[0]
