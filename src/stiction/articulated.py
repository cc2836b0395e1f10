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

from stiction.balancing import ask_at, balanced, work_guard
from stiction.broyden import advance, copy_rows, first_jacobian, learn_jacobian, mismatch
from stiction.compiled import compiled
from stiction.contact import classify, friction, outside, rough_friction, stop_patch
from stiction.coupled import effective_friction, new_held, stiffened
from stiction.holding import STEEP, give_up_static, let_go, pressed_links, stops, take_back
from stiction.lcp import lowest_separation
from stiction.rough import rough_impulses
from stiction.spatial import apply, dot
from stiction.state import Mode

TOLERANCE = 1e-3  # of the friction impulse, relative to the contact's impulses; the law's own error is not less
LOOSE = 5.0  # times the tolerance is taken where a search does not settle at once: 0.5 %, as in the paper
MOST_EVALUATIONS = 40  # of the law in one step; then the best friction so far is taken


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
    pressed = pressed_links(contacts, V_free)
    static = pressed.copy()
    p_f, want = np.zeros((n, 5)), np.zeros((n, 5))
    ask = np.zeros(n, dtype=np.bool_)
    p = np.zeros(6 * n)
    c = np.full(n, Mode.DETACH, dtype=np.int64)
    if not static.any():
        return Solution(p.reshape(n, 6), c, np.zeros(n, dtype=np.bool_), 0, True)
    L_b, share = stiffened(contacts, L)
    held_links = new_held(n)
    effective = effective_friction(contacts, L, share)
    mu, is_round = rough_friction(law)
    begun = False
    forced = np.zeros(n, dtype=np.bool_)
    held, returned = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    B = first_jacobian(n, 1.0)
    last_x, last_F = np.zeros(5 * n), np.zeros(5 * n)
    best_f, best_x, best_F, best = p_f.copy(), last_x, last_F, np.inf
    known, solved, evaluations = False, False, 0
    while evaluations < MOST_EVALUATIONS:
        balanced(contacts, L_b, share, V_free, static, p_f, law.softness, held_links, p)
        ask_at(contacts, V_free, L, p)
        c = modes_at(law, contacts, forced, want, ask)
        evaluations += 1
        goes, pulled = let_go(contacts, p, static, c, p_f, mu[0] < 0.0)
        give_up_static(static, c, held, forced)
        if goes:
            B, known, best = first_jacobian(n, 1.0), False, np.inf
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
        if n > 1 and take_back(static, c, returned):
            B, known, best = first_jacobian(n, 1.0), False, np.inf
            copy_rows(p_f, best_f)
            continue
        friction_at(law, contacts, effective, ask, want)
        x, F, size = mismatch(contacts, p, static, p_f, want)
        error = np.sqrt(dot(F, F))
        if error <= (tolerance if evaluations < STEEP else LOOSE * tolerance) * size:
            solved = True
            break
        if error < best:
            best_x, best_F, best = x, F, error
            copy_rows(p_f, best_f)
        if evaluations % STEEP == 0:  # it does not settle: again from where it was best, with shorter steps
            x, F, known = best_x, best_F, False
            B = first_jacobian(n, 0.5 ** (evaluations // STEEP))
        if known:
            learn_jacobian(B, x, F, last_x, last_F)
        last_x, last_F, known = x, F, True
        advance(contacts, B, x, F, p_f)
    if not solved and best < np.inf:
        copy_rows(best_f, p_f)
        balanced(contacts, L_b, share, V_free, static, p_f, law.softness, held_links, p)
    for i in range(n):
        if forced[i] and c[i] == Mode.STATIC and not stops(contacts, i, p, LOOSE * tolerance):
            solved = False
    free = work_guard(contacts, L, L_b, share, V_free, static, p_f, want, law.softness, held_links, p)
    solved = solved and free
    beyond = np.zeros(n, dtype=np.bool_)
    for i in range(n):
        beyond[i] = outside(law, contacts, i)
        c[i] = Mode.STATIC if static[i] else Mode.DYNAMIC if p[6 * i + 2] > 0 else Mode.DETACH
    return Solution(p.reshape(n, 6), c, beyond, evaluations, solved)


@compiled
def solve_modes(law, contacts, V_free, L, tolerance):
    """`articulated_impulse`, compiled for a compiled law; its py_func serves any other."""
    return articulated_impulse(law, contacts, V_free, L, tolerance)


@register_jitable
def modes_at(law, contacts, forced, want, ask):
    """The modes (n,) that H takes at the V1 in the records, and which links ask for R's friction, into `ask` (n,).

    forced: links whose friction is R's, whatever C says, (n,)
    want: gets the friction that keeps the patches of static links, (n, 5)
    """
    c = classify(law, contacts)
    for i in range(len(c)):
        if c[i] == Mode.DETACH and lowest_separation(contacts, i, contacts.record[i].velocity) < 0:
            c[i] = Mode.DYNAMIC  # guard of Algorithm 1: what still approaches does not detach
        ask[i] = c[i] == Mode.DYNAMIC or (c[i] == Mode.STATIC and forced[i])
        for k in range(5):
            want[i, k] = 0.0
        if c[i] == Mode.STATIC and not forced[i]:
            if stop_patch(contacts, i, law.softness, np.zeros(6)) != Mode.STATIC:
                c[i] = Mode.DYNAMIC  # to stop it one would have to pull: as in Algorithm 1, only friction is kept
            for k in range(5):
                want[i, k] = contacts.record[i].friction[k]
    return c


@register_jitable
def friction_at(law, contacts, effective, ask, want):
    """R's friction of the links that `ask`, into `want` (n, 5), of all links only what has an effect.

    effective: what of each link's friction has one, (n, 5, 5), or (0, 5, 5) if all has
    """
    asked = np.flatnonzero(ask)
    p_f = friction(law, contacts, asked)
    for m in range(len(asked)):
        for k in range(5):
            want[asked[m], k] = p_f[m, k] if np.isfinite(p_f[m, k]) else 0.0
    for i in range(len(effective)):
        kept = apply(effective[i], want[i])
        for k in range(5):
            want[i, k] = kept[k]
