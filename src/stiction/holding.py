"""Which links Algorithm 2 holds and which it lets slide, by what the law says of them."""

from stiction.compiled import lean
from stiction.contact import stop_patch, write_friction_part
from stiction.lcp import lowest_separation
from stiction.state import Mode
from stiction.stopping import write_static_impulse

STEEP = 8  # evaluations after which a search is not an ordinary one
HOLDS = 2  # times that a link may be held again


@lean
def pressed_links(contacts, V_free, pressed):
    """Write whether a vertex of each link (n,) would approach the ground; whether any would."""
    any_is = False
    for i in range(len(pressed)):
        pressed[i] = lowest_separation(contacts, i, V_free[6 * i : 6 * i + 6]) < 0
        any_is = any_is or pressed[i]
    return any_is


@lean
def let_go(contacts, p, static, c, p_f, look):
    """Let links slide that the law does not hold, from the friction that held them; if any does, and, if one is to
    `look`, whether any pulled."""
    any_goes = pulls = False
    for i in range(len(static)):
        if static[i] and c[i] != Mode.STATIC:
            static[i] = False
            any_goes = True
            write_friction_part(contacts, i, p[6 * i : 6 * i + 6], p_f[i])
            # Asked at this V1, stopping the patch takes just this impulse: the LCP of the free link says if it pushes.
            pulls = pulls or (look and stop_patch(contacts, i, 0.0) != Mode.STATIC)
    return any_goes, pulls


@lean
def give_up_static(static, c, held, forced):
    """Links that the law would hold where they slide, but let slide where they are held, slide: no mode is right."""
    for i in range(len(static)):
        if not static[i] and c[i] == Mode.STATIC:
            held[i] += 1
            forced[i] = held[i] > STEEP


@lean
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


@lean
def stops(contacts, i, p, tolerance):
    """Whether the impulse p (6 n,) is just the one that stops the patch at the V1 in its record."""
    held = contacts.record[i].impulse
    write_static_impulse(contacts, i, held)
    wrong = size = 0.0
    for k in range(6):
        wrong = max(wrong, abs(p[6 * i + k] - held[k]))
        size = max(size, abs(held[k]))
    return wrong <= tolerance * size
