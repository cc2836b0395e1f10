"""What identification hands back: the law, how it was found, how good it is, in figures, in words and as a picture."""

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from math import isinf
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from stiction.basics.environment import needs
from stiction.bodies.state import Mode
from stiction.fit.forecast import TossErrors
from stiction.fit.free import FLIGHT_UNITS, Fitted
from stiction.fit.toss_objective import width_of
from stiction.laws.impact import RESTITUTION_SPEED, SLIP_SPEED, ImpactLaw
from stiction.recordings.tosses import Recordings, Tosses
from stiction.simulation.rollout import rollout

# The loads that recorded tosses press with while they slip: only there do they tell friction.


Loads = tuple[float, float]
OF_MOST = (0.05, 0.95)  # shares of all normal impulse while it slips
MOST_TOSSES = 100


def loads_seen(law: ImpactLaw, tosses: Tosses) -> Loads | None:
    """Normal forces [N], from and to, by which nearly all impulse comes while the body slips; None if it never does.

    They are those of the law's own forecasts of the tosses; of an impact, over a part of a frame, as the law counts it.
    """
    some = tosses[range(min(len(tosses), MOST_TOSSES))]
    timestep = law.timestep / law.substeps
    starts, steps = some.states(law.body, law.gravity, law.drag), law.substeps * max(toss.steps for toss in some.tosses)
    run = rollout(law, starts, steps, timestep=timestep, finite=False)
    force = run.impulse[..., 2][run.mode == Mode.DYNAMIC] / timestep
    force = np.sort(force[force > 0])
    if not len(force):
        return None
    share = np.cumsum(force) / force.sum()  # of the impulse that acts under at most this force
    low, high = (force[np.searchsorted(share, part)] for part in OF_MOST)
    return float(low), float(high)


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
        from stiction.fit.report import summary

        return summary(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"Identified({self.law!r}, from {self.tosses[0]} tosses)"

    def plot(self, path: str | Path) -> None:
        """Draw friction and restitution with their bands, as a .png file."""
        from stiction.fit.report import plot_identified

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


# What `stiction identify` prints and draws: the table of parameters, the summary in words, the picture.


_CAPTION = (
    "size and inertia are factors on those of the body as given, inertia_y and inertia_z further ones on two of its "
    "moments; com is the centre of mass in the body frame; restitution is that at {restitution:g} m/s, friction that "
    "at {slip:g} m/s without load, friction_loaded that under any great load. Position and rotation: by how much "
    "forecasts of the {tosses} tosses get worse if this parameter alone is put back, in % of the width (the mean "
    "extent of the body along its axes, {width:.0f} mm) and in degrees."
)


def print_identified(found: Identified) -> None:
    """The table of parameters, and what was found in words."""
    # A file or a pipe has no width of its own; rich would take 80 columns and cut the names.
    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    title = f"Fitted to {found.tosses[0]} tosses"
    fitted, held = found.tosses
    caption = _CAPTION.format(
        restitution=RESTITUTION_SPEED,
        slip=SLIP_SPEED,
        tosses=f"{held} held-out" if held else f"{fitted} fitted",
        width=1e3 * width_of(found.fitted.body),
    )
    table = Table(
        title=title, title_justify="left", caption=caption, caption_justify="left", box=SIMPLE_HEAD, padding=(0, 1)
    )
    for name in ("parameter", "value", "standard error", "unit", "if put back to", "position", "rotation"):
        table.add_column(name, justify="left" if name in ("parameter", "unit") else "right", no_wrap=True)
    for name, (value, error) in found.fitted.flight.items():
        unit = FLIGHT_UNITS.get(name, "")
        told = ("not told", unit, "") if isinf(error) else (f"{error:.2g}", unit, "free flight")
        table.add_row(name, f"{value:.4g}", *told, "", "")
    solution = found.fitted.solution
    for p, value, error in zip(found.fitted.parameters, solution.values, solution.errors):
        dp, dr = found.effects.get(p.name, (float("nan"),) * 2)
        scale, unit = (1e3, "mm") if p.unit == "m" else (1.0, p.unit)
        cells = (f"{scale * value:.4g}", "not told" if p.name in found.untold else f"{scale * error:.2g}", unit)
        table.add_row(p.name, *cells, f"{scale * p.start:.4g}", f"{dp:+.2f} %", f"{dr:+.2f} deg")
    console.print(table)
    console.print(found.summary())
    console.print(f"Took {found.seconds:.0f} s.")


def draw(found: Identified, path: str | Path) -> None:
    """Draw what was found, if that can be done."""
    if find_spec("matplotlib") is None:
        print(needs("A plot of it", "matplotlib"))
        return
    found.plot(path)
    print(f"Wrote {path}")
