"""Which links Algorithm 2 holds and which it lets slide, by what the law says of them."""

import numpy as np

from stiction.compiled import compiled
from stiction.contact import friction_part, stop_patch
from stiction.lcp import lowest_separation
from stiction.state import Mode
from stiction.stopping import static_impulse

STEEP = 8  # evaluations after which a search is not an ordinary one
HOLDS = 2  # times that a link may be held again


@compiled
def pressed_links(contacts, V_free):
    """Whether a vertex of each link (n,) would approach the ground."""
    pressed = np.empty(len(contacts.record), dtype=np.bool_)
    for i in range(len(pressed)):
        pressed[i] = lowest_separation(contacts, i, V_free[6 * i : 6 * i + 6]) < 0
    return pressed


@compiled
def let_go(contacts, p, static, c, p_f, look):
    """Let links slide that the law does not hold, from the friction that held them; if any does, and, if one is to
    `look`, whether any pulled."""
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
            pulls = pulls or (look and stop_patch(contacts, i, 0.0, np.zeros(6)) != Mode.STATIC)
    return any_goes, pulls


@compiled
def give_up_static(static, c, held, forced):
    """Links that the law would hold where they slide, but let slide where they are held, slide: no mode is right."""
    for i in range(len(static)):
        if not static[i] and c[i] == Mode.STATIC:
            held[i] += 1
            forced[i] = held[i] > STEEP


@compiled
def take_back(static, c, returned):
    """Hold links again that slide by a friction at which the law says static: all at first, later one after another."""
    any_back = False
    for i in range(len(static)):
        first = returned[i] == 0
        if not static[i] and c[i] == Mode.STATIC and (first or (not any_back and returned[i] < HOLDS)):
            static[i] = any_back = True
            returned[i] += 1
            if not first:
                break
    return any_back


@compiled
def stops(contacts, i, p, tolerance):
    """Whether the impulse p (6 n,) is just the one that stops the patch at the V1 in its record."""
    held = static_impulse(contacts, i)
    wrong = size = 0.0
    for k in range(6):
        wrong = max(wrong, abs(p[6 * i + k] - held[k]))
        size = max(size, abs(held[k]))
    return wrong <= tolerance * size
