"""Time steps in parts that end where a corner reaches the ground; a law may ask for them, the paper does not."""

import numpy as np
from numba.extending import register_jitable

from stiction.compiled import compiled, lean
from stiction.contact import respond
from stiction.labels import observed_mode
from stiction.lcp import twist_after
from stiction.patch import first_contacts
from stiction.spatial import copy, rotation_matrix
from stiction.state import Kind, Mode
from stiction.stepping import SETTLED_DEPTH, Setting, begin_body, correct_body, move_body, write_state
from stiction.timing import out_of_reach, time_to_impact

MOST_CUTS = 40  # cuts at impacts in one time step after which a body that chatters bounces no more, until the next step


@compiled
def simulate_finely(law, setting, hull, contacts, motion, record):
    """As `simulate`, with time steps in `setting.substeps` parts that end where a corner reaches the ground."""
    write_state(record, motion, 0)
    for i in range(len(motion.position)):
        for t in range(record.mode.shape[1]):
            left, part, cuts = setting.timestep, setting.timestep / setting.substeps, 0
            smooth = out_of_reach(hull, motion.position[i, 2], motion.twist[i], setting.gravity, left)
            while left > 1e-9 * part:
                # Flight and a face that slides are smooth; else, what a cut leaves of a part goes with the next one.
                longest = left if smooth or left < 1.001 * part else part
                taken = substep(law, setting, hull, contacts, motion, record, i, t, longest, cuts)
                left -= taken
                cuts += taken < longest
                smooth = taken == longest and slides_on_a_face(hull, setting, contacts, motion, i)
            copy(motion.position[i], record.position[i, t + 1])
            copy(motion.quaternion[i], record.quaternion[i, t + 1])
            copy(motion.twist[i], record.twist[i, t + 1])
            if record.mode[i, t] == Mode.STATIC and has_settled(record, i, t):
                repeat_step(record, i, t)
                break


@lean
def has_settled(record, i, t):
    """Whether step t has left body i where it was: at rest, it will stay there."""
    for k in range(4):
        if record.quaternion[i, t + 1, k] != record.quaternion[i, t, k]:
            return False
    for k in range(3):
        if abs(record.position[i, t + 1, k] - record.position[i, t, k]) > SETTLED_DEPTH * 1e-3:
            return False
    for k in range(6):
        if abs(record.twist[i, t + 1, k]) > SETTLED_DEPTH:
            return False
    return True


@lean
def repeat_step(record, i, t):
    """Write what happened in step t for all later ones, too, with the body at rest."""
    for k in range(6):
        record.twist[i, t + 1, k] = 0.0
    for s in range(t + 1, record.mode.shape[1]):
        copy(record.position[i, t + 1], record.position[i, s + 1])
        copy(record.quaternion[i, t + 1], record.quaternion[i, s + 1])
        copy(record.twist[i, t + 1], record.twist[i, s + 1])
        copy(record.impulse[i, t], record.impulse[i, s])
        record.mode[i, s], record.kind[i, s] = record.mode[i, t], record.kind[i, t]


@lean
def slides_on_a_face(hull, setting, contacts, motion, i):
    """Whether body i has a whole face on the ground, in its present pose too, and does not leave it."""
    c = contacts.record[0]
    if c.index != i or c.kind != Kind.SURFACE:
        return False
    w = motion.twist[i]
    return abs(w[2]) + (abs(w[3]) + abs(w[4])) * hull.diameter < -0.2 * setting.timestep * setting.gravity[2]


@register_jitable
def substep(law, setting, hull, contacts, motion, record, i, t, longest, cuts):
    """Step body i for `longest` [s], or until its next corner arrives; the time taken. What happened joins step t.

    cuts: at impacts in this time step so far
    """
    taken = longest
    may_cut = cuts < 3 * MOST_CUTS
    before = np.empty(6)
    copy(motion.twist[i], before)
    if may_cut and not out_of_reach(hull, motion.position[i, 2], before, setting.gravity, longest):
        rotation_matrix(motion.quaternion[i], contacts.record[0].rotation)
        motion.twist[i, 2] += longest * min(0.0, setting.gravity[2])  # as fast as it will be
        taken = time_to_impact(hull, contacts.record[0].rotation, motion.position[i, 2], motion.twist[i], longest)
        copy(before, motion.twist[i])
    for attempt in range(2):  # the contact's impulse may send another corner down: then again, with a shorter step
        part = Setting(taken, setting.gravity, setting.substeps)
        n = begin_body(part, hull, contacts, motion, i, np.int64(0))
        touching = first_contacts(contacts, n)
        if n == 0:
            break
        c = contacts.record[0]
        if cuts >= MOST_CUTS:
            c.fall = np.inf
        p, mode = respond(law, touching)
        after = twist_after(touching, 0, p[0])
        sooner = time_to_impact(hull, c.rotation, c.height, after, taken) if may_cut else taken
        if attempt == 1 or not sooner < 0.999 * taken:
            copy(after, motion.twist[i])
            note_contact(touching, motion, record, t, p[0], mode[0], law.softness)
            break
        taken = sooner
        copy(before, motion.twist[i])
    end_body(part, contacts, motion, i, n, law.softness)
    return taken


@lean
def note_contact(contacts, motion, record, t, p, mode, softness):
    """Write down the contact of the first record: impulses of a step add up, the greatest names its mode."""
    c = contacts.record[0]
    total = record.impulse[c.index, t]
    if softness > 0 or mode == Mode.NONE:
        mode = observed_mode(contacts, 0, motion.twist[c.index], p)
    if record.kind[c.index, t] == 0 or p[2] > 0.5 * total[2]:
        record.kind[c.index, t] = c.kind
        record.mode[c.index, t] = mode
    for k in range(6):
        total[k] += p[k]


@lean
def end_body(setting, contacts, motion, i, n, softness):
    """`end_step` for body i alone, whose contact is record 0 if n is 1; free flight follows its parabola exactly."""
    sunk = n > 0 and contacts.record[0].depth >= SETTLED_DEPTH
    if sunk:
        correct_body(contacts, motion, np.int64(0), softness, setting.timestep)
    if n == 0:
        for m in range(3):
            motion.position[i, m] -= 0.5 * setting.timestep**2 * setting.gravity[m]
    move_body(contacts, motion, i, np.int64(0), sunk, setting.timestep)
