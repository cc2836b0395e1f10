"""Trajectories as pictures: height, speed and contact modes over time."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stiction.basics import checks, colours
from stiction.basics.extras import needs
from stiction.basics.files import path_of, whole_file
from stiction.bodies.state import Mode, Trajectory

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
