"""Replays on the page: runs side by side, recorded as a viser scene that plays without a server, and an SVG poster that
is shown before.

A Replay is one body in several runs; a Scene is a robot, or any number of bodies, in several runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from stiction.basics import colours
from stiction.basics.colours import Colour
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import Mode
from stiction.bodies.trajectory import Trajectory
from stiction.viewer.pieces import Piece, meshes
from stiction.viewer.solids import FRAME, Actor, Edges, Patch, Solid, finite_part
from stiction_studies.page.motions_shown import Motion, Scene
from stiction_studies.page.section import Replay
from stiction_studies.page.sight import FIELD_OF_VIEW, Sight, quiet_server, recorded, set_scene

GREY: Colour = (196, 202, 211)
WIDTH, HEIGHT = 960, 520  # of a poster [px]


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
        view, shapes, last = PosterView(self.sight), [], 4
        for run, shift, color in zip(self.runs.values(), self.offset, colours.of_runs(self.runs)):
            trail = view.path(run.position[::10] + shift)
            stroke = f'stroke="{colours.as_hex(color)}" stroke-width="2"'
            shapes.append((np.inf, f'<path d="{trail}" fill="none" {stroke}/>'))
            for pose, step in enumerate(_spread_steps(run, last + 1)):
                corners = self.solid.placed(run.position[step] + shift, run.quaternion[step])
                opacity = 1.0 if pose == last else 0.14 + 0.08 * pose
                # The last pose comes in front, since it is the one to compare.
                depth = float(np.linalg.norm(corners.mean(axis=0) - view.eye)) + (100.0 if pose < last else 0.0)
                shapes.append((depth, _shaded_solid(self.solid, corners, view, color, opacity)))
        return _svg([view.ground(), *(text for _, text in sorted(shapes, key=lambda shape: -shape[0]))])


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
        view = PosterView(self.sight)
        parts = [view.ground()] if self.ground else []
        for run, shift, color in zip(self.runs.values(), self.offset, colours.of_runs(self.runs)):
            for frame, opacity in ((0, 0.25), (-1, 1.0)):
                turn = rotation_matrices(np.ascontiguousarray(run.quaternion[frame]))
                parts.append(_outlines(self.pieces, run.position[frame] + shift, turn, view, color, opacity))
        return _svg(parts)


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


# Posters.


class PosterView:
    """The perspective camera of a poster."""

    def __init__(self, sight: Sight) -> None:
        self.eye, target = sight.camera
        back = self.eye - target
        back /= np.linalg.norm(back)
        right = np.cross([0.0, 0.0, 1.0], back)
        right /= np.linalg.norm(right)
        self._axes = np.stack([right, np.cross(back, right), back], axis=1)
        self._scale = HEIGHT / 2 / np.tan(FIELD_OF_VIEW / 2)
        self._half = sight.extent / 2 + sight.reach

    def pixels(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """World points (n, 3) projected to pixels, shape (n, 2)."""
        seen = (points - self.eye) @ self._axes
        flat = self._scale * seen[:, :2] / -seen[:, 2:]
        return np.array([WIDTH / 2, HEIGHT / 2]) + flat * [1, -1]

    def path(self, points: NDArray[np.float64], close: bool = False) -> str:
        """World points as the data of an SVG path."""
        return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in self.pixels(points)) + ("Z" if close else "")

    def ground(self) -> str:
        """Lines every 0.5 m."""
        half = 0.5 * np.ceil(self._half / 0.5)
        ticks = np.arange(-half, half + 0.25, 0.5)
        lines = [[[t, -half, 0], [t, half, 0]] for t in ticks] + [[[-half, t, 0], [half, t, 0]] for t in ticks]
        data = "".join(self.path(np.array(line)) for line in lines)
        return f'<path d="{data}" fill="none" stroke="#d5dae2"/>'


def _svg(parts: list[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'preserveAspectRatio="xMidYMid slice" aria-hidden="true">\n{body}\n</svg>'
    )


def _spread_steps(run: Trajectory, count: int) -> list[int]:
    """Steps at equal distances along the path, rotation included."""
    moved = np.linalg.norm(np.diff(run.position, axis=0), axis=1)
    turned = 0.1 * np.linalg.norm(np.diff(run.quaternion, axis=0), axis=1)
    way = np.concatenate([[0.0], np.cumsum(moved + turned)])
    return np.searchsorted(way, np.linspace(0.0, way[-1], count)).tolist()


def _shaded_solid(solid: Solid, corners: NDArray, view: PosterView, color: Colour, opacity: float) -> str:
    """The visible faces of a convex body, shaded by their direction."""
    parts = []
    for face in solid.faces:
        loop = corners[face]
        normal = np.cross(loop[1] - loop[0], loop[2] - loop[0])
        normal /= np.linalg.norm(normal)
        if (view.eye - loop[0]) @ normal > 0:
            shade = 0.82 + 0.3 * float(normal @ [0.3, 0.2, 0.93])
            fill = colours.as_hex(tuple(int(min(255, c * shade)) for c in color))  # type: ignore[arg-type]
            parts.append(f'<path d="{view.path(loop, close=True)}" fill="{fill}"/>')
    return f'<g opacity="{opacity:.2f}" stroke="#1e242e" stroke-linejoin="round">{"".join(parts)}</g>'


def _outlines(
    pieces: list[Piece], position: NDArray, turn: NDArray, view: PosterView, color: Colour, opacity: float
) -> str:
    """Outlines of all pieces, farthest first: a convex piece has the outline of the hull of its projected corners."""
    found = []
    for piece in pieces:
        corners = piece.vertices @ turn[piece.body].T + position[piece.body]
        outline = view.path(corners[ConvexHull(view.pixels(corners)).vertices], close=True)
        fill = f' fill="{colours.as_hex(GREY if piece.plain else color)}"'
        # By the farthest corner: a slab that supports bodies extends behind them.
        found.append((-float(np.linalg.norm(corners - view.eye, axis=1).max()), f'<path d="{outline}"{fill}/>'))
    paths = "".join(path for _, path in sorted(found))
    style = 'stroke="#1e242e" stroke-width="0.7" stroke-linejoin="round"'
    return f'<g opacity="{opacity:.2f}" {style}>{paths}</g>'
