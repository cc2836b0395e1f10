"""The fit of a free or planar body and its impact law: several types of law are fitted, and one of them is chosen.

Free flight alone determines gravity, the proportions of the inertia, often the centre of mass, and in a plane the drag.
All other parameters come from the motion after the first touch (toss_objective.py). Two questions are decided by
comparing fits: whether friction follows the slip while an impact builds up, and whether the body bounces.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics.splits import folds
from stiction.bodies.body import Body
from stiction.bodies.rotations import angles_in_plane
from stiction.fit.direct_measurements import MODEL_ERRORS, Direct, measure
from stiction.fit.gauss_newton import Parameter, Solution, clustered_mean, jackknife_errors, named
from stiction.fit.toss_objective import (
    STAGES,
    Progress,
    Stage,
    Values,
    body_parameters,
    build_law,
    build_material,
    fit,
    law_model,
    law_parameters,
    width_of,
)
from stiction.laws.impact import INCREMENTS, ImpactLaw, ImpactMaterial
from stiction.laws.law import GRAVITY
from stiction.recordings.flight_estimate import RATIOS, Shape, flight_estimate, shaped, significant_inertia
from stiction.recordings.tosses import Toss, Tosses

# Parameters that motion in a plane does not depend on: nothing turns about x or z, nothing spins on its patch.
OUT_OF_PLANE = {"com_y": 0.0, "inertia_y": 1.0, "inertia_z": 1.0, "spin": 0.0}


def heavy_parameters(body: Body) -> list[Parameter]:
    """Return the contact parameters of drops that hit hard, where friction depends on the load between impacts."""
    load = 40.0 * -GRAVITY[2] * body.mass  # among the loads of hard impacts
    heavy = {"start": load, "scale": 0.6 * load, "step": 0.1 * load, "low": 0.01 * load, "high": 100 * load}
    return [replace(p, **heavy) if p.name == "friction_load" else p for p in law_parameters()]


def flight_in_plane(tosses: Tosses, body: Body) -> dict[str, tuple[float, float]]:
    """Return gravity and gravity_x [m/s^2] and drag [1/s] with their standard errors; empty if too little flies.

    A regression of the accelerations of all pieces of flight on their velocities, by least absolute deviations, that is
    by iteratively reweighted least squares.
    """
    pieces = [piece for toss in tosses.tosses for piece in _pieces(toss, tosses.timestep, body)]
    if len(pieces) < 20:
        return {}
    velocity, acceleration, misfit = (np.array(part) for part in zip(*pieces))
    smooth = misfit < 3.0 * np.median(misfit)  # others hold an impact
    v, a = velocity[smooth], acceleration[smooth]
    n = len(v)
    design = np.zeros((n, 3, 3))
    design[:, 0, 0], design[:, 1, 1], design[:, :, 2] = 1.0, -1.0, -v
    rows, values = design.reshape(-1, 3), a.reshape(-1)
    found, weight = np.zeros(3), np.ones(len(values))
    for _ in range(30):
        found, *_ = np.linalg.lstsq(rows * weight[:, np.newaxis], values * weight, rcond=None)
        off = np.abs(values - rows @ found)
        weight = 1 / np.sqrt(np.maximum(off, 0.05 * np.median(off)))
    errors = 1.25 * 1.48 * np.median(off) * np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))
    drag = max(0.0, float(found[2]))
    rows = zip(("gravity_x", "gravity", "drag"), (*found[:2].tolist(), drag), errors.tolist())
    return {name: (value, error) for name, value, error in rows}


def _pieces(toss: Toss, timestep: float, body: Body) -> list[tuple[NDArray, NDArray, float]]:
    """Return velocity and acceleration (3,) of (x, z, radius of gyration x angle) in each piece, and its misfit."""
    from stiction.recordings.mechanics_checks import lowest  # which loads all readers of recordings

    radius = float(np.sqrt(body.inertia[1, 1] / body.mass))
    path = np.stack([*toss.position.T[[0, 2]], radius * angles_in_plane(toss.quaternion)], axis=1)
    width = float(np.ptp(body.vertices, axis=0)[[0, 2]].mean())
    flies = lowest(body, toss.position, toss.quaternion)[0] > 0.1 * width
    n_rows, max_frames = 15, 18  # of a piece
    found, k = [], 0
    while k + n_rows <= len(path):
        piece = slice(k, k + n_rows)
        if not flies[piece].all():
            k += 1 + int(np.flatnonzero(~flies[piece])[-1])
            continue
        if toss.frame[k + n_rows - 1] - toss.frame[k] <= max_frames:
            t = timestep * (toss.frame[piece] - toss.frame[k + n_rows // 2])
            design = np.stack([np.ones(n_rows), t, 0.5 * t**2], axis=1)
            fit, *_ = np.linalg.lstsq(design, path[piece], rcond=None)
            found.append((fit[1], fit[2], float(np.abs(path[piece] - design @ fit).max())))
        k += n_rows
    return found


Report = Callable[[str, int, int], None]  # part of the work, done, in total
NO_LEVER = {"restitution_lever": 0.0}
NO_BOUNCE = NO_LEVER | {"restitution": 0.0, "restitution_fall": 0.0, "restitution_threshold": 0.03}
Com = tuple[NDArray[np.float64], NDArray[np.float64]]  # a centre of mass [m] and its standard errors, (3,) each


@dataclass(frozen=True)
class LawType:
    """A type of law to fit.

    fixed: parameters that are not fitted, and their values
    memory: sub-impacts in which an impact builds up; 1: friction acts at once
    shape: proportions of the inertia and their standard errors, not to be fitted; None: as free flight shows them
    direct: what the recordings show without a law
    """

    fixed: dict[str, float] = field(default_factory=dict)
    memory: int = INCREMENTS
    shape: Shape | None = None
    direct: Direct = field(default_factory=Direct)


@dataclass(frozen=True)
class Fitted:
    """A fitted law of one type.

    parameters, solution: what was fitted; fixed: what was not
    memory: sub-impacts in which an impact builds up
    gravity: [m/s^2] and its standard error
    shape: proportions of the inertia that free flight shows
    slowed: drag and the lean of gravity, as far as flights show them
    direct: what the recordings show without a law
    """

    body: Body
    parameters: list[Parameter]
    solution: Solution
    fixed: dict[str, float]
    memory: int
    gravity: tuple[float, float]
    shape: Shape = field(default_factory=dict)
    slowed: Shape = field(default_factory=dict)
    direct: Direct = field(default_factory=Direct)

    @property
    def values(self) -> dict[str, float]:
        """All parameters by their names."""
        return {"gravity": self.gravity[0], **self.fixed, **named(self.parameters, self.solution.values)}

    def found(self, name: str) -> tuple[float, float]:
        """Return a fitted parameter and its standard error."""
        number = [p.name for p in self.parameters].index(name)
        return float(self.solution.values[number]), float(self.solution.errors[number])

    @property
    def bounces(self) -> bool:
        """Whether restitution was fitted."""
        return "restitution" not in self.fixed

    def material(self, changes: Values) -> ImpactMaterial:
        """Return the contact, with some parameters changed."""
        return build_material({**self.values, **changes}, self.body.mass * self.gravity[0], self.memory)

    def law(self, timestep: float, changes: Values | None = None) -> ImpactLaw:
        """Return the law, with some parameters changed."""
        return build_law(self.body, {**self.values, **(changes or {})}, timestep, self.memory)

    def losses(self, tosses: Tosses, stage: Stage = STAGES[-1]) -> NDArray[np.float64]:
        """Return the loss of each toss (n,) as that stage of the fit counts it."""
        return law_model(self.body, {}, self.memory).losses(self.values, tosses, stage)


def fit_law(
    tosses: Tosses,
    body: Body,
    law: LawType | None = None,
    *,
    stages: Sequence[Stage] = STAGES,
    start: Fitted | None = None,
    errors: bool = True,
    progress: Progress = lambda done, total: None,
) -> Fitted:
    """Fit the body and a law of one type to tosses.

    start: a fit of the same type to continue from
    errors: whether to find the standard errors
    """
    law = law or LawType()
    fixed, shape = ({"lag": 0.0} if law.memory == 1 else {}) | law.fixed, law.shape
    if shape is None:
        known = body.planar or any(name in fixed for name in RATIOS)
        shape = {} if known else significant_inertia(tosses, body)
    fixed |= {name: value for name, (value, _) in shape.items()}
    gravity, com, slowed = _flights(tosses, body, fixed)
    fixed = (OUT_OF_PLANE if body.planar else NO_LEVER) | {name: value for name, (value, _) in slowed.items()} | fixed
    contact = heavy_parameters(body) if body.planar else law_parameters(law.direct)
    parameters = [p for p in body_parameters(body, *com) + contact if p.name not in fixed]
    solution = fit(
        law_model(body, {"gravity": gravity[0], **fixed}, law.memory),
        parameters,
        tosses,
        stages=stages,
        values=None if start is None else start.solution.values,
        errors=errors,
        progress=progress,
    )
    if start is not None:
        solution = replace(solution, losses=start.solution.losses + solution.losses)
    return Fitted(body, parameters, solution, fixed, law.memory, gravity, shape, slowed, law.direct)


def _flights(tosses: Tosses, body: Body, fixed: dict[str, float]) -> tuple[tuple[float, float], Com, Shape]:
    """Return what flights alone determine: gravity and centre of mass with standard errors, and what is fixed."""
    if body.planar:
        found = flight_in_plane(tosses, body)
        return found.pop("gravity", (-GRAVITY[2], float("inf"))), (body.com, np.full(3, np.inf)), found
    flight, errors = flight_estimate(tosses, shaped(body.inertia, fixed))
    certain = errors[3] < 0.02 * flight[3]
    gravity = (float(flight[3]), float(errors[3])) if certain else (-GRAVITY[2], float("inf"))
    width = width_of(body)
    well = errors[:3] < 0.03 * width  # elsewhere the centre of mass as it was given is the better guess
    com = np.where(well, flight[:3], body.com), np.where(well, np.maximum(errors[:3], 1e-4 * width), np.inf)
    return gravity, com, {}


@dataclass(frozen=True)
class Refits:
    """Fits that each leave out a part of the tosses, and the parts that they left out."""

    fits: list[Fitted]
    left_out: list[Tosses]

    def losses(self) -> NDArray[np.float64]:
        """Return the loss of each toss (n,), by the fit that left it out."""
        return np.concatenate([fitted.losses(some) for fitted, some in zip(self.fits, self.left_out)])

    def errors(self, tosses: int) -> NDArray[np.float64]:
        """Return the standard errors (p,) of a fit to this number of tosses, by the jackknife.

        The loss is rough, and a fit may end in one of many minima. Fits that start again reveal the others, unlike
        gradients and curvature at one of them.
        """
        seen = sum(len(some) for some in self.left_out)
        errors = jackknife_errors(np.array([fitted.solution.values for fitted in self.fits]))
        return errors * np.sqrt(seen / max(seen, tosses))


def refit(tosses: Tosses, body: Body, law: LawType, name: str, report: Report) -> Refits:
    """Fit a law of one type without each of four parts of the tosses, or of 48 of them."""
    n = min(len(tosses), 48)  # more of them take longer and add little
    parts = folds(len(tosses), min(4, n), seed=1, n_drawn=n)
    everyone = np.concatenate(parts)
    fits, left_out = [], []
    for k, part in enumerate(parts):
        fits.append(fit_law(tosses[np.setdiff1d(everyone, part)], body, law, errors=False))
        left_out.append(tosses[np.sort(part)])
        report(name, k + 1, len(parts))
    return Refits(fits, left_out)


EARLY = 2  # stages of the fit after which the friction of impacts is decided


@dataclass(frozen=True)
class Chosen:
    """The fit of the type that was chosen, the same fit without parts of the tosses, and what was compared.

    tried: losses with friction "at once" and "builds up"; where a bounce was doubtful, its "gain" in the loss of
        left-out tosses, the gain's standard error, and the restitution that was, or would have been, fitted
    """

    fitted: Fitted
    refits: Refits
    tried: dict[str, Any]


def choose(tosses: Tosses, body: Body, report: Report = lambda part, done, total: None) -> Chosen:
    """Fit laws of several types to tosses and choose among them."""
    early = {}
    shape = {} if body.planar else significant_inertia(tosses, body)
    known = {name: value for name, (value, _) in shape.items()}
    gravity, (com, _), _ = _flights(tosses, body, known)
    at_rest = body.reshaped(com=com, rounding=body.rounding, inertia=shaped(body.inertia, known))
    direct = measure(tosses, at_rest, gravity[0])
    for memory, name in ((INCREMENTS, "friction builds up"), (1, "friction at once")):
        law = LawType(memory=memory, shape=shape, direct=direct)
        early[name] = fit_law(
            tosses, body, law, stages=STAGES[:EARLY], errors=False, progress=partial(report, name.capitalize())
        )
    losses = {name: float(found.losses(tosses, STAGES[EARLY - 1]).mean()) for name, found in early.items()}
    best = early[min(losses, key=lambda name: losses[name])]
    law = LawType(memory=best.memory, shape=shape, direct=direct)
    last = fit_law(tosses, body, law, stages=STAGES[EARLY:], start=best, progress=partial(report, "Last stage"))
    tried: dict[str, Any] = {"impacts": losses, "model_errors": _model_errors(early, losses)}
    with_bounce = _settled(tosses, last, refit(tosses, body, law, "Refits", report), tried)
    value, error = with_bounce.fitted.found("restitution")
    if value > 0.15:  # only a smaller one may be an artefact
        return with_bounce
    law = replace(law, fixed=NO_BOUNCE)
    plain = fit_law(tosses, body, law, progress=partial(report, "Without bounce"))
    others = refit(tosses, body, law, "Refits without it", report)
    gains = others.losses() - with_bounce.refits.losses()
    gain, gain_error = clustered_mean(gains, np.arange(len(gains)))
    bounces = gain > gain_error
    about = {"restitution": value, "error": error, "gain": gain, "gain_error": gain_error, "kept": bounces}
    tried = tried | {"bounce": about}
    return replace(with_bounce, tried=tried) if bounces else _settled(tosses, plain, others, tried)


def _model_errors(fits: dict[str, Fitted], losses: dict[str, float]) -> dict[str, float]:
    """Return the error of each parameter by the type of law: half the difference between the types.

    No type is the truth. The worse the other type explains the tosses, the less its parameters count. Friction that
    slides have measured does not depend on the type.
    """
    (good, better), (bad, worse) = sorted(((fits[name], loss) for name, loss in losses.items()), key=lambda row: row[1])
    weight = 0.5 * (better / worse) ** 4
    known = {p.name for p in good.parameters if np.isfinite(p.error)}
    names = [p.name for p in good.parameters if p.name in bad.values and p.name not in known]
    return {name: weight * abs(good.values[name] - bad.values[name]) for name in names}


def _settled(tosses: Tosses, fitted: Fitted, refits: Refits, tried: dict[str, Any]) -> Chosen:
    """Return the fit, or one that continues from where a refit ended if all tosses are explained better from there.

    The two standard errors, of gradients and of refits, count equally; errors of the model add to them.
    """
    found = [float(other.losses(tosses).mean()) for other in refits.fits]
    now = float(fitted.losses(tosses).mean())
    if min(found) < now:
        start = refits.fits[int(np.argmin(found))]
        law = LawType(fitted.fixed, fitted.memory, fitted.shape, fitted.direct)
        other = fit_law(tosses, fitted.body, law, stages=STAGES[EARLY:], start=start)
        fitted = other if other.losses(tosses).mean() < now else fitted
    errors = np.sqrt(0.5 * (fitted.solution.errors**2 + refits.errors(len(tosses)) ** 2))
    measured = {} if fitted.body.planar else MODEL_ERRORS.of_fit(fitted.direct, fitted.values["friction"])
    for of_model in (tried["model_errors"], measured):
        errors = np.hypot(errors, [of_model.get(p.name, 0.0) for p in fitted.parameters])
    return Chosen(replace(fitted, solution=fitted.solution.with_errors(errors)), refits, tried)
