"""The same fit without a part of the tosses, part after part: what was found by chance differs from fit to fit."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.laws.impact import INCREMENTS
from stiction.learning.identify.fit_law import Fitted, Progress, fit_law
from stiction.learning.recordings.flight_estimate import Shape
from stiction.learning.recordings.tosses import Tosses

PARTS = 4
MOST = 48  # tosses that take part: more of them take longer and say little more


@dataclass(frozen=True)
class Refits:
    """Fits that each leave out a part of the tosses, and what they left out."""

    fits: list[Fitted]
    left_out: list[Tosses]

    def losses(self) -> NDArray[np.float64]:
        """Loss of each toss (n,), by the fit that left it out."""
        return np.concatenate([fitted.losses(some) for fitted, some in zip(self.fits, self.left_out)])

    def errors(self, tosses: int) -> NDArray[np.float64]:
        """Standard errors (p,) of a fit to so many tosses, by the jackknife.

        The loss is rough, and a fit may end in one of many places: unlike slopes and curvature at one of them, fits
        that began anew know of the others.
        """
        values = np.array([fitted.solution.values for fitted in self.fits])
        number, seen = len(self.fits), sum(len(some) for some in self.left_out)
        variance = (number - 1) / number * ((values - values.mean(axis=0)) ** 2).sum(axis=0)
        return np.sqrt(variance * seen / max(seen, tosses))


def refit(
    tosses: Tosses,
    body: Body,
    *,
    fixed: dict[str, float] | None = None,
    memory: int = INCREMENTS,
    shape: Shape | None = None,
    name: str = "Refits",
    progress: Progress = lambda stage, done, most: None,
) -> Refits:
    """Fit a law of one kind, in turn, without each part of the tosses, or of MOST of them."""
    order = np.random.default_rng(1).permutation(len(tosses))[:MOST]
    parts = min(PARTS, len(order))
    fits, left_out = [], []
    for k in range(parts):
        left = np.arange(len(order)) % parts == k
        kind = {"fixed": fixed, "memory": memory, "shape": shape}
        fits.append(fit_law(tosses[np.sort(order[~left])], body, errors=False, **kind))
        left_out.append(tosses[np.sort(order[left])])
        progress(name, k + 1, parts)
    return Refits(fits, left_out)
