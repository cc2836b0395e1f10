"""Contact-space inputs of a learned law: how a contact looks from its patch, free of units and folded by symmetry.

Here contacts are sorted into lanes and their descriptions brought home; `description` makes them.
"""

from typing import NamedTuple

import numpy as np

from stiction.bodies.state import Kind
from stiction.compiled import inlined, lean
from stiction.lanes import LANES, zeros
from stiction.laws.description import describe_lanes
from stiction.laws.frame import GUESS, SCALE, set_frame, target_of, whole_target
from stiction.laws.plain import describe_state
from stiction.laws.points import MOST_POINTS, number_of_points, write_points
from stiction.laws.rows import (
    CENTRE,
    FEATURES,
    GUESSED,
    INERTIA,
    LENGTH,
    MASSES,
    NORMAL,
    OF_A_POINT,
    POINTS,
    TURN,
    TWIST,
    rows_for,
)
from stiction.lcp import normal_impulse
from stiction.patch import WORK

SIZE = {Kind.POINT: 18, Kind.LINE: 53, Kind.SURFACE: 71}  # numbers that describe a contact
OUTPUTS = {Kind.POINT: 2, Kind.LINE: 3, Kind.SURFACE: 3}  # friction components of a contact
WHOLE = 6  # components of the whole impulse, which a statistical law predicts
FOLDS = ("none", "mirror", "mirror-swap", "heading")  # symmetries of a friction law about the vertical
_CENTRAL = 1e-6  # share of a patch's radius within which a load is in its centre
_P = 81  # place in the memo of the frictionless normal impulse (3)
_KEYS = 32  # more than number_of_points + 8 * kind
if LANES * rows_for(MOST_POINTS) > WORK:
    raise ImportError(f"Room for {WORK} numbers is too small for {LANES} contacts of {MOST_POINTS} points.")


class Recipe(NamedTuple):
    """How contacts are described."""

    fold: int  # index into FOLDS
    friction: np.ndarray  # (mu_x, mu_y) of the Coulomb guess
    round: bool  # its cone
    guess: bool  # whether there is one
    scaled: bool  # impulses in units of the frictionless normal impulse, or of the mass
    rotation: int  # 0 for the contact space of this module; otherwise one of those in `plain`
    centre: bool  # of `plain`: with the patch's centre
    slip: bool  # ... and its velocity


@lean
def describe_all(contacts, recipe, mass):
    """Write features and frame of every contact that needs a normal impulse into its memo.

    One that needs none, since nothing approaches, detaches: it is not `frame.is_described`. Those of one kind and
    equally many points are described together, in lanes.
    """
    n = len(contacts.record)
    present = np.int64(0)  # kinds and numbers of points, as bits
    for i in range(n):
        c = contacts.record[i]
        P = normal_impulse(contacts, i, c.velocity, 0.0, 0.0, 0.0)
        c.memo[SCALE] = 0.0
        c.memo[_P], c.memo[_P + 1], c.memo[_P + 2] = P
        if not P[0] > 0.0:
            c.memo[_P] = 0.0
            continue
        if recipe.rotation != 0:
            describe_state(c, recipe.rotation, recipe.centre, recipe.slip, mass)
            if recipe.scaled:
                c.memo[SCALE], c.memo[SCALE + 1] = P[0], _length(c)
            continue
        present |= np.int64(1) << _key(c)
    for key in range(_KEYS):
        if not present >> key & 1:
            continue
        count = np.int64(0)
        for i in range(n):
            c = contacts.record[i]
            if c.memo[_P] > 0.0 and _key(c) == key:
                contacts.record[count].place = i
                count += 1
            if count == LANES or (count > 0 and i == n - 1):
                _describe(contacts, recipe, mass, count)
                count = np.int64(0)


@inlined
def _key(c):
    """A number for the kind and the number of points."""
    return 8 * (c.kind - 1) + number_of_points(c) - 1


@inlined
def _describe(contacts, recipe, mass, count):
    """Describe `count` contacts alike, which are listed as places, alone or in lanes; lanes left over are filled with
    copies of the first."""
    c, room = contacts.record[contacts.record[0].place], contacts.room
    k, kind = number_of_points(c), c.kind
    width = np.int64(1) if count == 1 else np.int64(LANES)
    for lane in range(width):
        member = contacts.record[lane if lane < count else 0].place
        _gather(contacts, member, k, room, width, lane)
    if count == 1:
        describe_lanes(room, recipe, kind, k, mass, 0.0)
    else:
        describe_lanes(room, recipe, kind, k, mass, zeros())
    for lane in range(count):
        _scatter(contacts.record[contacts.record[lane].place], recipe, mass, room, width, lane)


@lean
def observe_all(contacts, impulse, y, whole):
    """Write the targets y (n, 3) and whole (n, 6) of the observed impulses (n, 6) of contacts that were described."""
    for i in range(len(contacts.record)):
        if contacts.record[i].memo[SCALE] > 0:
            target_of(contacts, i, impulse[i], y[i])
            whole_target(contacts, i, impulse[i], whole[i])


@inlined
def _length(c):
    """The unit of length L [m]; a point has no radius of its own."""
    return 0.1 * c.diameter if c.kind == Kind.POINT else c.radius


@inlined
def _gather(contacts, i, k, room, width, lane):
    """Fill a lane with the contact of record i."""
    c = contacts.record[i]
    W = c.inverse_inertia
    for m in range(6):
        room[width * (TWIST + m) + lane] = c.velocity[m]
    for m in range(3):
        room[width * (MASSES + m) + lane] = W[m, m]
        room[width * (CENTRE + m) + lane] = c.centre[m]
        room[width * (NORMAL + m) + lane] = c.memo[_P + m]
        room[width * (INERTIA + m) + lane] = W[3, 3 + m]
    room[width * (INERTIA + 3) + lane], room[width * (INERTIA + 4) + lane] = W[4, 4], W[4, 5]
    room[width * (INERTIA + 5) + lane] = W[5, 5]
    room[width * LENGTH + lane] = _length(c)
    x, y = _towards_load(c)
    write_points(contacts, i, x, y, room, width * POINTS + lane, width, width * OF_A_POINT)


@inlined
def _towards_load(c):
    """Direction from the patch's centre to its centre of pressure."""
    if c.count <= MOST_POINTS:
        return 1.0, 0.0  # of no use
    x, y = -c.memo[_P + 2] / c.memo[_P] - c.centre[0], c.memo[_P + 1] / c.memo[_P] - c.centre[1]
    return (x, y) if x * x + y * y > (_CENTRAL * c.radius) ** 2 else (1.0, 0.0)


@inlined
def _scatter(c, recipe, mass, room, width, lane):
    """Write the description in a lane into the contact's memo."""
    memo = c.memo
    number = np.int64(18) if c.kind == Kind.POINT else np.int64(53) if c.kind == Kind.LINE else np.int64(71)
    for m in range(number):
        memo[m] = room[width * (FEATURES + m) + lane]
    logarithm = np.int64(17) if c.kind == Kind.POINT else np.int64(26)
    memo[logarithm] = np.log10(memo[logarithm])
    impulse, length = room[width * NORMAL + lane], room[width * LENGTH + lane]
    for m in range(3):
        memo[GUESS + m] = room[width * (GUESSED + m) + lane]
        if not recipe.scaled:
            memo[GUESS + m] *= impulse / mass * (length / c.diameter if m == 2 else 1.0)
    if not recipe.scaled:
        impulse, length = mass, c.diameter
    at = width * TURN + lane
    set_frame(memo, impulse, length, room[at], room[at + width], room[at + 2 * width], room[at + 3 * width])
