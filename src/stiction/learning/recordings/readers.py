"""Files of recorded poses: CSV, Parquet, .npz and MCAP, read into plain arrays as they stand."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.learning.collect.tables import read_columns, read_fields

# Columns of CSV and Parquet files, by the names that `--columns` maps from.
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
VELOCITY = ("vx", "vy", "vz", "wx", "wy", "wz")
SUFFIXES = (".csv", ".parquet", ".npz", ".mcap")


@dataclass(frozen=True, eq=False)
class RawToss:
    """One toss as recorded; rows may be missing (NaN), units and conventions are the recorder's.

    time: None where only the frame rate is known, shape (n,)
    pose: position and quaternion in the recorder's order, shape (n, 7)
    velocity: linear and angular, if recorded, shape (n, 6)
    """

    name: str
    time: NDArray[np.float64] | None
    pose: NDArray[np.float64]
    velocity: NDArray[np.float64] | None = None
    group: int = -1
    held_out: bool = False


def read_raw(path: str | Path, columns: dict[str, str], topic: str | None = None) -> tuple[list[RawToss], float | None]:
    """All tosses in a file or in the files of a folder, and the frame interval [s] if the file states it."""
    path = Path(path)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
        if not files:
            raise checks.InputError(f"{path} holds no recording; readable are files {', '.join(SUFFIXES)}.")
    elif path.is_file():
        files = [path]
    else:
        raise checks.InputError(f"There is no recording {path}.")
    tosses: list[RawToss] = []
    interval = None
    for file in files:
        if file.suffix == ".npz":
            found, interval = _read_npz(file)
            tosses += found
        elif file.suffix in (".csv", ".parquet"):
            tosses += _read_table(file, columns)
        elif file.suffix == ".mcap":
            tosses += _read_mcap(file, topic)
        else:
            raise checks.InputError(f"{file} is no recording; readable are files {', '.join(SUFFIXES)}.")
    return tosses, interval


def _read_npz(path: Path) -> tuple[list[RawToss], float | None]:
    """Fields as those of the cube tosses: states (F, 7 or 13), offsets (n + 1,), dt; split, group_id by choice."""
    data = read_fields(path)
    missing = {"states", "offsets"} - set(data)
    if missing:
        raise checks.InputError(f"{path} must have the fields states and offsets, it lacks {', '.join(missing)}.")
    states, offsets = data["states"].astype(np.float64), data["offsets"].astype(np.int64)
    if states.ndim != 2 or states.shape[1] not in (7, 13):
        raise checks.InputError(f"{path}: states must have shape (frames, 7) or (frames, 13), got {states.shape}.")
    if offsets[0] != 0 or offsets[-1] != len(states) or (np.diff(offsets) < 1).any():
        raise checks.InputError(f"{path}: offsets must rise from 0 to the number of frames, {len(states)}.")
    number = len(offsets) - 1
    group = data.get("group_id", np.arange(number))
    held_out = data.get("split", np.zeros(number)) > 0
    tosses = []
    for i in range(number):
        rows = states[offsets[i] : offsets[i + 1]]
        velocity = rows[:, 7:] if rows.shape[1] == 13 else None
        tosses.append(RawToss(f"{path.stem}[{i}]", None, rows[:, :7], velocity, int(group[i]), bool(held_out[i])))
    return tosses, float(data["dt"]) if "dt" in data else None


def _read_table(path: Path, columns: dict[str, str]) -> list[RawToss]:
    """A CSV or Parquet file with one row a frame; a column `toss` parts it into tosses."""
    table = read_columns(path)
    names = {name: columns.get(name, name) for name in (*POSE, *VELOCITY, "time", "toss")}
    missing = [names[name] for name in POSE if names[name] not in table]
    if missing:
        raise checks.InputError(
            f"{path} has no column {', '.join(missing)}; it has {', '.join(table)}: map them, such as "
            "--columns x=pos_x,qw=rot_w."
        )
    pose = np.stack([table[names[name]] for name in POSE], axis=1)
    time = table.get(names["time"])
    has_velocity = all(names[name] in table for name in VELOCITY)
    velocity = np.stack([table[names[name]] for name in VELOCITY], axis=1) if has_velocity else None
    toss = table.get(names["toss"], np.zeros(len(pose)))
    result = []
    for number in dict.fromkeys(toss.tolist()):
        rows = toss == number
        parts = (None if part is None else part[rows] for part in (time, pose, velocity))
        result.append(RawToss(f"{path.stem}[{number:g}]", *parts))  # type: ignore[arg-type]
    return result


def _read_mcap(path: Path, topic: str | None) -> list[RawToss]:
    """One toss: JSON messages of a pose topic (foxglove.PoseInFrame or geometry_msgs/PoseStamped as JSON)."""
    try:
        from mcap.reader import make_reader
    except ImportError as error:
        raise checks.InputError(f"Reading {path} needs mcap: pip install 'stiction[record]'.") from error
    rows, seen = [], set()
    try:
        with path.open("rb") as stream:
            for _schema, channel, message in make_reader(stream).iter_messages(topics=topic):
                seen.add((channel.topic, channel.message_encoding))
                if channel.message_encoding == "json":
                    rows += [(message.log_time * 1e-9, *pose) for pose in _poses(json.loads(message.data))]
    except InputProblem as error:
        raise checks.InputError(f"{path} cannot be read: {error!s:.150}.") from error
    if not rows:
        topics = ", ".join(f"{name} ({encoding})" for name, encoding in sorted(seen)) or "none"
        raise checks.InputError(f"{path} has no poses in JSON messages on topic {topic or 'any'}; it has {topics}.")
    if len({name for name, _ in seen}) > 1:
        raise checks.InputError(f"{path} has several topics, {', '.join(sorted(t for t, _ in seen))}: give --topic.")
    data = np.array(rows)
    return [RawToss(path.stem, data[:, 0] - data[0, 0], data[:, 1:])]


InputProblem = (OSError, ValueError, EOFError, KeyError, AttributeError)


def _poses(message: Any) -> Iterator[tuple[float, ...]]:
    """The poses in a decoded message, wherever its pose stands; quaternions as w, x, y, z."""
    pose = message.get("pose", message) if isinstance(message, dict) else None
    if isinstance(pose, dict) and "pose" in pose:  # with covariance
        pose = pose["pose"]
    if isinstance(pose, dict) and {"position", "orientation"} <= set(pose):
        p, q = pose["position"], pose["orientation"]
        yield p["x"], p["y"], p["z"], q["w"], q["x"], q["y"], q["z"]
