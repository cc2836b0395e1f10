"""The style of all plots of the page: colours of the runs, no fixed width; the page sets fonts and backgrounds."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from stiction.basics import colours

INK = "#30343a"
# As in replays, so that a run has one colour on the whole page.
COLOURS = {
    "truth": colours.as_hex(colours.TRUTH),
    "stiction": colours.as_hex(colours.STICTION),
    "PDD": colours.as_hex(colours.BASELINE),
}
SERIES = tuple(map(colours.as_hex, colours.SERIES))


def figure(title: str, x: str, y: str, *, height: int = 420, **layout: Any) -> go.Figure:
    """An empty plot that fills the available width, with its legend below; `layout` is passed to plotly."""
    # Relative to the container, so that plotly makes room for as many lines as a phone needs.
    legend = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0, "xanchor": "left"}
    return go.Figure(
        layout={
            "title": {"text": title, "x": 0, "xanchor": "left", "y": 1, "yanchor": "top", "pad": {"t": 10}},
            "title_font_size": 15,
            "autosize": True,
            "height": height,
            "legend": legend,
            "hovermode": "closest",
            "xaxis": {"title": {"text": x, "standoff": 8}, "showline": True, "zeroline": False},
            "yaxis": {"title": {"text": y}, "showline": True, "zeroline": False},
            **layout,
        }
    )


def run_colours(names: Iterable[str]) -> dict[str, str]:
    """The colour of each run of a plot by its name, as in replays."""
    names = list(names)
    return dict(zip(names, map(colours.as_hex, colours.of_runs(names))))


def against_throws(title: str, series: Mapping[str, tuple[list, list, dict[str, Any]]], *, lowest: int) -> go.Figure:
    """A plot of errors against the number of training throws, both logarithmic.

    series: numbers of throws, errors [%] and the style of the line, by name; lowest: power of ten of the smallest error
    """
    plot = figure(title, "training throws", "error [%]")
    for name, (throws, errors, line) in series.items():
        plot.add_scatter(x=throws, y=errors, mode="lines+markers", name=name, line={"width": 2, **line})
    numbers = [number for throws, _, _ in series.values() for number in throws]
    plot.update_xaxes(**log_axis(0, 3))
    plot.update_yaxes(**log_axis(lowest, 2))
    plot.update_layout(xaxis_range=[np.log10(min(numbers)) - 0.1, np.log10(max(numbers)) + 0.1])
    return plot


def log_axis(low: int, high: int, every: int = 1) -> dict[str, Any]:
    """Settings of a logarithmic axis from 10^low to 10^high with one tick in `every` decades."""
    powers = range(low, high + 1, every)
    return {
        "type": "log",
        "range": [low, high],
        "tickvals": [10.0**k for k in powers],
        "ticktext": [f"{10.0**k:g}" if -3 <= k <= 3 else f"10<sup>{k}</sup>" for k in powers],
    }
