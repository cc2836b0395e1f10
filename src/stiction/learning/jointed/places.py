"""Where the points of a jointed part that may touch are in each frame, and its centre of mass."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.learning.jointed.part import JointedPart
from stiction.learning.jointed.recording import JointedToss
from stiction.mujoco.mjcf import mujoco


@dataclass(frozen=True)
class Places:
    """Of the frames of one toss, world axes [m].

    points: that may touch, (n, p, 3); radius: of each, (p,); com: centre of mass of the whole part, (n, 3)
    """

    points: NDArray[np.float64]
    radius: NDArray[np.float64]
    com: NDArray[np.float64]

    @property
    def lowest(self) -> NDArray[np.float64]:
        """Height of the lowest point in each frame (n,) [m]."""
        return (self.points[:, :, 2] - self.radius).min(axis=1)


def places_of(part: JointedPart, tosses: list[JointedToss]) -> list[Places]:
    """Of each toss, with the shapes and masses of the MJCF file."""
    model = part.model({}, 0.002)
    base = model.body(part.links[0].name).id
    touching = _Touching(model)
    found = []
    for toss in tosses:
        points, com = np.empty((len(toss.qpos), len(touching.radius), 3)), np.empty((len(toss.qpos), 3))
        for k, qpos in enumerate(toss.qpos):
            points[k] = touching.points(qpos)
            mujoco.mj_comPos(model, touching.data)
            com[k] = touching.data.subtree_com[base]
        found.append(Places(points, touching.radius, com))
    return found


def rest_heights(model: Any, tosses: list[JointedToss]) -> NDArray[np.float64]:
    """Height (n,) [m] of the lowest point of a model where each toss comes to rest; zero where that tells no ground."""
    touching = _Touching(model)
    ends = [touching.points(toss.qpos[-1])[:, 2] - touching.radius if toss.rests else np.zeros(1) for toss in tosses]
    return np.array([end.min() for end in ends])


class _Touching:
    """The points of a model that may touch: centres of balls, and both ends of capsules. radius: of each (p,)"""

    def __init__(self, model: Any) -> None:
        self.model, self.data = model, mujoco.MjData(model)
        touches = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
        touches &= model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE
        is_stick = model.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE
        self._balls, self._sticks = np.flatnonzero(touches & ~is_stick), np.flatnonzero(touches & is_stick)
        self.radius = model.geom_size[np.concatenate([self._balls, self._sticks, self._sticks]), 0]

    def points(self, qpos: NDArray[np.float64]) -> NDArray[np.float64]:
        """World coordinates (p, 3) [m]."""
        data, sticks = self.data, self._sticks
        data.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, data)
        along = data.geom_xmat[sticks].reshape(-1, 3, 3)[:, :, 2] * self.model.geom_size[sticks, 1:2]
        middle = data.geom_xpos[sticks]
        return np.concatenate([data.geom_xpos[self._balls], middle - along, middle + along])
