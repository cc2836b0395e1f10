"""The residual of an impact law: factors of friction and restitution, learned and kept only where they clearly help.

Parts of the residual are added one after another (forward selection), each only if it clearly improves forecasts of
fitted tosses in other folds. Held-out tosses take no part.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics.splits import fold_of
from stiction.fit.gauss_newton import Parameter, Residuals, TossFit, TossProblem, clustered_mean, toss_losses
from stiction.fit.toss_objective import STAGES, horizon, residuals, roll_law
from stiction.laws.curves import Curve
from stiction.laws.impact import SLOWEST_SLIP, ImpactLaw, Residual
from stiction.laws.material import Material
from stiction.recordings.tosses import Tosses

FOLDS = 4
SCALE = 0.1  # of logarithms of factors: their likely size


@dataclass(frozen=True)
class Form:
    """The parts of a residual, some of PARTS; loads: [N] that it covers."""

    parts: tuple[str, ...]
    loads: tuple[float, float]

    @classmethod
    def of(cls, law: ImpactLaw, parts: Sequence[str]) -> "Form":
        """Return the form for a law's body with these parts, without restitution where nothing bounces."""
        weight = law.body.mass * -law.gravity[2]
        shown = [name for name in parts if name != "restitution" or law.bounces]
        return cls(tuple(shown), (0.3 * weight, 100.0 * weight))  # from light touches to hard impacts

    @property
    def names(self) -> list[str]:
        """Names of its coefficients: of direction first cosines, then sines."""
        return [f"{part}.{k}" for part in self.parts for k in range(_SIZES[part])]

    @property
    def parameters(self) -> list[Parameter]:
        """Its coefficients, which are zero without a residual."""
        return [Parameter(name, "", 0.0, SCALE, 0.05, -0.5, 0.5) for name in self.names]

    def residual(self, values: NDArray[np.float64]) -> Residual:
        """Return the residual with these coefficients (p,)."""
        cut = np.split(values, np.cumsum([_SIZES[part] for part in self.parts])[:-1])
        values_of = dict(zip(self.parts, cut))
        cosines, sines = values_of.get("direction", np.empty(0)).reshape(2, -1)
        speed, load = _curve((SLOWEST_SLIP, 2.0), values_of.get("speed")), _curve(self.loads, values_of.get("load"))
        factor = Material(1.0, cosines=cosines, sines=sines, speed=speed, load=load)
        return Residual(factor, _curve((0.03, 3.0), values_of.get("restitution")))


def _curve(limits: tuple[float, float], coefficients: NDArray[np.float64] | None) -> Curve | None:
    return None if coefficients is None else Curve.over((np.log(limits[0]), np.log(limits[1])), coefficients)


_SIZES = {"direction": 4, "speed": 5, "load": 5, "restitution": 5}  # two harmonics; splines
PARTS = tuple(_SIZES)
PULL = 2.0  # towards no correction, against the loss of one toss
CLEARLY = 2.0  # standard errors by which a part must improve forecasts of left-out tosses


def fit_residual(
    law: ImpactLaw,
    tosses: Tosses,
    width: float,
    *,
    groups: NDArray[np.int64] | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[ImpactLaw, dict[str, Any]]:
    """Return the law with the residual that helps, or as it was, and what was compared.

    width: length [m] in percent of which position errors count
    groups: tosses with the same number (n,) are the same recording, and stay together
    """
    search = _Search(law, tosses, width, np.arange(len(tosses)) if groups is None else groups)
    if len(np.unique(search.groups)) < 16:  # too few to learn from
        return law, {}
    search.prepare(progress)
    chosen, tried = search.chosen()
    report: dict[str, Any] = {"loss": float(search.before.mean()), "tried": tried, "parts": []}
    if chosen:
        form = Form.of(law, chosen)
        gain, error = clustered_mean(search.before - search.left_out_losses(form, search.fitted), search.groups)
        report |= {"gain": gain, "gain_error": error}
        if gain > CLEARLY * error:
            law = law.with_residual(form.residual(search.fitted(form, np.arange(len(tosses)))))
            report["parts"] = list(form.parts)
    progress(1, 1)
    return law, report


class _Search:
    """Which parts of a residual help on left-out tosses."""

    def __init__(self, law: ImpactLaw, tosses: Tosses, width: float, groups: NDArray[np.int64]) -> None:
        self.law, self.tosses, self.width, self.groups = law, tosses, width, groups
        self.fold = fold_of(groups, FOLDS, 0)
        self.stage = STAGES[-1]
        self.form = Form.of(law, PARTS)
        self.before = np.zeros(len(tosses))

    def simulation(self, which: NDArray[np.int64]) -> Callable[[Form, NDArray[np.float64]], Residuals]:
        """Return the function from a form and its coefficients to the residuals of these tosses."""
        some, windows = self.tosses[which], self.stage.windows
        steps, starts = horizon(some, windows), some.states(self.law.body, self.law.gravity, self.law.drag)

        def simulate(form: Form, values: NDArray[np.float64]) -> Residuals:
            trial = self.law.with_residual(form.residual(values))
            return residuals(some, roll_law(trial, starts, steps), windows, self.width)

        return simulate

    def losses(self, which: NDArray[np.int64], form: Form, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of each of these tosses."""
        return toss_losses(self.simulation(which)(form, values), self.stage.width, len(self.stage.windows))

    def prepare(self, progress: Callable[[int, int], None]) -> None:
        """Linearise all parts at once, toss by toss, from which each fold takes its own."""
        everyone, none = np.arange(len(self.tosses)), np.zeros(len(self.form.names))
        run, done = self.simulation(everyone), count(1)

        def simulate(x: NDArray[np.float64]) -> Residuals:
            progress(next(done), len(none) + 2)
            return run(self.form, x)

        problem = TossProblem(simulate, self.form.parameters, TossFit(self.stage.width, 0, ridge=0.0))
        normal = problem.normal_equations(none, problem.residuals(none))
        shape = len(self.stage.windows), len(everyone)
        self.curvatures, self.gradients = (
            part.reshape(*shape, *part.shape[1:]).mean(axis=0) for part in (normal.curvatures, normal.each)
        )
        self.before = self.losses(everyone, self.form, none)

    def chosen(self) -> tuple[list[str], dict[str, dict[str, float]]]:
        """Return the parts that help, the most helpful first, and the gains of all combinations that were tried."""
        parts, now, tried = [], self.before, {}
        while len(parts) < len(self.form.parts):
            found = {}
            for more in self.form.parts:
                if more not in parts:
                    losses = self.left_out_losses(Form.of(self.law, [*parts, more]), self.stepped)
                    found[more] = (losses, *clustered_mean(now - losses, self.groups))
            best = max(found, key=lambda name: found[name][1])
            losses, gain, error = found[best]
            for name, (_, its_gain, its_error) in found.items():
                tried["+".join([*parts, name])] = {"gain": its_gain, "error": its_error}
            if gain <= CLEARLY * error:
                break
            parts, now = [*parts, best], losses
        return parts, tried

    def left_out_losses(
        self, form: Form, learn: Callable[[Form, NDArray[np.int64]], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Return the loss of each toss (n,) with coefficients learned from the tosses of other folds."""
        result = self.before.copy()
        for k in range(FOLDS):
            left = np.flatnonzero(self.fold == k)
            result[left] = self.losses(left, form, learn(form, np.flatnonzero(self.fold != k)))
        return result

    def stepped(self, form: Form, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the coefficients of a form (p,) after one step of Gauss-Newton on these tosses."""
        columns = [self.form.names.index(name) for name in form.names]
        pull = 2 * PULL * self.before[others].mean() / len(others)
        H = self.curvatures[others].mean(axis=0)[np.ix_(columns, columns)] + pull * np.eye(len(columns))
        found = -SCALE * np.linalg.solve(H, self.gradients[others].mean(axis=0)[columns])
        limits = np.array([[p.low, p.high] for p in self.form.parameters])[columns]
        return np.clip(found, *limits.T)

    def fitted(self, form: Form, which: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the coefficients of a form (p,), fitted to these tosses."""
        run = self.simulation(which)
        # The ridge counts each window of a toss: as much a toss as in `stepped`.
        options = TossFit(self.stage.width, 3, ridge=PULL * len(self.stage.windows), errors=False)
        return options.solve(lambda x: run(form, x), form.parameters, np.zeros(len(form.names))).values
