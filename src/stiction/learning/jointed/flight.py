"""Which frames of a toss are in free flight: from where no hand is on the part any more, to its first touch."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.learning.jointed.places import Places
from stiction.learning.jointed.recording import JointedTosses

NEAR = 0.005  # [m] above the ground: a frame that is lower may be after a touch between two frames
FEWEST = 6  # frames of flight that a start needs
_USUAL = 14  # frames that show gravity
_STRAY = 1e-3  # [m] rms by which a centre of mass in free flight may stray from its parabola
_GRAVITIES = (8.0, 11.0)  # [m/s^2] that a free fall may seem to have


@dataclass
class Flights:
    """Tosses that begin with their free flight.

    tosses: the usable ones; kept: their numbers (n,) among all
    gravity: [m/s^2] with which they fall, in the median
    """

    tosses: JointedTosses
    kept: NDArray[np.int64]
    gravity: float
    report: list[str] = field(default_factory=list)


def find_flights(tosses: JointedTosses, places: Sequence[Places]) -> Flights:
    """Cut tosses so that each begins when no hand is on it any more; leave out those without free flight."""
    ends = [int((one.lowest < NEAR).argmax()) if (one.lowest < NEAR).any() else len(one.lowest) for one in places]
    times = [tosses.timestep * toss.frame for toss in tosses.tosses]
    gravity = _gravity([t[max(0, n - _USUAL) : n] for t, n in zip(times, ends)],
                       [one.com[max(0, n - _USUAL) : n] for one, n in zip(places, ends)])  # fmt: skip
    cut, kept, held = [], [], 0
    for number, (toss, one, t, end) in enumerate(zip(tosses.tosses, places, times, ends)):
        begin = _begin(t[:end], one.com[:end], gravity)
        if begin is None or len(toss.frame) - begin < end - begin + 2:
            continue
        held += begin > 0
        cut.append(toss.part(begin, end - begin))
        kept.append(number)
    if len(cut) < 2:
        raise checks.InputError(
            f"At least 2 tosses must have {FEWEST} frames of free flight before the first touch; {len(cut)} of "
            f"{len(tosses)} have."
        )
    report = []
    if held:
        report.append(
            f"In {held} of {len(tosses)} tosses a hand is still on the part at first: these frames were left out."
        )
    if len(cut) < len(tosses):
        report.append(f"{len(tosses) - len(cut)} tosses have no free flight of {FEWEST} frames and were left out.")
    return Flights(JointedTosses(cut, tosses.timestep), np.array(kept), gravity, report)


def _gravity(times: Sequence[NDArray], coms: Sequence[NDArray]) -> float:
    """Median acceleration of the flights that are parabolas."""
    found = []
    for t, com in zip(times, coms):
        if len(t) < _USUAL:
            continue
        design = np.stack([np.ones_like(t), t, -0.5 * t**2], axis=1)
        fit, *_ = np.linalg.lstsq(design, com, rcond=None)
        stray = np.sqrt(((design @ fit - com) ** 2).sum(axis=1).mean())
        if stray < _STRAY / 2 and _GRAVITIES[0] < fit[2, 2] < _GRAVITIES[1]:
            found.append(fit[2, 2])
    return float(np.median(found)) if len(found) >= 3 else 9.81


def _begin(t: NDArray, com: NDArray, gravity: float) -> int | None:
    """The first frame from which on the centre of mass flies on a parabola; None if it never does for long enough."""
    falls = com + 0.5 * gravity * t[:, np.newaxis] ** 2 * [0.0, 0.0, 1.0]
    begin = None
    for first in range(len(t) - FEWEST, -1, -1):
        design = np.stack([np.ones(len(t) - first), t[first:]], axis=1)
        fit, *_ = np.linalg.lstsq(design, falls[first:], rcond=None)
        stray = np.linalg.norm(design @ fit - falls[first:], axis=1)
        # The newest frame must lie near the parabola, too: many good frames do not make up for a bad one.
        if np.sqrt((stray**2).mean()) > _STRAY or stray[0] > 3 * _STRAY:
            break
        begin = first
    return begin
