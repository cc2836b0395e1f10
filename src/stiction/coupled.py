"""What physics settles exactly when several links of one system touch the ground: they are held or pushed together.

Vectors over all n links are flat, (6 n,): twist or wrench of each link at its own centre of mass, one after another.
`L` (6 n, 6 n) is the inverse inertia of the links inside their system: L p is how the impulses p change their twists.
"""

import numpy as np

from stiction.compiled import compiled
from stiction.contact import friction_wrench
from stiction.dense import factor, solve_factored
from stiction.lcp import MOST_ACTIVE, admit
from stiction.patch import contact_point, patch_vertex, vertex_height
from stiction.spatial import apply
from stiction.stopping import patch_rows

STIFFENING = 1e-8  # share of a link's own mobility that a direction without mobility is given, to choose among impulses
_IMMOBILE = 1e-9  # a direction with less than this share of the free link's mobility has none
_TINY = 1e-12


@compiled
def stiffened(contacts, L):
    """L itself if all links can move in all directions, else L + share M_b^-1; and that share.

    A hinged chain cannot move out of its plane, so that impulses across it have no effect and no unique size. The
    least one is wanted, measured by what it would do to the free link: a trace of the free link's mobility chooses it.
    """
    n = len(L)
    lower = L.copy()
    if cholesky(lower, contacts):
        return L, 0.0
    out = L.copy()
    for i in range(n // 6):
        own = contacts.record[i].inverse_inertia
        for k in range(6):
            for m in range(6):
                out[6 * i + k, 6 * i + m] += STIFFENING * own[k, m]
    return out, STIFFENING


@compiled
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


@compiled
def effective_friction(contacts, L, share):
    """For each link the matrix that keeps of a friction p_f (5,) what its patch can slide or spin along, (n, 5, 5);
    none at all if L was not stiffened.

    A link of a hinged chain can neither yaw nor slide across its plane, but a law does not know that: where two
    mirrored answers are as good, it gives one of them, whose spin torque would turn V1 out of the plane.
    """
    n = len(contacts.record) if share > 0.0 else 0
    out = np.zeros((n, 5, 5))
    T = np.zeros((3, 6))  # rows of the patch's velocity along x and y, and of its yaw
    T[0, 0] = T[1, 1] = T[2, 5] = 1.0
    for i in range(n):
        c = contacts.record[i]
        T[0, 4], T[0, 5] = c.centre[2], -c.centre[1]
        T[1, 3], T[1, 5] = -c.centre[2], c.centre[0]
        K = _times(_times(T, _block(L, i)), T.T)
        own = _times(_times(T, c.inverse_inertia), T.T)
        half, split = 0.5 * (K[0, 0] + K[1, 1]), np.hypot(0.5 * (K[0, 0] - K[1, 1]), K[0, 1])
        out[i, 0, 0] = out[i, 1, 1] = 1.0
        if half - split <= _IMMOBILE * (own[0, 0] + own[1, 1]):  # it slides along one line only
            angle = 0.5 * np.arctan2(2 * K[0, 1], K[0, 0] - K[1, 1])
            x, y = np.cos(angle), np.sin(angle)
            out[i, 0, 0], out[i, 1, 1] = x * x, y * y
            out[i, 0, 1] = out[i, 1, 0] = x * y
        if K[2, 2] > _IMMOBILE * own[2, 2]:
            for k in range(2, 5):
                out[i, k, k] = 1.0
    return out


@compiled
def balance(contacts, L, V, static, p_f, softness):
    """Impulses p (6 n,) that stop the patches of the `static` links, and give the others their friction p_f (n, 5) and
    the normal impulse with which nothing approaches.

    V: twists before contact, (6 n,)
    static: (n,) of bool; a static patch may pull, which is for the caller to see
    """
    n = len(static)
    p = np.zeros(6 * n)
    held = 0
    for i in range(n):
        if static[i]:
            held += 1
        else:
            wrench = friction_wrench(contacts.record[i].centre, p_f[i], 1.0)
            for k in range(6):
                p[6 * i + k] = wrench[k]
    v2 = apply(L, p)
    for k in range(6 * n):
        v2[k] += V[k]
    if held == 0:
        add_normal(p, normal_impulses(contacts, L, v2, static, softness, 0.0, 0.0))
        return p
    S = _held_rows(contacts, static)
    SL = _times(S, L)
    K = _times(SL, S.T)
    factor(K)
    if held < n:  # what the others feel: a system whose static patches do not move
        loose = L.copy()
        grip = np.empty(SL.shape)
        for c in range(6 * n):
            column = SL[:, c].copy()
            solve_factored(K, column)
            for r in range(len(S)):
                grip[r, c] = column[r]
        for k in range(6 * n):
            for m in range(6 * n):
                for r in range(len(S)):
                    loose[k, m] -= SL[r, k] * grip[r, m]
        moving = apply(S, v2)
        after = v2.copy()
        for k in range(6 * n):
            for r in range(len(S)):
                after[k] -= grip[r, k] * moving[r]
        P = normal_impulses(contacts, loose, after, static, softness, 0.0, 0.0)
        add_normal(p, P)
        lifted = np.zeros(6 * n)
        add_normal(lifted, P)
        more = apply(L, lifted)
        for k in range(6 * n):
            v2[k] += more[k]
    hold = apply(S, v2)
    solve_factored(K, hold)
    for r in range(len(S)):
        for k in range(6 * n):
            p[k] -= S[r, k] * hold[r]
    return p


@compiled
def normal_impulses(contacts, L, V, static, softness, rate, cap):
    """The FrictionlessLCP of all links that are not static: their P = (p_z, m_x, m_y), flat (3 n,).

    As lcp.normal_impulse, whose arguments these are; a vertex's row has its three numbers in its own link's place.
    """
    n = len(static)
    G = np.empty((3 * n, 3 * n))
    for i in range(n):
        for j in range(n):
            for k in range(3):
                for m in range(3):
                    G[3 * i + k, 3 * j + m] = L[6 * i + 2 + k, 6 * j + 2 + m]
    most = MOST_ACTIVE * n
    rows = np.zeros((most + 1, 3 * n))  # of the loaded vertices, then of the newcomer
    load = np.zeros(most + 1)
    number = np.empty(most + 1, dtype=np.int64)  # link and vertex of each
    active = 0
    P = np.zeros(3 * n)
    scale = 0.0
    vertices = 0
    for i in range(n):
        vertices += contacts.record[i].count
    for _ in range(4 * vertices + 40):
        now = apply(G, P)
        for i in range(n):
            for k in range(3):
                now[3 * i + k] += V[6 * i + 2 + k]
        link, vertex, gap, largest = _worst(contacts, now, static, rate, cap, number, active)
        scale = max(scale, largest)
        if not gap < -_TINY * scale:
            break
        x, y, _z = contact_point(contacts, link, vertex)
        for k in range(3 * n):
            rows[active, k] = 0.0
        rows[active, 3 * link], rows[active, 3 * link + 1], rows[active, 3 * link + 2] = 1.0, y, -x
        number[active] = _label(link, vertex)
        load[active] = 0.0
        active = admit(G, rows, load, number, active, gap, softness)
        for k in range(3 * n):
            P[k] = 0.0
            for m in range(active):
                P[k] += load[m] * rows[m, k]
    return P


@compiled
def add_normal(p, P):
    """Add normal impulses P (3 n,) to impulses p (6 n,): T_n puts (p_z, m_x, m_y) in their places."""
    for i in range(len(p) // 6):
        for k in range(3):
            p[6 * i + 2 + k] += P[3 * i + k]


@compiled
def _label(link, vertex):
    return link * np.int64(1 << 32) + vertex


@compiled
def _worst(contacts, u, static, rate, cap, number, active):
    """Link and vertex farthest below its target speed, the loaded ones aside; by how much; the largest speed."""
    link, vertex, lowest, largest = np.int64(0), np.int64(0), np.inf, 0.0
    for i in range(len(static)):
        if static[i]:
            continue
        c = contacts.record[i]
        for k in range(c.count):
            x, y, _z = contact_point(contacts, i, k)
            speed = u[3 * i] + y * u[3 * i + 1] - x * u[3 * i + 2]
            target = 0.0
            if rate > 0:
                depth = -vertex_height(contacts.vertices, c, patch_vertex(contacts, i, k))
                target = min(rate * max(0.0, depth), cap)
            largest = max(largest, abs(speed), target)
            if speed - target < lowest:
                known = False
                for m in range(active):
                    known = known or number[m] == _label(i, k)
                if not known:
                    link, vertex, lowest = np.int64(i), np.int64(k), speed - target
    return link, vertex, lowest, largest


@compiled
def _held_rows(contacts, static):
    """Rows S (r, 6 n) from the twists to the velocities of all static patches."""
    n = len(static)
    S = np.zeros((6 * n, 6 * n))
    r = 0
    for i in range(n):
        if static[i]:
            own = patch_rows(contacts.record[i])
            for k in range(len(own)):
                for m in range(6):
                    S[r, 6 * i + m] = own[k, m]
                r += 1
    return S[:r]


@compiled
def _times(A, B):
    out = np.zeros((A.shape[0], B.shape[1]))
    for r in range(A.shape[0]):
        for k in range(A.shape[1]):
            a = A[r, k]
            if a != 0.0:
                for c in range(B.shape[1]):
                    out[r, c] += a * B[k, c]
    return out


@compiled
def _block(L, i):
    out = np.empty((6, 6))
    for k in range(6):
        for m in range(6):
            out[k, m] = L[6 * i + k, 6 * i + m]
    return out
