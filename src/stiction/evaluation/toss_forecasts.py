"""Errors of an identified law on recorded tosses, and the coverage of its predicted regions."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from stiction.basics import checks
from stiction.basics.environment import versions
from stiction.fit.forecast import coverage, law_errors, start_floor
from stiction.fit.identify import open_recordings
from stiction.fit.report import share_of
from stiction.fit.toss_objective import width_of
from stiction.laws.impact import ImpactLaw
from stiction.recordings.tosses import Recordings, check_body

EARLY = 25  # frames after the first touch, during which the motion is not yet chaotic


def show(content: dict[str, Any]) -> None:
    """Print the figures as text."""
    means, medians, early = content["errors"], content["medians"], content["early"]
    lines = [
        f"{content['law']}: {content['parameters']['tosses']} recorded tosses, from their free flight",
        f"position {means['position']:.2f} % of the width, rotation {means['rotation']:.2f} degrees, over the toss "
        f"(medians {medians['position']:.2f} %, {medians['rotation']:.2f} degrees)",
        f"position {early['position']:.2f} %, rotation {early['rotation']:.2f} degrees, up to {EARLY} frames after its "
        "first touch",
        f"position at the end {means['final']:.1f} % of the width",
    ]
    if "floor" in content:
        floor = content["floor"]
        costs = f"{floor['position']:.2f} %, {floor['rotation']:.2f} degrees"
        lines.append(f"of which by the uncertainty of the start: {costs}")
    shares = content.get("coverage", {})
    tosses = content["parameters"]["tosses"]
    lines += [
        f"its {float(r):.0%} regions of the final position hold {share_of(tosses, share)}"
        for r, share in shares.items()
    ]
    Console(highlight=False).print("\n".join(lines))


def figures_of(name: str, law: ImpactLaw, data: Recordings | str | Path | None, *, seed: int = 0) -> dict[str, Any]:
    """Forecast the held-out tosses of recordings (all of them, if none is held out), from their free flight."""
    if data is None:
        raise checks.InputError(f"{name} was identified from recordings: give some to evaluate it on (data).")
    recordings = data if isinstance(data, Recordings) else open_recordings(data, law.body.reshaped(rounding=0.0))
    check_body(recordings.body, law.body)
    rows = np.flatnonzero(recordings.held_out)
    rows = rows if len(rows) else np.arange(len(recordings))
    tosses = recordings.tosses[rows]
    width = width_of(law.body)
    whole = law_errors(law, tosses, width)
    content: dict[str, Any] = {
        "law": str(name),
        "parameters": {"tosses": len(tosses), "seed": seed},
        "versions": versions("numpy"),
        "errors": whole.means(),
        "medians": whole.medians(),
        "early": law_errors(law, tosses, width, window=EARLY).means(),
        "floor": start_floor(law, tosses, width, seed=seed).means(),
    }
    if any(law.spread):
        content["coverage"] = {str(region): share for region, share in coverage(law, tosses, seed=seed).items()}
    return content
