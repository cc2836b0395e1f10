"""One look for all plots of the page: colours of the runs, plain white ground, no fixed width."""

from typing import Any

import plotly.graph_objects as go

INK, GREY, PALE = "#30343a", "#8a9099", "#e3e7ec"
# Okabe and Ito's palette, which colour-blind readers can tell apart.
COLOURS = {"truth": INK, "stiction": "#0072b2", "PDD": "#d55e00", "MuJoCo": "#009e73", "other": "#cc79a7"}
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_AXIS: dict[str, Any] = {
    "showline": True,
    "linecolor": GREY,
    "gridcolor": PALE,
    "zeroline": False,
    "ticks": "outside",
    "tickcolor": GREY,
    "automargin": True,
}


def figure(title: str, x: str, y: str, *, height: int = 380, **layout: Any) -> go.Figure:
    """An empty plot that takes the width it is given; the legend lies below, where a phone has room for it."""
    return go.Figure(
        layout={
            "title": {"text": title, "x": 0, "xanchor": "left", "font": {"size": 15}, "automargin": True},
            "template": "none",
            "autosize": True,
            "height": height,
            "font": {"family": "system-ui, sans-serif", "size": 13, "color": INK},
            "margin": {"l": 55, "r": 15, "t": 45, "b": 45},
            "legend": {"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0},
            "hovermode": "closest",
            "xaxis": {**_AXIS, "title": {"text": x}},
            "yaxis": {**_AXIS, "title": {"text": y}},
            "paper_bgcolor": "white",
            "plot_bgcolor": "white",
            **layout,
        }
    )


def log_axis(low: int, high: int, every: int = 1) -> dict[str, Any]:
    """Settings of a logarithmic axis from 10^low to 10^high with one tick in `every` decades."""
    powers = range(low, high + 1, every)
    return {
        "type": "log",
        "range": [low, high],
        "tickvals": [10.0**k for k in powers],
        "ticktext": [f"{10.0**k:g}" if -3 <= k <= 3 else f"10<sup>{k}</sup>" for k in powers],
    }
