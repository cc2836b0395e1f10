"""Tables of numbers in files: CSV and Parquet by columns. Nothing in them is run."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics import checks
from stiction.basics.files import path_of, read_arrays
from stiction.bodies.body import Body
from stiction.data.dataset import DataSet
from stiction.data.external_instances import instances

_LONGEST_LINE = 100_000  # characters of a line that is looked at
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")


def read_columns(path: Path) -> dict[str, NDArray[np.float64]]:
    """The columns of numbers in a CSV or Parquet file."""
    from pyarrow import ArrowException, parquet, types

    try:
        table = _read_csv(path) if path.suffix == ".csv" else parquet.read_table(path)
        twice = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
        if twice:
            raise checks.InputError(f"{path} has more than one column {checks.shown(twice[0])}; rename one of them.")
        if not table.num_rows:
            raise checks.InputError(f"{path} has no rows below its {len(table.column_names)} column names.")
        return {
            name: np.asarray(table.column(name).cast("double").to_numpy(), dtype=np.float64)
            for name, kind in zip(table.column_names, table.schema.types)
            if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
        }
    except checks.InputError:
        raise
    except (ArrowException, OSError, ValueError, TypeError, MemoryError) as error:
        raise checks.InputError(f"{path} cannot be read: {checks.first_line(error)}.") from error


def _read_csv(path: Path) -> Any:
    """The table in a CSV file; columns may also be parted by semicolons or tabs, with decimal commas."""
    from pyarrow import csv, types

    with path.open(encoding="utf-8", errors="replace") as file:
        names, row = (file.readline(_LONGEST_LINE) for _ in range(2))
    apart = "," if "," in names else next((mark for mark in ";\t" if mark in names), ",")
    if apart == "," and '"' not in row and row.count(",") > names.count(","):
        raise checks.InputError(
            f"{path} has {names.count(',') + 1} column names, but {row.count(',') + 1} values in its first row: write "
            "decimal points instead of commas, or part the columns by semicolons."
        )
    point = "," if apart != "," and "," in row and "." not in row else "."
    how = csv.ParseOptions(delimiter=apart), csv.ConvertOptions(decimal_point=point)
    table = csv.read_csv(path, parse_options=how[0], convert_options=how[1])
    for name, kind in zip(table.column_names, table.schema.types):
        value = str(table.column(name)[0].as_py()) if types.is_string(kind) and table.num_rows else ""
        if _DECIMAL_COMMA.fullmatch(value):
            raise checks.InputError(f"{path}: column {name} has decimal commas, such as {value}; write points instead.")
    return table


def rows_by_value(column: NDArray[np.float64]) -> list[tuple[float, NDArray[np.intp]]]:
    """The rows of each value in a column (n,), in the order of their first appearance; NaN is no value."""
    values, first, inverse, number = np.unique(column, return_index=True, return_inverse=True, return_counts=True)
    rows = np.split(np.argsort(inverse, kind="stable"), np.cumsum(number)[:-1])
    found: list[Any] = [(values[k], rows[k]) for k in np.argsort(first) if not np.isnan(values[k])]
    return found


# Contacts from elsewhere in a file: an .npz with the arrays of `stiction.instances`, or a Parquet table of them.


# Array -> names of its components; in a table, the column of a component is ARRAY_COMPONENT, such as twist_vx.
_PLACE, _TURN = ("x", "y", "z"), ("w", "x", "y", "z")
_TWIST, _WRENCH = ("vx", "vy", "vz", "wx", "wy", "wz"), ("px", "py", "pz", "mx", "my", "mz")
FIELDS: dict[str, tuple[str, ...]] = {
    "position": _PLACE,
    "quaternion": _TURN,
    "twist": _TWIST,
    "twist_after": _TWIST,
    "impulse": _WRENCH,
    "mode": (),
    "throw": (),
}
_NEEDED = ("position", "quaternion", "twist")


def read_instances_file(
    path: str | Path,
    body: Body,
    *,
    timestep: float | None = None,
    gravity: ArrayLike | None = None,
    out: str | Path | None = None,
) -> DataSet:
    """The contacts of `body` in a file as a data set, see `stiction.instances`.

    timestep, gravity: by default what an .npz file says, else 0.002 s and 9.81 m/s^2 downwards
    """
    path = path_of("A file of contacts", path)
    if not path.is_file():
        raise checks.InputError(f"There is no file {path}.")
    if path.suffix not in (".npz", ".parquet"):
        raise checks.InputError(f"Contacts are read from .npz and .parquet files, got {path}.")
    arrays = read_arrays(path) if path.suffix == ".npz" else _from_table(path)
    missing = [name for name in _NEEDED if name not in arrays]
    if missing:
        raise checks.InputError(
            f"{path} has no {', '.join(missing)}; it needs {', '.join(_NEEDED)} and impulse or twist_after."
        )
    said = {"timestep": timestep, "gravity": gravity}
    how = {name: arrays.get(name) if value is None else value for name, value in said.items()}
    parts = {name: arrays[name] for name in FIELDS if name in arrays}
    return instances(body, **parts, **{name: value for name, value in how.items() if value is not None}, out=out)  # type: ignore[arg-type]


def _from_table(path: Path) -> dict[str, NDArray[np.float64]]:
    table = read_columns(path)
    found = {}
    for name, parts in FIELDS.items():
        columns = [f"{name}_{part}" for part in parts] or [name]
        there = [column for column in columns if column in table]
        if there and len(there) < len(columns):
            lacks = ", ".join(column for column in columns if column not in table)
            raise checks.InputError(f"{path} has {there[0]} but no {lacks}.")
        if there:
            found[name] = np.stack([table[column] for column in columns], axis=1) if parts else table[name]
    return found
