"""A quadruped with flat feet and its trot: feet follow fixed paths, joints by inverse kinematics; random controls."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEGS = ("front_left", "front_right", "rear_left", "rear_right")
FEET = tuple(f"{leg}_foot" for leg in LEGS)
THIGH = 0.2  # length of thigh and of shank [m]
STANCE = 0.35  # height of the hips above the ankles [m]
_PHASE = {"front_left": 0.0, "rear_right": 0.0, "front_right": 0.5, "rear_left": 0.5}  # of a trot: diagonal pairs


@dataclass(frozen=True)
class Gait:
    """A trot.

    period: of a stride [s]; stride: backward travel of a foot in stance [m]; lift: height of its swing [m]
    duty: share of the period in stance
    """

    period: float = 0.6
    stride: float = 0.08
    lift: float = 0.04
    duty: float = 0.6


def model_text() -> str:
    """The robot's MJCF."""
    return (Path(__file__).parent / "quadruped.xml").read_text()


def targets(time: float, gait: Gait, strength: float) -> NDArray[np.float64]:
    """Angles (12,) [rad] of hip, knee and ankle of each leg; `strength` from 0, standing, to 1, the full gait."""
    angles = []
    for leg in LEGS:
        forward, up = _foot_path((time / gait.period + _PHASE[leg]) % 1.0, gait)
        angles += _leg_angles(strength * forward, strength * up - STANCE)
    return np.array(angles)


def _foot_path(phase: float, gait: Gait) -> tuple[float, float]:
    """Position of a foot at a phase of its stride: forward of the hip, and above the ground [m]."""
    if phase < gait.duty:  # on the ground, moving back
        return gait.stride * (0.5 - phase / gait.duty), 0.0
    swing = (phase - gait.duty) / (1 - gait.duty)
    smooth = swing - np.sin(2 * np.pi * swing) / (2 * np.pi)  # zero velocity at lift-off and touch-down
    return gait.stride * (smooth - 0.5), gait.lift * np.sin(np.pi * swing) ** 2


def _leg_angles(x: float, z: float) -> list[float]:
    """Hip, knee and ankle for an ankle at (x, z) from the hip, the foot level."""
    bend = np.arccos(min(1.0, np.hypot(x, z) / (2 * THIGH)))
    lean = np.arctan2(-x, -z)
    return [lean + bend, -2 * bend, bend - lean]


def strength_at(time: float, stand: float, walk: float) -> float:
    """Strength of the gait: stand, walk and stand again, with transitions of one second."""
    return float(np.clip(min(time - stand, stand + walk - time), 0.0, 1.0))


Drive = Callable[[int], None]  # sets the controls of a step


def random_motors(model: Any, data: Any, seed: int) -> Drive:
    """Controls that wander at random through their whole range, starting near zero."""
    low, high = model.actuator_ctrlrange.T
    path = RandomPath(low, high, np.clip(0.0, low, high), model.opt.timestep, seed)

    def drive(step: int) -> None:
        data.ctrl[:] = path(step)

    return drive


class RandomPath:
    """A piecewise linear path through random targets between `low` and `high`, one every 0.2 s, from `first`."""

    def __init__(self, low: NDArray, high: NDArray, first: NDArray, timestep: float, seed: int) -> None:
        self._low, self._high = low, high
        self._every = max(1, round(0.2 / timestep))
        self._rng = np.random.default_rng([seed, 17])
        self._from, self._to = first, self._rng.uniform(low, high)

    def __call__(self, step: int) -> NDArray[np.float64]:
        """The point of this step; steps must come in order."""
        share = step % self._every / self._every
        if step and share == 0.0:
            self._from, self._to = self._to, self._rng.uniform(self._low, self._high)
        return self._from + share * (self._to - self._from)
