"""The ground of recorded tosses: how a recorder's axes are tilted against it, and how high it is under each toss.

A part that lies still shows the plane that it lies on: the side of the hull of its points below its centre of mass. A
tracker that was set up anew may be tilted otherwise, so the tilt is the median over tosses that were recorded about the
same time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from stiction.learning.jointed.part import POSE
from stiction.learning.jointed.places import Places
from stiction.learning.jointed.recording import JointedToss, JointedTosses

_STILL = 0.002  # [m] that a part at rest moves in the last frames, at most
_LAST = 6  # frames in which it must rest
_FLAT = 0.003  # [m] from the plane that it lies on, of points that lie on it, too
_STEEP = np.radians(8)  # more is no tilt of the recorder: the part leans
_NEIGHBOURS, _FEWEST = 31, 5  # tosses whose median is the tilt
_REGISTERED = 2e-4  # [m] within which the lowest points of nearly all tosses end where each was registered by itself
_NEARLY_ALL = 0.9
_WORTH_SAYING = np.radians(0.3)  # a lesser tilt is not worth a word


@dataclass
class Levelled:
    """Tosses in axes whose z is upright on the ground, which is at z = 0.

    tilt: of each toss's recorder (n, 2), x and y of the normal that was found [rad]
    report: what was found, in sentences
    """

    tosses: JointedTosses
    tilt: NDArray[np.float64]
    report: list[str] = field(default_factory=list)


def level(tosses: JointedTosses, places: Sequence[Places], by: NDArray[np.bool_]) -> tuple[Levelled, list[Places]]:
    """Turn and shift tosses so that the ground is level, at z = 0. by: tosses (n,) that may decide on the tilt"""
    still = np.array([_lies_still(one) for one in places])
    normals = [_normal(one) if rests and may else None for one, rests, may in zip(places, still, by)]
    tilt = _median_of_neighbours(np.array([toss.place for toss in tosses.tosses]), normals)
    turns = Rotation.from_rotvec(np.stack([tilt[:, 1], -tilt[:, 0], np.zeros(len(tilt))], axis=1))
    ends = np.array([one.lowest[-1] for one in places])
    registered = bool((np.abs(ends - np.median(ends)) < _REGISTERED).mean() >= _NEARLY_ALL) and len(ends) >= _FEWEST
    turned = [_turned(one, turns[k]) for k, one in enumerate(places)]
    height = np.array([_height(one, bool(rests)) for one, rests in zip(turned, still)])
    if not registered:
        height[:] = np.median(height[still]) if still.any() else 0.0
    moved = [
        replace(_moved(toss, turns[k], float(height[k])), rests=registered and bool(still[k]))
        for k, toss in enumerate(tosses.tosses)
    ]
    lowered = [replace(one, points=one.points - [0, 0, z], com=one.com - [0, 0, z]) for one, z in zip(turned, height)]
    report = _report(tilt, registered, still, height, ends)
    return Levelled(JointedTosses(moved, tosses.timestep), tilt, report), lowered


def _report(tilt, registered, still, height, ends) -> list[str]:
    said = []
    size = np.hypot(*tilt.T)
    if (size > _WORTH_SAYING).any():
        much = size > _WORTH_SAYING
        said.append(
            f"The recorder's axes are tilted against the ground by {np.degrees(np.median(size[much])):.1f} degrees in "
            f"{int(much.sum())} of {len(tilt)} tosses, as parts that lie still show: these were turned upright."
        )
    if registered:
        said.append(
            "The ground was registered toss by toss: the lowest point ends at "
            f"{1e3 * np.median(ends):.1f} mm in nearly every one. It was put under where each comes to rest"
            + (
                f"; {int((~still).sum())} still move at the end, and their ground is less certain."
                if not still.all()
                else "."
            )
        )
    elif abs(float(np.median(height))) > _REGISTERED:
        said.append(f"The ground is at {1e3 * float(np.median(height)):.1f} mm in the recorder's axes.")
    return said


def _lies_still(places: Places) -> bool:
    last = places.points[-_LAST:]
    return bool(np.linalg.norm(last - last[-1], axis=2).max() < _STILL)


def _normal(places: Places) -> NDArray[np.float64] | None:
    """Upward normal of the plane that the part lies on, if that can be found."""
    points, com = places.points[-1], places.com[-1]
    try:
        hull = ConvexHull(points)
    except QhullError:  # all in one plane
        return None
    below = hull.equations[hull.equations[:, 2] < -np.cos(_STEEP)]
    if not len(below):
        return None
    depth = -(below[:, :2] @ com[:2] + below[:, 3]) / below[:, 2]  # of each side under the centre of mass
    side = below[depth.argmax()]
    near = points[np.abs(points @ side[:3] + side[3]) < _FLAT]
    slopes, _, rank, _ = np.linalg.lstsq(np.c_[near[:, :2], np.ones(len(near))], near[:, 2], rcond=1e-3)
    normal = np.array([-slopes[0], -slopes[1], 1.0]) / np.sqrt(1 + slopes[0] ** 2 + slopes[1] ** 2)
    return normal[:2] if rank == 3 and normal[2] > np.cos(_STEEP) else None


def _median_of_neighbours(place: NDArray, normals: Sequence[NDArray | None]) -> NDArray[np.float64]:
    known = np.array([k for k, normal in enumerate(normals) if normal is not None], dtype=np.int64)
    if len(known) < _FEWEST:
        return np.zeros((len(place), 2))
    found = np.array([normals[k] for k in known])
    tilt = np.empty((len(place), 2))
    for k, own in enumerate(place):
        near = np.argsort(np.abs(place[known] - own), kind="stable")[:_NEIGHBOURS]
        tilt[k] = np.median(found[near], axis=0)
    return tilt


def _turned(places: Places, turn: Rotation) -> Places:
    points = turn.apply(places.points.reshape(-1, 3)).reshape(places.points.shape)
    return Places(points, places.radius, turn.apply(places.com))


def _height(places: Places, still: bool) -> float:
    """Of the ground: where the part lies; or, if it still moves, what its low frames show."""
    low = places.lowest
    if still:
        return float(low[-1])
    after = low[int((low < low.min() + 0.005).argmax()) :]
    return float(np.quantile(after, 0.2))


def _moved(toss: JointedToss, turn: Rotation, height: float) -> JointedToss:
    qpos = toss.qpos.copy()
    qpos[:, :3] = turn.apply(qpos[:, :3]) - [0.0, 0.0, height]
    qpos[:, 3:POSE] = (turn * Rotation.from_quat(qpos[:, 3:POSE], scalar_first=True)).as_quat(scalar_first=True)
    return replace(toss, qpos=qpos)
