"""Friction of a patch as a whole: greatest dissipation within an ellipsoid of (p_x, p_y, m_z), impacts in parts.

Coordinates are (x, y, spin about the vertical) at the centre of pressure.
"""

import numpy as np

from stiction.bodies.state import Kind, Mode
from stiction.compiled import lean
from stiction.few import MOST_VERTICES, ROOM
from stiction.laws.press import press
from stiction.laws.residual import OUTPUTS, residual
from stiction.lcp import gather, lowest_separation

SWEEPS = 4  # of normal impulse and friction in turn
SLOWEST = 0.02  # [m/s] slip speeds below it count as this one in the coefficient of friction
IMPACT_TIME = 1.7e-3  # [s] over which the normal impulse of an impact acts, as far as its friction is concerned
LEAST_SPIN = 1e-3  # [m] radius of friction against spinning of a patch that is a point
_STILL = 2e-3  # [m/s] a surface that sticks at less than this speed is held exactly
_AGREES = 1e-4  # relative change of the normal impulse at which the sweeps have converged


@lean
def patch_friction(law, contacts, i):
    """Mode of contact i; its friction (p_x, p_y, m_z) at the patch's centre goes to its memo."""
    c = contacts.record[i]
    own = law.each[c.index if len(law.each) > 1 else 0]
    c.rebound[0] = min(1.0, law.restitution * own[1])
    c.rebound[1] = law.restitution_fall
    c.rebound[2] = law.restitution_threshold
    # Room for what is worked on: memory of the record costs nothing.
    f, v, slip, push, P = c.memo[3:6], c.memo[6:12], c.memo[12:15], c.memo[15:18], c.memo[18:21]
    bound, A, points = c.memo[21:24], c.memo[24:33].reshape(3, 3), c.memo[33 : 33 + ROOM]
    for k in range(6):
        c.memo[k] = 0.0
    if c.count <= MOST_VERTICES:
        gather(contacts, i, 0.0, 0.0, points)
    loaded = press(contacts, i, points, c.velocity, np.int64(0), P)
    if not P[0] > 0:
        return np.int64(Mode.DETACH)
    approach = -lowest_separation(contacts, i, c.velocity) - c.fall  # before the step
    impacts = approach > law.restitution_threshold
    factor, turn = own[0], _next_turn(law, c, impacts)
    if len(law.inner) > 0:
        change = c.memo[33 + ROOM : 33 + ROOM + OUTPUTS]
        residual(law, c, P, approach, c.memo[60:], change)
        factor *= np.exp(change[0])
        turn += change[1]
        if impacts:
            c.rebound[0] = min(1.0, c.rebound[0] * np.exp(change[2]))
            if c.count <= MOST_VERTICES:
                gather(contacts, i, 0.0, 0.0, points)
            loaded = press(contacts, i, points, c.velocity, loaded, P)
    sticks = False
    for _ in range(SWEEPS):
        N = P[0]
        x, y, z = -P[2] / N, P[1] / N, c.centre[2]
        away = (x - c.centre[0]) ** 2 + (y - c.centre[1]) ** 2
        radius = law.spin * np.sqrt(max(0.0, c.radius * c.radius - away)) + LEAST_SPIN
        _tangent_problem(c, x, y, z, P, A, slip, push)
        parts, duration = (law.memory, IMPACT_TIME) if impacts else (np.int64(1), c.timestep)
        sticks = _build_up(law, factor, duration, N, parts, radius, turn, A, slip, push, bound, f)
        c.memo[0], c.memo[1] = f[0], f[1]
        c.memo[2] = f[2] + (x - c.centre[0]) * f[1] - (y - c.centre[1]) * f[0]
        _twist_with(c, x, y, z, f, v)
        loaded = press(contacts, i, points, v, loaded, P)
        if not P[0] > 0 or abs(P[0] - N) < _AGREES * N:
            break
    if sticks and c.kind == Kind.SURFACE and not impacts and _is_slow(c):
        return np.int64(Mode.STATIC)
    return np.int64(Mode.DYNAMIC)


@lean
def _next_turn(law, c, impacts):
    """Angle [rad] by which friction is turned in this impact, for a law drawn from its uncertainty."""
    row = c.index if len(law.each) > 1 else 0
    turns = law.each.shape[1] - 2
    if not impacts or turns < 2:
        return 0.0
    law.impacts[row] += 1
    return law.each[row, 2 + law.impacts[row] % turns]


@lean
def _is_slow(c):
    reach = np.abs(c.velocity[3]) + np.abs(c.velocity[4]) + np.abs(c.velocity[5])
    speed = np.abs(c.velocity[0]) + np.abs(c.velocity[1]) + np.abs(c.velocity[2])
    return speed + reach * c.diameter < _STILL + 2 * c.fall


@lean
def _tangent_problem(c, x, y, z, P, A, slip, push):
    """Response A (3, 3) of the tangent velocity at (x, y, z), that velocity before, and what P adds to it."""
    W = c.inverse_inertia
    v = c.velocity
    # Rows of angular parts: x: (0, z, -y), y: (-z, 0, x), spin: (0, 0, 1); W has no coupling of linear and angular.
    Jx, Jy, Js = (0.0, z, -y), (-z, 0.0, x), (0.0, 0.0, 1.0)
    A[0, 0] = W[0, 0] + _form(W, Jx, Jx)
    A[1, 1] = W[1, 1] + _form(W, Jy, Jy)
    A[2, 2] = _form(W, Js, Js)
    A[0, 1] = A[1, 0] = _form(W, Jx, Jy)
    A[0, 2] = A[2, 0] = _form(W, Jx, Js)
    A[1, 2] = A[2, 1] = _form(W, Jy, Js)
    slip[0] = v[0] + z * v[4] - y * v[5]
    slip[1] = v[1] - z * v[3] + x * v[5]
    slip[2] = v[5]
    normal = (P[1], P[2], 0.0)
    push[0], push[1], push[2] = _form(W, Jx, normal), _form(W, Jy, normal), _form(W, Js, normal)


@lean
def _form(W, a, b):
    """a . W b with the angular block of an inverse inertia (6, 6)."""
    total = 0.0
    for k in range(3):
        total += a[k] * (W[3 + k, 3] * b[0] + W[3 + k, 4] * b[1] + W[3 + k, 5] * b[2])
    return total


@lean
def _twist_with(c, x, y, z, f, v):
    """Write v1 + M^-1 (friction f at (x, y, z)) to v (6,)."""
    W = c.inverse_inertia
    m0, m1, m2 = -z * f[1], z * f[0], f[2] + x * f[1] - y * f[0]
    v[0] = c.velocity[0] + W[0, 0] * f[0]
    v[1] = c.velocity[1] + W[1, 1] * f[1]
    v[2] = c.velocity[2]
    for k in range(3):
        v[3 + k] = c.velocity[3 + k] + W[3 + k, 3] * m0 + W[3 + k, 4] * m1 + W[3 + k, 5] * m2


@lean
def _build_up(law, factor, duration, N, parts, radius, turn, A, slip, push, y, f):
    """Write the friction f (3,) of a normal impulse N that comes in parts; whether the patch sticks in the end.

    Friction answers the slip as it was when the share `law.lag` of the impact had not come yet.
    """
    share = N / parts
    force = 1.0 / (1.0 + N / duration / law.friction_load)
    f[0] = f[1] = f[2] = 0.0
    sticks = False
    for k in range(parts):
        done = 1.0 if parts == 1 else max(0.0, (k + 1.0) / parts - law.lag)
        s0 = slip[0] + done * push[0] + A[0, 0] * f[0] + A[0, 1] * f[1] + A[0, 2] * f[2]
        s1 = slip[1] + done * push[1] + A[1, 0] * f[0] + A[1, 1] * f[1] + A[1, 2] * f[2]
        s2 = slip[2] + done * push[2] + A[2, 0] * f[0] + A[2, 1] * f[1] + A[2, 2] * f[2]
        speed = max(SLOWEST, np.sqrt(s0 * s0 + s1 * s1 + (radius * s2) ** 2))
        mu = law.friction * (1.0 + law.friction_rise * np.log10(speed / 0.3))
        mu = max(0.0, factor * (law.friction_loaded + (mu - law.friction_loaded) * force))
        limit = mu * share
        sticks = _dissipate(A, s0, s1, s2, limit, limit * radius, y)
        f0, f1 = limit * y[0], limit * y[1]
        if turn != 0.0:
            f0, f1 = np.cos(turn) * f0 - np.sin(turn) * f1, np.sin(turn) * f0 + np.cos(turn) * f1
        f[0] += f0
        f[1] += f1
        f[2] += limit * radius * y[2]
    return sticks


@lean
def _dissipate(A, s0, s1, s2, limit, twist, y):
    """Write the y (3,), |y| <= 1, for which the impulse (limit, limit, twist) * y leaves the least energy.

    Returns whether that stops the slip.
    The slip after it is opposite to y in the scaled coordinates: (B + t 1) y = -b with t >= 0 and |y| = 1, or t = 0.
    """
    b0, b1, b2 = s0 * limit, s1 * limit, s2 * twist
    size = np.sqrt(b0 * b0 + b1 * b1 + b2 * b2)
    if not size > 0.0:
        y[0] = y[1] = y[2] = 0.0
        return True
    a00, a11, a22 = A[0, 0] * limit * limit, A[1, 1] * limit * limit, A[2, 2] * twist * twist
    a01, a02, a12 = A[0, 1] * limit * limit, A[0, 2] * limit * twist, A[1, 2] * limit * twist
    trace = a00 + a11 + a22
    t = max(1e-12 * trace, size - trace)
    sticks = False
    for k in range(60):
        # LDL of B + t
        d0 = a00 + t
        l1, l2 = a01 / d0, a02 / d0
        d1 = a11 + t - l1 * a01
        e = a12 - l1 * a02
        m = e / d1
        d2 = a22 + t - l2 * a02 - m * e
        z0, z1 = -b0, -b1 + l1 * b0
        z2 = -b2 + l2 * b0 - m * z1
        y[2] = z2 / d2
        y[1] = z1 / d1 - m * y[2]
        y[0] = z0 / d0 - l1 * y[1] - l2 * y[2]
        norm = np.sqrt(y[0] * y[0] + y[1] * y[1] + y[2] * y[2])
        if norm <= 1.0 + 1e-9:
            sticks = k == 0 and t <= 1e-12 * trace
            break
        z1 = y[1] - l1 * y[0]
        z2 = y[2] - l2 * y[0] - m * z1
        steep = y[0] * y[0] / d0 + z1 * z1 / d1 + z2 * z2 / d2  # y . (B + t)^-1 y
        t += (norm - 1.0) * norm * norm / steep if steep > 0 else size
    if not sticks and norm > 0:
        for k in range(3):
            y[k] /= norm
    return sticks
