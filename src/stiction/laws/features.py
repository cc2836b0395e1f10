"""Contact-space inputs of a learned law: how a contact looks from its patch, free of units and folded by symmetry.

The frictionless normal impulse N0 is solved first. Tangent coordinates at the patch's centre are (x, y, L yaw) with L
the patch's radius; u is the tangent velocity after N0, K the response to friction while the loaded points stay down,
and q = -K^-1 u the friction that would stop the patch. Impulses are divided by N0 and squeezed by a / (1 + |a|).
"""

from typing import NamedTuple

import numpy as np

from stiction.compiled import compiled, lean
from stiction.laws.candidate import (
    BEFORE_X,
    BEFORE_Y,
    F_X,
    F_Y,
    LANES,
    LOAD,
    MASSES,
    X,
    Y,
    Z,
    new_lanes,
    set_point,
    sweep_lanes,
)
from stiction.laws.frame import GUESS, SCALE, set_frame, target_of, whole_target
from stiction.laws.plain import describe_state
from stiction.laws.points import MOST_POINTS, number_of_points, share_load, write_points
from stiction.lcp import normal_impulse
from stiction.semidefinite import solve_three
from stiction.state import Kind

SIZE = {Kind.POINT: 18, Kind.LINE: 53, Kind.SURFACE: 71}  # numbers that describe a contact
OUTPUTS = {Kind.POINT: 2, Kind.LINE: 3, Kind.SURFACE: 3}  # friction components of a contact
WHOLE = 6  # components of the whole impulse, which a statistical law predicts
FOLDS = ("none", "mirror", "mirror-swap", "heading")  # symmetries of a friction law about the vertical
_SMALL_LOAD = 1e-9  # share of N0 below which a point does not count as loaded
_TINY = 1e-300


class Recipe(NamedTuple):
    """How contacts are described."""

    fold: int  # index into FOLDS
    friction: np.ndarray  # (mu_x, mu_y) of the Coulomb guess
    round: bool  # its cone
    guess: bool  # whether there is one
    scaled: bool  # impulses in units of the frictionless normal impulse, or of the mass
    rotation: int  # 0 for the contact space of this module; otherwise one of those in `plain`
    centre: bool  # of `plain`: with the patch's centre
    slip: bool  # ... and its velocity


@compiled
def describe_all(contacts, recipe, mass):
    """Write features and frame of every contact that needs a normal impulse into its memo; the numbers of these (k,).

    One that needs none, since nothing approaches, detaches.
    """
    n = len(contacts.record)
    described, found = np.empty(n, dtype=np.int64), 0
    most = np.int64(1)
    for i in range(n):
        most = max(most, number_of_points(contacts.record[i]))
    lanes = new_lanes(most if recipe.rotation == 0 else np.int64(1))
    points, load = np.empty((MOST_POINTS, 3)), np.empty(MOST_POINTS)
    for k in range(1, most + 1):  # contacts of equally many points go together
        lane = np.int64(0)
        for i in range(n):
            c = contacts.record[i]
            if number_of_points(c) != k:
                continue
            P = normal_impulse(contacts, i, c.velocity, 0.0, 0.0, 0.0)
            c.memo[SCALE] = 0.0
            if not P[0] > 0.0:
                continue
            described[found] = i
            found += 1
            if recipe.rotation != 0:
                describe_state(c, recipe.rotation, recipe.centre, recipe.slip, mass)
                if recipe.scaled:
                    c.memo[SCALE], c.memo[SCALE + 1] = P[0], _length(c)
                continue
            write_points(contacts, i, points)
            share_load(c.inverse_inertia, points, k, P, load)
            _enter(c, recipe, P, points, load, k, lanes, lane)
            lanes.number[lane] = i
            lane += 1
            if lane == LANES:
                _leave(contacts, recipe, mass, lanes, k, lane)
                lane = np.int64(0)
        if lane > 0:
            _leave(contacts, recipe, mass, lanes, k, lane)
    return described[:found]


@lean
def observe_all(contacts, impulse, y, whole):
    """Write the targets y (n, 3) and whole (n, 6) of the observed impulses (n, 6) of contacts that were described."""
    for i in range(len(contacts.record)):
        if contacts.record[i].memo[SCALE] > 0:
            target_of(contacts, i, impulse[i], y[i])
            whole_target(contacts, i, impulse[i], whole[i])


@lean
def _length(c):
    """The unit of length L [m]; a point has no radius of its own."""
    return 0.1 * c.diameter if c.kind == Kind.POINT else c.radius


# What a lane keeps for `_leave`: u (3), C (its 6 different numbers), S (3), folded centre (3), N0, L, rows of Q.
_U, _C, _S, _CENTRE, _N0, _L, _Q = 0, 3, 9, 12, 15, 16, 17


@lean
def _enter(c, recipe, P, points, load, k, lanes, lane):
    """Put a contact with frictionless impulse P into a lane, turned and mirrored to its standard sector."""
    W, v, kept, bodies = c.inverse_inertia, c.velocity, lanes.kept[lane], lanes.bodies
    L = _length(c)
    v_x, v_y, v_z = v[0], v[1], v[2] + W[2, 2] * P[0]
    w_x = v[3] + W[3, 3] * P[1] + W[3, 4] * P[2]
    w_y = v[4] + W[4, 3] * P[1] + W[4, 4] * P[2]
    w_z = v[5] + W[5, 3] * P[1] + W[5, 4] * P[2]
    x, y, z = c.centre
    u_x, u_y, u_yaw = v_x + z * w_y - y * w_z, v_y - z * w_x + x * w_z, L * w_z
    _respond_to_friction(W, c.centre, L, points, load, k, kept)
    is_point = c.kind == Kind.POINT
    q, r, s, t = _turn(recipe.fold, u_x, u_y, u_yaw, kept[_C], kept[_C + 1], kept[_C + 2], is_point)
    mirror = q * t - r * s  # what turns, turns the other way in a mirror
    kept[_U], kept[_U + 1], kept[_U + 2] = q * u_x + r * u_y, s * u_x + t * u_y, mirror * u_yaw
    _fold_response(kept, q, r, s, t, mirror)
    kept[_CENTRE], kept[_CENTRE + 1], kept[_CENTRE + 2] = q * x + r * y, s * x + t * y, z
    kept[_N0], kept[_L] = P[0], L
    kept[_Q], kept[_Q + 1], kept[_Q + 2], kept[_Q + 3] = q, r, s, t
    bodies[lane], bodies[LANES + lane], bodies[2 * LANES + lane] = q * v_x + r * v_y, s * v_x + t * v_y, v_z
    bodies[3 * LANES + lane] = mirror * (q * w_x + r * w_y)
    bodies[4 * LANES + lane] = mirror * (s * w_x + t * w_y)
    bodies[5 * LANES + lane] = mirror * w_z
    for m in range(3):
        bodies[(MASSES + m) * LANES + lane] = W[m, m]
    # The inverse moment of inertia in the standard sector.
    a, b, d = W[3, 3], W[3, 4], W[4, 4]
    e, f = W[3, 5], W[4, 5]
    xx, xy = q * (q * a + r * b) + r * (q * b + r * d), s * (q * a + r * b) + t * (q * b + r * d)
    yy = s * (s * a + t * b) + t * (s * b + t * d)
    xz, yz = q * e + r * f, s * e + t * f
    for j in range(k):
        x, y = q * points[j, 0] + r * points[j, 1], s * points[j, 0] + t * points[j, 1]
        set_point(lanes, j, lane, x, y, points[j, 2], load[j], recipe.friction, xx, xy, xz, yy, yz, W[5, 5])


@lean
def _respond_to_friction(W, centre, L, points, load, k, kept):
    """Keep C, how the tangent velocity (x, y, L yaw) of the centre responds to friction while the loaded points stay
    down, as xx, xy, yy, x yaw, y yaw, yaw yaw; and S, how the whole load changes with friction."""
    x, y, z = centre
    # Turning for a unit friction along x, with arm (0, z, -y), along y, with arm (-z, 0, x), and of yaw.
    a, b, c = W[3, 4] * z - W[3, 5] * y, W[4, 4] * z - W[4, 5] * y, W[5, 4] * z - W[5, 5] * y
    d, f = W[3, 5] * x - W[3, 3] * z, W[5, 5] * x - W[5, 3] * z
    xx, xy, yy = W[0, 0] + z * b - y * c, x * c - z * a, W[1, 1] + x * f - z * d
    xl, yl, ll = L * c, L * f, L * L * W[5, 5]
    s_x = s_y = s_l = 0.0
    total = 0.0
    for j in range(k):
        total += load[j]
    # Rows (1, y, -x) of the loaded points, made independent of each other one by one; three hold all that can be held.
    held = np.int64(0)
    b10 = b11 = b12 = own1 = b20 = b21 = b22 = own2 = 0.0
    for j in range(k):
        if held == 3 or not load[j] > _SMALL_LOAD * total:
            continue
        r0, r1, r2 = 1.0, points[j, 1], -points[j, 0]
        g0, g1, g2 = W[2, 2] * r0, W[3, 3] * r1 + W[3, 4] * r2, W[4, 3] * r1 + W[4, 4] * r2
        whole = r0 * g0 + r1 * g1 + r2 * g2
        if held > 0:
            part = (b10 * g0 + b11 * g1 + b12 * g2) / own1
            r0, r1, r2 = r0 - part * b10, r1 - part * b11, r2 - part * b12
        if held > 1:
            part = (b20 * g0 + b21 * g1 + b22 * g2) / own2
            r0, r1, r2 = r0 - part * b20, r1 - part * b21, r2 - part * b22
        g0, g1, g2 = W[2, 2] * r0, W[3, 3] * r1 + W[3, 4] * r2, W[4, 3] * r1 + W[4, 4] * r2
        own = r0 * g0 + r1 * g1 + r2 * g2
        if not own > 1e-9 * whole:
            continue
        yaw = W[5, 3] * r1 + W[5, 4] * r2
        t_x, t_y, t_l = z * g2 - y * yaw, x * yaw - z * g1, L * yaw
        xx, xy, yy = xx - t_x * t_x / own, xy - t_x * t_y / own, yy - t_y * t_y / own
        xl, yl, ll = xl - t_x * t_l / own, yl - t_y * t_l / own, ll - t_l * t_l / own
        s_x, s_y, s_l = s_x - r0 * t_x / own, s_y - r0 * t_y / own, s_l - r0 * t_l / own
        if held == 0:
            b10, b11, b12, own1 = r0, r1, r2, own
        elif held == 1:
            b20, b21, b22, own2 = r0, r1, r2, own
        held += 1
    kept[_C], kept[_C + 1], kept[_C + 2] = xx, xy, yy
    kept[_C + 3], kept[_C + 4], kept[_C + 5] = xl, yl, ll
    kept[_S], kept[_S + 1], kept[_S + 2] = s_x, s_y, s_l


@lean
def _turn(fold, u_x, u_y, u_yaw, c_xx, c_xy, c_yy, is_point):
    """Rows (q, r), (s, t) of the mirror or rotation that brings the tangent velocity u into its standard sector."""
    if fold == 1 or fold == 2:
        q, t = -1.0 if u_x < 0 else 1.0, -1.0 if u_y < 0 else 1.0
        if fold == 2 and abs(u_y) > abs(u_x):
            return 0.0, t, q, 0.0
        return q, 0.0, 0.0, t
    if fold == 3:
        length = np.sqrt(u_x * u_x + u_y * u_y)
        x, y = (u_x / length, u_y / length) if length > 0.0 else (1.0, 0.0)
        # Which of two mirror images is told by the yaw, or for a point, which has none, by its skew response.
        skew = x * y * (c_yy - c_xx) + (x * x - y * y) * c_xy if is_point else u_yaw
        side = -1.0 if skew < 0 else 1.0
        return x, y, -side * y, side * x
    return 1.0, 0.0, 0.0, 1.0


@lean
def _fold_response(kept, q, r, s, t, mirror):
    """Turn C and S by the rows (q, r), (s, t)."""
    a, b, d = kept[_C], kept[_C + 1], kept[_C + 2]
    kept[_C] = q * (q * a + r * b) + r * (q * b + r * d)
    kept[_C + 1] = s * (q * a + r * b) + t * (q * b + r * d)
    kept[_C + 2] = s * (s * a + t * b) + t * (s * b + t * d)
    e, f = kept[_C + 3], kept[_C + 4]
    kept[_C + 3], kept[_C + 4] = mirror * (q * e + r * f), mirror * (s * e + t * f)
    a, b = kept[_S], kept[_S + 1]
    kept[_S], kept[_S + 1], kept[_S + 2] = q * a + r * b, s * a + t * b, mirror * kept[_S + 2]


@lean
def _leave(contacts, recipe, mass, lanes, k, count):
    """Guess the friction of the contacts in the first `count` lanes, of k points each, and write their features."""
    if recipe.guess:
        sweep_lanes(lanes, k, count, recipe.friction, recipe.round)
    for lane in range(count):
        c = contacts.record[lanes.number[lane]]
        kept = lanes.kept[lane]
        d = 2 if c.kind == Kind.POINT else 3
        N0, L = kept[_N0], kept[_L]
        share = 1.0 / N0
        set_frame(c.memo, N0, L, kept[_Q], kept[_Q + 1], kept[_Q + 2], kept[_Q + 3])
        x = y = spin = 0.0
        for j in range(k):
            p = lanes.points[j]
            f_x, f_y = p[F_X * LANES + lane] * share, p[F_Y * LANES + lane] * share
            x += f_x
            y += f_y
            spin += (p[X * LANES + lane] - kept[_CENTRE]) * f_y - (p[Y * LANES + lane] - kept[_CENTRE + 1]) * f_x
        c.memo[GUESS], c.memo[GUESS + 1], c.memo[GUESS + 2] = x, y, spin / L
        o = _whole_patch(c, d, mass, recipe.friction, lanes, lane, k)
        if d == 3:
            o = _pressure(c, o, lanes, lane, k)
            _single_points(c, o, mass, lanes, lane, k)
        if not recipe.scaled:
            for m in range(3):
                c.memo[GUESS + m] *= N0 / mass * (L / c.diameter if m == 2 else 1.0)
            set_frame(c.memo, mass, c.diameter, kept[_Q], kept[_Q + 1], kept[_Q + 2], kept[_Q + 3])


@lean
def _squeeze(a, scale):
    return a / (scale + abs(a))


@lean
def _whole_patch(c, d, mass, friction, lanes, lane, k):
    """Features of the patch as a whole; the next free place in the memo back."""
    memo, kept, v = c.memo, lanes.kept[lane], lanes.bodies
    N0, L = kept[_N0], kept[_L]
    u_x, u_y, u_l = kept[_U], kept[_U + 1], kept[_U + 2] if d == 3 else 0.0
    speed = np.sqrt(u_x * u_x + u_y * u_y + u_l * u_l + _TINY)
    C = kept[_C : _C + 6]
    # q = -K^-1 u, the friction that would stop the patch; a point has no yaw.
    yaw = 1.0 if d == 3 else 0.0
    q = solve_three(C[0], C[1], yaw * C[3], C[2], yaw * C[4], yaw * C[5], -u_x, -u_y, -u_l)
    w_x, w_y, w_z = v[3 * LANES + lane], v[4 * LANES + lane], v[5 * LANES + lane]
    x, y, z = kept[_CENTRE], kept[_CENTRE + 1], kept[_CENTRE + 2]
    left = (v[lane] + z * w_y - y * w_z, v[LANES + lane] - z * w_x + x * w_z, L * w_z)
    for r in range(d):
        memo[r] = _squeeze(q[r], N0)
        memo[r + d], memo[r + 2 * d] = _squeeze(mass * kept[_U + r], N0), kept[_U + r] / speed
        memo[r + 3 * d], memo[r + 4 * d] = kept[_S + r], memo[GUESS + r]
        memo[r + 5 * d] = _squeeze(mass * left[r], N0)
    o = 6 * d
    for m in range(3 if d == 2 else 6):
        memo[o + m] = mass * kept[_C + m]
    o += 3 if d == 2 else 6
    used, fastest = 0.0, 0.0
    for j in range(k):
        p = lanes.points[j]
        load = p[LOAD * LANES + lane]
        f_x, f_y = p[F_X * LANES + lane], p[F_Y * LANES + lane]
        used = max(used, abs(_squeeze(f_x, friction[0] * load + _TINY)))
        used = max(used, abs(_squeeze(f_y, friction[1] * load + _TINY)))
        x, y, z = p[X * LANES + lane], p[Y * LANES + lane], p[Z * LANES + lane]
        s_x, s_y = v[lane] + z * w_y - y * w_z, v[LANES + lane] - z * w_x + x * w_z
        fastest = max(fastest, s_x * s_x + s_y * s_y)
    fastest = np.sqrt(fastest)
    memo[o], memo[o + 1] = used, _squeeze(mass * fastest, N0)
    memo[o + 2] = np.log10(fastest / (speed + 1e-12) + 1e-9)
    return o + 3


@lean
def _pressure(c, o, lanes, lane, k):
    """Centre of pressure and second moments of load and shape, in units of L."""
    memo, kept = c.memo, lanes.kept[lane]
    per_load, per_length, x, y = 1.0 / kept[_N0], 1.0 / kept[_L], kept[_CENTRE], kept[_CENTRE + 1]
    even = 1.0 / k
    for m in range(8):
        memo[o + m] = 0.0
    for j in range(k):
        p = lanes.points[j]
        a, b = (p[X * LANES + lane] - x) * per_length, (p[Y * LANES + lane] - y) * per_length
        share = p[LOAD * LANES + lane] * per_load
        memo[o] += share * a
        memo[o + 1] += share * b
        memo[o + 2] += share * a * a
        memo[o + 3] += share * b * b
        memo[o + 4] += share * a * b
        memo[o + 5] += a * a * even
        memo[o + 6] += a * b * even
        memo[o + 7] += b * b * even
    return o + 8


@lean
def _single_points(c, o, mass, lanes, lane, k):
    """Load, place, slip and guessed friction of two points of a line (by load) or four of a surface (by direction)."""
    memo, kept = c.memo, lanes.kept[lane]
    N0, x, y = kept[_N0], kept[_CENTRE], kept[_CENTRE + 1]
    per_load, per_length = 1.0 / N0, 1.0 / kept[_L]
    number = 2 if c.kind == Kind.LINE else 4
    for turn in range(number):
        best, farthest = min(turn, k - 1), -np.inf  # of a line: its points in the order of their loads
        if c.kind == Kind.SURFACE:
            a, b = 1.0 if turn == 0 or turn == 3 else -1.0, 1.0 if turn < 2 else -1.0  # at 45, 135, 225, 315 degrees
            for j in range(k):
                p = lanes.points[j]
                reach = (p[X * LANES + lane] - x) * a + (p[Y * LANES + lane] - y) * b
                if reach > farthest:
                    best, farthest = j, reach
        p = lanes.points[best]
        load, u_x, u_y = p[LOAD * LANES + lane], p[BEFORE_X * LANES + lane], p[BEFORE_Y * LANES + lane]
        per_speed = 1.0 / (np.sqrt(u_x * u_x + u_y * u_y) + _TINY)
        memo[o] = load * per_load
        memo[o + 1], memo[o + 2] = (p[X * LANES + lane] - x) * per_length, (p[Y * LANES + lane] - y) * per_length
        memo[o + 3], memo[o + 4] = u_x * per_speed, u_y * per_speed
        memo[o + 5], memo[o + 6] = _squeeze(mass * u_x, N0), _squeeze(mass * u_y, N0)
        memo[o + 7] = _squeeze(p[F_X * LANES + lane], load + _TINY)
        memo[o + 8] = _squeeze(p[F_Y * LANES + lane], load + _TINY)
        o += 9
