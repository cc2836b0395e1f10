"""Text files as trackers export them: OptiTrack Motive, Vicon, Qualisys, ROS 2, AprilTag and ArUco, TUM.

Each dialect has a recogniser, which sees the first lines of a file, and a reader, which returns all bodies in it. To
read another one, write both and add a line to `DIALECTS`. Quaternions are sorted w, x, y, z; lengths stay as recorded.
"""

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.recordings.pose_columns import has_poses, read_named_columns
from stiction.recordings.raw import RawFile, RawToss, Request, choose_body

FIRST_LINES = 40  # of a file, by which its dialect is recognised
_UNITS = {"meters": "m", "centimeters": "cm", "millimeters": "mm", "inches": "in", "m": "m", "cm": "cm", "mm": "mm"}


@dataclass(frozen=True)
class Dialect:
    """An export of a tracker; name: as in docs/recordings.md."""

    name: str
    recognises: Callable[[list[str]], bool]
    read: Callable[[Path, Request], RawFile]


def dialect_of(path: Path) -> Dialect | None:
    """The dialect of a text file, or None."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        first = [file.readline(100_000).rstrip("\r\n") for _ in range(FIRST_LINES)]
    return next((dialect for dialect in DIALECTS if dialect.recognises(first)), None)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8-sig", errors="replace").splitlines()


def _cells(line: str, mark: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=mark), [])]


def _numbers(path: Path, rows: Sequence[Sequence[str]], columns: Sequence[int]) -> NDArray[np.float64]:
    """Columns of cells as numbers, NaN where they are empty or missing."""
    empty = {"": "nan", "null": "nan", "-": "nan"}

    def number(cells: Sequence[str], k: int) -> float:
        cell = cells[k].strip() if k < len(cells) else ""
        return float(empty.get(cell.lower(), cell))

    try:
        found = [[number(cells, k) for k in columns] for cells in rows]
    except ValueError as error:
        raise checks.InputError(f"{path} cannot be read: {checks.first_line(error)}.") from error
    return np.array(found, dtype=np.float64).reshape(-1, len(columns))


def _stated(path: Path, what: str, unit: str) -> str:
    if unit.lower() not in _UNITS:
        raise checks.InputError(f"{path}: {what} must be one of {', '.join(_UNITS)}, got {checks.shown(unit)}.")
    return _UNITS[unit.lower()]


def _quaternions(path: Path, make: Callable[[NDArray], Rotation], rows: NDArray) -> NDArray[np.float64]:
    """Quaternions w, x, y, z of rows (n, ...) that describe rotations; NaN where a row has no numbers or none fits."""
    found = np.full((len(rows), 4), np.nan)
    there = np.isfinite(rows).all(axis=1) & (np.abs(rows).max(axis=1, initial=0.0) < 1e6)
    if there.any():
        found[there] = make(rows[there]).as_quat(scalar_first=True)
    return found


def _rate(path: Path, what: str, text: str) -> float:
    try:
        return 1 / checks.positive(f"{path}: {what}", float(text))
    except ValueError as error:
        raise checks.InputError(f"{path}: {what} must be a number, got {checks.shown(text)}.") from error


# OptiTrack Motive: pairs of keys and values in the first row, then rows of types, names and IDs, one column a number


def _is_motive(first: list[str]) -> bool:
    return first[0].startswith("Format Version,")


def _read_motive(path: Path, request: Request) -> RawFile:
    lines = _lines(path)
    head = next((k for k, line in enumerate(lines[:FIRST_LINES]) if line.startswith("Frame,")), None)
    if head is None or head < 3:
        raise checks.InputError(f"{path} has no row of axes, Frame, Time (Seconds), X, Y, ...: export it with headers.")
    pairs = _cells(lines[0], ",")
    about = dict(zip(pairs[::2], pairs[1::2]))
    space = about.get("Coordinate Space", "Global")
    if space.lower() not in ("global", "world"):
        raise checks.InputError(f"{path} has the coordinate space {space}: export it with Global.")
    above = [_cells(line, ",") for line in lines[1:head] if line.strip(", ")]
    types, names, parts, axes = above[0], above[1], above[-1], _cells(lines[head], ",")
    bodies: dict[str, dict[str, int]] = {}
    for k, (kind, name, part, axis) in enumerate(zip(types, names, parts, axes)):
        if kind == "Rigid Body" and part in ("Rotation", "Position"):
            bodies.setdefault(name, {})[part[0] + axis] = k
    if not bodies:
        there = ", ".join(dict.fromkeys(kind for kind in types if kind and kind != "Type")) or "no bodies"
        raise checks.InputError(f"{path} holds no rigid body, but {there}: export rigid bodies.")
    rows = [line.split(",") for line in lines[head + 1 :] if line.strip(", ")]
    _, at = choose_body(path, bodies, request.name)
    order = about.get("Rotation Type", "Quaternion")
    turns = "XYZW" if order.startswith("Quaternion") else order.upper()
    wanted = [f"R{axis}" for axis in turns] + ["PX", "PY", "PZ"]
    if not set(wanted) <= set(at) or sorted(turns) not in (list("WXYZ"), list("XYZ")):
        raise checks.InputError(f"{path}: rotations of type {order} need the columns {', '.join(wanted)}.")
    found = _numbers(path, rows, [1, *(at[name] for name in wanted)])
    turn, position = found[:, 1:-3], found[:, -3:]
    if turns == "XYZW":
        quaternion = turn[:, [3, 0, 1, 2]]
    else:
        quaternion = _quaternions(path, lambda rows: Rotation.from_euler(turns, rows, degrees=True), turn)
    stated = {"quaternion": "wxyz", "time_unit": "s"}
    if "Length Units" in about:
        stated["units"] = _stated(path, "Length Units", about["Length Units"])
    rate = about.get("Export Frame Rate") or about.get("Capture Frame Rate")
    interval = None if rate is None else _rate(path, "the frame rate [Hz]", rate)
    toss = RawToss(path.stem, found[:, 0], np.hstack([position, quaternion]))
    return RawFile([toss], interval, stated)


# Vicon Nexus and Tracker: a section Objects or Segments with a rate, names, columns, units, and then rotation vectors


def _is_vicon(first: list[str]) -> bool:
    return any(re.match(r"Frame[,;\t]Sub Frame", line) for line in first[:FIRST_LINES])


def _read_vicon(path: Path, request: Request) -> RawFile:
    lines = _lines(path)
    starts = [k for k, line in enumerate(lines) if line.strip(",;\t ") in ("Objects", "Segments")]
    if not starts:
        raise checks.InputError(f"{path} has no section Objects or Segments, only markers: export objects or segments.")
    section = lines[starts[0] :]
    ends = (k for k, line in enumerate(section[5:], 5) if not line.strip(",;\t "))
    section = section[: next(ends, len(section))]
    mark = next((c for c in ",;\t" if section[3:] and section[3].startswith(f"Frame{c}")), None)
    if mark is None:
        raise checks.InputError(f"{path}: the fourth row of {section[0]} must start with Frame, Sub Frame.")
    names, columns, units = (_cells(line, mark) for line in section[2:5])
    point = "," if mark == ";" and "," in "".join(section[5:7]) else "."
    rows = [line.replace(point, ".").split(mark) for line in section[5:]]
    bodies: dict[str, dict[str, int]] = {}
    name = ""
    for k, column in enumerate(columns):
        if k < len(names) and names[k]:
            name = names[k].removeprefix("Global Angle ")
            subject, _, segment = name.partition(":")
            name = subject if segment == subject else name
        if re.fullmatch("R[XYZW]|T[XYZ]", column) and name:
            bodies.setdefault(name, {})[column] = k
    whole = {name: at for name, at in bodies.items() if {"RX", "RY", "RZ", "TX", "TY", "TZ"} <= set(at)}
    _, at = choose_body(path, whole, request.name)
    turns = ["RX", "RY", "RZ"] + (["RW"] if "RW" in at else [])
    found = _numbers(path, rows, [0, *(at[name] for name in [*turns, "TX", "TY", "TZ"])])
    turn, position = found[:, 1:-3], found[:, -3:]
    degrees = units[at["RX"]].lower().startswith("deg")
    if "RW" in at:
        quaternion = turn[:, [3, 0, 1, 2]]
    else:
        quaternion = _quaternions(path, lambda rows: Rotation.from_rotvec(rows, degrees=degrees), turn)
    interval = _rate(path, "the frame rate [Hz]", section[1].strip(",;\t "))
    stated = {"quaternion": "wxyz", "time_unit": "s", "units": _stated(path, "the unit of TX", units[at["TX"]])}
    position[(position == 0).all(axis=1)] = np.nan  # where the object was not seen
    toss = RawToss(path.stem, interval * (found[:, 0] - found[:1, 0]), np.hstack([position, quaternion]))
    return RawFile([toss], interval, stated)


# Qualisys QTM: keys and values, then for each body a position, three angles, a residual and a matrix by columns


def _is_qualisys(first: list[str]) -> bool:
    return any(line.startswith("NO_OF_FRAMES\t") for line in first)


def _read_qualisys(path: Path, request: Request) -> RawFile:
    lines = _lines(path)
    head = next((k for k, line in enumerate(lines) if re.match(r"Frame\t|X\t|[-\d]", line)), len(lines))
    about = {cells[0]: cells[1:] for cells in (line.split("\t") for line in lines[:head])}
    names = [name for name in about.get("BODY_NAMES", []) if name]
    if not names:
        raise checks.InputError(f"{path} has no BODY_NAMES: export 6D data, which describe rigid bodies.")
    rows = [line.split("\t") for line in lines[head:] if re.match(r"\s*[-\d]", line)]
    width = 16  # numbers of a body
    before = len([cell for cell in rows[0] if cell.strip()]) - width * len(names) if rows else -1
    if before not in (0, 1, 2):
        raise checks.InputError(f"{path} must have {width} columns for each of its {len(names)} bodies, X to Rot[8].")
    bodies = {name: before + width * k for k, name in enumerate(names)}
    _, at = choose_body(path, bodies, request.name)
    found = _numbers(path, rows, [*range(before), *range(at, at + 3), *range(at + 7, at + width)])
    position, matrix = found[:, before : before + 3], found[:, before + 3 :]
    matrix[(np.abs(matrix) < 1e-3).all(axis=1)] = np.nan  # where the body was not seen
    by_columns = lambda rows: Rotation.from_matrix(np.swapaxes(rows.reshape(-1, 3, 3), 1, 2))  # noqa: E731
    quaternion = _quaternions(path, by_columns, matrix)
    interval = _rate(path, "FREQUENCY [Hz]", " ".join(about.get("FREQUENCY", [])).strip())
    time = found[:, 1] if before == 2 else np.linspace(0.0, interval * (len(found) - 1), len(found))
    toss = RawToss(path.stem, time, np.hstack([position, quaternion]))
    return RawFile([toss], interval, {"quaternion": "wxyz", "time_unit": "s", "units": "mm"})


# TUM: timestamp tx ty tz qx qy qz qw


def _is_tum(first: list[str]) -> bool:
    rows = [line.split() for line in first if line.strip() and not line.startswith("#")]
    return len(rows) > 1 and all(len(row) == 8 and all(_is_number(cell) for cell in row) for row in rows)


def _read_tum(path: Path, request: Request) -> RawFile:
    rows = [line.split() for line in _lines(path) if line.strip() and not line.startswith("#")]
    pose = _numbers(path, rows, [1, 2, 3, 7, 4, 5, 6])
    return RawFile([RawToss(path.stem, stamps([row[0] for row in rows]), pose)], stated={"quaternion": "wxyz"})


# ros2 topic echo --csv: no names of columns, but sec, nanosec, frame_id, in some messages child_frame_id, and the pose


def _is_echo(first: list[str]) -> bool:
    rows = [line.split(",") for line in first if line.strip()]
    return len(rows) > 1 and all(_pose_at(row) is not None for row in rows)


def _pose_at(row: list[str]) -> int | None:
    """The column of x in a row of `ros2 topic echo --csv`, or None."""
    if len(row) < 10 or not (row[0].isdigit() and row[1].isdigit()) or _is_number(row[2]):
        return None
    at = 4 if len(row) == 11 or not _is_number(row[3]) else 3  # TransformStamped names a child frame
    return at if len(row) >= at + 7 and all(_is_number(cell) for cell in row[at : at + 7]) else None


def _read_echo(path: Path, request: Request) -> RawFile:
    rows = [line.split(",") for line in _lines(path) if line.strip()]
    at = _pose_at(rows[0]) or 3
    bodies: dict[str, list[list[str]]] = {}
    for row in rows:
        bodies.setdefault(row[3] if at == 4 and len(row) > 3 else path.stem, []).append(row)
    _, rows = choose_body(path, bodies, request.name)
    time = 1e-9 * stamps([f"{row[0]}{row[1]:0>9}" if row[0] + row[1] else "" for row in rows])
    pose = _numbers(path, rows, [at + k for k in (0, 1, 2, 6, 3, 4, 5)])
    return RawFile([RawToss(path.stem, time, pose)], stated={"quaternion": "wxyz", "time_unit": "s"})


def stamps(cells: Sequence[str]) -> NDArray[np.float64]:
    """Time since the first stamp, in the unit of the stamps: whole numbers are subtracted without rounding."""
    if all(cell.isdigit() for cell in cells):
        return np.array([int(cell) - int(cells[0]) for cell in cells], dtype=np.float64)
    found = np.array([float(cell) if _is_number(cell) else np.nan for cell in cells])
    return found - (found[0] if len(found) and np.isfinite(found[0]) else 0.0)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


DIALECTS = (
    Dialect("OptiTrack Motive CSV", _is_motive, _read_motive),
    Dialect("Vicon CSV", _is_vicon, _read_vicon),
    Dialect("Qualisys 6D TSV", _is_qualisys, _read_qualisys),
    Dialect("TUM trajectory", _is_tum, _read_tum),
    Dialect("ros2 topic echo --csv", _is_echo, _read_echo),
    Dialect("ROS 2, PlotJuggler or AprilTag CSV", has_poses, read_named_columns),
)
