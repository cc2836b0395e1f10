"""Tables and plots of whole motions, from the figures of `motions`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stiction_studies import figures
from stiction_studies.page.section import Plot, Table
from stiction_studies.paper import metrics
from stiction_studies.paper.motions import BASELINE, MOVES, OURS, Found, floor_name
from stiction_studies.study import number, percent

_UNITS = {"distance": ("mm", 1e3), "orientation": ("°", 1.0), "impulse": ("mN s", 1e3), "position": ("mm", 1e3)}
_NAMES = {
    "distance": "Distance",
    "orientation": "Orientation",
    "impulse": "First impulse",
    "position": "Position",
}
_SMALLEST = 1e-9  # [m] errors below it are drawn at it


def overview(summaries: Sequence[dict[str, Any]], truths: Sequence[str]) -> Table:
    """One row a body and run: what a reader asks first."""
    rows = []
    for summary, truth in zip(summaries, truths):
        for name in [name for name in summary["runs"] if name != truth]:
            rows.append([f"{summary['body']}: {name}", *_short(summary["runs"][name])])
    columns = ["", "Position, mean", "Position, median", "Orientation, median", "First impulse, mean", "Right face"]
    note = (
        "Position errors as shares of the mean distance, impulse errors as shares of the mean first impulse of the "
        "ground truth. ± 1e-6 is the ground truth against itself with position [m], orientation [rad], velocity [m/s] "
        "and spin [rad/s] of the start each moved by that much: what a throw makes of so small a difference."
    )
    return Table("Errors at the end of a throw", columns, rows, note)


def _short(run: dict[str, Any]) -> list[str]:
    if "position" not in run:
        return ["lost"] * 5
    return [
        percent(run["position"]["share_mean"]),
        percent(run["position"]["share_median"]),
        f"{number(run['orientation']['median'])}°",
        percent(run["impulse"]["share_mean"]),
        f"{100 * run['right_face']:.1f} %",
    ]


def details(summary: dict[str, Any], truth: str) -> Table:
    """All figures of one body: a row a figure, a column a run."""
    runs = {name: run for name, run in summary["runs"].items() if name != truth and "position" in run}
    truth_means = summary["truth_means"]
    of_truth = dict(zip(metrics.ERRORS, (*truth_means.values(), truth_means["distance_m"])))
    rows = []
    for name in metrics.ERRORS:
        unit, factor = _UNITS[name]
        found = [run[name] for run in runs.values()]
        means = [number(factor * figured["mean"]) for figured in found]
        rows.append([f"{_NAMES[name]}, mean error [{unit}]", number(factor * of_truth[name]), *means])
        rows.append(["… 95 % interval", "", *(_interval(factor, figured["interval_95"]) for figured in found)])
        rows.append(["… relative", "", *(percent(figured["share_mean"]) for figured in found)])
        rows.append(["… median", "", *(number(factor * figured["median"]) for figured in found)])
    everyone = [summary["runs"][truth], *runs.values()]
    rows.append(["Right face", *(f"{100 * run['right_face']:.1f} %" for run in everyone)])
    rows.append(["Drift in 10 s at rest [mm]", *(_drift(run) for run in everyone)])
    rows.append(["Penetration [mm]", *(number(1e3 * run["greatest_penetration_m"]) for run in everyone)])
    rows.append(["Energy gained [J]", *(number(run["greatest_energy_gain_J"]) for run in everyone)])
    lost = {name: run["lost"] for name, run in summary["runs"].items() if run["lost"]}
    note = f"{summary['throws']} throws of {summary['steps']} steps of {1000 * summary['timestep_s']:g} ms. "
    note += "Errors of the final horizontal distance, orientation and position and of the first collision's impulse. "
    note += "Column of the ground truth: its means; for the orientation, the mean angle turned. Drift, penetration and "
    note += "energy gained by contact in a step are the greatest of all throws. Drift is the way "
    note += "along the ground from 12 s after the throw on: until then, what an impact has driven in may still rise. "
    note += "Penetration comes with the time step: a vertex at 5 m/s is 10 mm deep before it is first seen."
    if lost:
        note += (
            " Lost, having run out of numbers: " + ", ".join(f"{name} {count}" for name, count in lost.items()) + "."
        )
    return Table(f"{summary['body']}: all figures", ["", f"{truth}, mean", *runs], rows, note)


def _drift(run: dict[str, Any]) -> str:
    watched = run.get("drift_10_s_m")
    if watched is None:
        return ""
    if watched["max"] is None:
        return "lost"
    return number(1e3 * watched["max"]) + (f" ({watched['lost']} lost)" if watched["lost"] else "")


def _interval(factor: float, limits: Sequence[float]) -> str:
    return " to ".join(number(factor * limit) for limit in limits)


def distribution_plot(found: Found) -> Plot:
    """Share of the throws whose final position is off by less than x."""
    shares = np.arange(1, len(found.truth.mode) + 1) / len(found.truth.mode)
    figure = figures.figure(f"{found.case.title}: error of the final position", "error [m]", "share of throws [%]")
    for name, figured in found.figures.items():
        if name == found.case.truth:
            continue
        error = np.sort(np.maximum(np.nan_to_num(figured["position"], nan=np.inf), _SMALLEST))
        kept = np.isfinite(error)
        figure.add_scatter(x=error[kept], y=100 * shares[kept], mode="lines", name=name, line=_line(found, name))
    figure.update_xaxes(**figures.log_axis(-9, 1, 2))
    figure.update_yaxes(range=[0, 101])
    caption = (
        f"Further left is better. Grey: {found.case.truth} against itself with the start moved a little; what lies "
        "to the left of a grey line is closer to the ground truth than the ground truth is to itself after such a move."
    )
    return Plot(figure, caption)


def parting_plot(found: Found) -> Plot:
    """Median and 90th percentile of the distance between the positions over time."""
    title = f"{found.case.title}: distance from {found.case.truth} over time"
    figure = figures.figure(title, "time [s]", "distance [m]")
    every = slice(None, None, 8)  # 16 ms: finer than the eye, and a smaller page
    for name, run in found.runs.items():
        gap = np.linalg.norm(run.position - found.truth.position, axis=2)[:, every]
        gap = np.maximum(np.nan_to_num(gap, nan=np.inf), _SMALLEST)
        for share, dash in ((50, "solid"), (90, "dot")):
            values = np.percentile(gap, share, axis=0, method="lower")
            kept = np.isfinite(values)
            figure.add_scatter(
                x=found.truth.time[every][kept],
                y=values[kept],
                mode="lines",
                name=name,
                showlegend=share == 50,
                legendgroup=name,
                line={**_line(found, name), "dash": dash},
            )
    figure.update_yaxes(**figures.log_axis(-9, 1, 2))
    return Plot(figure, "Solid: median over the throws. Dotted: nine throws in ten are closer than this.")


def _line(found: Found, name: str) -> dict[str, Any]:
    greys = dict(zip([floor_name(found.case, size) for size in MOVES], ("#c9ced6", "#a3abb6", "#6f7884")))
    if name in greys:
        return {"color": greys[name], "width": 1.5}
    return {"color": figures.COLOURS[{OURS: "stiction", BASELINE: "PDD"}[name]], "width": 2.5}
