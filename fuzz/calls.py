"""Calls of the public interface with invalid arguments, and uses of the results that are accepted."""

import contextlib
import functools
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import stiction
from fuzz.counts import Counts
from fuzz.damage import odd_array, odd_value
from stiction import AugmentedLaw, Body, CoulombLaw, Material, State, Stepper, Trajectory, load, rollout

_STEPS = 20
_MOST = 10**6  # of what takes time or memory for each, where it is a sensible number
Arguments = dict[str, Any]


@functools.cache
def _law(name: str) -> Any:
    return CoulombLaw(_body()) if name == "coulomb" else load(name)


@functools.cache
def _body() -> Body:
    return Body.box((0.2, 0.3, 0.4), 1.0)


def _state() -> State:
    return State([0.0, 0.0, 0.6], velocity=[1.0, 0.0, -1.0])


def _rolled(**how: Any) -> None:
    run = rollout(**how)
    if not all(np.isfinite(part).all() for part in (run.position, run.quaternion, run.velocity)):
        raise AssertionError("a motion is not finite")


def _stepped(state: Any, other: Any, **how: Any) -> None:
    stepper = Stepper(state=state, **how)
    stepper.step()
    stepper.state = other
    stepper.step()
    if not np.isfinite(stepper.state.position).all():
        raise AssertionError("a motion is not finite")


def _thrown(body: Body) -> None:
    """A body that was accepted moves."""
    start = State([0.0, 0.0, float(np.abs(body.vertices).max()) * 2 + body.rounding])
    _rolled(law=CoulombLaw(body), state=start, steps=_STEPS)


def _asked(material: Material) -> None:
    _rolled(law=material.on(_body()), state=_state(), steps=_STEPS)


def _kept(**how: Any) -> None:
    run = rollout(_law("coulomb"), _state(), 5)
    run.save(how["path"])


def _drawn(**how: Any) -> None:
    if isinstance(how["number"], int) and how["number"] > 1000:
        how["number"] = min(how["number"], 10**400) if how["number"] > 10**7 else 1000
    states = State.random(**how)
    if not np.isfinite(states.position).all():
        raise AssertionError("a state is not finite")


def _asked_friction(**how: Any) -> None:
    if (_law("stribeck").friction(**how) < 0).any():
        raise AssertionError("friction below zero")


# Functions with valid arguments, of which one or two are replaced.
CALLS: dict[str, tuple[Callable[..., Any], Arguments]] = {
    "rollout": (_rolled, {"law": "coulomb", "state": _state, "steps": _STEPS, "timestep": 0.002,
        "gravity": (0, 0, -9.81),
                          "substeps": 0, "every": 1, "threads": 1}),
    "rollout of cube": (_rolled, {"law": "cube", "state": _state, "steps": _STEPS, "samples": 2, "seed": 0}),
    "rollout of box": (_rolled, {"law": "box", "state": _state, "steps": _STEPS, "timestep": 0.002, "progress": False}),
    "Stepper": (_stepped, {"law": "coulomb", "state": _state, "other": _state, "timestep": 0.002,
        "gravity": (0, 0, -9.81),
                           "substeps": 0}),
    "State": (lambda **how: _rolled(law=_law("coulomb"), state=State(**how), steps=_STEPS),
              {"position": (0, 0, 1.0), "quaternion": (1, 0, 0, 0), "velocity": (0, 0, 0),
              "angular_velocity": (0, 0, 0)}),
    "State.from_euler": (State.from_euler, {"position": (0, 0, 1), "angles": (1, 2, 3), "degrees": True,
                                            "velocity": (0, 0, 0), "angular_velocity": (0, 0, 0)}),
    "State.random": (_drawn, {"body": _body, "number": 3, "seed": 0, "ranges": {"height": (0.1, 0.2)}}),
    "State.raised": (lambda height: _state().raised(height), {"height": 1.0}),
    "State.reshape": (lambda a, b: State(np.zeros((6, 3))).reshape(a, b), {"a": 2, "b": 3}),
    "Body.box": (lambda **how: _thrown(Body.box(**how)), {"size": (0.2, 0.3, 0.4), "mass": 1.0, "com": (0, 0, 0),
                                                          "inertia": np.eye(3), "rounding": 0.0}),
    "Body.prism": (lambda **how: _thrown(Body.prism(**how)), {"sides": 5, "radius": 0.1, "height": 0.2, "mass": 1.0,
                                                              "com": (0, 0, 0), "inertia": np.eye(3)}),
    "Body.rectangle": (lambda **how: _thrown(Body.rectangle(**how)), {"size": (0.2, 0.3), "mass": 1.0,
        "com": (0, 0, 0)}),
    "Body.hull_of": (lambda **how: _thrown(Body.hull_of(**how)),
                     {"points": np.random.default_rng(0).normal(size=(12, 3)), "mass": 1.0, "rounding": 0.0}),
    "Body.mesh": (Body.mesh, {"path": "nothing.stl", "mass": 1.0, "scale": 1.0}),
    "Body.reshaped": (lambda **how: _thrown(_body().reshaped(**how)), {"scale": 1.1, "rounding": 0.01, "com": (0, 0, 0),
                                                                       "inertia": np.eye(3)}),
    "Body.from_dict": (lambda **how: _thrown(Body.from_dict(how)), _body().to_dict()),
    "CoulombLaw": (lambda **how: _rolled(law=CoulombLaw(**how), state=_state(), steps=_STEPS),
                   {"body": _body, "friction": 0.5, "cone": "dart", "softness": 1e-5, "timestep": 0.002}),
    "AugmentedLaw.untrained": (lambda **how: _rolled(law=AugmentedLaw.untrained(**how), state=_state(), steps=_STEPS),
                               {"body": _body, "seed": 0}),
    "load": (load, {"name": "box"}),
    "Material.coulomb": (lambda **how: _asked(Material.coulomb(**how)), {"friction": 0.5, "cone": "round"}),
    "Material.anisotropic": (lambda **how: _asked(Material.anisotropic(**how)), {"friction": (0.5, 0.7),
        "cone": "round"}),
    "material.on": (lambda **how: _law("stribeck").on(**how), {"body": _body, "timestep": 0.002}),
    "material.friction": (_asked_friction, {"direction": 0.0, "speed": 1.0, "load": 1.0}),
    "law.save": (lambda path: _law("dart").save(path), {"path": "/proc/no/a.safetensors"}),
    "Trajectory.save": (_kept, {"path": "a.npz"}),
    "Trajectory.load": (Trajectory.load, {"path": "a.npz"}),
    "collect": (stiction.collect, {"body": _body, "truth": "coulomb-box", "throws": 2, "steps": 5, "seed": 0,
        "friction": 0.5,
                                   "timestep": 0.002, "gravity": (0, 0, -9.81), "requeries": 1, "in_plane": 0.0,
                                   "keep_static_surface": 0.2, "shard_throws": 2, "workers": 1, "executor": "local",
                                   "ranges": {"height": (0.1, 0.2)}, "progress": False}),
    "instances": (stiction.instances, {"body": _body, "position": np.zeros((2, 3)), "quaternion": [[1, 0, 0, 0]] * 2,
                                       "twist": np.zeros((2, 6)), "impulse": np.zeros((2, 6)), "mode": [1, 2],
                                       "throw": [0, 1], "timestep": 0.002, "gravity": (0, 0, -9.81)}),
    "DataSet": (stiction.DataSet, {"folder": "nothing"}),
    "train": (stiction.train, {"data": "nothing", "seed": 0, "law": "augmented", "hidden": (8,), "steps": 10,
        "floor": 1e-3,
                               "approximator": "network", "most": 100, "progress": False}),
    "train_material": (stiction.train_material, {"data": "nothing", "through": "auto", "seed": 0, "held_out": 0.1}),
    "identify": (stiction.identify, {"recordings": "nothing", "body": _body, "tosses": 2, "seed": 0,
        "progress": False}),
    "evaluate": (stiction.evaluate, {"law": "no law", "contacts": 10, "seed": 0}),
    "recordings.read": (stiction.recordings.read, {"path": "nothing.csv", "body": _body, "how": None}),
    "recordings.load": (stiction.recordings.load, {"folder": "nothing"}),
}  # fmt: skip
# Large valid numbers of these would only take long.
_LONG = ("steps", "throws", "substeps", "samples", "requeries", "shard_throws", "sides")


def case(rng: np.random.Generator, counts: Counts) -> None:
    """Call a function with one or two odd arguments."""
    name = list(CALLS)[rng.integers(len(CALLS))]
    call, right = CALLS[name]
    given = {key: value() if callable(value) else value for key, value in right.items()}
    if isinstance(given.get("law"), str) and given["law"] in ("coulomb", "cube", "box"):
        given["law"] = _law(given["law"])
    odd = rng.choice(list(given), rng.integers(1, 3)) if given else []
    for key in map(str, odd):
        value = _odd(rng, right[key])
        if key in _LONG and isinstance(value, int | np.integer) and 100 < value < 2**31:
            value = 100
        given[key] = value
    counts.trying(f"{name}({', '.join(f'{key}={_short(given[key])}' for key in map(str, odd))})")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # an unchecked overflow
        warnings.simplefilter("ignore", UserWarning)
        call(**given)


def _odd(rng: np.random.Generator, right: Any) -> Any:
    """A replacement of a valid argument: something different, or something close to it."""
    if rng.uniform() < 0.5 or isinstance(right, str) or not isinstance(right, float | int | tuple | list | np.ndarray):
        return odd_value(rng)
    if isinstance(right, bool | int):
        return int(rng.choice([-1, 0, 1, 2, 7, 64, 2**31, 2**62]))
    if isinstance(right, float):
        return right * 10.0 ** rng.uniform(-20, 20) * rng.choice([1, 1, 1, -1])
    return odd_array(rng, np.asarray(right, dtype=np.float64))[0]


def _short(value: Any) -> str:
    try:
        return f"{type(value).__name__} {value!r:.60}"
    except ValueError:  # an integer of too many digits to be printed
        return f"a {type(value).__name__}"
