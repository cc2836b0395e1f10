"""What the parameters leave, learned as factors of friction and restitution and kept only where it clearly helps.

Parts of the residual join one after another, each only if tosses that had no share in it are then forecast clearly
better. All of this happens within the fitted tosses, in folds: those that are held out have no say.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.fit.folds import FOLDS, clustered_mean, fold_of
from stiction.fit.gauss_newton import Parameter, Residuals, mean_loss, minimise, slopes_of_each
from stiction.fit.toss_objective import STAGES, horizon, residuals, roll_law
from stiction.laws.curves import Curve
from stiction.laws.impact import SLOWEST_SLIP, ImpactLaw, Residual
from stiction.laws.material import Material
from stiction.recordings.tosses import Tosses

# The form of a residual that is learned: few numbers for what a law leaves, part by part.


HARMONICS = 2
KNOTS = 5  # coefficients of a curve
SLIPS = (SLOWEST_SLIP, 2.0)  # [m/s] that the curve of slip speed covers
LOADS = (0.3, 100.0)  # weights of the body that the curve of load covers, light touches to hard impacts
APPROACHES = (0.03, 3.0)  # [m/s] that the curve of restitution covers
SCALE, STEP, MOST = 0.1, 0.05, 0.5  # of logarithms of factors: likely size, finite difference, bound


@dataclass(frozen=True)
class Form:
    """Which parts a residual has, some of PARTS; loads: [N] that it covers."""

    parts: tuple[str, ...]
    loads: tuple[float, float]

    @classmethod
    def of(cls, law: ImpactLaw, parts: Sequence[str]) -> "Form":
        """The form for a law's body with these parts, but for restitution where nothing bounces."""
        weight = law.body.mass * -law.gravity[2]
        shown = [name for name in parts if name != "restitution" or law.bounces]
        return cls(tuple(shown), (LOADS[0] * weight, LOADS[1] * weight))

    @property
    def names(self) -> list[str]:
        """Of its numbers: of direction first cosines, then sines; of curves the coefficients."""
        return [f"{part}.{k}" for part in self.parts for k in range(_SIZES[part])]

    @property
    def parameters(self) -> list[Parameter]:
        """Of its numbers, which are zero where nothing is left."""
        return [Parameter(name, "", 0.0, SCALE, STEP, -MOST, MOST) for name in self.names]

    def residual(self, values: NDArray[np.float64]) -> Residual:
        """The residual with these numbers (p,)."""
        cut = np.split(values, np.cumsum([_SIZES[part] for part in self.parts])[:-1])
        own = dict(zip(self.parts, cut))
        cosines, sines = own.get("direction", np.empty(0)).reshape(2, -1)
        speed, load = _curve(SLIPS, own.get("speed")), _curve(self.loads, own.get("load"))
        factor = Material(1.0, cosines=cosines, sines=sines, speed=speed, load=load)
        return Residual(factor, _curve(APPROACHES, own.get("restitution")))


def _curve(limits: tuple[float, float], coefficients: NDArray[np.float64] | None) -> Curve | None:
    return None if coefficients is None else Curve.over((np.log(limits[0]), np.log(limits[1])), coefficients)


_SIZES = {"direction": 2 * HARMONICS, "speed": KNOTS, "load": KNOTS, "restitution": KNOTS}
PARTS = tuple(_SIZES)


PULL = 2.0  # towards no correction, against the loss of one toss
ROUNDS = 3  # of the fit of what was chosen
CLEARLY = 2.0  # standard errors by which a part must improve forecasts of tosses that were left out
LEAST = 16  # different tosses, below which nothing is learned
Progress = Callable[[str, int, int], None]


def fit_residual(
    law: ImpactLaw,
    tosses: Tosses,
    width: float,
    *,
    groups: NDArray[np.int64] | None = None,
    progress: Progress = lambda part, done, most: None,
) -> tuple[ImpactLaw, dict[str, Any]]:
    """The law with the residual that helps, or as it was, and what was compared.

    width: length [m] in percent of which position errors count
    groups: tosses with the same number (n,) are the same recording, and stay together
    """
    search = _Search(law, tosses, width, np.arange(len(tosses)) if groups is None else groups)
    if len(np.unique(search.groups)) < LEAST:
        return law, {}
    search.prepare(progress)
    chosen, tried = search.chosen()
    report: dict[str, Any] = {"loss": float(search.before.mean()), "tried": tried, "parts": []}
    if chosen:
        form = Form.of(law, chosen)
        gain, error = search.gain(search.fitted_apart(form), search.before)
        report |= {"gain": gain, "gain_error": error}
        if gain > CLEARLY * error:
            law = law.with_residual(form.residual(search.fitted(form, np.arange(len(tosses)))))
            report["parts"] = list(form.parts)
    progress("Residual", 1, 1)
    return law, report


class _Search:
    """Which parts of a residual help on tosses that were left out."""

    def __init__(self, law: ImpactLaw, tosses: Tosses, width: float, groups: NDArray[np.int64]) -> None:
        self.law, self.tosses, self.width, self.groups = law, tosses, width, groups
        self.fold = fold_of(groups, 0)
        self.stage = STAGES[-1]
        self.form = Form.of(law, PARTS)
        self.before = np.zeros(len(tosses))

    def simulation(self, which: NDArray[np.int64]) -> Callable[[Form, NDArray[np.float64]], Residuals]:
        """From a form and its numbers to residuals of the tosses with these numbers."""
        some, windows = self.tosses[which], self.stage.windows
        steps, starts = horizon(some, windows), some.states(self.law.body, self.law.gravity, self.law.drag)

        def simulate(form: Form, values: NDArray[np.float64]) -> Residuals:
            trial = self.law.with_residual(form.residual(values))
            return residuals(some, roll_law(trial, starts, steps), windows, self.width)

        return simulate

    def losses(self, which: NDArray[np.int64], form: Form, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Loss of each of these tosses."""
        rows = self.simulation(which)(form, values)
        each = np.array([mean_loss([row], self.stage.width) for row in rows])
        return each.reshape(len(self.stage.windows), -1).mean(axis=0)

    def prepare(self, progress: Progress) -> None:
        """Find the slopes of all parts at once, from which each fold takes what is its own."""
        everyone, none = np.arange(len(self.tosses)), np.zeros(len(self.form.names))
        run, done = self.simulation(everyone), [0]

        def advance() -> None:
            done[0] += 1
            progress("Residual", done[0], len(none) + 2)

        found = slopes_of_each(
            lambda x: run(self.form, x), self.form.parameters, width=self.stage.width, progress=advance
        )
        shape = len(self.stage.windows), len(everyone)
        self.curves, self.slopes = (part.reshape(*shape, *part.shape[1:]).mean(axis=0) for part in found)
        self.before = self.losses(everyone, self.form, none)

    def chosen(self) -> tuple[list[str], dict[str, dict[str, float]]]:
        """Parts that help, the most helpful first; gains of all that were tried, by the parts that were there."""
        parts, now, tried = [], self.before, {}
        while len(parts) < len(self.form.parts):
            found = {}
            for more in self.form.parts:
                if more not in parts:
                    losses = self.stepped_apart(Form.of(self.law, [*parts, more]))
                    found[more] = (losses, *self.gain(losses, now))
            best = max(found, key=lambda name: found[name][1])
            losses, gain, error = found[best]
            for name, (_, its_gain, its_error) in found.items():
                tried["+".join([*parts, name])] = {"gain": its_gain, "error": its_error}
            if gain <= CLEARLY * error:
                break
            parts, now = [*parts, best], losses
        return parts, tried

    def gain(self, losses: NDArray[np.float64], before: NDArray[np.float64]) -> tuple[float, float]:
        """By how much the mean loss is less than before, and the standard error of that."""
        return clustered_mean(before - losses, self.groups)

    def stepped_apart(self, form: Form) -> NDArray[np.float64]:
        """Loss of each toss (n,) after one step of Gauss-Newton on the tosses of other folds."""
        columns = [self.form.names.index(name) for name in form.names]
        return self._apart(form, lambda others: self._step(others, columns))

    def fitted_apart(self, form: Form) -> NDArray[np.float64]:
        """Loss of each toss (n,) after the whole fit to the tosses of other folds."""
        return self._apart(form, lambda others: self.fitted(form, others))

    def _apart(self, form: Form, learn: Callable[[NDArray[np.int64]], NDArray[np.float64]]) -> NDArray[np.float64]:
        result = self.before.copy()
        for k in range(FOLDS):
            left = np.flatnonzero(self.fold == k)
            result[left] = self.losses(left, form, learn(np.flatnonzero(self.fold != k)))
        return result

    def _step(self, others: NDArray[np.int64], columns: Sequence[int]) -> NDArray[np.float64]:
        pull = 2 * PULL * self.before[others].mean() / len(others)
        H = self.curves[others].mean(axis=0)[np.ix_(columns, columns)] + pull * np.eye(len(columns))
        found = -SCALE * np.linalg.solve(H, self.slopes[others].mean(axis=0)[columns])
        limits = np.array([[p.low, p.high] for p in self.form.parameters])[columns]
        return np.clip(found, *limits.T)

    def fitted(self, form: Form, which: NDArray[np.int64]) -> NDArray[np.float64]:
        """Numbers of a form (p,), fitted to these tosses."""
        run = self.simulation(which)
        # The pull counts each window of a toss: as much a toss as in `_step`.
        ridge, none = PULL * len(self.stage.windows), np.zeros(len(form.names))
        how = {"width": self.stage.width, "iterations": ROUNDS, "ridge": ridge, "errors": False}
        return minimise(lambda x: run(form, x), form.parameters, none, **how).values
