"""Robust Gauss-Newton, the minimiser of all fits, and the standard errors of its minima.

Problem. Find the parameters x (p,), within bounds, that minimise

    F(x) = mean_i rho(|r_i(x)|) + x^T P x / 2,

where r_i is the residual of one observation (a frame of a toss, a contact, a window of poses), rho a robust loss and P
a penalty: the distance from guesses and from other measurements, or the roughness of curves.

Method. Gauss-Newton on iteratively reweighted residuals with Marquardt's damping: with the Jacobians J_i and weights
w_i = rho'(|r_i|) / |r_i|, H = mean_i w_i J_i^T J_i + P and g = mean_i w_i J_i^T r_i + P x,

    (H + damping diag(H)) z = -g

is the step in units of `scale`. It is shortened to `max_step` and projected on the bounds; the damping grows until F
falls. Sources: Marquardt, SIAM J. Appl. Math. 11 (1963); Huber, Robust Statistics (1981), chapter 7.

Standard errors. F is no likelihood, and observations of one toss or throw are correlated. The covariance is therefore a
sandwich H^-1 C H^-1 with the covariance C of the gradients of whole tosses (White, Econometrica 50 (1982)).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class StepSettings:
    """How the minimiser steps.

    dampings: tried one after another until the objective falls, from number `first` on
    carries_damping: an iteration starts with a damping one lower than that which served the last one, not at `first`
    ridge: damping that is always added, so that unobservable parameters do not move
    equilibrates: the equations are solved with a unit diagonal, for curvatures that differ by orders of magnitude
    max_step: length of a step in any parameter [its scale]
    min_gain: relative decrease of the objective below which an iteration is the last one
    bound_passes: solves of a step; from the second on, parameters at their bounds stay there and the others adapt
    """

    dampings: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
    first: int = 1
    carries_damping: bool = True
    ridge: float = 0.0
    equilibrates: bool = False
    max_step: float = 2.0
    min_gain: float = 3e-3
    bound_passes: int = 2


# Simulations of tosses are expensive and their loss is rough; residuals of friction maps are cheap and smooth.
TOSS_STEPS = StepSettings()
FRICTION_STEPS = StepSettings(
    dampings=(0.0, 1e-3, 1e-1, 10.0),
    first=0,
    carries_damping=False,
    ridge=1e-9,
    equilibrates=True,
    max_step=1.5,
    min_gain=1e-3,
    bound_passes=1,
)


@dataclass(frozen=True)
class NormalEquations:
    """Gauss-Newton matrix H (p, p) and gradient (p,) of the objective, in units of the parameters' scales.

    data: the share of the data in H, without the penalty
    each: gradients of single observations (n, p); curvatures: their Gauss-Newton matrices (n, p, p), where needed
    """

    H: NDArray[np.float64]
    gradient: NDArray[np.float64]
    data: NDArray[np.float64]
    each: NDArray[np.float64]
    curvatures: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def predicted(self, z: NDArray[np.float64]) -> float:
        """Return the decrease of the objective that the quadratic model predicts for a step z (p,)."""
        return -float(self.gradient @ z + 0.5 * z @ self.H @ z)


class Problem(Protocol):
    """A robust least-squares problem; residuals are in whatever form the problem uses itself."""

    scale: NDArray[np.float64]

    def bounded(self, x: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def residuals(self, x: NDArray[np.float64], /) -> Any: ...
    def reweigh(self, residuals: Any) -> None:
        """Fix the weights of loss and penalty for the next iteration, which starts at these residuals."""
        ...

    def objective(self, x: NDArray[np.float64], residuals: Any) -> float: ...
    def normal_equations(self, x: NDArray[np.float64], residuals: Any) -> NormalEquations: ...


@dataclass(frozen=True)
class Minimum:
    """The iterates, the best one last, and the objective after each iteration.

    residuals: at the last iterate; mispredicted: error of the predicted decrease at the last trial
    """

    path: list[NDArray[np.float64]]
    losses: list[float]
    residuals: Any
    mispredicted: float


def minimise(problem: Problem, x: NDArray[np.float64], settings: StepSettings, iterations: int) -> Minimum:
    """Minimise from `x` (p,) on, in at most this many iterations."""
    path = [problem.bounded(np.array(x, dtype=np.float64))]
    residuals = problem.residuals(path[0])
    problem.reweigh(residuals)
    losses, damping, mispredicted = [problem.objective(path[0], residuals)], settings.first, 0.0
    for _ in range(iterations):
        problem.reweigh(residuals)
        here, before = path[-1], problem.objective(path[-1], residuals)
        normal = problem.normal_equations(here, residuals)
        while damping < len(settings.dampings):
            trial = _stepped(problem, here, normal, settings.dampings[damping], settings)
            again = problem.residuals(trial)
            loss = problem.objective(trial, again)
            mispredicted = abs(normal.predicted((trial - here) / problem.scale) - (before - loss))
            if loss < before:
                break
            damping += 1
        else:
            break
        path.append(trial)
        losses.append(loss)
        residuals = again
        damping = max(0, damping - 1) if settings.carries_damping else settings.first
        if before - loss < settings.min_gain * before:
            break
    return Minimum(path, losses, residuals, mispredicted)


def _stepped(
    problem: Problem, x: NDArray[np.float64], normal: NormalEquations, damping: float, settings: StepSettings
) -> NDArray[np.float64]:
    """Return where a damped step ends."""
    curvature = np.diag(normal.H)
    curvature = np.maximum(curvature, 1e-12 * max(float(curvature.max()), 1e-300))
    one = np.ones(len(x))
    unit, diagonal = (np.sqrt(curvature), one) if settings.equilibrates else (one, curvature)
    A = normal.H / np.outer(unit, unit) + (damping + settings.ridge) * np.diag(diagonal)
    free, trial = np.ones(len(x), dtype=bool), x
    for _ in range(settings.bound_passes):
        move = np.zeros(len(x))
        move[free] = -np.linalg.solve(A[np.ix_(free, free)], (normal.gradient / unit)[free]) / unit[free]
        move *= min(1.0, settings.max_step / max(1e-12, np.abs(move).max()))
        wanted = x + move * problem.scale
        trial = problem.bounded(wanted)
        free &= np.isclose(trial, wanted)
    return trial


def sum_covariance(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the covariance (p, p) of the sum of n independent parts (n, p), from how they differ."""
    n, off = len(parts), parts - parts.mean(axis=0)
    return off.T @ off * (n / max(n - 1, 1))


def sums_by(values: NDArray[np.float64], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sums of values (n, p) over each group, in the order of the groups' numbers (n,)."""
    _, number = np.unique(group, return_inverse=True)
    sums = np.zeros((number.max() + 1, values.shape[1]))
    np.add.at(sums, number, values)
    return sums


def clustered_mean(values: NDArray[np.float64], throw: NDArray[np.int64]) -> tuple[float, float]:
    """Return the mean of values (n,) and its standard error, where values of one throw (n,) are correlated."""
    mean = values.mean()
    sums = sums_by((values - mean)[:, np.newaxis], throw)
    return float(mean), float(np.sqrt(sum_covariance(sums)[0, 0]) / len(values))


def jackknife_errors(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard errors (p,) of a fit, from k fits (k, p) that each leave out one of k equal parts."""
    k = len(values)
    return np.sqrt((k - 1) / k * ((values - values.mean(axis=0)) ** 2).sum(axis=0))


Residuals = list[NDArray[np.float64]]  # of each toss, shape (frames, k)
Simulate = Callable[[NDArray[np.float64]], Residuals]  # from parameters (p,) to residuals


@dataclass(frozen=True)
class Parameter:
    """An unknown number.

    scale: the likely distance from `start`, the unit of the ridge that pulls it there
    step: of the finite difference
    low, high: bounds
    error: standard error of `start`, where that is another measurement; inf: it is a guess
    """

    name: str
    unit: str
    start: float
    scale: float
    step: float
    low: float = -np.inf
    high: float = np.inf
    error: float = np.inf


def named(parameters: Sequence[Parameter], values: NDArray[np.float64]) -> dict[str, float]:
    """Return values (p,) by the names of their parameters."""
    return {p.name: value for p, value in zip(parameters, values.tolist())}


@dataclass
class Solution:
    """Fitted parameters.

    values: shape (p,)
    covariance: of their errors, shape (p, p); inf where it was not asked for
    observed: share of the information about each parameter that comes from data and not from a guess, shape (p,)
    losses: after each iteration
    """

    values: NDArray[np.float64]
    covariance: NDArray[np.float64]
    observed: NDArray[np.float64]
    losses: list[float] = field(default_factory=list)

    @property
    def errors(self) -> NDArray[np.float64]:
        """Standard errors, shape (p,)."""
        return np.sqrt(np.diag(self.covariance))

    def with_errors(self, errors: NDArray[np.float64]) -> "Solution":
        """Return the same with these standard errors (p,) and unchanged correlations."""
        factor = errors / self.errors
        return replace(self, covariance=self.covariance * np.outer(factor, factor))


@dataclass(frozen=True)
class TossFit:
    """How parameters are fitted to tosses.

    width: s of the loss, in units of the residual
    ridge: weight of the squared distance from guesses, in units of their scales, against the loss of one toss at the
        start of the fit: the better the tosses are explained, the weaker the guesses
    errors: whether to find the standard errors
    windows: how often each toss is among the residuals, one round of all tosses after another
    """

    width: float
    iterations: int
    ridge: float
    errors: bool = True
    windows: int = 1

    def solve(self, simulate: Simulate, parameters: Sequence[Parameter], x: NDArray[np.float64]) -> Solution:
        """Minimise from `x` (p,) on."""
        problem = TossProblem(simulate, parameters, self)
        found = minimise(problem, x, TOSS_STEPS, self.iterations)
        values, p = found.path[-1], len(parameters)
        if not self.errors:
            return Solution(values, np.full((p, p), np.inf), np.zeros(p), found.losses)
        return Solution(values, *problem.uncertainty(values, found.residuals, found.mispredicted), found.losses)


class TossProblem:
    """Cauchy's loss log(1 + |r|^2 / s^2) of each frame, averaged over the frames of a toss and then over the tosses.

    A far miss counts little: once a corner has landed on the other side, the rest of a toss holds no information. The
    penalty pulls parameters towards their starts: guesses by the ridge, measurements by their errors. Derivatives are
    finite differences.
    """

    def __init__(self, simulate: Simulate, parameters: Sequence[Parameter], options: TossFit) -> None:
        self.residuals, self.options = simulate, options
        self.moved: dict[int, tuple[float, float]] = {}  # steps of the last finite differences, and the objective there
        self.start, self.scale, self.step, self.low, self.high, self.error = (
            np.array([getattr(p, name) for p in parameters])
            for name in ("start", "scale", "step", "low", "high", "error")
        )
        self.pull = np.zeros(len(self.start))  # towards the starts, against the sum of all losses
        self.is_weighed = False

    def bounded(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip(x, self.low, self.high)

    def reweigh(self, residuals: Residuals) -> None:
        """Set the strength of the penalty, once, by the loss at the start of the fit."""
        if not self.is_weighed:
            self.is_weighed = True
            # A toss counts as 4 independent numbers against another measurement: how gradients differ between tosses,
            # against the curvature, indicates about 6 for a real cube and fewer for simulated tosses.
            measured = self.options.windows / 4.0 * (self.scale / self.error) ** 2
            pull = np.where(np.isfinite(self.error), measured, self.options.ridge)
            self.pull = 2 * mean_loss(residuals, self.options.width) * pull

    def objective(self, x: NDArray[np.float64], residuals: Residuals) -> float:
        """Return the mean loss of the tosses, with the penalty."""
        z = (x - self.start) / self.scale
        return mean_loss(residuals, self.options.width) + 0.5 / len(residuals) * float(self.pull @ z**2)

    def normal_equations(self, x: NDArray[np.float64], residuals: Residuals) -> NormalEquations:
        """Linearise by p simulations."""
        derivatives = [self._derivative(x, residuals, j) for j in range(len(x))]
        p, n = len(x), len(residuals)
        curvatures, each = np.zeros((n, p, p)), np.zeros((n, p))
        for i, r in enumerate(residuals):
            J = np.stack([d[i] for d in derivatives], axis=-1)  # (frames, k, p)
            weight = 2.0 / (self.options.width**2 + (r**2).sum(axis=1)) / len(r)
            curvatures[i] = np.einsum("f,fka,fkb->ab", weight, J, J)
            each[i] = np.einsum("f,fka,fk->a", weight, J, r)
        data, pull = curvatures.mean(axis=0), self.pull / n
        gradient = each.mean(axis=0) + pull * (x - self.start) / self.scale
        return NormalEquations(data + np.diag(pull), gradient, data, each, curvatures)

    def _derivative(self, x: NDArray[np.float64], residuals: Residuals, j: int) -> Residuals:
        """Return the change of the residuals with parameter j, for one scale of it, with its tails cut off."""
        step = self.step[j] if x[j] + self.step[j] <= self.high[j] else -self.step[j]
        moved = x.copy()
        moved[j] += step
        again = self.residuals(moved)
        self.moved[j] = (float(step / self.scale[j]), self.objective(moved, again))
        change = [(b - a) * (self.scale[j] / step) for a, b in zip(residuals, again, strict=True)]
        # A corner that flips between the two simulations is no derivative.
        limit = np.percentile(np.concatenate([np.abs(d).max(axis=1) for d in change]), 99.5)
        return [np.clip(d, -limit, limit) for d in change]

    def uncertainty(
        self, x: NDArray[np.float64], residuals: Residuals, mispredicted: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the covariance (p, p) of the parameters' errors, and the observed share of each (p,).

        Windows of one toss are not independent: their gradients count as one. A toss attracts the fit, the more so the
        fewer there are: its gradient is taken where the fit would be without it, to first order (a jackknife).

        The loss is rough, since a corner may land on either side: parameters between which it rises by less than its
        roughness cannot be distinguished, which adds to the errors. The roughness shows in the finite differences, by
        how much the loss there differs from the quadratic model.
        """
        normal, here, windows = self.normal_equations(x, residuals), self.objective(x, residuals), self.options.windows
        H, g = normal.H, normal.gradient
        missed = [loss - here - g[j] * z - 0.5 * H[j, j] * z * z for j, (z, loss) in self.moved.items()]
        rough = max(mispredicted, float(np.median(np.abs(missed))))
        inverse = np.linalg.inv(H)
        p, tosses = len(x), len(residuals) // windows
        gradients = normal.each.reshape(windows, tosses, p).mean(axis=0)
        share = normal.curvatures.reshape(windows, tosses, p, p).mean(axis=0) / tosses @ inverse
        alone = np.linalg.solve(np.eye(p) - share, gradients[:, :, np.newaxis])[:, :, 0]
        pull, measured = self.pull / len(residuals), np.isfinite(self.error)
        off = np.where(measured, self.error / self.scale, 0.0)  # another measurement errs as well, and pulls with it
        spread = sum_covariance(alone / tosses) + np.diag((pull * off) ** 2)
        covariance = inverse @ spread @ inverse + 2 * rough * inverse
        observed = np.where(measured, 1.0, np.clip(1 - pull * np.diag(inverse), 0.0, 1.0))
        return covariance * np.outer(self.scale, self.scale), observed


def mean_loss(residuals: Residuals, width: float) -> float:
    """Return the mean over the tosses of the mean over their frames of log(1 + |r|^2 / width^2)."""
    return float(np.mean([np.log1p((r**2).sum(axis=1) / width**2).mean() for r in residuals]))


def toss_losses(residuals: Residuals, width: float, windows: int) -> NDArray[np.float64]:
    """Return the loss of each toss (n,), the mean over its windows."""
    return np.array([mean_loss([r], width) for r in residuals]).reshape(windows, -1).mean(axis=0)
