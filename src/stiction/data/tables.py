"""Tables of numbers in files: CSV and Parquet by columns."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks

# Dialects of CSV files, (delimiter, decimal sign): the first one that fits the header and the first row of a file is
# used. To read another dialect, add it here. Names of columns are mapped in recordings/readers.py (`PLANAR`) or by
# --columns.
DIALECTS = ((",", "."), (";", ","), (";", "."), ("\t", ","), ("\t", "."))


def read_columns(path: Path) -> dict[str, NDArray[np.float64]]:
    """The columns of numbers in a CSV or Parquet file; whole numbers beyond 2^53 count from the first one."""
    from pyarrow import types

    table = read_table(path)
    return {
        name: to_numbers(table.column(name))
        for name, kind in zip(table.column_names, table.schema.types)
        if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
    }


def read_table(path: Path) -> Any:
    """The pyarrow.Table in a CSV or Parquet file; its columns have different names, and at least one row."""
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path) if path.suffix == ".parquet" else _read_csv(path)
        twice = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
        if twice:
            raise checks.InputError(f"{path} has more than one column {checks.shown(twice[0])}; rename one of them.")
        if not table.num_rows:
            raise checks.InputError(f"{path} has no rows below its {len(table.column_names)} column names.")
        return table
    except checks.InputError:
        raise
    except (ArrowException, OSError, ValueError, TypeError, MemoryError) as error:
        raise checks.InputError(f"{path} cannot be read: {checks.first_line(error)}.") from error


def to_numbers(column: Any) -> NDArray[np.float64]:
    """A column as float64, NaN where it is empty.

    Stamps in nanoseconds have more digits than a float64: the first one is subtracted while they are integers.
    """
    from pyarrow import types

    there = column.drop_null()
    if not types.is_integer(column.type) or not len(there):
        return np.asarray(column.cast("double").to_numpy(), dtype=np.float64)
    whole = column.fill_null(there[0]).to_numpy().astype(np.int64)  # uint64 wraps, and so does the difference
    first = whole[0] if np.abs(whole.astype(np.float64)).max() > 2**53 else 0
    found = (whole - first).astype(np.float64)
    found[column.is_null().to_numpy()] = np.nan
    return found


def _read_csv(path: Path) -> Any:
    """The table in a CSV file of any of the dialects."""
    from pyarrow import csv, types

    with path.open(encoding="utf-8", errors="replace") as file:
        header, row = (file.readline(100_000) for _ in range(2))
    commas = "," in row and "." not in row
    fitting = (dialect for dialect in DIALECTS if dialect[0] in header and (dialect[1] == "." or commas))
    delimiter, decimal = next(fitting, DIALECTS[0])  # a single column has no delimiter
    if delimiter == "," and '"' not in row and row.count(",") > header.count(","):
        raise checks.InputError(
            f"{path} has {header.count(',') + 1} column names, but {row.count(',') + 1} values in its first row: write "
            "decimal points instead of commas, or separate the columns by semicolons."
        )
    table = csv.read_csv(
        path,
        parse_options=csv.ParseOptions(delimiter=delimiter),
        convert_options=csv.ConvertOptions(decimal_point=decimal),
    )
    for name, kind in zip(table.column_names, table.schema.types):
        value = str(table.column(name)[0].as_py()) if types.is_string(kind) and table.num_rows else ""
        if re.fullmatch(r"[-+]?\d+,\d+([eE][-+]?\d+)?", value):
            raise checks.InputError(f"{path}: column {name} has decimal commas, such as {value}; write points instead.")
    return table


def rows_by_value(column: NDArray[np.float64]) -> list[tuple[float, NDArray[np.intp]]]:
    """The rows of each value in a column (n,), in the order of their first appearance; NaN is left out."""
    values, first, inverse, number = np.unique(column, return_index=True, return_inverse=True, return_counts=True)
    rows = np.split(np.argsort(inverse, kind="stable"), np.cumsum(number)[:-1])
    found: list[Any] = [(values[k], rows[k]) for k in np.argsort(first) if not np.isnan(values[k])]
    return found
