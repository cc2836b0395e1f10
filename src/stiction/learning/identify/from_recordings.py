"""`stiction identify`: from recordings to a law file, with progress and a table of what was found."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from stiction.basics import checks
from stiction.basics.progress import parts
from stiction.bodies.body import Body
from stiction.laws.impact import ImpactLaw
from stiction.learning.identify.forecast import TossErrors, calibrated, coverage, law_errors
from stiction.learning.identify.gauss_newton import Parameter, Solution
from stiction.learning.identify.identify import (
    STAGES,
    body_parameters,
    build_law,
    fit,
    law_parameters,
    predictor,
    width_of,
)
from stiction.learning.identify.residual_fit import fit_residual
from stiction.learning.recordings.folder import load_recordings
from stiction.learning.recordings.read import import_recordings
from stiction.learning.recordings.recorded import Recordings, split
from stiction.learning.recordings.tosses import Tosses, flight_estimate

USUAL_GRAVITY = 9.81  # [m/s^2]
SURE_GRAVITY = 0.02  # relative standard error up to which free flight decides
UNTOLD = 0.7  # share of the knowledge that must come from the data; below it, they cannot tell


@dataclass(frozen=True)
class Identified:
    """A law, how it was found and how good it is."""

    law: ImpactLaw
    parameters: list[Parameter]
    solution: Solution
    gravity: tuple[float, float]  # and its standard error
    held_out: TossErrors | None
    effects: dict[str, tuple[float, float]]  # change of (position, rotation) error if one parameter is put back
    coverage: dict[float, float]
    residual: dict[str, float]  # losses on held-out tosses with and without the network
    seconds: float


def identify(
    tosses: Tosses,
    body: Body,
    *,
    held_out: Tosses | None = None,
    residual: bool = False,
    spread: bool = True,
    effects: bool = True,
    progress=None,
) -> Identified:
    """Fit body and law to tosses; `held_out` tosses measure how good the result is, and stop and judge the residual.

    residual: also learn a small network for what the parameters leave
    spread: also find the uncertainty of forecasts
    effects: also find what each parameter does to the error
    """
    began = time.monotonic()
    shown = progress or (lambda stage, done, most: None)
    flight, flight_errors = flight_estimate(tosses)
    sure = flight_errors[3] < SURE_GRAVITY * flight[3]
    gravity = (float(flight[3]), float(flight_errors[3])) if sure else (USUAL_GRAVITY, float("inf"))
    width = width_of(body)
    com = [float(c) if e < 0.03 * width else float(b) for c, e, b in zip(flight[:3], flight_errors, body.com)]
    parameters = body_parameters(body, com) + law_parameters()
    solution = fit(predictor(body, gravity[0]), parameters, tosses, width, stages=STAGES, progress=shown)
    values = dict(zip((p.name for p in parameters), solution.values.tolist()))
    law = build_law(body, {"gravity": gravity[0], **values}, tosses.timestep)
    about_residual: dict[str, float] = {}
    if residual and held_out is not None:
        law, about_residual = fit_residual(law, tosses, held_out, width, progress=shown)
    found: dict[float, float] = {}
    if spread:
        shown("Uncertainty", 0, 1)
        law, about = calibrated(law, tosses, held_out)
        found = about["coverage"] if held_out is None else coverage(law, held_out)
        shown("Uncertainty", 1, 1)
    measured = None if held_out is None else law_errors(law, held_out, width)
    changes = {}
    if effects:
        changes = _effects(body, values, gravity[0], parameters, held_out or tosses, width, shown)
    return Identified(
        law, parameters, solution, gravity, measured, changes, found, about_residual, time.monotonic() - began
    )


def _effects(body, values, gravity, parameters, tosses: Tosses, width: float, shown) -> dict[str, tuple[float, float]]:
    """What becomes of the errors if each parameter alone is put back to where the fit began."""
    base = law_errors(build_law(body, {"gravity": gravity, **values}, tosses.timestep), tosses, width).means()
    result = {}
    for number, p in enumerate(parameters):
        law = build_law(body, {"gravity": gravity, **values, p.name: p.start}, tosses.timestep)
        means = law_errors(law, tosses, width).means()
        result[p.name] = (means["position"] - base["position"], means["rotation"] - base["rotation"])
        shown("Effects", number + 1, len(parameters))
    return result


def identify_from(
    data: str | Path,
    body: Body,
    out: str | Path,
    *,
    tosses: int | None = None,
    residual: bool = False,
    seed: int = 0,
    command: str = "",
) -> Identified:
    """Identify from a folder of recordings, or from a file that is imported as it is, and write the law to `out`.

    tosses: fit this many only, drawn with `seed`
    """
    out = Path(out)
    if out.suffix != ".safetensors":
        raise checks.InputError(f"--out must name a .safetensors file, got {out}.")
    recordings = open_recordings(data, body)
    chosen, held = split(recordings, seed=seed)
    if tosses is not None:
        number = checks.count("tosses", tosses, 2)
        chosen = np.sort(np.random.default_rng(seed).permutation(chosen)[:number])
    with parts() as progress:
        held_out = recordings.tosses[held]
        found = identify(recordings.tosses[chosen], body, held_out=held_out, residual=residual, progress=progress)
    found.law.info.update(describe(found, recordings, chosen, held, command))
    out.parent.mkdir(parents=True, exist_ok=True)
    found.law.save(out)
    print_identified(found, body, len(chosen), len(held))
    print(f"Wrote {out}.")
    return found


def open_recordings(data: str | Path, body: Body) -> Recordings:
    """Recordings from a folder made by `stiction import`, or from a file with the usual conventions."""
    path = Path(data)
    if path.is_dir() and (path / "manifest.json").exists():
        return load_recordings(path)
    return import_recordings(path, body)


def describe(found: Identified, recordings: Recordings, chosen, held, command: str) -> dict[str, Any]:
    """What the law's file says about where it comes from."""
    rows = {
        p.name: {"value": float(v), "error": float(e), "told": float(t)}
        for p, v, e, t in zip(found.parameters, found.solution.values, found.solution.errors, found.solution.told)
    }
    content: dict[str, Any] = {
        "command": command,
        "source": recordings.source,
        "fitted_tosses": len(chosen),
        "held_out_tosses": len(held),
        "parameters": rows,
        "gravity": {"value": found.gravity[0], "error": found.gravity[1] if np.isfinite(found.gravity[1]) else None},
        "losses": found.solution.losses,
        "residual": found.residual,
        "coverage": {str(region): share for region, share in found.coverage.items()},
    }
    if found.held_out is not None:
        content["held_out"] = found.held_out.means()
    return content


def print_identified(found: Identified, body: Body, fitted: int, held: int) -> None:
    """The table of parameters, and how good the law is."""
    # A file or a pipe has no width of its own; rich would take 80 columns and cut the names.
    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    table = Table(title=f"Fitted to {fitted} tosses", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    for name in ("parameter", "value", "standard error", "unit", "if put back to", "position", "rotation"):
        table.add_column(name, justify="left" if name in ("parameter", "unit") else "right", no_wrap=True)
    table.add_row("gravity", f"{found.gravity[0]:.4g}", f"{found.gravity[1]:.2g}", "m/s^2", "free flight", "", "")
    untold = []
    for p, value, error, told in zip(
        found.parameters, found.solution.values, found.solution.errors, found.solution.told
    ):
        dp, dr = found.effects.get(p.name, (float("nan"),) * 2)
        known = told >= UNTOLD
        if not known:
            untold.append(p.name)
        scale, unit = (1e3, "mm") if p.unit == "m" else (1.0, p.unit)
        cells = (f"{scale * value:.4g}", f"{scale * error:.2g}" if known else "not told", unit)
        table.add_row(p.name, *cells, f"{scale * p.start:.4g}", f"{dp:+.2f} %", f"{dr:+.2f} deg")
    console.print(table)
    mass = "Mass: no recording of motion tells it; only its ratio to the inertia matters here."
    console.print(f"Not told by these tosses, kept near the start: {', '.join(untold)}. {mass}" if untold else mass)
    if found.residual:
        without, with_it = found.residual["held_out_loss_without"], found.residual["held_out_loss_with"]
        verdict = "kept" if found.residual["kept"] else "not kept"
        console.print(
            f"Residual network: loss on held-out tosses {without:.4f} without, {with_it:.4f} with it; {verdict}."
        )
    if found.held_out is not None:
        means = found.held_out.means()
        console.print(
            f"{held} held-out tosses, from their free flight: {means['position']:.2f} % of the width and "
            f"{means['rotation']:.2f} degrees on average over the toss, {means['final']:.1f} % at its end."
        )
    if found.coverage:
        shares = ", ".join(f"{region:.0%} regions hold {share:.1%}" for region, share in found.coverage.items())
        console.print(f"Final positions: {shares}. Took {found.seconds:.0f} s.")
