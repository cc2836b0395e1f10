"""What the cases share: how much is measured, the simulators that are installed, and the throws."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.laws.law import GRAVITY
from stiction.laws.learned import LearnedLaw
from stiction.simulation.motion import Motion, Setting, to_motion
from stiction_studies.speed.measured import Measured

STEPPED, ROLLED = "stiction, a call a step", "stiction, one call"
MUJOCO, MUJOCO_ROLLED, DART, BULLET = "MuJoCo, mj_step", "MuJoCo, rollout", "DART", "Bullet"
TIMESTEP = 0.002  # of all worlds [s]
_STAGES = {MUJOCO: "mujoco_stage", DART: "dart_stage", BULLET: "bullet_stage"}

Begin = Callable[[str, int], Callable[[], object]]  # (what, turns) -> function that counts a turn


@dataclass(frozen=True)
class Scale:
    """How much is measured.

    repeats: turns of each contestant, of which the least times count; rounds: those of long pieces of work
    throws: of a single body; batch: of many at once; steps: of a throw
    points: numbers of contact points; limit: time for one contestant on one number of them [s]
    swings: of the chain; swing_steps: of a swing
    bodies: numbers of bodies whose memory is measured
    """

    repeats: int
    rounds: int
    throws: int
    batch: int
    limit: float
    swings: int
    bodies: tuple[int, ...]
    steps: int = 800
    swing_steps: int = 1000
    points: tuple[int, ...] = (4, 16, 64, 256, 1024)


SCALES = {
    "quick": Scale(repeats=8, rounds=5, throws=8, batch=512, limit=0.5, swings=1, bodies=(1, 1000)),
    "usual": Scale(repeats=12, rounds=7, throws=24, batch=1024, limit=4.0, swings=4, bodies=(1, 1000)),
    "full": Scale(repeats=25, rounds=9, throws=64, batch=1024, limit=30.0, swings=10, bodies=(1, 1000, 100_000)),
}
Case = Callable[[Scale, int, Begin], Measured]


def setting() -> Setting:
    """Of all worlds of the bench."""
    return Setting(TIMESTEP, np.array(GRAVITY))


def friction_of(law: LearnedLaw) -> float:
    """The friction coefficient of the throws that a law was learned from: what its peers are given, too."""
    return float(law.info["plan"]["truth"]["friction"][0])


def installed() -> tuple[dict[str, Any], list[str]]:
    """The modules of the simulators that are installed, by contestant, and a sentence for each that is not."""
    found, missing = {}, []
    for name, module in _STAGES.items():
        try:
            found[name] = import_module(f"stiction_studies.engines.{module}")
        except ImportError:
            missing.append(f"{name.partition(',')[0]} is not installed and was left out.")
    return found, missing


def throws(body: Body, count: int, seed: int) -> State:
    """Random throws (count,), drawn as those that laws are learned from."""
    return State.random(body, count, seed=seed)


def motion(body: Body, states: State) -> Motion:
    """The states at the centre of mass, for the engines."""
    return to_motion(body, states)


def microseconds(times, chosen=None) -> float | None:
    """Mean of times [s] in microseconds, of those `chosen` only; None where there are none."""
    some = times if chosen is None else times[chosen]
    return 1e6 * float(np.mean(some)) if len(some) else None


def without_none(figures: dict[str, float | None]) -> dict[str, float]:
    """The quantities that were measured."""
    return {name: value for name, value in figures.items() if value is not None}
