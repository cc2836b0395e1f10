"""The poses in whatever a user has: recordings, trajectories, or the contacts of a data set in the order of steps."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.basics.files import path_of
from stiction.bodies.body import Body
from stiction.bodies.state import Trajectory
from stiction.learning.material.observed import opened
from stiction.learning.recordings.recorded import Recordings
from stiction.learning.recordings.tosses import Toss, Tosses

_GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2]


@dataclass(frozen=True)
class Poses:
    """Tosses of a body under `gravity` (3,) [m/s^2]; throw: numbers (n,), the same for copies of one toss."""

    tosses: Tosses
    body: Body
    gravity: NDArray[np.float64]
    throw: NDArray[np.int64]


def is_recorded(data: Any) -> bool:
    """Whether data are poses and not a data set."""
    if isinstance(data, str | Path):
        return (path_of("data", data) / "recordings.parquet").is_file()
    return isinstance(data, Recordings | Tosses | Trajectory)


def recorded_poses(data: Any, body: Body | None) -> Poses:
    """The poses of one body."""
    if not is_recorded(data):
        return _of_contacts(data, body)
    if isinstance(data, str | Path):
        from stiction.learning.recordings.folder import load_recordings  # needs pyarrow

        data = load_recordings(data)
    if body is None and isinstance(data, Recordings):
        body = data.body
    if not isinstance(body, Body):
        raise checks.InputError("Poses do not tell what was thrown: give the stiction.Body as body.")
    if isinstance(data, Trajectory):
        data = _of_trajectory(data)
    if isinstance(data, Recordings):
        return Poses(data.tosses, body, np.array(_GRAVITY), data.groups)
    return Poses(data, body, np.array(_GRAVITY), np.arange(len(data)))


def _of_trajectory(run: Trajectory) -> Tosses:
    position = run.position.reshape(-1, *run.position.shape[-2:])
    quaternion = run.quaternion.reshape(-1, *run.quaternion.shape[-2:])
    frame = np.arange(run.steps + 1)
    return Tosses([Toss(frame, p, q, flight=0) for p, q in zip(position, quaternion)], run.timestep)


def _of_contacts(data: Any, body: Body | None) -> Poses:
    """The poses of a data set: those of its contacts, with gaps where the body flew."""
    sets = opened(data)
    if body is not None:
        raise checks.InputError("body is for recorded poses; a data set knows its own.")
    if len(sets) > 1:
        raise checks.InputError(f"Through rollouts, a material is learned from one data set, got {len(sets)}.")
    rows = sets[0].read(("position", "quaternion", "throw", "step"))
    tosses = []
    for number in np.unique(rows["throw"]):
        own = np.flatnonzero((rows["throw"] == number) & (rows["step"] >= 0))
        own = own[np.argsort(rows["step"][own], kind="stable")]
        if len(own):
            frame = rows["step"][own].astype(np.int64)
            poses = (np.asarray(rows[name], dtype=np.float64)[own] for name in ("position", "quaternion"))
            tosses.append(Toss(frame - frame[0], *poses, flight=0))
    setting = sets[0].setting
    found = Tosses(tosses, setting.timestep)
    return Poses(found, sets[0].body, np.asarray(setting.gravity), np.arange(len(tosses)))
