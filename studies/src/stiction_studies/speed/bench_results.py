"""The figures of a case of the bench, by contestant and quantity, and their table with ratios to ours."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stiction_studies.page.section import Table

Figures = dict[str, dict[str, float]]  # contestant -> quantity -> figure


@dataclass
class Measured:
    """One run of a case.

    figures: of each contestant, in the order of `quantities`; a quantity that was not measured is missing
    ours: contestant -> the one of ours that does the same, which its figures are divided by
    notes: sentences below the table
    extra: further entries of the JSON file
    """

    title: str
    unit: str
    quantities: list[str]
    figures: Figures
    ours: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def ratio(self, contestant: str, quantity: str) -> float | None:
        """Return a contestant's figure over ours; None where one of them is missing."""
        reference = self.figures.get(self.ours.get(contestant, ""), {}).get(quantity)
        own = self.figures.get(contestant, {}).get(quantity)
        return own / reference if own is not None and reference else None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for the JSON file."""
        ratios = {
            name: {q: value for q in self.quantities if (value := self.ratio(name, q)) is not None}
            for name in self.ours
        }
        return {
            "title": self.title,
            "unit": self.unit,
            "figures": self.figures,
            "times_ours": ratios,
            "notes": self.notes,
            **self.extra,
        }


def table(runs: list[Measured]) -> Table:
    """Return one table of the runs of a case: medians of the figures, and the least and greatest ratio to ours."""
    first = runs[0]
    rows = []
    for name in first.figures:
        rows.append([name, *(_cell(runs, name, quantity) for quantity in first.quantities)])
    notes = list(first.notes)
    if first.ours:
        spread = f", least to greatest of {len(runs)} runs" if len(runs) > 1 else ""
        notes.append(f"In brackets: times ours{spread}.")
    return Table(f"{first.title} [{first.unit}]", ["", *first.quantities], rows, " ".join(notes))


def _cell(runs: list[Measured], name: str, quantity: str) -> str:
    measured = [run for run in runs if quantity in run.figures[name]]
    if not measured:
        return "–"
    text = shown(float(np.median([run.figures[name][quantity] for run in measured])))
    ratios = [ratio for run in measured if (ratio := run.ratio(name, quantity)) is not None]
    return f"{text} ({spread(ratios)})" if ratios else text


def spread(values: list[float]) -> str:
    """Return a number, or the least and the greatest of several where they differ as shown."""
    low, high = shown(min(values)), shown(max(values))
    return low if low == high else f"{low}–{high}"


def shown(value: float) -> str:
    """Return a number with three digits, thousands with commas."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - int(np.floor(np.log10(abs(value)))))}f}"
