"""Files of recorded poses, read into plain arrays as they stand: dispatch, .npz, and tables with our column names.

To read another file format, write a function from a path and a `Request` to `RawFile`, and add a line to `FORMATS`. To
read the export of another tracker, add a line to `DIALECTS` in recordings/trackers.py; other delimiters of CSV files
are in data/tables.py.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks, files
from stiction.data.tables import read_columns, rows_by_value
from stiction.recordings.bags import read_mcap, size_of_mcap
from stiction.recordings.raw import IN_PLANE, IN_SPACE, RawFile, RawToss, Request
from stiction.recordings.trackers import DIALECTS, dialect_of

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
_REMEDIES = {
    ".db3": "convert the bag to MCAP with `ros2 bag convert`.",
    ".bag": "convert the bag of ROS 1 to MCAP with `mcap convert`.",
    ".c3d": "export poses of rigid bodies as CSV or TSV instead of markers.",
}


def read_raw(path: Path, request: Request) -> RawFile:
    """All tosses in a file or in the files of a folder."""
    with reading(path):
        found = [(file, FORMATS[file.suffix].read(file, request)) for file in _recordings_at(path)]
    last = found[-1][1]
    for file, each in found:
        if each.stated != last.stated:
            raise checks.InputError(f"{file} states other conventions than {found[-1][0]}: import them one by one.")
    tosses = [replace(toss, alone=len(each.tosses) == 1) for _, each in found for toss in each.tosses]
    for toss in tosses:
        toss.pose[~(np.abs(toss.pose) < FARTHEST)] = np.nan
        if toss.time is not None and (np.abs(toss.time[np.isfinite(toss.time)]) > 1e19).any():
            raise checks.InputError(f"{path}: {toss.name} has time stamps beyond 1e+19, which no recorder writes.")
    interval = None if last.interval is None else checked_interval(f"{path}: the frame interval [s]", last.interval)
    return replace(last, tosses=tosses, interval=interval)


def _recordings_at(path: Path) -> list[Path]:
    suffixes = ", ".join(FORMATS)
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.suffix in FORMATS)
        found = [file for file in found if file.suffix != ".txt" or dialect_of(file) is not None]
        if not found:
            remedy = _REMEDIES[".db3"] if any(path.glob("*.db3")) else f"readable are files {suffixes}."
            raise checks.InputError(f"{path} holds no recording; {remedy}")
        return found
    if not path.is_file():
        raise checks.InputError(f"There is no recording {path}.")
    if path.suffix not in FORMATS:
        remedy = _REMEDIES.get(path.suffix, f"readable are files {suffixes}.")
        raise checks.InputError(f"{path} is no recording that can be read; {remedy}")
    return [path]


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


def _read_npz(path: Path, request: Request) -> RawFile:
    """Tosses in an .npz file; `split`, numbers or words, marks those that are held out; `dt` is the interval [s]."""
    _check_nameless(path, request)
    data = files.read_arrays(path)
    interval = checked_interval(f"{path}: dt [s]", data["dt"]) if "dt" in data else None  # type: ignore[arg-type]
    return RawFile((_planar_tosses if request.planar else _tosses_in_space)(path, data), interval)


def _check_nameless(path: Path, request: Request) -> None:
    if request.name is not None:
        raise checks.InputError(f"{path} does not name bodies: leave out --object.")


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


def _read_text(path: Path, request: Request) -> RawFile:
    """A text file: the export of a tracker, recognised by its first lines, or else a table with our column names."""
    dialect = None if request.planar or request.columns else dialect_of(path)
    if dialect is not None:
        return replace(dialect.read(path, request), format=dialect.name)
    if path.suffix not in (".csv", ".tsv"):
        raise checks.InputError(f"{path} is not in a form that is read; text files are read as exported by {EXPORTS}.")
    return _read_table(path, request)


def _read_table(path: Path, request: Request) -> RawFile:
    """A table with one row a frame; a column `toss` separates tosses."""
    _check_nameless(path, request)
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
            f"--columns {'x=pos_x,angle=phi' if planar else 'x=pos_x,qw=rot_w'}"
            f"{'' if planar else f', or export it as one of {EXPORTS}'}."
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
    return RawFile(result, stated={"quaternion": "wxyz"})


def _planar_names(table: dict[str, NDArray]) -> dict[str, str]:
    """Columns of a planar table by our names, guessed: the upright axis may be called y."""
    found = {}
    for name, usual in PLANAR.items():
        there = [column for column in table if column.lower() in usual]
        found[name] = min(there, key=lambda column: usual.index(column.lower())) if there else name
    return found


def _has(table: dict[str, NDArray], names: tuple[str, ...]) -> bool:
    return any(column.lower() in names for column in table)


# Sizes of files once they are unpacked


def _check_size(file: Path) -> None:
    """Refuse a file that is larger than `LARGEST`, or would be once it is unpacked."""
    size = file.stat().st_size
    unpacked_size = FORMATS[file.suffix].unpacked_size if file.suffix in FORMATS else None
    if size <= LARGEST and unpacked_size is not None:
        try:
            size = max(size, unpacked_size(file, LARGEST))
        except checks.InputError:
            raise
        except Exception as error:
            raise checks.InputError(f"{file} is damaged: {checks.first_line(error)}.") from error
    if size > LARGEST:
        raise checks.InputError(f"{file} would unpack to more than {LARGEST / 1e9:g} GB, the most that is read.")


def _size_of_parquet(file: Path, most: int) -> int:
    from pyarrow import parquet

    about = parquet.read_metadata(file)
    stated = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
    return max(8 * about.num_rows * max(about.num_columns, 1), stated)  # a few bytes may encode many equal rows


@dataclass(frozen=True)
class Format:
    """A file format.

    unpacked_size: bytes of a compressed file once it is unpacked, counted up to a limit before it is read
    """

    read: Callable[[Path, Request], RawFile]
    unpacked_size: Callable[[Path, int], int] | None = None


EXPORTS = ", ".join(dialect.name for dialect in DIALECTS)
FORMATS = {
    ".csv": Format(_read_text),
    ".tsv": Format(_read_text),
    ".txt": Format(_read_text),
    ".tum": Format(_read_text),
    ".parquet": Format(_read_table, _size_of_parquet),
    ".npz": Format(_read_npz),
    ".mcap": Format(read_mcap, size_of_mcap),
}
