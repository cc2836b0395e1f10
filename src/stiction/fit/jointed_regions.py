"""How sure forecasts of a jointed part are: regions of where it ends, from what differs from toss to toss.

A sample of a forecast has a material, a ground and a start of its own: friction and restitution differ by factors, the
height of the ground and the start by offsets. One scale of all of these is chosen so that the regions hold as many
recorded tosses as they should, of tosses that the numbers were not fitted to.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.fit.forecast import REGIONS, regions_hold
from stiction.fit.jointed_fit import Build, Forecast, predictor
from stiction.fit.jointed_part import POSE
from stiction.fit.jointed_starts import Starts
from stiction.fit.toss_objective import horizon

SAMPLES = 32
SCALES = (0.1, 0.4, 1.0, 1.8, 3.0)  # from a part that repeats as well as it is tracked to one that chance moves
USUAL = {"friction": 0.3, "restitution": 0.2}  # relative, from toss to toss, at a scale of 1
_GROUND = 0.01  # of the part's length
_HINGE_WIDTH, _SLIDE_WIDTH = 0.8, 0.2  # [rad], [part's length] of the kernels whose density tells regions of joints
_NOISE = 0.5  # of a frame, in percent of the length and degrees, by which starts are off


def draw(
    values: Mapping[str, float],
    length: float,
    scale: float,
    rng: np.random.Generator,
    spreads: Mapping[str, float] = USUAL,
) -> dict[str, float]:
    """Numbers of one sample: what differs from toss to toss, moved at random. spreads: of their logarithms"""
    moved = dict(values)
    for name, spread in spreads.items():
        moved[name] = values[name] * float(np.exp(scale * spread * rng.standard_normal()))
    if "restitution" in moved:
        moved["restitution"] = min(moved["restitution"], 0.95)
    moved["ground"] = values.get("ground", 0.0) + scale * _GROUND * length * float(rng.standard_normal())
    return moved


def sampled(
    starts: Starts,
    build: Build,
    values: Mapping[str, float],
    scale: float,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    spreads: Mapping[str, float] = USUAL,
) -> Iterator[list[NDArray[np.float64]]]:
    """Motions of all tosses, one sample after the other."""
    rng = np.random.default_rng(seed)
    steps = horizon(starts, (None,))
    for _ in range(samples):
        drawn = draw(values, starts.part.length, scale, rng, spreads)
        yield predictor(starts.part, build)(drawn, starts.shaken(scale * _NOISE, rng), steps)


def ends(
    starts: Starts, build: Build, values: Mapping[str, float], scale: float, *, samples: int = SAMPLES, seed: int = 0
) -> NDArray[np.float64]:
    """Where samples of each toss end: x and y of the base [m], then the joints, shape (samples, n, 2 + joints)."""
    kept = [0, 1, *range(POSE, POSE + len(starts.part.joints))]
    last = horizon(starts, (None,)).tolist()
    runs = sampled(starts, build, values, scale, samples=samples, seed=seed)
    return np.array([[motion[n][kept] for motion, n in zip(motions, last)] for motions in runs])


def shares_held(starts: Starts, samples: NDArray[np.float64], levels: Sequence[float] = REGIONS) -> dict[str, Any]:
    """Share of the tosses that end in the regions of these levels: of the base's place, and of the joints."""
    return _shares(tosses_held(starts, samples, levels), levels)


def tosses_held(
    starts: Starts, samples: NDArray[np.float64], levels: Sequence[float] = REGIONS
) -> dict[str, list[list[bool]]]:
    """Whether each toss ends in each of these regions."""
    held: dict[str, list[list[bool]]] = {"position": []} | ({"joints": []} if starts.part.joints else {})
    width = np.where(starts.part.hinges, _HINGE_WIDTH, _SLIDE_WIDTH * starts.part.length)
    turns = np.where(starts.part.hinges, 2 * np.pi, 0.0)
    for k, toss in enumerate(starts.tosses):
        actual = toss.qpos[-1]
        held["position"].append(regions_hold(samples[:, k, :2], actual[:2], levels))
        if starts.part.joints:
            held["joints"].append(dense_regions_hold(samples[:, k, 2:], actual[POSE:], levels, width, turns))
    return held


def _shares(held: Mapping[str, list[list[bool]]], levels: Sequence[float]) -> dict[str, Any]:
    return {
        name: {level: float(share) for level, share in zip(levels, np.mean(rows, axis=0))}
        for name, rows in held.items()
    }


def dense_regions_hold(
    samples: NDArray, actual: NDArray, levels: Sequence[float], width: NDArray, period: NDArray
) -> list[bool]:
    """Whether the densest regions of samples (n, k) hold what has happened (k,), at each level.

    A hinge may come to rest in ways that lie far apart, so that no interval serves. The density is that of kernels of
    this `width` (k,) about the samples; numbers that differ by a `period` (k,) above 0 are the same.
    """
    n = len(samples)

    def kernels(off: NDArray) -> NDArray[np.float64]:
        off = off - period * np.round(np.divide(off, period, out=np.zeros_like(off), where=period > 0))
        return np.exp(-0.5 * ((off / width) ** 2).sum(axis=-1))

    others = (kernels(samples[:, np.newaxis] - samples).sum(axis=1) - 1) / (n - 1)  # at a sample, without itself
    own = kernels(samples - actual).mean()
    return [bool(own >= np.quantile(others, max(0.0, 1 - level * (1 + 1 / n)))) for level in levels]


def calibrated_scale(
    forecasts: Sequence[Forecast],
    build: Build,
    *,
    samples: int = SAMPLES // 2,
    seed: int = 0,
    progress=lambda done, most: None,
) -> tuple[float, dict[float, dict[str, Any]]]:
    """The scale at which regions hold as many of these tosses as they should, and what each scale held."""
    tried = {}
    for number, scale in enumerate(SCALES):
        found = [
            tosses_held(some, ends(some, build, values, scale, samples=samples, seed=seed))
            for some, values in forecasts
        ]
        tried[scale] = _shares({name: [row for held in found for row in held[name]] for name in found[0]}, REGIONS)
        progress(number + 1, len(SCALES))
    fine = np.linspace(np.log(SCALES[0]), np.log(SCALES[-1]), 201)
    miss = np.zeros(len(fine))
    one_more = 1 + 1 / sum(len(some) for some, _ in forecasts)  # the toss to come: of few, more must lie inside
    for name in tried[SCALES[0]]:
        for level in REGIONS:
            share = np.interp(fine, np.log(SCALES), [tried[scale][name][level] for scale in SCALES])
            miss += (share - min(1.0, level * one_more)) ** 2 / (level * (1 - level))  # in units of its chance
    return round(float(np.exp(fine[miss.argmin()])), 3), tried
