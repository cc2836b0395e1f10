"""From throws to contact instances: the state, v1, impulse, mode and kind of every step in contact."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import Kind, Mode, State
from stiction.bodies.trajectory import Trajectory
from stiction.simulation.motion import MAX_START_DEPTH, Setting, contacts_at, free_twists, to_motion

Columns = dict[str, NDArray]

REQUERIED = -1  # the step of an instance that belongs to no trajectory
IN_PLANE_JITTER = 4.0  # times as wide as the jitter of other throws
_GAIN = 1.2  # energy over that of the throw's start from which on its motion is no longer trusted


def contact_instances(body: Body, run: Trajectory, setting: Setting) -> Columns:
    """All steps in contact of a batch of throws `run` (n,), in order; "throw" counts from 0. Columns as in store."""
    throw, step = np.nonzero((run.kind > 0) & trusted(body, run, setting))
    before, after = (_state(run, throw, k) for k in (step, step + 1))
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
    """Which steps (n, steps) come before the motion gains energy: the explicit gyroscopic torque of a thin body that
    spins fast feeds itself until the motion runs out of numbers, and what is seen on the way there never happens."""
    with np.errstate(over="ignore", invalid="ignore"):
        R = rotation_matrices(run.quaternion.reshape(-1, 4)).reshape(*run.quaternion.shape[:-1], 3, 3)
        arm = R @ body.com
        velocity = run.velocity + np.cross(run.angular_velocity, arm)
        spin = np.einsum("...ij,...i->...j", R, run.angular_velocity)  # in body axes
        energy = 0.5 * body.mass * (velocity**2).sum(axis=-1) - body.mass * (run.position + arm) @ setting.gravity
        energy += 0.5 * np.einsum("...i,ij,...j", spin, body.inertia, spin)
        sound = energy <= _GAIN * np.abs(energy[:, :1])
    return np.logical_and.accumulate(sound, axis=1)[:, 1:]


def is_at_rest(body: Body, rows: Columns) -> NDArray[np.bool_]:
    """Which rows are static contacts on the widest patch that the body has: a surface, of a planar body a line."""
    return (rows["mode"] == Mode.STATIC) & (rows["kind"] == (Kind.LINE if body.planar else Kind.SURFACE))


def balanced_choice(kind, mode, number: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Indices (number,) of rows, drawn with replacement so that each patch kind and mode among them is as likely."""
    group = 4 * kind.astype(np.intp) + mode
    weight = 1 / np.bincount(group)[group]
    return rng.choice(len(group), number, p=weight / weight.sum())


def jittered(body: Body, rows: Columns, noise, share: float, speed: float, setting: Setting) -> tuple[State, NDArray]:
    """The states of `rows` with other velocities, and which rows they belong to, shape (k,).

    noise: standard normal, shape (n, 6): of the velocity of the patch's centre, and of the spin
    share, speed: the standard deviation is this share of the patch's speed plus this speed [m/s], for the spin divided
        by half the body's diameter
    Left out are states that lie too deep in the ground for a throw to begin there.
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
    """Of noise (n, 6) for `jittered` what leaves the bodies' y axes level and moves them across these axes only.

    It is widened: what hinges do to a link goes far beyond what it meets when it is thrown.
    """
    across = rotation_matrices(quaternion)[:, :, 1]
    push, turn = IN_PLANE_JITTER * noise[:, :3], IN_PLANE_JITTER * noise[:, 3:]
    push = push - (push * across).sum(axis=1, keepdims=True) * across
    return np.hstack([push, (turn * across).sum(axis=1, keepdims=True) * across])


def joined(parts: list[Columns]) -> Columns:
    """Rows of several parts in the order of their throws, within a throw in the order of the parts."""
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return chosen(rows, np.argsort(rows["throw"], kind="stable"))


def chosen(rows: Columns, which) -> Columns:
    """Some of the rows, by index or by mask."""
    return {name: column[which] for name, column in rows.items()}


def _state(run: Trajectory, throw, step) -> State:
    return State(*(part[throw, step] for part in _parts(run)))


def _parts(run: Trajectory):
    return run.position, run.quaternion, run.velocity, run.angular_velocity


# Which contacts can be: what tells one that is wrong from one that is only noisy.


_PULL = 0.05  # share of the body's weight in one step by which the ground may seem to pull
_ENERGY_TOLERANCE = (
    0.5,
    0.2,
)  # shares of the impulse's own energy, and of its work by component, by which it may seem to add energy
_BESIDE = 0.25  # share of the body's diameter by which its centre of pressure may seem to lie outside of the patch
IN_THE_AIR = "in the air"


def faults(body: Body, contacts: _core.Contacts, setting: Setting, impulse: NDArray) -> dict[str, NDArray[np.bool_]]:
    """Which contacts cannot be, by the reason: a wrong frame or a wrong sign is told by the whole data set.

    impulse: about the centre of mass (n, 6)
    """
    record: Any = contacts.record
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not possible
        push, weight = impulse[:, 2], body.mass * float(np.linalg.norm(setting.gravity)) * setting.timestep
        change = np.einsum("nij,nj->ni", contacts.inverse_inertia, impulse)
        own = 0.5 * (impulse * change).sum(axis=1)
        work = impulse * record.velocity
        allowed = _ENERGY_TOLERANCE[0] * own + _ENERGY_TOLERANCE[1] * np.abs(work).sum(axis=1) + 1e-12 * body.mass
        torque = impulse[:, 3:] - np.cross(record.centre, impulse[:, :3])  # about the patch's centre
        aside = np.hypot(torque[:, 0], torque[:, 1]) > push * (2 * record.radius + _BESIDE * body.diameter)
        return {
            "too deep in the ground": record.depth > MAX_START_DEPTH * body.diameter,
            "pulled by the ground": push < -_PULL * weight,
            "with a torque that their patch cannot make": (push > _PULL * weight) & aside,
            "whose impulse adds energy": ~(work.sum(axis=1) + own <= allowed),
        }


def told(counts: dict[str, int]) -> str:
    """Numbers of contacts by their faults, in words; empty if there are none."""
    return ", ".join(f"{count:,} {fault}" for fault, count in counts.items() if count)
