"""What physics settles exactly when several links of one system touch the ground: they are held or pushed together.

Vectors over all n links are flat, (6 n,): twist or wrench of each link at its own centre of mass, one after another.
`L` (6 n, 6 n) is the inverse inertia of the links inside their system: L p is how the impulses p change their twists.
"""

from typing import NamedTuple

import numpy as np

from stiction.compiled import compiled, inlined, lean
from stiction.contact import write_friction_wrench
from stiction.dense import copy_matrix, factor, solve_columns, solve_factored, write_applied
from stiction.lcp import MOST_ACTIVE
from stiction.loads import Loads, admit, carry, new_loads
from stiction.patch import contact_xy, patch_vertex, vertex_height
from stiction.spatial import dot
from stiction.stopping import write_patch_rows

STIFFENING = 1e-8  # share of a link's own mobility that a direction without mobility is given, to choose among impulses
_IMMOBILE = 1e-9  # a direction with less than this share of the free link's mobility has none
_TINY = 1e-12
_VERTEX = (1 << 32) - 1  # the part of a label that tells the vertex, see `_label`


@lean
def stiffen(contacts, L, out):
    """Write L itself if all links can move in all directions, else L + share M_b^-1; that share back.

    A hinged chain cannot move out of its plane, so that impulses across it have no effect and no unique size. The
    least one is wanted, measured by what it would do to the free link: a trace of the free link's mobility chooses it.
    """
    copy_matrix(L, out)
    mobile = cholesky(out, contacts)
    copy_matrix(L, out)
    if mobile:
        return 0.0
    for i in range(len(L) // 6):
        own = contacts.record[i].inverse_inertia
        for k in range(6):
            for m in range(6):
                out[6 * i + k, 6 * i + m] += STIFFENING * own[k, m]
    return STIFFENING


@lean
def cholesky(A, contacts):
    """Factor A (6 n, 6 n) in place into its lower triangle; False where a link has no mobility of its own in it."""
    for k in range(len(A)):
        own = contacts.record[k // 6].inverse_inertia[k % 6, k % 6]
        pivot = A[k, k]
        for m in range(k):
            pivot -= A[k, m] * A[k, m]
        if not pivot > _IMMOBILE * own:
            return False
        A[k, k] = np.sqrt(pivot)
        for r in range(k + 1, len(A)):
            for m in range(k):
                A[r, k] -= A[r, m] * A[k, m]
            A[r, k] /= A[k, k]
    return True


@lean
def effective_friction(contacts, L, share, out):
    """Write for each link the matrix that keeps of a friction p_f (5,) what its patch can slide or spin along,
    (n, 5, 5): all of it, unless L had to be stiffened.

    A link of a hinged chain can neither yaw nor slide across its plane, but a law does not know that: where two
    mirrored answers are as good, it gives one of them, whose spin torque would turn V1 out of the plane.
    """
    for i in range(len(contacts.record)):
        c = contacts.record[i]
        for k in range(5):
            for m in range(5):
                out[i, k, m] = 1.0 if k == m and share == 0.0 else 0.0
        if share == 0.0:
            continue
        xx, xy, yy, spin = _slide_mobility(L, 6 * i, c.centre)
        own_xx, _own_xy, own_yy, own_spin = _slide_mobility(c.inverse_inertia, 0, c.centre)
        half, skew = 0.5 * (xx + yy), 0.5 * (xx - yy)
        split = np.sqrt(skew * skew + xy * xy)
        out[i, 0, 0] = out[i, 1, 1] = 1.0
        if half - split <= _IMMOBILE * (own_xx + own_yy):  # it slides along one line only
            # (x x, x y, y y) of its direction (x, y); along x if it cannot move at all.
            x, y = (skew / split, xy / split) if split > 0.0 else (1.0, 0.0)
            out[i, 0, 0], out[i, 1, 1] = 0.5 + 0.5 * x, 0.5 - 0.5 * x
            out[i, 0, 1] = out[i, 1, 0] = 0.5 * y
        if spin > _IMMOBILE * own_spin:
            for k in range(2, 5):
                out[i, k, k] = 1.0


@lean
def _slide_mobility(W, b, centre):
    """Mobility of a patch along x and y (xx, xy, yy) and in yaw; W's rows and columns of its link begin at b."""
    x, y, z = centre
    # Along x it moves with v_x + z w_y - y w_z, along y with v_y - z w_x + x w_z.
    x_0 = W[b, b] + z * W[b, b + 4] - y * W[b, b + 5]
    x_1 = W[b + 1, b] + z * W[b + 1, b + 4] - y * W[b + 1, b + 5]
    x_3 = W[b + 3, b] + z * W[b + 3, b + 4] - y * W[b + 3, b + 5]
    x_4 = W[b + 4, b] + z * W[b + 4, b + 4] - y * W[b + 4, b + 5]
    x_5 = W[b + 5, b] + z * W[b + 5, b + 4] - y * W[b + 5, b + 5]
    y_1 = W[b + 1, b + 1] - z * W[b + 1, b + 3] + x * W[b + 1, b + 5]
    y_3 = W[b + 3, b + 1] - z * W[b + 3, b + 3] + x * W[b + 3, b + 5]
    y_5 = W[b + 5, b + 1] - z * W[b + 5, b + 3] + x * W[b + 5, b + 5]
    return x_0 + z * x_4 - y * x_5, x_1 - z * x_3 + x * x_5, y_1 - z * y_3 + x * y_5, W[b + 5, b + 5]


class Held(NamedTuple):
    """What `balance` needs to know of the static links, which stays as long as these are the same ones.

    static: the links this is for, (n,); rows: how many rows S has, and if anything is known yet, (2,)
    owner: the link of each row of S, whose six columns are its only ones that are not zero, (6 n,)
    S: from the twists to the velocities of all static patches; SL = S L; K: factor of S L S^T
    grip = (S L S^T)^-1 S L; loose: L of a system whose static patches do not move; each (6 n, 6 n)
    room: for the LCP; normal: its solution P, (3 n,), and the velocities (v_z, w_x, w_y) with it
    twists, impulses: room for some, (4, 6 n)
    """

    static: np.ndarray
    rows: np.ndarray
    owner: np.ndarray
    S: np.ndarray
    SL: np.ndarray
    K: np.ndarray
    grip: np.ndarray
    loose: np.ndarray
    room: Loads
    normal: np.ndarray
    twists: np.ndarray
    impulses: np.ndarray


@compiled
def new_held(n):
    """Nothing known yet, for n links."""
    m, s = 6 * n, 36 * n * n
    numbers = np.zeros(5 * s + 9 * m)  # cut into pieces: each array of its own would take longer than its use
    rest = numbers[5 * s :]
    return Held(
        np.zeros(n, dtype=np.bool_),
        np.zeros(2, dtype=np.int64),
        np.zeros(m, dtype=np.int64),
        numbers[:s].reshape(m, m),
        numbers[s : 2 * s].reshape(m, m),
        numbers[2 * s : 3 * s].reshape(m, m),
        numbers[3 * s : 4 * s].reshape(m, m),
        numbers[4 * s : 5 * s].reshape(m, m),
        new_loads(MOST_ACTIVE * n),
        rest[:m].reshape(2, 3 * n),
        rest[m : 5 * m].reshape(4, m),
        rest[5 * m :].reshape(4, m),
    )


@inlined
def balance(contacts, L, V, static, p_f, softness, held, p):
    """Write impulses p (6 n,) that stop the patches of the `static` links, and give the others their friction p_f
    (n, 5) and the normal impulse with which nothing approaches.

    V: twists before contact, (6 n,)
    static: (n,) of bool; a static patch may pull, which is for the caller to see
    held: what was found out for this L before, or `new_held`
    """
    n = len(static)
    v2, after, moving = held.twists[0], held.twists[1], held.twists[2]
    number = 0
    for i in range(n):
        if static[i]:
            number += 1
            for k in range(6 * i, 6 * i + 6):
                p[k] = 0.0
        else:
            write_friction_wrench(contacts.record[i].centre, p_f[i], 1.0, p[6 * i : 6 * i + 6])
    write_applied(L, p, v2)
    for k in range(6 * n):
        v2[k] += V[k]
    r = _hold(contacts, L, static, held) if number > 0 else np.int64(0)
    if number < n:  # the others feel a system whose static patches do not move
        _patch_velocity(held, r, v2, moving)
        for k in range(6 * n):
            after[k] = v2[k]
            for m in range(r):
                after[k] -= held.grip[m, k] * moving[m]
        system = held.loose if number > 0 else L
        normal_impulses(contacts, system, after, static, softness, 0.0, 0.0, held)
        add_normal(p, held.normal[0])
    if number == 0:
        return
    if number < n:
        for k in range(6 * n):
            for i in range(n):
                for m in range(3):
                    v2[k] += L[k, 6 * i + 2 + m] * held.normal[0, 3 * i + m]
    _patch_velocity(held, r, v2, moving)
    solve_factored(held.K, r, moving)
    for m in range(r):
        b = 6 * held.owner[m]
        for k in range(b, b + 6):
            p[k] -= held.S[m, k] * moving[m]


@lean
def _hold(contacts, L, static, held):
    """Find out what there is to know of these static links; the number of rows of S."""
    n = len(static)
    same, number = held.rows[1] > 0, 0
    for i in range(n):
        same = same and held.static[i] == static[i]
        held.static[i] = static[i]
        number += static[i]
    if same:
        return held.rows[0]
    S, SL, K, grip = held.S, held.SL, held.K, held.grip
    r = _write_held_rows(contacts, static, S, held.owner)
    held.rows[0], held.rows[1] = r, 1
    for m in range(r):
        b = 6 * held.owner[m]
        for k in range(6 * n):
            SL[m, k] = 0.0
        for j in range(b, b + 6):
            for k in range(6 * n):
                SL[m, k] += S[m, j] * L[j, k]
    for k in range(r):
        b = 6 * held.owner[k]
        for m in range(r):
            K[m, k] = dot(SL[m, b : b + 6], S[k, b : b + 6])
    factor(K, r)
    if number == n:
        return r
    for m in range(r):
        for k in range(6 * n):
            grip[m, k] = SL[m, k]
    solve_columns(K, r, grip)
    for k in range(6 * n):
        for j in range(6 * n):
            held.loose[k, j] = L[k, j]
        for m in range(r):
            a = SL[m, k]
            for j in range(6 * n):
                held.loose[k, j] -= a * grip[m, j]
    return r


@lean
def _patch_velocity(held, r, v, out):
    """Write the velocities S v, of r rows, of the static patches."""
    for m in range(r):
        b = 6 * held.owner[m]
        out[m] = dot(held.S[m, b : b + 6], v[b : b + 6])


@lean
def normal_impulses(contacts, L, V, static, softness, rate, cap, held):
    """The FrictionlessLCP of all links that are not static: their P = (p_z, m_x, m_y), into held.normal[0], (3 n,).

    As lcp.normal_impulse, whose arguments these are; a vertex pushes its own link, and all are felt through L.
    """
    n, room = len(static), held.room
    P, now = held.normal[0], held.normal[1]
    active, scale, vertices = np.int64(0), 0.0, 0
    for i in range(n):
        vertices += contacts.record[i].count
    if _try_again(contacts, L, V, static, softness, rate, cap, room, vertices):
        active = room.count[0]
    for _ in range(4 * vertices + 40):
        for k in range(3 * n):
            P[k] = 0.0
        for m in range(active):
            k = 3 * (room.number[m] >> 32)
            P[k] += room.load[m]
            P[k + 1] += room.load[m] * room.place[m, 1]
            P[k + 2] -= room.load[m] * room.place[m, 0]
        for i in range(n):
            for k in range(3):
                total = 0.0
                for j in range(n):
                    for m in range(3):
                        total += L[6 * i + 2 + k, 6 * j + 2 + m] * P[3 * j + m]
                now[3 * i + k] = total + V[6 * i + 2 + k]
        link, vertex, gap, largest = _worst(contacts, now, static, rate, cap, room.number, active)
        scale = max(scale, largest)
        if not gap < -_TINY * scale:
            break
        _note_vertex(contacts, L, room, active, link, vertex)
        active = admit(room, active, gap, softness)
    room.count[0] = active


@lean
def _try_again(contacts, L, V, static, softness, rate, cap, room, vertices):
    """Whether the vertices that carried load the last time, or all if they are not more than two, may do so again;
    their loads then."""
    if room.count[0] == 0 and vertices <= 2:
        for i in range(len(static)):
            for k in range(contacts.record[i].count):
                room.number[room.count[0]] = _label(i, k)
                room.count[0] += 1
    active = room.count[0]
    for m in range(active):
        link, vertex = room.number[m] >> 32, room.number[m] & _VERTEX
        if static[link]:
            return False
        _note_vertex(contacts, L, room, m, link, vertex)
        x, y, at = room.place[m, 0], room.place[m, 1], 6 * link + 2
        room.load[m] = _target(contacts, link, vertex, rate, cap) - (V[at] + y * V[at + 1] - x * V[at + 2])
    return active > 0 and carry(room, active, softness)


@lean
def _note_vertex(contacts, L, room, active, link, vertex):
    """Put a vertex behind the first `active` ones, with how they and it respond to each other."""
    room.number[active] = _label(link, vertex)
    room.place[active, 0], room.place[active, 1] = contact_xy(contacts, link, vertex)
    for k in range(active + 1):
        room.gram[k, active] = room.gram[active, k] = _coupling(L, room, k, active)


@inlined
def _target(contacts, i, k, rate, cap):
    """Speed [m/s] at which the k-th vertex of link i is to separate."""
    if not rate > 0.0:
        return 0.0
    c = contacts.record[i]
    return min(rate * max(0.0, -vertex_height(contacts.vertices, c, patch_vertex(contacts, i, k))), cap)


@lean
def _coupling(L, room, k, m):
    """How fast vertex k of those in `room` rises for a unit push on vertex m."""
    i, j = 6 * (room.number[k] >> 32) + 2, 6 * (room.number[m] >> 32) + 2
    x, y = room.place[m, 0], room.place[m, 1]
    u = L[i, j] + L[i, j + 1] * y - L[i, j + 2] * x
    v = L[i + 1, j] + L[i + 1, j + 1] * y - L[i + 1, j + 2] * x
    w = L[i + 2, j] + L[i + 2, j + 1] * y - L[i + 2, j + 2] * x
    return u + room.place[k, 1] * v - room.place[k, 0] * w


@lean
def add_normal(p, P):
    """Add normal impulses P (3 n,) to impulses p (6 n,): T_n puts (p_z, m_x, m_y) in their places."""
    for i in range(len(p) // 6):
        for k in range(3):
            p[6 * i + 2 + k] += P[3 * i + k]


@lean
def _label(link, vertex):
    return link * np.int64(1 << 32) + vertex


@lean
def _worst(contacts, u, static, rate, cap, number, active):
    """Link and vertex farthest below its target speed, the loaded ones aside; by how much; the largest speed."""
    link, vertex, lowest, largest = np.int64(0), np.int64(0), np.inf, 0.0
    for i in range(len(static)):
        if static[i]:
            continue
        c = contacts.record[i]
        for k in range(c.count):
            x, y = contact_xy(contacts, i, k)
            speed = u[3 * i] + y * u[3 * i + 1] - x * u[3 * i + 2]
            target = _target(contacts, i, k, rate, cap)
            largest = max(largest, abs(speed), target)
            if speed - target < lowest:
                known = False
                for m in range(active):
                    known = known or number[m] == _label(i, k)
                if not known:
                    link, vertex, lowest = np.int64(i), np.int64(k), speed - target
    return link, vertex, lowest, largest


@lean
def _write_held_rows(contacts, static, S, owner):
    """Write rows S (r, 6 n) from the twists to the velocities of all static patches, and their links; how many."""
    r = np.int64(0)
    for i in range(len(static)):
        if static[i]:
            for k in range(r, min(r + 6, len(S))):
                for m in range(S.shape[1]):
                    S[k, m] = 0.0
            end = r + write_patch_rows(contacts.record[i], S[r:, 6 * i : 6 * i + 6])
            while r < end:
                owner[r] = i
                r += 1
    return r
