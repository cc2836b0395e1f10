"""Forecasts of recorded tosses: their errors, the regions of their ends, and the calibration of these regions.

A region of level L, such as 90 %, is to hold the share L of the ends of further tosses. Samples of a forecast differ in
parameters and start; their spread has the right proportions but an unknown scale. Calibration finds the scale for which
the regions hold as many tosses as they should, among tosses to which the parameters were not fitted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.fit.toss_objective import Motions, horizon, roll_law
from stiction.laws.impact import ImpactLaw
from stiction.recordings.start_noise import draw, moved
from stiction.recordings.tosses import Recordings, Tosses, check_body
from stiction.recordings.tosses import errors as pose_errors
from stiction.simulation.rollout import law_of, rollout

REGIONS = (0.5, 0.9)
SAMPLES = 64


@dataclass(frozen=True)
class TossErrors:
    """Mean errors over the time of each toss, shape (n,), and the error at its end.

    position, final: [% of the body's width]; rotation: [degrees]
    """

    position: NDArray[np.float64]
    rotation: NDArray[np.float64]
    final: NDArray[np.float64]

    def means(self) -> dict[str, float]:
        """Return the means over the tosses."""
        return {name: float(np.mean(value)) for name, value in vars(self).items()}

    def medians(self) -> dict[str, float]:
        """Return the medians, which a last bounce that decides on which side a body ends does not move."""
        return {name: float(np.median(value)) for name, value in vars(self).items()}


def toss_errors(tosses: Tosses, motions: Motions, width: float, window: int | None = None) -> TossErrors:
    """Return the errors of predicted motions; `width` is the length [m] in percent of which positions count.

    window: frames after the first touch up to which errors count; None: all
    """
    rows = []
    for toss, (position, quaternion) in zip(tosses.tosses, motions, strict=True):
        dp, turn = pose_errors(toss, position, quaternion, None if window is None else toss.touch + window)
        far = np.linalg.norm(dp, axis=1) * (100 / width)
        rows.append((far.mean(), np.degrees(np.linalg.norm(turn, axis=1)).mean(), far[-1]))
    return TossErrors(*np.array(rows).T)


def law_errors(law: ImpactLaw, tosses: Tosses, width: float, *, window: int | None = None) -> TossErrors:
    """Return the errors of a law's forecasts from the states that the flights indicate; as `toss_errors`."""
    start = tosses.states(law.body, law.gravity, law.drag)
    return toss_errors(tosses, roll_law(law, start, horizon(tosses, (window,))), width, window)


def good_frames(tosses: Tosses, motions: Motions, width: float, limits: tuple[float, float] = (10.0, 10.0)) -> int:
    """Return for how many frames after the first touch the median errors of predicted motions stay within limits.

    limits: of the position error [% of `width`] and of the rotation error [degrees]
    """
    errors = np.full((len(tosses), 2, max(toss.steps - toss.touch for toss in tosses.tosses) + 1), np.nan)
    for row, toss, (position, quaternion) in zip(errors, tosses.tosses, motions, strict=True):
        dp, turn = pose_errors(toss, position, quaternion)
        after = toss.frame >= toss.touch
        row[0, toss.frame[after] - toss.touch] = np.linalg.norm(dp[after], axis=1) * (100 / width)
        row[1, toss.frame[after] - toss.touch] = np.degrees(np.linalg.norm(turn[after], axis=1))
    enough = np.isfinite(errors[:, 0]).sum(axis=0) >= max(1, len(tosses) // 2)
    median = np.nanmedian(errors[:, :, enough], axis=0)
    good = np.all(median <= np.array(limits)[:, np.newaxis], axis=0)
    return good.size if good.all() else int(np.argmin(good))


def horizon_of(law: ImpactLaw, tosses: Tosses, width: float) -> tuple[int, int]:
    """Return `good_frames` of the law's forecasts, and of forecasts that err by their uncertain start alone."""
    steps = horizon(tosses, (None,))
    best = roll_law(law, tosses.states(law.body, law.gravity, law.drag), steps)
    starts = tosses.drawn_states(law.body, law.gravity, 4, [0, 3], law.drag)
    expected = as_tosses(tosses, best)
    by_start = [good_frames(expected, roll_law(law, starts[k], steps), width) for k in range(4)]
    return good_frames(tosses, best, width), int(np.median(by_start))


def still_errors(tosses: Tosses, width: float) -> TossErrors:
    """Return the errors of a body that flies as recorded and then stays where it first touches: a baseline."""
    motions: Motions = []
    for toss in tosses.tosses:
        at = np.minimum(np.searchsorted(toss.frame, np.arange(toss.steps + 1)), np.searchsorted(toss.frame, toss.touch))
        motions.append((toss.position[at], toss.quaternion[at]))
    return toss_errors(tosses, motions, width)


def start_floor(law: ImpactLaw, tosses: Tosses, width: float, *, seed: int = 0) -> TossErrors:
    """Return the errors due to the uncertain start alone: no law can be shown to be better than that.

    Starts are drawn from their covariance; errors are those of the law's motions from there against those from the
    best start, means over 8 draws.
    """
    steps = horizon(tosses, (None,))
    best = as_tosses(tosses, roll_law(law, tosses.states(law.body, law.gravity, law.drag), steps))
    starts = tosses.drawn_states(law.body, law.gravity, 8, [seed, 2], law.drag)
    found = [toss_errors(best, roll_law(law, starts[k], steps), width) for k in range(8)]
    return TossErrors(*(np.mean([getattr(each, name) for each in found], axis=0) for name in vars(found[0])))


def as_tosses(tosses: Tosses, motions: Motions) -> Tosses:
    """Return predicted motions in place of the recorded ones, at the same frames."""
    seen = [
        replace(toss, position=position[toss.frame], quaternion=quaternion[toss.frame])
        for toss, (position, quaternion) in zip(tosses.tosses, motions, strict=True)
    ]
    return Tosses(seen, tosses.timestep)


def coverage(
    law: ImpactLaw,
    tosses: Tosses,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    levels: Sequence[float] = REGIONS,
) -> dict[float, float]:
    """Return the share of the tosses that end inside the law's regions, by level.

    Samples differ in the law's spread and in their start, within its covariance. A region is an ellipse of the samples'
    final (x, y).
    """
    start = tosses.states(law.body, law.gravity, law.drag)
    errors = draw(tosses.start_covariances(law.body, law.gravity, law.drag), samples, np.random.default_rng([seed, 1]))
    inside = []
    for i, toss in enumerate(tosses.tosses):
        run = rollout(law, moved(start[i], errors[:, i]), toss.steps, samples=1, seed=seed + i, finite=False)
        inside.append(ellipses_hold(run.position[0, :, -1, :2], toss.position[-1, :2], levels))
    return {level: number / len(tosses) for level, number in zip(levels, np.sum(inside, axis=0).tolist())}


def coverage_of_regions(
    law: Any,
    recordings: Recordings,
    levels: Sequence[float] = REGIONS,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
) -> dict[float, float]:
    """Return the share of tosses that end in the regions where a law expects them, by level.

    For each toss, `samples` motions are drawn from the law, from the start that its flight indicates. The region of a
    level is the ellipse of their final (x, y) that would hold this share of further samples. A calibrated law has
    shares like its levels; smaller ones mean that it is overconfident.

    law: one with a spread, such as an identified one, or its name or path
    levels: shares that the regions should hold, each between 0 and 1

        stiction.recordings.coverage("cube", recordings, (0.5, 0.9))  # such as {0.5: 0.55, 0.9: 0.875}
    """
    known: Any = law_of(law)
    if not isinstance(recordings, Recordings):
        raise checks.InputError(f"recordings must come from stiction.recordings.read, got {type(recordings).__name__}.")
    if not any(getattr(known, "spread", (1.0,))):
        raise checks.InputError(
            f"{known!r} has no spread, so that its forecasts have no regions: use an identified law."
        )
    check_body(recordings.body, known.body)
    if abs(known.timestep / recordings.timestep - 1) > 0.01:
        raise checks.InputError(
            f"The law is for steps of {known.timestep:.4g} s, but frames are {recordings.timestep:.4g} s apart."
        )
    shares = [checks.positive("A level", level) for level in levels]
    if not shares or max(shares) >= 1:
        raise checks.InputError(f"levels must lie between 0 and 1, got {checks.shown(levels)}.")
    samples = checks.count("samples", samples, 8)
    return coverage(known, recordings.tosses, samples=samples, seed=checks.count("seed", seed, 0), levels=shares)


def ellipses_hold(samples: NDArray[np.float64], actual: NDArray[np.float64], levels: Sequence[float]) -> list[bool]:
    """Return whether the ellipse of samples (n, k) holds the recorded end (k,), at each level.

    A sample pulls the mean and covariance of all towards itself, which the recorded end does not: distances of samples
    are those to the ellipse of all others, in closed form.
    """
    n, k = samples.shape
    centre = samples.mean(axis=0)
    precision = np.linalg.inv(np.cov(samples.T).reshape(k, k) + 1e-12 * np.eye(k))
    share = np.einsum("ni,ij,nj->n", samples - centre, precision, samples - centre) / (n - 1)
    away = (n / (n - 1)) ** 2 * (n - 2) * share / (1 - n / (n - 1) * share)
    off = (actual - centre)[np.newaxis]
    distance = np.einsum("ni,ij,nj->n", off, precision, off)[0]
    return [bool(distance <= np.quantile(away, min(1.0, level * (1 + 1 / n)))) for level in levels]


def dense_regions_hold(
    samples: NDArray, actual: NDArray, levels: Sequence[float], width: NDArray, period: NDArray
) -> list[bool]:
    """Return whether the densest regions of samples (n, k) hold the recorded end (k,), at each level.

    A hinge may come to rest at angles far apart, which no interval describes. The density is that of Gaussian kernels
    of this `width` (k,) about the samples; numbers that differ by a `period` (k,) above 0 are the same.
    """
    n = len(samples)

    def kernels(off: NDArray) -> NDArray[np.float64]:
        off = off - period * np.round(np.divide(off, period, out=np.zeros_like(off), where=period > 0))
        return np.exp(-0.5 * ((off / width) ** 2).sum(axis=-1))

    others = (kernels(samples[:, np.newaxis] - samples).sum(axis=1) - 1) / (n - 1)  # at a sample, without itself
    density = kernels(samples - actual).mean()
    return [bool(density >= np.quantile(others, max(0.0, 1 - level * (1 + 1 / n)))) for level in levels]


def calibrated_scale(
    scales: Sequence[float], shares: NDArray[np.float64], levels: Sequence[float], n_tosses: int, n_grid: int
) -> tuple[float, NDArray[np.float64]]:
    """Return the scale at which regions hold as many tosses as they should, and the shares (regions,) there.

    Minimises sum_k (share_k - wanted_k)^2 / (level_k (1 - level_k)), misses in units of their variance, over a grid of
    scales, between which shares are interpolated.
    shares: held at each scale (scales, regions); levels: of the regions
    """
    fine = np.linspace(np.log(scales[0]), np.log(scales[-1]), n_grid)
    between = np.array([np.interp(fine, np.log(scales), column) for column in shares.T])
    level = np.array(levels)[:, np.newaxis]
    # The next toss is one more: few tosses must end inside more often than the level, or the next one will not.
    wanted = np.minimum(1.0, level * (1 + 1 / n_tosses))
    best = int(((between - wanted) ** 2 / (level * (1 - level))).sum(axis=0).argmin())
    return round(float(np.exp(fine[best])), 3), between[:, best]


def calibrated(law: ImpactLaw, forecasts: Sequence[tuple[ImpactLaw, Tosses]]) -> tuple[ImpactLaw, dict[float, float]]:
    """Return the law with a calibrated spread, and the shares of tosses that its regions then hold, by level.

    forecasts: laws of the same type, each with tosses to forecast, best those that it was not fitted to
    """
    usual = np.array((0.05, 0.15, 0.05))  # friction and restitution between tosses (relative), its direction [rad]
    scales, number = (0.6, 1.0, 1.6, 2.5, 4.0), sum(len(tosses) for _, tosses in forecasts)
    found = np.zeros((len(scales), len(REGIONS)))
    for row, scale in enumerate(scales):
        for other, tosses in forecasts:
            shares = coverage(other.with_spread(usual * scale), tosses, samples=SAMPLES // 2)
            found[row] += [shares[level] * len(tosses) for level in REGIONS]
    scale, shares = calibrated_scale(scales, found / number, REGIONS, number, n_grid=101)
    return law.with_spread(usual * scale), dict(zip(REGIONS, shares.tolist()))
