"""Bodies in a viser scene: the solid, its edges, its path and its contact patch on the ground."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import viser
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction._core import TOUCH
from stiction.basics import colours
from stiction.basics.colours import Colour
from stiction.bodies.body import Body
from stiction.bodies.faces import faces_of, ring
from stiction.bodies.trajectory import Trajectory

FRAME = 0.01  # [s] between two recorded frames


@dataclass(frozen=True)
class Solid:
    """A convex body as it is drawn; a planar one has a thickness.

    vertices: body frame [m], shape (V, 3)
    faces: vertex indices of each face, counter-clockwise seen from outside
    """

    vertices: NDArray[np.float64]
    faces: list[list[int]]

    @classmethod
    def of(cls, body: Body) -> "Solid":
        """The solid of a body."""
        vertices, faces = body.vertices, body.faces
        if body.planar:
            half = np.array([0.0, 0.1 * body.diameter, 0.0])
            vertices = np.concatenate([vertices - half, vertices + half])
            faces = faces_of(vertices)
        return cls(vertices, faces)

    @cached_property
    def triangles(self) -> NDArray[np.int64]:
        """Each face as a fan of triangles, shape (T, 3)."""
        return np.array([(face[0], a, b) for face in self.faces for a, b in pairwise(face[1:])])

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """Ends of all edges, body frame [m], shape (E, 2, 3)."""
        return self.vertices[np.array(sorted({edge for face in self.faces for edge in ring(face)}))]

    def placed(self, position, quaternion) -> NDArray[np.float64]:
        """The vertices in world axes [m], shape (V, 3)."""
        return self.vertices @ Rotation.from_quat(quaternion, scalar_first=True).as_matrix().T + position

    def patch(self, position, quaternion, margin: float) -> NDArray[np.float64]:
        """Outline of the contact patch on the ground, widened by `margin` [m]; world x, y, shape (40, 2).

        A point becomes a disc, a line a stadium, a surface a polygon with round corners.
        """
        placed = self.placed(position, quaternion)
        height = placed[:, 2]
        touching = placed[height <= max(TOUCH, height.min()), :2]
        angle = 2 * np.pi * np.arange(40) / 40
        outward = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return touching[(touching @ outward.T).argmax(axis=0)] + margin * outward


def finite_part(run: Trajectory) -> Trajectory:
    """The run up to its last finite state, which is then repeated: a law without physics may diverge."""
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
    """The step whose contact is drawn at `step`: the last one in contact within 0.03 s, or None.

    Most impacts last one step, which would be too short to be seen.
    """
    first = max(0, step - round(0.03 / run.timestep))
    touching = np.flatnonzero(run.kind[first : step + 1])
    return first + int(touching[-1]) if len(touching) else None


class Patch:
    """The contact patch of a body on the ground, in the colour of its mode."""

    def __init__(self, scene: viser.SceneApi, path: str, solid: Solid, *, offset=(0.0, 0.0, 0.0)) -> None:
        self._solid, self._offset = solid, np.asarray(offset, dtype=np.float64)
        self._margin = 0.11 * float(np.ptp(solid.vertices, axis=0).max())
        outline = self.outline(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
        fan = np.array([(0, k, k + 1) for k in range(1, len(outline) - 1)])
        self._mesh = scene.add_mesh_simple(
            path, self._on_ground(outline), fan, color=colours.MODES[1], side="double", cast_shadow=False,
            receive_shadow=False, visible=False,
        )  # fmt: skip
        self._drawn: tuple[int, NDArray[np.float64], NDArray[np.float64]] | None = None  # mode and pose

    def outline(self, position, quaternion) -> NDArray[np.float64]:
        """Outline of the drawn patch of a body in contact; world x, y [m], shape (n, 2)."""
        return self._solid.patch(position, quaternion, self._margin)

    def show(self, mode: int, position, quaternion) -> None:
        """Draw the patch of a body with this pose and contact mode; 0: no contact."""
        if self._drawn is not None and mode == self._drawn[0] and _same(position, quaternion, *self._drawn[1:]):
            return  # a body at rest: nothing to send
        if (mode == 0) != (self._drawn is None):
            self._mesh.visible = mode != 0
        self._drawn = None
        if mode:
            self._mesh.vertices = self._on_ground(self.outline(position, quaternion))
            self._mesh.color = colours.MODES[mode]
            self._drawn = mode, np.array(position), np.array(quaternion)

    def _on_ground(self, outline: NDArray[np.float64]) -> NDArray[np.float32]:
        # [m] above the ground, which would hide it
        points = np.column_stack([outline, np.full(len(outline), 0.002)]) + self._offset
        return points.astype(np.float32)


class Actor:
    """One body in a viser scene, with its contact patch."""

    def __init__(
        self, scene: viser.SceneApi, path: str, solid: Solid, *, color: Colour, offset=(0.0, 0.0, 0.0)
    ) -> None:
        self._scene, self._path, self._color = scene, path, color
        self._offset = np.asarray(offset, dtype=np.float64)
        self._body = scene.add_mesh_simple(
            f"{path}/body", solid.vertices, solid.triangles, color=color, flat_shading=True, receive_shadow=False
        )
        self.patch = Patch(scene, f"{path}/patch", solid, offset=offset)

    def trail(self, run: Trajectory) -> None:
        """Draw the whole path of the body frame's origin."""
        points = run.position[:: max(1, round(FRAME / run.timestep))] + self._offset
        self._scene.add_line_segments(
            f"{self._path}/trail",
            np.stack([points[:-1], points[1:]], axis=1),
            self._color,
            thickness=2.0,
            thickness_units="screen",
        )

    def show(self, run: Trajectory, step: int) -> int | None:
        """Draw the run at `step`; returns the step whose contact is drawn, or None."""
        frame = min(step, run.steps)
        self._body.position = run.position[frame] + self._offset
        self._body.wxyz = run.quaternion[frame]
        contact = shown_contact(run, min(step, run.steps - 1))
        at = frame if contact is None else contact
        self.patch.show(0 if contact is None else int(run.mode[contact]), run.position[at], run.quaternion[at])
        return contact


class Edges:
    """The edges of a body in a viser scene."""

    def __init__(self, scene: viser.SceneApi, path: str, solid: Solid, *, offset=(0.0, 0.0, 0.0)) -> None:
        self._offset = np.asarray(offset, dtype=np.float64)
        self._lines = scene.add_line_segments(path, solid.edges, colours.INK, thickness=1.5, thickness_units="screen")

    def show(self, run: Trajectory, step: int) -> None:
        """Draw the run at `step`."""
        frame = min(step, run.steps)
        self._lines.position = run.position[frame] + self._offset
        self._lines.wxyz = run.quaternion[frame]


def _same(position, quaternion, old_position, old_quaternion) -> bool:
    return np.array_equal(position, old_position) and np.array_equal(quaternion, old_quaternion)
