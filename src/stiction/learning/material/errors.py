"""Error bars: the covariance of a friction map's parameters."""

import numpy as np
from numpy.typing import NDArray

from stiction.learning.material.gauss_newton import Problem, inverse, normal_equations, typical_size
from stiction.learning.material.structure import Model


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
