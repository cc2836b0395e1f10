"""Scenes that must move as mechanics says: a box that slides, a sphere and a cylinder that roll."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction_studies.engines.scene import G, Part, Scene
from stiction_studies.robots.held import ROUGH, SLOPE, slope

JUST_SLIDES, SLIDES = 0.577, 0.5  # coefficients of friction on SLOPE
_SETTLING, _SLIDING = 1.0, 4.0  # [s]
_ROLLING = 5.0  # [s]
_SPEED, _RADIUS = 1.0, 0.05  # of what rolls [m/s], [m]
_ROLL_SLOPE = 10.0  # [degrees]
_SHORT = 0.1  # [s] over which a speed is measured


@dataclass(frozen=True)
class Move:
    """A scene whose first part must move in a known way.

    seconds: how long it is watched
    error: of its motion, from its way (frames,) along the ground [m] and the time between two frames [s]: relative
    """

    name: str
    scene: Scene
    seconds: float
    error: Callable[[NDArray[np.float64], float], float]

    def way(self, poses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Distance of the first part along the ground [m], (frames,)."""
        return poses[:, 0, :3] @ self.scene.downhill


def moves() -> list[Move]:
    """All scenes, in the order of the tables."""
    slides = [_slide(friction) for friction in (JUST_SLIDES, SLIDES)]
    return [*slides, _sphere(), _cylinder()]


def acceleration(way: NDArray[np.float64], frame: float) -> float:
    """Of an even motion, from its begin, middle and end [m/s^2]."""
    half = (len(way) - 1) // 2
    return float((way[2 * half] - 2 * way[half] + way[0]) / (half * frame) ** 2)


def _slide(friction: float) -> Move:
    a = np.radians(SLOPE)
    wanted = G * (np.sin(a) - friction * np.cos(a))

    def error(way: NDArray[np.float64], frame: float) -> float:
        return acceleration(way[round(_SETTLING / frame) :], frame) / wanted - 1

    return Move(f"slides, friction {friction:g}", slope(friction).scene, _SETTLING + _SLIDING, error)


def _sphere() -> Move:
    """A sphere that rolls over level ground must not slow down."""
    ball = Part("ball", "sphere", (_RADIUS,), 1.0, (0.0, 0.0, _RADIUS), velocity=(_SPEED, 0.0, 0.0),
                spin=(0.0, _SPEED / _RADIUS, 0.0))  # fmt: skip

    def error(way: NDArray[np.float64], frame: float) -> float:
        last = round(_SHORT / frame)
        return float((way[-1] - way[-1 - last]) / (last * frame * _SPEED)) - 1

    return Move("sphere rolls", Scene((ball,), ROUGH), _ROLLING, error)


def _cylinder() -> Move:
    """A cylinder that rolls down a slope from rest gains speed at 2/3 g sin(a)."""
    empty = Scene((), ROUGH, slope=_ROLL_SLOPE)
    x, y, z = (_RADIUS * empty.up).tolist()
    roller = Part("roller", "cylinder", (_RADIUS, 0.2), 1.0, (x, y, z), (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0))
    wanted = 2 / 3 * G * np.sin(np.radians(_ROLL_SLOPE))

    def error(way: NDArray[np.float64], frame: float) -> float:
        return acceleration(way, frame) / wanted - 1

    return Move("cylinder rolls down", Scene((roller,), ROUGH, slope=_ROLL_SLOPE), 2.0, error)
