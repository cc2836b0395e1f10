"""The picture of an identified law: friction against slip speed and load, restitution against speed, with bands."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks, colours
from stiction.basics.extras import require
from stiction.basics.files import whole_file
from stiction.laws.impact import SLIP_SPEED
from stiction.learning.identify.curves import Curves
from stiction.learning.identify.identified import Identified

_LINE = colours.as_hex(colours.STICTION)
_BAND = (0.05, 0.95)
_SPEEDS, _LOADS = (0.02, 2.0), (1.0, 300.0)  # [m/s, N] that are drawn


def plot_identified(found: Identified, path: str | Path) -> None:
    """Write a PNG; dark bands are what the fit leaves open, light ones also what differs from toss to toss."""
    path = checked_picture(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    curves = Curves(found)
    law, (friction, restitution) = curves.law, curves.factors.T
    directed = law.residual is not None and "direction" in law.residual.depends_on
    axes = figure.subplots(1, 4 if directed else 3)
    weight = found.law.body.mass * -found.law.gravity[2]
    speed, load = (np.geomspace(*limits, 100) for limits in (_SPEEDS, _LOADS))
    under, at = np.full(100, weight), np.full(100, SLIP_SPEED)
    _band(axes[0], speed, law.friction_at(speed, under), curves.friction(speed, under), friction)
    _band(axes[1], load, law.friction_at(at, load), curves.friction(at, load), friction)
    drawn = curves.restitution(speed)
    _band(axes[2], speed, law.restitution_at(speed), drawn, restitution)
    _name(axes[0], "slip speed [m/s]", "friction coefficient", f"sliding under its weight, {weight:.3g} N")
    _name(axes[1], "load [N]", "friction coefficient", f"slipping at {SLIP_SPEED:g} m/s")
    _name(axes[2], "approach speed [m/s]", "restitution", "bounce" if found.fitted.bounces else "no bounce")
    if directed:
        angle = np.linspace(-np.pi, np.pi, 100)
        drawn = curves.friction(at, under, angle)
        _band(axes[3], np.degrees(angle), law.friction_at(at, under, angle), drawn, friction)
        _name(axes[3], "direction of slip [degrees]", "friction coefficient", f"at {SLIP_SPEED:g} m/s, {weight:.3g} N")
        axes[3].set_xscale("linear")
    of_friction = [*axes[:2], *axes[3:]]
    top = max(axis.get_ylim()[1] for axis in of_friction)
    for axis in of_friction:
        axis.set_ylim(0, top)
    axes[2].set_ylim(0, max(0.1, axes[2].get_ylim()[1]))
    axes[0].legend(frameon=False, loc="lower right")
    figure.suptitle(f"Identified from {found.tosses[0]} tosses", x=0.01, ha="left")
    with whole_file(path) as temporary:
        figure.savefig(temporary, metadata={"Software": None})


def checked_picture(path: str | Path) -> Path:
    """The path of a picture that can be drawn; anything else is refused."""
    require("A plot of an identified law", "matplotlib")
    if Path(path).suffix != ".png":
        raise checks.InputError(f"The plot is a .png file, got {path}.")
    return Path(path)


def _band(axes: Any, x: NDArray, line: NDArray, drawn: NDArray, factors: NDArray) -> None:
    """A curve (n,), 90 % of those that the fit leaves open (draws, n), and 90 % of what single tosses may show."""
    wide = np.quantile(np.clip(drawn * factors[:, np.newaxis], 0.0, None), _BAND, axis=0)
    narrow = np.quantile(drawn, _BAND, axis=0)
    axes.fill_between(x, *wide, color=_LINE, alpha=0.15, linewidth=0, label="90 % of tosses")
    axes.fill_between(x, *narrow, color=_LINE, alpha=0.35, linewidth=0, label="90 % band of the law")
    axes.plot(x, line, color=_LINE, label="identified")


def _name(axes: Any, x: str, y: str, title: str) -> None:
    axes.set_xscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
