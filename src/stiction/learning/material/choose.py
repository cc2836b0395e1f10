"""Which form of friction map the data call for: the simplest one whose held-out error is as good as the best.

First the switches (cone, limit, axes), each with all that friction may depend on; then how smooth the curves are; then
what friction depends on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.learning.material.folds import Score, cross_validate
from stiction.learning.material.gauss_newton import Problem, minimise
from stiction.learning.material.structure import FEW_SPLINES, SPLINES, Model, Range, Structure

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
