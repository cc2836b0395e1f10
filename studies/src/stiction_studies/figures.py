"""One look for all plots of the page: colours of the runs, no fixed width; fonts and grounds are the page's own."""

from collections.abc import Iterable
from typing import Any

import plotly.graph_objects as go

from stiction.basics import colours

INK, PALE, BLANK = "#30343a", "#e3e7ec", "rgba(0,0,0,0)"
# The replays' colours, so that a run has one colour all over the page; each stands out on white and on black.
COLOURS = {
    "truth": colours.as_hex(colours.TRUTH),
    "stiction": colours.as_hex(colours.STICTION),
    "PDD": colours.as_hex(colours.BASELINE),
}
SERIES = tuple(map(colours.as_hex, colours.SERIES))
# At the foot of the whole plot, which makes room for as many lines as a phone needs.
_LEGEND = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0, "xanchor": "left"}


def figure(title: str, x: str, y: str, *, height: int = 420, **layout: Any) -> go.Figure:
    """An empty plot that takes the width it is given; the legend lies below."""
    return go.Figure(
        layout={
            "title": {"text": title, "x": 0, "xanchor": "left", "y": 1, "yanchor": "top", "pad": {"t": 10}},
            "title_font_size": 15,
            "autosize": True,
            "height": height,
            "legend": _LEGEND,
            "hovermode": "closest",
            "xaxis": {"title": {"text": x, "standoff": 8}, "showline": True, "zeroline": False},
            "yaxis": {"title": {"text": y}, "showline": True, "zeroline": False},
            **layout,
        }
    )


def run_colours(names: Iterable[str]) -> dict[str, str]:
    """The colour of each run by its name, as in replays; for runs that are drawn in one plot."""
    names = list(names)
    return dict(zip(names, map(colours.as_hex, colours.of_runs(names))))


def log_axis(low: int, high: int, every: int = 1) -> dict[str, Any]:
    """Settings of a logarithmic axis from 10^low to 10^high with one tick in `every` decades."""
    powers = range(low, high + 1, every)
    return {
        "type": "log",
        "range": [low, high],
        "tickvals": [10.0**k for k in powers],
        "ticktext": [f"{10.0**k:g}" if -3 <= k <= 3 else f"10<sup>{k}</sup>" for k in powers],
    }
