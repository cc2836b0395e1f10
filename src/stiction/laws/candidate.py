"""A rough guess of the friction of a contact: Coulomb's law at the points of the patch, by a few projected sweeps.

It gives a learned law a sense of what friction does in general: which points stick, which way the patch turns. The law
learns the difference.

A sweep is a chain of small steps that wait for each other. Contacts do not: up to LANES of them with equally many
points are swept together, one in each lane of the processor's vector unit. Numbers of one kind, of all lanes, lie side
by side, and lengths are known when the code is compiled; that is what lets the compiler use vectors.
"""

from typing import NamedTuple

import numpy as np

from stiction.compiled import compiled, lean

LANES = 16
SWEEPS = 20
_OVER_RELAXATION = 1.3

# Rows of a point, LANES numbers each: place; friction and normal impulse; load; limits of the friction; over-relaxed
# 1 / response of each direction; turning for a unit impulse in x, y and z (3 each); velocity before friction.
X, Y, Z, F_X, F_Y, F_Z, LOAD, LIMIT_X, LIMIT_Y, RELAX_X, RELAX_Y, RELAX_Z = range(12)
TURN_X, TURN_Y, TURN_Z, BEFORE_X, BEFORE_Y = 12, 15, 18, 21, 22
_ROWS = 23
MASSES = 6  # first of three rows of the bodies, after their twists: inverse masses along x, y, z


class Lanes(NamedTuple):
    """Contacts that are swept together, each in its own folded frame."""

    points: np.ndarray  # (k, _ROWS * LANES)
    bodies: np.ndarray  # (9 * LANES): twist, inverse masses
    kept: np.ndarray  # (LANES, 32): what else the description needs to know, see features.py
    number: np.ndarray  # (LANES,) of the contact in its batch


@compiled
def new_lanes(most_points):
    """Room for LANES contacts of at most so many points."""
    return Lanes(
        np.empty((most_points, _ROWS * LANES)),
        np.empty(9 * LANES),
        np.empty((LANES, 32)),
        np.empty(LANES, dtype=np.int64),
    )


@lean
def set_point(lanes, j, lane, x, y, z, load, friction, a, b, c, d, e, f):
    """Put a point at (x, y, z) into a lane, whose body has its twist and masses already.

    load: [N s]; (a, b, c), (b, d, e), (c, e, f) are the rows of the inverse moment of inertia
    """
    p, v = lanes.points[j], lanes.bodies
    at = (X * LANES + lane, Y * LANES + lane, Z * LANES + lane)
    p[at[0]], p[at[1]], p[at[2]] = x, y, z
    p[F_X * LANES + lane] = p[F_Y * LANES + lane] = 0.0
    p[F_Z * LANES + lane] = p[LOAD * LANES + lane] = load
    p[LIMIT_X * LANES + lane], p[LIMIT_Y * LANES + lane] = friction[0] * load, friction[1] * load
    # The arm of a unit impulse along x is (0, z, -y), along y (-z, 0, x) and along z (y, -x, 0).
    t, u, w = b * z - c * y, d * z - e * y, e * z - f * y
    _set_turn(p, TURN_X, RELAX_X, lane, t, u, w, v[MASSES * LANES + lane] + z * u - y * w)
    t, u, w = c * x - a * z, e * x - b * z, f * x - c * z
    _set_turn(p, TURN_Y, RELAX_Y, lane, t, u, w, v[(MASSES + 1) * LANES + lane] + x * w - z * t)
    t, u, w = a * y - b * x, b * y - d * x, c * y - e * x
    _set_turn(p, TURN_Z, RELAX_Z, lane, t, u, w, v[(MASSES + 2) * LANES + lane] + y * t - x * u)
    w_x, w_y, w_z = v[3 * LANES + lane], v[4 * LANES + lane], v[5 * LANES + lane]
    p[BEFORE_X * LANES + lane] = v[lane] + z * w_y - y * w_z
    p[BEFORE_Y * LANES + lane] = v[LANES + lane] - z * w_x + x * w_z


@lean
def _set_turn(p, turn, relax, lane, t, u, w, response):
    p[turn * LANES + lane], p[(turn + 1) * LANES + lane], p[(turn + 2) * LANES + lane] = t, u, w
    p[relax * LANES + lane] = _OVER_RELAXATION / response if response > 0.0 else 0.0


@lean
def sweep_lanes(lanes, points, count, friction, is_round):
    """Find the friction of the contacts in the first `count` lanes, of `points` points each, and the twist left."""
    for _ in range(SWEEPS):
        for j in range(points):
            p = lanes.points[j]
            if is_round:
                _limit_by_load(p, count, friction[0], friction[1])
            _push_along(p, lanes.bodies, count, is_round)
            _push_up(p, lanes.bodies, count)


@lean
def _limit_by_load(p, count, mu_x, mu_y):
    """Limits of a round cone: in proportion to the present normal impulse."""
    for k in range(min(count, LANES)):
        p[k + LIMIT_X * LANES] = mu_x * p[k + F_Z * LANES]
        p[k + LIMIT_Y * LANES] = mu_y * p[k + F_Z * LANES]


@lean
def _push_along(p, v, count, is_round):
    """Friction of one point in each lane: what would stop it, a little beyond, brought into its limits."""
    for k in range(min(count, LANES)):
        x, y, z = p[k + X * LANES], p[k + Y * LANES], p[k + Z * LANES]
        w_x, w_y, w_z = v[k + 3 * LANES], v[k + 4 * LANES], v[k + 5 * LANES]
        old_x, old_y = p[k + F_X * LANES], p[k + F_Y * LANES]
        f_x = old_x - (v[k] + z * w_y - y * w_z) * p[k + RELAX_X * LANES]
        f_y = old_y - (v[k + LANES] - z * w_x + x * w_z) * p[k + RELAX_Y * LANES]
        most_x, most_y = p[k + LIMIT_X * LANES], p[k + LIMIT_Y * LANES]
        if is_round:
            excess = (f_x / most_x) ** 2 + (f_y / most_y) ** 2
            scale = 1.0 / np.sqrt(excess) if excess > 1.0 else 1.0
            scale = scale if most_x > 0.0 and most_y > 0.0 else 0.0
            f_x, f_y = f_x * scale, f_y * scale
        else:
            f_x = most_x if f_x > most_x else f_x
            f_x = -most_x if f_x < -most_x else f_x
            f_y = most_y if f_y > most_y else f_y
            f_y = -most_y if f_y < -most_y else f_y
        d_x, d_y = f_x - old_x, f_y - old_y
        p[k + F_X * LANES], p[k + F_Y * LANES] = f_x, f_y
        v[k] += v[k + MASSES * LANES] * d_x
        v[k + LANES] += v[k + (MASSES + 1) * LANES] * d_y
        v[k + 3 * LANES] = w_x + p[k + TURN_X * LANES] * d_x + p[k + TURN_Y * LANES] * d_y
        v[k + 4 * LANES] = w_y + p[k + (TURN_X + 1) * LANES] * d_x + p[k + (TURN_Y + 1) * LANES] * d_y
        v[k + 5 * LANES] = w_z + p[k + (TURN_X + 2) * LANES] * d_x + p[k + (TURN_Y + 2) * LANES] * d_y


@lean
def _push_up(p, v, count):
    """Normal impulse of one point in each lane, never a pull."""
    for k in range(min(count, LANES)):
        speed = v[k + 2 * LANES] + p[k + Y * LANES] * v[k + 3 * LANES] - p[k + X * LANES] * v[k + 4 * LANES]
        old = p[k + F_Z * LANES]
        f_z = old - speed * p[k + RELAX_Z * LANES]
        f_z = f_z if f_z > 0.0 else 0.0
        d_z = f_z - old
        p[k + F_Z * LANES] = f_z
        v[k + 2 * LANES] += v[k + (MASSES + 2) * LANES] * d_z
        v[k + 3 * LANES] += p[k + TURN_Z * LANES] * d_z
        v[k + 4 * LANES] += p[k + (TURN_Z + 1) * LANES] * d_z
        v[k + 5 * LANES] += p[k + (TURN_Z + 2) * LANES] * d_z
