"""What replays, posters and the viewer draw: the body as a solid, and its contact patch on the ground."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction._core import TOUCH
from stiction.bodies.body import Body
from stiction.bodies.faces import faces_of
from stiction.bodies.state import Trajectory

HOLD = 0.03  # [s] a patch stays drawn this long: most impacts last one step, too short for an eye
_SLAB = 0.2  # thickness of a planar body as it is drawn, share of its diameter
_CORNERS = 40  # of a drawn patch


@dataclass(frozen=True)
class Solid:
    """A convex body as it is drawn; a planar one gets a thickness.

    vertices: body frame [m], shape (V, 3)
    faces: vertex numbers of each face, counter-clockwise seen from outside
    """

    vertices: NDArray[np.float64]
    faces: list[NDArray[np.int32]]

    @classmethod
    def of(cls, body: Body) -> "Solid":
        """The solid of a body."""
        vertices, faces = body.vertices, body.faces
        if body.planar:
            half = np.array([0.0, _SLAB * body.diameter / 2, 0.0])
            vertices = np.concatenate([vertices - half, vertices + half])
            faces = faces_of(vertices)
        return cls(vertices, [np.array(face, dtype=np.int32) for face in faces])

    @cached_property
    def triangles(self) -> NDArray[np.int64]:
        """Each face as a fan, shape (T, 3)."""
        return np.array([(face[0], a, b) for face in self.faces for a, b in pairwise(face[1:])])

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """Ends of all edges, body frame [m], shape (E, 2, 3)."""
        pairs = {(min(a, b), max(a, b)) for face in self.faces for a, b in zip(face, np.roll(face, -1))}
        return self.vertices[np.array(sorted(pairs))]

    def placed(self, position, quaternion) -> NDArray[np.float64]:
        """The vertices in world axes [m], shape (V, 3)."""
        return self.vertices @ Rotation.from_quat(quaternion, scalar_first=True).as_matrix().T + position

    def patch(self, position, quaternion, margin: float) -> NDArray[np.float64]:
        """Outline on the ground of what touches it, widened by `margin` [m]; world x, y, shape (corners, 2).

        A point becomes a disc, a line a lane with round ends, a surface itself with round corners.
        """
        placed = self.placed(position, quaternion)
        height = placed[:, 2]
        touching = placed[height <= max(TOUCH, height.min()), :2]
        angle = 2 * np.pi * np.arange(_CORNERS) / _CORNERS
        outward = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return touching[(touching @ outward.T).argmax(axis=0)] + margin * outward


def finite_part(run: Trajectory) -> Trajectory:
    """The run up to its last finite state, which then stays: a law without physics may leave the world of numbers."""
    good = np.isfinite(run.position).all(axis=-1) & np.isfinite(run.quaternion).all(axis=-1)
    good &= np.abs(run.position).max(axis=-1, where=np.isfinite(run.position), initial=0.0) < 1e3
    if good.all():
        return run
    last = max(int(good.argmin()) - 1, 0)
    frame = np.minimum(np.arange(run.steps + 1), last)
    ended = np.arange(run.steps) >= last
    parts = {name: getattr(run, name)[frame] for name in ("position", "quaternion", "velocity", "angular_velocity")}
    impulse = np.where(ended[:, np.newaxis], 0.0, run.impulse)
    mode, kind = np.where(ended, 0, run.mode), np.where(ended, 0, run.kind)
    return Trajectory(**parts, impulse=impulse, mode=mode, kind=kind, timestep=run.timestep)


def shown_contact(run: Trajectory, step: int) -> int | None:
    """The step whose contact is drawn at `step`: the last one in contact within HOLD, or None."""
    first = max(0, step - round(HOLD / run.timestep))
    touching = np.flatnonzero(run.kind[first : step + 1])
    return first + int(touching[-1]) if len(touching) else None
