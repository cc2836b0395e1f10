"""Robust Gauss-Newton with finite differences: parameters of any simulator from recorded motions.

The residual of a frame is a vector r, its loss log(1 + |r|^2 / s^2), averaged over the frames of a toss and then over
the tosses. A far miss therefore counts little: after a corner lands on the other side, the rest of a toss says nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Residuals = list[NDArray[np.float64]]  # of each toss, shape (frames, k)
Simulate = Callable[[NDArray[np.float64]], Residuals]  # from parameters (p,) to residuals

_CLIP = 99.5  # percentile at which derivatives are cut off: a corner that flips is no slope
_SMALL = 3e-3  # relative gain of an iteration that is the last one
# How many independent numbers a toss tells, against which another measurement is weighed. How gradients differ from
# toss to toss, against the curvature, says about 6 for tosses of a real cube and fewer for simulated ones.
_TOLD_BY_A_TOSS = 4.0
_DAMPING = (1e-3, 1e-2, 1e-1, 1.0, 10.0)  # tried one after another until the loss falls


@dataclass(frozen=True)
class Parameter:
    """A number to be found.

    scale: how far from `start` it may well be: the unit of the ridge that pulls it there
    step: of the finite difference
    low, high: bounds
    error: standard error of `start` where it was measured in another way, which weighs beside the tosses; inf: a guess
    """

    name: str
    unit: str
    start: float
    scale: float
    step: float
    low: float = -np.inf
    high: float = np.inf
    error: float = np.inf


@dataclass
class Solution:
    """What a fit has found.

    values: parameters, shape (p,)
    covariance: of their errors, shape (p, p); inf where nobody asked for it
    told: share of the knowledge about each parameter that comes from data and not from a guess, shape (p,)
    losses: after each iteration
    """

    values: NDArray[np.float64]
    covariance: NDArray[np.float64]
    told: NDArray[np.float64]
    losses: list[float] = field(default_factory=list)

    @property
    def errors(self) -> NDArray[np.float64]:
        """Standard errors, shape (p,)."""
        return np.sqrt(np.diag(self.covariance))

    def with_errors(self, errors: NDArray[np.float64]) -> "Solution":
        """The same with these standard errors (p,), the correlations kept."""
        factor = errors / self.errors
        return Solution(self.values, self.covariance * np.outer(factor, factor), self.told, self.losses)


def minimise(
    simulate: Simulate,
    parameters: Sequence[Parameter],
    values: NDArray[np.float64],
    *,
    width: float,
    iterations: int,
    ridge: float,
    errors: bool = True,
    windows: int = 1,
    progress: Callable[[], None] = lambda: None,
) -> Solution:
    """Find the parameters with the least mean loss, from `values` (p,) on.

    width: s of the loss, in units of the residual
    ridge: weight of the squared distance from the starts, in units of their scales, against the mean loss of one toss
        in the beginning: the better the tosses are explained, the less the starts have to say
    errors: also find the standard errors
    windows: how often each toss is among the residuals, one round of all tosses after another
    progress: called after each simulation; there are at most iterations (p + 3) + p + 1 of them
    """
    solver = _Solver(simulate, parameters, width, progress)
    values = solver.bounded(np.array(values, dtype=np.float64))
    residuals = solver.run(values)
    solver.weigh(ridge, mean_loss(residuals, width), windows)
    losses = [solver.objective(values, residuals)]
    damping = 1
    for _ in range(iterations):
        H, g, _, _ = solver.slopes(values, residuals)
        improved = False
        while damping < len(_DAMPING):
            trial = solver.stepped(values, H, g, _DAMPING[damping])
            again = solver.run(trial)
            loss = solver.objective(trial, again)
            solver.rough = abs(solver.promised(trial - values, H, g) - (losses[-1] - loss))
            if loss < losses[-1]:
                improved = True
                break
            damping += 1
        if not improved:
            damping = len(_DAMPING) - 2
            break
        small = losses[-1] - loss < _SMALL * losses[-1]
        values, residuals = trial, again
        losses.append(loss)
        damping = max(0, damping - 1)
        if small:
            break
    if not errors:
        return Solution(values, np.full((len(values),) * 2, np.inf), np.zeros(len(values)), losses)
    return Solution(values, *solver.uncertainty(values, residuals, windows), losses)


def slopes_of_each(
    simulate: Simulate, parameters: Sequence[Parameter], *, width: float, progress: Callable[[], None] = lambda: None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each residual's loss at the parameters' starts, the Gauss-Newton matrix (n, p, p) and the gradient (n, p).

    Parameters are measured in their scales. There are p + 1 simulations.
    """
    solver = _Solver(simulate, parameters, width, progress)
    _, _, curves, each = solver.slopes(solver.start, solver.run(solver.start))
    return curves, each


class _Solver:
    """The pieces of one minimisation; parameters are measured in their scales throughout."""

    def __init__(self, simulate, parameters, width, progress) -> None:
        self.simulate, self.width, self.progress = simulate, width, progress
        self.rough = 0.0  # by how much the loss of the last step differed from its promise
        self.moved: dict[int, tuple[float, float]] = {}  # steps of the last finite differences, and the objective there
        self.start, self.scale, self.step, self.low, self.high, self.error = (
            np.array([getattr(p, name) for p in parameters])
            for name in ("start", "scale", "step", "low", "high", "error")
        )
        self.pull = np.zeros(len(parameters))  # towards the starts, against the sum of all losses

    def weigh(self, ridge: float, loss: float, windows: int) -> None:
        """Say how strong starts pull: guesses by the ridge, measurements by their errors; `loss`: of a toss."""
        measured = windows / _TOLD_BY_A_TOSS * (self.scale / self.error) ** 2
        self.pull = 2 * loss * np.where(np.isfinite(self.error), measured, ridge)

    def run(self, values) -> Residuals:
        residuals = self.simulate(values)
        self.progress()
        return residuals

    def bounded(self, values):
        return np.clip(values, self.low, self.high)

    def objective(self, values, residuals: Residuals) -> float:
        z = (values - self.start) / self.scale
        return mean_loss(residuals, self.width) + 0.5 / len(residuals) * float(self.pull @ z**2)

    def slopes(self, values, residuals: Residuals):
        """Gauss-Newton matrix, gradient of the objective; and of each residual's loss, (n, p, p) and (n, p)."""
        derivatives = [self._derivative(values, residuals, j) for j in range(len(values))]
        p, n = len(values), len(residuals)
        curves, each = np.zeros((n, p, p)), np.zeros((n, p))
        for i, r in enumerate(residuals):
            J = np.stack([d[i] for d in derivatives], axis=-1)  # (frames, k, p)
            weight = 2.0 / (self.width**2 + (r**2).sum(axis=1)) / len(r)
            curves[i] = np.einsum("f,fka,fkb->ab", weight, J, J)
            each[i] = np.einsum("f,fka,fk->a", weight, J, r)
        pull = self.pull / n
        H, g = curves.mean(axis=0) + np.diag(pull), each.mean(axis=0) + pull * (values - self.start) / self.scale
        return H, g, curves, each

    def _derivative(self, values, residuals, j) -> Residuals:
        """Change of the residuals with parameter j, for one scale of it, with its tails cut off."""
        step = self.step[j] if values[j] + self.step[j] <= self.high[j] else -self.step[j]
        moved = values.copy()
        moved[j] += step
        again = self.run(moved)
        self.moved[j] = (float(step / self.scale[j]), self.objective(moved, again))
        change = [(b - a) * (self.scale[j] / step) for a, b in zip(residuals, again, strict=True)]
        sizes = np.concatenate([np.abs(d).max(axis=1) for d in change])
        limit = np.percentile(sizes, _CLIP)
        return [np.clip(d, -limit, limit) for d in change]

    def stepped(self, values, H, g, damping):
        """A damped step, at most two scales long in any parameter; bounds hold."""
        A = H + damping * np.diag(np.diag(H))
        free = np.ones(len(values), dtype=bool)
        for _ in range(2):  # a parameter that would run through its bound stays there, and the others find their way
            move = np.zeros(len(values))
            move[free] = -np.linalg.solve(A[np.ix_(free, free)], g[free])
            move *= min(1.0, 2.0 / max(1e-12, np.abs(move).max()))
            trial = self.bounded(values + move * self.scale)
            free &= np.isclose(trial, values + move * self.scale)
        return trial

    def promised(self, move, H, g) -> float:
        """By how much a step should lower the objective."""
        z = move / self.scale
        return -float(g @ z + 0.5 * z @ H @ z)

    def uncertainty(self, values, residuals, windows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Covariance of the errors by the spread of the tosses' gradients (a sandwich: the loss is no likelihood).

        Windows of one toss tell the same story twice: their gradients count as one. A toss draws the fit towards
        itself, the more so the fewer there are: its gradient is taken where the fit would be without it, to first order
        (a jackknife).

        The loss is rough, since a corner may land on either side: where it rises by less than its roughness, it cannot
        tell parameters apart, which adds to the errors. How rough it is, the finite differences show: by how much the
        loss there is not what slopes and curvature say.
        """
        H, g, curves, each = self.slopes(values, residuals)
        here = self.objective(values, residuals)
        missed = [loss - here - g[j] * z - 0.5 * H[j, j] * z * z for j, (z, loss) in self.moved.items()]
        rough = max(self.rough, float(np.median(np.abs(missed))))
        inverse = np.linalg.inv(H)
        p, tosses = len(values), len(residuals) // windows
        gradients = each.reshape(windows, tosses, p).mean(axis=0)
        own = curves.reshape(windows, tosses, p, p).mean(axis=0) / tosses @ inverse  # its share in the curvature
        alone = np.linalg.solve(np.eye(p) - own, gradients[:, :, np.newaxis])[:, :, 0]
        pull, measured = self.pull / len(residuals), np.isfinite(self.error)
        off = np.where(measured, self.error / self.scale, 0.0)  # what was measured errs as well, and pulls with it
        spread = np.cov(alone.T).reshape(p, p) / max(1, tosses) + np.diag((pull * off) ** 2)
        covariance = inverse @ spread @ inverse + 2 * rough * inverse
        told = np.where(measured, 1.0, np.clip(1 - pull * np.diag(inverse), 0.0, 1.0))
        return covariance * np.outer(self.scale, self.scale), told


def mean_loss(residuals: Residuals, width: float) -> float:
    """Mean over the tosses of the mean over their frames of log(1 + |r|^2 / width^2)."""
    return float(np.mean([np.log1p((r**2).sum(axis=1) / width**2).mean() for r in residuals]))
