"""Trajectories: recorded motions, their .npz files, plots and tables."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.basics.files import path_of, read_arrays, whole_file
from stiction.bodies.state import Kind, Mode, State

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STATE_COLUMNS = {
    "position": ("x", "y", "z"),
    "quaternion": ("qw", "qx", "qy", "qz"),
    "velocity": ("vx", "vy", "vz"),
    "angular_velocity": ("wx", "wy", "wz"),
}


@dataclass(frozen=True)
class Trajectory:
    """A recorded motion of `steps` time steps, of one body or of a batch (`...`).

    position, velocity, angular_velocity: shape (..., steps + 1, 3); quaternion: (..., steps + 1, 4); as in State
    impulse: contact impulse (p_x, p_y, p_z [N s], m_x, m_y, m_z [N m s]) about the centre of mass in world axes,
        shape (..., steps, 6)
    mode, kind: values of Mode and Kind, shape (..., steps); NONE in flight
    timestep: [s]

    A batch is a sequence of trajectories, a single one a sequence of its states: `run[3]` is one of a batch, `run[-1]`
    the final state of a single motion, and `len(run)` counts them. See also `save`, `load`, `plot` and `to_dataframe`.
    """

    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    velocity: NDArray[np.float64]
    angular_velocity: NDArray[np.float64]
    impulse: NDArray[np.float64]
    mode: NDArray[np.int8]
    kind: NDArray[np.int8]
    timestep: float

    def __repr__(self) -> str:
        batch = f"batch {self.mode.shape[:-1]}, " if self.mode.ndim > 1 else ""
        return f"Trajectory({batch}{self.steps} steps of {self.timestep:g} s)"

    @property
    def steps(self) -> int:
        """Number of time steps."""
        return self.mode.shape[-1]

    @property
    def time(self) -> NDArray[np.float64]:
        """Times of the recorded states [s], shape (steps + 1,)."""
        return self.timestep * np.arange(self.steps + 1, dtype=np.float64)

    @property
    def modes(self) -> NDArray[np.str_]:
        """Names of the modes, such as "STATIC", shape (..., steps)."""
        return np.array([mode.name for mode in Mode])[self.mode]

    @property
    def kinds(self) -> NDArray[np.str_]:
        """Names of the kinds of patches, such as "LINE", shape (..., steps)."""
        return np.array([kind.name for kind in Kind])[self.kind]

    def state(self, step: int = -1) -> State:
        """The state after `step` steps; by default the final one."""
        return State(*(getattr(self, name)[..., step, :] for name in _STATE_COLUMNS))

    def states(self) -> State:
        """All states, with the step as the last leading axis."""
        return State(self.position, self.quaternion, self.velocity, self.angular_velocity)

    def __len__(self) -> int:
        """The number of trajectories along the first axis of a batch, or of the states of a single one."""
        return len(self.position)

    def __getitem__(self, index) -> Any:
        """The trajectories at `index` of a batch's leading axes, or the states at `index` of a single trajectory."""
        if self.mode.ndim == 1:
            return self.states()[index]
        np.broadcast_to(0, self.mode.shape[:-1])[index]  # raises an IndexError if there are no such axes
        arrays = {name: value[index] for name, value in vars(self).items() if name != "timestep"}
        return Trajectory(**arrays, timestep=self.timestep)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def save(self, path: str | Path) -> None:
        """Write the trajectory to an .npz file, which `Trajectory.load` and `numpy.load` read.

        It holds all arrays under their names here, `timestep`, and `time` (steps + 1,).
        """
        with whole_file(_npz_path(path)) as temporary:
            np.savez_compressed(temporary, time=self.time, **vars(self))

    @classmethod
    def load(cls, path: str | Path) -> "Trajectory":
        """Read the trajectory that `save`, or `stiction simulate --out`, wrote to an .npz file."""
        path = _npz_path(path)
        if not path.is_file():
            raise checks.InputError(f"There is no trajectory {path}.")
        names = [field.name for field in fields(cls)]
        file = read_arrays(path)
        if missing := [name for name in names if name not in file]:
            raise checks.InputError(f"{path} holds no trajectory: it has no {', '.join(missing)}.")
        parts: dict[str, Any] = {name: file[name] for name in names}
        timestep = checks.positive(f"The timestep in {path}", parts.pop("timestep"))
        shape = parts["mode"].shape
        batch, steps = shape[:-1], shape[-1] if shape else 0
        expected = {name: (*batch, steps + 1, len(columns)) for name, columns in _STATE_COLUMNS.items()}
        expected |= {"impulse": (*batch, steps, 6), "kind": shape}
        for name, wanted in expected.items():
            if parts[name].shape != wanted or not shape:
                raise checks.InputError(f"In {path}, {name} has shape {parts[name].shape} beside mode with {shape}.")
        arrays: dict[str, Any] = {name: checks.numbers(f"In {path}, {name}", part) for name, part in parts.items()}
        for name, meaning in (("mode", Mode), ("kind", Kind)):
            if not np.isin(arrays[name], list(meaning)).all():
                raise checks.InputError(f"In {path}, {name} must be 0 to {max(meaning)} everywhere.")
            arrays[name] = arrays[name].astype(np.int8)
        return cls(**arrays, timestep=timestep)

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Plot height, speed and contact modes over time, as a matplotlib figure; needs the extra `report`.

        path: also write it to this file, such as throw.png or throw.pdf
        """
        from stiction.basics.colours import INK, as_hex

        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise checks.InputError(needs("Trajectory.plot", "matplotlib")) from error
        throws = int(np.prod(self.mode.shape[:-1]))
        if throws == 0 or self.steps == 0:
            raise checks.InputError(f"There is nothing to plot in {self!r}.")
        shown = min(throws, 64)  # more lines could not be distinguished
        figure = Figure(figsize=(7.0, 5.0 + 0.02 * shown), layout="constrained")
        height, speed, modes = figure.subplots(3, 1, sharex=True, height_ratios=(4, 4, 1 + 0.03 * shown))
        width, alpha = (1.2, 1.0) if shown == 1 else (0.6, 0.5)
        values = (
            (height, "height z [m]", self.position[..., 2]),
            (speed, "speed [m/s]", np.linalg.norm(self.velocity, axis=-1)),
        )
        for axes, label, value in values:
            lines = value.reshape(throws, -1)[:shown].T
            axes.plot(self.time, lines, color=as_hex(INK), linewidth=width, alpha=alpha)
            axes.set_ylabel(label)
            axes.grid(color="#e3e7ec")
        _plot_modes(modes, self.time, self.mode.reshape(throws, -1)[:shown])
        if shown < throws:
            figure.suptitle(f"the first {shown} of {throws} throws", fontsize="medium")
        if path is not None:
            path = path_of("A picture", path)
            known = sorted(figure.canvas.get_supported_filetypes())
            checks.choice("The ending of a picture's file", path.suffix.lower().lstrip("."), known)
            with whole_file(path) as temporary:
                figure.savefig(temporary, dpi=150)
        return figure

    def to_dataframe(self) -> Any:
        """Return a pandas table with one row per state; pandas must be installed.

        Columns: the number of the throw in a batch (`toss`; one column per axis, `toss_0`, `toss_1`, if there are
        several), `time` [s], `x`, `y`, `z` [m], `qw` to `qz`, `vx` to `vz` [m/s], `wx` to `wz` [rad/s], as
        `stiction.recordings.read` expects them; and for the step that ended there, `px` to `pz` [N s], `mx` to `mz`
        [N m s], and the names of `mode` and `kind`. The first row of a throw has no such step: zero and NONE.
        """
        try:
            import pandas  # type: ignore[import-not-found]  # not one of our dependencies
        except ImportError as error:
            raise checks.InputError("Trajectory.to_dataframe needs pandas: pip install pandas.") from error
        return pandas.DataFrame(columns_of(self))


def columns_of(run: Trajectory) -> dict[str, np.ndarray]:
    """The columns of `to_dataframe` by name, each of shape (throws * (steps + 1),)."""
    batch, rows = run.mode.shape[:-1], run.steps + 1
    throws = int(np.prod(batch))
    columns: dict[str, np.ndarray] = {}
    for axis, number in enumerate(np.indices(batch).reshape(len(batch), throws)):
        columns["toss" if len(batch) == 1 else f"toss_{axis}"] = np.repeat(number, rows)
    columns["time"] = np.tile(run.time, throws)
    for name, parts in _STATE_COLUMNS.items():
        columns |= zip(parts, getattr(run, name).reshape(-1, len(parts)).T)
    # A step belongs to the state that it ends with; the first state has none.
    impulse = np.zeros((throws, rows, 6))
    impulse[:, 1:] = run.impulse.reshape(throws, run.steps, 6)
    columns |= zip(("px", "py", "pz", "mx", "my", "mz"), impulse.reshape(-1, 6).T)
    for name, names in (("mode", run.modes), ("kind", run.kinds)):
        column = np.full((throws, rows), "NONE", dtype=names.dtype)
        column[:, 1:] = names.reshape(throws, run.steps)
        columns[name] = column.ravel()
    return columns


def _npz_path(path: str | Path) -> Path:
    path = path_of("A trajectory", path)
    if path.suffix != ".npz":
        raise checks.InputError(f"A trajectory is kept in an .npz file, got {path}.")
    return path


def _plot_modes(axes, time, mode) -> None:
    """Draw one band per throw, coloured by its mode in each step; mode: (throws, steps)."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    from stiction.basics.colours import MODES, as_hex

    by_mode = {Mode(value).name.lower(): as_hex(colour) for value, colour in sorted(MODES.items())}
    colour_map = ListedColormap(["white", *by_mode.values()])  # in the order of Mode, which starts with NONE = 0
    axes.pcolormesh(time, np.arange(len(mode) + 1), mode, cmap=colour_map, vmin=0, vmax=len(Mode) - 1, rasterized=True)
    axes.invert_yaxis()
    axes.set_yticks([])
    axes.set_xlabel("time [s]")
    axes.set_ylabel("mode")
    handles = [Patch(color=colour, label=name) for name, colour in by_mode.items()]
    axes.legend(handles=handles, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
