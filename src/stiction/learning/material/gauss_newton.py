"""Robust Gauss-Newton for the parameters of a friction map, whatever the residuals come from.

The objective is the mean of Huber's loss of the residuals' lengths and a penalty on curves that bend.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stiction.learning.material.structure import Model

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
