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

from stiction.balancing import ask_at, balanced, work_guard
from stiction.broyden import advance, copy_rows, first_jacobian, learn_jacobian, mismatch
from stiction.compiled import lean, lean_jitable
from stiction.contact import classify, friction, outside, rough_friction, stop_patch
from stiction.coupled import effective_friction, stiffen
from stiction.dense import write_applied
from stiction.holding import STEEP, give_up_static, let_go, pressed_links, stops, take_back
from stiction.lcp import lowest_separation
from stiction.rough import rough_impulses
from stiction.spatial import clear, copy, dot
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


@lean_jitable
def articulated_impulse(law, contacts, V_free, L, tolerance, search):
    """Algorithm 2, mode by mode: solve p = H(V1) for the links whose patches are in `contacts`.

    V_free: (6 n,); L: (6 n, 6 n). contacts.record.inverse_inertia holds M_b^-1; record.velocity is where V1 is asked.
    search: a searching.Search, where the solution is left; the evaluations and whether it is solved back

    A patch that nothing presses detaches, p = 0. Where all that are pressed may stick, p is the solution of a linear
    problem: it stands if C, asked at its V1, agrees. Only links that slide iterate, on their friction alone: whatever
    p_f is, the normal impulse follows from the LCP in L.
    """
    s = search
    n = len(contacts.record)
    mu_x, mu_y, is_round = rough_friction(law)
    clear(s.p)
    for i in range(n):
        _forget(i, s.mode, s.outside, s.forced, s.held, s.returned, s.p_f)
    if not pressed_links(contacts, V_free, s.pressed):
        return 0, True
    copy(s.pressed, s.static)
    s.held_links.rows[1] = 0
    first_jacobian(s.B, 1.0)
    share = stiffen(contacts, L, s.L_b)
    effective_friction(contacts, L, share, s.effective)
    begun = slid = False
    if n == 1 and mu_x >= 0.0:  # begin where a rough law has it: this may spare a question
        begun = slid = rough_impulses(contacts, s.L_b, V_free, mu_x, mu_y, is_round, s.effective, s.rough, s.p_f)
        copy_rows(s.p_f, s.best_f)
        if not begun:
            clear(s.p_f[0])
        s.static[0] = not begun
    known, solved, evaluations, best = False, False, 0, np.inf
    while evaluations < MOST_EVALUATIONS:
        balanced(contacts, s.L_b, share, V_free, s.static, s.p_f, law.softness, s.held_links, s.p)
        ask_at(contacts, V_free, L, s.p)
        modes_at(law, contacts, s.forced, s.mode, s.ask, s.want)
        evaluations += 1
        goes, pulled = let_go(contacts, s.p, s.static, s.mode, s.p_f, mu_x < 0.0)
        give_up_static(s.static, s.mode, s.held, s.forced)
        if goes:
            first_jacobian(s.B, 1.0)
            known, best = False, np.inf
            if begun:  # a link that slid, was held again and must slide after all: as it did
                copy_rows(s.best_f, s.p_f)
                continue
            if mu_x >= 0.0:  # what holds a patch may be more than any friction: begin where a rough law has it
                rough_impulses(contacts, s.L_b, V_free, mu_x, mu_y, is_round, s.effective, s.rough, s.p_f)
                copy_rows(s.p_f, s.best_f)
                begun = True
                if n > 1 and share > 0.0:  # feet that press against each other: held as a rough law would
                    for i in range(n):
                        s.static[i] = s.pressed[i]
                continue
            if pulled:  # this V1 belongs to an impulse that cannot be
                continue
        if (n > 1 or slid) and take_back(s.static, s.mode, s.returned):
            first_jacobian(s.B, 1.0)
            known, best, slid = False, np.inf, False
            copy_rows(s.p_f, s.best_f)
            continue
        friction_at(law, contacts, share, s.ask, s.effective, s.want)
        size = mismatch(contacts, s.p, s.static, s.p_f, s.want, s.x, s.F)
        error = np.sqrt(dot(s.F, s.F))
        if error <= (tolerance if evaluations < STEEP else LOOSE * tolerance) * size:
            solved = True
            if evaluations == 1 and error > 0.0:  # a rough law's friction: near enough, but the law knows better
                for i in range(n):
                    if not s.static[i]:
                        copy(s.want[i], s.p_f[i])
                balanced(contacts, s.L_b, share, V_free, s.static, s.p_f, law.softness, s.held_links, s.p)
            break
        if error < best:
            best = error
            _keep(s.x, s.F, s.best_x, s.best_F)
            copy_rows(s.p_f, s.best_f)
        if evaluations % STEEP == 0:  # it does not settle: again from where it was best, with shorter steps
            _keep(s.best_x, s.best_F, s.x, s.F)
            known = False
            first_jacobian(s.B, 0.5 ** (evaluations // STEEP))
        if known:
            learn_jacobian(s.B, s.x, s.F, s.last_x, s.last_F, s.spare)
        _keep(s.x, s.F, s.last_x, s.last_F)
        known = True
        advance(contacts, s.B, s.x, s.F, s.p_f, s.spare)
    if not solved and best < np.inf:
        copy_rows(s.best_f, s.p_f)
        balanced(contacts, s.L_b, share, V_free, s.static, s.p_f, law.softness, s.held_links, s.p)
    for i in range(n):
        if s.forced[i] and s.mode[i] == Mode.STATIC and not stops(contacts, i, s.p, LOOSE * tolerance):
            solved = False
    free = work_guard(contacts, L, s.L_b, share, V_free, s.static, s.p_f, s.want, law.softness, s.held_links, s.p)
    for i in range(n):
        s.outside[i] = outside(law, contacts, i)
        s.mode[i] = Mode.STATIC if s.static[i] else Mode.DYNAMIC if s.p[6 * i + 2] > 0 else Mode.DETACH
    return evaluations, solved and free


@lean
def solve_modes(law, contacts, V_free, L, tolerance, search):
    """`articulated_impulse`, compiled for a compiled law; its py_func serves any other."""
    return articulated_impulse(law, contacts, V_free, L, tolerance, search)


@lean
def _forget(i, mode, outside, forced, held, returned, p_f):
    """Nothing is known of link i."""
    mode[i] = Mode.DETACH
    outside[i] = forced[i] = False
    held[i] = returned[i] = 0
    clear(p_f[i])


@lean
def _keep(x, F, to_x, to_F):
    copy(x, to_x)
    copy(F, to_F)


@lean_jitable
def modes_at(law, contacts, forced, mode, ask, want):
    """The modes (n,) that H takes at the V1 in the records, and which links `ask` (n,) for R's friction.

    forced: links whose friction is R's, whatever C says, (n,)
    want: gets the friction that keeps the patches of other static links, (n, 5)
    """
    classify(law, contacts)
    for i in range(len(contacts.record)):
        c = contacts.record[i]
        if c.mode == Mode.DETACH and lowest_separation(contacts, i, c.velocity) < 0:
            c.mode = Mode.DYNAMIC  # guard of Algorithm 1: what still approaches does not detach
        mode[i] = c.mode
        ask[i] = c.mode == Mode.DYNAMIC or (c.mode == Mode.STATIC and forced[i])
        clear(want[i])
        if c.mode == Mode.STATIC and not forced[i]:
            if stop_patch(contacts, i, law.softness) != Mode.STATIC:
                mode[i] = Mode.DYNAMIC  # to stop it one would have to pull: as in Algorithm 1, only friction is kept
            copy(c.friction, want[i])


@lean_jitable
def friction_at(law, contacts, share, ask, effective, want):
    """R's friction of the links that `ask`, into `want` (n, 5), of all links only what has an effect.

    effective: what of each link's friction has one, (n, 5, 5); all if the share is 0
    """
    for i in range(len(contacts.record)):
        contacts.record[i].mode = Mode.DYNAMIC if ask[i] else Mode.DETACH
    friction(law, contacts)
    for i in range(len(contacts.record)):
        c = contacts.record[i]
        if ask[i]:
            for k in range(5):
                want[i, k] = c.p_f[k] if np.isfinite(c.p_f[k]) else 0.0
        if share > 0.0:
            copy(want[i], c.friction)
            write_applied(effective[i], c.friction, want[i])
