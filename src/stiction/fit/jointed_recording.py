"""Recordings of a jointed part: the pose of its base and the positions of its joints, frame by frame."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks, splits
from stiction.basics.files import path_of, read_arrays
from stiction.data.tables import read_columns, rows_by_value
from stiction.fit.jointed_part import POSE, JointedPart
from stiction.mujoco.mjcf import mujoco
from stiction.recordings.poses import MOST_FRAMES
from stiction.recordings.readers import FARTHEST, checked_interval, reading
from stiction.recordings.readers import POSE as POSE_COLUMNS
from stiction.recordings.tosses import Frames


@dataclass(frozen=True, eq=False)
class JointedToss(Frames):
    """One recorded motion; missing frames are left out.

    name: as the recording calls it; place: its place in the order of recording
    frame: numbers of the frames that are there, shape (n,), the first 0
    qpos: position [m] and quaternion w x y z of the base, then the joints [rad or m], unwrapped, shape (n, 7 + joints)
    flight: number of leading frames in free flight, once that is known
    rests: whether the height of its ground is known only from where it comes to rest
    """

    name: str
    place: float
    frame: NDArray[np.int64]
    qpos: NDArray[np.float64]
    held_out: bool = False
    flight: int = 0
    rests: bool = False

    def part(self, first: int, flight: int) -> "JointedToss":
        """Return the toss from row `first` on, with `flight` frames of flight."""
        return replace(self, frame=self.frame[first:] - self.frame[first], qpos=self.qpos[first:], flight=flight)


@dataclass(frozen=True)
class JointedTosses:
    """Tosses of one part, recorded with one frame interval [s]."""

    tosses: list[JointedToss]
    timestep: float

    def __len__(self) -> int:
        return len(self.tosses)

    def __getitem__(self, which) -> "JointedTosses":
        """Return the tosses with these numbers."""
        return JointedTosses([self.tosses[int(i)] for i in np.atleast_1d(which)], self.timestep)

    def split(self, seed: int = 0) -> "tuple[JointedTosses, JointedTosses]":
        """Return the tosses to fit and those to hold out: as marked in the recording, else a fifth of them, drawn."""
        held = np.array([toss.held_out for toss in self.tosses])
        if not held.any() or held.all():
            held = splits.held_out(np.arange(len(self)), 0.2, seed)
        return self[np.flatnonzero(~held)], self[np.flatnonzero(held)]


def read_jointed(path: str | Path, part: JointedPart) -> JointedTosses:
    """Read recorded tosses of a part.

    A .npz file has `poses` (n, frames, 7 + joints): quaternion w x y z and position [m] of the base, then the joints in
    the order of the MJCF file, NaN where a frame is missing; `dt` [s]; optionally `split` (n,) with "val" for held-out
    tosses, and `number` (n,), the order of recording. A .csv or .parquet file has a row for each frame,
    with the columns toss, time, x, y, z, qw, qx, qy, qz and one for each joint, by its name; optionally split.
    """
    path = path_of("A recording", path)
    if not path.is_file():
        raise checks.InputError(f"There is no recording {path}.")
    read = {".npz": _read_npz, ".csv": _read_table, ".parquet": _read_table}.get(path.suffix)
    if read is not None:
        with reading(path):
            return read(path, part)
    raise checks.InputError(f"A recording of a jointed part is a .npz, .csv or .parquet file, got {path}.")


def _read_npz(path: Path, part: JointedPart) -> JointedTosses:
    data = read_arrays(path)
    missing = [name for name in ("poses", "dt") if name not in data]
    if missing:
        raise checks.InputError(f"{path} has no {' and no '.join(missing)}; it has {', '.join(data) or 'nothing'}.")
    poses = checks.numbers(f"{path}: poses", data["poses"])
    wanted = POSE + len(part.joints)
    if poses.ndim != 3 or poses.shape[2] != wanted:
        raise checks.InputError(
            f"{path}: poses must have the shape (tosses, frames, {wanted}), 7 numbers of the base and one for each "
            f"joint of the MJCF file ({', '.join(part.joints) or 'none'}), got {poses.shape}."
        )
    number = checks.numbers(f"{path}: number", data.get("number", np.arange(len(poses))))
    split = data.get("split", np.full(len(poses), "train"))
    held_out = ("val", "validation", "test", "held_out", "1", "True")
    for name, each in (("number", number), ("split", split)):
        if each.shape != (len(poses),):
            raise checks.InputError(f"{path}: {name} must have one entry per toss, {len(poses)}, got {each.shape}.")
    qpos = np.concatenate([poses[..., 4:7], poses[..., :4], poses[..., 7:]], axis=-1)
    frames = np.arange(poses.shape[1])
    tosses = [
        _toss(f"{path.stem}[{n:g}]", float(n), frames, rows, str(kind) in held_out, part)
        for n, rows, kind in zip(number.tolist(), qpos, split.tolist(), strict=True)
    ]
    return JointedTosses(tosses, checked_interval(f"{path}: dt [s]", data["dt"]))  # type: ignore[arg-type]


def _read_table(path: Path, part: JointedPart) -> JointedTosses:
    table = read_columns(path)
    wanted = ("time", *POSE_COLUMNS, *part.joints)
    missing = [name for name in wanted if name not in table]
    if missing:
        raise checks.InputError(
            f"{path} has no column {', '.join(missing)}; it needs {', '.join(wanted)}, and it has {', '.join(table)}."
        )
    number = table.get("toss", np.zeros(len(table["time"])))
    split = table.get("split", np.zeros(len(number)))
    qpos = np.stack([table[name] for name in wanted[1:]], axis=1)
    time = table["time"]
    if not np.isfinite(time).all():
        raise checks.InputError(f"{path}: each row needs a time, got {int((~np.isfinite(time)).sum())} without one.")
    rows = rows_by_value(number)
    gaps = np.concatenate([np.diff(time[at]) for _, at in rows])
    if not (gaps > 0).any():
        raise checks.InputError(f"{path}: the times of a toss must rise from frame to frame.")
    dt = checked_interval(f"{path}: the time from row to row [s]", float(np.median(gaps[gaps > 0])))
    tosses = []
    for n, at in rows:
        lasts = (time[at] - time[at[0]]) / dt
        if np.abs(lasts).max() > MOST_FRAMES:
            raise checks.InputError(
                f"{path}: toss {n:g} lasts {np.abs(lasts).max():.3g} frames; {MOST_FRAMES} are read."
            )
        frame = np.round(lasts).astype(np.int64)
        if (np.diff(frame) < 1).any():
            raise checks.InputError(f"{path}: the times of toss {n:g} must rise from frame to frame.")
        tosses.append(_toss(f"{path.stem}[{n:g}]", n, frame, qpos[at], split[at[0]] == 1, part))
    return JointedTosses(tosses, dt)


def _toss(name: str, place: float, frame: NDArray, qpos: NDArray, held: bool, part: JointedPart) -> JointedToss:
    """Return a toss without missing frames, with unit quaternions and unwrapped angles."""
    there = (np.abs(qpos) < FARTHEST).all(axis=1)
    if there.sum() < 2:
        raise checks.InputError(f"{name} has {int(there.sum())} frames without missing numbers; it needs more.")
    qpos, frame = qpos[there].copy(), frame[there]
    length = np.linalg.norm(qpos[:, 3:POSE], axis=1)
    if (np.abs(length - 1) > 0.02).any():
        raise checks.InputError(
            f"{name}: quaternions must have length 1, got {length[np.abs(length - 1).argmax()]:.3g}."
        )
    qpos[:, 3:POSE] /= length[:, np.newaxis]
    for k, turns in enumerate(part.hinges):
        if turns:
            qpos[:, POSE + k] = np.unwrap(qpos[:, POSE + k])
    return JointedToss(name, place, frame - frame[0], qpos, held)


@dataclass(frozen=True)
class Places:
    """Possible contact points and the centre of mass in the frames of one toss, world axes [m].

    points: centres of spheres, (n, p, 3); radius: of each, (p,); com: of the whole part, (n, 3)
    """

    points: NDArray[np.float64]
    radius: NDArray[np.float64]
    com: NDArray[np.float64]

    @property
    def lowest(self) -> NDArray[np.float64]:
        """Height of the lowest point in each frame (n,) [m]."""
        return (self.points[:, :, 2] - self.radius).min(axis=1)


def places_of(part: JointedPart, tosses: list[JointedToss]) -> list[Places]:
    """Return the places of each toss, with the shapes and masses of the MJCF file."""
    model = part.model({}, 0.002)
    base = model.body(part.links[0].name).id
    touching = _Touching(model)
    found = []
    for toss in tosses:
        points, com = np.empty((len(toss.qpos), len(touching.radius), 3)), np.empty((len(toss.qpos), 3))
        for k, qpos in enumerate(toss.qpos):
            points[k] = touching.points(qpos)
            mujoco.mj_comPos(model, touching.data)
            com[k] = touching.data.subtree_com[base]
        found.append(Places(points, touching.radius, com))
    return found


def rest_heights(model: Any, tosses: list[JointedToss]) -> NDArray[np.float64]:
    """Return the height (n,) [m] of a model's lowest point where each toss rests; zero where the ground is known."""
    touching = _Touching(model)
    ends = [touching.points(toss.qpos[-1])[:, 2] - touching.radius if toss.rests else np.zeros(1) for toss in tosses]
    return np.array([end.min() for end in ends])


class _Touching:
    """Possible contact points of a model: centres of spheres, and both ends of capsules. radius: of each (p,)"""

    def __init__(self, model: Any) -> None:
        self.model, self.data = model, mujoco.MjData(model)
        touches = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
        touches &= model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE
        is_capsule = model.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE
        self._spheres, self._capsules = np.flatnonzero(touches & ~is_capsule), np.flatnonzero(touches & is_capsule)
        self.radius = model.geom_size[np.concatenate([self._spheres, self._capsules, self._capsules]), 0]

    def points(self, qpos: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return their world coordinates (p, 3) [m]."""
        data, capsules = self.data, self._capsules
        data.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, data)
        along = data.geom_xmat[capsules].reshape(-1, 3, 3)[:, :, 2] * self.model.geom_size[capsules, 1:2]
        middle = data.geom_xpos[capsules]
        return np.concatenate([data.geom_xpos[self._spheres], middle - along, middle + along])
