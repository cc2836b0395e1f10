"""Scenes in which nothing may move, pinched bodies, a stack and boxes on a slope, and how far they creep."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction_studies.engines.scene import G, Part, Scene

FACTORS = (2, 20, 95)  # of the least force that holds
GRIP, ROUGH = 0.7, 0.6  # coefficients of friction of the fingers, and of all boxes that lie
SLOPE = 30.0  # [degrees]; its tangent is 0.57735
JUST_STICKS = 0.5774  # coefficient of friction
_HEIGHT = 0.2  # of what is pinched, above the ground [m]
_FINGER = (0.01, 0.04, 0.09)  # edges [m]
_TIP = 0.02  # how far a finger's middle lies above what it holds [m]
_ASIDE = 0.001  # how far boxes of a stack lie beside their line, along x and y [m]


@dataclass(frozen=True)
class Hold:
    """A scene in which nothing may move.

    name: in tables
    holders: what holds each part, number of the part -> numbers of those that hold it; none of them: the ground
    lost: a part that has moved farther than this has been dropped [m]
    normal: direction in which the bodies press on each other, (3,)
    """

    name: str
    scene: Scene
    holders: dict[int, tuple[int, ...]]
    lost: float
    normal: tuple[float, float, float]


def creep(hold: Hold, poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far the centre of any part has slipped over what holds it since the first of the poses [m], (frames,)."""
    moved, normal = _moved(hold, poses), np.array(hold.normal)
    slipped = moved - (moved @ normal)[..., np.newaxis] * normal
    return np.linalg.norm(slipped, axis=-1).max(axis=1)


def motion(hold: Hold, poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same in any direction, that of pressing included [m], (frames,)."""
    return np.linalg.norm(_moved(hold, poses), axis=-1).max(axis=1)


def _moved(hold: Hold, poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each part has moved relative to what holds it, two fingers by their mean [m], (frames, parts, 3)."""
    place = [
        poses[:, part, :3] - (poses[:, list(holders), :3].mean(axis=1) if holders else 0.0)
        for part, holders in hold.holders.items()
    ]
    moved = np.stack(place, axis=1)
    return moved - moved[0]


def turn(hold: Hold, poses: NDArray[np.float64]) -> float:
    """Greatest angle by which any part has turned since the first of the poses [rad]."""
    angles = []
    for part in hold.holders:
        turned = Rotation.from_quat(poses[:, part, 3:], scalar_first=True)
        angles.append((turned * turned[0].inv()).magnitude().max())
    return float(np.max(angles))


def holds() -> list[Hold]:
    """All scenes, in the order of the tables."""
    capsules = [grasp("capsule", factor) for factor in FACTORS]
    return [*capsules, *(grasp("cube", factor) for factor in FACTORS), stack(), slope(), two_on_a_slope()]


def grasp(what: str, factor: float) -> Hold:
    """A capsule or a cube, pinched by two fingers on slides at so many times the force that just holds it.

    The capsule lies level, as thick and heavy as one whose users saw it creep through a gripper of MuJoCo.
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
    place = (side * (half + _FINGER[0] / 2), 0.0, _HEIGHT + _TIP)
    return Part(name, "box", _FINGER, 0.1, place, slide=(-side, 0.0, 0.0), force=force)


def stack(count: int = 10, edge: float = 0.1) -> Hold:
    """Cubes one on the other, none of them quite in line with the one below."""
    boxes = []
    for k in range(count):
        aside = (_ASIDE * (-1) ** k, _ASIDE * (-1) ** (k // 2))
        boxes.append(Part(f"box{k + 1}", "box", (edge,) * 3, 1.0, (*aside, edge * (k + 0.5))))
    holders: dict[int, tuple[int, ...]] = {k: (k - 1,) if k else () for k in range(count)}
    return Hold(f"stack of {count}", Scene(tuple(boxes), ROUGH), holders, lost=edge / 2, normal=(0.0, 0.0, 1.0))


def slope(friction: float = JUST_STICKS) -> Hold:
    """A flat box on a slope, by default with hardly more friction than it needs."""
    bare = Scene((), friction, slope=SLOPE)
    scene = replace(bare, parts=(_lying(bare, "box", 0.2, 1.0, 0.0),))
    return Hold(f"slope, friction {friction:g}", scene, {0: ()}, lost=1.0, normal=_normal(scene))


def two_on_a_slope() -> Hold:
    """A box on a box on a slope."""
    bare = Scene((), ROUGH, slope=SLOPE)
    scene = replace(bare, parts=(_lying(bare, "lower", 0.2, 1.0, 0.0), _lying(bare, "upper", 0.1, 0.5, 0.1)))
    return Hold("box on box on a slope", scene, {0: (), 1: (0,)}, lost=0.1, normal=_normal(scene))


def _lying(scene: Scene, name: str, width: float, mass: float, height: float) -> Part:
    """A box of 0.1 m height that lies on the slope, or that high above it."""
    x, y, z = ((height + 0.05) * scene.up).tolist()
    return Part(name, "box", (width, width, 0.1), mass, (x, y, z), scene.tilt)


def _normal(scene: Scene) -> tuple[float, float, float]:
    x, y, z = scene.up.tolist()
    return x, y, z
