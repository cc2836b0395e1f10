"""A viser server on an address that was asked for, and a window that plays on it until it is closed."""

import errno
import io
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, Self

import numpy as np
import viser
from numpy.typing import NDArray

from stiction.basics import checks

# From where a replay and its poster are seen.


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


# Where replays and the viewer take place: a viser server, light, camera and ground.


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


SPEEDS = {"1x": 1.0, "0.5x": 0.5, "0.25x": 0.25, "0.1x": 0.1}
WORLD = "/world"  # all that is shown lies below this frame: moved against a body, it makes the camera follow it
_TICK = 1 / 50  # [s] between two pictures
_HIGHEST = 65535  # port
_PATIENCE = 1.5  # [s] for the address of a host
_TRIED = 1000  # ports, from the one asked for


def free_port(host: str, port: int) -> int:
    """The first port from `port` on that can be listened on at this host; 0 leaves the choice to the system.

    viser itself would wait for ever for a host that is not this machine's, and for a port above the highest.
    """
    checks.count("port", port, 0, _HIGHEST)
    if not host:  # which would be all addresses of this machine
        raise checks.InputError("host must be an address: 127.0.0.1 for this machine alone, 0.0.0.0 for all, got ''.")
    last = min(port + _TRIED - 1, _HIGHEST) if port else 0
    for number in range(port, last + 1):
        try:
            _try_to_listen(host, number)
            return number
        except PermissionError:  # low ports are the system's own
            continue
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            raise checks.InputError(_cannot(host, error)) from error
        except UnicodeError as error:
            raise checks.InputError(_cannot(host, error)) from error
    raise checks.InputError(f"No port from {port} to {last} is free on {host}.")


def _try_to_listen(host: str, port: int) -> None:
    for family, kind, protocol, _, address in _addresses(host, port):
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # as viser does
            probe.bind(address)


def _addresses(host: str, port: int) -> list[Any]:
    """What a host's name stands for; a server of names that does not answer is not waited for."""
    found: list[Any] = []

    def ask() -> None:
        try:
            found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE))
        except (OSError, UnicodeError) as error:
            found.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_PATIENCE)
    if not found:
        raise OSError(errno.ETIMEDOUT, f"nobody knew that name within {_PATIENCE:g} s")
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def _cannot(host: str, error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    return (
        f"The viewer cannot listen on the host {checks.shown(host)} ({reason}): 127.0.0.1 is for this machine "
        "alone, 0.0.0.0 lets others in."
    )


class Window:
    """A viser server with light and ground, which plays until it is closed; what it shows is up to a subclass.

    host, port: to listen on; the next free port where that one is taken
    extent: of the ground [m]
    """

    def __init__(self, *, host: str, port: int, extent: float) -> None:
        port = free_port(host, port)
        self._lock = threading.RLock()
        self._closing = threading.Event()
        with redirect_stdout(io.StringIO()):  # viser's own greeting
            self.server = viser.ViserServer(host=host, port=port, label="stiction", verbose=False)
        shown = "localhost" if host in ("127.0.0.1", "0.0.0.0", "") else f"[{host}]" if ":" in host else host
        self.address = f"http://{shown}:{self.server.get_port()}"
        self.server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
        set_light(self.server.scene)
        self._world = self.server.scene.add_frame(WORLD, show_axes=False)
        set_ground(self.server.scene, extent, path=f"{WORLD}/ground")

    def set_camera(self, position, look_at) -> None:
        """Where the eye of all visitors is, new ones too, and what it looks at [m]."""
        self.server.initial_camera.fov = float(np.radians(40))
        for camera in (self.server.initial_camera, *(client.camera for client in self.server.get_clients().values())):
            camera.position, camera.look_at = position, look_at

    def follow(self, place) -> None:
        """Keep the camera beside this place (x, y, ...) [m], wherever the visitor has turned it; None: let it stand."""
        wanted = np.zeros(3) if place is None else -np.array([place[0], place[1], 0.0])
        if np.abs(self._world.position - wanted).max() > 1e-5:
            self._world.position = wanted

    def advance(self, passed: float) -> None:
        """Show what comes `passed` seconds later."""
        raise NotImplementedError(f"{type(self).__name__} must define advance.")

    def run(self) -> None:
        """Play until `close` is called from another thread, or the program is interrupted."""
        before = time.perf_counter()
        while not self._closing.wait(_TICK):
            now = time.perf_counter()
            with self._lock:
                self.advance(now - before)
            before = now

    def close(self) -> None:
        """Stop the server."""
        self._closing.set()
        with redirect_stdout(io.StringIO()):
            self.server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serve(window: Window, *, open_browser: bool) -> None:
    """Run a window until it is interrupted."""
    with window:
        print(f"Viewer: {window.address} (Ctrl+C ends it)", flush=True)
        if open_browser:
            webbrowser.open(window.address)
        window.run()


def block(rows: list[str]) -> str:
    """Lines of HTML as the controls show them."""
    return f'<div style="font-size:0.8em;padding:0.1em 1em;line-height:1.6">{"<br>".join(rows)}</div>'


def dot(colour: str, name: str) -> str:
    """One entry of a legend."""
    return f'<span style="color:{colour}">&#9679;</span> {name}'
