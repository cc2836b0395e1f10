"""How good a law's forecasts of recorded tosses are: errors along the way, and coverage of its own regions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.state import State
from stiction.fit.toss_objective import Motions, horizon, roll_law
from stiction.laws.impact import ImpactLaw
from stiction.recordings.start_noise import draw, moved
from stiction.recordings.tosses import Tosses
from stiction.recordings.tosses import errors as pose_errors
from stiction.simulation.rollout import rollout

REGIONS = (0.5, 0.9)
SAMPLES = 64
FLOOR_DRAWS = 8  # of each start
USUAL_SPREAD = (0.05, 0.15, 0.05)  # friction and restitution (relative) from toss to toss, turn of friction [rad]
SCALES = (0.6, 1.0, 1.6, 2.5, 4.0)


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

    def medians(self) -> dict[str, float]:
        """Medians over the tosses: where a last bounce decides on which side a body ends, means say little."""
        return {name: float(np.median(value)) for name, value in vars(self).items()}


def toss_errors(tosses: Tosses, motions: Motions, width: float, window: int | None = None) -> TossErrors:
    """Errors of predicted motions; `width` is the length [m] in percent of which positions count.

    window: only up to so many frames after the first touch
    """
    rows = []
    for toss, (position, quaternion) in zip(tosses.tosses, motions, strict=True):
        dp, turn = pose_errors(toss, position, quaternion, None if window is None else toss.touch + window)
        far = np.linalg.norm(dp, axis=1) * (100 / width)
        rows.append((far.mean(), np.degrees(np.linalg.norm(turn, axis=1)).mean(), far[-1]))
    return TossErrors(*np.array(rows).T)


def law_errors(
    law: ImpactLaw, tosses: Tosses, width: float, states: State | None = None, *, window: int | None = None
) -> TossErrors:
    """Errors of a law's forecasts, from `states` (n,), by default from what the flight of each toss tells.

    window: only up to so many frames after the first touch
    """
    start = tosses.states(law.body, law.gravity, law.drag) if states is None else states
    return toss_errors(tosses, roll_law(law, start, horizon(tosses, (window,))), width, window)


def still_errors(tosses: Tosses, width: float) -> TossErrors:
    """Errors of saying that a body flies as recorded and then stays where it first touches: what any law must beat."""
    motions: Motions = []
    for toss in tosses.tosses:
        at = np.minimum(np.searchsorted(toss.frame, np.arange(toss.steps + 1)), np.searchsorted(toss.frame, toss.touch))
        motions.append((toss.position[at], toss.quaternion[at]))
    return toss_errors(tosses, motions, width)


def start_floor(law: ImpactLaw, tosses: Tosses, width: float, *, draws: int = FLOOR_DRAWS, seed: int = 0) -> TossErrors:
    """What the start alone costs, as well as the flight can tell it: no law can be known to be better than that.

    Starts are drawn from what the flight leaves open; errors are those of the law's motions from there against its own
    from the best start, means over the draws.
    """
    steps = horizon(tosses, (None,))
    best = as_tosses(tosses, roll_law(law, tosses.states(law.body, law.gravity, law.drag), steps))
    starts = tosses.drawn_states(law.body, law.gravity, draws, [seed, 2], law.drag)
    found = [toss_errors(best, roll_law(law, starts[k], steps), width) for k in range(draws)]
    return TossErrors(*(np.mean([getattr(each, name) for each in found], axis=0) for name in vars(found[0])))


def as_tosses(tosses: Tosses, motions: Motions) -> Tosses:
    """Predicted motions in place of the recorded ones, at the same frames."""
    seen = [
        replace(toss, position=position[toss.frame], quaternion=quaternion[toss.frame])
        for toss, (position, quaternion) in zip(tosses.tosses, motions, strict=True)
    ]
    return Tosses(seen, tosses.timestep)


def coverage(
    law: ImpactLaw,
    tosses: Tosses,
    states: State | None = None,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    levels: Sequence[float] = REGIONS,
) -> dict[float, float]:
    """Share of the tosses that end inside the law's own regions, by the region's content.

    Samples differ in what the law leaves open and in their start, which the flight tells only so well.

    A region is the ellipse, from the covariance of the samples' final (x, y), that would hold this share of further
    samples.
    """
    start = tosses.states(law.body, law.gravity, law.drag) if states is None else states
    errors = draw(tosses.start_covariances(law.body, law.gravity, law.drag), samples, np.random.default_rng([seed, 1]))
    inside = {region: 0 for region in levels}
    for i, toss in enumerate(tosses.tosses):
        run = rollout(law, moved(start[i], errors[:, i]), toss.steps, samples=1, seed=seed + i, finite=False)
        for region, holds in zip(levels, regions_hold(run.position[0, :, -1, :2], toss.position[-1, :2], levels)):
            inside[region] += holds
    return {region: number / len(tosses) for region, number in inside.items()}


def regions_hold(ends: NDArray[np.float64], actual: NDArray[np.float64], levels: Sequence[float]) -> list[bool]:
    """Whether the regions of these levels, told by samples (n, k), hold what has happened (k,)."""
    samples, k = ends.shape
    centre = ends.mean(axis=0)
    precision = np.linalg.inv(np.cov(ends.T).reshape(k, k) + 1e-12 * np.eye(k))
    away = _to_the_others(_distance(ends - centre, precision))
    own = _distance((actual - centre)[np.newaxis], precision)[0]
    return [bool(own <= np.quantile(away, min(1.0, region * (1 + 1 / samples)))) for region in levels]


def calibrated(
    law: ImpactLaw, forecasts: Sequence[tuple[ImpactLaw, Tosses]], *, seed: int = 0
) -> tuple[ImpactLaw, dict[str, Any]]:
    """The law with the spread for which regions hold as many tosses as they should.

    forecasts: laws of the same kind, each with tosses to forecast, best those that it was not fitted to
    """
    number = sum(len(tosses) for _, tosses in forecasts)
    found = []
    for scale in SCALES:
        inside = np.zeros(len(REGIONS))
        for other, tosses in forecasts:
            wide = other.with_spread(np.array(USUAL_SPREAD) * scale)
            shares = coverage(wide, tosses, samples=SAMPLES // 2, seed=seed)
            inside += [shares[region] * len(tosses) for region in REGIONS]
        found.append(inside / number)
    # Coverage grows steadily with the spread: between the scales that were tried, by interpolation.
    fine = np.linspace(np.log(SCALES[0]), np.log(SCALES[-1]), 101)
    between = np.array([np.interp(fine, np.log(SCALES), column) for column in np.array(found).T])
    # The toss to come is one more: of few, more must lie inside than the region's share, or the next one will not.
    wanted = np.minimum(1.0, np.array(REGIONS) * (1 + 1 / number))[:, np.newaxis]
    # In units of their chance: a miss of the 90 % region by a few tosses says more than one of the 50 % region.
    chance = np.array([region * (1 - region) for region in REGIONS])[:, np.newaxis]
    best = int(((between - wanted) ** 2 / chance).sum(axis=0).argmin())
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
