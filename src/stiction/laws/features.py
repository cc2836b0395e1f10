"""Contact-space inputs of a learned law: how a contact looks from its patch, free of units and folded by symmetry.

The frictionless normal impulse N0 is solved first. Tangent coordinates at the patch's centre are (x, y, L yaw) with L
the patch's radius; u is the tangent velocity after N0, K the response to friction while the loaded points stay down,
and q = -K^-1 u the friction that would stop the patch. Impulses are divided by N0 and squeezed by a / (1 + |a|).
"""

from typing import NamedTuple

import numpy as np

from stiction.compiled import compiled
from stiction.laws.candidate import coulomb_guess
from stiction.laws.frame import GUESS, SCALE, set_frame, target_of, whole_target
from stiction.laws.plain import describe_state
from stiction.laws.points import patch_points, share_load
from stiction.lcp import normal_impulse, solve_semidefinite, twist_after
from stiction.spatial import apply, dot
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
def describe(contacts, i, recipe, mass):
    """Write features and frame of contact i into its memo; False where no normal impulse is needed: it detaches."""
    c = contacts.record[i]
    P = normal_impulse(contacts, i, c.velocity, 0.0, 0.0, 0.0)
    c.memo[SCALE] = 0.0
    if not P[0] > 0.0:
        return False
    if recipe.rotation == 0:
        _describe_patch(contacts, i, recipe, mass, P)
    else:
        describe_state(c, recipe.rotation, recipe.centre, recipe.slip, mass)
        if recipe.scaled:
            c.memo[SCALE], c.memo[SCALE + 1] = P[0], _length(c)
    return True


@compiled
def _length(c):
    """The unit of length L [m]; a point has no radius of its own."""
    return 0.1 * c.diameter if c.kind == Kind.POINT else c.radius


@compiled
def _describe_patch(contacts, i, recipe, mass, P):
    """Contact space: what the patch does after the frictionless impulse P (3,)."""
    c = contacts.record[i]
    lifted = np.zeros(6)
    for k in range(3):
        lifted[2 + k] = P[k]
    v = twist_after(contacts, i, lifted)
    points = patch_points(contacts, i)
    load = share_load(contacts, i, points, P)
    d = 2 if c.kind == Kind.POINT else 3
    L = _length(c)
    T = _tangent_rows(c, points, d, L)
    C, S = _response(c.inverse_inertia, _load_rows(points, load), T)
    u = np.empty(len(T))
    for r in range(len(T)):
        u[r] = dot(T[r], v)
    Q = _turn(recipe.fold, u, C, d)
    if recipe.guess:
        f, after = coulomb_guess(contacts, i, points, load, Q, recipe.friction, recipe.round)
    else:
        f, after = np.zeros(2 * len(points)), v
    left = np.empty(len(T))
    for r in range(len(T)):
        left[r] = dot(T[r], after)
    _fold_vector(Q, d, u)
    _fold_vector(Q, d, left)
    _fold_matrix(Q, d, C)
    _fold_vector(Q, d, S)
    place = np.empty(2 * len(points))
    for j in range(len(points)):
        place[2 * j] = (points[j, 0] - c.centre[0]) / L
        place[2 * j + 1] = (points[j, 1] - c.centre[1]) / L
    place = _fold_pairs(Q, place)
    for k in range(3):
        c.memo[GUESS + k] = 0.0
    set_frame(c.memo, P[0], L, Q)
    for j in range(len(points)):
        c.memo[GUESS] += f[2 * j] / P[0]
        c.memo[GUESS + 1] += f[2 * j + 1] / P[0]
        c.memo[GUESS + 2] += (place[2 * j] * f[2 * j + 1] - place[2 * j + 1] * f[2 * j]) / P[0]
    o = _whole_patch(c, d, P[0], mass, u, left, C, S, recipe.friction, f, load)
    if d == 3:
        o = _pressure(c, o, P[0], load, place)
        _single_points(c, o, P[0], mass, load, place, u, f)
    if not recipe.scaled:
        for k in range(3):
            c.memo[GUESS + k] *= P[0] / mass * (L / c.diameter if k == 2 else 1.0)
        set_frame(c.memo, mass, c.diameter, Q)


@compiled
def describe_all(contacts, recipe, mass):
    """Describe every contact; which of them (n,) need a normal impulse."""
    described = np.empty(len(contacts.record), dtype=np.bool_)
    for i in range(len(described)):
        described[i] = describe(contacts, i, recipe, mass)
    return described


@compiled
def observe_all(contacts, impulse, y, whole):
    """Write the targets y (n, 3) and whole (n, 6) of the observed impulses (n, 6) of contacts that were described."""
    for i in range(len(contacts.record)):
        if contacts.record[i].memo[SCALE] > 0:
            target_of(contacts, i, impulse[i], y[i])
            whole_target(contacts, i, impulse[i], whole[i])


@compiled
def _tangent_rows(c, points, d, L):
    """Rows from the twist to the tangent velocity of the centre (x, y, L yaw; x, y for a point), then of each point."""
    T = np.zeros((d + 2 * len(points), 6))
    for j in range(-1, len(points)):
        x, y, z = c.centre[0], c.centre[1], c.centre[2]
        r = 0
        if j >= 0:
            x, y, z = points[j]
            r = d + 2 * j
        T[r, 0], T[r, 4], T[r, 5] = 1.0, z, -y
        T[r + 1, 1], T[r + 1, 3], T[r + 1, 5] = 1.0, -z, x
    if d == 3:
        T[2, 5] = L
    return T


@compiled
def _load_rows(points, load):
    """Rows from the twist to the upward velocity of the loaded points."""
    total = 0.0
    for j in range(len(load)):
        total += load[j]
    N = np.zeros((len(load), 6))
    n = 0
    for j in range(len(load)):
        if load[j] > _SMALL_LOAD * total:
            N[n, 2], N[n, 3], N[n, 4] = 1.0, points[j, 1], -points[j, 0]
            n += 1
    return N[:n]


@compiled
def _response(W, N, T):
    """C = response of the tangent velocities to tangent impulses while the loaded points stay down; S = the change of
    the whole load with the tangent impulses."""
    n, t = len(N), len(T)
    WT, WN = np.empty((t, 6)), np.empty((n, 6))
    for r in range(t):
        moved = apply(W, T[r])
        for k in range(6):
            WT[r, k] = moved[k]
    for r in range(n):
        moved = apply(W, N[r])
        for k in range(6):
            WN[r, k] = moved[k]
    C, S = np.empty((t, t)), np.zeros(t)
    for s in range(t):
        A, b = np.empty((n, n)), np.empty(n)
        for r in range(n):
            b[r] = -dot(N[r], WT[s])
            for k in range(n):
                A[r, k] = dot(N[k], WN[r])
            A[r, r] *= 1 + 1e-9
        held = solve_semidefinite(A, b)
        for r in range(t):
            C[r, s] = dot(T[r], WT[s])
            for k in range(n):
                C[r, s] += dot(T[r], WN[k]) * held[k]
        for k in range(n):
            S[s] += held[k]
    return C, S


@compiled
def _turn(fold, u, C, d):
    """The mirror or rotation Q (2, 2) that brings the tangent velocity u into its standard sector."""
    Q = np.zeros((2, 2))
    Q[0, 0] = Q[1, 1] = 1.0
    if fold == 1 or fold == 2:
        Q[0, 0] = -1.0 if u[0] < 0 else 1.0
        Q[1, 1] = -1.0 if u[1] < 0 else 1.0
        if fold == 2 and abs(u[1]) > abs(u[0]):
            Q[0, 1], Q[1, 0] = Q[1, 1], Q[0, 0]
            Q[0, 0] = Q[1, 1] = 0.0
    elif fold == 3:
        length = np.hypot(u[0], u[1]) + _TINY
        x, y = u[0] / length, u[1] / length
        # Which of two mirror images is told by the yaw, or for a point, which has none, by its skew response.
        skew = u[2] if d == 3 else x * y * (C[1, 1] - C[0, 0]) + (x * x - y * y) * C[0, 1]
        side = -1.0 if skew < 0 else 1.0
        Q[0, 0], Q[0, 1] = x, y
        Q[1, 0], Q[1, 1] = -side * y, side * x
    return Q


@compiled
def _fold_vector(Q, d, v):
    """Turn a vector over the rows of `_tangent_rows` in place; a mirror turns yaw around."""
    if d == 3:
        v[2] *= Q[0, 0] * Q[1, 1] - Q[0, 1] * Q[1, 0]
    r = 0
    while r < len(v):
        x, y = v[r], v[r + 1]
        v[r], v[r + 1] = Q[0, 0] * x + Q[0, 1] * y, Q[1, 0] * x + Q[1, 1] * y
        r += d if r == 0 else 2


@compiled
def _fold_matrix(Q, d, C):
    for r in range(len(C)):
        _fold_vector(Q, d, C[r])
    for r in range(len(C)):
        _fold_vector(Q, d, C[:, r])


@compiled
def _fold_pairs(Q, v):
    out = np.empty(len(v))
    for j in range(len(v) // 2):
        out[2 * j] = Q[0, 0] * v[2 * j] + Q[0, 1] * v[2 * j + 1]
        out[2 * j + 1] = Q[1, 0] * v[2 * j] + Q[1, 1] * v[2 * j + 1]
    return out


@compiled
def _squeeze(a, scale):
    return a / (scale + abs(a))


@compiled
def _whole_patch(c, d, N0, mass, u, left, C, S, friction, f, load):
    """Features of the patch as a whole; the next free place in the memo back."""
    x, o = c.memo, 0
    K, minus_u, speed = np.empty((d, d)), np.empty(d), _TINY
    for r in range(d):
        minus_u[r] = -u[r]
        speed += u[r] * u[r]
        for s in range(d):
            K[r, s] = C[r, s]
    speed = np.sqrt(speed)
    q = solve_semidefinite(K, minus_u)
    for r in range(d):
        x[o], x[o + d], x[o + 2 * d] = _squeeze(q[r], N0), _squeeze(mass * u[r], N0), u[r] / speed
        x[o + 3 * d], x[o + 4 * d] = S[r], c.memo[GUESS + r]
        x[o + 5 * d] = _squeeze(mass * left[r], N0)
        o += 1
    o = 6 * d
    for r in range(d):
        for s in range(r + 1):
            x[o] = mass * C[r, s]
            o += 1
    used, fastest = 0.0, 0.0
    for j in range(len(load)):
        for k in range(2):
            limit = friction[k] * load[j]
            used = max(used, abs(_squeeze(f[2 * j + k], limit + _TINY)))
        fastest = max(fastest, np.hypot(left[d + 2 * j], left[d + 2 * j + 1]))
    x[o], x[o + 1] = used, _squeeze(mass * fastest, N0)
    x[o + 2] = np.log10(fastest / (speed + 1e-12) + 1e-9)
    return o + 3


@compiled
def _pressure(c, o, N0, load, place):
    """Centre of pressure and second moments of load and shape, in units of L."""
    x, k = c.memo, len(load)
    for m in range(8):
        x[o + m] = 0.0
    for j in range(k):
        a, b, share = place[2 * j], place[2 * j + 1], load[j] / N0
        x[o] += share * a
        x[o + 1] += share * b
        x[o + 2] += share * a * a
        x[o + 3] += share * b * b
        x[o + 4] += share * a * b
        x[o + 5] += a * a / k
        x[o + 6] += a * b / k
        x[o + 7] += b * b / k
    return o + 8


@compiled
def _single_points(c, o, N0, mass, load, place, u, f):
    """Load, place, slip and guessed friction of two points of a line (by load) or four of a surface (by direction)."""
    x, k = c.memo, len(load)
    number = 2 if c.kind == Kind.LINE else 4
    for turn in range(number):
        best, farthest = min(turn, k - 1), -np.inf  # of a line: its points in the order of their loads
        if c.kind == Kind.SURFACE:
            angle = (2 * turn + 1) * np.pi / 4
            for j in range(k):
                reach = place[2 * j] * np.cos(angle) + place[2 * j + 1] * np.sin(angle)
                if reach > farthest:
                    best, farthest = j, reach
        ux, uy = u[3 + 2 * best], u[4 + 2 * best]
        speed = np.hypot(ux, uy) + _TINY
        x[o], x[o + 1], x[o + 2] = load[best] / N0, place[2 * best], place[2 * best + 1]
        x[o + 3], x[o + 4] = ux / speed, uy / speed
        x[o + 5], x[o + 6] = _squeeze(mass * ux, N0), _squeeze(mass * uy, N0)
        weight = load[best] + _TINY
        x[o + 7], x[o + 8] = _squeeze(f[2 * best], weight), _squeeze(f[2 * best + 1], weight)
        o += 9
