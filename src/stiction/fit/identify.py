"""`stiction.identify`: a body or a jointed part and its contact from recordings, in Python and on the command line."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks, splits
from stiction.basics.environment import needs
from stiction.basics.progress import parts
from stiction.bodies.body import Body
from stiction.fit.forecast import calibrated, coverage, horizon_of, law_errors, still_errors
from stiction.fit.free import Chosen, Fitted, choose
from stiction.fit.identified import Identified, IdentifiedBody, body_figures, loads_seen
from stiction.fit.toss_objective import width_of
from stiction.laws.impact import ImpactLaw, Residual
from stiction.recordings.tosses import Recordings, Tosses, check_plane, split

if TYPE_CHECKING:
    from stiction.fit.jointed_part import JointedPart
    from stiction.fit.jointed_recording import JointedTosses


@dataclass(frozen=True)
class IdentifySettings:
    """What to find, and how.

    tosses: number of tosses to fit, drawn with `seed`; None: all that are not held out
    residual: whether to learn the residual of a body's law, and keep what clearly helps
    regions: whether to find the uncertainty of forecasts
    effects: whether to find the effect of each parameter on the errors
    progress: whether to show bars; command: recorded in the figures
    details: whether to print all parameters and how the law was chosen, beside the verdict
    """

    tosses: int | None = None
    residual: bool = True
    regions: bool = True
    effects: bool = True
    seed: int = 0
    progress: bool = True
    command: str = "stiction.identify"
    details: bool = False


def identify(
    recordings: "Recordings | JointedTosses | str | Path",
    body: Body | None = None,
    *,
    mjcf: "str | Path | JointedPart | None" = None,
    tosses: int | None = None,
    residual: bool = True,
    seed: int = 0,
    progress: bool = True,
) -> Identified:
    """Fit the mass properties, shape and contact of a body or of a jointed part to recorded tosses.

    recordings: from `stiction.recordings.read`, or the path of a folder made by `stiction import` or of a file; for a
        jointed part, the path of a .npz, .csv or .parquet file
    body: what was tossed, as measured, in space or in a plane; by default the body of the recordings
    mjcf: a jointed part instead, as measured: an MJCF file with a free base, hinges and slides
    tosses: number of tosses to fit, drawn with `seed`; held-out tosses measure the errors of the result
    residual: whether to learn the residual of a body's law, as maps of friction and restitution, and to keep what
        clearly helps on left-out fitted tosses; held-out tosses take no part
    progress: whether to show bars

    The result has the `law` of this body, which can be used like any other law and has an uncertainty, the `material`
    for MuJoCo models, which is fitted when it is first used, the `figures`, a `summary()` in words, which `print`
    shows, a `plot(path)`, `sample(n)`, `mjcf()` and `save(path)`.

        recordings = stiction.recordings.read("tosses.csv", stiction.Body.box((0.1, 0.1, 0.1), mass=0.37))
        found = stiction.identify(recordings)
        print(found)
        found.save("cube.safetensors")
        print(found.figures["parameters"]["friction"], found.figures["held_out"])
    """
    settings = IdentifySettings(tosses, residual, seed=seed, progress=progress)
    return identify_with(settings, recordings, body, mjcf)


def identify_with(settings: IdentifySettings, recordings: Any, body: Body | None, mjcf: Any = None) -> Identified:
    """Identify with these settings; arguments as of `identify`."""
    if body is not None and not isinstance(body, Body):
        raise checks.InputError(f"body must be a stiction.Body, got {type(body).__name__}.")
    if mjcf is None:
        return _identify_body(settings, recordings, body)
    if body is not None:
        raise checks.InputError("mjcf describes the whole part: leave out body.")
    from stiction.fit.identified_part import identify_part  # needs MuJoCo

    return identify_part(settings, recordings, mjcf)


def identify_to_file(
    settings: IdentifySettings, data: Path, body: Body | None, mjcf: Path | None, out: Path, plot: Path | None
) -> Identified:
    """Identify from a file or folder, print the result and write it to `out`.

    plot: picture of the contact; by default beside `out`, if matplotlib is installed
    """
    from stiction.fit.report import checked_picture, print_identified
    from stiction.laws.modelfile import to_be_written

    picture = out.with_suffix(".png") if plot is None else checked_picture(plot)
    with to_be_written(out.with_suffix(".safetensors") if mjcf is not None else out):
        found = identify_with(settings, data, body, mjcf)
        with parts(shown=settings.progress) as report:
            report("Material", 0, 1)
            written = found.save(out)  # with the material, which is fitted only now
            report("Material", 1, 1)
    print_identified(found, settings.details)
    for path in written:
        print(f"Wrote {path}.")
    if find_spec("matplotlib") is None:
        print(needs("A plot of it", "matplotlib"))
    else:
        found.plot(picture)
        print(f"Wrote {picture}.")
    return found


def open_recordings(data: str | Path, body: Body | None) -> Recordings:
    """Read recordings from a folder made by `stiction import`, or from a file with the usual conventions."""
    if not isinstance(data, str | Path):
        raise checks.InputError(
            f"Recordings are read by stiction.recordings.read, or given by their path, got {checks.shown(data)}."
        )
    path = Path(data)
    if path.is_dir() and (path / "manifest.json").exists():
        from stiction.recordings.folder import load_recordings  # needs pyarrow

        return load_recordings(path)
    if body is None:
        raise checks.InputError(f"{path} does not say what was tossed: give the body, body=Body.box(...).")
    from stiction.recordings.importing import import_recordings  # needs pyarrow

    return import_recordings(path, body)


def _identify_body(settings: IdentifySettings, data: Recordings | str | Path, body: Body | None) -> IdentifiedBody:
    recordings = data if isinstance(data, Recordings) else open_recordings(data, body)
    body = recordings.body if body is None else body
    if body is None:
        raise checks.InputError("These recordings do not say of which body they are: give it, body=Body.box(...).")
    check_plane(recordings.body, body)
    if settings.progress and recordings.body is not None and not recordings.body.same_as(body):
        print(f"Note: these tosses were imported as of {recordings.body!r}; {body!r} is used instead.", file=sys.stderr)
    fitted, held = split(recordings, seed=checks.count("seed", settings.seed, 0))
    if settings.tosses is not None:
        fitted = splits.drawn(fitted, checks.count("tosses", settings.tosses, 2), settings.seed)
    held_out, groups = recordings.tosses[held], recordings.groups[fitted]
    with parts(shown=settings.progress) as report:
        found = identify_tosses(
            settings, recordings.tosses[fitted], body, held_out=held_out, groups=groups, report=report
        )
    found.law.info.update(body_figures(found, settings.command, recordings.source))
    return found


def identify_tosses(
    settings: IdentifySettings,
    tosses: Tosses,
    body: Body,
    *,
    held_out: Tosses | None = None,
    groups: NDArray[np.int64] | None = None,
    report: Callable[[str, int, int], None] = lambda part, done, total: None,
) -> IdentifiedBody:
    """Fit a body and its law to tosses; `held_out` tosses measure the errors of the result, and take no part in it.

    groups: fitted tosses with the same number (n,) are the same recording in other axes
    """
    if len(tosses) < 2:
        raise checks.InputError(f"A fit needs at least 2 tosses, beside those that are held out; got {len(tosses)}.")
    started, width = time.monotonic(), width_of(body)
    chosen = choose(tosses, body, report)
    law = chosen.fitted.law(tosses.timestep)
    about_residual: dict[str, Any] = {}
    if settings.residual:
        from stiction.fit.residual import fit_residual

        law, about_residual = fit_residual(law, tosses, width, groups=groups, progress=partial(report, "Residual"))
    shares: dict[float, float] = {}
    if settings.regions:
        report("Uncertainty", 0, 1)
        law, shares = calibrated(law, _forecasts(law, chosen, tosses))
        shares = shares if held_out is None else coverage(law, held_out)
        report("Uncertainty", 1, 1)
    changes = _effects(chosen.fitted, law.residual, held_out or tosses, report) if settings.effects else {}
    return IdentifiedBody(
        law=law,
        fitted=chosen.fitted,
        tosses=(len(tosses), 0 if held_out is None else len(held_out)),
        held_out=None if held_out is None else law_errors(law, held_out, width),
        effects=changes,
        coverage=shares,
        tried=chosen.tried,
        residual=about_residual,
        still=None if held_out is None else still_errors(held_out, width).means(),
        loads=loads_seen(law, tosses),
        horizon=None if held_out is None else horizon_of(law, held_out, width),
        seconds=time.monotonic() - started,
        recorded=(tosses, held_out),
    )


def _forecasts(law: ImpactLaw, chosen: Chosen, tosses: Tosses) -> list[tuple[ImpactLaw, Tosses]]:
    """Return laws with tosses that they were not fitted to; from 96 tosses on, also the law itself with 96 of them."""
    others = [fitted.law(tosses.timestep).with_residual(law.residual) for fitted in chosen.refits.fits]
    pairs = list(zip(others, chosen.refits.left_out))
    if len(tosses) >= 96:  # enough that forecasts of fitted tosses are hardly better than of others
        pairs.append((law, tosses[np.random.default_rng(0).permutation(len(tosses))[:96]]))
    return pairs


def _effects(
    fitted: Fitted, residual: Residual | None, tosses: Tosses, report: Callable[[str, int, int], None]
) -> dict[str, tuple[float, float]]:
    """Return the change of position and rotation errors if each parameter alone is reset to where the fit started."""

    def means(changes: dict[str, float]) -> dict[str, float]:
        law = fitted.law(tosses.timestep, changes).with_residual(residual)
        return law_errors(law, tosses, width_of(fitted.body)).means()

    base, result = means({}), {}
    for number, p in enumerate(fitted.parameters):
        found = means({p.name: p.start})
        result[p.name] = (found["position"] - base["position"], found["rotation"] - base["rotation"])
        report("Effects", number + 1, len(fitted.parameters))
    return result
