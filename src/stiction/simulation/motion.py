"""Motions at the centre of mass, as the core computes them, from and to states of the body frame; their checks."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import Mode, State
from stiction.bodies.trajectory import Trajectory

MAX_START_DEPTH = 0.05  # penetration allowed at the start, relative to the body's diameter


class Motion(NamedTuple):
    """States of n bodies at their centres of mass."""

    position: NDArray[np.float64]  # (n, 3)
    quaternion: NDArray[np.float64]  # (n, 4)
    twist: NDArray[np.float64]  # (n, 6)


class Setting(NamedTuple):
    """The time step, gravity and substeps of a motion."""

    timestep: float
    gravity: NDArray[np.float64]  # (3,)
    substeps: int = 0  # equal parts of a time step, cut further at impacts; 0: whole steps, as in the paper


class Record(NamedTuple):
    """A recorded motion of n bodies at their centres of mass; shapes as in Trajectory with one leading axis."""

    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    twist: NDArray[np.float64]
    impulse: NDArray[np.float64]
    mode: NDArray[np.int8]
    kind: NDArray[np.int8]


def empty_record(n: int, steps: int) -> Record:
    """A record of `steps` steps of n bodies, to be filled."""
    return Record(
        np.empty((n, steps + 1, 3)),
        np.empty((n, steps + 1, 4)),
        np.empty((n, steps + 1, 6)),
        np.zeros((n, steps, 6)),
        np.full((n, steps), Mode.NONE, dtype=np.int8),
        np.zeros((n, steps), dtype=np.int8),
    )


def contacts_at(body: Body, motion: Motion, setting: Setting) -> _core.Contacts:
    """The contacts at the start of a step, with v1; `record["index"]` is the index of their bodies."""
    return _core.touching(body.hull, *motion, setting.timestep, setting.gravity)


def free_twists(body: Body, setting: Setting, quaternion: NDArray, twist: NDArray) -> NDArray[np.float64]:
    """Line 1 of Algorithm 1: v1 = v + h M^-1 tau of twists (n, 6)."""
    return _core.free_twists(body.hull, quaternion, twist, setting.timestep, setting.gravity)


def check_start(body: Body, state: State) -> None:
    """Refuse states of this body that start below the ground or, for a planar body, outside its plane."""
    if not isinstance(state, State):
        raise checks.InputError(f"state must be a stiction.State, got {type(state).__name__}.")
    flat = state.reshape(int(np.prod(state.batch_shape)))
    motion = to_motion(body, flat)
    lowest = _core.lowest_heights(body.hull, motion.position, motion.quaternion)
    if len(lowest) and lowest.min() < -MAX_START_DEPTH * body.diameter:
        raise checks.InputError(
            f"The body starts below the ground: its lowest point is at z = {lowest.min():.4g} m, allowed is z >= "
            f"{-MAX_START_DEPTH * body.diameter:.4g} m."
        )
    if body.planar:
        check_in_plane(flat)


def check_in_plane(state: State) -> None:
    """Refuse states (n,) outside the plane of a planar body."""
    sideways = [
        state.position[:, 1],
        state.velocity[:, 1],
        *state.angular_velocity.T[[0, 2]],
        *state.quaternion.T[[1, 3]],
    ]
    worst = max((float(np.abs(part).max(initial=0.0)) for part in sideways), default=0.0)
    if worst > 1e-9:
        raise checks.InputError(
            "A planar body moves only in the x-z plane and rotates only about y, got a component outside that plane of "
            f"{worst:.3g}."
        )


def check_finite(timestep: float, position: NDArray, quaternion: NDArray, velocity: NDArray, spin: NDArray) -> None:
    """Refuse motions (n, steps + 1, 3 or 4) that are not finite, and report the likely cause."""
    parts = position, quaternion, velocity, spin
    with np.errstate(over="ignore", invalid="ignore"):
        last = sum(float(part[:, -1].sum()) for part in parts)
    if np.isfinite(last):
        return  # the usual case, quickly checked: NaN remains in all later steps
    lost = np.any([~np.isfinite(part).all(axis=-1) for part in parts], axis=0)
    if lost.any():  # otherwise only the sum has overflowed
        throw, step = (int(i) for i in np.argwhere(lost)[0])
        why = _why_lost(timestep, velocity[throw, :step], spin[throw, :step])
        raise checks.InputError(f"The motion of state {throw} is not finite after {step} steps: {why}.")


def _why_lost(timestep: float, velocity: NDArray, spin: NDArray) -> str:
    """The likely cause of a motion that is not finite after these velocities and spins (steps, 3)."""
    speeds, spins = np.hypot.reduce(velocity, axis=-1), np.hypot.reduce(spin, axis=-1)  # whose squares may overflow
    first, last = spins[0], spins[-1]
    too_fast = spins * timestep > 0.3  # [rad] per step: above it the gyroscopic torque may add energy
    fastest = (speeds[: int(np.argmax(too_fast)) + 1] if too_fast[-1] else speeds).max()
    steps = f"steps of {timestep:g} s are too long for the gyroscopic torque"
    if too_fast[0]:
        return f"with its spin of {first:.3g} rad/s at the start, {steps}; shorten them or spin it slower"
    if too_fast[-1]:
        return (
            f"moving at {fastest:.3g} m/s, it was spun up to {last:.3g} rad/s by contact, and {steps}; "
            "shorten them or throw it slower"
        )
    return f"its speed of {fastest:.3g} m/s is too high to be simulated; throw it slower"


def to_motion(body: Body, state: State) -> Motion:
    """States of the body frame (n,) as motions of the centre of mass."""
    parts = state.position, state.quaternion, state.velocity, state.angular_velocity
    return Motion(*_core.to_centre_of_mass(body.com, *parts))


def to_trajectory(body: Body, record: Record, batch_shape: tuple[int, ...], timestep: float) -> Trajectory:
    """A record at the centre of mass as a trajectory of the body frame."""
    flat = (part.reshape(-1, part.shape[-1]) for part in record[:3])
    frames = (part.reshape(record.position.shape) for part in _core.to_body_frame(body.com, *flat))
    position, velocity, spin = frames
    arrays = position, record.quaternion, velocity, spin, record.impulse, record.mode, record.kind
    return shaped(Trajectory(*arrays, timestep=timestep), batch_shape)


def shaped(run: Trajectory, batch_shape: tuple[int, ...]) -> Trajectory:
    """Trajectories (n,) with the leading axes of a batch."""
    arrays = {name: value for name, value in vars(run).items() if name != "timestep"}
    return replace(run, **{name: value.reshape(*batch_shape, *value.shape[1:]) for name, value in arrays.items()})


def recover(body: Body, setting: Setting, record: Record) -> None:
    """Fill in the impulses, modes and kinds of a motion: p = M (v' - v) - h tau, gyroscopic torque included."""
    steps = record.mode.shape[1]
    impulse, mode, kind = record.impulse.reshape(-1, 6), record.mode.reshape(-1), record.kind.reshape(-1)
    for start in range(0, len(mode), 1024):  # steps at a time
        throw, t = np.divmod(np.arange(start, min(start + 1024, len(mode))), steps)
        before = Motion(record.position[throw, t], record.quaternion[throw, t], record.twist[throw, t])
        contacts = contacts_at(body, before, setting)
        touching = start + contacts.record["index"]
        after = record.twist[throw, t + 1][contacts.record["index"]]
        impulse[touching], mode[touching] = contacts.observe(after)
        kind[touching] = contacts.record["kind"]


def engine_setting(timestep: float, gravity: ArrayLike) -> Setting:
    """The checked setting of a throw in another engine."""
    return Setting(checks.positive("timestep [s]", timestep), checks.array("gravity", gravity, (3,)))


def recorded_throws(
    body: Body,
    state: State,
    steps: int,
    setting: Setting,
    simulate: Callable[[Motion], tuple[NDArray, NDArray, NDArray]],
    finite: bool = True,
) -> Trajectory:
    """Throw a body in another engine, from one state or from each state of a batch, and recover its contacts.

    simulate: maps the starts (n,) to positions, quaternions and twists of all frames, (n, steps + 1, 3, 4 and 6)
    finite: raise an InputError if the motion is not finite
    """
    check_start(body, state)
    start = to_motion(body, state.reshape(int(np.prod(state.batch_shape))))
    record = empty_record(len(start.position), steps)
    for part, values in zip(record[:3], simulate(start), strict=True):
        part[:] = values.reshape(part.shape)
    if finite:
        check_finite(setting.timestep, *record[:2], record.twist[..., :3], record.twist[..., 3:])
    recover(body, setting, record)
    return to_trajectory(body, record, state.batch_shape, setting.timestep)
