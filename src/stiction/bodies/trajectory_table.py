"""Trajectories as tables: one row a state, with the names that recordings have."""

from typing import Any

import numpy as np

from stiction.basics import checks
from stiction.bodies.state import Kind, Mode, Trajectory

_STATES = {
    "position": ("x", "y", "z"),
    "quaternion": ("qw", "qx", "qy", "qz"),
    "velocity": ("vx", "vy", "vz"),
    "angular_velocity": ("wx", "wy", "wz"),
}
_IMPULSE = ("px", "py", "pz", "mx", "my", "mz")


def dataframe(run: Trajectory) -> Any:
    """The table as a pandas.DataFrame."""
    try:
        import pandas  # type: ignore[import-not-found]  # no dependency of ours
    except ImportError as error:
        raise checks.InputError("Trajectory.to_dataframe needs pandas: pip install pandas.") from error
    return pandas.DataFrame(columns_of(run))


def columns_of(run: Trajectory) -> dict[str, np.ndarray]:
    """The columns of the table by their names, each of shape (throws * (steps + 1),)."""
    batch, rows = run.mode.shape[:-1], run.steps + 1
    throws = int(np.prod(batch))
    columns: dict[str, np.ndarray] = {}
    for axis, number in enumerate(np.indices(batch).reshape(len(batch), throws)):
        columns["toss" if len(batch) == 1 else f"toss_{axis}"] = np.repeat(number, rows)
    columns["time"] = np.tile(run.time, throws)
    for name, parts in _STATES.items():
        columns |= zip(parts, getattr(run, name).reshape(-1, len(parts)).T)
    # A step belongs to the state that it ends with; the first state has none.
    impulse = np.zeros((throws, rows, 6))
    impulse[:, 1:] = run.impulse.reshape(throws, run.steps, 6)
    columns |= zip(_IMPULSE, impulse.reshape(-1, 6).T)
    for name, meaning in (("mode", Mode), ("kind", Kind)):
        numbers = np.zeros((throws, rows), dtype=np.intp)
        numbers[:, 1:] = getattr(run, name).reshape(throws, run.steps)
        columns[name] = np.array([value.name for value in meaning])[numbers.ravel()]
    return columns
