"""What a MuJoCo model looks like: each geom as a convex piece of its body."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from stiction.mujoco import mjcf

_RING = 16  # points of each circle of a round geom
_CORNERS = 120  # of a mesh's hull at most: finer ones look the same and make the page heavy
_HIDDEN = 3  # MuJoCo's viewer shows no geoms of this group and above
_GEOM = mjcf.mujoco.mjtGeom
_FLAT = (int(_GEOM.mjGEOM_PLANE), int(_GEOM.mjGEOM_HFIELD))


@dataclass(frozen=True)
class Piece:
    """A convex piece of a body.

    body: number of the body in a Motion
    vertices: body frame [m], shape (V, 3); triangles: numbers of vertices, counter-clockwise from outside, (T, 3)
    plain: grey, not in the colour of its run
    """

    body: int
    vertices: NDArray[np.float64]
    triangles: NDArray[np.int64]
    plain: bool = False


@dataclass(frozen=True)
class Motion:
    """How many bodies move.

    position: of their frames, world axes [m], shape (frames, bodies, 3); quaternion: shape (frames, bodies, 4)
    interval: for which each frame is shown [s]
    mode: contact mode of each body on the ground in each frame, values of stiction.Mode, shape (frames, bodies); None
        where nobody knows
    """

    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    interval: float
    mode: NDArray[np.int8] | None = None


@dataclass(frozen=True)
class Scene:
    """Motions of a whole robot, or of any bodies, to be watched side by side.

    pieces: what the bodies look like
    runs: by the name that is shown
    seen_from: horizontal direction from the scene to the camera, (2,); runs stand in a row, along x or y, across it
    ground: draw the ground z = 0
    truth: name of the run whose outline animations draw over all others; empty for none
    speed: how many times as fast as it happened the motions are shown
    names: of the bodies whose contact modes are shown, by number
    """

    title: str
    pieces: list[Piece]
    runs: dict[str, Motion]
    caption: str = ""
    seen_from: tuple[float, float] = (1.0, -0.6)
    ground: bool = True
    truth: str = ""
    speed: float = 1.0
    names: Mapping[int, str] = field(default_factory=dict)


class Frames:
    """Where all bodies of a MuJoCo model are, from frame to frame."""

    def __init__(self) -> None:
        self._position, self._quaternion = [], []

    def __len__(self) -> int:
        return len(self._position)

    def take(self, data: Any) -> None:
        """One frame more: places as MuJoCo leaves them behind, which are those at the begin of its last step."""
        self._position.append(data.xpos.copy())
        self._quaternion.append(data.xquat.copy())

    def motion(self, interval: float, origin: NDArray[np.float64] | None = None) -> Motion:
        """For a replay whose frames are so many seconds apart; seen from `origin` (3,) [m]."""
        position = np.array(self._position)
        return Motion(position if origin is None else position - origin, np.array(self._quaternion), interval)


def poses_of(model: Any, qpos: NDArray[np.float64]) -> Frames:
    """Frames of a model in the configurations `qpos` (frames, nq)."""
    data, frames = mjcf.mujoco.MjData(model), Frames()
    for row in qpos:
        data.qpos[:] = row
        mjcf.mujoco.mj_kinematics(model, data)
        frames.take(data)
    return frames


def scene_of(
    title: str,
    model: Any,
    runs: dict[str, Frames],
    interval: float,
    *,
    plain: str = "",
    modes: Mapping[str, NDArray[np.int8]] | None = None,
    **rest: Any,
) -> Scene:
    """Runs of a model side by side, their frames so many seconds apart; `plain` names a body that is drawn in grey.

    modes: contact modes of the bodies of some runs, each (frames, bodies)
    rest: what else a Scene takes
    """
    grey = model.body(plain).id if plain else -1
    pieces = [replace(piece, plain=piece.body == grey) for piece in pieces_of(model)]
    known = modes or {}
    motions = {name: replace(frames.motion(interval), mode=known.get(name)) for name, frames in runs.items()}
    return Scene(title, pieces, motions, **rest)


def pieces_of(model: Any) -> list[Piece]:
    """All geoms that MuJoCo's viewer shows or that can touch, but for planes and heightfields, as hulls."""
    seen = (model.geom_group < _HIDDEN) & (model.geom_rgba[:, 3] > 0)
    touching = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    drawn = np.flatnonzero((seen | touching) & ~np.isin(model.geom_type, _FLAT)).tolist()
    pieces = [convex_piece(int(model.geom_bodyid[geom]), _thinned(mjcf.corners(model, geom, _RING))) for geom in drawn]
    return [piece for piece in pieces if piece is not None]


def convex_piece(body: int, points: NDArray[np.float64]) -> Piece | None:
    """The hull of some points of a body; None if they lie in one plane."""
    try:
        hull = ConvexHull(points)
    except QhullError:
        return None
    vertices, triangles = hull.points[hull.vertices], np.searchsorted(hull.vertices, hull.simplices)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    triangles[inward] = triangles[inward][:, ::-1]  # counter-clockwise seen from outside
    return Piece(body, vertices, triangles)


def _thinned(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of many points those that lie farthest in some direction."""
    if len(points) <= _CORNERS:
        return points
    k = np.arange(_CORNERS) + 0.5  # a spiral over the sphere, evenly spread
    height, angle = 1 - 2 * k / _CORNERS, np.pi * (1 + np.sqrt(5)) * k
    wide = np.sqrt(1 - height**2)
    directions = np.stack([wide * np.cos(angle), wide * np.sin(angle), height], axis=1)
    return points[np.unique((points @ directions.T).argmax(axis=0))]


def meshes(pieces: list[Piece]) -> dict[int, tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Vertices and triangles of all pieces of a body as one mesh, by the body's number."""
    ordered = groupby(sorted(pieces, key=lambda piece: piece.body), lambda piece: piece.body)
    return {body: _joined(list(own)) for body, own in ordered}


def _joined(pieces: list[Piece]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Vertices and triangles of pieces of one body as one mesh."""
    first = np.cumsum([0, *(len(piece.vertices) for piece in pieces)])
    triangles = [piece.triangles + start for piece, start in zip(pieces, first)]
    return np.concatenate([piece.vertices for piece in pieces]), np.concatenate(triangles)
