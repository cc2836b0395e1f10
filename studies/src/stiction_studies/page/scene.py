"""A replay of whole robots: many bodies a run, recorded as a viser scene, and its poster."""

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
from stiction.viewer.pieces import Piece, meshes
from stiction.viewer.solids import Patch, Solid
from stiction_studies.page.motions_shown import Motion, Scene
from stiction_studies.page.poster import View, mode_spans, svg
from stiction_studies.page.sight import Sight, quiet_server, recorded, set_scene

_MOVED = 1e-4  # a body that has moved by less [m], or turned by less, since it was sent is not sent again
GREY: Colour = (196, 202, 211)
_OBLIQUE = 0.2  # runs may stand one behind the other where the eye does not look straight along an axis
_FAINT = 0.25  # opacity of a robot's start on the poster


@dataclass(frozen=True)
class SceneStage:
    """Where the robots stand and where they are seen from.

    runs: by name, all finite
    offset: of each run on the ground [m], shape (runs, 3)
    toward: horizontal direction from the scene to the camera, shape (3,)
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
        """Lanes side by side, the first run on the left: along y, if seen from x, where most robots look to.

        What goes far to the side, and hardly to the back, stands one behind the other instead, the first in front.
        """
        runs = {name: _finite_part(run) for name, run in scene.runs.items()}
        path = np.concatenate([_moving(run).reshape(-1, 3) for run in runs.values()])
        toward = np.array([*scene.seen_from, 0.0]) / np.hypot(*scene.seen_from)
        across = np.array([-toward[1], toward[0], 0.0])  # to the right, for the eye
        across = np.where(np.abs(across) < np.abs(across).max(), 0.0, np.sign(across))
        behind = np.where(across == 0, -np.sign([*toward[:2], 0.0]), 0.0)
        reach = _reach(scene.pieces)
        oblique = np.abs(toward[:2]).min() > _OBLIQUE
        if oblique and np.ptp(path @ across) > 2 * (np.ptp(path @ behind) + reach):  # as a chain that swings in a plane
            across = behind
        lane = np.ptp(path @ across) + 2 * reach
        place = np.arange(len(runs)) - (len(runs) - 1) / 2
        return cls(scene.pieces, runs, np.outer(lane * place, across), toward, scene.ground, scene.names)

    @cached_property
    def sight(self) -> Sight:
        """Where the bodies are, all lanes, and the camera."""
        path = [(_moving(run) + shift).reshape(-1, 3) for run, shift in zip(self.runs.values(), self.offset)]
        return Sight(np.concatenate(path), _reach(self.pieces), self.toward)

    @property
    def interval(self) -> float:
        """Between two recorded frames, as they are shown [s]."""
        return min(run.interval for run in self.runs.values())

    @property
    def duration(self) -> float:
        """For which the longest run is shown [s]."""
        return max((len(run.position) - 1) * run.interval for run in self.runs.values())

    @property
    def frames(self) -> int:
        """Of the longest run, all at the shortest interval."""
        return round(self.duration / self.interval) + 1

    def strips(self, unit: float) -> list[dict[str, Any]]:
        """When each body that touches was in which mode: name and spans, in units of so many seconds as shown."""
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


def record(scene: Scene) -> bytes:
    """The scene as a viser recording, which viser's client plays."""
    stage = SceneStage.of(scene)
    with quiet_server() as server:
        set_scene(server, stage.sight, ground=stage.ground)
        robots = [_Robot(server.scene, stage, number) for number in range(len(stage.runs))]
        return recorded(server, [robot.show for robot in robots], stage.duration, stage.interval)


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
        frame = min(round(time / self._run.interval), len(self._run.position) - 1)
        self._show_patches(frame)
        for body, handle in self._bodies.items():
            position, quaternion = self._run.position[frame, body] + self._offset, self._run.quaternion[frame, body]
            if np.abs(position - handle.position).max() > _MOVED:
                handle.position = position
            if np.abs(quaternion - handle.wxyz).max() > _MOVED:
                handle.wxyz = quaternion

    def _show_patches(self, frame: int) -> None:
        for body, patch in self._patches.items():
            mode = int(self._run.mode[frame, body]) if self._run.mode is not None else 0
            patch.show(mode, self._run.position[frame, body], self._run.quaternion[frame, body])


def scene_poster(stage: SceneStage) -> str:
    """An SVG of all runs: each robot as it is in the end, and faintly as it began."""
    view = View(stage.sight)
    parts = [view.ground()] if stage.ground else []
    for run, shift, color in zip(stage.runs.values(), stage.offset, colours.of_runs(stage.runs)):
        for frame, opacity in ((0, _FAINT), (-1, 1.0)):
            place = run.position[frame] + shift, rotation_matrices(np.ascontiguousarray(run.quaternion[frame]))
            parts.append(_drawn(stage.pieces, *place, view, color, opacity))
    return svg(parts)


def _drawn(pieces: list[Piece], position, turn, view: View, color: Colour, opacity: float) -> str:
    """The outlines of all pieces, those farther away first: a convex piece's outline is the hull of its corners."""
    found = []
    for piece in pieces:
        corners = piece.vertices @ turn[piece.body].T + position[piece.body]
        outline = view.path(corners[ConvexHull(view.pixels(corners)).vertices], close=True)
        fill = f' fill="{colours.as_hex(_color(piece, color))}"'
        # By the farthest corner: a slab that bodies lie on reaches behind them.
        found.append((-float(np.linalg.norm(corners - view.eye, axis=1).max()), f'<path d="{outline}"{fill}/>'))
    paths = "".join(path for _, path in sorted(found))
    style = 'stroke="#1e242e" stroke-width="0.7" stroke-linejoin="round"'
    return f'<g opacity="{opacity:.2f}" {style}>{paths}</g>'


def _color(piece: Piece, color: Colour) -> Colour:
    return GREY if piece.plain else color


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
    mode = None if run.mode is None else run.mode[:last]
    return replace(run, position=run.position[:last], quaternion=run.quaternion[:last], mode=mode)
