"""From where a replay and its poster are seen."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

FIELD_OF_VIEW, ASPECT = np.radians(35.0), 1.2  # vertical; width over height of the picture on a phone


@dataclass(frozen=True)
class Sight:
    """What is to be seen, and from which side.

    path: where bodies ever are, world axes [m], shape (n, 3)
    reach: how far they extend from there at most [m]
    toward: horizontal direction from the scene to the camera, shape (3,)
    """

    path: NDArray[np.float64]
    reach: float
    toward: NDArray[np.float64]

    @cached_property
    def camera(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Position of the camera and the point it looks at [m]: everything is in view on a picture of aspect ASPECT."""
        back = self.toward + np.array([0.0, 0.0, 0.5])
        back /= np.linalg.norm(back)
        right = np.cross([0.0, 0.0, 1.0], back)
        right /= np.linalg.norm(right)
        centre = (self.path.min(axis=0) + self.path.max(axis=0)) / 2
        spread = self.path - centre
        half = np.tan(FIELD_OF_VIEW / 2)
        wide = (np.abs(spread @ right) + self.reach) / (half * ASPECT) + spread @ back
        tall = (np.abs(spread @ np.cross(back, right)) + self.reach) / half + spread @ back
        return centre + max(wide.max(), tall.max()) * back, centre

    @property
    def extent(self) -> float:
        """Side of a square about the origin on which all of it happens [m]."""
        return 2 * (float(np.abs(self.path[:, :2]).max()) + self.reach)
