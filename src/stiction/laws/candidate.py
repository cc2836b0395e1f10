"""A rough guess of the friction of a contact: Coulomb's law at the points of the patch, by a few projected sweeps.

It gives a learned law a sense of what friction does in general: which points stick, which way the patch turns. The law
learns the difference. Contacts are guessed in lanes; rows are those of `rows`.
"""

from stiction.compiled import lean
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
    VELOCITY,
    X,
    Y,
    Z,
)

SWEEPS = 20
_OVER_RELAXATION = 1.3


@lean
def set_points(room, k, friction, zero):
    """Give k points, whose places and loads are known, what the sweeps need: velocities, limits and responses."""
    v_x, v_y, v_z = load(room, TWIST, zero), load(room, TWIST + 1, zero), load(room, TWIST + 2, zero)
    w_x, w_y, w_z = load(room, TWIST + 3, zero), load(room, TWIST + 4, zero), load(room, TWIST + 5, zero)
    a, b, c = load(room, INERTIA, zero), load(room, INERTIA + 1, zero), load(room, INERTIA + 2, zero)
    d, e, f = load(room, INERTIA + 3, zero), load(room, INERTIA + 4, zero), load(room, INERTIA + 5, zero)
    for j in range(k):
        p = POINTS + OF_A_POINT * j
        x, y, z, n = (
            load(room, p + X, zero),
            load(room, p + Y, zero),
            load(room, p + Z, zero),
            load(room, p + LOAD, zero),
        )
        store(room, p + LIMIT_X, friction[0] * n)
        store(room, p + LIMIT_Y, friction[1] * n)
        u_x, u_y, u_z = v_x + z * w_y - y * w_z, v_y - z * w_x + x * w_z, v_z + y * w_x - x * w_y
        store(room, p + BEFORE_X, u_x)
        store(room, p + BEFORE_Y, u_y)
        store(room, p + VELOCITY, u_x)
        store(room, p + VELOCITY + 1, u_y)
        store(room, p + VELOCITY + 2, u_z)
        store(room, p + IMPULSE, zero)
        store(room, p + IMPULSE + 1, zero)
        store(room, p + IMPULSE + 2, n)
        # The arm of a unit impulse along x is (0, z, -y), along y (-z, 0, x) and along z (y, -x, 0).
        _set_responses(room, k, j, 0, b * z - c * y, d * z - e * y, e * z - f * y, zero)
        _set_responses(room, k, j, 1, c * x - a * z, e * x - b * z, f * x - c * z, zero)
        _set_responses(room, k, j, 2, a * y - b * x, b * y - d * x, c * y - e * x, zero)


@lean
def _set_responses(room, k, j, direction, t, u, w, zero):
    """Velocities of all points while the body turns with (t, u, w), for a unit impulse on point j along an axis."""
    row = _responses(k, j, direction)
    mass = load(room, MASSES + direction, zero)
    m_x, m_y, m_z = (
        (mass if direction == 0 else zero),
        (mass if direction == 1 else zero),
        (mass if direction == 2 else zero),
    )
    for m in range(k):
        p = POINTS + OF_A_POINT * m
        x, y, z = load(room, p + X, zero), load(room, p + Y, zero), load(room, p + Z, zero)
        store(room, row + 3 * m, m_x + z * u - y * w)
        store(room, row + 3 * m + 1, m_y + x * w - z * t)
        store(room, row + 3 * m + 2, m_z + y * t - x * u)
    own = load(room, row + 3 * j + direction, zero)
    relax = where(own > 0.0, -_OVER_RELAXATION / own, zero)
    store(room, POINTS + OF_A_POINT * j + RELAX + direction, relax)


@lean
def _responses(k, j, direction):
    """The first row of what an impulse on point j does."""
    return POINTS + OF_A_POINT * k + 3 * k * (3 * j + direction)


@lean
def sweep(room, k, friction, is_round, zero):
    """Find the impulses of k points, and the velocities that they leave."""
    for _ in range(SWEEPS):
        moved = zero > 0.0
        for j in range(k):
            p = POINTS + OF_A_POINT * j
            old_x, old_y = load(room, p + IMPULSE, zero), load(room, p + IMPULSE + 1, zero)
            old_z = load(room, p + IMPULSE + 2, zero)
            # What would stop the point, a little beyond, brought into its limits.
            f_x = multiply_add(load(room, p + VELOCITY, zero), load(room, p + RELAX, zero), old_x)
            f_y = multiply_add(load(room, p + VELOCITY + 1, zero), load(room, p + RELAX + 1, zero), old_y)
            if is_round:
                f_x, f_y = _into_ellipse(f_x, f_y, friction[0] * old_z, friction[1] * old_z)
            else:
                f_x = _between(f_x, load(room, p + LIMIT_X, zero))
                f_y = _between(f_y, load(room, p + LIMIT_Y, zero))
            d_x, d_y = f_x - old_x, f_y - old_y
            row = POINTS + OF_A_POINT * k + 9 * k * j
            # The normal impulse, never a pull.
            at = row + 3 * j + 2
            speed = multiply_add(load(room, at + 3 * k, zero), d_y, load(room, p + VELOCITY + 2, zero))
            speed = multiply_add(load(room, at, zero), d_x, speed)
            f_z = multiply_add(speed, load(room, p + RELAX + 2, zero), old_z)
            f_z = where(f_z > 0.0, f_z, zero)
            d_z = f_z - old_z
            store(room, p + IMPULSE, f_x)
            store(room, p + IMPULSE + 1, f_y)
            store(room, p + IMPULSE + 2, f_z)
            for m in range(k):
                for b in range(3):
                    q, r = POINTS + OF_A_POINT * m + VELOCITY + b, row + 3 * m + b
                    u = multiply_add(load(room, r + 3 * k, zero), d_y, load(room, q, zero))
                    u = multiply_add(load(room, r, zero), d_x, u)
                    store(room, q, multiply_add(load(room, r + 6 * k, zero), d_z, u))
            moved = moved | (d_x != 0.0) | (d_y != 0.0) | (d_z != 0.0)
        if not any_of(moved):  # nor will it in further sweeps
            break


@lean
def _between(f, most):
    f = where(f > most, most, f)
    least = 0.0 - most
    return where(f < least, least, f)


@lean
def _into_ellipse(f_x, f_y, most_x, most_y):
    """Scale a friction down to its elliptic limit; where there is no load there is none."""
    a, b = f_x / most_x, f_y / most_y
    excess = a * a + b * b
    scale = where(excess > 1.0, 1.0 / root(excess), 1.0)
    scale = where((most_x > 0.0) & (most_y > 0.0), scale, 0.0)
    return f_x * scale, f_y * scale
