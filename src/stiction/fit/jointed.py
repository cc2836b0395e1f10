"""`stiction identify DATA --mjcf PART.xml`: from recordings of a jointed part to an MJCF file and a material."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from stiction.basics import checks
from stiction.basics.files import write_whole
from stiction.basics.progress import parts
from stiction.fit.gauss_newton import Parameter, Solution
from stiction.fit.identified import UNTOLD as LEAST_FROM_DATA
from stiction.fit.jointed_fit import (
    AFTER_TOUCH,
    STAGES,
    Judged,
    build_material,
    contact_parameters,
    fit_jointed,
    forecasts_without,
    judge,
    part_parameters,
    with_material,
)
from stiction.fit.jointed_flight import Prepared, prepare
from stiction.fit.jointed_part import JointedPart
from stiction.fit.jointed_recording import JointedTosses
from stiction.fit.jointed_regions import SCALES, calibrated_scale, ends, shares_held
from stiction.fit.jointed_starts import SUBSTEPS
from stiction.fit.toss_objective import Stage
from stiction.laws.material import Material

# What the identification of a jointed part hands back: the part, its material, and how good they are.


@dataclass(frozen=True)
class JointedIdentified:
    """A part and a material that move as it was recorded.

    values: all numbers that were found, by name
    material: its `info` tells all figures; timestep: of the model [s]
    """

    part: JointedPart
    parameters: Sequence[Parameter]
    solution: Solution
    material: Material
    timestep: float

    @property
    def values(self) -> dict[str, float]:
        """Numbers by name, as `JointedPart.spec` takes them."""
        return {p.name: float(v) for p, v in zip(self.parameters, self.solution.values)}

    @property
    def figures(self) -> dict[str, Any]:
        """What `stiction identify --json` writes."""
        return self.material.info

    def save(self, out: str | Path) -> tuple[Path, Path]:
        """Write OUT.xml and OUT.safetensors, the part and the material, and give their paths."""
        out = Path(out)
        out = out.with_suffix("") if out.suffix in (".xml", ".safetensors") else out
        if out.suffix:
            raise checks.InputError(f"--out names two files, OUT.xml and OUT.safetensors; got {out}.")
        out.parent.mkdir(parents=True, exist_ok=True)
        model, material = out.with_suffix(".xml"), out.with_suffix(".safetensors")
        laws = ", ".join(f'"{link.name}": "{material.name}"' for link in self.part.links)
        head = f"<!-- Identified from recordings. With its material: Simulation(model, laws={{{laws}}}) -->\n"
        spec = self.part.spec(self.values, self.timestep)
        spec.compile()
        write_whole(model, (head + spec.to_xml()).encode())
        self.material.save(material)
        return model, material


def parameter_figures(parameters: Sequence[Parameter], solution: Solution) -> dict[str, dict[str, float]]:
    """Of each parameter its value, its standard error and the share of it that the tosses decide."""
    rows = zip(parameters, solution.values, solution.errors, solution.told, strict=True)
    return {p.name: {"value": float(v), "error": float(e), "from_data": float(t)} for p, v, e, t in rows}


def is_undecided(row: dict[str, float]) -> bool:
    """Whether the tosses do not decide a parameter."""
    return row["from_data"] < LEAST_FROM_DATA


CALIBRATION = 96  # tosses that decide how wide regions are


def identify_jointed(
    data: str | Path | JointedTosses | Prepared,
    mjcf: str | Path | JointedPart | None = None,
    *,
    tosses: int | None = None,
    seed: int = 0,
    stages: Sequence[Stage] = STAGES,
    spread: bool = True,
    command: str = "identify_jointed",
    progress: bool = True,
) -> JointedIdentified:
    """Fit masses, shape, joints and contact of a jointed part to recorded motions of it.

    data: a .npz, .csv or .parquet file; or what `prepare` made of it, which says the part and the tosses by itself
    mjcf: the part as measured, with a free base
    tosses: fit this many only, drawn with `seed`; what is held out judges the result
    spread: also find the uncertainty of forecasts
    """
    began = time.monotonic()
    ready = data if isinstance(data, Prepared) else _prepared(data, mjcf, tosses, checks.count("seed", seed, 0))
    part = ready.part
    parameters = [*part_parameters(part, ready.gravity), *contact_parameters()]
    build = with_material(part)
    with parts(shown=progress) as report:
        solution = fit_jointed(ready.fitted, build, parameters, stages=stages, progress=report)
        values = {p.name: float(v) for p, v in zip(parameters, solution.values)}
        regions = _regions(ready, parameters, solution, seed, report) if spread else {}
    figures = {
        "command": command,
        "seed": seed,
        "fitted_tosses": len(ready.fitted),
        "held_out_tosses": len(ready.held_out),
        "report": ready.report,
        "parameters": parameter_figures(parameters, solution),
        "losses": solution.losses,
        "held_out": {name: found.figures() for name, found in judge(ready.held_out, build, values).items()},
        **regions,
        "seconds": round(time.monotonic() - began),
    }
    material = build_material(values).with_info(**figures)
    return JointedIdentified(part, parameters, solution, material, ready.fitted.timestep / SUBSTEPS)


def _prepared(data: str | Path | JointedTosses, mjcf: Any, tosses: int | None, seed: int) -> Prepared:
    part = mjcf if isinstance(mjcf, JointedPart) else JointedPart.read(mjcf)
    return prepare(data, part, tosses=tosses, seed=seed)


def _regions(ready: Prepared, parameters: Sequence[Parameter], solution: Solution, seed: int, report) -> dict[str, Any]:
    """The spread of forecasts, chosen by tosses that were fitted, and the share of the others that it holds."""
    build = with_material(ready.part)
    report("Uncertainty", 0, len(SCALES))
    forecasts = forecasts_without(ready.fitted, build, parameters, solution.values, most=CALIBRATION, seed=seed)
    scale, tried = calibrated_scale(
        forecasts, build, seed=seed, progress=lambda done, most: report("Uncertainty", done, most)
    )
    values = {p.name: float(v) for p, v in zip(parameters, solution.values)}
    found = shares_held(ready.held_out, ends(ready.held_out, build, values, scale, seed=seed))
    return {"spread": scale, "spreads_tried": _as_text(tried), "coverage": _as_text(found)}


def _as_text(shares: Any) -> Any:
    """The same with keys that JSON has."""
    return {str(k): _as_text(v) for k, v in shares.items()} if isinstance(shares, dict) else shares


def run(options: Any) -> dict[str, Any]:
    """Identify as the command says, print what was found and write it; the figures, for JSON."""
    command = " ".join(["stiction", *sys.argv[1:]])
    if options.body:
        raise checks.InputError("--mjcf tells the whole part: leave out --body.")
    how = {"tosses": options.tosses, "seed": options.seed, "command": command}
    found = identify_jointed(options.data, options.mjcf, **how)
    print_identified(found.figures)
    for path in found.save(options.out):
        print(f"Wrote {path}")
    return found.figures


def print_identified(figures: Mapping[str, Any]) -> None:
    """What the recording is like, the numbers that were found, and how good forecasts are."""
    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    for sentence in figures["report"]:
        console.print(sentence)
    table = Table(title=f"Fitted to {figures['fitted_tosses']} tosses", title_justify="left", box=SIMPLE_HEAD)
    for name in ("parameter", "value", "standard error"):
        table.add_column(name, justify="left" if name == "parameter" else "right", no_wrap=True)
    for name, row in figures["parameters"].items():
        table.add_row(name, f"{row['value']:.4g}", "not told" if is_undecided(row) else f"{row['error']:.2g}")
    console.print(table)
    console.print(errors_table(figures["held_out"], f"Errors on {figures['held_out_tosses']} tosses held out"))
    for what, shares in figures.get("coverage", {}).items():
        inside = ", ".join(
            f"{100 * share:.0f} % in the region for {100 * float(level):.0f} %" for level, share in shares.items()
        )
        console.print(f"Of these, at the end ({what}): {inside}.")
    console.print(f"Took {figures['seconds']} s.")


def errors_table(held_out: Mapping[str, Mapping[str, Mapping[str, float]]], title: str) -> Table:
    """Mean and median errors over both horizons."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for name in ("", "position, % of length", "rotation, degrees", "joints, degrees"):
        table.add_column(name, justify="right" if name else "left")
    words = {"touch": f"{AFTER_TOUCH} frames from the touch on", "whole": "whole tosses"}
    for horizon, row in held_out.items():
        cells = (f"{row[name]['mean']:.1f} (median {row[name]['median']:.1f})" for name in Judged.__annotations__)
        table.add_row(words[horizon], *cells)
    return table
