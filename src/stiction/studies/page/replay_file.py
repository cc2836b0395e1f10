"""Replays and scenes as arrays in a file, from which they can be drawn again."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from stiction.basics import checks
from stiction.basics.files import read_arrays
from stiction.bodies.body import Body
from stiction.bodies.state import Trajectory
from stiction.studies.page.section import Motion, Piece, Replay, Scene

_WORDS = {Replay: ("title", "caption"), Scene: ("title", "caption", "seen_from", "ground", "truth", "speed", "names")}


def arrays(shown: Replay | Scene) -> dict[str, Any]:
    """Its runs as arrays named after run and field, its pieces after number and field, and the rest as JSON."""
    head = {name: getattr(shown, name) for name in _WORDS[type(shown)]} | {"runs": list(shown.runs)}
    found = {
        f"{name}.{field}": np.asarray(value)
        for name, run in shown.runs.items()
        for field, value in vars(run).items()
        if value is not None
    }
    if isinstance(shown, Scene):
        head["pieces"] = [{"body": piece.body, "plain": piece.plain} for piece in shown.pieces]
        for k, piece in enumerate(shown.pieces):
            found |= {f"pieces.{k}.vertices": piece.vertices, f"pieces.{k}.triangles": piece.triangles}
    else:
        found["body"] = np.array(json.dumps(shown.body.to_dict()))
    return {"head": np.array(json.dumps(head)), **found}


def read(path: Path) -> Replay | Scene:
    """What `arrays` has kept in a file."""
    try:
        found = read_arrays(path)
        head = json.loads(str(found["head"]))
        return _scene(head, found) if "pieces" in head else _replay(head, found)
    except (ValueError, KeyError, TypeError) as error:
        raise checks.InputError(f"{path} is not a replay of this version; run its study again.") from error


def _replay(head: dict[str, Any], found: dict[str, Any]) -> Replay:
    body = Body.from_dict(json.loads(str(found["body"])))
    return Replay(head["title"], body, _runs(Trajectory, "timestep", head, found), head["caption"])


def _scene(head: dict[str, Any], found: dict[str, Any]) -> Scene:
    pieces = [
        Piece(one["body"], found[f"pieces.{k}.vertices"], found[f"pieces.{k}.triangles"], one["plain"])
        for k, one in enumerate(head["pieces"])
    ]
    words: dict[str, Any] = {name: head[name] for name in _WORDS[Scene]}
    words["seen_from"] = tuple(head["seen_from"])
    words["names"] = {int(body): name for body, name in head["names"].items()}  # JSON knows no numbers as keys
    return Scene(pieces=pieces, runs=_runs(Motion, "interval", head, found), **words)


def _runs(kind: type, time: str, head: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The runs by name; `time` is the field that is a number."""
    fields = [name for name in kind.__dataclass_fields__ if name != time]
    return {
        name: kind(
            **{field: found[f"{name}.{field}"] for field in fields if field != "mode" or f"{name}.mode" in found},
            **{time: float(found[f"{name}.{time}"])},
        )
        for name in head["runs"]
    }
