"""Scenes in which nothing may move (grasps, a stack, boxes on a slope), and scenes with a known motion."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction_studies.engines.scene_parts import G, Part, Scene

GRIP, ROUGH = 0.7, 0.6  # coefficients of friction of the fingers, and of all boxes on a ground
SLOPE = 30.0  # [degrees]; its tangent is 0.57735
_HEIGHT = 0.2  # of a grasped body above the ground [m]
_FINGER = (0.01, 0.04, 0.09)  # edges [m]


@dataclass(frozen=True)
class Hold:
    """A scene in which nothing may move.

    name: in tables
    holders: number of a part -> numbers of the parts that hold it; none: the ground
    lost: a part that has moved farther than this has been dropped [m]
    normal: of the contacts, (3,)
    """

    name: str
    scene: Scene
    holders: dict[int, tuple[int, ...]]
    lost: float
    normal: tuple[float, float, float]


def creep(hold: Hold, poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far the centre of any part has slipped along its holders since the first pose [m], (frames,)."""
    moved, normal = _moved(hold, poses), np.array(hold.normal)
    slipped = moved - (moved @ normal)[..., np.newaxis] * normal
    return np.linalg.norm(slipped, axis=-1).max(axis=1)


def motion(hold: Hold, poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same in any direction, the normal included [m], (frames,)."""
    return np.linalg.norm(_moved(hold, poses), axis=-1).max(axis=1)


def _moved(hold: Hold, poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far each part has moved relative to the mean of its holders [m], (frames, parts, 3)."""
    place = [
        poses[:, part, :3] - (poses[:, list(holders), :3].mean(axis=1) if holders else 0.0)
        for part, holders in hold.holders.items()
    ]
    moved = np.stack(place, axis=1)
    return moved - moved[0]


def turn(hold: Hold, poses: NDArray[np.float64]) -> float:
    """Return the greatest angle by which any part has turned since the first pose [rad]."""
    angles = []
    for part in hold.holders:
        turned = Rotation.from_quat(poses[:, part, 3:], scalar_first=True)
        angles.append((turned * turned[0].inv()).magnitude().max())
    return float(np.max(angles))


def holds() -> list[Hold]:
    """Return all scenes in which nothing may move, in the order of the tables."""
    grasps = [grasp(what, factor) for what in ("capsule", "cube") for factor in (2, 20, 95)]
    return [*grasps, stack(), slope(), two_on_a_slope()]


def grasp(what: str, factor: float) -> Hold:
    """Return a capsule or a cube between two fingers on slides, pressed with `factor` times the least force that holds.

    The capsule is horizontal, as thick and heavy as one that users of MuJoCo have reported to creep through a gripper.
    """
    middle = (0.0, 0.0, _HEIGHT)
    if what == "cube":
        held, half = Part("held", "box", (0.04, 0.04, 0.04), 0.1, middle), 0.02
    else:
        level = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)  # its axis along y
        held, half = Part("held", "capsule", (0.004, 0.06), 0.045, middle, level), 0.004
    force = factor * held.mass * G / (2 * GRIP)
    fingers = [_finger(name, side, half, force) for name, side in (("left", -1.0), ("right", 1.0))]
    name, scene = f"{what} {factor:g}x", Scene((held, *fingers), GRIP)
    return Hold(name, scene, {0: (1, 2)}, lost=_FINGER[2] / 2, normal=(1.0, 0.0, 0.0))


def _finger(name: str, side: float, half: float, force: float) -> Part:
    place = (side * (half + _FINGER[0] / 2), 0.0, _HEIGHT + 0.02)
    return Part(name, "box", _FINGER, 0.1, place, slide=(-side, 0.0, 0.0), force=force)


def stack(count: int = 10, edge: float = 0.1) -> Hold:
    """Return cubes one on the other, each about a millimetre off the one below."""
    boxes = []
    for k in range(count):
        aside = (0.001 * (-1) ** k, 0.001 * (-1) ** (k // 2))
        boxes.append(Part(f"box{k + 1}", "box", (edge,) * 3, 1.0, (*aside, edge * (k + 0.5))))
    holders: dict[int, tuple[int, ...]] = {k: (k - 1,) if k else () for k in range(count)}
    return Hold(f"stack of {count}", Scene(tuple(boxes), ROUGH), holders, lost=edge / 2, normal=(0.0, 0.0, 1.0))


def slope(friction: float = 0.5774) -> Hold:
    """Return a flat box on a slope, by default with hardly more friction than it needs."""
    bare = Scene((), friction, slope=SLOPE)
    scene = replace(bare, parts=(_resting(bare, "box", 0.2, 1.0, 0.0),))
    return Hold(f"slope, friction {friction:g}", scene, {0: ()}, lost=1.0, normal=_normal(scene))


def two_on_a_slope() -> Hold:
    """Return a box on a box on a slope."""
    bare = Scene((), ROUGH, slope=SLOPE)
    scene = replace(bare, parts=(_resting(bare, "lower", 0.2, 1.0, 0.0), _resting(bare, "upper", 0.1, 0.5, 0.1)))
    return Hold("box on box on a slope", scene, {0: (), 1: (0,)}, lost=0.1, normal=_normal(scene))


def _resting(scene: Scene, name: str, width: float, mass: float, height: float) -> Part:
    """Return a box of 0.1 m height at this height above the slope."""
    x, y, z = ((height + 0.05) * scene.up).tolist()
    return Part(name, "box", (width, width, 0.1), mass, (x, y, z), scene.tilt)


def _normal(scene: Scene) -> tuple[float, float, float]:
    x, y, z = scene.up.tolist()
    return x, y, z


# Scenes with a known motion.


@dataclass(frozen=True)
class Move:
    """A scene in which the motion of the first part is known.

    seconds: duration of a run
    error: relative error, from its distance (frames,) along the ground [m] and the time between two frames [s]
    """

    name: str
    scene: Scene
    seconds: float
    error: Callable[[NDArray[np.float64], float], float]

    def way(self, poses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distance of the first part along the ground [m], (frames,)."""
        return poses[:, 0, :3] @ self.scene.downhill


def moves() -> list[Move]:
    """Return all scenes with a known motion, in the order of the tables."""
    return [_slide(0.577), _slide(0.5), _sphere(), _cylinder()]


def acceleration(way: NDArray[np.float64], frame: float) -> float:
    """Return the acceleration of a uniformly accelerated motion, from its start, middle and end [m/s^2]."""
    half = (len(way) - 1) // 2
    return float((way[2 * half] - 2 * way[half] + way[0]) / (half * frame) ** 2)


def _slide(friction: float) -> Move:
    """Return a box that slides down a slope with g (sin a - mu cos a), measured after it has settled for 1 s."""
    a = np.radians(SLOPE)
    wanted = G * (np.sin(a) - friction * np.cos(a))

    def error(way: NDArray[np.float64], frame: float) -> float:
        return acceleration(way[round(1.0 / frame) :], frame) / wanted - 1

    return Move(f"slides, friction {friction:g}", slope(friction).scene, 5.0, error)


def _sphere() -> Move:
    """Return a sphere that rolls over level ground, whose speed must not change."""
    speed, radius = 1.0, 0.05  # [m/s], [m]
    spin = (0.0, speed / radius, 0.0)
    ball = Part("ball", "sphere", (radius,), 1.0, (0.0, 0.0, radius), velocity=(speed, 0.0, 0.0), spin=spin)

    def error(way: NDArray[np.float64], frame: float) -> float:
        last = round(0.1 / frame)
        return float((way[-1] - way[-1 - last]) / (last * frame * speed)) - 1

    return Move("sphere rolls", Scene((ball,), ROUGH), 5.0, error)


def _cylinder() -> Move:
    """Return a cylinder that rolls down a slope from rest with 2/3 g sin(a)."""
    angle, radius = 10.0, 0.05  # [degrees], [m]
    x, y, z = (radius * Scene((), ROUGH, slope=angle).up).tolist()
    roller = Part("roller", "cylinder", (radius, 0.2), 1.0, (x, y, z), (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0))
    wanted = 2 / 3 * G * np.sin(np.radians(angle))

    def error(way: NDArray[np.float64], frame: float) -> float:
        return acceleration(way, frame) / wanted - 1

    return Move("cylinder rolls down", Scene((roller,), ROUGH, slope=angle), 2.0, error)
