"""Replays on the page: runs side by side, recorded as a viser scene that plays without a server, and an SVG poster that
is shown before.

A Replay is one body in several runs; a Scene is a robot, or any number of bodies, in several runs.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from stiction.basics import colours
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import Mode
from stiction.bodies.trajectory import Trajectory
from stiction.viewer.pieces import Piece, meshes
from stiction.viewer.solids import FRAME, Actor, Edges, Patch, Solid, finite_part
from stiction.viewer.window import set_ground, set_light
from stiction_studies.page.camera import FIELD_OF_VIEW, Sight
from stiction_studies.page.motions_shown import Motion, Scene
from stiction_studies.page.poster import GREY, Poster
from stiction_studies.page.section import Replay


def _offsets(count: int, lane: float, across: NDArray[np.float64]) -> NDArray[np.float64]:
    """Offsets (count, 3) of runs in lanes side by side, centred on the origin [m]."""
    return np.outer(lane * (np.arange(count) - (count - 1) / 2), across)


@dataclass(frozen=True)
class ReplayStage:
    """Arrangement and camera direction of a replay.

    runs: by name, all finite
    offset: of each run on the ground [m], shape (runs, 3)
    toward: horizontal direction from the scene to the camera, shape (3,)
    """

    solid: Solid
    runs: dict[str, Trajectory]
    offset: NDArray[np.float64]
    toward: NDArray[np.float64]

    @classmethod
    def of(cls, replay: Replay) -> "ReplayStage":
        """Lanes side by side across the direction of travel, the first run on the left, moving toward the camera."""
        runs = {name: finite_part(run) for name, run in replay.runs.items()}
        path = np.concatenate([run.position for run in runs.values()])
        if replay.body.planar:  # one behind the other: each moves along x, and its plane should face the camera
            across, toward, lane = np.array([0.0, 1.0]), np.array([0.3, -1.0]), 2.0 * replay.body.diameter
        else:
            travel = path[len(next(iter(runs.values())).position) - 1, :2] - path[0, :2]
            length = np.linalg.norm(travel)
            ahead = travel / length if length > 0.1 * replay.body.diameter else np.array([1.0, 0.0])
            across = np.array([-ahead[1], ahead[0]])
            toward = ahead + 0.4 * across
            lane = np.ptp(path[:, :2] @ across) + 1.2 * replay.body.diameter
        offset = _offsets(len(runs), lane, np.append(across, 0.0))
        return cls(Solid.of(replay.body), runs, offset, np.append(toward, 0.0) / np.linalg.norm(toward))

    @cached_property
    def sight(self) -> Sight:
        """Positions of the bodies in all lanes, and the camera."""
        path = np.concatenate([run.position + shift for run, shift in zip(self.runs.values(), self.offset)])
        return Sight(path, float(np.linalg.norm(self.solid.vertices, axis=1).max()), self.toward)

    @property
    def duration(self) -> float:
        """Duration of the longest run [s]."""
        return max(run.steps * run.timestep for run in self.runs.values())

    @property
    def interval(self) -> float:
        """Time between two recorded frames [s]: whole time steps of the first run."""
        timestep = next(iter(self.runs.values())).timestep
        return timestep * max(1, round(FRAME / timestep))

    def strips(self, unit: float) -> list[dict[str, Any]]:
        """Contact modes over time: name and spans of each run whose contacts are known; `unit` of time [s]."""
        return [
            {"name": name, "spans": mode_spans(run.mode, run.timestep / unit)}
            for name, run in self.runs.items()
            if run.kind.any()
        ]

    def record(self) -> bytes:
        """The replay as a viser recording, which viser's client plays."""
        with quiet_server() as server:
            set_scene(server, self.sight)
            lanes = [_Lane(server.scene, self, i) for i in range(len(self.runs))]
            for lane in lanes:
                lane.show(0.0)
            return recorded(server, [lane.show for lane in lanes], self.duration, self.interval)

    def poster(self) -> str:
        """An SVG of all runs: their paths, and the bodies at five times, the last one opaque; farthest first."""
        view, shapes, last = Poster(self.sight), [], 4
        for run, shift, color in zip(self.runs.values(), self.offset, colours.of_runs(self.runs)):
            trail = view.path(run.position[::10] + shift)
            stroke = f'stroke="{colours.as_hex(color)}" stroke-width="2"'
            shapes.append((np.inf, f'<path d="{trail}" fill="none" {stroke}/>'))
            for pose, step in enumerate(_spread_steps(run, last + 1)):
                corners = self.solid.placed(run.position[step] + shift, run.quaternion[step])
                opacity = 1.0 if pose == last else 0.14 + 0.08 * pose
                # The last pose comes in front, since it is the one to compare.
                depth = float(np.linalg.norm(corners.mean(axis=0) - view.eye)) + (100.0 if pose < last else 0.0)
                shapes.append((depth, view.solid(self.solid, corners, color, opacity)))
        return view.svg([view.ground(), *(text for _, text in sorted(shapes, key=lambda shape: -shape[0]))])


class _Lane:
    """One run: its body as a solid, and the edges of the ground truth's body."""

    def __init__(self, scene: viser.SceneApi, stage: ReplayStage, number: int) -> None:
        self._run, self._truth = list(stage.runs.values())[number], next(iter(stage.runs.values()))
        path, shift, color = f"/{number}", stage.offset[number], colours.of_runs(stage.runs)[number]
        self._actor = Actor(scene, path, stage.solid, color=color, offset=shift)
        self._actor.trail(self._run)
        self._edges = Edges(scene, f"{path}/truth", stage.solid, offset=shift)
        above = self._run.position[0] + shift + [0.0, 0.0, 1.2 * stage.sight.reach]
        scene.add_label(f"{path}/name", list(stage.runs)[number], position=above, anchor="bottom-center")

    def show(self, time: float) -> None:
        """Draw run and truth at this time [s]; their time steps may differ."""
        self._actor.show(self._run, round(time / self._run.timestep))
        self._edges.show(self._truth, round(time / self._truth.timestep))


@dataclass(frozen=True)
class SceneStage:
    """Arrangement and camera direction of a scene; fields as in ReplayStage.

    names: of the bodies whose contact modes are shown
    """

    pieces: list[Piece]
    runs: dict[str, Motion]
    offset: NDArray[np.float64]
    toward: NDArray[np.float64]
    ground: bool
    names: Mapping[int, str]

    @classmethod
    def of(cls, scene: Scene) -> "SceneStage":
        """Lanes side by side, the first run on the left: along y, if seen from x, which most robots face.

        Runs that move far to the side, and hardly away from the camera, stand one behind the other instead, the first
        in front.
        """
        runs = {name: _finite_motion(run) for name, run in scene.runs.items()}
        path = np.concatenate([_moving(run).reshape(-1, 3) for run in runs.values()])
        toward = np.array([*scene.seen_from, 0.0]) / np.hypot(*scene.seen_from)
        across = np.array([-toward[1], toward[0], 0.0])  # to the right in the picture
        across = np.where(np.abs(across) < np.abs(across).max(), 0.0, np.sign(across))
        behind = np.where(across == 0, -np.sign([*toward[:2], 0.0]), 0.0)
        reach = _reach(scene.pieces)
        oblique = np.abs(toward[:2]).min() > 0.2  # else the first run would hide the others
        if oblique and np.ptp(path @ across) > 2 * (np.ptp(path @ behind) + reach):  # as a chain that swings in a plane
            across = behind
        offset = _offsets(len(runs), np.ptp(path @ across) + 2 * reach, across)
        return cls(scene.pieces, runs, offset, toward, scene.ground, scene.names)

    @cached_property
    def sight(self) -> Sight:
        """Positions of the bodies in all lanes, and the camera."""
        path = [(_moving(run) + shift).reshape(-1, 3) for run, shift in zip(self.runs.values(), self.offset)]
        return Sight(np.concatenate(path), _reach(self.pieces), self.toward)

    @property
    def interval(self) -> float:
        """Time between two recorded frames, as they are shown [s]."""
        return min(run.interval for run in self.runs.values())

    @property
    def duration(self) -> float:
        """Duration of the longest run, as it is shown [s]."""
        return max((len(run.position) - 1) * run.interval for run in self.runs.values())

    def strips(self, unit: float) -> list[dict[str, Any]]:
        """Contact modes over time: name and spans of each named body of each run; `unit` of time, as shown [s]."""
        several = sum(run.mode is not None for run in self.runs.values()) > 1
        return [
            {
                "name": f"{name}, {body}" if several else body,
                "spans": mode_spans(run.mode[:-1, number], run.interval / unit),
            }
            for name, run in self.runs.items()
            if run.mode is not None
            for number, body in self.names.items()
        ]

    def record(self) -> bytes:
        """The scene as a viser recording, which viser's client plays."""
        with quiet_server() as server:
            set_scene(server, self.sight, ground=self.ground)
            robots = [_Robot(server.scene, self, number) for number in range(len(self.runs))]
            return recorded(server, [robot.show for robot in robots], self.duration, self.interval)

    def poster(self) -> str:
        """An SVG of all runs: each robot at its end, and faintly at its start."""
        view = Poster(self.sight)
        parts = [view.ground()] if self.ground else []
        for run, shift, color in zip(self.runs.values(), self.offset, colours.of_runs(self.runs)):
            for frame, opacity in ((0, 0.25), (-1, 1.0)):
                turn = rotation_matrices(np.ascontiguousarray(run.quaternion[frame]))
                parts.append(view.outlines(self.pieces, run.position[frame] + shift, turn, color, opacity))
        return view.svg(parts)


class _Robot:
    """One run: a mesh for each body, and patches on the ground where its contact modes are known."""

    def __init__(self, scene: viser.SceneApi, stage: SceneStage, number: int) -> None:
        name, self._run = list(stage.runs.items())[number]
        self._offset, color = stage.offset[number], colours.of_runs(stage.runs)[number]
        self._bodies, self._patches = {}, {}
        plain = {piece.body: piece.plain for piece in reversed(stage.pieces)}
        for body, (vertices, triangles) in meshes(stage.pieces).items():
            position, quaternion = self._run.position[0, body] + self._offset, self._run.quaternion[0, body]
            self._bodies[body] = scene.add_mesh_simple(
                f"/{number}/{body}", vertices, triangles, color=GREY if plain[body] else color, flat_shading=True,
                receive_shadow=False, position=position, wxyz=quaternion,
            )  # fmt: skip
            if self._run.mode is not None and body in stage.names:
                solid = Solid(vertices, list(triangles))
                self._patches[body] = Patch(scene, f"/{number}/{body}-patch", solid, offset=self._offset)
        above = stage.sight.path[:, 2].max() + 1.2 * stage.sight.reach
        start = _moving(self._run)[0].mean(axis=0) + self._offset
        scene.add_label(f"/{number}/name", name, position=(start[0], start[1], above), anchor="bottom-center")

    def show(self, time: float) -> None:
        """Draw the robot at this time, as it is shown [s]."""
        run = self._run
        frame = min(round(time / run.interval), len(run.position) - 1)
        for body, patch in self._patches.items():
            mode = int(run.mode[frame, body]) if run.mode is not None else 0
            patch.show(mode, run.position[frame, body], run.quaternion[frame, body])
        moved = 1e-4  # [m]; a pose that has changed by less is not recorded, which keeps the page small
        for body, handle in self._bodies.items():
            position, quaternion = run.position[frame, body] + self._offset, run.quaternion[frame, body]
            if np.abs(position - handle.position).max() > moved:
                handle.position = position
            if np.abs(quaternion - handle.wxyz).max() > moved:
                handle.wxyz = quaternion


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


def _spread_steps(run: Trajectory, count: int) -> list[int]:
    """Steps at equal distances along the path, rotation included."""
    moved = np.linalg.norm(np.diff(run.position, axis=0), axis=1)
    turned = 0.1 * np.linalg.norm(np.diff(run.quaternion, axis=0), axis=1)
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
