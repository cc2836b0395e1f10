"""`stiction identify`: from recordings to a law file, with progress and a table of what was found."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.basics.progress import parts
from stiction.bodies.body import Body
from stiction.fit.forecast import REGIONS, SAMPLES, calibrated, coverage, law_errors, still_errors
from stiction.fit.forecast import coverage as coverage_of
from stiction.fit.free import Fitted, Refits, choose
from stiction.fit.identified import Identified, describe, draw, loads_seen, print_identified
from stiction.fit.report import checked_picture
from stiction.fit.residual import fit_residual
from stiction.fit.toss_objective import width_of
from stiction.laws.impact import ImpactLaw, Residual
from stiction.laws.modelfile import to_be_written
from stiction.recordings.folder import load_recordings
from stiction.recordings.importing import import_recordings
from stiction.recordings.tosses import Recordings, Tosses, check_body, check_plane, split
from stiction.simulation.rollout import law_of

LEAST = 2  # tosses, so that one can be left out
FITTED_TOO = 96  # from so many fitted tosses on, they are hardly forecast better than others


def identify_tosses(
    tosses: Tosses,
    body: Body,
    *,
    held_out: Tosses | None = None,
    groups: NDArray[np.int64] | None = None,
    residual: bool = True,
    spread: bool = True,
    effects: bool = True,
    progress=None,
) -> Identified:
    """Fit body and law to tosses; `held_out` tosses measure how good the result is, and have no say in it.

    groups: fitted tosses with the same number (n,) are the same recording in other axes
    residual: also learn what the parameters leave, and keep what clearly helps on fitted tosses that were left out
    spread: also find the uncertainty of forecasts
    effects: also find what each parameter does to the error
    """
    if len(tosses) < LEAST:
        raise checks.InputError(
            f"A fit needs at least {LEAST} tosses, beside those that are held out; got {len(tosses)}."
        )
    began = time.monotonic()
    shown = progress or (lambda stage, done, most: None)
    width = width_of(body)
    chosen = choose(tosses, body, progress=shown)
    fitted = chosen.fitted
    law = fitted.law(tosses.timestep)
    about_residual: dict[str, Any] = {}
    if residual:
        law, about_residual = fit_residual(law, tosses, width, groups=groups, progress=shown)
    found: dict[float, float] = {}
    if spread:
        shown("Uncertainty", 0, 1)
        law, about = calibrated(law, _others(law, chosen.refits, tosses))
        found = about["coverage"] if held_out is None else coverage(law, held_out)
        shown("Uncertainty", 1, 1)
    measured = None if held_out is None else law_errors(law, held_out, width)
    changes = _effects(fitted, law.residual, held_out or tosses, width, shown) if effects else {}
    numbers = len(tosses), 0 if held_out is None else len(held_out)
    seconds = time.monotonic() - began
    still = None if held_out is None else still_errors(held_out, width).means()
    loads = loads_seen(law, tosses)
    return Identified(
        law, fitted, numbers, measured, changes, found, chosen.tried, about_residual, seconds, still, loads
    )


def _others(law: ImpactLaw, refits: Refits, tosses: Tosses) -> list[tuple[ImpactLaw, Tosses]]:
    """Laws and tosses that they were not fitted to; of many tosses, the law itself and some that it was."""
    others = [fitted.law(tosses.timestep).with_residual(law.residual) for fitted in refits.fits]
    pairs = list(zip(others, refits.left_out))
    if len(tosses) >= FITTED_TOO:
        order = np.random.default_rng(0).permutation(len(tosses))[:FITTED_TOO]
        pairs.append((law, tosses[order]))
    return pairs


def _effects(
    fitted: Fitted, residual: Residual | None, tosses: Tosses, width: float, shown
) -> dict[str, tuple[float, float]]:
    """What becomes of the errors if each parameter alone is put back to where the fit began."""

    def means_with(**changes: float) -> dict[str, float]:
        return law_errors(fitted.law(tosses.timestep, **changes).with_residual(residual), tosses, width).means()

    base, result = means_with(), {}
    for number, p in enumerate(fitted.parameters):
        means = means_with(**{p.name: p.start})
        result[p.name] = (means["position"] - base["position"], means["rotation"] - base["rotation"])
        shown("Effects", number + 1, len(fitted.parameters))
    return result


def identify_from(
    data: str | Path,
    body: Body,
    out: str | Path,
    *,
    tosses: int | None = None,
    residual: bool = True,
    seed: int = 0,
    command: str = "",
    plot: str | Path | None = None,
) -> Identified:
    """Identify from a folder of recordings, or from a file that is imported as it is, and write the law to `out`.

    tosses: fit this many only, drawn with `seed`
    plot: picture of the law; by default beside `out`, if matplotlib is there
    """
    with to_be_written(out) as path:
        picture = path.with_suffix(".png") if plot is None else checked_picture(plot)
        found = identify_recordings(data, body, tosses=tosses, residual=residual, seed=seed, command=command)
        found.law.save(path)
        print_identified(found)
        print(f"Wrote {path}.")
        draw(found, picture)
    return found


def identify_recordings(
    data: Recordings | str | Path,
    body: Body | None = None,
    *,
    tosses: int | None = None,
    residual: bool = True,
    seed: int = 0,
    command: str = "",
    progress: bool = True,
) -> Identified:
    """Identify from recordings, some of which are held out to judge the result; the law's `info` tells about it all."""
    recordings = data if isinstance(data, Recordings) else open_recordings(data, body)
    body = recordings.body if body is None else body
    if body is None:
        raise checks.InputError("These recordings do not say of which body they are: give it, body=Body.box(...).")
    check_plane(recordings.body, body)
    chosen, held = split(recordings, seed=checks.count("seed", seed, 0))
    if tosses is not None:
        number = checks.count("tosses", tosses, 2)
        chosen = np.sort(np.random.default_rng(seed).permutation(chosen)[:number])
    with parts(shown=progress) as report:
        held_out = recordings.tosses[held]
        how = {"groups": recordings.groups[chosen], "residual": residual, "progress": report}
        found = identify_tosses(recordings.tosses[chosen], body, held_out=held_out, **how)
    found.law.info.update(describe(found, recordings, chosen, held, command))
    return found


def open_recordings(data: str | Path, body: Body | None) -> Recordings:
    """Recordings from a folder made by `stiction import`, or from a file with the usual conventions."""
    if not isinstance(data, str | Path):
        raise checks.InputError(
            f"Recordings are read by stiction.recordings.read, or given by their path, got {checks.shown(data)}."
        )
    path = Path(data)
    if path.is_dir() and (path / "manifest.json").exists():
        return load_recordings(path)
    if body is None:
        raise checks.InputError(f"{path} does not say what was tossed: give the body, body=Body.box(...).")
    return import_recordings(path, body)


# `stiction.identify` and `stiction.recordings.coverage`: what recordings tell about a law, from Python.


_SAME_STEP = 0.01  # relative difference between a law's time step and a frame interval that are one and the same


def identify(
    recordings: Recordings | str | Path,
    body: Body | None = None,
    *,
    tosses: int | None = None,
    residual: bool = True,
    seed: int = 0,
    progress: bool = True,
) -> Identified:
    """Fit a body as it really is, and its contact law, to recorded tosses, as `stiction identify` does.

    recordings: from `stiction.recordings.read`, or the path of a folder made by `stiction import` or of a file
    body: what was tossed, as measured; by default what the recordings say
    tosses: fit this many only, drawn with `seed`; tosses that are held out judge the result
    residual: also learn what the law leaves, as maps of friction and restitution, and keep what clearly helps on fitted
        tosses that were left out; those that are held out have no say
    progress: show bars

    The result has the `law`, which goes wherever a law goes and knows its own uncertainty, the `figures`, a `summary()`
    in words, which `print` shows, and a `plot(path)`.

        recordings = stiction.recordings.read("tosses.csv", stiction.Body.box((0.1, 0.1, 0.1), mass=0.37))
        found = stiction.identify(recordings)
        print(found)
        found.law.save("cube.safetensors")
        print(found.figures["parameters"]["friction"], found.figures["held_out"])
    """
    if body is not None and not isinstance(body, Body):
        raise checks.InputError(f"body must be a stiction.Body, got {type(body).__name__}.")
    how = {"tosses": tosses, "residual": residual, "seed": seed, "progress": progress}
    return identify_recordings(recordings, body, command="stiction.identify", **how)


def coverage_of_regions(
    law: Any,
    recordings: Recordings,
    levels: Sequence[float] = REGIONS,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
) -> dict[float, float]:
    """Whether a law knows its own uncertainty: the share of tosses that end where it expects them, by level.

    For each toss, `samples` motions are drawn from the law, from the start that its flight tells. The region of a level
    is the ellipse of their final (x, y) that would hold this share of further samples. A law that is right has shares
    like its levels; smaller ones mean that it is too sure of itself.

    law: one that knows its uncertainty, such as an identified one, or its name or path
    levels: shares that the regions should hold, each between 0 and 1

        stiction.recordings.coverage("cube", recordings, (0.5, 0.9))  # such as {0.5: 0.55, 0.9: 0.875}
    """
    known: Any = law_of(law)
    if not isinstance(recordings, Recordings):
        raise checks.InputError(f"recordings must come from stiction.recordings.read, got {type(recordings).__name__}.")
    if not any(getattr(known, "spread", (1.0,))):
        raise checks.InputError(
            f"{known!r} has no spread, so that its forecasts have no regions: use an identified law."
        )
    check_body(recordings.body, known.body)
    if abs(known.timestep / recordings.timestep - 1) > _SAME_STEP:
        raise checks.InputError(
            f"The law is for steps of {known.timestep:.4g} s, but frames are {recordings.timestep:.4g} s apart."
        )
    shares = [checks.positive("A level", level) for level in levels]
    if not shares or max(shares) >= 1:
        raise checks.InputError(f"levels must lie between 0 and 1, got {checks.shown(levels)}.")
    samples = checks.count("samples", samples, 8)
    return coverage_of(known, recordings.tosses, samples=samples, seed=checks.count("seed", seed, 0), levels=shares)
