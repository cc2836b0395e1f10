"""The choice of a friction map's structure: the simplest one whose held-out error is as good as the best.

First the switches (cone, limit, axes) are chosen, each with all that friction may depend on; then the smoothness of the
curves; then what friction depends on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stiction.basics.splits import fold_of
from stiction.fit.friction_structure import FEW_SPLINES, SPLINES, Model, Range, Structure
from stiction.fit.gauss_newton import (
    FRICTION_STEPS,
    NormalEquations,
    clustered_mean,
    minimise,
    sum_covariance,
    sums_by,
)
from stiction.laws.curves import Restitution


class Observations(Protocol):
    """Observations that a friction map is to explain: residuals (n, k) and their derivatives (n, k, p)."""

    @property
    def throw(self) -> NDArray[np.int64]: ...
    def __len__(self) -> int: ...
    def part(self, which: NDArray[np.bool_]) -> "Observations": ...
    @property
    def typical(self) -> float: ...
    def residuals(self, model: Model, theta: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def jacobian(self, model: Model, theta: NDArray[np.float64], residuals: NDArray) -> NDArray[np.float64]: ...


class FrictionProblem:
    """Huber's loss of each observation, whose edge is two median residuals, and the roughness of the curves as penalty.

    smoothness: weight of the penalty against the mean squared residual
    """

    def __init__(self, observations: Observations, model: Model, smoothness: float) -> None:
        self.observations, self.model, self.smoothness = observations, model, smoothness
        self.penalty = smoothness * model.roughness()
        self.scale = np.ones(model.size)
        self.edge = np.inf  # of Huber's loss

    def bounded(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.model.bounded(x)

    def residuals(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the residuals (n, k) of all observations."""
        return self.observations.residuals(self.model, x)

    def reweigh(self, residuals: NDArray[np.float64]) -> None:
        """Set the edge of the loss by the median residual, which outliers do not move, but at least at 2e-5."""
        self.edge = 2.0 * max(float(np.median(np.linalg.norm(residuals, axis=1))), 1e-5)

    def objective(self, x: NDArray[np.float64], residuals: NDArray[np.float64]) -> float:
        """Return the mean loss, with the penalty."""
        size, edge = np.linalg.norm(residuals, axis=1), self.edge
        loss = np.where(size <= edge, size**2, edge * (2 * size - edge)).mean()
        return float(loss + self.smoothness * x @ self.model.roughness() @ x)

    def normal_equations(self, x: NDArray[np.float64], residuals: NDArray[np.float64]) -> NormalEquations:
        """Linearise; H and gradient are half those of the objective."""
        J = self.observations.jacobian(self.model, x, residuals)
        size = np.linalg.norm(residuals, axis=1)
        weight = np.minimum(1.0, self.edge / np.maximum(size, 1e-300)) / len(residuals)
        flat = (np.sqrt(weight)[:, np.newaxis, np.newaxis] * J).reshape(-1, J.shape[-1])
        data = flat.T @ flat
        each = np.einsum("n,nk,nkp->np", weight, residuals, J)
        return NormalEquations(data + self.penalty, each.sum(axis=0) + self.penalty @ x, data, each)

    def fit(self, x: NDArray[np.float64], iterations: int) -> list[NDArray[np.float64]]:
        """Return the parameters after each iteration, from `x` on, which comes first; the best ones come last."""
        return minimise(self, x, FRICTION_STEPS, iterations).path

    def covariance(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the covariance (p, p) of the parameters at a minimum.

        Three terms: the sandwich over throws, since contacts of one throw are correlated; the prior variance that the
        penalty stands for, where data do not determine a parameter; and the bias by which the penalty moves the curves.
        """
        residuals = self.residuals(x)
        self.reweigh(residuals)
        normal = self.normal_equations(x, residuals)
        inverse, penalty = _inverse(normal.H), normal.H - normal.data
        sums = sums_by(normal.each, self.observations.throw)
        spread, throws = sum_covariance(sums), len(sums)
        # One unit of the objective: the variance between throws over the number of parameters that data determine.
        determined = max(float(np.trace(inverse @ normal.data)), 1e-300)
        unit = float(np.trace(inverse @ spread)) / determined
        few = throws / max(throws - min(determined, throws - 1), 1.0)
        bias = inverse @ penalty @ x
        total = inverse @ spread @ inverse + unit * inverse @ penalty @ inverse
        return few * 0.5 * (total + total.T) + np.outer(bias, bias)


def _inverse(H: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the pseudo-inverse of H, in which unobservable parameters have no variance."""
    scale = np.sqrt(np.maximum(np.diag(H), 1e-12 * max(H.max(), 1e-300)))
    values, vectors = np.linalg.eigh(H / np.outer(scale, scale))
    seen = values > FRICTION_STEPS.ridge * values[-1]
    vectors = vectors[:, seen] / scale[:, np.newaxis]
    return (vectors / values[seen]) @ vectors.T


FOLDS = 4


def capped_errors(residuals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sizes (n,) of residuals (n, k), capped at 1: a single outlier holds little information."""
    return np.minimum(np.linalg.norm(residuals, axis=1), 1.0)


SMOOTHNESS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
_FIRST_SMOOTHNESS = 1e-4
# Two structures are equally good within two standard errors, or within this share of the error, or within this share of
# friction, which no motion depends on.
_SHARE, _FLOOR = 0.02, 5e-4

Ranges = tuple[Range, Range, Restitution]
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Candidate:
    """A structure that was tried.

    theta: parameters from all data; errors: held-out ones of all observations (n,); throw: of each observation (n,)
    """

    model: Model
    theta: NDArray[np.float64]
    errors: NDArray[np.float64]
    throw: NDArray[np.int64]

    @classmethod
    def cross_validated(
        cls, problem: FrictionProblem, theta: NDArray[np.float64], iterations: int, seed: int
    ) -> "Candidate":
        """Fit from `theta` on, to all observations and without each fold of the throws."""
        observations, model = problem.observations, problem.model
        fold = fold_of(observations.throw, FOLDS, seed)
        whole = problem.fit(theta, iterations)[-1]
        residuals = problem.residuals(whole)
        for k in range(FOLDS):
            held = fold == k
            if held.any():
                others = FrictionProblem(observations.part(~held), model, problem.smoothness)
                fitted = others.fit(whole, iterations)[-1]
                residuals[held] = observations.part(held).residuals(model, fitted)
        return cls(model, whole, capped_errors(residuals), observations.throw)

    @property
    def structure(self) -> Structure:
        return self.model.structure

    @property
    def error(self) -> float:
        """Mean of the held-out errors."""
        return float(self.errors.mean())

    def row(self) -> dict[str, Any]:
        """Return its row in the info of a material."""
        return {
            "switches": self.structure.switches,
            "depends_on": self.structure.depends_on,
            "parameters": self.model.size,
            "held_out_error": round(self.error, 7),
            "standard_error": round(clustered_mean(self.errors, self.throw)[1], 7),
        }


@dataclass(frozen=True)
class Choice:
    """The chosen candidate and the smoothness of its curves.

    switches, structures: rows of the info for all that were tried
    """

    best: Candidate
    smoothness: float
    switches: list[dict[str, Any]]
    structures: list[dict[str, Any]]

    def against(self, rivals: list[Candidate]) -> "Choice":
        """Return the same choice, or the simplest rival with other switches that is as good as the best."""
        best = simplest([self.best, *rivals])
        return replace(self, best=best, switches=_rows([self.best, *rivals], best))

    def info(self, basis: dict[str, Any]) -> dict[str, Any]:
        """Return the choice as the info of a material has it. basis: the data it was based on"""
        model = self.best.model
        seen = {"speeds": model.speeds, "loads": model.loads}
        return {
            "structure": {**self.best.row(), "smoothness": self.smoothness, **basis},
            "tried_switches": self.switches,
            "tried_structures": self.structures,
            "seen": {name: [round(float(np.exp(x)), 6) for x in limits] for name, limits in seen.items()},
        }


class Chooser:
    """Tries structures on one set of observations.

    ranges: of ln speed and ln load that were seen, and the restitution
    slow: the residuals are expensive, so that structures with poor fits are not cross-validated
    """

    def __init__(
        self, problem: Observations, ranges: Ranges, *, iterations: int, slow: bool, seed: int, progress: Progress
    ) -> None:
        self.problem, self.ranges, self.iterations, self.seed = problem, ranges, iterations, seed
        self.slow, self.progress = slow, progress

    def choose(self) -> Choice:
        """Return the structure and smoothness that the data call for."""
        switches = self._try("switches", _all_switches(), _FIRST_SMOOTHNESS)
        switched = simplest(switches)
        structures = _dependences(switched.structure)
        smoothness = self._smoothness(self._candidate(structures[-1], _FIRST_SMOOTHNESS))
        tried = self._try("structure", structures, smoothness)
        best, finest = self._smoothed(simplest(tried), smoothness)
        if best.structure.direction and best.structure.cone == "round" and not self.slow:
            sharp = self._candidate(replace(best.structure, sharp=True), finest)
            tried.append(sharp)
            if simplest([best, sharp]) is sharp:
                best, finest = self._smoothed(sharp, finest)
        return Choice(best, finest, _rows(switches, switched), _rows(tried, best))

    def single(self, structure: Structure, theta: NDArray[np.float64]) -> Choice:
        """Return one structure alone, fitted from these parameters on."""
        best = self._candidate(structure, _FIRST_SMOOTHNESS, theta)
        return Choice(best, SMOOTHNESS[0], _rows([best], best), _rows([best], best))

    def grow(self, choice: Choice) -> Choice:
        """Return the same choice with further dependences that these observations call for, one after another.

        Points alone may not show them: in few throws, hardly one of them slides as slowly as the surfaces do.
        """
        first = self._candidate(choice.best.structure, choice.smoothness, choice.best.theta)
        best, rows = first, list(choice.structures)
        while True:
            error = float(capped_errors(self.problem.residuals(best.model, best.theta)).mean())
            fits = [(more, *self._fit(more, _FIRST_SMOOTHNESS)) for more in _one_more(best.structure)]
            hopeful = [(more, theta) for more, theta, least in fits if least < (1 - _SHARE) * error - _FLOOR]
            tried = [self._candidate(more, _FIRST_SMOOTHNESS, theta) for more, theta in hopeful]
            better = simplest([best, *tried])
            if better is best:
                return choice if best is first else Choice(best, self._smoothness(best), choice.switches, rows)
            best = better
            rows = [{**row, "chosen": False} for row in rows] + _rows(tried, best)

    def _try(self, part: str, structures: list[Structure], smoothness: float) -> list[Candidate]:
        """Return candidates of all structures; if slow, only of those that fit the data half as well as any."""
        starts: list[NDArray | None] = [None] * len(structures)
        if self.slow:
            fits = [self._fit(structure, smoothness) for structure in structures]
            enough = 2.0 * min(error for _, error in fits) + _FLOOR
            structures = [s for s, (_, error) in zip(structures, fits) if error <= enough]
            starts = [theta for theta, error in fits if error <= enough]
        tried = []
        for k, (structure, start) in enumerate(zip(structures, starts)):
            self.progress(part, k / len(structures))
            tried.append(self._candidate(structure, smoothness, start))
        self.progress(part, 1.0)
        return tried

    def _fit(self, structure: Structure, smoothness: float) -> tuple[NDArray[np.float64], float]:
        """Return parameters from all data, and their mean error on the same data."""
        problem = self._problem(structure, smoothness)
        theta = problem.fit(problem.model.start(self.problem.typical), self.iterations)[-1]
        return theta, float(capped_errors(problem.residuals(theta)).mean())

    def _candidate(self, structure: Structure, smoothness: float, theta: NDArray | None = None) -> Candidate:
        problem = self._problem(structure, smoothness)
        start = problem.model.start(self.problem.typical) if theta is None else theta
        return Candidate.cross_validated(problem, start, self.iterations, self.seed)

    def _problem(self, structure: Structure, smoothness: float) -> FrictionProblem:
        return FrictionProblem(self.problem, Model(structure, *self.ranges), smoothness)

    def _smoothed(self, candidate: Candidate, smoothness: float) -> tuple[Candidate, float]:
        """Return a candidate, that of `smoothness`, with the smoothness that predicts best."""
        finest = self._smoothness(candidate)
        if finest != smoothness:
            candidate = self._candidate(candidate.structure, finest, candidate.theta)
        return candidate, finest

    def _smoothness(self, candidate: Candidate) -> float:
        """Return the smoothness that predicts best; among perfect ones, the greatest."""
        s = candidate.structure
        if not (s.speed or s.load or s.direction or s.texture):
            return SMOOTHNESS[0]
        tried = [self._candidate(candidate.structure, s, candidate.theta) for s in SMOOTHNESS]
        errors = [one.error for one in tried]
        return next(s for s, error in zip(SMOOTHNESS, errors) if error <= min(errors) + 1e-5)


def _rows(tried: list[Candidate], chosen: Candidate) -> list[dict[str, Any]]:
    return [{**candidate.row(), "chosen": candidate.structure == chosen.structure} for candidate in tried]


def simplest(candidates: list[Candidate]) -> Candidate:
    """Return the candidate with the fewest parameters among those as good as the best one; the first of equals."""
    order = sorted(candidates, key=lambda c: c.model.size)
    best = min(order, key=lambda c: c.error)
    return next(candidate for candidate in order if _is_as_good(candidate, best))


def _is_as_good(candidate: Candidate, best: Candidate) -> bool:
    excess, error = clustered_mean(candidate.errors - best.errors, candidate.throw)
    # Logarithms reveal many small gains that a few great errors would hide.
    ratio = (candidate.errors + _FLOOR) / (best.errors + _FLOOR)
    log_excess, log_error = clustered_mean(np.log(ratio), candidate.throw)
    as_good = excess <= max(2.0 * error, _SHARE * best.error, _FLOOR)
    return as_good and log_excess <= max(2.0 * log_error, _SHARE)


def _all_switches() -> list[Structure]:
    """Return all cones, limits and axes, each with everything that friction may depend on."""
    rich = Structure(speed=True, load=True, viscosity=True, splines=FEW_SPLINES)
    result = []
    for cone, limit, axes in product(("round", "box"), ("actual", "frictionless"), ("world", "body")):
        switched = replace(rich, cone=cone, limit=limit, axes=axes)
        result.append(replace(switched, direction=True))
        if cone == "round":
            result.append(replace(switched, stretch=True))
        if cone == "round" and axes == "body":
            result.append(replace(switched, texture=True, axes="world"))
    return result


def _one_more(structure: Structure) -> list[Structure]:
    """Return structures with one more dependence; those on direction need axes that are already chosen."""
    names = ["speed", "load", "viscosity"] + ["direction"] * (not structure.stretch and not structure.texture)
    return [replace(structure, **{name: True}) for name in names if not getattr(structure, name)]


def _dependences(rich: Structure) -> list[Structure]:
    """Return all combinations of dependences, with the switches of `rich`."""
    first = "stretch" if rich.stretch else "texture" if rich.texture else "direction"
    names = [first, "speed", "load", "viscosity"]
    result = []
    for some in product((False, True), repeat=len(names)):
        axes = "world" if not some[0] and rich.cone == "round" else rich.axes
        result.append(replace(rich, **dict(zip(names, some)), splines=SPLINES, axes=axes))
    return result
