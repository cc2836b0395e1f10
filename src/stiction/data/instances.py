"""Contact instances of throws: the state, v1, impulse, mode and kind of every step in contact."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import Kind, Mode, State
from stiction.bodies.trajectory import Trajectory
from stiction.simulation.motion import MAX_START_DEPTH, Setting, contacts_at, free_twists, to_motion

if TYPE_CHECKING:
    from stiction.data.store import Columns


def contact_instances(body: Body, run: Trajectory, setting: Setting) -> "Columns":
    """All steps in contact of a batch of throws `run` (n,), in order; "throw" counts from 0. Columns as in store."""
    throw, step = np.nonzero((run.kind > 0) & trusted(body, run, setting))
    parts = run.position, run.quaternion, run.velocity, run.angular_velocity
    before, after = (State(*(part[throw, k] for part in parts)) for k in (step, step + 1))
    twist = to_motion(body, before).twist
    return {
        "throw": throw.astype(np.int32),
        "step": step.astype(np.int16),
        "position": before.position,
        "quaternion": before.quaternion,
        "twist": twist,
        "v1": free_twists(body, setting, before.quaternion, twist),
        "impulse": run.impulse[throw, step],
        "after": to_motion(body, after).twist,
        "mode": run.mode[throw, step],
        "kind": run.kind[throw, step],
    }


def trusted(body: Body, run: Trajectory, setting: Setting) -> NDArray[np.bool_]:
    """Which steps (n, steps) come before the motion gains a fifth of its energy.

    The explicit gyroscopic torque of a thin body that spins fast is unstable: such motions grow until they overflow.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        R = rotation_matrices(run.quaternion.reshape(-1, 4)).reshape(*run.quaternion.shape[:-1], 3, 3)
        arm = R @ body.com
        velocity = run.velocity + np.cross(run.angular_velocity, arm)
        spin = np.einsum("...ij,...i->...j", R, run.angular_velocity)  # in body axes
        energy = 0.5 * body.mass * (velocity**2).sum(axis=-1) - body.mass * (run.position + arm) @ setting.gravity
        energy += 0.5 * np.einsum("...i,ij,...j", spin, body.inertia, spin)
        sound = energy <= 1.2 * np.abs(energy[:, :1])
    return np.logical_and.accumulate(sound, axis=1)[:, 1:]


def is_at_rest(body: Body, rows: "Columns") -> NDArray[np.bool_]:
    """Which rows are static contacts on the widest patch that the body has: a surface, of a planar body a line."""
    return (rows["mode"] == Mode.STATIC) & (rows["kind"] == (Kind.LINE if body.planar else Kind.SURFACE))


def balanced_choice(kind, mode, number: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Indices (number,) of rows, drawn with replacement so that each patch kind and mode among them is as likely."""
    group = 4 * kind.astype(np.intp) + mode
    weight = 1 / np.bincount(group)[group]
    return rng.choice(len(group), number, p=weight / weight.sum())


def jittered(body: Body, rows: "Columns", noise, share: float, speed: float, setting: Setting) -> tuple[State, NDArray]:
    """The states of `rows` with other velocities, and which rows they belong to, shape (k,).

    noise: standard normal, shape (n, 6): of the velocity of the patch's centre, and of the spin
    share, speed: the standard deviation is this share of the patch's speed plus this speed [m/s], for the spin divided
        by half the body's diameter
    States that are too deep in the ground for a throw to start there are left out.
    """
    motion = to_motion(body, State(rows["position"], rows["quaternion"]))
    motion.twist[:] = rows["twist"]
    touching: Any = contacts_at(body, motion, setting).record
    touching = touching[touching.depth <= MAX_START_DEPTH * body.diameter]
    row = touching.index
    slip = touching.velocity[:, :3] + np.cross(touching.velocity[:, 3:], touching.centre)
    rolling = touching.radius * np.linalg.norm(touching.velocity[:, 3:], axis=1)
    deviation = speed + share * np.hypot(np.linalg.norm(slip, axis=1), rolling)[:, np.newaxis]
    push, turn = deviation * noise[row, :3], deviation * noise[row, 3:] / (0.5 * body.diameter)
    if body.planar:
        push[:, 1] = turn[:, 0] = turn[:, 2] = 0.0
    spin = rows["twist"][row, 3:] + turn
    velocity = rows["twist"][row, :3] + push - np.cross(turn, touching.centre)
    arm = rotation_matrices(rows["quaternion"][row]) @ body.com
    return State(rows["position"][row], rows["quaternion"][row], velocity - np.cross(spin, arm), spin), row


def noise_in_plane(noise: NDArray, quaternion: NDArray) -> NDArray:
    """The part of noise (n, 6) for `jittered` that leaves the bodies' y axes level and moves them across these axes.

    It is 4 times as wide as that of other throws: a link on hinges has twists that it rarely has when it is thrown.
    """
    across = rotation_matrices(quaternion)[:, :, 1]
    push, turn = 4.0 * noise[:, :3], 4.0 * noise[:, 3:]
    push = push - (push * across).sum(axis=1, keepdims=True) * across
    return np.hstack([push, (turn * across).sum(axis=1, keepdims=True) * across])


# Validation of contacts: a wrong frame or sign is found by the whole data set, while noise is tolerated.


def possible_contacts(
    body: Body, contacts: _core.Contacts, setting: Setting, impulse: NDArray, n_rows: int
) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Which contacts (k,) are physically possible, and the number of the other rows by their first fault.

    contacts: those of n_rows rows that touch the ground
    impulse: about the centre of mass (k, 6)
    """
    record: Any = contacts.record
    with np.errstate(over="ignore", invalid="ignore"):  # an impulse that overflows is not possible
        push, weight = impulse[:, 2], body.mass * float(np.linalg.norm(setting.gravity)) * setting.timestep
        change = np.einsum("nij,nj->ni", contacts.inverse_inertia, impulse)
        energy = 0.5 * (impulse * change).sum(axis=1)
        work = impulse * record.velocity
        # An impulse may seem to add half of its own energy and a fifth of its work by component: noise does that.
        allowed = 0.5 * energy + 0.2 * np.abs(work).sum(axis=1) + 1e-12 * body.mass
        torque = impulse[:, 3:] - np.cross(record.centre, impulse[:, :3])  # about the patch's centre
        # The centre of pressure may seem to be outside the patch by a quarter of the body's diameter.
        outside = np.hypot(torque[:, 0], torque[:, 1]) > push * (2 * record.radius + 0.25 * body.diameter)
        faults = {
            "too deep in the ground": record.depth > MAX_START_DEPTH * body.diameter,
            "pulled by the ground": push < -0.05 * weight,
            "with a torque that their patch cannot make": (push > 0.05 * weight) & outside,
            "whose impulse adds energy": ~(work.sum(axis=1) + energy <= allowed),
        }
    possible, counts = np.ones(len(impulse), dtype=np.bool_), {"in the air": n_rows - len(impulse)}
    for fault, found in faults.items():
        counts[fault] = int((possible & found).sum())
        possible &= ~found
    return possible, counts


def fault_text(counts: dict[str, int]) -> str:
    """Numbers of contacts by their faults, as text; empty if there are none."""
    return ", ".join(f"{count:,} {fault}" for fault, count in counts.items() if count)
