"""Which form of friction map the data call for: the simplest one whose held-out error is as good as the best.

First the switches (cone, limit, axes), each with all that friction may depend on; then how smooth the curves are; then
what friction depends on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.fit.folds import FOLDS, clustered_mean, fold_of
from stiction.fit.friction_structure import FEW_SPLINES, SPLINES, Model, Range, Structure

# Robust Gauss-Newton for the parameters of a friction map, whatever the residuals come from.


_HUBER = 2.0  # residuals longer than this many typical ones count less
_LEAST = 1e-5  # a typical residual is at least so long: below, everything fits
_DAMPING = (0.0, 1e-3, 1e-1, 10.0)  # tried one after another until the objective falls
_RIDGE = 1e-9  # share of the greatest curvature: parameters that nothing tells of stay where they are
_SMALL = 1e-3  # relative gain of an iteration that is the last one
_FARTHEST = 1.5  # that any parameter moves in one iteration


class Problem(Protocol):
    """Observations that a friction map is to explain: residuals (n, k) and their derivatives (n, k, p)."""

    @property
    def throw(self) -> NDArray[np.int64]: ...
    def __len__(self) -> int: ...
    def part(self, which: NDArray[np.bool_]) -> "Problem": ...
    def typical(self) -> float: ...
    def residuals(self, model: Model, theta: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def jacobian(self, model: Model, theta: NDArray[np.float64], residuals: NDArray) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class Normal:
    """The normal equations of one place: H (p, p), its part from the data, the gradient, and that of each row."""

    H: NDArray[np.float64]
    data: NDArray[np.float64]
    gradient: NDArray[np.float64]
    each: NDArray[np.float64]


def minimise(
    problem: Problem, model: Model, theta: NDArray[np.float64], *, smoothness: float, iterations: int
) -> list[NDArray[np.float64]]:
    """Parameters after each iteration, from `theta` on, which comes first; the last ones are the best.

    smoothness: weight of the penalty against the mean squared residual
    """
    path = [model.bounded(theta)]
    residuals = problem.residuals(model, path[0])
    for _ in range(iterations):
        here = path[-1]
        typical = typical_size(residuals)
        before = _objective(residuals, typical, model, here, smoothness)
        normal = normal_equations(problem, model, here, residuals, typical, smoothness)
        found = None
        for damping in _DAMPING:
            trial = model.bounded(here + _step(normal, damping))
            again = problem.residuals(model, trial)
            after = _objective(again, typical, model, trial, smoothness)
            if after < before:
                found = trial, again, after
                break
        if found is None:
            break
        path.append(found[0])
        residuals = found[1]
        if before - found[2] < _SMALL * before:
            break
    return path


def typical_size(residuals: NDArray[np.float64]) -> float:
    """The length of a usual residual: the median, which outliers do not move."""
    return max(float(np.median(np.linalg.norm(residuals, axis=1))), _LEAST)


def normal_equations(
    problem: Problem, model: Model, theta, residuals: NDArray, typical: float, smoothness: float
) -> Normal:
    """The normal equations at `theta`, weighted as Huber's loss has it."""
    J = problem.jacobian(model, theta, residuals)
    weight = _weights(residuals, typical) / len(residuals)
    flat = (np.sqrt(weight)[:, np.newaxis, np.newaxis] * J).reshape(-1, J.shape[-1])
    data = flat.T @ flat
    each = np.einsum("n,nk,nkp->np", weight, residuals, J)
    P = smoothness * model.roughness()
    return Normal(data + P, data, each.sum(axis=0) + P @ theta, each)


def inverse(H: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of H, in which parameters that nothing tells of do not vary."""
    scale = np.sqrt(np.maximum(np.diag(H), 1e-12 * max(H.max(), 1e-300)))
    values, vectors = np.linalg.eigh(H / np.outer(scale, scale))
    told = values > _RIDGE * values[-1]
    vectors = vectors[:, told] / scale[:, np.newaxis]
    return (vectors / values[told]) @ vectors.T


def _step(normal: Normal, damping: float) -> NDArray[np.float64]:
    curvature = np.diag(normal.H)
    scale = np.sqrt(np.maximum(curvature, 1e-12 * max(float(curvature.max()), 1e-300)))
    H = normal.H / np.outer(scale, scale) + (damping + _RIDGE) * np.eye(len(scale))
    move = -np.linalg.solve(H, normal.gradient / scale) / scale
    return move * min(1.0, _FARTHEST / max(float(np.abs(move).max()), 1e-300))


def _weights(residuals: NDArray, typical: float) -> NDArray[np.float64]:
    size = np.linalg.norm(residuals, axis=1)
    return np.minimum(1.0, _HUBER * typical / np.maximum(size, 1e-300))


def _objective(residuals: NDArray, typical: float, model: Model, theta: NDArray, smoothness: float) -> float:
    size, edge = np.linalg.norm(residuals, axis=1), _HUBER * typical
    loss = np.where(size <= edge, size**2, edge * (2 * size - edge)).mean()
    return float(loss + smoothness * theta @ model.roughness() @ theta)


# Error bars: the covariance of a friction map's parameters.


def covariance(problem: Problem, model: Model, theta: NDArray[np.float64], smoothness: float) -> NDArray[np.float64]:
    """Covariance (p, p) of the parameters at a minimum.

    Three parts: how much the parameters differ with the throws that happened to be made (a sandwich with throws as its
    clusters, since contacts of one throw are alike), the spread that the penalty takes for likely where data do not
    tell, and how far the penalty pulls the curves from where the data alone would have them.
    """
    residuals = problem.residuals(model, theta)
    normal = normal_equations(problem, model, theta, residuals, typical_size(residuals), smoothness)
    inverse_H = inverse(normal.H)
    _, number = np.unique(problem.throw, return_inverse=True)
    sums = np.zeros((number.max() + 1, len(theta)))
    np.add.at(sums, number, normal.each)
    sums -= sums.mean(axis=0)
    throws = len(sums)
    spread = sums.T @ sums * (throws / max(throws - 1, 1))
    # What one unit of the objective is worth: the variance that the throws show over that of as many free numbers.
    free = max(float(np.trace(inverse_H @ normal.data)), 1e-300)
    unit = float(np.trace(inverse_H @ spread)) / free
    few = throws / max(throws - min(free, throws - 1), 1.0)
    pull = inverse_H @ (normal.H - normal.data) @ theta
    total = inverse_H @ spread @ inverse_H + unit * inverse_H @ (normal.H - normal.data) @ inverse_H
    return few * 0.5 * (total + total.T) + np.outer(pull, pull)


# Held-out errors of a form of the friction map: folds over whole throws, since contacts of one throw are alike.


_MOST = 1.0  # an error counts no more than this: one contact that goes astray says little


@dataclass(frozen=True)
class Score:
    """Held-out errors: sizes of the residuals of all observations (n,), and the throws that they belong to (n,)."""

    errors: NDArray[np.float64]
    throw: NDArray[np.int64]

    @classmethod
    def of(cls, problem: Problem, residuals: NDArray[np.float64]) -> "Score":
        """Errors of residuals (n, k)."""
        return cls(np.minimum(np.linalg.norm(residuals, axis=1), _MOST), problem.throw)

    @property
    def mean(self) -> float:
        """Mean error."""
        return float(self.errors.mean())

    def excess(self, other: "Score") -> tuple[float, float]:
        """By how much the mean error is greater than the other's, and the standard error of that, over throws."""
        return clustered_mean(self.errors - other.errors, self.throw)

    def log_excess(self, other: "Score", floor: float) -> tuple[float, float]:
        """The same of ln(error + floor), which sees many small gains that a few great errors would hide."""
        return clustered_mean(np.log((self.errors + floor) / (other.errors + floor)), self.throw)

    @property
    def standard_error(self) -> float:
        """Standard error of the mean, over throws."""
        return clustered_mean(self.errors, self.throw)[1]


def held_out_throws(throw: NDArray[np.int64], share: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Numbers of the throws to hold out, this share of those that observations belong to: one at least, not all."""
    if not 0 < share < 1:
        raise checks.InputError(f"held_out must be a share between 0 and 1, got {share:g}.")
    throws = np.unique(throw)
    return rng.permutation(throws)[: min(max(round(share * len(throws)), 1), len(throws) - 2)]


def cross_validate(
    problem: Problem, model: Model, theta: NDArray[np.float64], *, smoothness: float, iterations: int, seed: int
) -> tuple[Score, NDArray[np.float64]]:
    """Held-out errors of all observations, and the parameters from all of them, from `theta` on."""
    fold = fold_of(problem.throw, seed)
    how = {"smoothness": smoothness, "iterations": iterations}
    whole = minimise(problem, model, theta, **how)[-1]
    residuals = problem.residuals(model, whole)
    for k in range(FOLDS):
        held = fold == k
        if held.any():
            fitted = minimise(problem.part(~held), model, whole, **how)[-1]
            residuals[held] = problem.part(held).residuals(model, fitted)
    return Score.of(problem, residuals), whole


SMOOTHNESS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
_FIRST_SMOOTHNESS = 1e-4
_ERRORS = 2.0  # standard errors within which two structures do equally well ...
_SHARE = 0.02  # ... or within this share of the error ...
_FLOOR = 5e-4  # ... or if they differ by less than this share of friction, which nothing notices
_PERFECT = 1e-5  # an error that is only rounding
_HOPELESS = 2.0  # times the least error on the data themselves: more will not be made good by held-out ones

Ranges = tuple[Range, Range]
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Candidate:
    """A structure that was tried: its parameters from all data, and its held-out errors."""

    model: Model
    theta: NDArray[np.float64]
    score: Score

    @property
    def structure(self) -> Structure:
        return self.model.structure

    def row(self) -> dict[str, Any]:
        """What the info of a material tells of it."""
        return {
            "switches": self.structure.switches,
            "depends_on": self.structure.depends_on,
            "parameters": self.model.size,
            "held_out_error": round(self.score.mean, 7),
            "standard_error": round(self.score.standard_error, 7),
        }


@dataclass(frozen=True)
class Choice:
    """What was chosen, from what.

    best: the candidate; smoothness: of its curves
    switches, structures: what the info tells of all that were tried
    """

    best: Candidate
    smoothness: float
    switches: list[dict[str, Any]]
    structures: list[dict[str, Any]]

    def against(self, rivals: list[Candidate]) -> "Choice":
        """The same choice, or the rival with other switches that does as well as the best and is the simplest."""
        best = simplest([self.best, *rivals])
        return replace(self, best=best, switches=_rows([self.best, *rivals], best))

    def told(self, basis: dict[str, Any]) -> dict[str, Any]:
        """What was chosen, and from what, as the info of a material tells it."""
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

    ranges: of ln speed and ln load that were seen
    slow: the observations take long to explain, so that not all structures are tried to the end
    """

    def __init__(
        self, problem: Problem, ranges: Ranges, *, iterations: int, slow: bool, seed: int, progress: Progress
    ) -> None:
        self.problem, self.ranges, self.iterations, self.seed = problem, ranges, iterations, seed
        self.slow, self.progress = slow, progress

    def choose(self) -> Choice:
        """The structure and smoothness that the data call for."""
        switches = self._try("switches", _all_switches(), _FIRST_SMOOTHNESS)
        switched = simplest(switches)
        structures = _dependences(switched.structure)
        smoothness = self._smoothness(self._candidate(structures[-1], _FIRST_SMOOTHNESS))
        tried = self._try("structure", structures, smoothness)
        told = _rows(switches, switched), _rows(tried, best := simplest(tried))
        finest = self._smoothness(best)
        if finest != smoothness:
            best = self._candidate(best.structure, finest, best.theta)
        return Choice(best, finest, *told)

    def begun(self, structure: Structure, theta: NDArray[np.float64]) -> Choice:
        """One structure alone, with parameters to begin from."""
        best = self._candidate(structure, _FIRST_SMOOTHNESS, theta)
        return Choice(best, SMOOTHNESS[0], _rows([best], best), _rows([best], best))

    def grow(self, choice: Choice) -> Choice:
        """The same choice with what these observations call for besides, one dependence after another.

        Points alone may not tell: in few throws, hardly one of them slides as slowly as the surfaces do.
        """
        begun = self._candidate(choice.best.structure, choice.smoothness, choice.best.theta)
        best, told = begun, list(choice.structures)
        while True:
            error = Score.of(self.problem, self.problem.residuals(best.model, best.theta)).mean
            fits = [(more, *self._fit(more, _FIRST_SMOOTHNESS)) for more in _one_more(best.structure)]
            hopeful = [(more, theta) for more, theta, least in fits if least < (1 - _SHARE) * error - _FLOOR]
            tried = [self._candidate(more, _FIRST_SMOOTHNESS, theta) for more, theta in hopeful]
            better = simplest([best, *tried])
            if better is best:
                return choice if best is begun else Choice(best, self._smoothness(best), choice.switches, told)
            best = better
            told = [{**row, "chosen": False} for row in told] + _rows(tried, best)

    def _try(self, part: str, structures: list[Structure], smoothness: float) -> list[Candidate]:
        """Candidates of all structures; of those that are slow to try, none that the same data show to be far off."""
        begins: list[NDArray | None] = [None] * len(structures)
        if self.slow:
            fits = [self._fit(structure, smoothness) for structure in structures]
            enough = _HOPELESS * min(error for _, error in fits) + _FLOOR
            structures = [s for s, (_, error) in zip(structures, fits) if error <= enough]
            begins = [theta for theta, error in fits if error <= enough]
        tried = []
        for k, (structure, begin) in enumerate(zip(structures, begins)):
            self.progress(part, k / len(structures))
            tried.append(self._candidate(structure, smoothness, begin))
        self.progress(part, 1.0)
        return tried

    def _fit(self, structure: Structure, smoothness: float) -> tuple[NDArray[np.float64], float]:
        """Parameters from all data, and their mean error on the same data."""
        model = Model(structure, *self.ranges)
        begin = model.start(self.problem.typical())
        theta = minimise(self.problem, model, begin, smoothness=smoothness, iterations=self.iterations)[-1]
        return theta, Score.of(self.problem, self.problem.residuals(model, theta)).mean

    def _candidate(self, structure: Structure, smoothness: float, theta: NDArray | None = None) -> Candidate:
        model = Model(structure, *self.ranges)
        begin = model.start(self.problem.typical()) if theta is None else theta
        how = {"smoothness": smoothness, "iterations": self.iterations, "seed": self.seed}
        score, found = cross_validate(self.problem, model, begin, **how)
        return Candidate(model, found, score)

    def _smoothness(self, candidate: Candidate) -> float:
        """The smoothness that predicts best; of those that predict perfectly, the greatest."""
        if not (candidate.structure.speed or candidate.structure.load or candidate.structure.direction):
            return SMOOTHNESS[0]
        tried = [self._candidate(candidate.structure, s, candidate.theta) for s in SMOOTHNESS]
        errors = [one.score.mean for one in tried]
        return next(s for s, error in zip(SMOOTHNESS, errors) if error <= min(errors) + _PERFECT)


def _rows(tried: list[Candidate], chosen: Candidate) -> list[dict[str, Any]]:
    return [{**candidate.row(), "chosen": candidate is chosen} for candidate in tried]


def simplest(candidates: list[Candidate]) -> Candidate:
    """The candidate with the fewest parameters, of those as good as the best one; the first of equals."""
    order = sorted(candidates, key=lambda c: c.model.size)
    best = min(order, key=lambda c: c.score.mean).score
    return next(candidate for candidate in order if _is_as_good(candidate.score, best))


def _is_as_good(score: Score, best: Score) -> bool:
    excess, error = score.excess(best)
    log_excess, log_error = score.log_excess(best, _FLOOR)
    as_good = excess <= max(_ERRORS * error, _SHARE * best.mean, _FLOOR)
    return as_good and log_excess <= max(_ERRORS * log_error, _SHARE)


def _all_switches() -> list[Structure]:
    """All cones, limits and axes, each with everything that friction may depend on."""
    rich = Structure(speed=True, load=True, viscosity=True, splines=FEW_SPLINES)
    result = []
    for cone, limit, axes in product(("round", "box"), ("actual", "frictionless"), ("world", "body")):
        switched = replace(rich, cone=cone, limit=limit, axes=axes)
        result.append(replace(switched, direction=True))
        if cone == "round":
            result.append(replace(switched, stretch=True))
    return result


def _one_more(structure: Structure) -> list[Structure]:
    """Structures with one dependence more; those on direction need axes that are already chosen."""
    names = ["speed", "load", "viscosity"] + ["direction"] * (not structure.stretch)
    return [replace(structure, **{name: True}) for name in names if not getattr(structure, name)]


def _dependences(rich: Structure) -> list[Structure]:
    """All that friction may depend on, with the switches of `rich`."""
    names = ["stretch" if rich.stretch else "direction", "speed", "load", "viscosity"]
    result = []
    for some in product((False, True), repeat=len(names)):
        structure = replace(rich, **dict(zip(names, some)), splines=SPLINES)
        if not some[0] and rich.cone == "round":
            structure = replace(structure, axes="world")
        result.append(structure)
    return result
