"""What the parameters leave: a small network inside the law, its outer weights found by Gauss-Newton, too."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stiction.laws.impact import ImpactLaw
from stiction.laws.residual import OUTPUTS, random_inner
from stiction.learning.identify.gauss_newton import Parameter, Residuals, mean_loss, minimise
from stiction.learning.identify.identify import horizon, residuals, roll_law
from stiction.learning.recordings.tosses import Tosses

UNITS = 12
WINDOWS = (25, None)  # short windows alone wreck the sliding at the end of a toss
WIDTH = 8.0  # of the loss, as in the last stage of the fit
PULL = 8.0  # towards no correction, against the loss of one toss
ROUNDS = 4
LEAST_GAIN = 0.005  # relative; a network that helps less on held-out tosses is not kept


def fit_residual(
    law: ImpactLaw,
    tosses: Tosses,
    held_out: Tosses,
    width: float,
    *,
    units: int = UNITS,
    seed: int = 0,
    progress: Callable[[str, int, int], None] = lambda part, done, most: None,
) -> tuple[ImpactLaw, dict[str, float]]:
    """The law with a network, stopped where held-out tosses are predicted best, or as it was if that does not help.

    width: length [m] in percent of which position errors count
    """
    inner = random_inner(units, seed)
    names = [f"{m}.{u}" for m in range(OUTPUTS) for u in range(units)]
    parameters = [Parameter(name, "", 0.0, 0.1, 0.03, -1.0, 1.0) for name in names]

    def run(some: Tosses) -> Callable[[NDArray[np.float64]], Residuals]:
        steps = horizon(some, WINDOWS)
        starts = some.states(law.body, law.gravity, law.drag)

        def simulate(weights) -> Residuals:
            trial = law.with_residual(inner, weights.reshape(OUTPUTS, units))
            return residuals(some, roll_law(trial, starts, steps), WINDOWS, width)

        return simulate

    train, check = run(tosses), run(held_out)
    weights = np.zeros(len(parameters))
    before = mean_loss(check(weights), WIDTH)
    best, best_weights = before, weights
    for number in range(ROUNDS):
        found = minimise(train, parameters, weights, width=WIDTH, iterations=1, ridge=PULL, errors=False)
        progress("Residual", number + 1, ROUNDS)
        if np.array_equal(found.values, weights):
            break
        weights = found.values
        loss = mean_loss(check(weights), WIDTH)
        if loss >= best:  # early stopping
            break
        best, best_weights = loss, weights
    progress("Residual", ROUNDS, ROUNDS)
    kept = best < (1 - LEAST_GAIN) * before
    report = {"held_out_loss_without": before, "held_out_loss_with": best, "kept": float(kept)}
    return (law.with_residual(inner, best_weights.reshape(OUTPUTS, units)) if kept else law), report
