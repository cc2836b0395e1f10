"""Tables whose column names say what they hold: exports of ROS 2 and PlotJuggler, AprilTag and ArUco detections.

Names are compared in lower case with every other character as "_": `/cube/pose/position/x`, `pose.position.x`,
`tvec_x` and `tx` are an x; what stands before it, `/cube/pose`, is the name of the body. A column such as `id` or
`child_frame_id` separates bodies that share the columns.
"""

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.data.tables import read_table, rows_by_value
from stiction.data.tables import to_numbers as numbers
from stiction.recordings.raw import RawFile, RawToss, Request, choose_body

_QUATERNION = re.compile(r"(.*_)?(?:orientation|rotation|quaternion|quat|rot|q)_?([wxyz])")
_VECTOR = re.compile(r"(.*_)?(?:rvec|r)_?([wxyz012])")
_POSITION = re.compile(r"(.*_)?(?:position|translation|tvec|trans|pos|t|p)_?([xyz012])|()([xyz])")
_BODY = ("id", "tag_id", "marker_id", "aruco_id", "tag", "marker", "child_frame_id", "object", "body", "rigid_body")
_TIME = re.compile(r"(?:.*_)?(?:time|timestamp|stamp|t)(?:_(s|ms|us|ns|sec|seconds|nsec|nanosec|nanoseconds))?")
_TIME_UNITS = {"sec": "s", "seconds": "s", "nsec": "ns", "nanosec": "ns", "nanoseconds": "ns"}


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")


def _poses(names: list[str]) -> dict[str, dict[str, str]]:
    """Columns by x, y, z, and qw .. qz or r0 .. r2, of each body, by what stands before them in the names."""
    found: dict[str, dict[str, str]] = {}
    for name in names:
        for kind, pattern in (("q", _QUATERNION), ("r", _VECTOR), ("", _POSITION)):
            match = pattern.fullmatch(_plain(name))
            if match:
                before, axis = match.group(1) or "", match.group(2) or match.group(match.lastindex or 2)
                if kind != "q":
                    axis = axis.translate(str.maketrans("012", "xyz"))
                found.setdefault(before, {}).setdefault(kind + axis, name)
                break
    for columns in found.values():
        if "rw" in columns:  # a quaternion after all
            columns |= {f"q{axis}": columns.pop(f"r{axis}") for axis in "wxyz" if f"r{axis}" in columns}
    turns = ({"qw", "qx", "qy", "qz"}, {"rx", "ry", "rz"})
    return {
        before: columns
        for before, columns in found.items()
        if {"x", "y", "z"} <= set(columns) and any(turn <= set(columns) for turn in turns)
    }


def has_poses(first: list[str]) -> bool:
    """Whether the first line names the columns of poses in another way than ours, or of bodies with a number."""
    mark = max(",;\t", key=first[0].count)
    names = next(csv.reader(first[:1], delimiter=mark), [])
    ours = {"x", "y", "z", "qw", "qx", "qy", "qz"} <= set(names)
    return bool(_poses(names)) and (not ours or ("toss" not in names and _body_column(names) is not None))


def _body_column(names: list[str]) -> str | None:
    return next((name for wanted in _BODY for name in names if _plain(name) == wanted), None)


def read_named_columns(path: Path, request: Request) -> RawFile:
    """The poses of one body in such a table."""
    table = read_table(path)
    names, bodies = table.column_names, {}
    poses, shared = _poses(names), _body_column(names)
    if len(poses) == 1 and shared is not None:
        keys = [str(key) for key in table.column(shared).to_pylist()]
        for row, key in enumerate(keys):
            bodies.setdefault(key, []).append(row)
        columns, before = next(iter(poses.values())), next(iter(poses))
        _, rows = choose_body(path, bodies, request.name)
        table = table.take(rows)
    else:
        shown = {_shown(columns["x"], before) or path.stem: (before, columns) for before, columns in poses.items()}
        _, (before, columns) = choose_body(path, shown, request.name)
        if len(poses) > 1:  # rows of other bodies have no numbers here
            table = table.filter(table.column(columns["x"]).is_valid())
    time, unit = _times(table, before)
    pose = np.stack([_column(path, table, columns[axis]) for axis in "xyz"], axis=1)
    if "qw" in columns:
        turn = np.stack([_column(path, table, columns[f"q{axis}"]) for axis in "wxyz"], axis=1)
    else:
        vectors = np.stack([_column(path, table, columns[f"r{axis}"]) for axis in "xyz"], axis=1)
        turn = Rotation.from_rotvec(np.nan_to_num(vectors)).as_quat(scalar_first=True)
        turn[~np.isfinite(vectors).all(axis=1)] = np.nan
    stated = {"quaternion": "wxyz"} | ({"time_unit": unit} if unit else {})
    whole = RawToss(path.stem, time, np.hstack([pose, turn]))
    if "toss" not in names:
        return RawFile([whole], stated=stated)
    each = rows_by_value(_column(path, table, "toss"))
    return RawFile([whole.part(f"{path.stem}[{number:g}]", rows) for number, rows in each], stated=stated)


def _shown(name: str, before: str) -> str:
    """The part of a column's name that is the body's, as it is written."""
    return next((name[:k] for k in range(len(name) + 1) if _plain(name[:k]) == before.strip("_")), "").rstrip("/._ ")


def _column(path: Path, table: Any, name: str) -> NDArray[np.float64]:
    from pyarrow import ArrowException

    try:
        return numbers(table.column(name))
    except (ArrowException, ValueError) as error:
        raise checks.InputError(f"{path}: column {name} must hold numbers, {checks.first_line(error)}.") from error


def _times(table: Any, before: str) -> tuple[NDArray[np.float64] | None, str]:
    """Times of the rows and their unit, where the name of the column states it: header stamps, else a time column."""
    plain = {_plain(name): name for name in table.column_names}
    stamps = [name for name in plain if name.endswith("stamp_sec")]
    stamps.sort(key=lambda name: not name.startswith(before.split("_")[0]))  # of the same topic
    for sec in stamps:
        part = next((plain[sec[:-3] + end] for end in ("nanosec", "nsec") if sec[:-3] + end in plain), None)
        if part is not None:
            whole = [
                None if a is None or b is None else int(a) * 10**9 + int(b)
                for a, b in zip(table.column(plain[sec]).to_pylist(), table.column(part).to_pylist())
            ]
            known = [stamp for stamp in whole if stamp]
            if len(set(known)) > 1:
                return np.array([np.nan if s is None else (s - known[0]) * 1e-9 for s in whole]), "s"
    for name in sorted(plain, key=lambda name: (not name.startswith(("time", "t")), len(name))):
        match = _TIME.fullmatch(name)
        column = table.column(plain[name])
        if match and str(column.type).startswith(("int", "uint", "double", "float")):
            found = numbers(column)
            if np.isfinite(found).any() and np.nanmax(found) > np.nanmin(found):
                unit = match.group(1) or ""
                return found - np.nanmin(found[np.isfinite(found)][:1]), _TIME_UNITS.get(unit, unit)
    return None, ""
