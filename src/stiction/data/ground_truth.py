"""Ground truths: DART, Coulomb laws, laws from files, user-defined objects, and the unknown source of external data."""

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.basics.files import digest
from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.bodies.throws import ThrowRanges, drawn
from stiction.bodies.trajectory import Trajectory
from stiction.data.user_truth import throw_user_defined
from stiction.laws.coulomb import DART_SOFTNESS, CoulombCone, CoulombLaw
from stiction.laws.law import GRAVITY, Law, as_law
from stiction.laws.modelfile import load, load_law
from stiction.simulation.motion import shaped
from stiction.simulation.rollout import rollout

DART = ("dantzig", "nsgs")
COULOMB: dict[str, CoulombCone] = {"coulomb-box": "dart", "coulomb-round": "round"}
NAMED = (*DART, *COULOMB)
LAW = "law"
USER, EXTERNAL = "own", "elsewhere"  # names in the file format of ground truths that no file can hold
FRICTION = 0.5  # default coefficient of a named ground truth


class Truth(ABC):
    """A ground truth: it throws bodies, and has a description for the manifest of a data set.

    name: in the description
    friction: coefficients, if they are known
    """

    name: str = ""
    friction: tuple[float, ...] = ()

    @abstractmethod
    def throw(
        self,
        body: Body,
        state: State,
        steps: int,
        *,
        timestep: float = 0.002,
        gravity: ArrayLike = GRAVITY,
        finite: bool = True,
    ) -> Trajectory:
        """Throw `body` from one state or from each state of a batch.

        timestep: [s]
        gravity: [m/s^2], shape (3,)
        finite: refuse a motion that is not finite
        """

    def packages(self) -> tuple[str, ...]:
        """The distributions whose versions decide the bits of a throw."""
        return ("stiction", "numpy", "scipy")

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A plain description that JSON can hold."""


@dataclass(frozen=True)
class GroundTruth(Truth):
    """A ground truth that has a name.

    name: DART's solver, "dantzig" or "nsgs", the CoulombLaw "coulomb-box" or "coulomb-round", or "law"
    friction: coefficient, or (mu_x, mu_y) along the world axes, which only the Coulomb laws support
    softness: of the Coulomb laws, see CoulombLaw; DART has its own
    law: name or path of the law that is thrown where the name is "law", in whole steps, without cuts at impacts
    """

    name: str = "dantzig"
    friction: tuple[float, ...] = (FRICTION,)
    softness: float = DART_SOFTNESS
    law: str = ""

    def __post_init__(self) -> None:
        checks.choice("truth", self.name, (*NAMED, LAW))
        friction = checks.array("friction", self.friction, ()).reshape(-1)
        if friction.shape not in ((1,), (2,)) or (friction < 0).any():
            raise checks.InputError(
                f"friction must be one number or two (mu_x, mu_y), none negative, got {friction.tolist()!r:.80}."
            )
        if self.name in DART and len(friction) > 1:
            raise checks.InputError(
                f"DART knows one friction coefficient, got {friction.tolist()}: for two, take the truth "
                f"{' or '.join(COULOMB)}."
            )
        if (self.name == LAW) != bool(self.law):
            raise checks.InputError("A law is thrown with the truth 'law', and with no other.")
        object.__setattr__(self, "friction", tuple(friction.tolist()))
        object.__setattr__(self, "softness", checks.non_negative("softness", self.softness))

    def throw(self, body, state, steps, *, timestep=0.002, gravity=GRAVITY, finite=True) -> Trajectory:
        if self.name == LAW:
            law = load_law(self.law)
            return throw_law(law, body, state, steps, timestep=timestep, gravity=gravity, finite=finite)
        if self.name in DART:
            try:
                from stiction import dart  # DART may not be installed
            except ImportError as error:
                raise checks.InputError(needs("The ground truth dantzig or nsgs", "dartpy")) from error
            return dart.throw(
                body, state, steps, friction=self.friction[0], solver=self.name, timestep=timestep, gravity=gravity,
                finite=finite,
            )  # fmt: skip
        law = CoulombLaw(body, self.friction, cone=COULOMB[self.name], softness=self.softness)
        return rollout(law, state, steps, timestep=timestep, gravity=gravity, substeps=0, finite=finite)

    def packages(self) -> tuple[str, ...]:
        return super().packages() + (("dartpy",) if self.name in DART else ())

    def to_dict(self) -> dict[str, Any]:
        plain = {**asdict(self), "friction": list(self.friction)}
        return plain if self.law else {name: value for name, value in plain.items() if name != "law"}

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> "GroundTruth":
        """The ground truth that `to_dict` described."""
        names = {field.name for field in fields(cls)}
        if not isinstance(description, dict) or set(description) | {"law"} != names:
            raise checks.InputError(f"A ground truth must have the fields {', '.join(sorted(names))}.")
        return cls(**description)


def throw_law(law: Law, body: Body, state: State, steps: int, *, timestep, gravity, finite) -> Trajectory:
    """Throw the body of a law in whole steps onto a ground at z = 0, where the ground of data sets is."""
    if law.ground != 0.0:
        law = copy(law)  # the caller's law must not change
        law.ground = 0.0
    return rollout(law, state, steps, timestep=timestep, gravity=gravity, substeps=0, finite=finite)


@dataclass(frozen=True)
class ExternalTruth(Truth):
    """The unknown source of external contacts, which cannot throw.

    sha256: of the contacts
    """

    sha256: str
    name: str = field(default=EXTERNAL, init=False)

    def throw(self, body, state, steps, *, timestep=0.002, gravity=GRAVITY, finite=True) -> Trajectory:
        raise checks.InputError("These contacts are external: their ground truth is not available to throw again.")

    def to_dict(self) -> dict[str, Any]:
        return {"name": EXTERNAL, "sha256": self.sha256}


Thrower = Callable[..., Trajectory]  # (body, state, steps, *, timestep, gravity, finite) with a batch of states (n,)


@dataclass(frozen=True)
class UserTruth(Truth):
    """A user-defined object that throws; a data set stores only its name and a digest of a few throws.

    label: name of its class
    probe: SHA-256 of a few throws, by which different ground truths are distinguished
    thrower: None in a plan that was read from a file
    """

    label: str
    probe: str
    thrower: Thrower | None = field(default=None, compare=False, repr=False)
    name: str = field(default=USER, init=False)

    def throw(self, body, state, steps, *, timestep=0.002, gravity=GRAVITY, finite=True) -> Trajectory:
        if self.thrower is None:
            raise checks.InputError(
                f"The ground truth {self.label} was an object in Python, which no file holds: `stiction evaluate` asks "
                "it with --truth MODULE:OBJECT."
            )
        flat = state.reshape(int(np.prod(state.batch_shape)))
        run = self.thrower(body, flat, steps, timestep=timestep, gravity=gravity, finite=finite)
        return shaped(run, state.batch_shape)

    def to_dict(self) -> dict[str, Any]:
        return {"name": USER, "label": self.label, "probe": self.probe}


def probe(thrower: Thrower, body: Body, *, timestep: float, gravity: ArrayLike) -> str:
    """A digest of a few throws; a ground truth whose throws are not repeatable is refused."""
    soon_in_contact = ThrowRanges(height=(0.0, 0.02), vertical=(-2.0, -0.5))
    start = drawn(body, soon_in_contact, 0, range(8))
    runs = (thrower(body, start[:], 60, timestep=timestep, gravity=gravity, finite=False) for _ in range(2))
    first, second = (_digest(run) for run in runs)
    if first != second:
        raise checks.InputError(
            "The ground truth answers the same throws differently when asked again; data sets need one whose throws "
            "depend on their start alone: draw nothing in it, or from a seed made of the start."
        )
    return first


def _digest(run: Trajectory) -> str:
    parts = (run.position, run.quaternion, run.velocity, run.angular_velocity, run.impulse, run.mode, run.kind)
    return digest(b"".join(np.ascontiguousarray(part).tobytes() for part in parts))


def thrower_of(given: Any, body: Body, timestep: float) -> Thrower:
    """A function that throws `body` with a Law of it, a material put on it, or an object with a method `throw`."""
    if isinstance(given, type):
        raise checks.InputError(f"A ground truth is an object, got the class {given.__name__}: make one of it.")
    is_law = isinstance(given, Law)
    if not is_law and callable(getattr(given, "throw", None)):
        return partial(throw_user_defined, given)
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
    return partial(throw_law, law)


def truth_from_dict(description: Any) -> Truth:
    """The ground truth that `to_dict` described; a user-defined one comes back without its thrower."""
    name = description.get("name") if isinstance(description, dict) else None
    unnamed: dict[Any, type[UserTruth] | type[ExternalTruth]] = {USER: UserTruth, EXTERNAL: ExternalTruth}
    if name not in unnamed:
        return GroundTruth.from_dict(description)
    parts = {key: value for key, value in description.items() if key != "name"}
    if not all(isinstance(value, str) for value in parts.values()):
        raise checks.InputError(f"The ground truth {name!r} of a data set must be described by words.")
    try:
        found = unnamed[name](**parts)
    except TypeError as error:
        raise checks.InputError(f"The ground truth {name!r} of a data set cannot be read: {error}.") from error
    if found.to_dict() != description:
        raise checks.InputError(f"The ground truth {name!r} of a data set has unknown fields.")
    return found


def to_truth(
    given: Any,
    body: Body,
    *,
    friction: ArrayLike | None = None,
    usual_friction: float = FRICTION,
    timestep: float,
    gravity: ArrayLike,
) -> Truth:
    """The ground truth that a user means.

    given: a name, MODULE:OBJECT, the name or path of a law, a Law, a material, or an object with a method throw
    friction: coefficient of a named one; None: `usual_friction`
    """
    if isinstance(given, Truth):
        return given
    if isinstance(given, str) and given in NAMED:
        return GroundTruth(given, (usual_friction,) if friction is None else friction)  # type: ignore[arg-type]
    if friction is not None:
        raise checks.InputError(f"friction is for the ground truths {', '.join(NAMED)}; this one has its own.")
    given = resolved(given)
    thrower = thrower_of(given, body, timestep)
    label = getattr(given, "__name__", type(given).__qualname__)
    return UserTruth(label, probe(thrower, body, timestep=timestep, gravity=gravity), thrower)


def resolved(given: Any) -> Any:
    """The object behind MODULE:OBJECT or a law's name or file; names of ground truths and objects stay."""
    if not isinstance(given, str | Path) or given in NAMED:
        return given
    if isinstance(given, str) and ":" in given:
        return imported(given)
    try:
        return load(given)
    except checks.InputError as error:
        raise checks.InputError(
            f"truth must be one of {', '.join(NAMED)}, MODULE:OBJECT, or a law's name or file: {error}"
        ) from error


def gravity_of(given: Any) -> tuple[float, float, float]:
    """Gravity of a ground truth [m/s^2]: that of a law, else the default."""
    return given.gravity if isinstance(given, Law) else GRAVITY


def imported(text: str) -> Any:
    """The object named MODULE:OBJECT, of a module in the current folder or an installed one.

    A class, or a function without arguments, is called to make the object.
    """
    name, _, path = text.partition(":")
    if not name or not path:
        raise checks.InputError(f"A user-defined ground truth is named MODULE:OBJECT, got {text!r}.")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(f"{missing}."):
            raise checks.InputError(f"There is no module {name}, neither in {os.getcwd()} nor installed.") from error
        raise checks.InputError(f"The module {name} needs {missing}, which is not installed.") from error
    for part in path.split("."):
        if not hasattr(found, part):
            names = ", ".join(known for known in dir(found) if not known.startswith("_"))
            raise checks.InputError(f"{name} has no {path}; it has {names:.300}.")
        found = getattr(found, part)
    throws = any(hasattr(found, method) for method in ("throw", "on", "classify", "respond"))
    if not callable(found) or (throws and not isinstance(found, type)):
        return found
    try:
        signature(found).bind()
    except TypeError as error:
        raise checks.InputError(
            f"{text} must be an object that throws, or make one without arguments: {error}."
        ) from error
    return found()
