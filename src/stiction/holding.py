"""Which links Algorithm 2 holds and which it lets slide, by what the law says of them. `s` is a searching.Search."""

from stiction.bodies.state import Mode
from stiction.broyden import first_jacobian
from stiction.compiled import lean
from stiction.contact import stop_patch, write_friction_part
from stiction.coupled import effective_friction, stiffen
from stiction.dense import clear_matrix, copy_matrix
from stiction.lcp import lowest_separation
from stiction.rough import rough_impulses
from stiction.spatial import clear, copy
from stiction.stopping import write_static_impulse

STEEP = 8  # evaluations after which a search is not an ordinary one
HOLDS = 2  # times that a link may be held again


@lean
def begin(contacts, V_free, L, s):
    """Nothing is known yet, and what is pressed is held; the share of coupled.stiffen, and whether anything is."""
    clear(s.p)
    clear_matrix(s.p_f)
    alone = len(s.mode) == 1
    for i in range(len(s.mode)):
        s.mode[i] = Mode.DETACH
        s.outside[i] = s.forced[i] = False
        s.held[i], s.returned[i] = 0, HOLDS if alone else 0  # one that was held alone would be no more so again
    s.held_links.rows[1] = s.held_links.room.count[0] = 0
    share = stiffen(contacts, L, s.L_b)
    if not pressed_links(contacts, V_free, s.pressed):
        return share, False
    copy(s.pressed, s.static)
    first_jacobian(s.B, 1.0)
    effective_friction(contacts, L, share, s.effective)
    return share, True


@lean
def begin_sliding(contacts, V_free, mu_x, mu_y, is_round, s):
    """Let a lone link slide if a rough law does; whether it does."""
    if not slide_roughly(contacts, V_free, mu_x, mu_y, is_round, s):
        clear(s.p_f[0])
        return False
    s.static[0] = False
    s.returned[0] = HOLDS - 1  # it has not been held yet
    return True


@lean
def slide_roughly(contacts, V_free, mu_x, mu_y, is_round, s):
    """The friction of a rough law; whether anything slides by it."""
    slides = rough_impulses(contacts, V_free, mu_x, mu_y, is_round, s)
    copy_matrix(s.p_f, s.best_f)
    return slides


@lean
def hold_pressed(s):
    """Hold all links that are pressed, if there are several."""
    for i in range(len(s.static)):
        s.static[i] = s.pressed[i] and len(s.static) > 1


@lean
def pressed_links(contacts, V_free, pressed):
    """Write whether a vertex of each link (n,) would approach the ground; whether any would."""
    any_is = False
    for i in range(len(pressed)):
        pressed[i] = lowest_separation(contacts, i, V_free[6 * i : 6 * i + 6]) < 0
        any_is = any_is or pressed[i]
    return any_is


@lean
def let_go(contacts, s, look):
    """Let links slide that the law does not hold, from the friction that held them; if any does, and, if one is to
    `look`, whether any pulled."""
    any_goes = pulls = False
    for i in range(len(s.static)):
        if s.static[i] and s.mode[i] != Mode.STATIC:
            s.static[i] = False
            any_goes = True
            write_friction_part(contacts, i, s.p[6 * i : 6 * i + 6], s.p_f[i])
            # Asked at this V1, stopping the patch takes just this impulse: the LCP of the free link says if it pushes.
            pulls = pulls or (look and stop_patch(contacts, i, 0.0) != Mode.STATIC)
    return any_goes, pulls


@lean
def give_up_static(s):
    """Links that the law would hold where they slide, but let slide where they are held, slide: no mode is right."""
    for i in range(len(s.static)):
        if not s.static[i] and s.mode[i] == Mode.STATIC:
            s.held[i] += 1
            s.forced[i] = s.held[i] > STEEP


@lean
def take_back(s):
    """Hold links again that slide by a friction at which the law says static: all at first, later one after another."""
    any_back = False
    for i in range(len(s.static)):
        first = s.returned[i] == 0
        if not s.static[i] and s.mode[i] == Mode.STATIC and (first or (not any_back and s.returned[i] < HOLDS)):
            s.static[i] = any_back = True
            s.returned[i] += 1
            if not first:
                break
    return any_back


@lean
def forced_links_stop(contacts, tolerance, s):
    """Whether the links that slide by force, though the law says static, get just the impulses that stop them."""
    for i in range(len(s.mode)):
        if s.forced[i] and s.mode[i] == Mode.STATIC and not _stops(contacts, i, s.p, tolerance):
            return False
    return True


@lean
def _stops(contacts, i, p, tolerance):
    """Whether the impulse p (6 n,) is just the one that stops the patch at the V1 in its record."""
    held = contacts.record[i].impulse
    write_static_impulse(contacts, i, held)
    wrong = size = 0.0
    for k in range(6):
        wrong = max(wrong, abs(p[6 * i + k] - held[k]))
        size = max(size, abs(held[k]))
    return wrong <= tolerance * size
