"""Tables of numbers in files: CSV and Parquet by columns. Nothing in them is run."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks

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
