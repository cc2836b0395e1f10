"""A quadruped with flat feet and a plain gait for it: feet follow fixed paths, joints by inverse kinematics."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.mujoco import mjcf

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
    return (Path(__file__).parent / "quadruped.xml").read_text()


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


# What the robots of the study `robots` are told to do: random controls, the same for the same seed.


mujoco = mjcf.mujoco
INTERVAL = 0.2  # [s] between two random targets; the way from one to the next is straight
STIFFNESS = 500.0  # [N m/rad] of a servo, at most
_BORNE = 0.05  # share of inertia / timestep^2, where an explicit servo would begin to swing by itself at 4
Drive = Callable[[int], None]  # sets the controls of that step


def random_motors(model: Any, data: Any, seed: int) -> Drive:
    """Controls that wander through their whole range, from rest."""
    low, high = model.actuator_ctrlrange.T
    wander = _Wander(low, high, np.clip(0.0, low, high), model.opt.timestep, seed)

    def drive(step: int) -> None:
        data.ctrl[:] = wander(step)

    return drive


def random_servos(model: Any, data: Any, seed: int, sway: float) -> Drive:
    """Torques of servos at all actuated joints, whose targets wander about the pose that `data` has now.

    They are as stiff as the joint's inertia bears at this time step, at most STIFFNESS, and nearly critically damped.
    sway: how far the targets leave that pose at most [rad]
    """
    joints = model.actuator_trnid[:, 0]
    place, dof = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
    inertia = _inertia(model, data)[dof]
    stiffness = np.minimum(STIFFNESS, _BORNE * inertia / model.opt.timestep**2)
    damping = 1.6 * np.sqrt(stiffness * inertia)
    stance, (low, high) = data.qpos[place].copy(), model.actuator_ctrlrange.T
    wander = _Wander(stance - sway, stance + sway, stance, model.opt.timestep, seed)

    def drive(step: int) -> None:
        torque = stiffness * (wander(step) - data.qpos[place]) - damping * data.qvel[dof]
        data.ctrl[:] = np.clip(torque, low, high)

    return drive


def _inertia(model: Any, data: Any) -> NDArray[np.float64]:
    """What each joint feels of the whole robot's inertia while all others are free, shape (nv,)."""
    mujoco.mj_forward(model, data)
    response = np.zeros((model.nv, model.nv))
    mujoco.mj_solveM(model, data, response, np.eye(model.nv))
    return 1 / np.diag(response)


class _Wander:
    """A path through random targets between `low` and `high`, from `first`."""

    def __init__(self, low: NDArray, high: NDArray, first: NDArray, timestep: float, seed: int) -> None:
        self._low, self._high = low, high
        self._every = max(1, round(INTERVAL / timestep))
        self._rng = np.random.default_rng([seed, 17])
        self._from, self._to = first, self._draw()

    def _draw(self) -> NDArray[np.float64]:
        return self._rng.uniform(self._low, self._high)

    def __call__(self, step: int) -> NDArray[np.float64]:
        """Where it is at that step; steps come in their order."""
        share = step % self._every / self._every
        if step and share == 0.0:
            self._from, self._to = self._to, self._draw()
        return self._from + share * (self._to - self._from)
