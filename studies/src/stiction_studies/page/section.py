"""One study's section of the page: a short text, tables, plots, pictures and replays; and replays as files."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.basics.files import read_arrays
from stiction.viewer.pieces import Piece
from stiction_studies.page.motions_shown import Motion, Scene


@dataclass(frozen=True)
class Table:
    """Cells as they are shown; the first column names the row."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    note: str = ""


@dataclass(frozen=True)
class Plot:
    """An interactive plot: a plotly figure."""

    figure: Any
    caption: str


@dataclass(frozen=True)
class Picture:
    """A picture: the bytes of a PNG file, and a text for readers who cannot see it."""

    png: bytes
    alt: str
    caption: str


@dataclass(frozen=True)
class Section:
    """A study's section of the page.

    name: of the study, one word, such as "trajectories"
    text: paragraphs, plain text
    command: the command that reproduces it
    """

    name: str
    title: str
    text: list[str]
    command: str
    tables: list[Table] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    replays: Sequence[Scene] = ()
    pictures: list[Picture] = field(default_factory=list)


# Replays as arrays in a file, from which animations are made later.


def replay_arrays(shown: Scene) -> dict[str, Any]:
    """The runs as arrays named after run and field, pieces as arrays named after index and field, the rest as JSON."""
    arrays = {
        f"{name}.{key}": np.asarray(value)
        for name, run in shown.runs.items()
        for key, value in vars(run).items()
        if value is not None
    }
    for k, piece in enumerate(shown.pieces):
        arrays |= {f"pieces.{k}.vertices": piece.vertices, f"pieces.{k}.triangles": piece.triangles}
    pieces = [{"body": piece.body, "plain": piece.plain} for piece in shown.pieces]
    head = vars(shown) | {"runs": list(shown.runs), "pieces": pieces}
    return {"head": np.array(json.dumps(head)), **arrays}


def read_replay(path: Path) -> Scene:
    """Read a file of `replay_arrays`."""
    try:
        arrays = read_arrays(path)
        head = json.loads(str(arrays["head"]))
        pieces = [
            Piece(one["body"], arrays[f"pieces.{k}.vertices"], arrays[f"pieces.{k}.triangles"], one["plain"])
            for k, one in enumerate(head["pieces"])
        ]
        runs = {name: Motion(**_fields(arrays, name)) for name in head["runs"]}
        names = {int(body): name for body, name in head["names"].items()}  # JSON has no integers as keys
        return Scene(**head | {"pieces": pieces, "runs": runs, "names": names})
    except (ValueError, KeyError, TypeError) as error:
        raise checks.InputError(f"{path} is not a replay of this version; run its study again.") from error


def _fields(arrays: Mapping[str, NDArray], run: str) -> dict[str, Any]:
    """The fields of a run; scalars as numbers."""
    fields = {key.removeprefix(f"{run}."): value for key, value in arrays.items() if key.startswith(f"{run}.")}
    return {name: value if value.ndim else value.item() for name, value in fields.items()}
