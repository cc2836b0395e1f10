"""A small ray caster in NumPy for convex pieces on the ground, so that animations need neither OpenGL nor a display.

A ray enters a convex piece where it crosses the last of the planes that it meets from outside, unless it has left
through another plane before. The same test, from the ground towards the light, gives the shadow. MuJoCo's renderer
would need PyOpenGL and a GL driver on the user's machine, and draws neither creases nor outlines.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction.basics.colours import Colour
from stiction.viewer.pieces import Piece
from stiction_studies.page.camera import Array, Camera


def _rgb(red: int, green: int, blue: int) -> Array:
    return np.array([red, green, blue], np.float32)


@dataclass(frozen=True)
class Hull:
    """A convex piece as the half-spaces n x <= d that bound it, body frame.

    normal: n, (F, 3); offset: d, (F,) [m]; corners: (V, 3) [m]
    """

    body: int
    normal: Array
    offset: Array
    corners: NDArray[np.float64]
    plain: bool

    @classmethod
    def of(cls, piece: Piece) -> "Hull":
        """Planes of the triangles, without duplicates."""
        a, b, c = (piece.vertices[piece.triangles[:, k]] for k in range(3))
        normal = np.cross(b - a, c - a)
        size = np.linalg.norm(normal, axis=1)
        normal = normal[size > 0] / size[size > 0, np.newaxis]
        offset = np.einsum("ij,ij->i", normal, a[size > 0])
        planes = np.column_stack([normal, offset])
        kept = planes[np.unique(planes.round(5), axis=0, return_index=True)[1]].astype(np.float32)
        return cls(piece.body, kept[:, :3], kept[:, 3], piece.vertices, piece.plain)

    def placed(self, position, turn) -> "Hull":
        """The piece in world axes; `turn` is the rotation matrix of the body."""
        normal = self.normal @ turn.T.astype(np.float32)
        offset = self.offset + normal @ position.astype(np.float32)
        return Hull(self.body, normal, offset, self.corners @ turn.T + position, self.plain)


class Layer:
    """The first hits of a camera's rays: distance along the view [m], normal, and index of the piece, -1 for none."""

    def __init__(self, camera: Camera, hulls: list[Hull]) -> None:
        """Cast the rays at pieces in world axes."""
        self.camera, shape = camera, camera.size[::-1]
        self.depth, self.owner = np.full(shape, np.inf, np.float32), np.full(shape, -1, np.int16)
        self.normal = np.zeros((*shape, 3), np.float32)
        for number, hull in enumerate(hulls):
            self._add(number, hull)

    def _add(self, number: int, hull: Hull) -> None:
        """Cast the rays at a piece in world axes."""
        box = self.camera.box(hull.corners)
        if box is None:
            return
        rays = self.camera.rays(box)
        away = hull.offset - hull.normal @ self.camera.eye.astype(np.float32)
        front = away < 0  # planes that face the camera
        # A ray r meets a plane at the distance away / (n r); the inverse needs no division for each pixel.
        planes = hull.normal / np.where(away == 0, np.float32(1e-9), away)[:, np.newaxis]
        enter = (rays @ planes[front].T).min(axis=-1, initial=np.inf)
        leave = (rays @ planes[~front].T).max(axis=-1, initial=0.0)
        seen = (enter > leave) & (enter * self.depth[box] > 1) & (enter < np.inf)
        normal = _normals(hull.normal[front], 1 / (rays[seen] @ planes[front].T))
        self.depth[box][seen], self.owner[box][seen], self.normal[box][seen] = 1 / enter[seen], number, normal

    def edges(self, *, creases: bool = True) -> NDArray[np.bool_]:
        """Pixels at the border of another piece, or of a face that is turned by more than 32 degrees."""
        found = np.zeros(self.owner.shape, bool)
        for a, b in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
            turned = np.einsum("...i,...i", self.normal[a], self.normal[b]) < np.cos(np.radians(32.0))
            differ = (self.owner[a] != self.owner[b]) | (creases & turned & (self.owner[a] >= 0))
            found[a] |= differ
            found[b] |= differ
        return found


def _normals(normal: Array, entry: Array) -> Array:
    """Normals (n, 3) of the faces through which rays enter, which meet planes at distances (n, F).

    They are blended where more than 15 faces are visible, so that pieces with many faces look round.
    """
    if len(normal) < 15 or not len(entry):
        return normal[entry.argmax(axis=1)] if len(entry) else np.zeros((0, 3), np.float32)
    enter = entry.max(axis=1, keepdims=True)
    blended = np.exp((entry - enter) / (0.004 * float(enter.mean()))) @ normal
    return blended / np.linalg.norm(blended, axis=1, keepdims=True)


def ground(camera: Camera, spacing: float, fade: float, *, drawn: bool) -> tuple[Array, Array | None]:
    """The empty picture (h, w, 3), and the points of the ground that its pixels show (h, w, 3), NaN for the sky.

    spacing: of the grid [m]; fade: distance at which it fades [m]; drawn: else there is only the sky
    """
    sky, base, lines = _rgb(255, 255, 255), _rgb(243, 245, 248), _rgb(218, 223, 231)
    if not drawn:
        return np.broadcast_to(sky, (*camera.size[::-1], 3)).copy(), None
    rays = camera.rays((slice(None), slice(None)))
    down = rays[..., 2] < -1e-3
    far = np.where(down, -camera.eye[2] / np.where(down, rays[..., 2], -1.0), np.nan).astype(np.float32)
    points = camera.eye.astype(np.float32) + far[..., np.newaxis] * rays
    picture = np.broadcast_to(sky, points.shape).copy()
    line = np.zeros(down.shape, np.float32)
    for axis in (0, 1):
        along = points[..., axis] / np.float32(spacing)
        per_pixel = np.hypot(np.gradient(along, axis=0), np.gradient(along, axis=1))
        away = np.abs(along - along.round()) / np.maximum(per_pixel, 1e-9)  # in pixels
        faint = np.clip(0.5 / np.maximum(per_pixel, 1e-9) / 6, 0.0, 1.0)  # where lines are too close together
        line = np.maximum(line, np.nan_to_num(np.clip(1.6 - away, 0.0, 1.0) * faint))
    fog = np.nan_to_num(np.clip(1.6 - far / fade, 0.0, 1.0))[..., np.newaxis]
    picture += fog * (base + line[..., np.newaxis] * (lines - base) - sky)
    return picture, points


def shade_ground(picture: Array, points: Array, hulls: list[Hull], camera: Camera) -> None:
    """Draw the shadows of the pieces, softer the higher the pieces are."""
    dark = np.zeros(picture.shape[:2], np.float32)
    light = camera.light
    for hull in hulls:
        spot = hull.corners - hull.corners[:, 2:] / light[2] * light
        box = camera.box(spot)
        if box is None:
            continue
        speed = hull.normal @ light.astype(np.float32)
        with np.errstate(divide="ignore", invalid="ignore"):
            cut = (hull.offset - points[box] @ hull.normal.T) / speed
        enter = cut[..., speed < 0].max(axis=-1, initial=0.0)
        leave = cut[..., speed > 0].min(axis=-1, initial=np.inf)
        thick = 2 * float((hull.offset - hull.normal @ hull.corners.mean(axis=0).astype(np.float32)).min())
        soft = thick * (0.2 + 0.6 * np.clip(enter / (5 * thick), 0.0, 1.0))
        dark[box] += np.nan_to_num(np.clip((leave - enter) / soft, 0.0, 1.0))
    dark = np.minimum(dark, 1.0)
    strength = (0.46 * dark * dark * (3 - 2 * dark))[..., np.newaxis]
    picture += strength * (_rgb(86, 96, 114) - picture)


def paint(picture: Array, layer: Layer, colors: list[Colour]) -> None:
    """Draw the pieces of a layer, brighter where a face points to the light."""
    seen = layer.owner >= 0
    normal = layer.normal[seen]
    bright = 0.79 + 0.26 * np.clip(normal @ layer.camera.light.astype(np.float32), -0.4, 1.0) + 0.06 * normal[:, 2]
    base = np.array(colors, np.float32)[layer.owner[seen]]
    lit = base * np.minimum(bright, 1.0)[:, np.newaxis]
    picture[seen] = lit + np.clip(bright - 0.92, 0.0, 0.2)[:, np.newaxis] * (255 - lit) * 1.4
