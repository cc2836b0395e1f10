"""A viser server at a given address, and a window that plays on it until it is closed."""

import errno
import io
import socket
import threading
import time
from contextlib import redirect_stdout
from types import TracebackType
from typing import Any, Self

import numpy as np
import viser

from stiction.basics import checks


def set_light(scene: viser.SceneApi) -> None:
    """z is up; ambient light, because viser's environment map would wash out the colours of the modes."""
    scene.set_up_direction("+z")
    scene.configure_environment_map(None)
    scene.add_light_ambient("/light", intensity=1.3)


def set_ground(scene: viser.SceneApi, extent: float, *, path: str = "/ground") -> None:
    """Add the ground: a square of this extent [m] with lines every 0.1 m and 0.5 m."""
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
WORLD = "/world"  # parent frame of the scene: moved against a body, it makes the camera follow it


def free_port(host: str, port: int) -> int:
    """The first free port from `port` on at this host; 0 leaves the choice to the system.

    viser itself would wait forever for a foreign host, or for a port above the highest.
    """
    highest = 65535
    checks.count("port", port, 0, highest)
    if not host:  # which would mean all addresses of this machine
        raise checks.InputError("host must be an address: 127.0.0.1 for this machine alone, 0.0.0.0 for all, got ''.")
    last = min(port + 999, highest) if port else 0
    for number in range(port, last + 1):
        try:
            _try_to_listen(host, number)
            return number
        except PermissionError:  # low ports are reserved
            continue
        except (OSError, UnicodeError) as error:
            if getattr(error, "errno", None) != errno.EADDRINUSE:
                reason = getattr(error, "strerror", None) or str(error)
                raise checks.InputError(
                    f"The viewer cannot listen on the host {checks.shown(host)} ({reason}): 127.0.0.1 is for this "
                    "machine alone, 0.0.0.0 lets others in."
                ) from error
    raise checks.InputError(f"No port from {port} to {last} is free on {host}.")


def _try_to_listen(host: str, port: int) -> None:
    for family, kind, protocol, _, address in _addresses(host, port):
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # like viser
            probe.bind(address)


def _addresses(host: str, port: int) -> list[Any]:
    """The addresses of a host, with a short timeout for the name server."""
    found: list[Any] = []

    def ask() -> None:
        try:
            found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE))
        except (OSError, UnicodeError) as error:
            found.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(1.5)
    if not found:
        raise OSError(errno.ETIMEDOUT, "the name was not resolved within 1.5 s")
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


class Window:
    """A viser server with light and ground that plays until it is closed; subclasses add the scene.

    host, port: to listen on; the next free port if that one is taken
    extent: of the ground [m]
    """

    def __init__(self, *, host: str, port: int, extent: float) -> None:
        port = free_port(host, port)
        self._lock = threading.RLock()
        self._closing = threading.Event()
        with redirect_stdout(io.StringIO()):  # viser prints a greeting
            self.server = viser.ViserServer(host=host, port=port, label="stiction", verbose=False)
        shown = "localhost" if host in ("127.0.0.1", "0.0.0.0", "") else f"[{host}]" if ":" in host else host
        self.address = f"http://{shown}:{self.server.get_port()}"
        self.server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
        set_light(self.server.scene)
        self._world = self.server.scene.add_frame(WORLD, show_axes=False)
        set_ground(self.server.scene, extent, path=f"{WORLD}/ground")

    def add_play_button(self) -> None:
        """Add the button that pauses and continues; `playing` reports which."""
        self.playing = True
        self._play = self.server.gui.add_button("Pause", icon=viser.Icon.PLAYER_PAUSE, color="gray")
        self._play.on_click(lambda event: self.set_playing(not self.playing))

    def set_playing(self, playing: bool) -> None:
        """Pause or continue."""
        with self._lock:
            self.playing = playing
            self._play.label = "Pause" if playing else "Play"
            self._play.icon = viser.Icon.PLAYER_PAUSE if playing else viser.Icon.PLAYER_PLAY

    def set_camera(self, position, look_at) -> None:
        """Set the camera of all visitors, new ones too, and the point it looks at [m]."""
        self.server.initial_camera.fov = float(np.radians(40))
        for camera in (self.server.initial_camera, *(client.camera for client in self.server.get_clients().values())):
            camera.position, camera.look_at = position, look_at

    def follow(self, position) -> None:
        """Let the camera follow this position (x, y, ...) [m]; None: stop it."""
        wanted = np.zeros(3) if position is None else -np.array([position[0], position[1], 0.0])
        if np.abs(self._world.position - wanted).max() > 1e-5:
            self._world.position = wanted

    def advance(self, passed: float) -> None:
        """Advance the scene by `passed` seconds."""
        raise NotImplementedError(f"{type(self).__name__} must define advance.")

    def run(self) -> None:
        """Play until `close` is called from another thread, or the program is interrupted."""
        before = time.perf_counter()
        while not self._closing.wait(1 / 50):
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


def block(rows: list[str]) -> str:
    """Lines of HTML in the style of the controls."""
    return f'<div style="font-size:0.8em;padding:0.1em 1em;line-height:1.6">{"<br>".join(rows)}</div>'


def dot(colour: str, name: str) -> str:
    """One entry of a legend."""
    return f'<span style="color:{colour}">&#9679;</span> {name}'
