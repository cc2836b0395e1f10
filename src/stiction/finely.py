"""Time steps in parts that end where a corner reaches the ground; a law may ask for them, the paper does not."""

import numpy as np

from stiction.bodies.state import Kind, Mode
from stiction.compiled import lean, lean_jitable
from stiction.contact import respond
from stiction.labels import observed_mode
from stiction.lcp import normal_impulse, write_twist_after
from stiction.patch import first_contacts
from stiction.reference import by_reference
from stiction.spatial import copy, rotation_matrix
from stiction.stepping import SETTLED_DEPTH, Setting, begin_body, correct_body, move_body, write_state
from stiction.timing import out_of_reach, time_to_impact

MOST_CUTS = 40  # cuts at impacts in one time step after which a body that chatters bounces no more, until the next step


@lean
def simulate_finely(law, setting, hull, contacts, motion, record):
    """As `simulate`, with time steps in `setting.substeps` parts that end where a corner reaches the ground."""
    law, hull, contacts = by_reference(law), by_reference(hull), by_reference(contacts)
    setting, motion, record = by_reference(setting), by_reference(motion), by_reference(record)
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


@lean_jitable
def substep(law, setting, hull, contacts, motion, record, i, t, longest, cuts):
    """Step body i for `longest` [s], or until its next corner arrives; the time taken. What happened joins step t.

    cuts: at impacts in this time step so far
    """
    taken = longest
    may_cut = cuts < 3 * MOST_CUTS
    before, after = contacts.room[-12:-6], contacts.room[-6:]  # where no law works
    copy(motion.twist[i], before)
    if may_cut and not out_of_reach(hull, motion.position[i, 2], before, setting.gravity, longest):
        rotation_matrix(motion.quaternion[i], contacts.record[0].rotation)
        motion.twist[i, 2] += longest * min(0.0, setting.gravity[2])  # as fast as it will be
        taken = time_to_impact(hull, contacts.record[0].rotation, motion.position[i, 2], motion.twist[i], longest)
        copy(before, motion.twist[i])
    for attempt in range(2):  # the contact's impulse may send another corner down: then again, with a shorter step
        part = Setting(taken, setting.gravity, setting.substeps)
        n = begin_body(part, hull, contacts, motion, i, np.int64(0))
        keep_spin_energy(hull, contacts, motion, i, before, n)
        touching = by_reference(first_contacts(contacts, n))
        if n == 0:
            break
        c = contacts.record[0]
        if cuts >= MOST_CUTS:
            c.fall = np.inf
        respond(law, touching)
        if c.rebound[0] > 0:
            bounce_within_energy(touching, part, c.impulse)
        write_twist_after(touching, 0, c.impulse, after)
        sooner = time_to_impact(hull, c.rotation, c.height, after, taken) if may_cut else taken
        if attempt == 1 or not sooner < 0.999 * taken:
            copy(after, motion.twist[i])
            note_contact(touching, motion, record, t, c.impulse, c.mode, law.softness)
            break
        taken = sooner
        copy(before, motion.twist[i])
    end_body(part, contacts, motion, i, n, law.softness)
    return taken


@lean
def keep_spin_energy(hull, contacts, motion, i, before, n):
    """Slow the spin of body i by what the gyroscopic torque of its step, which changes only its direction, has added.

    before: its twist (6,) then; n: whether it touches, as record 0
    """
    if hull.planar:
        return
    c, w = contacts.record[0], motion.twist[i]
    was, now = _spin_energy(hull, c.rotation, before), _spin_energy(hull, c.rotation, w)
    if now > was:
        slower = np.sqrt(was / now)
        for k in range(3, 6):
            w[k] *= slower
            if n > 0:
                c.velocity[k] = w[k]


@lean
def _spin_energy(hull, R, w):
    """Twice the energy [J] of the spin of a twist w (6,)."""
    total = 0.0
    x = R[0, 0] * w[3] + R[1, 0] * w[4] + R[2, 0] * w[5]  # in body axes
    y = R[0, 1] * w[3] + R[1, 1] * w[4] + R[2, 1] * w[5]
    z = R[0, 2] * w[3] + R[1, 2] * w[4] + R[2, 2] * w[5]
    I = hull.inertia
    total += x * (I[0, 0] * x + I[0, 1] * y + I[0, 2] * z)
    total += y * (I[1, 0] * x + I[1, 1] * y + I[1, 2] * z)
    return total + z * (I[2, 0] * x + I[2, 1] * y + I[2, 2] * z)


@lean
def bounce_within_energy(contacts, setting, p):
    """Take from the impulse p (6,) of the first record what would raise the energy of the body, height and all.

    Algorithm 1 compares with v1, which gravity has made faster in this step already: a bounce may turn that around
    before the height for it is lost. The whole step changes the energy by p . (v + M^-1 p / 2) - m (h g)^2 / 2, with v
    before the step. It is convex in p, and not above 0 for the contact that neither bounces nor rubs: the way from
    there to p is cut where it would pass 0.
    """
    c = contacts.record[0]
    W, h, g = c.inverse_inertia, setting.timestep, setting.gravity
    spent = 0.5 * h * h * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) / W[0, 0]
    write_twist_after(contacts, 0, p, c.twist)
    gain = -spent
    for k in range(6):
        fall = h * g[k] if k < 3 else 0.0
        gain += p[k] * (0.5 * (c.velocity[k] + c.twist[k]) - fall)
    if not gain > 1e-9 * spent:
        return
    c.rebound[0] = 0.0
    q = c.trial
    q[0] = q[1] = q[5] = 0.0
    q[2], q[3], q[4] = normal_impulse(contacts, np.int64(0), c.velocity, 0.0, 0.0, 0.0)
    write_twist_after(contacts, 0, q, c.twist)
    least, slope = -spent, 0.0
    for k in range(6):
        fall = h * g[k] if k < 3 else 0.0
        least += q[k] * (0.5 * (c.velocity[k] + c.twist[k]) - fall)
        slope += (p[k] - q[k]) * (c.twist[k] - fall)
    curve = gain - least - slope  # the gain at a share s of the way: least + slope s + curve s^2
    share = (-slope + np.sqrt(max(0.0, slope * slope - 4.0 * curve * min(0.0, least)))) / (2.0 * curve)
    for k in range(6):
        p[k] = q[k] + min(1.0, max(0.0, share)) * (p[k] - q[k])


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
