"""Where to begin: friction of all links together by a rough Coulomb law, with a few projected sweeps.

A light foot of a heavy robot is asked about its own small momentum, so that the law's answers move its friction by
small steps only. Coulomb's law for the whole system has no such trouble, and leaves the learned law a short way to go.
"""

import numpy as np

from stiction.compiled import inlined, lean
from stiction.dense import clear_matrix, write_applied
from stiction.laws.points import number_of_points, write_points
from stiction.spatial import copy

SWEEPS = 60  # at most
_STILL = 1e-4  # share of the greatest speed before, at which a point has stopped
_SETTLED = 1e-7  # change in a sweep, relative to the greatest load, at which it is no longer rough


@lean
def rough_impulses(contacts, V, mu_x, mu_y, is_round, s):
    """Write friction s.p_f (n, 5) at the patches' centres, for twists V (6 n,) without contact and inverse inertia
    s.L_b; whether any point that carries load slides back. s: a searching.Search"""
    room, p_f = s.rough, s.p_f
    place, link, impulse = room.place, room.link, room.impulse
    n, count = len(contacts.record), np.int64(0)
    for i in range(n):
        write_points(contacts, i, 1.0, 0.0, place, 3 * count, np.int64(1), np.int64(3))
        for _ in range(number_of_points(contacts.record[i])):
            link[count] = i
            count += 1
    for j in range(count):
        _write_response(s.L_b, link[j], place, room.response, room.own, 3 * j)
        impulse[3 * j] = impulse[3 * j + 1] = impulse[3 * j + 2] = 0.0
    copy(V, room.twist)
    before = max(_fastest(room, count, -1.0))
    for _ in range(SWEEPS):
        if _sweep(room, count, mu_x, mu_y, is_round, s.effective):
            break
    _up, slip = _fastest(room, count, 0.0)
    clear_matrix(p_f)
    for j in range(count):
        i = link[j]
        c = contacts.record[i]
        x, y, z = place[3 * j] - c.centre[0], place[3 * j + 1] - c.centre[1], place[3 * j + 2] - c.centre[2]
        f_x, f_y = impulse[3 * j + 1], impulse[3 * j + 2]
        p_f[i, 0] += f_x
        p_f[i, 1] += f_y
        p_f[i, 2] += x * f_y - y * f_x
        p_f[i, 3] -= z * f_y
        p_f[i, 4] += z * f_x
    for i in range(n):
        copy(p_f[i], contacts.record[i].friction)
        write_applied(s.effective[i], contacts.record[i].friction, p_f[i])
    return slip > _STILL * before


@lean
def _write_response(L, i, place, response, own, r):
    """Write how all twists follow an impulse on the point of place[r : r + 3] along z, x and y, into rows r, r + 1,
    r + 2 of `response`, and 1 / how fast the point itself does into `own`; 0 for a direction without mobility."""
    b = 6 * i
    x, y, z = place[r], place[r + 1], place[r + 2]
    for k in range(response.shape[1]):
        response[r, k] = L[k, b + 2] + y * L[k, b + 3] - x * L[k, b + 4]
        response[r + 1, k] = L[k, b] + z * L[k, b + 4] - y * L[k, b + 5]
        response[r + 2, k] = L[k, b + 1] - z * L[k, b + 3] + x * L[k, b + 5]
    own[r], _x, _y = _velocity(place, r, response[r], b)
    _z, own[r + 1], _y = _velocity(place, r, response[r + 1], b)
    _z, _x, own[r + 2] = _velocity(place, r, response[r + 2], b)
    for k in range(r, r + 3):
        own[k] = 1.0 / own[k] if own[k] > 0.0 else 0.0


@inlined
def _velocity(place, r, v, b):
    """Velocity of the point at place[r : r + 3] along z, x and y, whose link's twist begins at v[b]."""
    x, y, z = place[r], place[r + 1], place[r + 2]
    up = v[b + 2] + y * v[b + 3] - x * v[b + 4]
    return up, v[b] + z * v[b + 4] - y * v[b + 5], v[b + 1] - z * v[b + 3] + x * v[b + 5]


@lean
def _sweep(room, count, mu_x, mu_y, is_round, effective):
    """Bring each point to rest in turn, as far as friction and a push can; whether none had to change any more."""
    place, link, response, own, impulse, v = room.place, room.link, room.response, room.own, room.impulse, room.twist
    most = change = 0.0
    for j in range(count):
        r = 3 * j
        up, _x, _y = _velocity(place, r, v, 6 * link[j])
        load = _target(impulse[r], up, own[r])
        load = load if load > 0.0 else 0.0
        change = max(change, abs(load - impulse[r]))
        _set(impulse, v, response, r, load)
        _up, along_x, along_y = _velocity(place, r, v, 6 * link[j])
        f_x = _target(impulse[r + 1], along_x, own[r + 1])
        f_y = _target(impulse[r + 2], along_y, own[r + 2])
        E = effective[link[j]]
        f_x, f_y = E[0, 0] * f_x + E[0, 1] * f_y, E[1, 0] * f_x + E[1, 1] * f_y
        f_x, f_y = _within(f_x, f_y, mu_x * load, mu_y * load, is_round)
        change = max(change, abs(f_x - impulse[r + 1]), abs(f_y - impulse[r + 2]))
        _set_both(impulse, v, response, r + 1, f_x, f_y)
        most = max(most, load)
    return change <= _SETTLED * most


@lean
def _fastest(room, count, least):
    """Greatest speeds, upwards or downwards and along the ground, of points with more than the least load."""
    up = along = 0.0
    for j in range(count):
        if room.impulse[3 * j] > least:
            z, x, y = _velocity(room.place, 3 * j, room.twist, 6 * room.link[j])
            up, along = max(up, abs(z)), max(along, abs(x), abs(y))
    return up, along


@inlined
def _target(impulse, speed, own):
    """The impulse that brings a speed to rest; none without mobility."""
    return impulse - speed * own if own > 0.0 else 0.0


@inlined
def _within(x, y, limit_x, limit_y, is_round):
    """The friction (x, y) brought into its box, or into its ellipse along the line to the origin."""
    if not is_round:
        return min(max(x, -limit_x), limit_x), min(max(y, -limit_y), limit_y)
    if limit_x <= 0.0 or limit_y <= 0.0:
        return 0.0, 0.0
    square = (x / limit_x) ** 2 + (y / limit_y) ** 2
    if square <= 1.0:
        return x, y
    scale = 1.0 / np.sqrt(square)
    return x * scale, y * scale


@inlined
def _set(impulse, v, response, r, new):
    """Change the impulse of row r, and all twists with it."""
    change = new - impulse[r]
    if change != 0.0:
        impulse[r] = new
        for k in range(len(v)):
            v[k] += response[r, k] * change


@inlined
def _set_both(impulse, v, response, r, x, y):
    """As `_set`, for rows r and r + 1."""
    d_x, d_y = x - impulse[r], y - impulse[r + 1]
    if d_x != 0.0 or d_y != 0.0:
        impulse[r], impulse[r + 1] = x, y
        for k in range(len(v)):
            v[k] = v[k] + response[r, k] * d_x + response[r + 1, k] * d_y
