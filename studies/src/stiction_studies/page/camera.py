"""Cameras of the page: perspective projection, and the place from which a camera sees all bodies of a replay."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]  # single precision is enough for pictures
FIELD_OF_VIEW, ASPECT = np.radians(35.0), 1.2  # vertical; width over height of the picture on a phone


def camera_axes(back: NDArray[np.float64]) -> NDArray[np.float64]:
    """Axes (3, 3) of an upright camera that looks along -back; columns right, up and back."""
    back = back / np.linalg.norm(back)
    right = np.cross([0.0, 0.0, 1.0], back)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(back, right), back], axis=1)


@dataclass(frozen=True)
class Camera:
    """A perspective camera that looks along -back.

    axes: columns right, up and back; scale: focal length [px]; size: width and height [px]
    """

    eye: NDArray[np.float64]
    axes: NDArray[np.float64]
    scale: float
    size: tuple[int, int]

    @property
    def light(self) -> NDArray[np.float64]:
        """Direction towards the light: above the camera, to its left."""
        right, _, back = self.axes.T
        over = 0.32 * back - 0.38 * right
        return np.array([over[0], over[1], 0.9]) / np.linalg.norm([over[0], over[1], 0.9])

    def rays(self, box: tuple[slice, slice]) -> Array:
        """Directions (rows, columns, 3) through the centres of some pixels, of length 1 along the view."""
        width, height = self.size
        v = (np.arange(height, dtype=np.float32)[box[0]] + 0.5 - height / 2) / -self.scale
        u = (np.arange(width, dtype=np.float32)[box[1]] + 0.5 - width / 2) / self.scale
        right, up, back = self.axes.T.astype(np.float32)
        return u[np.newaxis, :, np.newaxis] * right + v[:, np.newaxis, np.newaxis] * up - back

    def pixels(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """World points (n, 3) in front of the camera, projected to pixels, shape (n, 2)."""
        seen = (points - self.eye) @ self.axes
        return self.scale * seen[:, :2] / -seen[:, 2:] * [1, -1] + np.array(self.size) / 2

    def box(self, points: NDArray[np.float64]) -> tuple[slice, slice] | None:
        """Rows and columns of the pixels that points (n, 3) span; None outside the picture."""
        if ((points - self.eye) @ self.axes[:, 2] > -1e-6).any():  # behind the camera
            return None
        flat = self.pixels(points)
        low = np.clip(np.floor(flat.min(axis=0)) - 1, 0, self.size).astype(int)
        high = np.clip(np.ceil(flat.max(axis=0)) + 1, 0, self.size).astype(int)
        return (slice(low[1], high[1]), slice(low[0], high[0])) if (low < high).all() else None


@dataclass(frozen=True)
class Sight:
    """The region to be shown, and the direction of the camera.

    path: positions of all bodies at all times, world axes [m], shape (n, 3)
    reach: their greatest extent from there [m]
    toward: horizontal direction from the scene to the camera, shape (3,)
    """

    path: NDArray[np.float64]
    reach: float
    toward: NDArray[np.float64]

    @cached_property
    def camera(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Position of the camera and the point it looks at [m], so that a picture of aspect ASPECT shows everything."""
        right, up, back = camera_axes(self.toward + np.array([0.0, 0.0, 0.5])).T
        centre = (self.path.min(axis=0) + self.path.max(axis=0)) / 2
        spread = self.path - centre
        half = np.tan(FIELD_OF_VIEW / 2)
        wide = (np.abs(spread @ right) + self.reach) / (half * ASPECT) + spread @ back
        tall = (np.abs(spread @ up) + self.reach) / half + spread @ back
        return centre + max(wide.max(), tall.max()) * back, centre

    @property
    def extent(self) -> float:
        """Side of a square about the origin that contains everything [m]."""
        return 2 * (float(np.abs(self.path[:, :2]).max()) + self.reach)
