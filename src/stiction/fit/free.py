"""A law of one kind, fitted: with or without bounce, friction in impacts at once or as they build up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.bodies.rotations import angles_in_plane
from stiction.fit.gauss_newton import Parameter, Solution, mean_loss
from stiction.fit.toss_objective import (
    STAGES,
    Predict,
    Stage,
    body_parameters,
    build_law,
    build_material,
    fit,
    horizon,
    law_parameters,
    predictor,
    residuals,
    width_of,
)
from stiction.laws.impact import INCREMENTS, ImpactLaw, ImpactMaterial
from stiction.recordings.flight_estimate import RATIOS, Shape, flight_estimate, inertia_told, shaped
from stiction.recordings.mechanics_checks import lowest
from stiction.recordings.tosses import Toss, Tosses

# What planar tosses cannot tell, and what their many flights tell better than the first one: gravity and drag.


USUAL_GRAVITY = 9.81  # [m/s^2]
# Nothing turns about x or z, and nothing spins on its patch.
UNTOLD = {"com_y": 0.0, "inertia_y": 1.0, "inertia_z": 1.0, "spin": 0.0}
FLIGHT_UNITS = {"gravity": "m/s^2", "gravity_x": "m/s^2", "drag": "1/s"}
HEAVY = 40.0  # weights: a load half-way between light and heavy, among those of hard impacts
ROWS, FRAMES = 15, 18  # of a piece of flight, and frames that it may last at most
CLEAR = 0.1  # of the width: a body whose lowest point is above it flies
ROUGH = 3.0  # pieces that bend this many times more than usual hold an impact
ENOUGH = 20  # pieces
ROUNDS = 30


def heavy_parameters(body: Body) -> list[Parameter]:
    """Parameters of the contact for drops that hit hard: friction depends on the load from impact to impact."""
    load = HEAVY * USUAL_GRAVITY * body.mass
    heavy = {"start": load, "scale": 0.6 * load, "step": 0.1 * load, "low": 0.01 * load, "high": 100 * load}
    return [replace(p, **heavy) if p.name == "friction_load" else p for p in law_parameters()]


def flight_in_plane(tosses: Tosses, body: Body) -> dict[str, tuple[float, float]]:
    """gravity and gravity_x [m/s^2] and drag [1/s] with their standard errors; empty if too little flies.

    From all pieces of flight: accelerations against velocities, with the least absolute deviations.
    """
    pieces = [piece for toss in tosses.tosses for piece in _pieces(toss, tosses.timestep, body)]
    if len(pieces) < ENOUGH:
        return {}
    velocity, acceleration, left = (np.array(part) for part in zip(*pieces))
    smooth = left < ROUGH * np.median(left)
    v, a = velocity[smooth], acceleration[smooth]
    n = len(v)
    design = np.zeros((n, 3, 3))
    design[:, 0, 0], design[:, 1, 1], design[:, :, 2] = 1.0, -1.0, -v
    rows, values = design.reshape(-1, 3), a.reshape(-1)
    found, weight = np.zeros(3), np.ones(len(values))
    for _ in range(ROUNDS):
        found, *_ = np.linalg.lstsq(rows * weight[:, np.newaxis], values * weight, rcond=None)
        off = np.abs(values - rows @ found)
        weight = 1 / np.sqrt(np.maximum(off, 0.05 * np.median(off)))
    errors = 1.25 * 1.48 * np.median(off) * np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))
    drag = max(0.0, float(found[2]))
    told = zip(("gravity_x", "gravity", "drag"), (*found[:2].tolist(), drag), errors.tolist())
    return {name: (value, error) for name, value, error in told}


def _pieces(toss: Toss, timestep: float, body: Body) -> list[tuple[NDArray, NDArray, float]]:
    """Pieces of flight: velocity and acceleration (3,) of (x, z, radius of gyration x angle); what they leave."""
    radius = float(np.sqrt(body.inertia[1, 1] / body.mass))
    path = np.stack([*toss.position.T[[0, 2]], radius * angles_in_plane(toss.quaternion)], axis=1)
    width = float(np.ptp(body.vertices, axis=0)[[0, 2]].mean())
    flies = lowest(body, toss.position, toss.quaternion)[0] > CLEAR * width
    found, k = [], 0
    while k + ROWS <= len(path):
        piece = slice(k, k + ROWS)
        if not flies[piece].all():
            k += 1 + int(np.flatnonzero(~flies[piece])[-1])
            continue
        if toss.frame[k + ROWS - 1] - toss.frame[k] <= FRAMES:
            t = timestep * (toss.frame[piece] - toss.frame[k + ROWS // 2])
            design = np.stack([np.ones(ROWS), t, 0.5 * t**2], axis=1)
            fit, *_ = np.linalg.lstsq(design, path[piece], rcond=None)
            found.append((fit[1], fit[2], float(np.abs(path[piece] - design @ fit).max())))
        k += ROWS
    return found


Progress = Callable[[str, int, int], None]
NO_LEVER = {"restitution_lever": 0.0}
NO_BOUNCE = NO_LEVER | {"restitution": 0.0, "restitution_fall": 0.0, "restitution_threshold": 0.03}
AT_ONCE = {"lag": 0.0}  # nothing follows the slip of an impact that comes in one part

SURE_GRAVITY = 0.02  # relative standard error up to which free flight decides
SURE_COM = 0.03  # standard error of the centre of mass up to which it counts, in widths of the body
LEAST_COM = 1e-4  # no flight tells it better than that
Com = tuple[NDArray[np.float64], NDArray[np.float64]]  # a centre of mass [m] and its standard errors, (3,) each


@dataclass(frozen=True)
class Fitted:
    """A law of one kind, fitted.

    parameters, solution: what was fitted; fixed: what was not
    memory: parts in which an impact builds up
    gravity: [m/s^2] and its standard error
    shape: proportions of the inertia that free flight tells
    slowed: drag and the lean of gravity, as far as flights tell them
    """

    body: Body
    parameters: list[Parameter]
    solution: Solution
    fixed: dict[str, float]
    memory: int
    gravity: tuple[float, float]
    shape: Shape = field(default_factory=dict)
    slowed: Shape = field(default_factory=dict)

    @property
    def values(self) -> dict[str, float]:
        """All parameters by their names."""
        found = zip((p.name for p in self.parameters), self.solution.values.tolist())
        return {"gravity": self.gravity[0], **self.fixed, **dict(found)}

    @property
    def flight(self) -> dict[str, tuple[float, float]]:
        """What free flight alone decides, and its standard errors."""
        return {"gravity": self.gravity, **self.shape, **self.slowed}

    def found(self, name: str) -> tuple[float, float]:
        """A parameter that was fitted, and its standard error."""
        number = [p.name for p in self.parameters].index(name)
        return float(self.solution.values[number]), float(self.solution.errors[number])

    @property
    def bounces(self) -> bool:
        """Whether restitution was fitted."""
        return "restitution" not in self.fixed

    def material(self, **changes: float) -> ImpactMaterial:
        """How body and ground touch, with some parameters changed."""
        return build_material({**self.values, **changes}, memory=self.memory)

    def law(self, timestep: float, **changes: float) -> ImpactLaw:
        """The law, with some parameters changed."""
        return build_law(self.body, {**self.values, **changes}, timestep, memory=self.memory)

    def losses(self, tosses: Tosses, stage: Stage = STAGES[-1]) -> NDArray[np.float64]:
        """Loss of each toss (n,) as that stage of the fit counts it."""
        predict = predictor(self.body, self.gravity[0], memory=self.memory)
        motions = predict(self.values, tosses, horizon(tosses, stage.windows))
        rows = residuals(tosses, motions, stage.windows, width_of(self.body))
        each = np.array([mean_loss([r], stage.width) for r in rows])
        return each.reshape(len(stage.windows), len(tosses)).mean(axis=0)


def fit_law(
    tosses: Tosses,
    body: Body,
    *,
    fixed: dict[str, float] | None = None,
    memory: int = INCREMENTS,
    shape: Shape | None = None,
    stages: Sequence[Stage] = STAGES,
    begin: Fitted | None = None,
    errors: bool = True,
    progress: Progress = lambda stage, done, most: None,
) -> Fitted:
    """Fit the body and a law of one kind to tosses.

    fixed: parameters that are not fitted, and their values
    memory: parts in which an impact builds up
    shape: proportions of the inertia and their standard errors, not to be fitted; by default what free flight tells
    begin: a fit of the same kind to go on from
    errors: also find the standard errors
    """
    fixed = (AT_ONCE if memory == 1 else {}) | (fixed or {})
    if shape is None:
        known = body.planar or any(name in fixed for name in RATIOS)
        shape = {} if known else inertia_told(tosses, body)
    fixed |= {name: value for name, (value, _) in shape.items()}
    gravity, com, slowed = _flights(tosses, body, fixed)
    fixed = (UNTOLD if body.planar else NO_LEVER) | {name: value for name, (value, _) in slowed.items()} | fixed
    own = heavy_parameters(body) if body.planar else law_parameters()
    parameters = [p for p in body_parameters(body, *com) + own if p.name not in fixed]
    width = width_of(body)
    inner: Predict = predictor(body, gravity[0], memory=memory)
    values = None if begin is None else begin.solution.values
    solution = fit(
        lambda trial, some, steps: inner({**fixed, **trial}, some, steps),
        parameters,
        tosses,
        width,
        stages=stages,
        values=values,
        errors=errors,
        progress=progress,
    )
    if begin is not None:
        solution = replace(solution, losses=begin.solution.losses + solution.losses)
    return Fitted(body, parameters, solution, fixed, memory, gravity, shape, slowed)


def _flights(tosses: Tosses, body: Body, fixed: dict[str, float]) -> tuple[tuple[float, float], Com, Shape]:
    """What flights alone tell: gravity with its standard error, the centre of mass with its own, and what is fixed."""
    if body.planar:
        told = flight_in_plane(tosses, body)
        return told.pop("gravity", (USUAL_GRAVITY, float("inf"))), (body.com, np.full(3, np.inf)), told
    flight, errors = flight_estimate(tosses, shaped(body.inertia, fixed))
    sure = errors[3] < SURE_GRAVITY * flight[3]
    gravity = (float(flight[3]), float(errors[3])) if sure else (USUAL_GRAVITY, float("inf"))
    return gravity, com_told(body, flight[:3], errors[:3]), {}


def com_told(body: Body, com: NDArray[np.float64], errors: NDArray[np.float64]) -> Com:
    """The centre of mass (3,) where flights tell it well, with its standard errors (3,); else as it was given, inf."""
    width = width_of(body)
    well = errors < SURE_COM * width
    return np.where(well, com, body.com), np.where(well, np.maximum(errors, LEAST_COM * width), np.inf)


# The same fit without a part of the tosses, part after part: what was found by chance differs from fit to fit.


PARTS = 4
MOST = 48  # tosses that take part: more of them take longer and say little more


@dataclass(frozen=True)
class Refits:
    """Fits that each leave out a part of the tosses, and what they left out."""

    fits: list[Fitted]
    left_out: list[Tosses]

    def losses(self) -> NDArray[np.float64]:
        """Loss of each toss (n,), by the fit that left it out."""
        return np.concatenate([fitted.losses(some) for fitted, some in zip(self.fits, self.left_out)])

    def errors(self, tosses: int) -> NDArray[np.float64]:
        """Standard errors (p,) of a fit to so many tosses, by the jackknife.

        The loss is rough, and a fit may end in one of many places: unlike slopes and curvature at one of them, fits
        that began anew know of the others.
        """
        values = np.array([fitted.solution.values for fitted in self.fits])
        number, seen = len(self.fits), sum(len(some) for some in self.left_out)
        variance = (number - 1) / number * ((values - values.mean(axis=0)) ** 2).sum(axis=0)
        return np.sqrt(variance * seen / max(seen, tosses))


def refit(
    tosses: Tosses,
    body: Body,
    *,
    fixed: dict[str, float] | None = None,
    memory: int = INCREMENTS,
    shape: Shape | None = None,
    name: str = "Refits",
    progress: Progress = lambda stage, done, most: None,
) -> Refits:
    """Fit a law of one kind, in turn, without each part of the tosses, or of MOST of them."""
    order = np.random.default_rng(1).permutation(len(tosses))[:MOST]
    parts = min(PARTS, len(order))
    fits, left_out = [], []
    for k in range(parts):
        left = np.arange(len(order)) % parts == k
        kind = {"fixed": fixed, "memory": memory, "shape": shape}
        fits.append(fit_law(tosses[np.sort(order[~left])], body, errors=False, **kind))
        left_out.append(tosses[np.sort(order[left])])
        progress(name, k + 1, parts)
    return Refits(fits, left_out)


# What kind of law the tosses ask for: does the part bounce, and does friction follow the slip while an impact lasts?


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
