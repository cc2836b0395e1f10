"""Files of recorded poses: CSV, Parquet, .npz and MCAP, read into plain arrays as they stand.

To read another file format, write a function from a path and a `Request` to `RawTosses`, and add a line to `FORMATS`.
To read another dialect of CSV, add a line to `DIALECTS` in data/tables.py.
"""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks, files
from stiction.basics.environment import needs
from stiction.data.tables import read_columns, rows_by_value

LARGEST = 2 * 10**9  # bytes of one file, unpacked: third-party files are measured before they are read
FARTHEST = 1e12  # in any unit: positions beyond count as missing

# Columns of CSV and Parquet files, by the names that `--columns` maps from.
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
VELOCITY = ("vx", "vy", "vz", "wx", "wy", "wz")
# The same of a planar recording, with names that are usual for them, the most likely ones first.
PLANAR = {
    "x": ("x", "pos_x", "px", "position_x"),
    "z": ("z", "pos_z", "pz", "position_z", "height", "y", "pos_y", "py", "position_y"),
    "angle": ("angle", "theta", "phi", "alpha", "rotation", "orientation", "rot", "angle_rad", "angle_deg"),
}
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
    """One toss as recorded; rows may be missing (NaN), units and conventions are the recorder's.

    time: None where only the frame rate is known, shape (n,)
    pose: position and quaternion in the recorder's order, shape (n, 7); of a planar recording x, z, angle, shape (n, 3)
    velocity: linear and angular, if recorded, shape (n, 6)
    """

    name: str
    time: NDArray[np.float64] | None
    pose: NDArray[np.float64]
    velocity: NDArray[np.float64] | None = None
    group: int = -1
    held_out: bool = False


RawTosses = tuple[list[RawToss], float | None]  # tosses, and the frame interval [s] if the file states it


@dataclass(frozen=True)
class Request:
    """What to read from a file.

    columns: names of columns, by ours
    topic: of an MCAP file; None: the only one
    planar: poses are x, z and an angle
    """

    columns: dict[str, str]
    topic: str | None = None
    planar: bool = False


def read_raw(path: Path, request: Request) -> RawTosses:
    """All tosses in a file or in the files of a folder, and the frame interval [s] if a file states it."""
    with reading(path):
        suffixes = ", ".join(FORMATS)
        if path.is_dir():
            found = sorted(file for file in path.iterdir() if file.suffix in FORMATS)
            if not found:
                raise checks.InputError(f"{path} holds no recording; readable are files {suffixes}.")
        elif not path.is_file():
            raise checks.InputError(f"There is no recording {path}.")
        elif path.suffix not in FORMATS:
            raise checks.InputError(f"{path} is no recording; readable are files {suffixes}.")
        else:
            found = [path]
        tosses: list[RawToss] = []
        interval = None
        for file in found:
            more, interval = FORMATS[file.suffix].read(file, request)
            tosses += more
    for toss in tosses:
        toss.pose[~(np.abs(toss.pose) < FARTHEST)] = np.nan
        if toss.time is not None and (np.abs(toss.time[np.isfinite(toss.time)]) > 1e19).any():
            raise checks.InputError(f"{path}: {toss.name} has time stamps beyond 1e+19, which no recorder writes.")
    return tosses, interval


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """A block that reads a file or folder, after its size was checked; any error in the block becomes an InputError."""
    for number, file in enumerate(sorted(path.iterdir()) if path.is_dir() else [path]):
        if number == 100_000:
            raise checks.InputError(f"{path} holds more than {number} files.")
        if file.is_file():
            _check_size(file)
    try:
        yield
    except checks.InputError as error:
        if len(str(error)) > 500:  # such as a list of a thousand columns
            raise checks.InputError(f"{error!s:.500}...") from error
        raise
    except Exception as error:  # the type depends on where the damage is
        raise checks.InputError(f"{path} cannot be read: {checks.first_line(error)}.") from error


def checked_interval(name: str, value: float) -> float:
    """The time from frame to frame [s]."""
    interval = checks.positive(name, value)
    if not 1e-7 <= interval <= 10:
        raise checks.InputError(f"{name} must be 1e-07 to 10 s from frame to frame, got {interval:g} s.")
    return interval


# NumPy archives


def _read_npz(path: Path, request: Request) -> RawTosses:
    """Tosses in an .npz file; `split`, numbers or words, marks those that are held out; `dt` is the interval [s]."""
    data = files.read_arrays(path)
    interval = checked_interval(f"{path}: dt [s]", data["dt"]) if "dt" in data else None  # type: ignore[arg-type]
    return (_planar_tosses if request.planar else _tosses_in_space)(path, data), interval


def _tosses_in_space(path: Path, data: dict[str, NDArray[Any]]) -> list[RawToss]:
    """Fields as those of the cube tosses: states (F, 7 or 13), offsets (n + 1,); split and group_id are optional."""
    missing = sorted({"states", "offsets"} - set(data))
    if missing and "poses" in data and data["poses"].shape[2:] == (3,):
        raise checks.InputError(f"{path} {IN_PLANE}")
    if missing:
        raise checks.InputError(f"{path} must have the fields states and offsets, it lacks {', '.join(missing)}.")
    states = checks.numbers(f"{path}: states", data["states"])
    offsets = checks.whole_numbers(f"{path}: offsets", data["offsets"])
    if states.ndim != 2 or states.shape[1] not in (7, 13):
        raise checks.InputError(f"{path}: states must have shape (frames, 7) or (frames, 13), got {states.shape}.")
    if offsets.ndim != 1 or len(offsets) < 2:
        raise checks.InputError(
            f"{path}: offsets must have shape (tosses + 1,), for at least one toss, got {offsets.shape}."
        )
    if offsets[0] != 0 or offsets[-1] != len(states) or (np.diff(offsets) < 1).any():
        raise checks.InputError(f"{path}: offsets must rise from 0 to the number of frames, {len(states)}.")
    number = len(offsets) - 1
    optional = {"group_id": np.arange(number), "split": np.zeros(number)}
    for name in [name for name in optional if name in data]:
        optional[name] = checks.whole_numbers(f"{path}: {name}", data[name])
        if optional[name].shape != (number,):
            raise checks.InputError(f"{path}: {name} must have one number a toss, got {optional[name].shape}.")
    group, split = optional.values()
    tosses = []
    for i in range(number):
        rows = states[offsets[i] : offsets[i + 1]].astype(np.float64)
        velocity = rows[:, 7:] if rows.shape[1] == 13 else None
        tosses.append(RawToss(f"{path.stem}[{i}]", None, rows[:, :7], velocity, int(group[i]), bool(split[i] > 0)))
    return tosses


def _planar_tosses(path: Path, data: dict[str, NDArray[Any]]) -> list[RawToss]:
    """Fields: poses (n, frames, 3), rows of NaN where there is none; split is optional."""
    if "poses" not in data and "states" in data:
        raise checks.InputError(f"{path} {IN_SPACE}")
    if "poses" not in data:
        raise checks.InputError(f"{path} must have the field poses of a planar recording, it has {', '.join(data)}.")
    poses = checks.numbers(f"{path}: poses", data["poses"])
    if poses.ndim != 3 or poses.shape[2] != 3:
        raise checks.InputError(f"{path}: poses must have shape (tosses, frames, 3): x, z, angle; got {poses.shape}.")
    split = data.get("split", np.zeros(len(poses)))
    if split.shape != (len(poses),):
        raise checks.InputError(f"{path}: split must have one number or word a toss, got {split.shape}.")
    held_out = split > 0 if split.dtype.kind in "biuf" else split != "train"
    return [RawToss(f"{path.stem}[{i}]", None, rows, None, i, bool(held_out[i])) for i, rows in enumerate(poses)]


# Tables


def _read_table(path: Path, request: Request) -> RawTosses:
    """A CSV or Parquet file with one row a frame; a column `toss` separates tosses."""
    table, planar = read_columns(path), request.planar
    wanted = tuple(PLANAR) if planar else POSE
    names = {name: name for name in (*wanted, *VELOCITY, "time", "toss")}
    names |= (_planar_names(table) if planar else {}) | request.columns
    missing = [names[name] for name in wanted if names[name] not in table]
    if missing and not planar and _has(table, PLANAR["angle"]) and not _has(table, POSE[3:]):
        raise checks.InputError(f"{path} {IN_PLANE}")
    if missing and planar and _has(table, POSE[3:]):
        raise checks.InputError(f"{path} {IN_SPACE}")
    if missing:
        raise checks.InputError(
            f"{path} has no column {', '.join(missing)}; it has {', '.join(table)}: map them, such as "
            f"--columns {'x=pos_x,angle=phi' if planar else 'x=pos_x,qw=rot_w'}."
        )
    pose = np.stack([table[names[name]] for name in wanted], axis=1)
    time = table.get(names["time"])
    has_velocity = not planar and all(names[name] in table for name in VELOCITY)
    velocity = np.stack([table[names[name]] for name in VELOCITY], axis=1) if has_velocity else None
    toss = table.get(names["toss"], np.zeros(len(pose)))
    result = []
    for number, rows in rows_by_value(toss):
        parts = (None if part is None else part[rows] for part in (time, pose, velocity))
        result.append(RawToss(f"{path.stem}[{number:g}]", *parts))  # type: ignore[arg-type]
    return result, None


def _planar_names(table: dict[str, NDArray]) -> dict[str, str]:
    """Columns of a planar table by our names, guessed: the upright axis may be called y."""
    found = {}
    for name, usual in PLANAR.items():
        there = [column for column in table if column.lower() in usual]
        found[name] = min(there, key=lambda column: usual.index(column.lower())) if there else name
    return found


def _has(table: dict[str, NDArray], names: tuple[str, ...]) -> bool:
    return any(column.lower() in names for column in table)


# MCAP


def _read_mcap(path: Path, request: Request) -> RawTosses:
    """One toss: JSON messages of a pose topic (foxglove.PoseInFrame or geometry_msgs/PoseStamped as JSON)."""
    if request.planar:
        raise checks.InputError(f"{path} {IN_SPACE}")
    try:
        from mcap.reader import NonSeekingReader
    except ImportError as error:
        raise checks.InputError(needs(f"Reading {path}", "mcap")) from error
    rows, seen = [], set()
    with path.open("rb") as stream:  # from front to back: an index may point to chunks that were not measured
        for _schema, channel, message in NonSeekingReader(stream).iter_messages(topics=request.topic):
            seen.add((channel.topic, channel.message_encoding))
            if channel.message_encoding == "json":
                rows += [(message.log_time * 1e-9, *pose) for pose in _poses(json.loads(message.data))]
    if not rows:
        topics = ", ".join(f"{name} ({encoding})" for name, encoding in sorted(seen)) or "none"
        wanted = request.topic or "any"
        raise checks.InputError(f"{path} has no poses in JSON messages on topic {wanted}; it has {topics}.")
    if len({name for name, _ in seen}) > 1:
        raise checks.InputError(f"{path} has several topics, {', '.join(sorted(t for t, _ in seen))}: give --topic.")
    data = checks.numbers(f"{path}: the poses", rows)
    return [RawToss(path.stem, data[:, 0] - data[0, 0], data[:, 1:])], None


def _poses(message: Any) -> Iterator[tuple[float, ...]]:
    """The pose in a decoded message, if it has one; quaternions as w, x, y, z."""
    pose = message.get("pose", message) if isinstance(message, dict) else None
    if isinstance(pose, dict) and "pose" in pose:  # with covariance
        pose = pose["pose"]
    if isinstance(pose, dict) and {"position", "orientation"} <= set(pose):
        p, q = pose["position"], pose["orientation"]
        yield p["x"], p["y"], p["z"], q["w"], q["x"], q["y"], q["z"]


# Sizes of files once they are unpacked


def _check_size(file: Path) -> None:
    """Refuse a file that is larger than `LARGEST`, or would be once it is unpacked."""
    size = file.stat().st_size
    unpacked_size = FORMATS[file.suffix].unpacked_size if file.suffix in FORMATS else None
    if size <= LARGEST and unpacked_size is not None:
        try:
            size = max(size, unpacked_size(file))
        except checks.InputError:
            raise
        except Exception as error:
            raise checks.InputError(f"{file} is damaged: {checks.first_line(error)}.") from error
    if size > LARGEST:
        raise checks.InputError(f"{file} would unpack to more than {LARGEST / 1e9:g} GB, the most that is read.")


def _size_of_parquet(file: Path) -> int:
    from pyarrow import parquet

    about = parquet.read_metadata(file)
    stated = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
    return max(8 * about.num_rows * max(about.num_columns, 1), stated)  # a few bytes may encode many equal rows


def _size_of_mcap(file: Path) -> int:
    """Bytes of all chunks; each is unpacked and counted, since the size in its header may be wrong."""
    try:
        from mcap.records import Chunk
        from mcap.stream_reader import StreamReader
    except ImportError:  # which the reader reports
        return 0
    total = 0
    with file.open("rb") as stream:
        for record in StreamReader(stream, emit_chunks=True, record_size_limit=file.stat().st_size).records:
            if isinstance(record, Chunk):
                total += _unpacked(record.compression, record.data, LARGEST - total)
            if total > LARGEST:
                break
    return total


def _unpacked(compression: str, data: bytes, most: int) -> int:
    """Length of compressed data, counted no further than a little beyond `most`."""
    if compression == "zstd":
        import zstandard

        if zstandard.frame_content_size(data) > most:
            return most + 1
        stream: Any = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data))
    elif compression == "lz4":
        import lz4.frame

        stream = lz4.frame.open(io.BytesIO(data))
    else:
        return len(data)
    total = 0
    while total <= most and (piece := stream.read(2**20)):
        total += len(piece)
    return total


@dataclass(frozen=True)
class Format:
    """A file format; unpacked_size: bytes of a compressed file once it is unpacked, counted before it is read."""

    read: Callable[[Path, Request], RawTosses]
    unpacked_size: Callable[[Path], int] | None = None


FORMATS = {
    ".csv": Format(_read_table),
    ".parquet": Format(_read_table, _size_of_parquet),
    ".npz": Format(_read_npz),
    ".mcap": Format(_read_mcap, _size_of_mcap),
}
