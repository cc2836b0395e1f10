"""Where replays and the viewer take place: a viser server, light, camera and ground."""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout

import numpy as np
import viser

from stiction.studies.page.sight import FIELD_OF_VIEW, Sight

_PAUSE = 0.6  # [s] after the end of a recording: the page's player stops before it, viser's own begins anew after it


@contextmanager
def quiet_server() -> Iterator[viser.ViserServer]:
    """A viser server on a free port of this machine only: viser records scenes of a server. It says nothing."""
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
    """What viser's client plays: the scene as it is, then one frame after another, and a pause.

    show: each shows a part of the scene as it is at that time [s]; interval: between two frames [s]
    """
    recording = server.get_scene_serializer()
    for frame in range(1, round(duration / interval) + 1):
        recording.insert_sleep(interval)
        for part in show:
            part(frame * interval)
    recording.insert_sleep(_PAUSE)
    return recording.serialize()


def set_scene(server: viser.ViserServer, sight: Sight, *, ground: bool = True) -> None:
    """Light, camera and ground."""
    set_light(server.scene)
    server.initial_camera.position, server.initial_camera.look_at = sight.camera
    server.initial_camera.fov = float(FIELD_OF_VIEW)
    if ground:
        set_ground(server.scene, sight.extent)


def set_light(scene: viser.SceneApi) -> None:
    """Up is z; plain light from all sides: viser's mirrored room would wash out the colours of the modes."""
    scene.set_up_direction("+z")
    scene.configure_environment_map(None)
    scene.add_light_ambient("/light", intensity=1.3)


def set_ground(scene: viser.SceneApi, extent: float, *, path: str = "/ground") -> None:
    """The ground: a square of that extent [m] with lines every 0.1 m and 0.5 m."""
    side = 0.5 * np.ceil(extent / 0.5) + 0.5
    scene.add_grid(
        path,
        width=side,
        height=side,
        cell_size=0.1,
        section_size=0.5,
        cell_color=(226, 230, 236),
        section_color=(196, 203, 213),
        plane_color=(246, 247, 249),
        plane_opacity=1.0,
        shadow_opacity=0.18,
    )
