"""Replays on the page: runs side by side, recorded as a viser scene that plays without a server, and an SVG poster that
is shown before."""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from stiction.basics import colours
from stiction.basics.colours import Colour
from stiction.bodies.faces import faces_of
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import Mode
from stiction.viewer.pieces import Piece, meshes
from stiction.viewer.solids import FRAME, Patch, Solid
from stiction.viewer.window import set_ground, set_light
from stiction_studies.page.camera import FIELD_OF_VIEW, Sight
from stiction_studies.page.motions_shown import Motion, Scene
from stiction_studies.page.poster import GREY, Poster


@dataclass(frozen=True)
class Stage:
    """Arrangement and camera direction of a scene.

    runs: by name, all finite
    offset: of each run on the ground [m], shape (runs, 3)
    toward: horizontal direction from the scene to the camera, shape (3,)
    """

    scene: Scene
    runs: dict[str, Motion]
    offset: NDArray[np.float64]
    toward: NDArray[np.float64]

    @classmethod
    def of(cls, scene: Scene) -> "Stage":
        """Lanes side by side, the first run on the left: along y, if seen from x, which most robots face.

        Runs that move far to the side, and hardly away from the camera, stand one behind the other instead, the first
        in front.
        """
        runs = {name: _finite_motion(run) for name, run in scene.runs.items()}
        path = np.concatenate([_moving(run).reshape(-1, 3) for run in runs.values()])
        toward = np.array([*scene.seen_from, 0.0]) / np.hypot(*scene.seen_from)
        reach = _reach(scene.pieces)
        if scene.row is not None:
            across = np.array([*scene.row, 0.0])
        else:
            across = np.array([-toward[1], toward[0], 0.0])  # to the right in the picture
            across = np.where(np.abs(across) < np.abs(across).max(), 0.0, np.sign(across))
            behind = np.where(across == 0, -np.sign([*toward[:2], 0.0]), 0.0)
            oblique = np.abs(toward[:2]).min() > 0.2  # else the first run would hide the others
            if oblique and np.ptp(path @ across) > 2 * (np.ptp(path @ behind) + reach):  # a chain swings in a plane
                across = behind
        lane = np.ptp(path @ across) + 2 * reach
        offset = np.outer(lane * (np.arange(len(runs)) - (len(runs) - 1) / 2), across)  # centred on the origin
        return cls(scene, runs, offset, toward)

    @cached_property
    def sight(self) -> Sight:
        """Positions of the bodies in all lanes, and the camera."""
        path = [(_moving(run) + shift).reshape(-1, 3) for run, shift in zip(self.runs.values(), self.offset)]
        return Sight(np.concatenate(path), _reach(self.scene.pieces), self.toward)

    @property
    def outlined(self) -> Motion | None:
        """The run whose outline is drawn in all lanes: the ground truth of a single body; else None."""
        return self.runs.get(self.scene.truth) if len(self.scene.pieces) == 1 else None

    @property
    def interval(self) -> float:
        """Time between two recorded frames, as they are shown [s]."""
        shortest = min(run.interval for run in self.runs.values())
        return shortest * max(1, round(FRAME / shortest))

    @property
    def duration(self) -> float:
        """Duration of the longest run, as it is shown [s]."""
        return max((len(run.position) - 1) * run.interval for run in self.runs.values())

    def strips(self, unit: float) -> list[dict[str, Any]]:
        """Contact modes over time: name and spans of each named body of each run; `unit` of time, as shown [s]."""
        modes = {name: run.mode for name, run in self.runs.items() if run.mode is not None}
        return [
            {
                "name": _strip_name(name, body, len(modes)),
                "spans": mode_spans(mode[:-1, k], self.runs[name].interval / unit),
            }
            for name, mode in modes.items()
            for k, body in self.scene.names.items()
        ]

    def record(self) -> bytes:
        """The scene as a viser recording, which viser's client plays."""
        with quiet_server() as server:
            set_scene(server, self.sight, ground=self.scene.ground)
            lanes = [_Lane(server.scene, self, number) for number in range(len(self.runs))]
            return recorded(server, [lane.show for lane in lanes], self.duration, self.interval)

    def poster(self) -> str:
        """An SVG of all runs at their end and faintly at their start, with trails also in between."""
        view, trails, shapes = Poster(self.sight), [], []
        for run, shift, color in zip(self.runs.values(), self.offset, colours.of_runs(self.runs)):
            frames, faint = [0, len(run.position) - 1], [0.25]
            if self.scene.trails:
                frames, faint = _spread_frames(run, 5), [0.14, 0.22, 0.3, 0.38]
                trails.append(view.trail(run.position[::10, 0] + shift, color))
            for frame, opacity in zip(frames, [*faint, 1.0]):
                position, turn = run.position[frame] + shift, rotation_matrices(np.array(run.quaternion[frame]))
                depth = float(np.linalg.norm(position.mean(axis=0) - view.eye))
                drawn = view.pieces(self.scene.pieces, position, turn, color, opacity)
                shapes.append((opacity == 1.0, -depth, drawn))  # the last poses in front, to be compared
        ground = [view.ground()] if self.scene.ground else []
        return view.svg([*ground, *trails, *(drawn for _, _, drawn in sorted(shapes))])


class _Lane:
    """One run: a mesh for each body, its trail, the outline of the truth, and patches where contact modes are known."""

    def __init__(self, scene: viser.SceneApi, stage: Stage, number: int) -> None:
        name, self._run = list(stage.runs.items())[number]
        self._offset, color = stage.offset[number], colours.of_runs(stage.runs)[number]
        self._bodies, self._patches, self._truth, self._edges = {}, {}, stage.outlined, None
        pieces = stage.scene.pieces
        plain = {piece.body: piece.plain for piece in reversed(pieces)}
        for body, (vertices, triangles) in meshes(pieces).items():
            position, quaternion = self._pose(self._run, 0, body)
            self._bodies[body] = scene.add_mesh_simple(
                f"/{number}/{body}", vertices, triangles, color=GREY if plain[body] else color, flat_shading=True,
                receive_shadow=False, position=position, wxyz=quaternion,
            )  # fmt: skip
            if self._run.mode is not None and body in stage.scene.names:
                solid = Solid(vertices, list(triangles))
                self._patches[body] = Patch(scene, f"/{number}/{body}-patch", solid, offset=self._offset)
            if stage.scene.trails:
                every = max(1, round(FRAME / self._run.interval))
                path = self._run.position[::every, body] + self._offset
                _add_lines(scene, f"/{number}/{body}-trail", np.stack([path[:-1], path[1:]], axis=1), color, 2.0)
        if self._truth is not None:
            corners = pieces[0].vertices
            solid = Solid(corners, faces_of(corners))
            self._edges = _add_lines(scene, f"/{number}/truth", solid.edges, colours.INK, 1.5)
        above = stage.sight.path[:, 2].max() + 1.2 * stage.sight.reach
        start = _moving(self._run)[0].mean(axis=0) + self._offset
        scene.add_label(f"/{number}/name", name, position=(start[0], start[1], above), anchor="bottom-center")
        self.show(0.0)

    def show(self, time: float) -> None:
        """Draw the run at this time, as it is shown [s]."""
        run = self._run
        frame = min(round(time / run.interval), len(run.position) - 1)
        for body, patch in self._patches.items():
            mode, at = _shown_contact(run, frame, body)
            patch.show(mode, run.position[at, body], run.quaternion[at, body])
        for body, handle in self._bodies.items():
            _move(handle, *self._pose(run, frame, body))
        if self._truth is not None:
            _move(self._edges, *self._pose(self._truth, round(time / self._truth.interval), 0))

    def _pose(self, run: Motion, frame: int, body: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Position in this lane and quaternion of a body of a run; after its end, those of its last frame."""
        frame = min(frame, len(run.position) - 1)
        return run.position[frame, body] + self._offset, run.quaternion[frame, body]


def _add_lines(scene: viser.SceneApi, path: str, ends: NDArray[np.float64], color: Colour, thickness: float) -> Any:
    return scene.add_line_segments(path, ends, color, thickness=thickness, thickness_units="screen")


def _move(handle: Any, position: NDArray[np.float64], quaternion: NDArray[np.float64]) -> None:
    """Set the pose of a shape, unless it has hardly changed, which keeps the page small."""
    if np.abs(position - handle.position).max() > 1e-4:  # [m]
        handle.position = position
    if np.abs(quaternion - handle.wxyz).max() > 1e-4:
        handle.wxyz = quaternion


def _shown_contact(run: Motion, frame: int, body: int) -> tuple[int, int]:
    """The contact mode that is drawn, and its frame: the last within 0.03 s, since most impacts last one step."""
    first = max(0, frame - round(0.03 / run.interval))
    mode = np.zeros(frame + 1 - first) if run.mode is None else run.mode[first : frame + 1, body]
    touching = np.flatnonzero(mode)
    return (int(mode[touching[-1]]), first + int(touching[-1])) if len(touching) else (0, frame)


def _strip_name(run: str, body: str, n_runs: int) -> str:
    """Name of a strip of contact modes, of which there are `n_runs` runs."""
    if not body:
        return run
    return f"{run}, {body}" if n_runs > 1 else body


def _reach(pieces: list[Piece]) -> float:
    return max(float(np.linalg.norm(piece.vertices, axis=1).max()) for piece in pieces)


def _moving(run: Motion) -> NDArray[np.float64]:
    """Positions of the bodies that move, shape (frames, n, 3); of all bodies if none moves."""
    moves = np.ptp(run.position, axis=0).max(axis=-1) > 0
    return run.position[:, moves] if moves.any() else run.position


def _finite_motion(run: Motion) -> Motion:
    """The run up to its last finite frame."""
    good = np.isfinite(run.position).all(axis=(1, 2)) & np.isfinite(run.quaternion).all(axis=(1, 2))
    good &= np.abs(np.nan_to_num(run.position)).max(axis=(1, 2)) < 1e3
    last = len(good) if good.all() else max(1, int(good.argmin()))
    mode = None if run.mode is None else run.mode[:last]
    return replace(run, position=run.position[:last], quaternion=run.quaternion[:last], mode=mode)


def mode_spans(mode: NDArray[np.int8], timestep: float) -> list[tuple[float, float, str]]:
    """Times in contact, as (start, end, name of the mode) in order.

    mode: of each step, shape (steps,)
    timestep: duration of a step, in the unit of start and end
    """
    cuts = np.flatnonzero(np.diff(mode)) + 1
    starts, ends = [0, *cuts.tolist()], [*cuts.tolist(), len(mode)]
    spans = ((a, b, Mode(int(mode[a]))) for a, b in zip(starts, ends) if a < b)
    return [
        (round(a * timestep, 3), round(b * timestep, 3), mode.name.lower()) for a, b, mode in spans if mode != Mode.NONE
    ]


def _spread_frames(run: Motion, count: int) -> list[int]:
    """Frames at equal distances along the path of the first body, rotation included."""
    moved = np.linalg.norm(np.diff(run.position[:, 0], axis=0), axis=1)
    turned = 0.1 * np.linalg.norm(np.diff(run.quaternion[:, 0], axis=0), axis=1)
    way = np.concatenate([[0.0], np.cumsum(moved + turned)])
    return np.searchsorted(way, np.linspace(0.0, way[-1], count)).tolist()


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
