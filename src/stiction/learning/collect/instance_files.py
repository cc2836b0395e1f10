"""Contacts from elsewhere in a file: an .npz with the arrays of `stiction.instances`, or a Parquet table of them."""

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics import checks
from stiction.basics.files import path_of, read_arrays
from stiction.bodies.body import Body
from stiction.learning.collect.dataset import DataSet
from stiction.learning.collect.elsewhere import instances
from stiction.learning.collect.tables import read_columns

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
