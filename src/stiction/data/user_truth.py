"""Motions thrown by a user-defined ground truth: validated, completed with contacts, and sent to worker processes."""

import os
import sys
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.bodies.state import UNIT_TOLERANCE, Mode, State
from stiction.bodies.trajectory import Trajectory
from stiction.simulation.motion import Record, Setting, empty_record, recover, to_trajectory

STATES = {"position": 3, "quaternion": 4, "velocity": 3, "angular_velocity": 3}  # arrays of a motion, and components


def throw_user_defined(given: Any, body: Body, state: State, steps: int, *, timestep, gravity, finite) -> Trajectory:
    """Throws of an object with a method `throw`; contacts that it does not state are recovered from the motion."""
    acceleration = np.array(gravity, dtype=np.float64)
    number = len(state.position)
    record = empty_record(number, steps)
    if number == 0:  # user code need not handle an empty batch
        return to_trajectory(body, record, (0,), timestep)
    throw, copied = given.throw, acceleration.copy()
    if _accepts_finite(throw):
        answer = throw(body, state[:], steps, timestep=timestep, gravity=copied, finite=finite)
    else:
        answer = throw(body, state[:], steps, timestep=timestep, gravity=copied)
    motion = _checked_motion(answer, number, steps, finite)
    _check_start(motion, state)
    flat = (part.reshape(-1, part.shape[-1]) for part in motion.values())
    for target, part in zip(record[:3], _core.to_centre_of_mass(body.com, *flat), strict=True):
        target[:] = part.reshape(target.shape)
    recover(body, Setting(timestep, acceleration), record)
    _use_stated_contacts(answer, record)
    return Trajectory(**motion, impulse=record.impulse, mode=record.mode, kind=record.kind, timestep=timestep)


def _checked_motion(answer: Any, throws: int, steps: int, finite: bool) -> dict[str, NDArray[np.float64]]:
    """The arrays of a motion that a method `throw` returned, all NaN from the first step that is not finite."""
    motion = {}
    for name, size in STATES.items():
        given = _part(answer, name)
        if given is None:
            raise checks.InputError(
                f"What a ground truth's throw returns must have {', '.join(STATES)}, as a stiction.Trajectory has; "
                f"{type(answer).__name__} has no {name}."
            )
        motion[name] = _numbers(name, given, (throws, steps + 1, size))
    sound = np.all([np.isfinite(part).all(axis=-1) for part in motion.values()], axis=0)
    sound = np.logical_and.accumulate(sound, axis=1)
    if finite and not sound.all():
        throw, step = (int(i) for i in np.argwhere(~sound)[0])
        raise checks.InputError(f"The ground truth's motion of state {throw} is not finite after {step} steps.")
    for part in motion.values():
        part[~sound] = np.nan
    length = np.linalg.norm(motion["quaternion"], axis=-1, keepdims=True)
    if (np.abs(length[sound] - 1) > UNIT_TOLERANCE).any():
        raise checks.InputError("The quaternions (w, x, y, z) that a ground truth's throw returns must have length 1.")
    motion["quaternion"] /= length
    return motion


def _check_start(motion: dict[str, NDArray[np.float64]], state: State) -> None:
    """Refuse a motion with another start: it has other axes, another reference point, or another order."""
    for name, part in motion.items():
        asked, got = getattr(state, name), part[:, 0]
        gap = np.abs(got - asked)
        if name == "quaternion":
            gap = np.minimum(gap.max(axis=1), np.abs(got + asked).max(axis=1))
        if not (gap <= 1e-5 * (1 + np.abs(asked).max(initial=0.0))).all():
            raise checks.InputError(
                f"The first {name} that a ground truth's throw returns must be that of the state it was given (of the "
                f"body frame's origin, in world axes); it differs by {np.nanmax(gap):.3g}."
            )


def _use_stated_contacts(answer: Any, record: Record) -> None:
    """Replace the impulses and modes recovered from the motion by those that the ground truth states."""
    touching = record.kind > 0
    impulse, mode = _part(answer, "impulse"), _part(answer, "mode")
    if impulse is not None:
        stated = _numbers("impulse", impulse, record.impulse.shape)
        sound = touching & np.isfinite(record.impulse).all(axis=-1)
        here, seen = stated[sound], record.impulse[sound]
        # Half of the impulses may be noise; wrong signs, axes or reference points are farther off.
        if not np.abs(here - seen).sum() <= 0.5 * np.abs(seen).sum() + 1e-9 * len(seen):
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
    except ValueError:  # compiled functions may have no signature
        return False


# Worker processes: cloudpickle sends the user's classes by value, since other machines do not have their files.


def pickled(thing: Any, label: str) -> bytes:
    """Bytes that `unpickled` reads in a worker process, on this machine or another one; never stored in a file."""
    cloudpickle, problem = _cloudpickle(), None
    user_modules = [module for module in list(sys.modules.values()) if _is_user_code(module)]
    for by_value in (user_modules, []):  # what a module holds may not be picklable: then by reference
        for module in by_value:
            cloudpickle.register_pickle_by_value(module)
        try:
            return cloudpickle.dumps(thing)
        except Exception as error:  # third-party objects may raise anything
            problem = error
        finally:
            for module in by_value:
                cloudpickle.unregister_pickle_by_value(module)
    raise checks.InputError(
        f"{label} cannot be sent to other processes ({problem!s:.150}): give one worker, or make it picklable."
    ) from problem


def unpickled(data: bytes) -> Any:
    """The object that `pickled` was given."""
    return _cloudpickle().loads(data)


def _cloudpickle() -> Any:
    try:
        import cloudpickle
    except ImportError as error:
        raise checks.InputError(
            needs("More than one worker with a user-defined ground truth", "cloudpickle")
        ) from error
    return cloudpickle


def _is_user_code(module: ModuleType) -> bool:
    """Whether a module is a file in or below the current folder, and not installed there."""
    file, package = getattr(module, "__file__", None), getattr(module, "__name__", "__main__").partition(".")[0]
    if not isinstance(file, str) or package in ("__main__", "stiction"):
        return False
    path = Path(file).resolve()
    return path.is_relative_to(Path(os.getcwd()).resolve()) and "site-packages" not in path.parts
