"""What kind of law the tosses ask for: does the part bounce, and does friction follow the slip while an impact lasts?

A law of the wrong kind still fits, but its other parameters make up for what it lacks: tosses of a part without bounce,
whose friction acts all at once, then look like those of one that bounces a little and is a little smaller. So the kind
is chosen first, and a small bounce is kept only where tosses that were not fitted are forecast better with it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stiction.bodies.body import Body
from stiction.laws.impact import INCREMENTS
from stiction.learning.identify.fit_law import NO_BOUNCE, Fitted, Progress, fit_law
from stiction.learning.identify.identify import STAGES
from stiction.learning.identify.refits import Refits, refit
from stiction.learning.recordings.flight_estimate import inertia_told
from stiction.learning.recordings.tosses import Tosses

EARLY = 2  # stages of the fit after which it shows how friction acts in impacts
DOUBTFUL = 0.15  # a bounce below this must show that it is needed
CLEARLY = 1.0  # standard errors by which it must improve forecasts of tosses that were left out


@dataclass(frozen=True)
class Chosen:
    """The fit of the kind that was chosen, the same fit without parts of the tosses, and what was compared.

    tried: losses with friction "at once" and "builds up"; where a bounce was doubtful, its "gain" in the loss of tosses
        that were left out, the gain's standard error, and the restitution that was, or would have been, fitted
    """

    fitted: Fitted
    refits: Refits
    tried: dict[str, Any]


def choose(tosses: Tosses, body: Body, *, progress: Progress = lambda stage, done, most: None) -> Chosen:
    """Fit laws of several kinds to tosses and choose among them."""
    early = {}
    shape = {} if body.planar else inertia_told(tosses, body)
    for memory, name in ((INCREMENTS, "friction builds up"), (1, "friction at once")):
        parts = {"stages": STAGES[:EARLY], "errors": False, "progress": _as_one(name, progress)}
        early[name] = fit_law(tosses, body, memory=memory, shape=shape, **parts)
    losses = {name: float(found.losses(tosses, STAGES[EARLY - 1]).mean()) for name, found in early.items()}
    best = early[min(losses, key=lambda name: losses[name])]
    kind = {"memory": best.memory, "shape": shape}
    last = fit_law(tosses, body, stages=STAGES[EARLY:], begin=best, progress=_as_one("last stage", progress), **kind)
    with_bounce = _settled(tosses, last, refit(tosses, body, progress=progress, **kind), {"impacts": losses})
    value, error = with_bounce.fitted.found("restitution")
    if value > DOUBTFUL:
        return with_bounce
    kind |= {"fixed": NO_BOUNCE}
    plain = fit_law(tosses, body, progress=_as_one("without bounce", progress), **kind)
    others = refit(tosses, body, name="Refits without it", progress=progress, **kind)
    gain = others.losses() - with_bounce.refits.losses()
    gain_error = float(np.std(gain, ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else float("inf")
    kept = bool(gain.mean() > CLEARLY * gain_error)
    about = {"restitution": value, "error": error, "gain": float(gain.mean()), "gain_error": gain_error, "kept": kept}
    tried = {"impacts": losses, "bounce": about}
    return replace(with_bounce, tried=tried) if kept else _settled(tosses, plain, others, tried)


def _settled(tosses: Tosses, fitted: Fitted, refits: Refits, tried: dict[str, Any]) -> Chosen:
    """The fit, or one that goes on from where a refit ended if all tosses are explained better from there.

    Of the two standard errors, of slopes and of refits, the larger one counts.
    """
    found = [float(other.losses(tosses).mean()) for other in refits.fits]
    now = float(fitted.losses(tosses).mean())
    if min(found) < now:
        begin = refits.fits[int(np.argmin(found))]
        kind = {"fixed": fitted.fixed, "memory": fitted.memory, "shape": fitted.shape}
        other = fit_law(tosses, fitted.body, stages=STAGES[EARLY:], begin=begin, **kind)
        fitted = other if other.losses(tosses).mean() < now else fitted
    errors = np.maximum(fitted.solution.errors, refits.errors(len(tosses)))
    return Chosen(replace(fitted, solution=fitted.solution.with_errors(errors)), refits, tried)


def _as_one(name: str, progress: Progress) -> Progress:
    """The stages of one fit as one part of the work."""

    def report(stage: str, done: int, most: int) -> None:
        number, _, stages = stage.removeprefix("Stage ").partition(" of ")
        progress(name.capitalize(), (int(number) - 1) * most + done, int(stages) * most)

    return report
