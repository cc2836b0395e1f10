"""What physics settles exactly: the frictionless normal impulse and the impulse that stops a patch.

The normal impulse is unique in three numbers P = (p_z, m_x, m_y), however many vertices touch: vertex k at (x, y)
moves up with a_k . u, where a_k = (1, y, -x) and u = (v_z, w_x, w_y), and pushes P by n_k a_k with n_k >= 0.
"""

import numpy as np

from stiction.compiled import compiled, lean
from stiction.patch import contact_point, patch_vertex, vertex_height
from stiction.spatial import apply, copy, dot
from stiction.state import Kind

MOST_ACTIVE = 8  # vertices that may carry load at once; three suffice for a rigid contact, more serve a soft one
REBOUND_SPEED = 0.5  # [m/s] approach speed at which a coefficient of restitution is stated
_TINY = 1e-12


@compiled
def normal_impulse(contacts, i, twist, softness, rate, cap):
    """FrictionlessLCP: the P = (p_z, m_x, m_y) after which every touching vertex separates at its target or faster.

    twist: before the normal impulse, shape (6,)
    softness: share of a vertex's own response that it yields under load; 0 is a rigid contact
    rate, cap: target separation speed min(rate * depth, cap) of a vertex [1/s, m/s]; rate 0: its `rebound_speed`

    A dual active-set method (Goldfarb and Idnani 1983): add the vertex that violates most, drop those that would pull.
    """
    G = _normal_mobility(contacts, i)
    u = np.array([twist[2], twist[3], twist[4]])
    rows = np.empty((MOST_ACTIVE + 1, 3))  # a_k of the active vertices, then of the newcomer
    load = np.zeros(MOST_ACTIVE + 1)
    number = np.empty(MOST_ACTIVE + 1, dtype=np.int64)
    active = 0
    P, now = np.zeros(3), np.empty(3)
    scale = 0.0
    for _ in range(4 * contacts.record[i].count + 40):
        for m in range(3):
            now[m] = G[m, 0] * P[0] + G[m, 1] * P[1] + G[m, 2] * P[2] + u[m]
        worst, gap, largest = _most_violated(contacts, i, now, rate, cap, number, active)
        scale = max(scale, largest)
        if not gap < -_TINY * scale:
            break
        x, y, _z = contact_point(contacts, i, worst)
        rows[active, 0], rows[active, 1], rows[active, 2] = 1.0, y, -x
        number[active] = worst
        load[active] = 0.0
        active = admit(G, rows, load, number, active, gap, softness)
        for m in range(3):
            P[m] = 0.0
            for k in range(active):
                P[m] += load[k] * rows[k, m]
    return P


@compiled
def admit(G, rows, load, number, active, gap, softness):
    """Load the newcomer `rows[active]` until its gap closes, dropping vertices whose load falls to zero on the way."""
    while True:
        r0, r1, r2 = rows[active, 0], rows[active, 1], rows[active, 2]
        g0 = G[0, 0] * r0 + G[0, 1] * r1 + G[0, 2] * r2
        g1 = G[1, 0] * r0 + G[1, 1] * r1 + G[1, 2] * r2
        g2 = G[2, 0] * r0 + G[2, 1] * r1 + G[2, 2] * r2
        own = (1 + softness) * (r0 * g0 + r1 * g1 + r2 * g2)
        coupling = np.empty(active)
        for k in range(active):
            coupling[k] = rows[k, 0] * g0 + rows[k, 1] * g1 + rows[k, 2] * g2
        relief = coupling  # load that the others lose for each unit
        if active > 0:
            relief = solve_semidefinite(_gram(G, rows, active, softness), coupling)
        stiffness = own - dot(coupling, relief)
        full = np.inf
        if stiffness > _TINY * own and active < len(load) - 1:
            full = -gap / stiffness
        first, step = -1, full
        for k in range(active):
            if relief[k] > 0 and load[k] < step * relief[k]:
                first, step = k, load[k] / relief[k]
        if not np.isfinite(step):
            return active  # only when the input was not finite: leave the newcomer out
        for k in range(active):
            load[k] = max(0.0, load[k] - step * relief[k])
        load[active] += step
        if first < 0:
            return active + 1
        gap += step * max(0.0, stiffness)
        for k in range(first, active):
            copy(rows[k + 1], rows[k])
            load[k], number[k] = load[k + 1], number[k + 1]
        active -= 1


@lean
def _most_violated(contacts, i, u, rate, cap, number, active):
    """The touching vertex farthest below its target speed, the active ones aside; by how much; the largest speed."""
    c = contacts.record[i]
    worst, lowest, largest = 0, np.inf, 0.0
    for k in range(c.count):
        x, y, _z = contact_point(contacts, i, k)
        speed = u[0] + y * u[1] - x * u[2]
        target = 0.0
        if rate > 0:
            target = min(rate * max(0.0, -vertex_height(contacts.vertices, c, patch_vertex(contacts, i, k))), cap)
        elif c.rebound[0] > 0:
            target = rebound_speed(c, x, y)
        largest = max(largest, abs(speed), target)
        if speed - target < lowest:
            known = False
            for m in range(active):
                known = known or number[m] == k
            if not known:
                worst, lowest = k, speed - target
    return worst, lowest, largest


@lean
def rebound_speed(c, x, y):
    """Speed [m/s] at which a vertex at (x, y) is to leave the ground: e(v) v for its approach speed v before the step.

    What gravity adds in the step counts neither before nor after, or bounces would gain energy.

    e(v) = e0 (v / REBOUND_SPEED)^-exponent (1 - threshold / v), at most 1, with (e0, exponent, threshold) = c.rebound;
    slower approaches than the threshold [m/s] do not bounce.
    """
    v = x * c.velocity[4] - y * c.velocity[3] - c.velocity[2] - c.fall
    if v <= c.rebound[2]:
        return 0.0
    e = c.rebound[0]
    if c.rebound[1] != 0.0:
        e *= (v / REBOUND_SPEED) ** -c.rebound[1]
    return max(0.0, min(1.0, e * (1 - c.rebound[2] / v)) * v - c.fall)


@lean
def lowest_separation(contacts, i, twist):
    """The smallest upward speed of the touching vertices [m/s]."""
    lowest = np.inf
    for k in range(contacts.record[i].count):
        x, y, _z = contact_point(contacts, i, k)
        lowest = min(lowest, twist[2] + y * twist[3] - x * twist[4])
    return lowest


@compiled
def twist_after(contacts, i, p):
    """v1 + M^-1 p: the twist (6,) after an impulse p (6,)."""
    c = contacts.record[i]
    out = apply(c.inverse_inertia, p)
    for k in range(6):
        out[k] += c.velocity[k]
    return out


@compiled
def static_impulse(contacts, i):
    """SolveConstraint: the impulse (6,) after which the patch's twist is zero.

    The patch has 3 degrees of freedom as a point, 5 as a line (it may turn about itself), 6 as a surface.
    """
    c = contacts.record[i]
    S = patch_rows(c)
    n = len(S)
    SW = np.empty((n, 6))
    for r in range(n):
        copy(apply(c.inverse_inertia, S[r]), SW[r])
    A = np.empty((n, n))
    b = np.empty(n)
    for r in range(n):
        b[r] = -dot(S[r], c.velocity)
        for k in range(n):
            A[r, k] = dot(SW[r], S[k])
    x = solve_semidefinite(A, b)
    p = np.zeros(6)
    for r in range(n):
        for k in range(6):
            p[k] += S[r, k] * x[r]
    return p


@compiled
def patch_rows(c):
    """Rows S that map a twist at the centre of mass to the patch's velocity at its centre and its turning."""
    n = 6 if c.kind == Kind.SURFACE else 5 if c.kind == Kind.LINE else 3
    S = np.zeros((n, 6))
    x, y, z = c.centre
    for k in range(3):
        S[k, k] = 1.0
    S[0, 4], S[0, 5] = z, -y
    S[1, 3], S[1, 5] = -z, x
    S[2, 3], S[2, 4] = y, -x
    if n == 6:
        for k in range(3):
            S[3 + k, 3 + k] = 1.0
    elif n == 5:
        a = c.axis
        flat = np.hypot(a[0], a[1])
        e0, e1 = -a[1] / flat, a[0] / flat  # horizontal and across the line
        S[3, 3], S[3, 4] = e0, e1
        S[4, 3], S[4, 4], S[4, 5] = -a[2] * e1, a[2] * e0, a[0] * e1 - a[1] * e0
    return S


@compiled
def _normal_mobility(contacts, i):
    """How (v_z, w_x, w_y) responds to (p_z, m_x, m_y): a block of the inverse inertia."""
    c = contacts.record[i]
    G = np.empty((3, 3))
    for k in range(3):
        for m in range(3):
            G[k, m] = c.inverse_inertia[2 + k, 2 + m]
    return G


@compiled
def _gram(G, rows, active, softness):
    A = np.empty((active, active))
    for k in range(active):
        g0 = G[0, 0] * rows[k, 0] + G[0, 1] * rows[k, 1] + G[0, 2] * rows[k, 2]
        g1 = G[1, 0] * rows[k, 0] + G[1, 1] * rows[k, 1] + G[1, 2] * rows[k, 2]
        g2 = G[2, 0] * rows[k, 0] + G[2, 1] * rows[k, 1] + G[2, 2] * rows[k, 2]
        for m in range(active):
            A[k, m] = rows[m, 0] * g0 + rows[m, 1] * g1 + rows[m, 2] * g2
        A[k, k] *= 1 + softness
    return A


@compiled
def solve_semidefinite(A, b):
    """Solve A x = b for a positive semidefinite A; directions without mobility get no impulse. A is overwritten."""
    n = len(b)
    x = b.copy()
    free = np.ones(n, dtype=np.bool_)
    for k in range(n):
        own = A[k, k]
        for m in range(k):
            if free[m]:
                A[k, k] -= A[k, m] * A[k, m] * A[m, m]
                x[k] -= A[k, m] * x[m]
        if not A[k, k] > _TINY * own:
            free[k] = False
            continue
        for r in range(k + 1, n):
            for m in range(k):
                if free[m]:
                    A[r, k] -= A[r, m] * A[k, m] * A[m, m]
            A[r, k] /= A[k, k]
    for k in range(n - 1, -1, -1):
        x[k] = x[k] / A[k, k] if free[k] else 0.0
        for r in range(k + 1, n):
            if free[k] and free[r]:
                x[k] -= A[r, k] * x[r]
    return x
