"""A quadruped with flat feet and a plain gait for it: feet follow fixed paths, joints by inverse kinematics."""

from dataclasses import dataclass
from pathlib import Path

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

    period: of a stride [s]; stride: how far a foot moves back while it stands [m]; lift: how high it is lifted [m]
    duty: share of the period that a foot stands
    """

    period: float = 0.6
    stride: float = 0.08
    lift: float = 0.04
    duty: float = 0.6


def model_text() -> str:
    """The robot's MJCF."""
    return (Path(__file__).parent / "robot.xml").read_text()


def targets(time: float, gait: Gait, strength: float) -> NDArray[np.float64]:
    """Angles (12,) [rad] of hip, knee and ankle of each leg; `strength` from 0, standing, to 1, the full gait."""
    angles = []
    for leg in LEGS:
        forward, up = _foot_path((time / gait.period + _PHASE[leg]) % 1.0, gait)
        angles += _leg_angles(strength * forward, strength * up - STANCE)
    return np.array(angles)


def _foot_path(phase: float, gait: Gait) -> tuple[float, float]:
    """Where a foot is in its stride: forward of the hip, and above the ground [m]."""
    if phase < gait.duty:  # on the ground, moving back
        return gait.stride * (0.5 - phase / gait.duty), 0.0
    swing = (phase - gait.duty) / (1 - gait.duty)
    smooth = swing - np.sin(2 * np.pi * swing) / (2 * np.pi)  # leaves and lands without sliding
    return gait.stride * (smooth - 0.5), gait.lift * np.sin(np.pi * swing) ** 2


def _leg_angles(x: float, z: float) -> list[float]:
    """Hip, knee and ankle for an ankle at (x, z) from the hip, the foot level."""
    bend = np.arccos(min(1.0, np.hypot(x, z) / (2 * THIGH)))
    lean = np.arctan2(-x, -z)
    return [lean + bend, -2 * bend, bend - lean]


def strength_at(time: float, stand: float, walk: float) -> float:
    """How strongly to walk: stand, walk and stand again, with a second to change over."""
    return float(np.clip(min(time - stand, stand + walk - time), 0.0, 1.0))
