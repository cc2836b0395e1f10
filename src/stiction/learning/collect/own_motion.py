"""The motions of an object that throws: checked, with the contacts that can be seen in them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import UNIT_TOLERANCE, Mode, State, Trajectory
from stiction.simulation.motion import Record, Setting, empty_record, to_trajectory
from stiction.simulators.recover import recover

_SAME_START = 1e-5  # how far the first recorded state may be from the one that was asked for
_MISFIT = 0.5  # share of the impulses in a motion by which those that are stated may miss them; noise is allowed
_STATES = {"position": 3, "quaternion": 4, "velocity": 3, "angular_velocity": 3}


@dataclass(frozen=True)
class Motions:
    """Throws of an object with a method `throw`: what it leaves open is recovered from the motion."""

    given: Any

    def __call__(
        self, body: Body, state: State, steps: int, *, timestep: float, gravity: ArrayLike, finite: bool
    ) -> Trajectory:
        pull = np.array(gravity, dtype=np.float64)
        how: dict[str, Any] = {"timestep": timestep, "gravity": pull.copy()}
        if _accepts_finite(self.given.throw):
            how["finite"] = finite
        number = len(state.position)
        record = empty_record(number, steps)
        if number == 0:  # nobody need be ready for a batch of none
            return to_trajectory(body, record, (0,), timestep)
        answer = self.given.throw(body, state[:], steps, **how)
        parts = _states(answer, number, steps, finite)
        _check_start(parts, state)
        flat = (part.reshape(-1, part.shape[-1]) for part in parts.values())
        for kept, part in zip(record[:3], _core.to_centre_of_mass(body.com, *flat), strict=True):
            kept[:] = part.reshape(kept.shape)
        recover(body, Setting(timestep, pull), record)
        _take_stated(answer, record)
        said = {"impulse": record.impulse, "mode": record.mode, "kind": record.kind}
        return Trajectory(**parts, **said, timestep=timestep)


def _states(answer: Any, throws: int, steps: int, finite: bool) -> dict[str, NDArray[np.float64]]:
    """The motion in what a method `throw` returned; all is NaN from where it runs out of numbers."""
    parts = {}
    for name, size in _STATES.items():
        given = _part(answer, name)
        if given is None:
            raise checks.InputError(
                f"What a ground truth's throw returns must have {', '.join(_STATES)}, as a stiction.Trajectory has; "
                f"{type(answer).__name__} has no {name}."
            )
        parts[name] = _numbers(name, given, (throws, steps + 1, size))
    sound = np.all([np.isfinite(part).all(axis=-1) for part in parts.values()], axis=0)
    sound = np.logical_and.accumulate(sound, axis=1)
    if finite and not sound.all():
        throw, step = (int(i) for i in np.argwhere(~sound)[0])
        raise checks.InputError(f"The ground truth's motion of state {throw} is not finite after {step} steps.")
    for part in parts.values():
        part[~sound] = np.nan
    length = np.linalg.norm(parts["quaternion"], axis=-1, keepdims=True)
    if (np.abs(length[sound] - 1) > UNIT_TOLERANCE).any():
        raise checks.InputError("The quaternions (w, x, y, z) that a ground truth's throw returns must have length 1.")
    parts["quaternion"] /= length
    return parts


def _check_start(parts: dict[str, NDArray[np.float64]], state: State) -> None:
    """Refuse a motion that begins elsewhere: it is of other axes, of another point of the body, or in another order."""
    for name, part in parts.items():
        asked, got = getattr(state, name), part[:, 0]
        gap = np.abs(got - asked)
        if name == "quaternion":
            gap = np.minimum(gap.max(axis=1), np.abs(got + asked).max(axis=1))
        if not (gap <= _SAME_START * (1 + np.abs(asked).max(initial=0.0))).all():
            raise checks.InputError(
                f"The first {name} that a ground truth's throw returns must be that of the state it was given (of the "
                f"body frame's origin, in world axes); it differs by {np.nanmax(gap):.3g}."
            )


def _take_stated(answer: Any, record: Record) -> None:
    """Put the impulses and modes that a ground truth states in the place of those seen in its motion."""
    touching = record.kind > 0
    impulse, mode = _part(answer, "impulse"), _part(answer, "mode")
    if impulse is not None:
        stated = _numbers("impulse", impulse, record.impulse.shape)
        sound = touching & np.isfinite(record.impulse).all(axis=-1)
        here, seen = stated[sound], record.impulse[sound]
        if not np.abs(here - seen).sum() <= _MISFIT * np.abs(seen).sum() + 1e-9 * len(seen):
            raise checks.InputError(
                "The impulses that a ground truth's throw returns do not fit its motion: they must be those of the "
                "ground on the body, about its centre of mass, in world axes; or leave them out."
            )
        record.impulse[sound] = here
    if mode is not None:
        stated = np.asarray(mode)
        if stated.shape != record.mode.shape or not np.isin(stated, list(Mode)).all():
            raise checks.InputError(
                f"The modes that a ground truth's throw returns must be values of Mode of shape {record.mode.shape}."
            )
        named = touching & (stated != Mode.NONE)
        record.mode[named] = stated[named]


def _part(answer: Any, name: str) -> Any:
    return answer.get(name) if isinstance(answer, Mapping) else getattr(answer, name, None)


def _numbers(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    try:
        numbers = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise checks.InputError(f"The {name} that a ground truth's throw returns must be numbers: {error}.") from error
    if numbers.shape != shape:
        raise checks.InputError(
            f"The {name} that a ground truth's throw returns must have shape {shape}, got {numbers.shape}."
        )
    return numbers


def _accepts_finite(throw: Callable[..., Any]) -> bool:
    try:
        return "finite" in signature(throw).parameters
    except ValueError:  # a compiled function may not tell
        return False
