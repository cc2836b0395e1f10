"""Time stepping of one body or a batch with a law.

A step as in DART: v1 = v + h M^-1 tau, the contact impulse of Algorithm 1, v = v1 + M^-1 p, then positions with the new
velocity and a correction of what has sunk in, which moves the pose only and never feeds the velocity.
"""

from typing import NamedTuple

import numpy as np

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import Kind, Mode, State, Trajectory
from stiction.compiled import compiled, inlined, lean
from stiction.contact import respond
from stiction.labels import observed_mode
from stiction.lcp import normal_impulse, write_twist_after
from stiction.patch import detect, first_contacts
from stiction.reference import by_reference
from stiction.spatial import copy, rotate, rotation_matrices, rotation_matrix, sandwich

GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2]
CORRECTION = 0.01  # share of a vertex's depth that a step takes back, as in DART
CORRECTION_SPEED = 1e-3  # [m/s] the fastest correction, as in DART
SETTLED_DEPTH = 1e-9  # [m] depths below it are left alone, so that a body at rest keeps its bits
DEEPEST_START = 0.05  # share of the body's diameter that may lie below the ground at the start


class Motion(NamedTuple):
    """States of a chunk of bodies at their centres of mass, for compiled code; each step overwrites them."""

    position: np.ndarray  # (n, 3)
    quaternion: np.ndarray  # (n, 4)
    twist: np.ndarray  # (n, 6)


class Setting(NamedTuple):
    """What stays the same during a rollout."""

    timestep: float
    gravity: np.ndarray  # (3,)
    substeps: int = 0  # equal parts of a time step, which impacts cut further; 0: one step, no cuts, as in the paper


class Record(NamedTuple):
    """Where a rollout writes: shapes as in Trajectory with one leading axis; poses and twists at the centre of mass."""

    position: np.ndarray
    quaternion: np.ndarray
    twist: np.ndarray
    impulse: np.ndarray
    mode: np.ndarray
    kind: np.ndarray


def check_start(body: Body, state: State) -> None:
    """Refuse a state that is not one of this body above the ground."""
    if not isinstance(state, State):
        raise checks.InputError(f"state must be a stiction.State, got {type(state).__name__}.")
    flat = state.reshape(-1)
    R = rotation_matrices(flat.quaternion)
    lowest = (body.vertices @ R[:, 2].T).min(axis=0) + flat.position[:, 2] - body.rounding
    if len(lowest) and lowest.min() < -DEEPEST_START * body.diameter:
        raise checks.InputError(
            f"The body starts below the ground: its lowest point is at z = {lowest.min():.4g} m, allowed is z >= "
            f"{-DEEPEST_START * body.diameter:.4g} m."
        )
    if body.planar:
        sideways = [
            flat.position[:, 1],
            flat.velocity[:, 1],
            *flat.angular_velocity.T[[0, 2]],
            *flat.quaternion.T[[1, 3]],
        ]
        worst = max((float(np.abs(part).max(initial=0.0)) for part in sideways), default=0.0)
        if worst > 1e-9:
            raise checks.InputError(
                "A planar body moves in the x-z plane and turns about y only; its state has a component out of that "
                f"plane of {worst:.3g}."
            )


@lean
def simulate(law, setting, hull, contacts, motion, record):
    """Step a chunk of bodies through all steps of `record`; compiled for a compiled law, interpreted for any other."""
    law = by_reference(law)
    write_state(record, motion, 0)
    for t in range(record.mode.shape[1]):
        n = begin_step(setting, hull, contacts, motion)
        if n > 0:
            touching = by_reference(first_contacts(contacts, n))
            respond(law, touching)
            end_contacts(touching, motion, record, t, law.softness)
        end_step(setting, contacts, motion, n, law.softness)
        write_state(record, motion, t + 1)


@inlined
def begin_step(setting, hull, contacts, motion):
    """Line 1 of Algorithm 1 for all bodies, v1 = v + h M^-1 tau; the number n of those that touch: records 0 .. n-1."""
    n = np.int64(0)  # a plain 0 would have numba compile everything below once more for this literal
    for i in range(len(motion.position)):
        n = begin_body(setting, hull, contacts, motion, i, n)
    return n


@inlined
def begin_body(setting, hull, contacts, motion, i, n):
    """Line 1 of Algorithm 1 for body i; if it touches, its contact is record n, and n + 1 is returned, else n."""
    c = contacts.record[n]
    c.index = i
    c.height = motion.position[i, 2]
    c.timestep = setting.timestep
    c.fall = max(0.0, -setting.timestep * setting.gravity[2])
    rotation_matrix(motion.quaternion[i], c.rotation)
    apply_forces(hull, c.rotation, setting, motion.twist[i])
    if not detect(hull, contacts, n):
        return n
    copy(motion.twist[i], c.velocity)
    inverse_inertia(hull, c.rotation, c.inverse_inertia)
    return n + 1


@inlined
def apply_forces(hull, rotation, setting, twist):
    """Add gravity and the gyroscopic torque -w x I w of one time step to a twist (6,)."""
    h = setting.timestep
    if hull.planar:
        twist[0] += h * setting.gravity[0]
        twist[2] += h * setting.gravity[2]
        return
    for k in range(3):
        twist[k] += h * setting.gravity[k]
    R, w = rotation, twist
    x = R[0, 0] * w[3] + R[1, 0] * w[4] + R[2, 0] * w[5]  # spin in body axes, where the inertia stays the same
    y = R[0, 1] * w[3] + R[1, 1] * w[4] + R[2, 1] * w[5]
    z = R[0, 2] * w[3] + R[1, 2] * w[4] + R[2, 2] * w[5]
    a, b, c = _times(hull.inertia, x, y, z)
    a, b, c = _times(hull.inverse_inertia, b * z - c * y, c * x - a * z, a * y - b * x)
    for k in range(3):
        w[3 + k] += h * (R[k, 0] * a + R[k, 1] * b + R[k, 2] * c)


@lean
def _times(A, x, y, z):
    """Matrix (3, 3) times the vector (x, y, z)."""
    return (
        A[0, 0] * x + A[0, 1] * y + A[0, 2] * z,
        A[1, 0] * x + A[1, 1] * y + A[1, 2] * z,
        A[2, 0] * x + A[2, 1] * y + A[2, 2] * z,
    )


@compiled
def free_twists(hull, setting, quaternion, twist):
    """Line 1 of Algorithm 1 without a look at the ground: turn twists (n, 6) into v1 = v + h M^-1 tau."""
    rotation = np.empty((3, 3))
    for i in range(len(twist)):
        rotation_matrix(quaternion[i], rotation)
        apply_forces(hull, rotation, setting, twist[i])


@inlined
def inverse_inertia(hull, rotation, out):
    """Write M^-1 (6, 6) at the centre of mass, world axes; a planar body has no rows out of its plane."""
    for k in range(6):
        for m in range(6):
            out[k, m] = 0.0
    out[0, 0] = out[1, 1] = out[2, 2] = 1 / hull.mass
    if hull.planar:
        out[1, 1] = 0.0
        out[4, 4] = 1 / hull.inertia[1, 1]
        return
    sandwich(rotation, hull.inverse_inertia, out[3:, 3:])


@inlined
def end_contacts(contacts, motion, record, t, softness):
    """Give the bodies in contact their new velocities, v = v1 + M^-1 p, and write down what happened."""
    for k in range(len(contacts.record)):
        c = contacts.record[k]
        twist = motion.twist[c.index]
        write_twist_after(contacts, k, c.impulse, twist)
        if c.mode == Mode.STATIC and c.kind == Kind.SURFACE and softness == 0.0:
            for m in range(6):
                twist[m] = 0.0  # what is left is rounding
        copy(c.impulse, record.impulse[c.index, t])
        record.kind[c.index, t] = c.kind
        # A soft law never stops a patch exactly, and a statistical one has no modes: these are named by what is seen.
        if softness > 0 or c.mode == Mode.NONE:
            c.mode = observed_mode(contacts, k, motion.twist[c.index], c.impulse)
        record.mode[c.index, t] = c.mode


@inlined
def end_step(setting, contacts, motion, n, softness):
    """Move all bodies by their new velocities, and those in contact by the correction of their depth."""
    h = setting.timestep
    for k in range(n):
        correct_body(contacts, motion, k, softness, h)
    at = np.int64(0)
    for i in range(len(motion.position)):
        touches = at < n and contacts.record[at].index == i
        move_body(contacts, motion, i, at, touches, h)
        if touches:
            at += 1


@inlined
def correct_body(contacts, motion, k, softness, h):
    """Move the body of record k by the correction of its depth."""
    c = contacts.record[k]
    set_depth_correction(contacts, k, softness, h)
    for m in range(3):
        motion.position[c.index, m] += h * c.velocity[m]


@inlined
def move_body(contacts, motion, i, at, touches, h):
    """Move body i by its new velocity; if it touches, turn it by the correction in record `at`, too."""
    w = motion.twist[i]
    for m in range(3):
        motion.position[i, m] += h * w[m]
    x, y, z = h * w[3], h * w[4], h * w[5]
    if touches:
        shift = contacts.record[at].velocity
        x, y, z = x + h * shift[3], y + h * shift[4], z + h * shift[5]
    rotate(motion.quaternion[i], x, y, z)


@inlined
def set_depth_correction(contacts, i, softness, h):
    """Replace v1 of record i, which is spent, by the twist that raises sunk vertices: 1 % of the depth a step, at most
    1 mm/s, without any friction."""
    c = contacts.record[i]
    shift = c.velocity
    for k in range(6):
        shift[k] = 0.0
    if c.depth < SETTLED_DEPTH:
        return
    p_z, m_x, m_y = normal_impulse(contacts, i, shift, softness, CORRECTION / h, CORRECTION_SPEED)
    W = c.inverse_inertia
    shift[2] = W[2, 2] * p_z
    for k in range(3, 6):
        shift[k] = W[k, 3] * m_x + W[k, 4] * m_y


@inlined
def write_state(record, motion, t):
    """Write the present states as number `t`."""
    for i in range(len(motion.position)):
        copy(motion.position[i], record.position[i, t])
        copy(motion.quaternion[i], record.quaternion[i, t])
        copy(motion.twist[i], record.twist[i, t])


def empty_record(n: int, steps: int) -> Record:
    """Room for `steps` steps of n bodies."""
    return Record(
        np.empty((n, steps + 1, 3)),
        np.empty((n, steps + 1, 4)),
        np.empty((n, steps + 1, 6)),
        np.zeros((n, steps, 6)),
        np.full((n, steps), Mode.NONE, dtype=np.int8),
        np.zeros((n, steps), dtype=np.int8),
    )


def check_finite(record: Record, timestep: float) -> None:
    """Refuse a motion that has run out of numbers."""
    if np.isfinite(record.twist.sum() + record.position.sum()):
        return  # as good as always, and quickly seen
    lost = ~np.isfinite(record.twist).all(axis=-1) | ~np.isfinite(record.position).all(axis=-1)
    if lost.any():  # not if finite numbers have only become too large a sum
        throw, step = (int(i) for i in np.argwhere(lost)[0])
        spin = np.linalg.norm(record.twist[throw, 0, 3:])
        raise checks.InputError(
            f"The motion of state {throw} is not finite after {step} steps: with its spin of {spin:.3g} rad/s at the "
            f"start, steps of {timestep:g} s are too long for the gyroscopic torque; shorten them or spin it slower."
        )


def to_motion(body: Body, state: State) -> Motion:
    """States of the body frame (n,) as motion of the centre of mass."""
    position, twist = state.position, np.concatenate([state.velocity, state.angular_velocity], axis=1)
    if body.com.any():
        arm = rotation_matrices(state.quaternion) @ body.com
        position = position + arm
        twist[:, :3] += np.cross(state.angular_velocity, arm)
    return Motion(np.array(position), np.array(state.quaternion), twist)


def to_trajectory(body: Body, record: Record, batch_shape: tuple[int, ...], timestep: float) -> Trajectory:
    """A record at the centre of mass as a trajectory of the body frame."""
    spin = record.twist[..., 3:]
    position, velocity = record.position, record.twist[..., :3]
    if body.com.any():
        arm = (rotation_matrices(record.quaternion.reshape(-1, 4)) @ body.com).reshape(record.position.shape)
        position, velocity = position - arm, velocity - np.cross(spin, arm)
    arrays = {
        "position": position,
        "quaternion": record.quaternion,
        "velocity": velocity,
        "angular_velocity": spin,
        "impulse": record.impulse,
        "mode": record.mode,
        "kind": record.kind,
    }
    return Trajectory(
        **{name: value.reshape(*batch_shape, *value.shape[1:]) for name, value in arrays.items()}, timestep=timestep
    )
