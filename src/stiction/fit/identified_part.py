"""The identification of a jointed part: its MJCF file and a material from recordings of its motions."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.basics.files import write_whole
from stiction.basics.progress import Report, parts
from stiction.fit.gauss_newton import Parameter, Solution, named
from stiction.fit.identified import Identified, parameter_figures
from stiction.fit.jointed_fit import (
    AFTER_TOUCH,
    SCALES,
    Sampling,
    build_material,
    calibrated_spread,
    contact_parameters,
    ends,
    forecasts_without,
    jointed_model,
    judge,
    part_parameters,
    shares_held,
    tosses_held,
    with_material,
)
from stiction.fit.jointed_flight import Prepared, prepare
from stiction.fit.jointed_part import JointedPart
from stiction.fit.jointed_recording import JointedTosses
from stiction.fit.jointed_starts import SUBSTEPS
from stiction.fit.toss_objective import fit
from stiction.laws.impact import RESTITUTION_SPEED, SLIP_SPEED
from stiction.laws.material import Material

if TYPE_CHECKING:
    from stiction.fit.identify import IdentifySettings


@dataclass(frozen=True, repr=False)
class IdentifiedPart(Identified):
    """A jointed part and the material of all its links. timestep: of its model [s]"""

    law: Material
    part: JointedPart
    parameters: Sequence[Parameter]
    solution: Solution
    timestep: float
    tosses: tuple[int, int]
    seconds: float

    @property
    def material(self) -> Material:
        return self.law

    @property
    def body(self) -> JointedPart:
        return self.part

    def mjcf(self) -> str:
        laws = ", ".join(f'"{link.name}": material' for link in self.part.links)
        head = f"<!-- Identified from recordings. With its material: Simulation(model, laws={{{laws}}}) -->\n"
        spec = self.part.spec(self.values, self.timestep)
        spec.compile()
        return head + spec.to_xml()

    def with_values(self, values: NDArray[np.float64]) -> "IdentifiedPart":
        solution = replace(self.solution, values=values)
        material = build_material(named(self.parameters, values)).with_info(**self.law.info)
        return replace(self, solution=solution, law=material)

    def save(self, path: str | Path) -> tuple[Path, ...]:
        """Write the part to PATH.xml and the material to PATH.safetensors, and return their paths."""
        out = Path(path)
        out = out.with_suffix("") if out.suffix in (".xml", ".safetensors") else out
        if out.suffix:
            raise checks.InputError(f"--out names two files, OUT.xml and OUT.safetensors; got {out}.")
        out.parent.mkdir(parents=True, exist_ok=True)
        model, material = out.with_suffix(".xml"), out.with_suffix(".safetensors")
        write_whole(model, self.mjcf().replace(": material", f': "{material.name}"').encode())
        self.law.save(material)
        return model, material

    def plot(self, path: str | Path) -> None:
        from stiction.fit.report import checked_picture, plot_material

        plot_material(self.law, checked_picture(path), title=f"Identified from {self.tosses[0]} tosses")

    def summary(self) -> str:
        figures = self.figures

        def number(name: str) -> str:
            row = figures["parameters"][name]
            return f"{row['value']:.3g} ± {row['error']:.2g}"

        lines = [
            *figures["report"],
            f"Friction is {number('friction')} at a slip of {SLIP_SPEED:g} m/s under 10 N, and restitution is "
            f"{number('restitution')} at {RESTITUTION_SPEED:g} m/s.",
            "Recordings of motion do not determine masses, only their ratios.",
        ]
        if self.unobserved:
            lines.append(f"Not observable in these tosses, kept near the start: {', '.join(self.unobserved)}.")
        horizons = {"touch": f"over {AFTER_TOUCH} frames from the first touch on", "whole": "over whole tosses"}
        for name, row in figures["held_out"].items():
            position, rotation, joints = (f"{row[what]['mean']:.1f}" for what in ("position", "rotation", "joints"))
            medians = " / ".join(f"{row[what]['median']:.1f}" for what in ("position", "rotation", "joints"))
            lines.append(
                f"Mean errors of {self.tosses[1]} held-out tosses {horizons[name]}: position {position} % of the "
                f"length, rotation {rotation} degrees, joints {joints} degrees (medians {medians})."
            )
        for what, shares in figures.get("coverage", {}).items():
            held = ", ".join(f"{float(level):.0%} regions hold {share:.0%}" for level, share in shares.items())
            lines.append(f"Ends of held-out tosses ({what}): {held}.")
        return "\n".join(lines)


def identify_part(
    settings: "IdentifySettings",
    data: str | Path | JointedTosses | Prepared,
    mjcf: str | Path | JointedPart | None = None,
) -> IdentifiedPart:
    """Fit masses, shape, joints and contact of a jointed part to recorded motions of it.

    data: a .npz, .csv or .parquet file; or prepared tosses, which include the part
    mjcf: the part as measured, with a free base
    """
    started, seed = time.monotonic(), checks.count("seed", settings.seed, 0)
    if not isinstance(data, Prepared):
        part = mjcf if isinstance(mjcf, JointedPart) else JointedPart.read(mjcf)  # type: ignore[arg-type]
        data = prepare(data, part, tosses=settings.tosses, seed=seed)
    part, build = data.part, with_material(data.part)
    parameters = [*part_parameters(part, data.gravity), *contact_parameters()]
    with parts(shown=settings.progress) as report:
        solution = fit(jointed_model(part, build), parameters, data.fitted, progress=partial(report, "Fit"))
        values = named(parameters, solution.values)
        regions = _regions(data, parameters, solution, seed, report) if settings.regions else {}
    figures = {
        "command": settings.command,
        "seed": seed,
        "fitted_tosses": len(data.fitted),
        "held_out_tosses": len(data.held_out),
        "report": data.report,
        "parameters": parameter_figures(parameters, solution),
        "losses": solution.losses,
        "held_out": {name: found.figures() for name, found in judge(data.held_out, build, values).items()},
        **regions,
        "seconds": round(time.monotonic() - started),
    }
    material, timestep = build_material(values).with_info(**figures), data.fitted.timestep / SUBSTEPS
    tosses = len(data.fitted), len(data.held_out)
    return IdentifiedPart(material, part, parameters, solution, timestep, tosses, time.monotonic() - started)


def _regions(ready: Prepared, parameters: Sequence[Parameter], solution: Solution, seed: int, report: Report) -> dict:
    """Return the scale of the spread, calibrated on fitted tosses, and the shares of held-out tosses in the regions."""
    build = with_material(ready.part)
    report("Uncertainty", 0, len(SCALES))
    forecasts = forecasts_without(ready.fitted, build, parameters, solution.values, n_tosses=96, seed=seed)
    scale, tried = calibrated_spread(forecasts, build, seed=seed, progress=partial(report, "Uncertainty"))
    values = named(parameters, solution.values)
    held = tosses_held(ready.held_out, ends(ready.held_out, build, values, Sampling(scale, seed=seed)))
    return {"spread": scale, "spreads_tried": _as_text(tried), "coverage": _as_text(shares_held(held))}


def _as_text(shares: Any) -> Any:
    """Return the same with keys that JSON has."""
    return {str(k): _as_text(v) for k, v in shares.items()} if isinstance(shares, dict) else shares
