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
from stiction.bodies.state import Mode
from stiction.broyden import advance, first_jacobian, keep_best, learn_jacobian, mismatch, return_to_best, take_wanted
from stiction.compiled import lean, lean_jitable
from stiction.contact import classify, friction, outside, rough_friction, stop_patch
from stiction.dense import copy_matrix, write_applied
from stiction.holding import (
    STEEP,
    begin,
    begin_sliding,
    forced_links_stop,
    give_up_static,
    hold_pressed,
    let_go,
    slide_roughly,
    take_back,
)
from stiction.lcp import lowest_separation
from stiction.spatial import clear, copy

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
    mu_x, mu_y, is_round = rough_friction(law)
    share, pressed = begin(contacts, V_free, L, s)
    if not pressed:
        return 0, True
    # A lone link begins where a rough law has it, if that lets it slide: this may spare a question.
    begun = len(s.static) == 1 and mu_x >= 0.0 and begin_sliding(contacts, V_free, mu_x, mu_y, is_round, s)
    rough, known, solved, evaluations, best = begun, False, False, 0, np.inf
    while evaluations < MOST_EVALUATIONS:
        balanced(contacts, V_free, share, s.p_f, law.softness, s)
        ask_at(contacts, V_free, L, s.p)
        modes_at(law, contacts, s)
        evaluations += 1
        goes, pulled = let_go(contacts, s, mu_x < 0.0)
        give_up_static(s)
        if goes:
            first_jacobian(s.B, 1.0)
            known, best = False, np.inf
            if begun:  # a link that slid, was held again and must slide after all: as it did
                copy_matrix(s.best_f, s.p_f)
            elif mu_x >= 0.0:  # what holds a patch may be more than any friction: begin where a rough law has it
                slide_roughly(contacts, V_free, mu_x, mu_y, is_round, s)
                begun = rough = True
                if share > 0.0:  # feet that press against each other: held as a rough law would
                    hold_pressed(s)
            if begun or pulled:  # a V1 of an impulse that pulls cannot be
                continue
        if take_back(s):
            first_jacobian(s.B, 1.0)
            known, best = False, np.inf
            copy_matrix(s.p_f, s.best_f)
            continue
        friction_at(law, contacts, share, s)
        error, size = mismatch(contacts, s)
        if error <= (tolerance if evaluations < STEEP else LOOSE * tolerance) * size:
            solved = True
            if rough and error > 0.0:  # a rough law's friction is near enough, but the law knows better
                take_wanted(s)
                balanced(contacts, V_free, share, s.p_f, law.softness, s)
            break
        if error < best:
            best = error
            keep_best(s)
        if evaluations % STEEP == 0:  # it does not settle: again from where it was best, with shorter steps
            return_to_best(s)
            known = False
            first_jacobian(s.B, 0.5 ** (evaluations // STEEP))
        if known:
            learn_jacobian(s)
        advance(contacts, s)
        known, rough = True, False
    if not solved and best < np.inf:
        copy_matrix(s.best_f, s.p_f)
        balanced(contacts, V_free, share, s.p_f, law.softness, s)
    solved = solved and forced_links_stop(contacts, LOOSE * tolerance, s)
    free = work_guard(contacts, V_free, L, share, law.softness, s)
    for i in range(len(s.mode)):
        s.outside[i] = outside(law, contacts, i)
        s.mode[i] = Mode.STATIC if s.static[i] else Mode.DYNAMIC if s.p[6 * i + 2] > 0 else Mode.DETACH
    return evaluations, solved and free


@lean
def solve_modes(law, contacts, V_free, L, tolerance, search):
    """`articulated_impulse`, compiled for a compiled law; its py_func serves any other."""
    return articulated_impulse(law, contacts, V_free, L, tolerance, search)


@lean_jitable
def modes_at(law, contacts, s):
    """The modes that H takes at the V1 in the records, and which links `ask` for R's friction, into the search s.

    `want` gets the friction that keeps the patches of static links; forced ones have R's, whatever C says.
    """
    classify(law, contacts)
    for i in range(len(contacts.record)):
        c = contacts.record[i]
        if c.mode == Mode.DETACH and lowest_separation(contacts, i, c.velocity) < 0:
            c.mode = Mode.DYNAMIC  # guard of Algorithm 1: what still approaches does not detach
        s.mode[i] = c.mode
        s.ask[i] = c.mode == Mode.DYNAMIC or (c.mode == Mode.STATIC and s.forced[i])
        clear(s.want[i])
        if c.mode == Mode.STATIC and not s.forced[i]:
            if stop_patch(contacts, i, law.softness) != Mode.STATIC:
                s.mode[i] = Mode.DYNAMIC  # to stop it one would have to pull: as in Algorithm 1, only friction is kept
            copy(c.friction, s.want[i])


@lean_jitable
def friction_at(law, contacts, share, s):
    """R's friction of the links that `ask`, into `want`; of all links only what has an effect, where a `share` of
    their mobility had to be added: see coupled.effective_friction."""
    for i in range(len(contacts.record)):
        contacts.record[i].mode = Mode.DYNAMIC if s.ask[i] else Mode.DETACH
    friction(law, contacts)
    for i in range(len(contacts.record)):
        c = contacts.record[i]
        if s.ask[i]:
            for k in range(5):
                s.want[i, k] = c.p_f[k] if np.isfinite(c.p_f[k]) else 0.0
        if share > 0.0:
            copy(s.want[i], c.friction)
            write_applied(s.effective[i], c.friction, s.want[i])
