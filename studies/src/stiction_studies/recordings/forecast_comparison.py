"""Errors of the forecasts of several models, over two horizons, with confidence intervals of the differences.

Where bouncing parts come to rest is hardly predictable: a law is best evaluated soon after the first touch, and
whole recordings show how fast forecasts diverge.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction_studies.page.section import Table

Errors = Mapping[str, NDArray[np.float64]]  # mean error of each recording (n,), by what is measured


@dataclass(frozen=True)
class Compared:
    """Errors of a model's forecasts.

    model: its name; fitted: recordings that it was fitted to
    seconds: of processor time that its fit took
    horizons: errors by the horizon's name, such as "25 frames", "whole"
    """

    model: str
    fitted: int
    seconds: float
    horizons: Mapping[str, Errors]

    def figures(self) -> dict[str, Any]:
        """Return means and medians for JSON."""
        found = {
            name: {what: {"mean": float(np.mean(e)), "median": float(np.median(e))} for what, e in errors.items()}
            for name, errors in self.horizons.items()
        }
        return {"model": self.model, "fitted": self.fitted, "fit_cpu_s": round(self.seconds, 1), **found}


def margins(ours: Compared, other: Compared, seed: int) -> dict[str, dict[str, dict[str, float]]]:
    """Return how much greater the other's mean errors are, with bootstrap 95 % intervals."""
    rng = np.random.default_rng(seed)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for horizon, errors in ours.horizons.items():
        found[horizon] = {}
        for what, mine in errors.items():
            worse = other.horizons[horizon][what] - mine  # of each recording: the same ones, so that they pair
            means = worse[rng.integers(0, len(worse), (4000, len(worse)))].mean(axis=1)
            low, high = np.percentile(means, (2.5, 97.5))
            found[horizon][what] = {"mean": float(worse.mean()), "low": float(low), "high": float(high)}
    return found


def tables(models: Sequence[Compared], units: Mapping[str, str], seed: int) -> list[Table]:
    """Return one table of errors for each horizon, and one of margins; the first model is ours.

    units: of what is measured, such as {"position": " %", "rotation": "°"}
    """
    columns = [f"{what}, {m}" for what in units for m in ("mean", "median")]
    found = []
    for horizon in models[0].horizons:
        rows = [[m.model, str(m.fitted), *_cells(m.horizons[horizon], units)] for m in models]
        found.append(Table(f"Errors: {horizon}", ["", "fitted", *columns], rows))
    return [*found, _margins(models, units, seed)]


def _cells(errors: Errors, units: Mapping[str, str]) -> list[str]:
    both = {what: (np.mean(errors[what]), np.median(errors[what])) for what in units}
    return [f"{value:.1f}{unit}" for what, unit in units.items() for value in both[what]]


def _margins(models: Sequence[Compared], units: Mapping[str, str], seed: int) -> Table:
    ours, *others = models
    columns = [f"{horizon}: {what}" for horizon in ours.horizons for what in units]
    rows = []
    for other in others:
        found = margins(ours, other, seed)
        cells = [(found[horizon][what], unit) for horizon in ours.horizons for what, unit in units.items()]
        shown = (f"{row['mean']:+.1f}{unit} ({row['low']:+.1f} to {row['high']:+.1f})" for row, unit in cells)
        rows.append([other.model, *shown])
    note = "Mean error less ours on the same recordings, with its bootstrap 95 % interval: above 0 ours is better."
    return Table("How much worse than ours", ["", *columns], rows, note)


def typical(errors: NDArray[np.float64], shares: Sequence[float] = (0.1, 0.5, 0.9)) -> list[tuple[int, float]]:
    """Return the recordings to show, a good forecast, the median and a poor one, and the share of better ones."""
    order = np.argsort(errors, kind="stable")
    return [(int(order[round(share * (len(order) - 1))]), share) for share in shares]


def rows(models: Sequence[Compared]) -> list[dict[str, Any]]:
    """Return columns of all errors, one row for each model, horizon and recording, for `study.joined`."""
    return [
        {"model": m.model, "horizon": name, "recording": np.arange(len(next(iter(errors.values())))), **errors}
        for m in models
        for name, errors in m.horizons.items()
    ]


def regions(coverage: Mapping[str, Mapping[Any, float]]) -> Table:
    """Return how many recordings end inside a law's confidence regions: by column, the share of each level."""
    levels = next(iter(coverage.values()))
    rows = [[f"{100 * float(q):.0f} %", *(f"{100 * shares[q]:.1f} %" for shares in coverage.values())] for q in levels]
    return Table("Ends within the law's confidence regions", ["region", *coverage], rows)
