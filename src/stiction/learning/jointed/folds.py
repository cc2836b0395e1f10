"""Forecasts of tosses with numbers that were fitted without them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stiction.learning.identify.gauss_newton import Parameter
from stiction.learning.identify.identify import Stage
from stiction.learning.jointed.fit import STAGES, Build, fit_jointed
from stiction.learning.jointed.starts import Starts

FOLDS = 2
_FEWEST = 8  # tosses: of fewer, a half tells too little
Forecast = tuple[Starts, dict[str, float]]  # tosses, and numbers by name


def forecasts_without(
    starts: Starts,
    build: Build,
    parameters: Sequence[Parameter],
    values: NDArray[np.float64],
    *,
    most: int,
    seed: int = 0,
) -> list[Forecast]:
    """Some of the tosses, `most` at most, each with the numbers of a fit to other ones.

    values: (p,) fitted to all tosses. From there, one step of Gauss-Newton leads to the fit without a fold, to first
    order.
    """
    if len(starts) < _FEWEST:
        return [(starts, {p.name: float(v) for p, v in zip(parameters, values)})]
    last = STAGES[-1]
    once = Stage(last.windows, last.width, 1)
    order = np.random.default_rng(seed).permutation(len(starts))
    found = []
    for k in range(FOLDS):
        fold = order[k::FOLDS]
        others = starts[np.setdiff1d(order, fold)]
        moved = fit_jointed(others, build, parameters, values=values, stages=(once,), errors=False).values
        some = starts[np.sort(fold[: most // FOLDS])]
        found.append((some, {p.name: float(v) for p, v in zip(parameters, moved)}))
    return found
