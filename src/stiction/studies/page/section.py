"""One study's part of the page: a short text, tables, plots, pictures and replays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.bodies.state import Trajectory


@dataclass(frozen=True)
class Table:
    """Cells as they are shown; the first column names the row."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    note: str = ""


@dataclass(frozen=True)
class Plot:
    """An interactive plot.

    figure: a plotly figure
    """

    figure: Any
    caption: str


@dataclass(frozen=True)
class Picture:
    """A picture.

    png: the bytes of a PNG file
    alt: what it shows, for those who cannot see it
    """

    png: bytes
    alt: str
    caption: str


@dataclass(frozen=True)
class Replay:
    """Motions of a body from the same start, to be watched side by side.

    runs: one throw each, by the name that is shown, such as "DART", "stiction", "PDD"
    """

    title: str
    body: Body
    runs: dict[str, Trajectory]
    caption: str = ""


@dataclass(frozen=True)
class Piece:
    """A convex piece of a body.

    body: number of the body in a Motion
    vertices: body frame [m], shape (V, 3); triangles: numbers of vertices, counter-clockwise from outside, (T, 3)
    plain: grey, not in the colour of its run
    """

    body: int
    vertices: NDArray[np.float64]
    triangles: NDArray[np.int64]
    plain: bool = False


@dataclass(frozen=True)
class Motion:
    """How many bodies move.

    position: of their frames, world axes [m], shape (frames, bodies, 3); quaternion: shape (frames, bodies, 4)
    interval: for which each frame is shown [s]
    mode: contact mode of each body on the ground in each frame, values of stiction.Mode, shape (frames, bodies); None
        where nobody knows
    """

    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    interval: float
    mode: NDArray[np.int8] | None = None


@dataclass(frozen=True)
class Scene:
    """Motions of a whole robot, or of any bodies, to be watched side by side.

    pieces: what the bodies look like
    runs: by the name that is shown
    seen_from: horizontal direction from the scene to the camera, (2,); runs stand in a row, along x or y, across it
    ground: draw the ground z = 0
    truth: name of the run whose outline animations draw over all others; empty for none
    speed: how many times as fast as it happened the motions are shown
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


@dataclass(frozen=True)
class Section:
    """A study's part of the page.

    name: of the study, one word, such as "trajectories"
    text: paragraphs, plain text
    command: what makes it again
    """

    name: str
    title: str
    text: list[str]
    command: str
    tables: list[Table] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    replays: Sequence[Replay | Scene] = ()
    pictures: list[Picture] = field(default_factory=list)
