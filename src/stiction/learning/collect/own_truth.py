"""A ground truth of one's own: a law, a material, or any object that can throw a body."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stiction.basics import checks
from stiction.basics.files import digest
from stiction.bodies.body import Body
from stiction.bodies.state import State, Trajectory
from stiction.bodies.throws import ThrowRanges, drawn
from stiction.laws.law import Law, as_law
from stiction.learning.collect.own_motion import Motions
from stiction.learning.collect.shipping import packed
from stiction.learning.collect.truth import OWN, Truth, throw_law

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
