"""A law of one kind, fitted: with or without bounce, friction in impacts at once or as they build up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.laws.impact import INCREMENTS, ImpactLaw, ImpactMaterial
from stiction.learning.identify.gauss_newton import Parameter, Solution, mean_loss
from stiction.learning.identify.identify import (
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
from stiction.learning.identify.in_plane import UNTOLD, USUAL_GRAVITY, flight_in_plane, heavy_parameters
from stiction.learning.recordings.flight_estimate import RATIOS, Shape, flight_estimate, inertia_told, shaped
from stiction.learning.recordings.tosses import Tosses

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
