"""A ground truth of one's own: a law, a material, or any object that can throw a body."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.basics.files import digest
from stiction.bodies.body import Body
from stiction.bodies.state import UNIT_TOLERANCE, Mode, State
from stiction.bodies.throws import ThrowRanges, drawn
from stiction.bodies.trajectory import Trajectory
from stiction.data.ground_truth import OWN, Truth, throw_law
from stiction.laws.law import Law, as_law
from stiction.simulation.motion import Record, Setting, empty_record, recover, to_trajectory

# The motions of an object that throws: checked, with the contacts that can be seen in them.


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


# An object on its way to the workers of one run: pickled for that, and never kept in a file.


def packed(thing: Any, label: str) -> bytes:
    """`thing` as bytes that `unpacked` reads in another process, on this machine or another one."""
    cloudpickle = _cloudpickle()
    # Other machines do not have the files that lie about here, so their classes travel along, if they can.
    for module in (module for module in _modules(thing) if _is_nearby(module)):
        cloudpickle.register_pickle_by_value(module)
        try:
            return cloudpickle.dumps(thing)
        except Exception:  # whatever the parts of a stranger's object raise
            continue
        finally:
            cloudpickle.unregister_pickle_by_value(module)
    try:
        return cloudpickle.dumps(thing)
    except Exception as error:
        raise checks.InputError(
            f"{label} cannot be sent to other processes ({error!s:.150}): give one worker, or make it fit for pickle."
        ) from error


def unpacked(data: bytes) -> Any:
    """What `packed` was given, in the process of a worker."""
    return _cloudpickle().loads(data)


def _cloudpickle() -> Any:
    try:
        import cloudpickle
    except ImportError as error:
        raise checks.InputError(needs("More than one worker with a ground truth of your own", "cloudpickle")) from error
    return cloudpickle


def _modules(thing: Any) -> list[ModuleType]:
    """The modules of the classes of an object and of what it holds."""
    things = [thing, *getattr(thing, "__dict__", {}).values()]
    things += [inner for part in things[1:] for inner in getattr(part, "__dict__", {}).values()]
    names = dict.fromkeys(type(part).__module__ for part in things)
    return [sys.modules[name] for name in names if name in sys.modules]


def _is_nearby(module: ModuleType) -> bool:
    """Whether a module is a file in or below the current folder, and not installed there."""
    file = getattr(module, "__file__", None)
    if file is None or module.__name__ == "__main__" or module.__name__.partition(".")[0] == "stiction":
        return False
    path = Path(file).resolve()
    return path.is_relative_to(Path(os.getcwd()).resolve()) and "site-packages" not in path.parts


_PROBE = ThrowRanges(height=(0.0, 0.02), vertical=(-2.0, -0.5))  # soon in contact
_PROBE_THROWS, _PROBE_STEPS = 8, 60

Thrower = Callable[..., Trajectory]  # (body, state, steps, *, timestep, gravity, finite) with a batch of states (n,)


@dataclass(frozen=True)
class OwnTruth(Truth):
    """An object that throws, which no file can hold: a data set says what it was called and how it answered.

    label: name of its class
    probe: SHA-256 of what it made of a few throws; another truth is told by it
    thrower: None in a plan that was read from a file
    """

    label: str
    probe: str
    thrower: Thrower | None = field(default=None, compare=False, repr=False)
    name: str = field(default=OWN, init=False)

    @classmethod
    def of(cls, given: Any, body: Body, *, timestep: float, gravity: ArrayLike) -> "OwnTruth":
        """The ground truth that `given` is for `body`; it is asked about a few throws."""
        thrower = thrower_of(given, body, timestep)
        label = getattr(given, "__name__", type(given).__qualname__)
        return cls(label, probe(thrower, body, timestep=timestep, gravity=gravity), thrower)

    def with_thrower(self, thrower: Thrower, body: Body, *, timestep: float, gravity: ArrayLike) -> "OwnTruth":
        """This ground truth with what throws, in another process; it must answer there as it did here."""
        if probe(thrower, body, timestep=timestep, gravity=gravity) != self.probe:
            raise checks.InputError(
                f"The ground truth {self.label} answers differently in another process: it must depend on nothing but "
                "itself, and workers on other machines need the same kind of processor; or give one worker."
            )
        return replace(self, thrower=thrower)

    def _throw(self, body: Body, state: State, steps: int, **how: Any) -> Trajectory:
        if self.thrower is None:
            raise checks.InputError(
                f"The ground truth {self.label} was an object in Python, which no file holds: `stiction evaluate` asks "
                "it with --truth MODULE:OBJECT."
            )
        flat = state.reshape(int(np.prod(state.batch_shape)))
        run = self.thrower(body, flat, steps, **how)
        arrays = {name: part for name, part in vars(run).items() if name != "timestep"}
        shaped = {name: part.reshape(*state.batch_shape, *part.shape[1:]) for name, part in arrays.items()}
        return Trajectory(**shaped, timestep=run.timestep)

    def to_dict(self) -> dict[str, Any]:
        return {"name": OWN, "label": self.label, "probe": self.probe}

    def packed(self) -> bytes:
        return packed(self.thrower, self.label)


def probe(thrower: Thrower, body: Body, *, timestep: float, gravity: ArrayLike) -> str:
    """A digest of what a ground truth makes of a few throws; one that answers differently each time is refused."""
    start = drawn(body, _PROBE, 0, range(_PROBE_THROWS))
    how = {"timestep": timestep, "gravity": gravity, "finite": False}
    first, second = (_digest(thrower(body, start[:], _PROBE_STEPS, **how)) for _ in range(2))
    if first != second:
        raise checks.InputError(
            "The ground truth answers the same throws differently when asked again; data sets need one whose throws "
            "depend on their start alone: draw nothing in it, or from a seed made of the start."
        )
    return first


def thrower_of(given: Any, body: Body, timestep: float) -> Thrower:
    """What throws `body`: a Law of it, a material put on it, or an object with a method `throw`."""
    if isinstance(given, type):
        raise checks.InputError(f"A ground truth is an object, got the class {given.__name__}: make one of it.")
    is_law = isinstance(given, Law)
    if not is_law and callable(getattr(given, "throw", None)):
        return Motions(given)
    if not is_law and callable(getattr(given, "on", None)):
        given = given.on(body, timestep=timestep)
    elif not is_law and not (hasattr(given, "classify") or hasattr(given, "respond")):
        raise checks.InputError(
            "A ground truth is a stiction.Law, a material, or an object with a method throw(body, state, steps, *, "
            f"timestep, gravity), got {type(given).__name__}."
        )
    law = as_law(given)
    if not law.body.same_as(body):
        raise checks.InputError(
            f"The law {checks.shown(law)} is for another body than the {body.shape} that is to be thrown."
        )
    return _LawThrows(law)


@dataclass(frozen=True)
class _LawThrows:
    """Throws with a law."""

    law: Law

    def __call__(self, body: Body, state: State, steps: int, **how: Any) -> Trajectory:
        return throw_law(self.law, state, steps, **how)


def _digest(run: Trajectory) -> str:
    parts = (run.position, run.quaternion, run.velocity, run.angular_velocity, run.impulse, run.mode, run.kind)
    return digest(b"".join(np.ascontiguousarray(part).tobytes() for part in parts))
