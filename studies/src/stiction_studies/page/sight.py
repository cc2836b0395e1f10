"""Scenes for viser's recordings: the camera, light and ground, and a quiet server that records them."""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import viser
from numpy.typing import NDArray

from stiction.viewer.window import set_ground, set_light

FIELD_OF_VIEW, ASPECT = np.radians(35.0), 1.2  # vertical; width over height of the picture on a phone


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
        """Side of a square about the origin that contains everything [m]."""
        return 2 * (float(np.abs(self.path[:, :2]).max()) + self.reach)


@contextmanager
def quiet_server() -> Iterator[viser.ViserServer]:
    """A silent viser server on a free local port, because viser records scenes of a server."""
    with redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        yield server
    finally:
        with redirect_stdout(io.StringIO()):
            server.stop()


def recorded(
    server: viser.ViserServer, show: Sequence[Callable[[float], None]], duration: float, interval: float
) -> bytes:
    """A recording for viser's client: the current scene, then all frames, and a pause.

    show: functions that draw a part of the scene at a time [s]; interval: between two frames [s]
    """
    recording = server.get_scene_serializer()
    for frame in range(1, round(duration / interval) + 1):
        recording.insert_sleep(interval)
        for part in show:
            part(frame * interval)
    recording.insert_sleep(0.6)  # [s]: the page's player stops before its end, viser's own restarts after it
    return recording.serialize()


def set_scene(server: viser.ViserServer, sight: Sight, *, ground: bool = True) -> None:
    """Light, camera and ground."""
    set_light(server.scene)
    server.initial_camera.position, server.initial_camera.look_at = sight.camera
    server.initial_camera.fov = float(FIELD_OF_VIEW)
    if ground:
        set_ground(server.scene, sight.extent)
