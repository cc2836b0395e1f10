"""A replay: runs of one throw side by side, recorded as a viser scene that plays in a page without a server."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import viser
from numpy.typing import NDArray

from stiction.bodies.state import Mode, Trajectory
from stiction.studies.page.section import Replay
from stiction.studies.page.shapes import MODE_COLORS, RUN_COLORS, Color, Solid, finite_part, shown_contact
from stiction.studies.page.sight import FIELD_OF_VIEW, Sight

FRAME = 0.01  # [s] between two recorded frames
PAUSE = 0.6  # [s] at the end, before the player begins anew
_INK: Color = (30, 36, 46)
_LIFT = 0.002  # [m] marks lie this high above the ground, so that it does not hide them


@dataclass(frozen=True)
class Stage:
    """Where the runs of a replay stand and where they are seen from.

    runs: by name, all finite
    offset: of each run on the ground [m], shape (runs, 3)
    toward: horizontal direction from the scene to the camera, shape (3,)
    """

    solid: Solid
    runs: dict[str, Trajectory]
    offset: NDArray[np.float64]
    toward: NDArray[np.float64]

    @classmethod
    def of(cls, replay: Replay) -> "Stage":
        """Lanes side by side across the direction of travel, the first run on the left; they come toward the eye."""
        runs = {name: finite_part(run) for name, run in replay.runs.items()}
        path = np.concatenate([run.position for run in runs.values()])
        if replay.body.planar:  # one behind the other: each moves along x, and its plane should face the eye
            across, toward, lane = np.array([0.0, 1.0]), np.array([0.3, -1.0]), 2.0 * replay.body.diameter
        else:
            travel = path[len(next(iter(runs.values())).position) - 1, :2] - path[0, :2]
            length = np.linalg.norm(travel)
            ahead = travel / length if length > 0.1 * replay.body.diameter else np.array([1.0, 0.0])
            across = np.array([-ahead[1], ahead[0]])
            toward = ahead + 0.4 * across
            lane = np.ptp(path[:, :2] @ across) + 1.2 * replay.body.diameter
        place = np.arange(len(runs)) - (len(runs) - 1) / 2
        offset = np.outer(lane * place, np.append(across, 0.0))
        return cls(Solid.of(replay.body), runs, offset, np.append(toward, 0.0) / np.linalg.norm(toward))

    @cached_property
    def sight(self) -> Sight:
        """Where the bodies are, all lanes, and the camera."""
        path = np.concatenate([run.position + shift for run, shift in zip(self.runs.values(), self.offset)])
        return Sight(path, float(np.linalg.norm(self.solid.vertices, axis=1).max()), self.toward)

    @property
    def steps(self) -> int:
        """Of the longest run."""
        return max(run.steps for run in self.runs.values())


def record(replay: Replay) -> bytes:
    """The replay as a viser recording, which viser's client plays."""
    stage = Stage.of(replay)
    first = next(iter(stage.runs.values()))
    stride = max(1, round(FRAME / first.timestep))
    with quiet_server() as server:
        set_scene(server, stage.sight)
        cast = [_Lane(server.scene, stage, i) for i in range(len(stage.runs))]
        for lane in cast:
            lane.show(0)
        recording = server.get_scene_serializer()
        for step in range(stride, stage.steps + 1, stride):
            recording.insert_sleep(stride * first.timestep)
            for lane in cast:
                lane.show(step)
        recording.insert_sleep(PAUSE)
        return recording.serialize()


class _Lane:
    """One run: its body as a solid, and the edges of the ground truth's body, which part where the two differ."""

    def __init__(self, scene: viser.SceneApi, stage: Stage, number: int) -> None:
        self._run, self._truth = list(stage.runs.values())[number], next(iter(stage.runs.values()))
        path, shift, color = f"/{number}", stage.offset[number], RUN_COLORS[number % len(RUN_COLORS)]
        self._actor = Actor(scene, path, stage.solid, color=color, offset=shift)
        self._actor.trail(self._run)
        self._edges = Edges(scene, f"{path}/truth", stage.solid, offset=shift)
        above = self._run.position[0] + shift + [0.0, 0.0, 1.2 * stage.sight.reach]
        scene.add_label(f"{path}/name", list(stage.runs)[number], position=above, anchor="bottom-center")

    def show(self, step: int) -> None:
        self._actor.show(self._run, step)
        self._edges.show(self._truth, step)


class Actor:
    """One body in a viser scene, with its contact patch on the ground in the colour of its mode."""

    def __init__(self, scene: viser.SceneApi, path: str, solid: Solid, *, color: Color, offset=(0.0, 0.0, 0.0)) -> None:
        self._scene, self._path, self._solid, self._color = scene, path, solid, color
        self._offset = np.asarray(offset, dtype=np.float64)
        self._margin = 0.11 * float(np.ptp(solid.vertices, axis=0).max())
        self._body = scene.add_mesh_simple(
            f"{path}/body", solid.vertices, solid.triangles, color=color, flat_shading=True, receive_shadow=False
        )
        outline = solid.patch(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]), self._margin)
        fan = np.array([(0, k, k + 1) for k in range(1, len(outline) - 1)])
        self._patch = scene.add_mesh_simple(
            f"{path}/patch",
            self._on_ground(outline),
            fan,
            color=MODE_COLORS[Mode.STATIC],
            side="double",
            cast_shadow=False,
            receive_shadow=False,
            visible=False,
        )
        self._drawn: tuple[int, int] | None = None  # step and mode of the patch that is drawn

    def trail(self, run: Trajectory) -> None:
        """Draw the whole path of the body frame's origin."""
        points = run.position[:: max(1, round(FRAME / run.timestep))] + self._offset
        self._scene.add_line_segments(
            f"{self._path}/trail",
            np.stack([points[:-1], points[1:]], axis=1),
            self._color,
            thickness=2.0,
            thickness_units="screen",
        )

    def show(self, run: Trajectory, step: int) -> int | None:
        """Draw the run at `step`; the step whose contact is drawn, or None."""
        frame = min(step, run.steps)
        self._body.position = run.position[frame] + self._offset
        self._body.wxyz = run.quaternion[frame]
        contact = shown_contact(run, min(step, run.steps - 1))
        self._show_patch(run, contact)
        return contact

    def outline(self, run: Trajectory, contact: int) -> NDArray[np.float64]:
        """Outline of the patch at a step in contact, as it is drawn; world x, y [m], shape (n, 2)."""
        return self._solid.patch(run.position[contact], run.quaternion[contact], self._margin)

    def _show_patch(self, run: Trajectory, contact: int | None) -> None:
        resting = (
            contact is not None
            and self._drawn is not None
            and self._drawn[1] == run.mode[contact]
            and np.array_equal(run.position[contact], run.position[self._drawn[0]])
            and np.array_equal(run.quaternion[contact], run.quaternion[self._drawn[0]])
        )
        if resting:  # nothing to send
            return
        if (contact is None) != (self._drawn is None):
            self._patch.visible = contact is not None
        self._drawn = None
        if contact is not None:
            self._patch.vertices = self._on_ground(self.outline(run, contact))
            self._patch.color = MODE_COLORS[Mode(int(run.mode[contact]))]
            self._drawn = contact, int(run.mode[contact])

    def _on_ground(self, outline: NDArray[np.float64]) -> NDArray[np.float32]:
        points = np.column_stack([outline, np.full(len(outline), _LIFT)]) + self._offset
        return points.astype(np.float32)


class Edges:
    """The edges of a body in a viser scene."""

    def __init__(self, scene: viser.SceneApi, path: str, solid: Solid, *, offset=(0.0, 0.0, 0.0)) -> None:
        self._offset = np.asarray(offset, dtype=np.float64)
        self._lines = scene.add_line_segments(path, solid.edges, _INK, thickness=1.5, thickness_units="screen")

    def show(self, run: Trajectory, step: int) -> None:
        """Draw the run at `step`."""
        frame = min(step, run.steps)
        self._lines.position = run.position[frame] + self._offset
        self._lines.wxyz = run.quaternion[frame]


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


def set_ground(scene: viser.SceneApi, extent: float) -> None:
    """The ground: a square of that extent [m] with lines every 0.1 m and 0.5 m."""
    side = 0.5 * np.ceil(extent / 0.5) + 0.5
    scene.add_grid(
        "/ground",
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
