"""A replay of whole robots: many bodies a run, recorded as a viser scene, and its poster."""

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
import viser
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from stiction.bodies.rotations import rotation_matrices
from stiction.studies.page.poster import View, svg
from stiction.studies.page.replay import PAUSE, quiet_server, set_scene
from stiction.studies.page.section import Motion, Piece, Scene
from stiction.studies.page.shapes import RUN_COLORS, Color, hex_color
from stiction.studies.page.sight import Sight

_MOVED = 1e-4  # a body that has moved by less [m], or turned by less, since it was sent is not sent again
GREY: Color = (196, 202, 211)
_FAINT = 0.25  # opacity of a robot's start on the poster


@dataclass(frozen=True)
class SceneStage:
    """Where the robots stand and where they are seen from.

    runs: by name, all finite
    offset: of each run on the ground [m], shape (runs, 3)
    toward: horizontal direction from the scene to the camera, shape (3,)
    """

    pieces: list[Piece]
    runs: dict[str, Motion]
    offset: NDArray[np.float64]
    toward: NDArray[np.float64]
    ground: bool

    @classmethod
    def of(cls, scene: Scene) -> "SceneStage":
        """Lanes side by side, the first run on the left: along y, if seen from x, where most robots look to."""
        runs = {name: _finite_part(run) for name, run in scene.runs.items()}
        path = np.concatenate([_moving(run).reshape(-1, 3) for run in runs.values()])
        toward = np.array([*scene.seen_from, 0.0]) / np.hypot(*scene.seen_from)
        across = np.array([-toward[1], toward[0], 0.0])  # to the right, for the eye
        across = np.where(np.abs(across) < np.abs(across).max(), 0.0, np.sign(across))
        lane = np.ptp(path @ across) + 2 * _reach(scene.pieces)
        place = np.arange(len(runs)) - (len(runs) - 1) / 2
        return cls(scene.pieces, runs, np.outer(lane * place, across), toward, scene.ground)

    @cached_property
    def sight(self) -> Sight:
        """Where the bodies are, all lanes, and the camera."""
        path = [(_moving(run) + shift).reshape(-1, 3) for run, shift in zip(self.runs.values(), self.offset)]
        return Sight(np.concatenate(path), _reach(self.pieces), self.toward)

    @property
    def frames(self) -> int:
        """Of the longest run."""
        return max(len(run.position) for run in self.runs.values())


def record(scene: Scene) -> bytes:
    """The scene as a viser recording, which viser's client plays."""
    stage = SceneStage.of(scene)
    interval = next(iter(stage.runs.values())).interval
    with quiet_server() as server:
        set_scene(server, stage.sight, ground=stage.ground)
        robots = [_Robot(server.scene, stage, number) for number in range(len(stage.runs))]
        recording = server.get_scene_serializer()
        for frame in range(1, stage.frames):
            recording.insert_sleep(interval)
            for robot in robots:
                robot.show(frame)
        recording.insert_sleep(PAUSE)
        return recording.serialize()


class _Robot:
    """One run: a mesh for each body."""

    def __init__(self, scene: viser.SceneApi, stage: SceneStage, number: int) -> None:
        name, self._run = list(stage.runs.items())[number]
        self._offset, color = stage.offset[number], RUN_COLORS[number % len(RUN_COLORS)]
        self._bodies = {}
        for body, own in groupby(sorted(stage.pieces, key=lambda piece: piece.body), lambda piece: piece.body):
            pieces = list(own)
            vertices, triangles = _joined(pieces)
            position, quaternion = self._run.position[0, body] + self._offset, self._run.quaternion[0, body]
            self._bodies[body] = scene.add_mesh_simple(
                f"/{number}/{body}", vertices, triangles, color=_color(pieces[0], color), flat_shading=True,
                receive_shadow=False, position=position, wxyz=quaternion,
            )  # fmt: skip
        above = stage.sight.path[:, 2].max() + 1.2 * stage.sight.reach
        start = _moving(self._run)[0].mean(axis=0) + self._offset
        scene.add_label(f"/{number}/name", name, position=(start[0], start[1], above), anchor="bottom-center")

    def show(self, frame: int) -> None:
        frame = min(frame, len(self._run.position) - 1)
        for body, handle in self._bodies.items():
            position, quaternion = self._run.position[frame, body] + self._offset, self._run.quaternion[frame, body]
            if np.abs(position - handle.position).max() > _MOVED:
                handle.position = position
            if np.abs(quaternion - handle.wxyz).max() > _MOVED:
                handle.wxyz = quaternion


def scene_poster(stage: SceneStage) -> str:
    """An SVG of all runs: each robot as it is in the end, and faintly as it began."""
    view = View(stage.sight)
    parts = [view.ground()] if stage.ground else []
    for number, (run, shift) in enumerate(zip(stage.runs.values(), stage.offset)):
        color = RUN_COLORS[number % len(RUN_COLORS)]
        for frame, opacity in ((0, _FAINT), (-1, 1.0)):
            place = run.position[frame] + shift, rotation_matrices(np.ascontiguousarray(run.quaternion[frame]))
            parts.append(_drawn(stage.pieces, *place, view, color, opacity))
    return svg(parts)


def _drawn(pieces: list[Piece], position, turn, view: View, color: Color, opacity: float) -> str:
    """The outlines of all pieces, those farther away first: a convex piece's outline is the hull of its corners."""
    found = []
    for piece in pieces:
        corners = piece.vertices @ turn[piece.body].T + position[piece.body]
        outline = view.path(corners[ConvexHull(view.pixels(corners)).vertices], close=True)
        fill = f' fill="{hex_color(_color(piece, color))}"'
        # By the farthest corner: a slab that bodies lie on reaches behind them.
        found.append((-float(np.linalg.norm(corners - view.eye, axis=1).max()), f'<path d="{outline}"{fill}/>'))
    paths = "".join(path for _, path in sorted(found))
    style = 'stroke="#1e242e" stroke-width="0.7" stroke-linejoin="round"'
    return f'<g opacity="{opacity:.2f}" {style}>{paths}</g>'


def _color(piece: Piece, color: Color) -> Color:
    return GREY if piece.plain else color


def _joined(pieces: list[Piece]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Vertices and triangles of pieces of one body as one mesh."""
    first = np.cumsum([0, *(len(piece.vertices) for piece in pieces)])
    triangles = [piece.triangles + start for piece, start in zip(pieces, first)]
    return np.concatenate([piece.vertices for piece in pieces]), np.concatenate(triangles)


def _reach(pieces: list[Piece]) -> float:
    return max(float(np.linalg.norm(piece.vertices, axis=1).max()) for piece in pieces)


def _moving(run: Motion) -> NDArray[np.float64]:
    """Places of the bodies that move at all, shape (frames, n, 3); of all bodies where none does."""
    moves = np.ptp(run.position, axis=0).max(axis=-1) > 0
    return run.position[:, moves] if moves.any() else run.position


def _finite_part(run: Motion) -> Motion:
    """The run up to its last finite frame."""
    good = np.isfinite(run.position).all(axis=(1, 2)) & np.isfinite(run.quaternion).all(axis=(1, 2))
    good &= np.abs(np.nan_to_num(run.position)).max(axis=(1, 2)) < 1e3
    last = len(good) if good.all() else max(1, int(good.argmin()))
    return Motion(run.position[:last], run.quaternion[:last], run.interval)
