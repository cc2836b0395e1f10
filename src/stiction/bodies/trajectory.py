"""Trajectories in .npz files."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stiction.basics import checks, colours
from stiction.basics.environment import needs
from stiction.basics.files import path_of, read_arrays, whole_file
from stiction.bodies.state import Kind, Mode, Trajectory

_LAST = {"position": 3, "quaternion": 4, "velocity": 3, "angular_velocity": 3}  # arrays of states, and their last axis


def save(run: Trajectory, path: str | Path) -> None:
    """Write a trajectory, whole or not at all."""
    with whole_file(_checked(path)) as temporary:
        np.savez_compressed(temporary, time=run.time, **vars(run))


def load(path: str | Path) -> Trajectory:
    """The trajectory in a file."""
    path = _checked(path)
    if not path.is_file():
        raise checks.InputError(f"There is no trajectory {path}.")
    names = [field.name for field in fields(Trajectory)]
    file = read_arrays(path)
    if missing := [name for name in names if name not in file]:
        raise checks.InputError(f"{path} holds no trajectory: it has no {', '.join(missing)}.")
    parts: dict[str, Any] = {name: file[name] for name in names}
    timestep = checks.positive(f"The timestep in {path}", parts.pop("timestep"))
    shape = parts["mode"].shape
    batch, steps = shape[:-1], shape[-1] if shape else 0
    wanted = {name: (*batch, steps + 1, last) for name, last in _LAST.items()}
    wanted |= {"impulse": (*batch, steps, 6), "kind": shape}
    for name, expected in wanted.items():
        if parts[name].shape != expected or not shape:
            raise checks.InputError(f"In {path}, {name} has shape {parts[name].shape} beside mode with {shape}.")
    arrays: dict[str, Any] = {name: checks.numbers(f"In {path}, {name}", part) for name, part in parts.items()}
    for name, meaning in (("mode", Mode), ("kind", Kind)):
        if not np.isin(arrays[name], list(meaning)).all():
            raise checks.InputError(f"In {path}, {name} must be 0 to {max(meaning)} everywhere.")
        arrays[name] = arrays[name].astype(np.int8)
    return Trajectory(**arrays, timestep=timestep)


def _checked(path: str | Path) -> Path:
    path = path_of("A trajectory", path)
    if path.suffix != ".npz":
        raise checks.InputError(f"A trajectory is kept in an .npz file, got {path}.")
    return path


# Trajectories as pictures: height, speed and contact modes over time.


if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE, _GRID = colours.as_hex(colours.INK), "#e3e7ec"
_MOST = 64  # throws of a batch that are drawn; more would only be a blot


def plot(run: Trajectory, path: str | Path | None = None) -> "Figure":
    """The figure; `path`: also write it to this file."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise checks.InputError(needs("Trajectory.plot", "matplotlib")) from error
    throws = int(np.prod(run.mode.shape[:-1]))
    if throws == 0 or run.steps == 0:
        raise checks.InputError(f"There is nothing to plot in {run!r}.")
    shown = min(throws, _MOST)
    figure = Figure(figsize=(7.0, 5.0 + 0.02 * shown), layout="constrained")
    height, speed, modes = figure.subplots(3, 1, sharex=True, height_ratios=(4, 4, 1 + 0.03 * shown))
    style = {"color": _LINE, "linewidth": 1.2 if shown == 1 else 0.6, "alpha": 1.0 if shown == 1 else 0.5}
    height.plot(run.time, run.position[..., 2].reshape(throws, -1)[:shown].T, **style)
    speed.plot(run.time, np.linalg.norm(run.velocity, axis=-1).reshape(throws, -1)[:shown].T, **style)
    _bands(modes, run.time, run.mode.reshape(throws, -1)[:shown])
    for axes, label in ((height, "height z [m]"), (speed, "speed [m/s]")):
        axes.set_ylabel(label)
        axes.grid(color=_GRID)
    modes.set_xlabel("time [s]")
    modes.set_ylabel("mode")
    if shown < throws:
        figure.suptitle(f"the first {shown} of {throws} throws", fontsize="medium")
    if path is not None:
        _write(figure, path_of("A picture", path))
    return figure


def _bands(axes, time, mode) -> None:
    """One band a throw, coloured by its mode in each step; mode: (throws, steps)."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    own = {Mode(value).name.lower(): colours.as_hex(colour) for value, colour in sorted(colours.MODES.items())}
    known = ListedColormap(["white", *own.values()])  # in the order of Mode, which counts from NONE = 0
    axes.pcolormesh(time, np.arange(len(mode) + 1), mode, cmap=known, vmin=0, vmax=len(Mode) - 1, rasterized=True)
    axes.invert_yaxis()
    axes.set_yticks([])
    handles = [Patch(color=colour, label=name) for name, colour in own.items()]
    axes.legend(handles=handles, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")


def _write(figure: "Figure", path: Path) -> None:
    known = figure.canvas.get_supported_filetypes()
    checks.choice("The ending of a picture's file", path.suffix.lower().lstrip("."), sorted(known))
    with whole_file(path) as temporary:
        figure.savefig(temporary, dpi=150)


# Trajectories as tables: one row a state, with the names that recordings have.


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
