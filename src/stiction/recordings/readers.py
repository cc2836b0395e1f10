"""Files of recorded poses: CSV, Parquet, .npz and MCAP, read into plain arrays as they stand."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks, files
from stiction.basics.environment import needs
from stiction.basics.files import path_of
from stiction.data.tables import read_columns, rows_by_value

# Limits of recordings: a stranger's file is measured before it is read, and what was read is checked before its use.


LARGEST = 2 * 10**9  # bytes of one file, unpacked
LONGEST_INTERVAL = 10.0  # [s] between frames
SHORTEST_INTERVAL = 1e-7
MOST_FILES = 100_000  # in a folder
FARTHEST = 1e12  # in any unit: what is farther is no position, and is left out as missing
_LATEST = 1e19  # in any unit: nanoseconds of some centuries
_LONGEST = 500  # letters of a refusal
_PIECE = 2**20  # bytes that are unpacked at a time, to be counted


def checked_reader(read: Callable[..., Any]) -> Callable[..., Any]:
    """The reader of a file or folder of recordings, told by its path, with its input and its results looked at."""

    @wraps(read)
    def checked(path: str | Path, *given: Any, **how: Any) -> Any:
        path = path_of("A recording", path)
        with reading(path):
            tosses, interval = read(path, *given, **how)
        for toss in tosses:
            _check_toss(path, toss)
        return tosses, None if interval is None else checked_interval(f"{path}: dt [s]", interval)

    return checked


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """A block that reads a file or folder, which is measured before; whatever the block raises becomes one sentence."""
    for number, file in enumerate(sorted(path.iterdir()) if path.is_dir() else [path]):
        if number == MOST_FILES:
            raise checks.InputError(f"{path} holds more than {MOST_FILES} files.")
        if file.is_file():
            _check_size(file)
    try:
        yield
    except checks.InputError as error:
        if len(str(error)) > _LONGEST:  # such as a list of a thousand columns
            raise checks.InputError(f"{error!s:.{_LONGEST}}...") from error
        raise
    except Exception as error:  # which, depends on where the damage is
        raise checks.InputError(f"{path} cannot be read: {checks.first_line(error)}.") from error


def checked_interval(name: str, value: float) -> float:
    """The time from frame to frame [s]."""
    interval = checks.positive(name, value)
    if not SHORTEST_INTERVAL <= interval <= LONGEST_INTERVAL:
        raise checks.InputError(
            f"{name} must be {SHORTEST_INTERVAL:g} to {LONGEST_INTERVAL:g} s from frame to frame, got {interval:g} s."
        )
    return interval


def checked_fields(path: Path, data: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The fields of an .npz recording, each with the shape and type that it must have."""
    found: dict[str, Any] = dict(data)
    if "states" in data:
        found["states"] = checks.numbers(f"{path}: states", data["states"])
    if "offsets" in data:
        found["offsets"] = checks.whole_numbers(f"{path}: offsets", data["offsets"])
        if found["offsets"].ndim != 1 or len(found["offsets"]) < 2:
            raise checks.InputError(
                f"{path}: offsets must have shape (tosses + 1,), for at least one toss, got {found['offsets'].shape}."
            )
        for name in ("group_id", "split"):
            if name in data:
                found[name] = checks.whole_numbers(f"{path}: {name}", data[name])
                if found[name].shape != (len(found["offsets"]) - 1,):
                    raise checks.InputError(f"{path}: {name} must have one number a toss, got {found[name].shape}.")
    if "dt" in data:
        found["dt"] = np.array(checked_interval(f"{path}: dt [s]", data["dt"]))  # type: ignore[arg-type]
    return found


def _check_toss(path: Path, toss: Any) -> None:
    """Frames that are nowhere are left out as missing; a time that is nowhere is refused."""
    toss.pose[~(np.abs(toss.pose) < FARTHEST)] = np.nan
    if toss.time is not None and (np.abs(toss.time[np.isfinite(toss.time)]) > _LATEST).any():
        raise checks.InputError(f"{path}: {toss.name} has time stamps beyond {_LATEST:g}, which no recorder writes.")


def _check_size(file: Path) -> None:
    """Refuse a file that is larger than `LARGEST`, or would be once it is unpacked."""
    size, suffix = file.stat().st_size, file.suffix
    if size <= LARGEST and suffix in _UNPACKED:
        try:
            size = max(size, _UNPACKED[suffix](file))
        except checks.InputError:
            raise
        except Exception as error:
            raise checks.InputError(f"{file} is damaged: {checks.first_line(error)}.") from error
    if size > LARGEST:
        raise checks.InputError(f"{file} would unpack to more than {LARGEST / 1e9:g} GB, the most that is read.")


def _size_of_parquet(file: Path) -> int:
    from pyarrow import parquet

    about = parquet.read_metadata(file)
    told = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
    return max(8 * about.num_rows * max(about.num_columns, 1), told)  # a few bytes may stand for many equal rows


def _size_of_mcap(file: Path) -> int:
    """Bytes of all chunks; each is unpacked and counted, since what it says of itself may be wrong."""
    try:
        from mcap.records import Chunk
        from mcap.stream_reader import StreamReader
    except ImportError:  # whose lack the reader tells
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
        import io

        import zstandard

        if zstandard.frame_content_size(data) > most:
            return most + 1
        stream: Any = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data))
    elif compression == "lz4":
        import io

        import lz4.frame

        stream = lz4.frame.open(io.BytesIO(data))
    else:
        return len(data)
    total = 0
    while total <= most and (piece := stream.read(_PIECE)):
        total += len(piece)
    return total


_UNPACKED: dict[str, Callable[[Path], int]] = {".parquet": _size_of_parquet, ".mcap": _size_of_mcap}


# Columns of CSV and Parquet files, by the names that `--columns` maps from.
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
# The same of a planar recording, with names that are usual for them, the likelier ones first.
PLANAR = {
    "x": ("x", "pos_x", "px", "position_x"),
    "z": ("z", "pos_z", "pz", "position_z", "height", "y", "pos_y", "py", "position_y"),
    "angle": (
        "angle",
        "theta",
        "phi",
        "alpha",
        "rotation",
        "orientation",
        "rot",
        "angle_rad",
        "angle_deg",
    ),
}
VELOCITY = ("vx", "vy", "vz", "wx", "wy", "wz")
# What is said where the body and the file differ in this.
IN_PLANE = (
    "holds poses in a plane (x, z and an angle), but the body moves in space: give a planar one, --body rectangle:X,Z."
)
IN_SPACE = (
    "holds poses in space (x, y, z and quaternions), but a rectangle moves in a plane: give a body that moves in "
    "space, such as --body box:X,Y,Z."
)
SUFFIXES = (".csv", ".parquet", ".npz", ".mcap")


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


@checked_reader
def read_raw(
    path: str | Path, columns: dict[str, str], topic: str | None = None, *, planar: bool = False
) -> tuple[list[RawToss], float | None]:
    """All tosses in a file or in the files of a folder, and the frame interval [s] if the file states it.

    planar: poses are x, z and an angle
    """
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
            found, interval = _read_planar_npz(file) if planar else _read_npz(file)
            tosses += found
        elif file.suffix in (".csv", ".parquet"):
            tosses += _read_table(file, columns, planar)
        elif file.suffix == ".mcap" and planar:
            raise checks.InputError(f"{file} {IN_SPACE}")
        elif file.suffix == ".mcap":
            tosses += _read_mcap(file, topic)
        else:
            raise checks.InputError(f"{file} is no recording; readable are files {', '.join(SUFFIXES)}.")
    return tosses, interval


def _read_npz(path: Path) -> tuple[list[RawToss], float | None]:
    """Fields as those of the cube tosses: states (F, 7 or 13), offsets (n + 1,), dt; split, group_id by choice."""
    data = checked_fields(path, files.read_arrays(path))
    missing = sorted({"states", "offsets"} - set(data))
    if missing and "poses" in data and data["poses"].shape[2:] == (3,):
        raise checks.InputError(f"{path} {IN_PLANE}")
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


def _read_planar_npz(path: Path) -> tuple[list[RawToss], float | None]:
    """Fields: poses (n, frames, 3), rows of NaN where there is none; dt; split by choice, numbers or words."""
    data = checked_fields(path, files.read_arrays(path))
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
    tosses = [RawToss(f"{path.stem}[{i}]", None, rows, None, i, bool(held_out[i])) for i, rows in enumerate(poses)]
    return tosses, float(data["dt"]) if "dt" in data else None


def _planar_names(table: dict[str, NDArray]) -> dict[str, str]:
    """Columns of a planar table by our names, guessed: the upright axis may be called y."""
    found = {}
    for name, usual in PLANAR.items():
        there = [column for column in table if column.lower() in usual]
        found[name] = min(there, key=lambda column: usual.index(column.lower())) if there else name
    return found


def _has(table: dict[str, NDArray], names: tuple[str, ...]) -> bool:
    """Whether a table has one of these columns."""
    return any(column.lower() in names for column in table)


def _read_table(path: Path, columns: dict[str, str], planar: bool) -> list[RawToss]:
    """A CSV or Parquet file with one row a frame; a column `toss` parts it into tosses."""
    table = read_columns(path)
    wanted = tuple(PLANAR) if planar else POSE
    names = {name: name for name in (*wanted, *VELOCITY, "time", "toss")}
    names |= (_planar_names(table) if planar else {}) | columns
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
    return result


def _read_mcap(path: Path, topic: str | None) -> list[RawToss]:
    """One toss: JSON messages of a pose topic (foxglove.PoseInFrame or geometry_msgs/PoseStamped as JSON)."""
    try:
        from mcap.reader import NonSeekingReader
    except ImportError as error:
        raise checks.InputError(needs(f"Reading {path}", "mcap")) from error
    rows, seen = [], set()
    with path.open("rb") as stream:  # from front to back: an index may point to what was not measured
        for _schema, channel, message in NonSeekingReader(stream).iter_messages(topics=topic):
            seen.add((channel.topic, channel.message_encoding))
            if channel.message_encoding == "json":
                rows += [(message.log_time * 1e-9, *pose) for pose in _poses(json.loads(message.data))]
    if not rows:
        topics = ", ".join(f"{name} ({encoding})" for name, encoding in sorted(seen)) or "none"
        raise checks.InputError(f"{path} has no poses in JSON messages on topic {topic or 'any'}; it has {topics}.")
    if len({name for name, _ in seen}) > 1:
        raise checks.InputError(f"{path} has several topics, {', '.join(sorted(t for t, _ in seen))}: give --topic.")
    data = checks.numbers(f"{path}: the poses", rows)
    return [RawToss(path.stem, data[:, 0] - data[0, 0], data[:, 1:])]


def _poses(message: Any) -> Iterator[tuple[float, ...]]:
    """The poses in a decoded message, wherever its pose stands; quaternions as w, x, y, z."""
    pose = message.get("pose", message) if isinstance(message, dict) else None
    if isinstance(pose, dict) and "pose" in pose:  # with covariance
        pose = pose["pose"]
    if isinstance(pose, dict) and {"position", "orientation"} <= set(pose):
        p, q = pose["position"], pose["orientation"]
        yield p["x"], p["y"], p["z"], q["w"], q["x"], q["y"], q["z"]
