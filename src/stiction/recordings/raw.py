"""Recorded poses as the readers of files return them: units and axes are the recorder's, frames may be missing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks

T = TypeVar("T")

# Messages for a body and a file that do not match.
IN_PLANE = (
    "holds poses in a plane (x, z and an angle), but the body moves in space: give a planar one, --body rectangle:X,Z."
)
IN_SPACE = (
    "holds poses in space (x, y, z and quaternions), but a rectangle moves in a plane: give a body that moves in "
    "space, such as --body box:X,Y,Z."
)


@dataclass(frozen=True, eq=False)
class RawToss:
    """One toss, or one long recording of many, as recorded.

    time: None where only the frame rate is known, shape (n,)
    pose: position and quaternion in the recorder's order, shape (n, 7); of a planar recording x, z, angle, shape (n, 3)
    velocity: linear and angular, if recorded, shape (n, 6)
    alone: whether it is the only one in its file, which may be a recording of many tosses
    rests: whether it ends at rest, as far as is known
    """

    name: str
    time: NDArray[np.float64] | None
    pose: NDArray[np.float64]
    velocity: NDArray[np.float64] | None = None
    group: int = -1
    held_out: bool = False
    alone: bool = False
    rests: bool = True

    def part(self, name: str, rows: slice | NDArray[np.intp], rests: bool = True) -> "RawToss":
        """Some of its frames."""
        time, velocity = (None if part is None else part[rows] for part in (self.time, self.velocity))
        return RawToss(name, time, self.pose[rows], velocity, self.group, self.held_out, rests=rests)


@dataclass(frozen=True)
class RawFile:
    """The content of one file.

    interval: between frames [s], if the file states it
    stated: conventions that the file or its format states, by the fields of `Conventions`
    format: its name, such as "OptiTrack Motive CSV"
    """

    tosses: list[RawToss]
    interval: float | None = None
    stated: dict[str, str] = field(default_factory=dict)
    format: str = ""


@dataclass(frozen=True)
class Request:
    """What to read from a file.

    columns: names of columns, by ours
    topic: of an MCAP file; None: the only one
    planar: poses are x, z and an angle
    name: of the tracked body; None: the only one
    """

    columns: dict[str, str]
    topic: str | None = None
    planar: bool = False
    name: str | None = None


def choose_body(path: Path, bodies: Mapping[str, T], name: str | None) -> tuple[str, T]:
    """The tracked body with this name, or the only one; its name may be given in lower case."""
    if not bodies:
        raise checks.InputError(f"{path} holds no poses of a rigid body.")
    if name is None and len(bodies) == 1:
        return next(iter(bodies.items()))
    listed = ", ".join(bodies)
    if name is None:
        raise checks.InputError(f"{path} holds {len(bodies)} bodies, {listed}: give --object NAME with one of them.")
    same = [each for each in bodies if each == name] or [each for each in bodies if each.lower() == name.lower()]
    if not same:
        raise checks.InputError(f"{path} has no body {checks.shown(name)}; it has {listed}.")
    return same[0], bodies[same[0]]
