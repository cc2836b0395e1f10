"""How good a law's forecasts of recorded tosses are: errors along the way, and coverage of its own regions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.state import State
from stiction.laws.impact import ImpactLaw
from stiction.learning.identify.identify import Motions, horizon, roll_law
from stiction.learning.recordings.tosses import Tosses, errors
from stiction.simulation.rollout import rollout

REGIONS = (0.5, 0.9)
SAMPLES = 64
USUAL_SPREAD = (0.05, 0.15, 0.05)  # friction and restitution (relative) from toss to toss, turn of friction [rad]
SCALES = (0.8, 1.25, 2.0)


@dataclass(frozen=True)
class TossErrors:
    """Means over the time of each toss, shape (n,), and the error at its end.

    position, final: [% of the body's width]; rotation: [degrees]
    """

    position: NDArray[np.float64]
    rotation: NDArray[np.float64]
    final: NDArray[np.float64]

    def means(self) -> dict[str, float]:
        """Means over the tosses."""
        return {name: float(np.mean(value)) for name, value in vars(self).items()}


def toss_errors(tosses: Tosses, motions: Motions, width: float) -> TossErrors:
    """Errors of predicted motions; `width` is the length [m] in percent of which positions count."""
    rows = []
    for toss, (position, quaternion) in zip(tosses.tosses, motions, strict=True):
        dp, turn = errors(toss, position, quaternion)
        far = np.linalg.norm(dp, axis=1) * (100 / width)
        rows.append((far.mean(), np.degrees(np.linalg.norm(turn, axis=1)).mean(), far[-1]))
    return TossErrors(*np.array(rows).T)


def law_errors(law: ImpactLaw, tosses: Tosses, width: float, states: State | None = None) -> TossErrors:
    """Errors of a law's forecasts, from `states` (n,), by default from what the flight of each toss tells."""
    start = tosses.states(law.body.com, law.gravity) if states is None else states
    return toss_errors(tosses, roll_law(law, start, horizon(tosses, (None,))), width)


def coverage(
    law: ImpactLaw, tosses: Tosses, states: State | None = None, *, samples: int = SAMPLES, seed: int = 0
) -> dict[float, float]:
    """Share of the tosses that end inside the law's own regions, by the region's content.

    A region is the ellipse, from the covariance of the samples' final (x, y), that would hold this share of further
    samples.
    """
    start = tosses.states(law.body.com, law.gravity) if states is None else states
    inside = {region: 0 for region in REGIONS}
    for i, toss in enumerate(tosses.tosses):
        run = rollout(law, start[i], toss.steps, samples=samples, seed=seed + i, finite=False)
        ends = run.position[:, -1, :2]
        centre = ends.mean(axis=0)
        precision = np.linalg.inv(np.cov(ends.T) + 1e-12 * np.eye(2))
        away = _to_the_others(_distance(ends - centre, precision))
        actual = _distance(toss.position[-1:, :2] - centre, precision)[0]
        for region in REGIONS:
            inside[region] += int(actual <= np.quantile(away, min(1.0, region * (1 + 1 / samples))))
    return {region: number / len(tosses) for region, number in inside.items()}


def calibrated(
    law: ImpactLaw, tosses: Tosses, held_out: Tosses | None = None, *, most: int = 96, seed: int = 0
) -> tuple[ImpactLaw, dict[str, Any]]:
    """The law with the spread for which its regions hold as many of the tosses as they should.

    held_out: tosses that are looked at, too: those that were fitted are forecast a little too well
    most: fitted tosses, and held-out ones, that are looked at
    """
    order = np.random.default_rng(seed).permutation(len(tosses))[:most]
    others = [] if held_out is None else held_out.tosses[:most]
    some = Tosses(tosses[order].tosses + others, tosses.timestep)
    found = []
    for scale in SCALES:
        shares = coverage(law.with_spread(np.array(USUAL_SPREAD) * scale), some, samples=SAMPLES // 2, seed=seed)
        found.append([shares[region] for region in REGIONS])
    # Coverage grows steadily with the spread: between the scales that were tried, by interpolation.
    fine = np.linspace(np.log(SCALES[0]), np.log(SCALES[-1]), 101)
    between = np.array([np.interp(fine, np.log(SCALES), column) for column in np.array(found).T])
    wanted = np.array(REGIONS)[:, np.newaxis]
    # In units of their chance: a miss of the 90 % region by a few tosses says more than one of the 50 % region.
    best = int(((between - wanted) ** 2 / (wanted * (1 - wanted))).sum(axis=0).argmin())
    scale = round(float(np.exp(fine[best])), 3)
    shares = {region: float(share) for region, share in zip(REGIONS, between[:, best])}
    return law.with_spread(np.array(USUAL_SPREAD) * scale), {"scale": scale, "coverage": shares}


def _to_the_others(distance) -> NDArray[np.float64]:
    """Squared distances (n,) of samples to the ellipse of all, as distances to that of all others: a sample pulls the
    ellipse towards itself, which what is to be forecast does not."""
    n = len(distance)
    share = distance / (n - 1)
    return (n / (n - 1)) ** 2 * (n - 2) * share / (1 - n / (n - 1) * share)


def _distance(offset, precision) -> NDArray[np.float64]:
    return np.einsum("ni,ij,nj->n", offset, precision, offset)
