"""A learned friction map as a picture: direction, speed and load, with their bands and where data were seen."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import colours
from stiction.basics.files import whole_file
from stiction.laws.material import Material

_LINE, _PALE, _TRUE = colours.as_hex(colours.STICTION), "#e3e7ec", colours.as_hex(colours.TRUTH)
_WIDE = 1.96  # standard errors of a band of 95 %
_ABOVE = 1.1  # room above the greatest coefficient
_BEYOND = 3.0  # times what was seen, that is drawn


def plot_material(material: Material, path: str | Path, *, truth: Any = None, title: str = "") -> None:
    """Write a PNG: polar plot of direction, curves of speed and of load; bands are 95 %, what was seen is shaded.

    truth: what is known to be true, drawn below it: a material, or any object with its method `friction`
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    seen = material.info.get("seen", {"speeds": [0.01, 3.0], "loads": [1.0, 100.0]})
    speed, load = (float(np.sqrt(low * high)) for low, high in (seen["speeds"], seen["loads"]))
    angles = np.linspace(0, 2 * np.pi, 181) + 1e-3  # exactly along an axis, only one side of a box slips
    polar: Any = figure.add_subplot(1, 3, 1, projection="polar")
    _band(polar, (material, truth), angles, angles, np.full(181, speed), np.full(181, load))
    polar.set_title("direction of slip")
    polar.set_ylim(0, _ABOVE * polar.get_ylim()[1])
    for place, (name, unit, limits) in enumerate(
        (("slip speed", "m/s", seen["speeds"]), ("load", "N", seen["loads"])), start=2
    ):
        axes = figure.add_subplot(1, 3, place)
        x = np.geomspace(limits[0] / _BEYOND, limits[1] * _BEYOND, 200)
        at = (x, np.full(200, load)) if place == 2 else (np.full(200, speed), x)
        axes.axvspan(*limits, color=_PALE, zorder=0, label="seen")
        _band(axes, (material, truth), x, np.zeros(200), *at)
        axes.set_xscale("log")
        axes.set_ylim(0, _ABOVE * axes.get_ylim()[1])
        axes.set_xlabel(f"{name} [{unit}]")
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(f"at a load of {load:.3g} N" if place == 2 else f"at a speed of {speed:.3g} m/s")
    figure.axes[1].set_ylabel("friction coefficient")
    figure.axes[1].legend(frameon=False)
    figure.suptitle(title, x=0.01, ha="left")
    with whole_file(Path(path)) as temporary:
        figure.savefig(temporary, metadata={"Software": None})


def _band(axes: Any, maps: tuple[Material, Any], x: NDArray, angle: NDArray, speed: NDArray, load: NDArray) -> None:
    material, truth = maps
    if truth is not None:
        axes.plot(x, truth.friction(angle, speed, load), color=_TRUE, linewidth=5, alpha=0.6, label="true")
    mu, error = material.friction(angle, speed, load), material.uncertainty(angle, speed, load)
    axes.plot(x, mu, color=_LINE, label="learned")
    if np.isfinite(error).all():
        factor = np.exp(_WIDE * error)
        axes.fill_between(x, mu / factor, mu * factor, color=_LINE, alpha=0.25, linewidth=0)
