"""`stiction.identify` and `stiction.recordings.coverage`: what recordings tell about a law, from Python."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.learning.identify.forecast import REGIONS, SAMPLES
from stiction.learning.identify.forecast import coverage as coverage_of
from stiction.learning.identify.from_recordings import Identified, identify_recordings
from stiction.learning.recordings.recorded import Recordings
from stiction.learning.recordings.tosses import check_body
from stiction.simulation.rollout import law_of

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


def coverage(
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
