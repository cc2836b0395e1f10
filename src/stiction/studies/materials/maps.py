"""Pictures of friction maps: what was learned, with its band, beside what is true."""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.laws.curves import Curve
from stiction.laws.material import Material

_TRUE, _LEARNED, _INK = "#808b9b", "#406ce8", "#30343a"
_SPEED, _LOAD = 0.3, 10.0  # [m/s], [N]: where the other two are held
_SPEEDS, _LOADS = (1e-3, 1e1), (1e-1, 1e3)
_BAND = 1.96  # standard errors: 95 %


def draw(truth: Any, learned: Material, title: str) -> bytes:
    """A PNG of friction over direction, speed and load.

    truth: anything with friction(direction, speed, load)
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 3.6), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    polar = figure.add_subplot(1, 3, 1, projection="polar")
    angles = np.linspace(0, 2 * np.pi, 361)
    _curves(polar, angles, truth, learned, (angles, _SPEED, _LOAD))
    polar.set_ylim(0, 1.1 * _greatest(truth, learned, (angles, _SPEED, _LOAD)))
    polar.set_yticks(np.array([0.5, 1.0]) * round(_greatest(truth, learned, (angles, _SPEED, _LOAD)), 1))
    polar.set_title(f"direction [°], at {_SPEED:g} m/s, {_LOAD:g} N", fontsize=10, color=_INK)
    speeds, loads = np.geomspace(*_SPEEDS, 200), np.geomspace(*_LOADS, 200)
    along = (("speed of slip [m/s]", speeds, (0.0, speeds, _LOAD), learned.speed),)
    along += (("load of a point [N]", loads, (0.0, _SPEED, loads), learned.load),)
    for place, (name, x, where, curve) in enumerate(along, 2):
        axes = figure.add_subplot(1, 3, place)
        _curves(axes, x, truth, learned, where)
        axes.set_xscale("log")
        axes.set_ylim(0, 1.15 * _greatest(truth, learned, where))
        axes.set_xlim(x[0], x[-1])
        axes.set_xlabel(name)
        axes.spines[["top", "right"]].set_visible(False)
        _shade_unseen(axes, x, curve)
    axes.legend(frameon=False, fontsize="small")
    figure.suptitle(title, x=0.01, ha="left", color=_INK)
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()


def _greatest(truth: Any, learned: Material, where: tuple) -> float:
    return max(float(np.max(one.friction(*where))) for one in (truth, learned))


def _curves(axes: Any, x: NDArray[np.float64], truth: Any, learned: Material, where: tuple) -> None:
    mu, error = learned.friction(*where), learned.uncertainty(*where)
    axes.plot(x, np.broadcast_to(truth.friction(*where), x.shape), color=_TRUE, linewidth=5, alpha=0.6, label="true")
    axes.plot(x, np.broadcast_to(mu, x.shape), color=_LEARNED, linewidth=1.6, label="learned")
    if np.isfinite(error).all():
        low, high = mu * np.exp(-_BAND * error), mu * np.exp(_BAND * error)
        axes.fill_between(x, low, high, color=_LEARNED, alpha=0.25, linewidth=0, label="its 95 % band")
    axes.grid(True, color="#e3e7ec")


def _shade_unseen(axes: Any, x: NDArray[np.float64], curve: Curve | None) -> None:
    """Grey where nothing was seen: there a curve keeps its last value."""
    if curve is None:
        return
    low, high = np.exp(curve.seen)
    for begin, end in ((x[0], low), (high, x[-1])):
        if end > begin:
            axes.axvspan(begin, end, color="#f0f2f5", zorder=0)
