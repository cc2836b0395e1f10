"""Tables of numbers in files: CSV and Parquet by columns, .npz by fields. Nothing in them is run."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks


def read_columns(path: Path) -> dict[str, NDArray[np.float64]]:
    """The columns of numbers in a CSV or Parquet file."""
    from pyarrow import ArrowException, csv, parquet

    try:
        table = csv.read_csv(path) if path.suffix == ".csv" else parquet.read_table(path)
        return {
            name: np.asarray(table.column(name).cast("double").to_numpy(), dtype=np.float64)
            for name in table.column_names
            if str(table.column(name).type) not in ("string", "large_string")
        }
    except (ArrowException, OSError, ValueError) as error:
        raise checks.InputError(f"{path} cannot be read: {str(error).splitlines()[0]:.150}.") from error


def read_fields(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays in an .npz file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, AttributeError) as error:  # a lone array has no files
        raise checks.InputError(f"{path} cannot be read: {error!s:.150}.") from error
