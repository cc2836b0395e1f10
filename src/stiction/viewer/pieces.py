"""Shapes of a MuJoCo model: each geom as a convex piece of its body."""

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import trimesh
from numpy.typing import NDArray
from scipy.spatial import QhullError

from stiction.mujoco import mjcf


@dataclass(frozen=True)
class Piece:
    """A convex piece of a body.

    body: index of the body in the model
    vertices: body frame [m], shape (V, 3); triangles: indices of vertices, counter-clockwise from outside, (T, 3)
    plain: grey, not in the colour of its run
    """

    body: int
    vertices: NDArray[np.float64]
    triangles: NDArray[np.int64]
    plain: bool = False


def pieces_of(model: Any) -> list[Piece]:
    """All geoms that MuJoCo's viewer shows or that can collide, except planes and height fields, as hulls."""
    flat = [int(geom) for geom in (mjcf.mujoco.mjtGeom.mjGEOM_PLANE, mjcf.mujoco.mjtGeom.mjGEOM_HFIELD)]
    seen = (model.geom_group < 3) & (model.geom_rgba[:, 3] > 0)  # MuJoCo's viewer hides the groups from 3 on
    touching = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    drawn = np.flatnonzero((seen | touching) & ~np.isin(model.geom_type, flat)).tolist()
    pieces = [convex_piece(int(model.geom_bodyid[geom]), _thinned(mjcf.corners(model, geom, 16))) for geom in drawn]
    return [piece for piece in pieces if piece is not None]


def convex_piece(body: int, points: NDArray[np.float64]) -> Piece | None:
    """The hull of points of a body; None if they are coplanar."""
    try:
        hull = trimesh.convex.convex_hull(points)
    except QhullError:
        return None
    return Piece(body, np.array(hull.vertices), np.array(hull.faces))


def _thinned(points: NDArray[np.float64], most: int = 120) -> NDArray[np.float64]:
    """Extreme points, each farthest in some direction; more than `most` look the same and make pages large."""
    if len(points) <= most:
        return points
    k = np.arange(most) + 0.5  # a spiral over the sphere, evenly spread
    height, angle = 1 - 2 * k / most, np.pi * (1 + np.sqrt(5)) * k
    wide = np.sqrt(1 - height**2)
    directions = np.stack([wide * np.cos(angle), wide * np.sin(angle), height], axis=1)
    return points[np.unique((points @ directions.T).argmax(axis=0))]


def meshes(pieces: list[Piece]) -> dict[int, tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Vertices and triangles of all pieces of each body as one mesh, by the body's index."""
    ordered = groupby(sorted(pieces, key=lambda piece: piece.body), lambda piece: piece.body)
    return {body: _joined(list(own)) for body, own in ordered}


def _joined(pieces: list[Piece]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Vertices and triangles of pieces of one body as one mesh."""
    first = np.cumsum([0, *(len(piece.vertices) for piece in pieces)])
    triangles = [piece.triangles + start for piece, start in zip(pieces, first)]
    return np.concatenate([piece.vertices for piece in pieces]), np.concatenate(triangles)
