"""`stiction.evaluate`: errors of a law on contacts or tosses that it was not trained on."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from stiction.basics import checks
from stiction.basics.environment import require, versions
from stiction.fit.forecast import coverage, law_errors, start_floor
from stiction.fit.identify import open_recordings
from stiction.fit.report import share_of
from stiction.fit.toss_objective import width_of
from stiction.laws.impact import ImpactLaw
from stiction.laws.modelfile import load, on_own_body
from stiction.recordings.tosses import Recordings, check_body

EARLY = 25  # frames after the first touch, during which the motion is not yet chaotic


def evaluate(
    law: Any,
    *,
    contacts: int = 40_000,
    truth: Any = None,
    data: Recordings | str | Path | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Measure a law on fresh single contacts of its ground truth, or an identified one on recorded tosses.

    The figures are what `stiction evaluate --json` writes. For each kind of patch: the `accuracy` of the modes, and the
    errors of friction, of its spin torque and of the whole impulse, each mean size of the error / mean size of the true
    value. For an identified law: its errors along the tosses and the coverage of its regions.

    law: a law or a material, or the name or path of one; a user-defined law needs a `truth`
    contacts: contacts of each kind of patch
    truth: ground truth to ask, as for `stiction.collect`; by default the one that the law was trained on
    data: recordings to forecast with an identified law, or their path
    seed: of the fresh throws

        figures = stiction.evaluate("box", contacts=5000)
        print(figures["kinds"]["surface"]["friction_error"])
    """
    require("stiction.evaluate", "pyarrow")
    named = isinstance(law, str | Path)
    name = str(law) if named else repr(law)
    found = on_own_body(load(law) if named else law, name)
    if isinstance(found, ImpactLaw):
        return _toss_figures(name, found, data, checks.count("seed", seed, 0))
    if data is not None:
        raise checks.InputError(f"data is for laws that were identified from recordings, and {name} is none.")
    from stiction.evaluation.single_steps import figures_of  # needs pyarrow

    return figures_of(name, found, contacts=contacts, truth=truth, seed=seed)


def print_figures(figures: dict[str, Any]) -> None:
    """Print what `evaluate` returned."""
    if "kinds" in figures:
        from stiction.evaluation.single_steps import show

        show(figures)
    else:
        Console(highlight=False).print(_toss_text(figures))


def _toss_figures(name: str, law: ImpactLaw, data: Recordings | str | Path | None, seed: int) -> dict[str, Any]:
    """Forecast the held-out tosses of recordings (all of them, if none is held out), from their free flight."""
    if data is None:
        raise checks.InputError(f"{name} was identified from recordings: give some to evaluate it on (data).")
    recordings = data if isinstance(data, Recordings) else open_recordings(data, law.body.reshaped(rounding=0.0))
    check_body(recordings.body, law.body)
    rows = np.flatnonzero(recordings.held_out)
    tosses = recordings.tosses[rows if len(rows) else np.arange(len(recordings))]
    width = width_of(law.body)
    whole = law_errors(law, tosses, width)
    content: dict[str, Any] = {
        "law": name,
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


def _toss_text(content: dict[str, Any]) -> str:
    means, medians, early, floor = (content[name] for name in ("errors", "medians", "early", "floor"))
    tosses = content["parameters"]["tosses"]
    lines = [
        f"{content['law']}: {tosses} recorded tosses, from their free flight",
        f"position {means['position']:.2f} % of the width, rotation {means['rotation']:.2f} degrees, over the toss "
        f"(medians {medians['position']:.2f} %, {medians['rotation']:.2f} degrees)",
        f"position {early['position']:.2f} %, rotation {early['rotation']:.2f} degrees, up to {EARLY} frames after its "
        "first touch",
        f"position at the end {means['final']:.1f} % of the width",
        f"due to the uncertainty of the start alone: {floor['position']:.2f} %, {floor['rotation']:.2f} degrees",
    ]
    shares = content.get("coverage", {}).items()
    lines += [f"its {float(r):.0%} regions of the final position hold {share_of(tosses, s)}" for r, s in shares]
    return "\n".join(lines)
