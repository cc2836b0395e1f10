"""Motions of robots and other bodies as a page shows them side by side."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.mujoco import mjcf
from stiction.viewer.pieces import Piece, pieces_of


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
    """Motions of a robot, or of other bodies, to be shown side by side.

    pieces: shapes of the bodies
    runs: by the name that is shown
    seen_from: horizontal direction from the scene to the camera, (2,); runs are placed in a row across it, along x or y
    ground: draw the ground z = 0
    truth: name of the run whose outline animations draw over all others; empty: none
    speed: playback speed relative to real time
    names: of the bodies whose contact modes are shown, by number
    """

    title: str
    pieces: list[Piece]
    runs: dict[str, Motion]
    caption: str = ""
    seen_from: tuple[float, float] = (1.0, -0.6)
    ground: bool = True
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


def scene_of(
    title: str,
    model: Any,
    runs: dict[str, Frames],
    interval: float,
    *,
    plain: str = "",
    modes: Mapping[str, NDArray[np.int8]] | None = None,
    **rest: Any,
) -> Scene:
    """Runs of a model side by side; interval: between frames [s]; plain: name of a body that is drawn in grey.

    modes: contact modes of the bodies of some runs, each (frames, bodies)
    rest: other fields of Scene
    """
    grey = model.body(plain).id if plain else -1
    pieces = [replace(piece, plain=piece.body == grey) for piece in pieces_of(model)]
    known = modes or {}
    motions = {name: replace(frames.motion(interval), mode=known.get(name)) for name, frames in runs.items()}
    return Scene(title, pieces, motions, **rest)
