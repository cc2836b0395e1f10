"""Motions of throws, robots and other bodies as a page shows them side by side."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.trajectory import Trajectory
from stiction.mujoco import mjcf
from stiction.viewer.pieces import Piece, pieces_of
from stiction.viewer.solids import Solid


@dataclass(frozen=True)
class Motion:
    """The motion of several bodies.

    position: of their frames, world axes [m], shape (frames, bodies, 3); quaternion: shape (frames, bodies, 4)
    interval: between two frames [s]
    mode: contact mode of each body on the ground in each frame, values of stiction.Mode, shape (frames, bodies); None
        if unknown
    """

    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    interval: float
    mode: NDArray[np.int8] | None = None


@dataclass(frozen=True)
class Scene:
    """Motions of a thrown body, a robot, or several bodies, to be shown side by side.

    pieces: shapes of the bodies
    runs: by the name that is shown
    seen_from: horizontal direction from the scene to the camera, (2,)
    row: direction in which the runs are placed in a row, (2,); None: x or y, whichever is across the view
    ground: draw the ground z = 0
    trails: draw the paths of the bodies
    truth: name of the run whose outline is drawn over all others, on the page for a single body; empty: none
    speed: playback speed relative to real time
    names: of the bodies whose contact modes are shown, by number; an empty one stands for the name of the run
    """

    title: str
    pieces: list[Piece]
    runs: dict[str, Motion]
    caption: str = ""
    seen_from: tuple[float, float] = (1.0, -0.6)
    row: tuple[float, float] | None = None
    ground: bool = True
    trails: bool = False
    truth: str = ""
    speed: float = 1.0
    names: Mapping[int, str] = field(default_factory=dict)


class Frames:
    """Recorded poses of all bodies of a MuJoCo model."""

    def __init__(self) -> None:
        self._position, self._quaternion = [], []

    def __len__(self) -> int:
        return len(self._position)

    def take(self, data: Any) -> None:
        """Record one frame: MuJoCo's poses, which are those at the start of its last step."""
        self._position.append(data.xpos.copy())
        self._quaternion.append(data.xquat.copy())

    def motion(self, interval: float, origin: NDArray[np.float64] | None = None) -> Motion:
        """The motion with this interval between frames [s], relative to `origin` (3,) [m]."""
        position = np.array(self._position)
        return Motion(position if origin is None else position - origin, np.array(self._quaternion), interval)


def poses_of(model: Any, qpos: NDArray[np.float64]) -> Frames:
    """Frames of a model in the configurations `qpos` (frames, nq)."""
    data, frames = mjcf.mujoco.MjData(model), Frames()
    for row in qpos:
        data.qpos[:] = row
        mjcf.mujoco.mj_kinematics(model, data)
        frames.take(data)
    return frames


def scene_of_throws(title: str, body: Body, runs: Mapping[str, Trajectory], caption: str = "") -> Scene:
    """Throws of one body from the same start, in a row across their direction of travel; the first is the truth."""
    if not runs:
        raise checks.InputError(f"The replay {title!r} has no runs.")
    for name, run in runs.items():
        if run.mode.ndim != 1:
            raise checks.InputError(
                f"A replay shows one throw, got a batch of shape {run.mode.shape[:-1]} for {name!r}: take run[i]."
            )
    first = next(iter(runs.values()))
    if body.planar:  # one behind the other: each moves along x, and its plane should face the camera
        across, toward = np.array([0.0, 1.0]), np.array([0.3, -1.0])
    else:
        travel = np.nan_to_num(first.position[-1] - first.position[0])[:2]
        length = np.linalg.norm(travel)
        ahead = travel / length if length > 0.1 * body.diameter else np.array([1.0, 0.0])
        across = np.array([-ahead[1], ahead[0]])
        toward = ahead + 0.4 * across  # they move toward the camera
    solid = Solid.of(body)
    return Scene(
        title,
        [Piece(0, solid.vertices, solid.triangles)],
        {name: _thrown(run) for name, run in runs.items()},
        caption,
        seen_from=(float(toward[0]), float(toward[1])),
        row=(float(across[0]), float(across[1])),
        trails=True,
        truth=next(iter(runs)),
        names={0: ""},
    )


def _thrown(run: Trajectory) -> Motion:
    """The motion of a throw; the last step's contact mode is repeated at the end."""
    mode = np.append(run.mode, run.mode[-1:])[:, np.newaxis].astype(np.int8) if run.kind.any() else None
    return Motion(run.position[:, np.newaxis], run.quaternion[:, np.newaxis], run.timestep, mode)


def scene_of(
    title: str,
    model: Any,
    runs: dict[str, Frames],
    interval: float,
    *,
    modes: Mapping[str, NDArray[np.int8]] | None = None,
    **rest: Any,
) -> Scene:
    """Runs of a model side by side; interval: between frames [s].

    modes: contact modes of the bodies of some runs, each (frames, bodies)
    rest: other fields of Scene
    """
    known = modes or {}
    motions = {name: replace(frames.motion(interval), mode=known.get(name)) for name, frames in runs.items()}
    return Scene(title, pieces_of(model), motions, **rest)
