"""A replay: runs of one throw side by side, recorded as a viser scene that plays in a page without a server."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from stiction.basics import checks, colours
from stiction.basics.files import read_arrays
from stiction.bodies.body import Body
from stiction.bodies.trajectory import Trajectory
from stiction.viewer.pieces import Piece
from stiction.viewer.solids import FRAME, Actor, Edges, Solid, finite_part
from stiction_studies.page.motions_shown import Motion, Scene
from stiction_studies.page.section import Replay
from stiction_studies.page.sight import Sight, quiet_server, recorded, set_scene


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
    def duration(self) -> float:
        """Of the longest run [s]."""
        return max(run.steps * run.timestep for run in self.runs.values())

    @property
    def frame(self) -> float:
        """Time between two recorded frames [s]: whole time steps of the first run."""
        timestep = next(iter(self.runs.values())).timestep
        return timestep * max(1, round(FRAME / timestep))


def record(replay: Replay) -> bytes:
    """The replay as a viser recording, which viser's client plays."""
    stage = Stage.of(replay)
    with quiet_server() as server:
        set_scene(server, stage.sight)
        cast = [_Lane(server.scene, stage, i) for i in range(len(stage.runs))]
        for lane in cast:
            lane.show(0.0)
        return recorded(server, [lane.show for lane in cast], stage.duration, stage.frame)


class _Lane:
    """One run: its body as a solid, and the edges of the ground truth's body, which part where the two differ."""

    def __init__(self, scene: viser.SceneApi, stage: Stage, number: int) -> None:
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


# Replays and scenes as arrays in a file, from which they can be drawn again.


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
