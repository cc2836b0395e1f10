"""One study's part of the page: a short text, tables, plots, pictures and replays."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stiction.bodies.body import Body
from stiction.bodies.state import Trajectory
from stiction.viewer.pieces import Scene


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
