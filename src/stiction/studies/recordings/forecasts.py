"""How well an identified law forecasts recorded tosses, and whether its own regions hold what they promise."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from stiction.basics import checks, files
from stiction.basics.versions import versions
from stiction.bodies.body import Body
from stiction.laws.impact import ImpactLaw
from stiction.learning.identify.forecast import coverage, law_errors
from stiction.learning.identify.from_recordings import open_recordings
from stiction.learning.identify.identify import width_of


def run(name: str, law: ImpactLaw, data: Path | None, *, seed: int = 0, json: Path | None = None) -> dict[str, Any]:
    """Forecast the held-out tosses of a recording (all of them, if none is held out), from their free flight."""
    if data is None:
        raise checks.InputError(f"{name} was identified from recordings: give some with --data to evaluate it on.")
    recordings = open_recordings(data, sharp(law.body))
    rows = np.flatnonzero(recordings.held_out)
    rows = rows if len(rows) else np.arange(len(recordings))
    tosses = recordings.tosses[rows]
    means = law_errors(law, tosses, width_of(law.body)).means()
    content: dict[str, Any] = {
        "law": str(name),
        "parameters": {"tosses": len(tosses), "seed": seed},
        "versions": versions("numpy"),
        "errors": means,
    }
    lines = [
        f"{name}: {len(tosses)} recorded tosses, from their free flight",
        f"position {means['position']:.2f} % of the width, rotation {means['rotation']:.2f} degrees, over the toss",
        f"position at the end {means['final']:.1f} % of the width",
    ]
    if any(law.spread):
        shares = coverage(law, tosses, seed=seed)
        content["coverage"] = {str(region): share for region, share in shares.items()}
        lines += [f"its {r:.0%} regions of the final position hold {share:.1%}" for r, share in shares.items()]
    Console(highlight=False).print("\n".join(lines))
    if json is not None:
        files.write_json(json, content)
        print(f"Wrote {json}")
    return content


def sharp(body: Body) -> Body:
    """The body's outside with sharp edges, as someone would measure it."""
    return body.reshaped(scale=1.0, rounding=0.0, com=body.com, inertia=body.inertia)
