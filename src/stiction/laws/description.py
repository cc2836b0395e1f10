"""The contact-space description of contacts in lanes: how they look from their patches, free of units and folded.

The frictionless normal impulse N0 is known. Tangent coordinates at the patch's centre are (x, y, L yaw) with L the
patch's radius; u is the tangent velocity after N0, C the response to friction while the loaded points stay down, and
q = -C^-1 u the friction that would stop the patch. Impulses are divided by N0 and squeezed by a / (1 + |a|).
"""

import numpy as np

from stiction.bodies.state import Kind
from stiction.compiled import lean
from stiction.lanes import load, magnitude, root, store, where
from stiction.laws.candidate import first_velocity, set_points, sweep
from stiction.laws.points import share_load
from stiction.laws.rows import (
    BEFORE_X,
    BEFORE_Y,
    CENTRE,
    FEATURES,
    GUESSED,
    IMPULSE,
    INERTIA,
    LENGTH,
    LOAD,
    MASSES,
    NORMAL,
    OF_A_POINT,
    POINTS,
    RESPONSE,
    SENSITIVITY,
    SLIP,
    TURN,
    TWIST,
    X,
    Y,
    Z,
)
from stiction.semidefinite import solve_three

_SMALL_LOAD = 1e-9  # share of N0 below which a point does not count as loaded
_TINY = 1e-300


@lean
def describe_lanes(room, recipe, kind, k, mass, zero):
    """Describe contacts of one kind, with k points each: gathered rows in, features, frame and guess out.

    zero: 0.0 for one contact, `lanes.zeros()` for several. The logarithm of one feature is left to be taken.
    """
    share_load(room, k, zero)
    _push_up(room, zero)
    _respond_to_friction(room, k, zero)
    _fold(room, recipe.fold, kind, k, zero)
    set_points(room, k, recipe.friction, zero)
    if recipe.guess:
        sweep(room, k, recipe.friction, recipe.round, zero)
    _guess(room, k, zero)
    o = _whole_patch(room, kind, k, mass, recipe.friction, zero)
    if kind != Kind.POINT:
        o = _pressure(room, o, k, zero)
        _single_points(room, o, kind, k, mass, zero)


@lean
def _push_up(room, zero):
    """Apply the normal impulse to the twist, and note u."""
    p_z, m_x, m_y = load(room, NORMAL, zero), load(room, NORMAL + 1, zero), load(room, NORMAL + 2, zero)
    a, b, c = load(room, INERTIA, zero), load(room, INERTIA + 1, zero), load(room, INERTIA + 2, zero)
    d, e = load(room, INERTIA + 3, zero), load(room, INERTIA + 4, zero)
    v_x, v_y = load(room, TWIST, zero), load(room, TWIST + 1, zero)
    w_x = load(room, TWIST + 3, zero) + a * m_x + b * m_y
    w_y = load(room, TWIST + 4, zero) + b * m_x + d * m_y
    w_z = load(room, TWIST + 5, zero) + c * m_x + e * m_y
    store(room, TWIST + 2, load(room, TWIST + 2, zero) + load(room, MASSES + 2, zero) * p_z)
    store(room, TWIST + 3, w_x)
    store(room, TWIST + 4, w_y)
    store(room, TWIST + 5, w_z)
    x, y, z = load(room, CENTRE, zero), load(room, CENTRE + 1, zero), load(room, CENTRE + 2, zero)
    store(room, SLIP, v_x + z * w_y - y * w_z)
    store(room, SLIP + 1, v_y - z * w_x + x * w_z)
    store(room, SLIP + 2, load(room, LENGTH, zero) * w_z)


@lean
def _respond_to_friction(room, k, zero):
    """Note C, how the tangent velocity (x, y, L yaw) of the centre responds to friction while the loaded points stay
    down, and S, how the whole load changes with friction."""
    A, B, C = load(room, INERTIA, zero), load(room, INERTIA + 1, zero), load(room, INERTIA + 2, zero)
    D, E, F = load(room, INERTIA + 3, zero), load(room, INERTIA + 4, zero), load(room, INERTIA + 5, zero)
    mass, L = load(room, MASSES + 2, zero), load(room, LENGTH, zero)
    x, y, z = load(room, CENTRE, zero), load(room, CENTRE + 1, zero), load(room, CENTRE + 2, zero)
    # Turning for a unit friction along x, with arm (0, z, -y), along y, with arm (-z, 0, x), and of yaw.
    a, b, c = B * z - C * y, D * z - E * y, E * z - F * y
    d, f = C * x - A * z, F * x - C * z
    xx, xy, yy = load(room, MASSES, zero) + z * b - y * c, x * c - z * a, load(room, MASSES + 1, zero) + x * f - z * d
    xl, yl, ll = L * c, L * f, L * L * F
    s_x, s_y, s_l, total = zero, zero, zero, zero
    for j in range(k):
        total = total + load(room, POINTS + OF_A_POINT * j + LOAD, zero)
    # Rows (1, y, -x) of the loaded points, made independent of each other one by one; three hold all that can be held.
    held = zero
    b10, b11, b12, own1, b20, b21, b22, own2 = zero, zero, zero, zero + 1.0, zero, zero, zero, zero + 1.0
    for j in range(k):
        p = POINTS + OF_A_POINT * j
        r0, r1, r2 = zero + 1.0, load(room, p + Y, zero), 0.0 - load(room, p + X, zero)
        g0, g1, g2 = mass * r0, A * r1 + B * r2, B * r1 + D * r2
        whole = r0 * g0 + r1 * g1 + r2 * g2
        part, other = (b10 * g0 + b11 * g1 + b12 * g2) / own1, (b20 * g0 + b21 * g1 + b22 * g2) / own2
        r0, r1, r2 = r0 - part * b10, r1 - part * b11, r2 - part * b12
        r0, r1, r2 = r0 - other * b20, r1 - other * b21, r2 - other * b22
        g0, g1, g2 = mass * r0, A * r1 + B * r2, B * r1 + D * r2
        own = r0 * g0 + r1 * g1 + r2 * g2
        holds = (load(room, p + LOAD, zero) > _SMALL_LOAD * total) & (held < 3.0) & (own > 1e-9 * whole)
        share = where(holds, 1.0 / own, 0.0)
        yaw = C * r1 + E * r2
        t_x, t_y, t_l = z * g2 - y * yaw, x * yaw - z * g1, L * yaw
        xx, xy, yy = xx - t_x * t_x * share, xy - t_x * t_y * share, yy - t_y * t_y * share
        xl, yl, ll = xl - t_x * t_l * share, yl - t_y * t_l * share, ll - t_l * t_l * share
        s_x, s_y, s_l = s_x - r0 * t_x * share, s_y - r0 * t_y * share, s_l - r0 * t_l * share
        first, second = holds & (held == 0.0), holds & (held == 1.0)
        b10, b11, b12, own1 = (
            where(first, r0, b10),
            where(first, r1, b11),
            where(first, r2, b12),
            where(first, own, own1),
        )
        b20, b21, b22 = where(second, r0, b20), where(second, r1, b21), where(second, r2, b22)
        own2 = where(second, own, own2)
        held = where(holds, held + 1.0, held)
    store(room, RESPONSE, xx)
    store(room, RESPONSE + 1, xy)
    store(room, RESPONSE + 2, yy)
    store(room, RESPONSE + 3, xl)
    store(room, RESPONSE + 4, yl)
    store(room, RESPONSE + 5, ll)
    store(room, SENSITIVITY, s_x)
    store(room, SENSITIVITY + 1, s_y)
    store(room, SENSITIVITY + 2, s_l)


@lean
def _turn(room, fold, kind, zero):
    """Rows (q, r), (s, t) of the mirror or rotation that brings the tangent velocity u into its standard sector."""
    u_x, u_y, one = load(room, SLIP, zero), load(room, SLIP + 1, zero), zero + 1.0
    if fold == 1 or fold == 2:
        q, t = where(u_x < 0.0, zero - 1.0, one), where(u_y < 0.0, zero - 1.0, one)
        if fold == 1:
            return q, zero, zero, t
        swap = magnitude(u_y) > magnitude(u_x)
        return where(swap, zero, q), where(swap, t, zero), where(swap, q, zero), where(swap, zero, t)
    if fold == 3:
        length = root(u_x * u_x + u_y * u_y)
        x, y = where(length > 0.0, u_x / length, one), where(length > 0.0, u_y / length, zero)
        # Which of two mirror images is told by the yaw, or for a point, which has none, by its skew response.
        skew = load(room, SLIP + 2, zero)
        if kind == Kind.POINT:
            xx, xy, yy = load(room, RESPONSE, zero), load(room, RESPONSE + 1, zero), load(room, RESPONSE + 2, zero)
            skew = x * y * (yy - xx) + (x * x - y * y) * xy
        side = where(skew < 0.0, zero - 1.0, one)
        return x, y, 0.0 - side * y, side * x
    return one, zero, zero, one


@lean
def _fold(room, fold, kind, k, zero):
    """Turn and mirror everything to the standard sector."""
    q, r, s, t = _turn(room, fold, kind, zero)
    mirror = q * t - r * s  # what turns, turns the other way in a mirror
    store(room, TURN, q)
    store(room, TURN + 1, r)
    store(room, TURN + 2, s)
    store(room, TURN + 3, t)
    _turn_vector(room, SLIP, q, r, s, t, zero)
    _turn_vector(room, SENSITIVITY, q, r, s, t, zero)
    _turn_vector(room, CENTRE, q, r, s, t, zero)
    _turn_vector(room, TWIST, q, r, s, t, zero)
    _turn_vector(room, TWIST + 3, mirror * q, mirror * r, mirror * s, mirror * t, zero)
    _turn_vector(room, RESPONSE + 3, mirror * q, mirror * r, mirror * s, mirror * t, zero)
    for row in (SLIP + 2, SENSITIVITY + 2, TWIST + 5):
        store(room, row, mirror * load(room, row, zero))
    for j in range(k):
        _turn_vector(room, POINTS + OF_A_POINT * j, q, r, s, t, zero)
    _turn_tensor(room, RESPONSE, 1, 2, q, r, s, t, zero)
    _turn_tensor(room, INERTIA, 1, 3, q, r, s, t, zero)
    e, f = load(room, INERTIA + 2, zero), load(room, INERTIA + 4, zero)
    store(room, INERTIA + 2, q * e + r * f)
    store(room, INERTIA + 4, s * e + t * f)


@lean
def _turn_vector(room, row, q, r, s, t, zero):
    """Turn the first two components of a vector."""
    x, y = load(room, row, zero), load(room, row + 1, zero)
    store(room, row, q * x + r * y)
    store(room, row + 1, s * x + t * y)


@lean
def _turn_tensor(room, row, xy, yy, q, r, s, t, zero):
    """Turn the components xx, xy and yy of a tensor, the latter in rows `xy` and `yy` after the first."""
    a, b, d = load(room, row, zero), load(room, row + xy, zero), load(room, row + yy, zero)
    store(room, row, q * (q * a + r * b) + r * (q * b + r * d))
    store(room, row + xy, s * (q * a + r * b) + t * (q * b + r * d))
    store(room, row + yy, s * (s * a + t * b) + t * (s * b + t * d))


@lean
def _guess(room, k, zero):
    """Note the guessed friction at the centre, in units of N0 and L."""
    share = 1.0 / load(room, NORMAL, zero)
    c_x, c_y = load(room, CENTRE, zero), load(room, CENTRE + 1, zero)
    x, y, spin = zero, zero, zero
    for j in range(k):
        p = POINTS + OF_A_POINT * j
        f_x, f_y = load(room, p + IMPULSE, zero) * share, load(room, p + IMPULSE + 1, zero) * share
        x, y = x + f_x, y + f_y
        spin = spin + ((load(room, p + X, zero) - c_x) * f_y - (load(room, p + Y, zero) - c_y) * f_x)
    store(room, GUESSED, x)
    store(room, GUESSED + 1, y)
    store(room, GUESSED + 2, spin / load(room, LENGTH, zero))


@lean
def _squeeze(a, scale):
    return a / (scale + magnitude(a))


@lean
def _slip_left(room, k, zero):
    """The tangent velocity of the centre (x, y, L yaw) after the guessed impulses."""
    p_x, p_y, m_x, m_y, m_z = zero, zero, zero, zero, zero
    for j in range(k):
        p = POINTS + OF_A_POINT * j
        x, y, z = load(room, p + X, zero), load(room, p + Y, zero), load(room, p + Z, zero)
        f_x, f_y = load(room, p + IMPULSE, zero), load(room, p + IMPULSE + 1, zero)
        f_z = load(room, p + IMPULSE + 2, zero) - load(room, p + LOAD, zero)
        p_x, p_y = p_x + f_x, p_y + f_y
        m_x, m_y, m_z = m_x + (y * f_z - z * f_y), m_y + (z * f_x - x * f_z), m_z + (x * f_y - y * f_x)
    a, b, c = load(room, INERTIA, zero), load(room, INERTIA + 1, zero), load(room, INERTIA + 2, zero)
    d, e, f = load(room, INERTIA + 3, zero), load(room, INERTIA + 4, zero), load(room, INERTIA + 5, zero)
    v_x = load(room, TWIST, zero) + load(room, MASSES, zero) * p_x
    v_y = load(room, TWIST + 1, zero) + load(room, MASSES + 1, zero) * p_y
    w_x = load(room, TWIST + 3, zero) + (a * m_x + b * m_y + c * m_z)
    w_y = load(room, TWIST + 4, zero) + (b * m_x + d * m_y + e * m_z)
    w_z = load(room, TWIST + 5, zero) + (c * m_x + e * m_y + f * m_z)
    x, y, z = load(room, CENTRE, zero), load(room, CENTRE + 1, zero), load(room, CENTRE + 2, zero)
    return v_x + z * w_y - y * w_z, v_y - z * w_x + x * w_z, load(room, LENGTH, zero) * w_z


@lean
def _whole_patch(room, kind, k, mass, friction, zero):
    """Features of the patch as a whole; the next free row back."""
    N0, d = load(room, NORMAL, zero), (2 if kind == Kind.POINT else 3)
    yaw = 0.0 if kind == Kind.POINT else 1.0  # a point has none
    u_x, u_y, u_l = load(room, SLIP, zero), load(room, SLIP + 1, zero), yaw * load(room, SLIP + 2, zero)
    speed = root(u_x * u_x + u_y * u_y + u_l * u_l + _TINY)
    xx, xy, yy = load(room, RESPONSE, zero), load(room, RESPONSE + 1, zero), load(room, RESPONSE + 2, zero)
    xl, yl, ll = load(room, RESPONSE + 3, zero), load(room, RESPONSE + 4, zero), load(room, RESPONSE + 5, zero)
    q_x, q_y, q_l = solve_three(xx, xy, yaw * xl, yy, yaw * yl, yaw * ll, 0.0 - u_x, 0.0 - u_y, 0.0 - u_l)
    left_x, left_y, left_l = _slip_left(room, k, zero)
    o, per_speed = FEATURES, 1.0 / speed
    _write_three(room, o, d, _squeeze(q_x, N0), _squeeze(q_y, N0), _squeeze(q_l, N0))
    _write_three(room, o + d, d, _squeeze(mass * u_x, N0), _squeeze(mass * u_y, N0), _squeeze(mass * u_l, N0))
    _write_three(room, o + 2 * d, d, u_x * per_speed, u_y * per_speed, u_l * per_speed)
    for row in range(d):
        store(room, o + 3 * d + row, load(room, SENSITIVITY + row, zero))
        store(room, o + 4 * d + row, load(room, GUESSED + row, zero))
    _write_three(
        room, o + 5 * d, d, _squeeze(mass * left_x, N0), _squeeze(mass * left_y, N0), _squeeze(mass * left_l, N0)
    )
    o += 6 * d
    terms = 3 if kind == Kind.POINT else 6
    for row in range(terms):
        store(room, o + row, mass * load(room, RESPONSE + row, zero))
    o += terms
    used, fastest = zero, zero
    for j in range(k):
        p = POINTS + OF_A_POINT * j
        at = first_velocity(k) + 3 * j
        n, s_x, s_y = load(room, p + LOAD, zero), load(room, at, zero), load(room, at + 1, zero)
        a = magnitude(_squeeze(load(room, p + IMPULSE, zero), friction[0] * n + _TINY))
        b = magnitude(_squeeze(load(room, p + IMPULSE + 1, zero), friction[1] * n + _TINY))
        used = where(a > used, a, used)
        used = where(b > used, b, used)
        square = s_x * s_x + s_y * s_y
        fastest = where(square > fastest, square, fastest)
    fastest = root(fastest)
    store(room, o, used)
    store(room, o + 1, _squeeze(mass * fastest, N0))
    store(room, o + 2, fastest / (speed + 1e-12) + 1e-9)
    return o + 3


@lean
def _write_three(room, row, d, a, b, c):
    """Write d numbers, two or three."""
    store(room, row, a)
    store(room, row + 1, b)
    if d == 3:
        store(room, row + 2, c)


@lean
def _pressure(room, o, k, zero):
    """Centre of pressure and second moments of load and shape, in units of L; the next free row back."""
    per_load, per_length = 1.0 / load(room, NORMAL, zero), 1.0 / load(room, LENGTH, zero)
    x, y, even = load(room, CENTRE, zero), load(room, CENTRE + 1, zero), 1.0 / k
    c_a, c_b, aa, bb, ab, xx, xy, yy = zero, zero, zero, zero, zero, zero, zero, zero
    for j in range(k):
        p = POINTS + OF_A_POINT * j
        a, b = (load(room, p + X, zero) - x) * per_length, (load(room, p + Y, zero) - y) * per_length
        share = load(room, p + LOAD, zero) * per_load
        c_a, c_b = c_a + share * a, c_b + share * b
        aa, bb, ab = aa + share * a * a, bb + share * b * b, ab + share * a * b
        xx, xy, yy = xx + a * a * even, xy + a * b * even, yy + b * b * even
    store(room, o, c_a)
    store(room, o + 1, c_b)
    store(room, o + 2, aa)
    store(room, o + 3, bb)
    store(room, o + 4, ab)
    store(room, o + 5, xx)
    store(room, o + 6, xy)
    store(room, o + 7, yy)
    return o + 8


@lean
def _single_points(room, o, kind, k, mass, zero):
    """Load, place, slip and guessed friction of two points of a line (by load) or four of a surface (by direction)."""
    if kind == Kind.LINE:
        _describe_point(room, o, 0, 1, 0.0, 0.0, mass, zero)
        _describe_point(room, o + 9, min(1, k - 1), min(2, k), 0.0, 0.0, mass, zero)
        return
    _describe_point(room, o, 0, k, 1.0, 1.0, mass, zero)  # at 45, 135, 225, 315 degrees
    _describe_point(room, o + 9, 0, k, -1.0, 1.0, mass, zero)
    _describe_point(room, o + 18, 0, k, -1.0, -1.0, mass, zero)
    _describe_point(room, o + 27, 0, k, 1.0, -1.0, mass, zero)


@lean
def _describe_point(room, o, begin, end, a, b, mass, zero):
    """Nine features of that point from `begin` to `end` which lies farthest from the centre along (a, b)."""
    N0, x, y = load(room, NORMAL, zero), load(room, CENTRE, zero), load(room, CENTRE + 1, zero)
    farthest, n, arm_x, arm_y = zero - np.inf, zero, zero, zero
    u_x, u_y, f_x, f_y = zero, zero, zero, zero
    for j in range(begin, end):
        p = POINTS + OF_A_POINT * j
        r_x, r_y = load(room, p + X, zero) - x, load(room, p + Y, zero) - y
        reach = r_x * a + r_y * b
        farther = reach > farthest
        farthest = where(farther, reach, farthest)
        n, arm_x, arm_y = (
            where(farther, load(room, p + LOAD, zero), n),
            where(farther, r_x, arm_x),
            where(farther, r_y, arm_y),
        )
        u_x, u_y = (
            where(farther, load(room, p + BEFORE_X, zero), u_x),
            where(farther, load(room, p + BEFORE_Y, zero), u_y),
        )
        f_x = where(farther, load(room, p + IMPULSE, zero), f_x)
        f_y = where(farther, load(room, p + IMPULSE + 1, zero), f_y)
    per_load, per_length = 1.0 / N0, 1.0 / load(room, LENGTH, zero)
    per_speed = 1.0 / root(u_x * u_x + u_y * u_y + _TINY)
    store(room, o, n * per_load)
    store(room, o + 1, arm_x * per_length)
    store(room, o + 2, arm_y * per_length)
    store(room, o + 3, u_x * per_speed)
    store(room, o + 4, u_y * per_speed)
    store(room, o + 5, _squeeze(mass * u_x, N0))
    store(room, o + 6, _squeeze(mass * u_y, N0))
    store(room, o + 7, _squeeze(f_x, n + _TINY))
    store(room, o + 8, _squeeze(f_y, n + _TINY))
