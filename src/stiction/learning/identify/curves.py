"""Friction and restitution as functions, with what the fit leaves open and with what differs from toss to toss."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stiction.laws.impact import ImpactLaw
from stiction.learning.identify.identified import Identified

DRAWS = 400


class Curves:
    """Laws that the fit may as well have found, drawn from the errors of its parameters and within their bounds.

    toss to toss: each of them also with factors of friction and restitution drawn from the law's own spread
    """

    def __init__(self, found: Identified, seed: int = 0) -> None:
        fitted, rng = found.fitted, np.random.default_rng(seed)
        self.law = found.law
        values, covariance = fitted.solution.values, fitted.solution.covariance
        # From the eigenvectors, since what no toss decides makes the matrix nearly singular.
        sizes, axes = np.linalg.eigh(covariance)
        rows = values + rng.standard_normal((DRAWS, len(values))) * np.sqrt(np.maximum(sizes, 0.0)) @ axes.T
        low, high = (np.array([getattr(p, side) for p in fitted.parameters]) for side in ("low", "high"))
        names = [p.name for p in fitted.parameters]
        drawn = [dict(zip(names, row)) for row in np.clip(rows, low, high).tolist()]
        self.laws = [found.law.with_material(**vars(fitted.material(**row))) for row in drawn]
        friction, restitution, _ = found.law.spread
        self.factors = np.exp(rng.standard_normal((DRAWS, 2)) * [friction, restitution])

    def restitution(self, speed: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of all draws, shape (draws, n); speed (n,) [m/s]."""
        return self._of_each(lambda law: law.restitution_at(speed))

    def friction(
        self, speed: NDArray[np.float64], force: NDArray[np.float64], direction: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Of all draws, shape (draws, n); speed (n,) [m/s], force (n,) [N], direction (n,) [rad], or all of them."""
        return self._of_each(lambda law: law.friction_at(speed, force, direction))

    def _of_each(self, curve: Callable[[ImpactLaw], NDArray[np.float64]]) -> NDArray[np.float64]:
        return np.array([curve(law) for law in self.laws])
