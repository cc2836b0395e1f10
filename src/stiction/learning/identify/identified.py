"""What identification hands back: the law, how it was found, how good it is, in figures, in words and as a picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stiction.laws.impact import ImpactLaw
from stiction.learning.identify.fit_law import Fitted
from stiction.learning.identify.forecast import TossErrors
from stiction.learning.identify.loads import Loads
from stiction.learning.recordings.recorded import Recordings

UNTOLD = 0.7  # share of the knowledge that must come from the data; below it, they cannot tell


@dataclass(frozen=True)
class Identified:
    """A law, how it was found and how good it is.

    fitted: parameters and their standard errors; tosses: how many were fitted, and held out
    held_out: errors of forecasts of tosses that were held out
    effects: change of (position, rotation) error if one parameter is put back to where the fit began
    coverage: share of the held-out tosses inside the law's regions, by their content
    tried: what was compared to choose the kind of law, see choose.py
    residual: what was learned of what the law leaves, see residual_fit.py; empty if that was not tried
    still: mean errors on held-out tosses if the body just stayed where it first touches
    loads: normal forces [N] from which and up to which these tosses tell friction, see loads.py
    """

    law: ImpactLaw
    fitted: Fitted
    tosses: tuple[int, int]
    held_out: TossErrors | None
    effects: dict[str, tuple[float, float]]
    coverage: dict[float, float]
    tried: dict[str, Any]
    residual: dict[str, Any]
    seconds: float
    still: dict[str, float] | None = None
    loads: Loads | None = None

    @property
    def untold(self) -> list[str]:
        """Parameters that the tosses do not decide."""
        return [p.name for p, told in zip(self.fitted.parameters, self.fitted.solution.told) if told < UNTOLD]

    @property
    def figures(self) -> dict[str, Any]:
        """What `stiction identify --json` writes: parameters with their standard errors, errors on held-out tosses."""
        return self.law.info

    def summary(self) -> str:
        """What was found, in words, and how certain it is; standard errors behind ±."""
        from stiction.learning.identify.words import summary

        return summary(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"Identified({self.law!r}, from {self.tosses[0]} tosses)"

    def plot(self, path: str | Path) -> None:
        """Draw friction and restitution with their bands, as a .png file."""
        from stiction.learning.identify.picture import plot_identified

        plot_identified(self, path)


def describe(found: Identified, recordings: Recordings, chosen, held, command: str) -> dict[str, Any]:
    """What the law's file says about where it comes from."""
    fitted = found.fitted
    solution, (gravity, error) = fitted.solution, fitted.gravity
    rows = {
        p.name: {"value": float(v), "error": float(e), "told": float(t)}
        for p, v, e, t in zip(fitted.parameters, solution.values, solution.errors, solution.told)
    }
    rows |= {name: {"value": value, "error": error, "told": 1.0} for name, (value, error) in fitted.shape.items()}
    content: dict[str, Any] = {
        "command": command,
        "source": recordings.source,
        "fitted_tosses": len(chosen),
        "held_out_tosses": len(held),
        "parameters": rows,
        "fixed": fitted.fixed,
        "kind": {"bounces": fitted.bounces, "memory": fitted.memory, **found.tried},
        "gravity": {"value": gravity, "error": error if np.isfinite(error) else None},
        "flight": {name: {"value": value, "error": error} for name, (value, error) in fitted.slowed.items()},
        "loads": list(found.loads) if found.loads else None,
        "losses": solution.losses,
        "residual": found.residual,
        "coverage": {str(region): share for region, share in found.coverage.items()},
        "summary": found.summary(),
    }
    if found.held_out is not None:
        content["held_out"] = found.held_out.means()
        content["held_out_if_still"] = found.still
    return content
