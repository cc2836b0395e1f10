"""Held-out errors of a form of the friction map: folds over whole throws, since contacts of one throw are alike."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.basics.folds import FOLDS, clustered_mean, fold_of
from stiction.learning.material.gauss_newton import Problem, minimise
from stiction.learning.material.structure import Model

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
