"""The part of an engine's step in which links touch: what the engine would do, Algorithm 2, and the forces it is given.

An engine whose own constraints answer to the contact impulse takes several turns: it is asked anew what it would do
with the forces of the last turn, until what was foreseen comes true.
"""

from typing import NamedTuple

import numpy as np

from stiction.articulated import articulated_impulse
from stiction.bodies.state import Kind, Mode
from stiction.compiled import compiled, lean, lean_jitable, lean_overload
from stiction.coupled import add_normal, normal_impulses
from stiction.dense import write_applied
from stiction.jointspace import linearise, place_links
from stiction.packed import kept, opened
from stiction.patch import TOUCH, Contacts, detect
from stiction.spatial import clear, copy
from stiction.stepping import CORRECTION, CORRECTION_SPEED, SETTLED_DEPTH, inverse_inertia

MOST_TURNS = 5
_FORESEEN = 1e-9  # relative error of the velocity after the step that ends them
AGAIN, DONE, UNKNOWN = 0, 1, 2  # what a turn says; UNKNOWN: the engine's step is not linear, V, R, L must be tried

NOTE = np.dtype(
    [
        ("mode", np.int64),
        ("kind", np.int64),
        ("evaluations", np.int64),
        ("steps", np.int64),
        ("asked", np.int64),
        ("unsolved", np.int64),
        ("outside", np.int64),
        ("impulse", np.float64, (6,)),
        ("asked_at", np.float64, (6,)),
    ],
    align=True,
)  # of a link; the fields are those of robots.body_contact.BodyContact


class Room(NamedTuple):
    """What is kept from turn to turn of a step, for n links.

    p: contact impulses, (6 n,); V_free: twists without them; foreseen: with them
    applied: forces on the links that are not ours, (n, 6)
    mode, outside: of each link; evaluations, solved: (1,)
    rise: velocity of the joints that raises what has sunk in, (dofs,); before: qpos at the begin of the step
    note: (all links,) of NOTE
    """

    p: np.ndarray
    V_free: np.ndarray
    foreseen: np.ndarray
    applied: np.ndarray
    mode: np.ndarray
    outside: np.ndarray
    evaluations: np.ndarray
    solved: np.ndarray
    rise: np.ndarray
    before: np.ndarray
    note: np.ndarray


def new_room(links: int, dofs: int, places: int) -> Room:
    """Room for so many links, velocities and positions of joints."""
    return Room(
        np.zeros(6 * links),
        np.zeros(6 * links),
        np.zeros(6 * links),
        np.zeros((links, 6)),
        np.zeros(links, dtype=np.int64),
        np.zeros(links, dtype=np.bool_),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.bool_),
        np.zeros(dofs),
        np.zeros(places),
        np.zeros(links, dtype=NOTE),
    )


def solve(law, contacts, V_free, L, tolerance, search):
    """Algorithm 2; overloaded for compiled laws."""
    return law.solve(contacts, V_free, L, tolerance, search)


@lean_overload(solve)
def _solve(law, contacts, V_free, L, tolerance, search):
    return lambda law, contacts, V_free, L, tolerance, search: articulated_impulse(
        law, contacts, V_free, L, tolerance, search
    )


@lean_jitable
def contact_turn(arguments, kind, springs, kind_of_springs, timestep, damps, tried, turn, tolerance):
    """A turn of the contacts: apply forces that bring their impulses. AGAIN, or DONE if it was the last one; UNKNOWN
    where the engine's step is not linear, so that how links follow impulses must be `tried` first.

    arguments: (law, contacts, joints, links, room, linear, search), or their address and type; springs likewise
    """
    law, contacts, joints, links, room, linear, search = opened(arguments, kind)
    own = opened(springs, kind_of_springs)
    if not tried and not linearise(joints, own, links, contacts.record.index, timestep, damps, linear):
        return UNKNOWN
    V, L, n = linear.V, linear.L, len(contacts.record)
    done = turn > 0 and _came_true(room.V_free, room.foreseen, V)
    if not done:
        _take_away(room.p, V, L, turn, room.V_free)
        evaluations, solved = solve(law, contacts, room.V_free[: len(V)], L, tolerance, search)
        room.evaluations[0] = evaluations + (room.evaluations[0] if turn > 0 else 0)
        room.solved[0] = solved
        copy(search.p, room.p)
        for i in range(n):
            room.mode[i], room.outside[i] = search.mode[i], search.outside[i]
        _foresee(room.V_free, L, search.p, room.foreseen)
        _apply(contacts.record, links.body, search.p, timestep, turn, room.applied, joints.xfrc_applied)
        done = len(own.stiffness) == 0 or turn == MOST_TURNS - 1  # where nothing of the engine answers to the impulses
    if done:
        p = search.p  # spent
        correction(contacts, law.softness, timestep, search)
        write_applied(linear.R, p, room.rise)
        copy(joints.qpos, room.before)
        return DONE
    return AGAIN


@lean
def turn_at(address, kind, springs, kind_of_springs, timestep, damps, tried, turn, tolerance):
    """`contact_turn` for a compiled law, with arguments that are kept at addresses."""
    return contact_turn(address, kind, springs, kind_of_springs, timestep, damps, tried, turn, tolerance)


@lean
def finish_at(address, kind, n, timestep):
    """`finish` with arguments that are kept at an address."""
    contacts, joints, links, room, _ground, _groups = kept(address, kind)
    return finish(contacts.record, n, links.body, joints.xfrc_applied, joints.qpos, joints.qvel, room, timestep)


@lean
def finish(record, n, body, xfrc_applied, qpos, qvel, room, timestep):
    """After the engine's step: take our forces off, note what became of the links, and raise what has sunk in.

    Joint positions go once more from where they were, with a velocity that is never seen otherwise. Where they are more
    than the velocities, since some are quaternions, that is left to the engine: True if it must. Then room.before has
    the positions and room.rise that velocity.
    """
    raised = False
    for k in range(len(room.rise)):
        raised = raised or room.rise[k] != 0.0
        room.rise[k] += qvel[k]
    if raised and len(qpos) == len(qvel):
        for k in range(len(qpos)):
            qpos[k] = room.before[k] + timestep * room.rise[k]
    for i in range(n):
        c = record[i]
        copy(room.applied[i], xfrc_applied[body[c.index]])
        note = room.note[c.index]
        note.mode = room.mode[i]
        note.kind = c.kind
        note.evaluations = room.evaluations[0]
        note.steps += 1
        note.asked += room.evaluations[0]
        if not room.solved[0]:
            note.unsolved += 1
        if room.outside[i]:
            note.outside += 1
        for k in range(6):
            note.impulse[k] = room.p[6 * i + k]
            note.asked_at[k] = c.velocity[k]
    return raised and len(qpos) > len(qvel)


@lean
def is_finite_at(address, kind, most):
    """Whether all positions and velocities of the joints are numbers of at most that size; see finish_at."""
    _contacts, joints, _links, _room, _ground, _groups = kept(address, kind)
    qpos, qvel = joints.qpos, joints.qvel
    for k in range(len(qpos)):
        if not abs(qpos[k]) <= most:
            return False
    for k in range(len(qvel)):
        if not abs(qvel[k]) <= most:
            return False
    return True


@lean
def touch_at(address, kind, kind_of_hulls):
    """Look where the links are, and which of them touch; how many do. See finish_at; the groups are addresses of what
    find_at needs for the links of each law, of type `kind_of_hulls`."""
    _contacts, joints, links, room, ground, groups = kept(address, kind)
    n = np.int64(0)
    if begin(joints, links, room.note, ground):
        for g in range(len(groups)):
            n = find_at(groups[g], kind_of_hulls, n)
    return n


@lean
def begin(joints, links, note, ground):
    """Before contacts are looked for: where the links are; nothing touches yet. Whether any may: see place_links."""
    for i in range(len(note)):
        note[i].mode = Mode.NONE
        note[i].kind = Kind.NONE
        note[i].evaluations = 0
        for k in range(6):
            note[i].impulse[k] = 0.0
    return place_links(joints.xipos, joints.xmat, links, ground)


@compiled
def keep_spins(spins, old, new, qvel):
    """Leave spins of free and ball joints as they are in the world, which an engine keeps in axes that have turned.

    spins: where each quaternion begins in the positions, `old` and `new`, and each spin in qvel, (joints, 2)
    """
    for j in range(len(spins)):
        a, d = spins[j, 0], spins[j, 1]
        x, y, z = _rotated(old[a], old[a + 1], old[a + 2], old[a + 3], qvel[d], qvel[d + 1], qvel[d + 2])
        qvel[d], qvel[d + 1], qvel[d + 2] = _rotated(new[a], -new[a + 1], -new[a + 2], -new[a + 3], x, y, z)


@lean
def _rotated(w, a, b, c, x, y, z):
    """The vector (x, y, z) turned by the unit quaternion (w, a, b, c)."""
    t, u, v = 2 * (b * z - c * y), 2 * (c * x - a * z), 2 * (a * y - b * x)
    return x + w * t + b * v - c * u, y + w * u + c * t - a * v, z + w * v + a * u - b * t


@lean
def find_at(address, kind, n):
    """`find_patches` with arguments that are kept at an address."""
    hull, contacts, numbers, position, rotation, first_vertex, first_loop = kept(address, kind)
    return find_patches(hull, contacts, n, numbers, position, rotation, first_vertex, first_loop)


@lean
def find_patches(hull, contacts, n, numbers, position, rotation, first_vertex, first_loop):
    """Fill records n, n + 1, ... with the links of one hull that touch; the number of records filled by then."""
    own = Contacts(contacts.record, contacts.touching, hull.vertices, hull.loops, hull.headings, contacts.room)
    n = np.int64(n)
    for m in range(len(numbers)):
        i = numbers[m]
        c = contacts.record[n]
        c.index = i
        c.height = position[i, 2]
        c.diameter = hull.diameter
        c.rounding = hull.rounding
        c.touch = TOUCH
        for r in range(3):
            for k in range(3):
                c.rotation[r, k] = rotation[i, r, k]
        if detect(hull, own, n):
            inverse_inertia(hull, c.rotation, c.inverse_inertia)
            if c.face >= 0:  # from the hull's own lists to those of all hulls
                c.first += first_loop
                c.loop += first_loop
            else:
                for k in range(c.count):
                    contacts.touching[i, k] += first_vertex
            n += 1
    return n


@lean
def correction(contacts, softness, timestep, search):
    """Write impulses p (6 n,) after which sunk vertices rise by 1 % of their depth a step, at most 1 mm/s, without
    friction, into what Algorithm 2 has left of the search."""
    p, free, held = search.p, search.static, search.held_links
    clear(p)
    deepest = 0.0
    for i in range(len(contacts.record)):
        deepest = max(deepest, contacts.record[i].depth)
        free[i] = False
    if deepest >= SETTLED_DEPTH:
        still = held.twists[3]
        clear(still)
        normal_impulses(contacts, search.L_b, still, free, softness, CORRECTION / timestep, CORRECTION_SPEED, held)
        add_normal(p, held.normal[0])


@lean
def _came_true(V_free, foreseen, V):
    """Whether the twists V (6 n,) with the impulses applied are those that were foreseen."""
    wrong = size = 0.0
    for k in range(len(V)):
        wrong = max(wrong, abs(V[k] - foreseen[k]))
        size = max(size, abs(V[k] - V_free[k]))
    return wrong <= _FORESEEN * size


@lean
def _take_away(p, V, L, turn, V_free):
    """Write twists V_free of links without the impulses p that are applied now."""
    for r in range(len(V)):
        V_free[r] = V[r]
        if turn > 0:
            for k in range(len(V)):
                V_free[r] -= L[r, k] * p[k]


@lean
def _foresee(V_free, L, p, foreseen):
    """Write the twists with the impulses p."""
    for r in range(len(p)):
        foreseen[r] = V_free[r]
        for k in range(len(p)):
            foreseen[r] += L[r, k] * p[k]


@lean
def _apply(record, body, p, timestep, turn, applied, xfrc_applied):
    """Apply impulses p as forces, beside those that are not ours, which the first turn takes down."""
    for i in range(len(record)):
        forces = xfrc_applied[body[record[i].index]]
        if turn == 0:
            copy(forces, applied[i])
        for k in range(6):
            forces[k] = applied[i, k] + p[6 * i + k] / timestep
