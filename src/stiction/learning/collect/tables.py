"""Tables of numbers in files: CSV and Parquet by columns. Nothing in them is run."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks


def read_columns(path: Path) -> dict[str, NDArray[np.float64]]:
    """The columns of numbers in a CSV or Parquet file."""
    from pyarrow import ArrowException, csv, parquet, types

    try:
        table = csv.read_csv(path) if path.suffix == ".csv" else parquet.read_table(path)
        twice = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
        if twice:
            raise checks.InputError(f"{path} has more than one column {checks.shown(twice[0])}; rename one of them.")
        if not table.num_rows:
            raise checks.InputError(f"{path} has no rows below its {len(table.column_names)} column names.")
        if table.num_columns == 1 and ";" in table.column_names[0]:
            raise checks.InputError(f"{path} has its columns parted by semicolons; a .csv file needs commas.")
        return {
            name: np.asarray(table.column(name).cast("double").to_numpy(), dtype=np.float64)
            for name, kind in zip(table.column_names, table.schema.types)
            if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
        }
    except checks.InputError:
        raise
    except (ArrowException, OSError, ValueError, TypeError, MemoryError) as error:
        raise checks.InputError(f"{path} cannot be read: {checks.first_line(error)}.") from error


def rows_by_value(column: NDArray[np.float64]) -> list[tuple[float, NDArray[np.intp]]]:
    """The rows of each value in a column (n,), in the order of their first appearance; NaN is no value."""
    values, first, inverse, number = np.unique(column, return_index=True, return_inverse=True, return_counts=True)
    rows = np.split(np.argsort(inverse, kind="stable"), np.cumsum(number)[:-1])
    found: list[Any] = [(values[k], rows[k]) for k in np.argsort(first) if not np.isnan(values[k])]
    return found
