"""A rough guess of the friction of a contact: Coulomb's law at the points of the patch, by a few projected sweeps.

It gives a learned law a sense of what friction does in general: which points stick, which way the patch turns. The law
learns the difference. Contacts are guessed in lanes; rows are those of `rows`.
"""

from stiction.compiled import inlined, lean
from stiction.lanes import any_of, load, multiply_add, root, store, where
from stiction.laws.rows import (
    BEFORE_X,
    BEFORE_Y,
    IMPULSE,
    INERTIA,
    LIMIT_X,
    LIMIT_Y,
    LOAD,
    MASSES,
    OF_A_POINT,
    POINTS,
    RELAX,
    TWIST,
    X,
    Y,
    Z,
)

SWEEPS = 20
_OVER_RELAXATION = 1.3


@inlined
def first_velocity(k):
    """The row of the first of k points' velocities."""
    return POINTS + OF_A_POINT * k


@lean
def set_points(room, k, friction, zero):
    """Give k points, whose places and loads are known, what sweeps begin with: velocities, limits, own responses."""
    v_x, v_y, v_z = load(room, TWIST, zero), load(room, TWIST + 1, zero), load(room, TWIST + 2, zero)
    w_x, w_y, w_z = load(room, TWIST + 3, zero), load(room, TWIST + 4, zero), load(room, TWIST + 5, zero)
    a, b, c = load(room, INERTIA, zero), load(room, INERTIA + 1, zero), load(room, INERTIA + 2, zero)
    d, e, f = load(room, INERTIA + 3, zero), load(room, INERTIA + 4, zero), load(room, INERTIA + 5, zero)
    for j in range(k):
        p = POINTS + OF_A_POINT * j
        x, y, z = load(room, p + X, zero), load(room, p + Y, zero), load(room, p + Z, zero)
        n = load(room, p + LOAD, zero)
        store(room, p + LIMIT_X, friction[0] * n)
        store(room, p + LIMIT_Y, friction[1] * n)
        u_x, u_y, u_z = v_x + z * w_y - y * w_z, v_y - z * w_x + x * w_z, v_z + y * w_x - x * w_y
        store(room, p + BEFORE_X, u_x)
        store(room, p + BEFORE_Y, u_y)
        at = first_velocity(k) + 3 * j
        store(room, at, u_x)
        store(room, at + 1, u_y)
        store(room, at + 2, u_z)
        store(room, p + IMPULSE, zero)
        store(room, p + IMPULSE + 1, zero)
        store(room, p + IMPULSE + 2, n)
        # The arm of a unit impulse along x is (0, z, -y), along y (-z, 0, x) and along z (y, -x, 0).
        own_x = load(room, MASSES, zero) + z * (d * z - e * y) - y * (e * z - f * y)
        own_y = load(room, MASSES + 1, zero) + x * (f * x - c * z) - z * (c * x - a * z)
        own_z = load(room, MASSES + 2, zero) + y * (a * y - b * x) - x * (b * y - d * x)
        store(room, p + RELAX, where(own_x > 0.0, -_OVER_RELAXATION / own_x, zero))
        store(room, p + RELAX + 1, where(own_y > 0.0, -_OVER_RELAXATION / own_y, zero))
        store(room, p + RELAX + 2, where(own_z > 0.0, -_OVER_RELAXATION / own_z, zero))


@lean
def _set_responses(room, k, zero):
    """Note how fast all points move for a unit impulse on each of them."""
    a, b, c = load(room, INERTIA, zero), load(room, INERTIA + 1, zero), load(room, INERTIA + 2, zero)
    d, e, f = load(room, INERTIA + 3, zero), load(room, INERTIA + 4, zero), load(room, INERTIA + 5, zero)
    m_x, m_y, m_z = load(room, MASSES, zero), load(room, MASSES + 1, zero), load(room, MASSES + 2, zero)
    for j in range(k):
        p = POINTS + OF_A_POINT * j
        x, y, z = load(room, p + X, zero), load(room, p + Y, zero), load(room, p + Z, zero)
        row = first_velocity(k) + 3 * k + 9 * k * j
        _set_row(room, k, row, m_x, zero, zero, b * z - c * y, d * z - e * y, e * z - f * y, zero)
        _set_row(room, k, row + 3 * k, zero, m_y, zero, c * x - a * z, e * x - b * z, f * x - c * z, zero)
        _set_row(room, k, row + 6 * k, zero, zero, m_z, a * y - b * x, b * y - d * x, c * y - e * x, zero)


@lean
def _set_row(room, k, row, v_x, v_y, v_z, t, u, w, zero):
    """Note the velocities of all points for the twist (v_x, v_y, v_z, t, u, w)."""
    for m in range(k):
        p = POINTS + OF_A_POINT * m
        x, y, z = load(room, p + X, zero), load(room, p + Y, zero), load(room, p + Z, zero)
        store(room, row + 3 * m, v_x + z * u - y * w)
        store(room, row + 3 * m + 1, v_y + x * w - z * t)
        store(room, row + 3 * m + 2, v_z + y * t - x * u)


@lean
def sweep(room, k, friction, is_round, zero):
    """Find the impulses of k points, and the velocities that they leave."""
    moves = zero > 0.0
    for j in range(k):
        d_x, d_y = _along(room, k, j, friction, is_round, zero)
        d_z = _upward(room, j, load(room, first_velocity(k) + 3 * j + 2, zero), zero)
        moves = moves | (d_x != 0.0) | (d_y != 0.0) | (d_z != 0.0)
    if not any_of(moves):
        return
    _set_responses(room, k, zero)
    begin, n = first_velocity(k), 3 * k
    for _ in range(SWEEPS):
        for j in range(k):
            d_x, d_y = _along(room, k, j, friction, is_round, zero)
            p, row = POINTS + OF_A_POINT * j, begin + n + 3 * n * j
            at = row + 3 * j + 2
            speed = multiply_add(load(room, at + n, zero), d_y, load(room, begin + 3 * j + 2, zero))
            d_z = _upward(room, j, multiply_add(load(room, at, zero), d_x, speed), zero)
            _add(room, p + IMPULSE, d_x, zero)
            _add(room, p + IMPULSE + 1, d_y, zero)
            _add(room, p + IMPULSE + 2, d_z, zero)
            for m in range(n):
                u = multiply_add(load(room, row + n + m, zero), d_y, load(room, begin + m, zero))
                u = multiply_add(load(room, row + m, zero), d_x, u)
                store(room, begin + m, multiply_add(load(room, row + 2 * n + m, zero), d_z, u))


@lean
def _add(room, row, change, zero):
    store(room, row, load(room, row, zero) + change)


@lean
def _along(room, k, j, friction, is_round, zero):
    """By how much the friction of point j changes: to what would stop it, a little beyond, brought into its limits."""
    p, at = POINTS + OF_A_POINT * j, first_velocity(k) + 3 * j
    old_x, old_y = load(room, p + IMPULSE, zero), load(room, p + IMPULSE + 1, zero)
    f_x = multiply_add(load(room, at, zero), load(room, p + RELAX, zero), old_x)
    f_y = multiply_add(load(room, at + 1, zero), load(room, p + RELAX + 1, zero), old_y)
    if is_round:
        n = load(room, p + IMPULSE + 2, zero)
        f_x, f_y = _into_ellipse(f_x, f_y, friction[0] * n, friction[1] * n)
    else:
        f_x = _between(f_x, load(room, p + LIMIT_X, zero))
        f_y = _between(f_y, load(room, p + LIMIT_Y, zero))
    return f_x - old_x, f_y - old_y


@lean
def _upward(room, j, speed, zero):
    """By how much the normal impulse of point j, which rises at `speed`, changes; it never becomes a pull."""
    p = POINTS + OF_A_POINT * j
    old = load(room, p + IMPULSE + 2, zero)
    f = multiply_add(speed, load(room, p + RELAX + 2, zero), old)
    return where(f > 0.0, f, zero) - old


@lean
def _between(f, most):
    f = where(f > most, most, f)
    least = 0.0 - most
    return where(f < least, least, f)


@lean
def _into_ellipse(f_x, f_y, most_x, most_y):
    """Scale a friction down to its elliptic limit; where there is no load there is none."""
    a, b, most = f_x * most_y, f_y * most_x, most_x * most_y
    excess = a * a + b * b
    scale = where(excess > most * most, most / root(excess), 1.0)
    scale = where(most > 0.0, scale, 0.0)
    return f_x * scale, f_y * scale
