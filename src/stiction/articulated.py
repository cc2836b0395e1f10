"""ALGORITHM 2 of the paper: the contact impulse of links inside any multibody system, with the laws of the free links.

The paper solves for the joint force f_j that links and upstream system exchange, G(f_j) = 0. Whatever f_j is, all that
the contact handler H sees of it is the twist V1 that the link would have without its contact impulse p. So an engine
gives two things, with p = 0 and per unit of p:

    V_free      twists of the links after a step without contact, and
    L           their inverse inertia inside the system, J M^-1 J^T;

the free link's own inverse inertia is M_b^-1, and the same equation reads

    p = H(V1)   with   V1 = V_free + (L - M_b^-1) p,   and then   V+ = V_free + L p.

Several links are stacked: V_free (6 n,), L (6 n, 6 n), so that they feel each other.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from scipy.optimize import root

from stiction.compiled import compiled
from stiction.contact import (
    classify,
    contact_impulse,
    friction,
    friction_part,
    friction_wrench,
    outside,
    rough_friction,
    stop_patch,
)
from stiction.coupled import balance, effective_friction, stiffened
from stiction.lcp import lowest_separation
from stiction.rough import rough_impulses
from stiction.spatial import apply, copy, dot
from stiction.state import Mode
from stiction.stopping import static_impulse

TOLERANCE = 1e-3  # of the friction impulse, relative to the contact's impulses; the law's own error is not less
POWELL_TOLERANCE = 0.005  # the paper's
MOST_EVALUATIONS = 40  # of the law in one step; then the best friction so far is taken
_STEEP = 8  # evaluations after which a search is not an ordinary one
_LOOSE = 5.0  # times the tolerance is taken where a search does not settle: 0.5 %, as in the paper
_HOLDS = 2  # times that a link may be held again
_SLACK = 1e-12


class Solution(NamedTuple):
    """Contact impulses of one step, and what it took to find them.

    impulse: (n, 6), each about its link's centre of mass
    mode: (n,) values of Mode
    outside: (n,), whether the law was asked about something it was not trained on
    evaluations: how often the law was asked (the paper's evaluations of G)
    solved: whether p = H(V1) holds; if not, the impulses are safe, but the law would not have chosen them
    """

    impulse: np.ndarray
    mode: np.ndarray
    outside: np.ndarray
    evaluations: int
    solved: bool


@register_jitable
def articulated_impulse(law, contacts, V_free, L, tolerance):
    """Algorithm 2, mode by mode: the Solution of p = H(V1) for the links whose patches are in `contacts`.

    V_free: (6 n,); L: (6 n, 6 n). contacts.record.inverse_inertia holds M_b^-1; record.velocity is where V1 is asked.

    A patch that nothing presses detaches, p = 0. Where all that are pressed may stick, p is the solution of a linear
    problem: it stands if C, asked at its V1, agrees. Only links that slide iterate, on their friction alone: whatever
    p_f is, the normal impulse follows from the LCP in L.
    """
    n = len(contacts.record)
    pressed = _pressed(contacts, V_free)
    static = pressed.copy()
    p_f, want = np.zeros((n, 5)), np.zeros((n, 5))
    p = np.zeros(6 * n)
    c = np.full(n, Mode.DETACH, dtype=np.int64)
    if not static.any():
        return Solution(p.reshape(n, 6), c, np.zeros(n, dtype=np.bool_), 0, True)
    L_b, share = stiffened(contacts, L)
    effective = effective_friction(contacts, L, share)
    mu, is_round = rough_friction(law)
    begun = False
    forced = np.zeros(n, dtype=np.bool_)
    held, returned = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    B = _start(n, 1.0)
    last_x, last_F = np.zeros(5 * n), np.zeros(5 * n)
    best_f, best_x, best_F, best = p_f.copy(), last_x, last_F, np.inf
    known, solved, evaluations = False, False, 0
    while evaluations < MOST_EVALUATIONS:
        p = balanced(contacts, L_b, share, V_free, static, p_f, law.softness)
        ask_at(contacts, V_free, L, p)
        c = answer(law, contacts, effective, forced, want)
        evaluations += 1
        let_go, pulled = _let_go(contacts, p, static, c, p_f)
        _give_up_static(static, c, held, forced)
        if let_go:
            B, known, best = _start(n, 1.0), False, np.inf
            if begun:  # a link that slid, was held again and must slide after all: as it did
                copy_rows(best_f, p_f)
                continue
            if mu[0] >= 0.0:  # what holds a patch may be more than any friction: begin where a rough law has it
                rough_impulses(contacts, L_b, V_free, mu, is_round, p_f)
                copy_rows(p_f, best_f)
                begun = True
                if n > 1 and share > 0.0:  # feet that press against each other: held as a rough law would
                    for i in range(n):
                        static[i] = pressed[i]
                continue
            if pulled:  # this V1 belongs to an impulse that cannot be
                continue
        if n > 1 and _take_back(static, c, returned):
            B, known, best = _start(n, 1.0), False, np.inf
            copy_rows(p_f, best_f)
            continue
        x, F, size = _mismatch(contacts, p, static, p_f, want)
        error = np.sqrt(dot(F, F))
        if error <= (tolerance if evaluations < 2 * _STEEP else _LOOSE * tolerance) * size:
            solved = True
            break
        if error < best:
            best_x, best_F, best = x, F, error
            copy_rows(p_f, best_f)
        if evaluations % _STEEP == 0:  # it does not settle: again from where it was best, with shorter steps
            x, F, known = best_x, best_F, False
            B = _start(n, 0.5 ** (evaluations // _STEEP))
        if known:
            _learn(B, x, F, last_x, last_F)
        last_x, last_F, known = x, F, True
        _advance(contacts, B, x, F, p_f)
    if not solved and best < np.inf:
        copy_rows(best_f, p_f)
        p = balanced(contacts, L_b, share, V_free, static, p_f, law.softness)
    for i in range(n):
        if forced[i] and c[i] == Mode.STATIC and not _stops(contacts, i, p, tolerance):
            solved = False
    p, free = work_guard(contacts, L, L_b, share, V_free, static, p_f, law.softness, p)
    solved = solved and free
    beyond = np.zeros(n, dtype=np.bool_)
    for i in range(n):
        beyond[i] = outside(law, contacts, i)
        c[i] = (
            Mode.STATIC
            if static[i] or (solved and c[i] == Mode.STATIC)
            else Mode.DYNAMIC
            if p[6 * i + 2] > 0
            else Mode.DETACH
        )
    return Solution(p.reshape(n, 6), c, beyond, evaluations, solved)


@compiled
def solve_modes(law, contacts, V_free, L, tolerance):
    """`articulated_impulse`, compiled for a compiled law; its py_func serves any other."""
    return articulated_impulse(law, contacts, V_free, L, tolerance)


def solve_powell(law, contacts, V_free, L):
    """The same equation by the paper's method, Powell's hybrid, on the whole unknown p and to 0.5 %.

    MINPACK's own verdict is not relied upon: solved says that the residual is small.
    """
    n = len(contacts.record)
    modes = np.zeros(n, dtype=np.int64)
    static = _pressed(contacts, V_free)
    if not static.any():
        return Solution(np.zeros((n, 6)), np.full(n, int(Mode.DETACH)), np.zeros(n, dtype=np.bool_), 0, True)
    L_b, share = stiffened(contacts, L)
    guess = balanced(contacts, L_b, share, V_free, static, np.zeros((n, 5)), 0.0)
    count = 0

    def handle(p):
        nonlocal count
        count += 1
        ask_at(contacts, V_free, L, p)
        impulse, modes[:] = _handler(law, contacts)
        return impulse.reshape(-1)

    unit = np.ones((n, 6))
    unit[:, 3:] = 0.1 * contacts.record["diameter"][:, None]  # torques as forces on an arm
    unit = unit.reshape(-1)
    # Networks answer in single precision: smaller differences than these tell nothing of a slope.
    how = {"xtol": POWELL_TOLERANCE, "eps": 1e-4}
    found = root(lambda x: handle(unit * x) / unit - x, guess / unit, method="hybr", options=how)
    p = handle(unit * found.x)
    solved = np.linalg.norm(p / unit - found.x) <= POWELL_TOLERANCE * np.linalg.norm(p / unit)
    beyond = np.array([outside_of(law, contacts, i) for i in range(n)], dtype=np.bool_)
    return Solution(p.reshape(n, 6), modes.copy(), beyond, count, bool(solved))


@compiled
def compiled_handler(law, contacts):
    """Algorithm 1 for a compiled law."""
    return contact_impulse(law, contacts)


@compiled
def compiled_outside(law, contacts, i):
    """`contact.outside` for a compiled law."""
    return outside(law, contacts, i)


def _handler(law, contacts):
    return compiled_handler(law, contacts) if isinstance(law, tuple) else contact_impulse(law, contacts)


def outside_of(law, contacts, i) -> bool:
    """`contact.outside` for any law."""
    return bool(compiled_outside(law, contacts, i) if isinstance(law, tuple) else outside(law, contacts, i))


@register_jitable
def answer(law, contacts, effective, forced, want):
    """What H does at the V1 in the records: modes (n,), and its friction into `want` (n, 5).

    effective: what of each link's friction has an effect, (n, 5, 5), or (0, 5, 5) if all has
    forced: links whose friction is R's, whatever C says, (n,)
    """
    c = classify(law, contacts)
    n = len(c)
    p_f = friction(law, contacts, np.arange(n))
    for i in range(n):
        if c[i] == Mode.DETACH and lowest_separation(contacts, i, contacts.record[i].velocity) < 0:
            c[i] = Mode.DYNAMIC  # guard of Algorithm 1: what still approaches does not detach
        for k in range(5):
            want[i, k] = p_f[i, k] if c[i] != Mode.DETACH and np.isfinite(p_f[i, k]) else 0.0
        if c[i] == Mode.STATIC and not forced[i]:
            kept = friction_part(contacts, i, static_impulse(contacts, i))
            for k in range(5):
                want[i, k] = kept[k]
            if stop_patch(contacts, i, law.softness, np.zeros(6)) != Mode.STATIC:
                c[i] = Mode.DYNAMIC  # to stop it one would have to pull: as in Algorithm 1, only friction is kept
        if len(effective) > 0:
            kept = apply(effective[i], want[i])
            for k in range(5):
                want[i, k] = kept[k]
    return c


@compiled
def balanced(contacts, L_b, share, V_free, static, p_f, softness):
    """`balance` in the system itself: where L was stiffened, what that has added is taken back.

    Feet that press against each other through the robot may be held by many impulses. Of these the one nearest to the
    friction p_f is taken, so that what a law has agreed to stays.
    """
    if share == 0.0:
        return balance(contacts, L_b, V_free, static, p_f, softness)
    n = len(static)
    p = np.zeros(6 * n)
    for i in range(n):
        if static[i]:
            copy(friction_wrench(contacts.record[i].centre, p_f[i], 1.0), p[6 * i : 6 * i + 6])
    V = np.empty(6 * n)
    for _ in range(2):
        for i in range(n):
            back = apply(contacts.record[i].inverse_inertia, p[6 * i : 6 * i + 6])
            for k in range(6):
                V[6 * i + k] = V_free[6 * i + k] - share * back[k]
        p = balance(contacts, L_b, V, static, p_f, softness)
    return p


@compiled
def ask_at(contacts, V_free, L, p):
    """Write V1 = V_free + (L - M_b^-1) p of every link into its record: the twist it would have without its p."""
    V = apply(L, p)
    for i in range(len(contacts.record)):
        c = contacts.record[i]
        own = apply(c.inverse_inertia, p[6 * i : 6 * i + 6])
        for k in range(6):
            c.velocity[k] = V_free[6 * i + k] + V[6 * i + k] - own[k]


@compiled
def work_guard(contacts, L, L_b, share, V_free, static, p_f, softness, p):
    """The guards of Algorithm 1 for the whole system: no friction without normal impulse, no energy from contact.

    Impulses p (6 n,) with friction scaled down until both hold, and whether nothing had to be scaled.
    """
    n = len(static)
    free = True
    for i in range(n):
        for k in range(5):
            if not static[i] and not p[6 * i + 2] > 0.0 and p_f[i, k] != 0.0:
                p_f[i, k] = 0.0
                free = False
    if not free:
        p = balanced(contacts, L_b, share, V_free, static, p_f, softness)
    if _gains_nothing(L, V_free, p):
        return p, free
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        trial = balanced(contacts, L_b, share, V_free, static, middle * p_f, softness)
        if _gains_nothing(L, V_free, trial):
            low = middle
        else:
            high = middle
    return balanced(contacts, L_b, share, V_free, static, low * p_f, softness), False


@compiled
def _gains_nothing(L, V, p):
    """Whether p leaves the system's kinetic energy as it is or lowers it: p . (V + L p / 2) <= 0."""
    change = apply(L, p)
    gain = scale = 0.0
    for k in range(len(p)):
        gain += p[k] * (V[k] + 0.5 * change[k])
        scale += abs(p[k] * V[k])
    return gain <= _SLACK * scale


@compiled
def _stops(contacts, i, p, tolerance):
    """Whether the impulse p (6 n,) is just the one that stops the patch at the V1 in its record."""
    held = static_impulse(contacts, i)
    wrong = size = 0.0
    for k in range(6):
        wrong = max(wrong, abs(p[6 * i + k] - held[k]))
        size = max(size, abs(held[k]))
    return wrong <= tolerance * size


@compiled
def _pressed(contacts, V_free):
    """Whether a vertex of each link (n,) would approach the ground."""
    pressed = np.empty(len(contacts.record), dtype=np.bool_)
    for i in range(len(pressed)):
        pressed[i] = lowest_separation(contacts, i, V_free[6 * i : 6 * i + 6]) < 0
    return pressed


@compiled
def _let_go(contacts, p, static, c, p_f):
    """Let links slide that the law does not hold, from the friction that held them; if any does, and if any pulled."""
    any_goes = pulls = False
    for i in range(len(static)):
        if static[i] and c[i] != Mode.STATIC:
            static[i] = False
            any_goes = True
            own = p[6 * i : 6 * i + 6]
            held = friction_part(contacts, i, own)
            for k in range(5):
                p_f[i, k] = held[k]
            # Asked at this V1, stopping the patch takes just this impulse: the LCP of the free link says if it pushes.
            pulls = pulls or stop_patch(contacts, i, 0.0, np.zeros(6)) != Mode.STATIC
    return any_goes, pulls


@compiled
def _give_up_static(static, c, held, forced):
    """Links that the law would hold where they slide, but let slide where they are held, slide: no mode is right."""
    for i in range(len(static)):
        if not static[i] and c[i] == Mode.STATIC:
            held[i] += 1
            forced[i] = held[i] > _STEEP


@compiled
def _take_back(static, c, returned):
    """Hold links again that slide by a friction at which the law says static; a few times each."""
    any_back = False
    for i in range(len(static)):
        if not static[i] and c[i] == Mode.STATIC and returned[i] < _HOLDS:
            static[i] = any_back = True
            returned[i] += 1
    return any_back


@compiled
def _mismatch(contacts, p, static, p_f, want):
    """Friction of the sliding links, how far the law wants it elsewhere (5 n, each; torques per radius), and a size."""
    n = len(static)
    x, F = np.zeros(5 * n), np.zeros(5 * n)
    size = 0.0
    for i in range(n):
        size += abs(p[6 * i + 2])
        if not static[i]:
            for k in range(5):
                arm = 1.0 if k < 2 else _arm(contacts, i)
                x[5 * i + k] = p_f[i, k] / arm
                F[5 * i + k] = (want[i, k] - p_f[i, k]) / arm
                size += abs(x[5 * i + k])
    return x, F, size


@compiled
def _arm(contacts, i):
    """A length that makes torques comparable to forces [m]."""
    c = contacts.record[i]
    return max(c.radius, 0.01 * c.diameter)


@compiled
def _start(n, share):
    """The inverse Jacobian of F with which the search begins: go that share of the way to what the law wants."""
    B = np.zeros((5 * n, 5 * n))
    for k in range(5 * n):
        B[k, k] = -share
    return B


@compiled
def copy_rows(source, out):
    """Write the rows of `source` into `out`."""
    for i in range(len(source)):
        copy(source[i], out[i])


@compiled
def _learn(B, x, F, last_x, last_F):
    """Broyden's update (1965) of the inverse Jacobian B from the last two places."""
    n = len(x)
    s, y = np.empty(n), np.empty(n)
    for k in range(n):
        s[k], y[k] = x[k] - last_x[k], F[k] - last_F[k]
    By = apply(B, y)
    below = dot(s, By)
    if abs(below) <= 1e-14 * dot(s, s):
        return
    sB = np.zeros(n)
    for r in range(n):
        for k in range(n):
            sB[k] += s[r] * B[r, k]
    for r in range(n):
        for k in range(n):
            B[r, k] += (s[r] - By[r]) * sB[k] / below


@compiled
def _advance(contacts, B, x, F, p_f):
    """Move the friction p_f (n, 5) from x by a quasi-Newton step."""
    step = apply(B, F)
    for i in range(len(p_f)):
        for k in range(5):
            arm = 1.0 if k < 2 else _arm(contacts, i)
            p_f[i, k] = arm * (x[5 * i + k] - step[5 * i + k])
