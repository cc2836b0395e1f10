"""Pictures that studies write."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from matplotlib.ticker import MultipleLocator
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from stiction.basics import colours
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import Mode
from stiction.bodies.trajectory import Trajectory

Pair = tuple[Trajectory, Trajectory]  # one throw in DART, and ours

_INK, _GREY, _PALE, _PALEST = "#30343a", "#8a9099", "#ccd2d9", "#f0f2f5"
_MODES = {
    Mode.NONE: ("flight", _INK),
    **{Mode(mode): (Mode(mode).name.lower(), colours.as_hex(colour)) for mode, colour in colours.MODES.items()},
}
_NAMES = "ABC"  # of the throws in side view
_TRAVEL = 2.0  # [m]; the throws that come closest to this distance are shown: they fill the picture
_FLOOR = 1e-17  # [m]; smaller differences, zero too, are drawn at it
_PATCH = {"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1.5}  # behind text on lines
_STYLE: dict[Any, Any] = {
    "font.size": 11,
    "text.color": _INK,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.labelcolor": _INK,
    "axes.edgecolor": _GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _GREY,
    "ytick.color": _GREY,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
}


def draw_agreement(path: Path, body: Body, pairs: Sequence[Pair], *, title: str, limit: float) -> None:
    """Draw a PNG: side views of three throws; how far DART's and our positions are apart in all of them.

    limit: [m], drawn as a line
    """
    named = sorted(pairs, key=lambda pair: abs(_travel(pair[0]) - _TRAVEL))[: len(_NAMES)]
    right, top = np.max([_reach(body, pair[0]) for pair in named], axis=0)
    scene = 4.4 * (top + 0.1) / (right + 0.35)  # [inch] height of a side view that is a third of the width
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(14, scene + 6), dpi=100, layout="constrained")
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        [above], [below] = figure.subfigures(2, 1, squeeze=False, height_ratios=(scene + 1.4, 4.2))
        views = above.subplots(1, len(_NAMES), sharex=True, sharey=True)
        views[0].set(xlim=(-0.3, right + 0.05), ylim=(-0.06, top + 0.04), ylabel="height [m]")
        views[0].xaxis.set_major_locator(MultipleLocator(0.5))
        for name, axes, pair in zip(_NAMES, views, named):
            _side_view(axes, body, pair)
            axes.set(title=f"Throw {name}", xlabel="distance [m]", aspect="equal")
        for axes in views[len(named) :]:
            axes.remove()
        _legend(above)
        left, right = below.subplots(1, 2, width_ratios=(1.6, 1))
        _differences(left, pairs, named, limit)
        _timelines(right, named)
        figure.savefig(path)


def _travel(run: Trajectory) -> float:
    """Horizontal distance from start to end [m]."""
    return float(np.hypot(*(run.position[-1] - run.position[0])[:2]))


def _side_view(axes: Axes, body: Body, pair: Pair) -> None:
    """Paths of the centre and outlines of the body, in the vertical plane through start and end."""
    truth, ours = pair
    ahead = _heading(truth)
    axes.axhspan(-0.06, 0, color=_PALEST, lw=0)
    axes.axhline(0, color=_GREY, lw=1)
    for step in _instants(truth, spacing=body.diameter):
        axes.add_patch(Polygon(_outline(body, truth, step, ahead), fc=_PALEST, ec=_PALE, lw=4, joinstyle="round"))
        axes.add_patch(Polygon(_outline(body, ours, step, ahead), fill=False, ec=_INK, lw=0.8))
    axes.plot(*_seen(truth.position, ahead).T, color=_PALE, lw=8, solid_capstyle="round")
    line = _seen(ours.position, ahead)
    shades = [_MODES[Mode(mode)][1] for mode in ours.mode]
    axes.add_collection(LineCollection(list(np.stack([line[:-1], line[1:]], axis=1)), colors=shades, linewidths=2.2))


def _heading(run: Trajectory) -> NDArray[np.float64]:
    """Horizontal direction (x, y) from start to end."""
    way = (run.position[-1] - run.position[0])[:2]
    length = np.linalg.norm(way)
    return way / length if length > 0 else np.array([1.0, 0.0])


def _reach(body: Body, run: Trajectory) -> NDArray[np.float64]:
    """How far ahead and how high (2,) [m] the drawn outlines reach."""
    outlines = [_outline(body, run, step, _heading(run)) for step in _instants(run, spacing=body.diameter)]
    return np.concatenate(outlines).max(axis=0)


def _instants(run: Trajectory, *, spacing: float) -> list[int]:
    """Steps at which to draw the body: first, last, and each time that its centre has moved on by `spacing` [m]."""
    way = np.r_[0, np.cumsum(np.linalg.norm(np.diff(run.position, axis=0), axis=1))]
    stops = np.linspace(0, way[-1], 1 + max(1, round(way[-1] / spacing)))
    return [*np.searchsorted(way, stops[:-1]).tolist(), run.steps]


def _outline(body: Body, run: Trajectory, step: int, ahead: NDArray[np.float64]) -> NDArray[np.float64]:
    """Corners (n, 2) of the body's silhouette."""
    corners = run.position[step] + body.vertices @ rotation_matrices(run.quaternion[step : step + 1])[0].T
    seen = _seen(corners, ahead)
    return seen[ConvexHull(seen).vertices]


def _seen(points: NDArray[np.float64], ahead: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (..., 3) as (distance ahead, height), shape (..., 2)."""
    return np.stack([points[..., :2] @ ahead, points[..., 2]], axis=-1)


def _legend(figure) -> None:
    """Above the side views: what the lines and the colours mean."""
    handles = [Line2D([], [], color=_PALE, lw=8, label="DART")]
    handles += [Line2D([], [], color=colour, lw=2.2, label=f"ours, {name}") for name, colour in _MODES.values()]
    place = {"loc": "outside upper left", "borderaxespad": 0.8, "ncols": len(handles)}
    figure.legend(handles=handles, **place, frameon=False, handlelength=1.6)


def _differences(axes: Axes, pairs: Sequence[Pair], named: Sequence[Pair], limit: float) -> None:
    """Distance between the two positions over time, log scale: all throws pale, the named ones dark."""
    axes.set_yscale("log")
    for pair in pairs:
        axes.plot(pair[0].time, _distance(pair), color=_GREY, lw=0.7, alpha=0.5)
    time = pairs[0][0].time
    height = -np.inf
    for name, pair in sorted(zip(_NAMES, named), key=lambda item: _distance(item[1])[-1]):
        axes.plot(time, _distance(pair), color=_INK, lw=1.4)
        height = max(height + 0.9, np.log10(_distance(pair)[-1]))  # decades; names must not cover each other
        axes.text(1.01 * time[-1], 10**height, name, va="center", fontweight="bold")
    within = sum(_distance(pair)[-1] <= limit for pair in pairs)
    axes.axhline(limit, color=_INK, lw=1, ls=(0, (4, 3)))
    axes.text(
        0.01, 3 * limit, f"{1000 * limit:g} mm: {within} of {len(pairs)} throws end below it", va="bottom", bbox=_PATCH
    )
    axes.set(xlim=(0, time[-1]), ylim=(_FLOOR, 0.3), xlabel="time [s]", ylabel="distance [m]")
    axes.grid(axis="y", color=_PALEST)
    axes.set_title("Distance between DART's position and ours: all throws, those above dark")


def _distance(pair: Pair) -> NDArray[np.float64]:
    """Distance between the two positions [m], at least _FLOOR, shape (steps + 1,)."""
    return np.maximum(np.linalg.norm(pair[1].position - pair[0].position, axis=1), _FLOOR)


def _timelines(axes: Axes, named: Sequence[Pair]) -> None:
    """Contact mode over time: a strip for DART above a strip for ours, for each named throw."""
    strip = ListedColormap([_PALEST, *map(colours.as_hex, colours.MODES.values())])
    time = named[0][0].time
    ticks = []
    for row, pair in enumerate(named):
        for part, (run, owner) in enumerate(zip(pair, ("DART", "ours"))):
            top = -1.0 * row - 0.3 * part
            axes.pcolormesh(time, (top, top - 0.27), run.mode[None], cmap=strip, vmin=0, vmax=3)
            ticks.append((top - 0.135, f"{_NAMES[row]}  {owner}"))
    axes.set_yticks(*zip(*ticks))
    axes.tick_params(axis="y", length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set(xlim=(0, time[-1]), ylim=(0.43 - len(_NAMES), 0), xlabel="time [s]")
    axes.set_title("Contact mode of the throws above")
