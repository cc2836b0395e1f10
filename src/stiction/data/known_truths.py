"""All ground truths: from their descriptions, and from what a person gives."""

import os
import sys
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.data.ground_truth import COULOMB, DART, ELSEWHERE, OWN, Elsewhere, GroundTruth, Truth
from stiction.data.user_truth import OwnTruth
from stiction.laws.law import GRAVITY, Law
from stiction.laws.modelfile import load

FRICTION = 0.5  # of a named ground truth, if nothing else is said
_NAMED = (*DART, *COULOMB)


def truth_from_dict(description: Any) -> Truth:
    """The ground truth that `to_dict` described; of an object that threw, only what it was."""
    name = description.get("name") if isinstance(description, dict) else None
    other: dict[Any, type[OwnTruth] | type[Elsewhere]] = {OWN: OwnTruth, ELSEWHERE: Elsewhere}
    if name not in other:
        return GroundTruth.from_dict(description)
    parts = {key: value for key, value in description.items() if key != "name"}
    if not all(isinstance(value, str) for value in parts.values()):
        raise checks.InputError(f"The ground truth {name!r} of a data set must be described by words.")
    try:
        found = other[name](**parts)
    except TypeError as error:
        raise checks.InputError(f"The ground truth {name!r} of a data set cannot be read: {error}.") from error
    if found.to_dict() != description:
        raise checks.InputError(f"The ground truth {name!r} of a data set has fields that it cannot have.")
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
    """The ground truth that a person means.

    given: a name, MODULE:OBJECT, the name or path of a law, a Law, a material, or an object with a method throw
    friction: coefficient of a named one; None: `usual_friction`
    """
    if isinstance(given, Truth):
        return given
    if isinstance(given, str) and given in _NAMED:
        return GroundTruth(given, (usual_friction,) if friction is None else friction)  # type: ignore[arg-type]
    if friction is not None:
        raise checks.InputError(f"friction is for the ground truths {', '.join(_NAMED)}; this one has its own.")
    return OwnTruth.of(resolved(given), body, timestep=timestep, gravity=gravity)


def resolved(given: Any) -> Any:
    """What MODULE:OBJECT or a law's name or file stands for; names of ground truths and all else stay as they are."""
    if not isinstance(given, str | Path) or given in _NAMED:
        return given
    return imported(given) if isinstance(given, str) and ":" in given else _law(given)


def timestep_of(given: Any) -> float:
    """The step of the world that a truth belongs to [s], if it says so."""
    return given.timestep if isinstance(given, Law) else 0.002


def gravity_of(given: Any) -> tuple[float, float, float]:
    """Gravity of the world that a ground truth belongs to [m/s^2]: a law says it."""
    return given.gravity if isinstance(given, Law) else GRAVITY


def imported(text: str) -> Any:
    """The object that MODULE:OBJECT names, in a module of the current folder or an installed one.

    A class, or a function without arguments, is called: it makes the object.
    """
    name, _, path = text.partition(":")
    if not name or not path:
        raise checks.InputError(f"A ground truth of your own is named MODULE:OBJECT, got {text!r}.")
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
    return _made(text, found)


def _made(text: str, found: Any) -> Any:
    throws = any(hasattr(found, name) for name in ("throw", "on", "classify", "respond"))
    if not callable(found) or (throws and not isinstance(found, type)):
        return found
    try:
        signature(found).bind()
    except TypeError as error:
        raise checks.InputError(
            f"{text} must be an object that throws, or make one without arguments: {error}."
        ) from error
    return found()


def _law(name: str | Path) -> Any:
    try:
        return load(name)
    except checks.InputError as error:
        raise checks.InputError(
            f"truth must be one of {', '.join(_NAMED)}, MODULE:OBJECT, or a law's name or file: {error}"
        ) from error
