"""Cost of a step against the number of contact points, as a picture."""

from pathlib import Path

import numpy as np

from stiction.basics import colours
from stiction.basics.files import whole_file
from stiction_studies.speed.common import BULLET, DART, MUJOCO, ROLLED, STEPPED
from stiction_studies.speed.measured import Measured
from stiction_studies.speed.points import MESH, SPHERES

_COLOURS = {
    **dict.fromkeys((STEPPED, ROLLED), colours.as_hex(colours.STICTION)),
    **dict.fromkeys((SPHERES[MUJOCO], MESH[MUJOCO]), colours.as_hex(colours.MUJOCO)),
    **dict.fromkeys((SPHERES[DART], MESH[DART]), colours.as_hex(colours.TRUTH)),
    **dict.fromkeys((SPHERES[BULLET], MESH[BULLET]), colours.as_hex(colours.BULLET)),
}
_DASHED = (ROLLED, *MESH.values())


def draw(runs: list[Measured], path: Path) -> None:
    """Write a PNG of the case `points`: medians over the runs, log-log."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    numbers = [int(quantity.removeprefix("N = ").replace(",", "")) for quantity in runs[0].quantities]
    for name in runs[0].figures:
        cost = [_median(runs, name, quantity) for quantity in runs[0].quantities]
        style = "--" if name in _DASHED else "-"
        width = 2.4 if name in (STEPPED, ROLLED) else 1.4
        axes.plot(numbers, cost, style, marker="o", markersize=4, color=_COLOURS[name], linewidth=width, label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(numbers, [f"{n:,}" for n in numbers])
    axes.set_xlabel("contact points")
    axes.set_ylabel("time of a step [µs]")
    axes.grid(True, which="major", color="#e3e7ec")
    axes.legend(frameon=False, fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    with whole_file(path) as temporary:
        figure.savefig(temporary)


def _median(runs: list[Measured], name: str, quantity: str) -> float:
    found = [run.figures[name][quantity] for run in runs if quantity in run.figures[name]]
    return float(np.median(found)) if found else float("nan")
