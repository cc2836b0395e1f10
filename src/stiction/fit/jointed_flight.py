"""Recorded tosses of a jointed part, prepared for a fit: levelled, cut to their free flights, with their starts."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.basics.splits import drawn
from stiction.fit.jointed_part import POSE, JointedPart
from stiction.fit.jointed_recording import JointedToss, JointedTosses, Places, places_of, read_jointed
from stiction.fit.jointed_starts import SUBSTEPS, Starts

MIN_FLIGHT = 6  # frames of flight that a start needs
_MAX_DISTANCE = 1e-3  # [m] rms distance of a centre of mass in free flight from its parabola


def find_flights(
    tosses: JointedTosses, places: Sequence[Places]
) -> tuple[JointedTosses, NDArray[np.int64], float, list[str]]:
    """Cut tosses so that each starts when no hand is on it any more; leave out those without free flight.

    Returns the usable tosses, their numbers (n,) among all, the median acceleration of their fall [m/s^2], and a
    report.
    """
    near = [one.lowest < 0.005 for one in places]  # [m]: such a frame may follow a touch between two frames
    ends = [int(low.argmax()) if low.any() else len(low) for low in near]
    times = [tosses.timestep * toss.frame for toss in tosses.tosses]
    gravity = _gravity([(t[max(0, n - 14) : n], one.com[max(0, n - 14) : n]) for t, one, n in zip(times, places, ends)])
    cut, kept, held = [], [], 0
    for number, (toss, one, t, end) in enumerate(zip(tosses.tosses, places, times, ends)):
        start = _flight_start(t[:end], one.com[:end], gravity)
        if start is None or len(toss.frame) - start < end - start + 2:
            continue
        held += start > 0
        cut.append(toss.part(start, end - start))
        kept.append(number)
    if len(cut) < 2:
        raise checks.InputError(
            f"At least 2 tosses must have {MIN_FLIGHT} frames of free flight before the first touch; {len(cut)} of "
            f"{len(tosses)} have."
        )
    report = []
    if held:
        report.append(
            f"In {held} of {len(tosses)} tosses a hand is still on the part at first: these frames were left out."
        )
    if len(cut) < len(tosses):
        report.append(f"{len(tosses) - len(cut)} tosses have no free flight of {MIN_FLIGHT} frames and were left out.")
    return JointedTosses(cut, tosses.timestep), np.array(kept), gravity, report


def _gravity(flights: Sequence[tuple[NDArray, NDArray]]) -> float:
    """Return the median acceleration of the flights, times (n,) and centres of mass (n, 3), that are parabolas."""
    found = []
    for t, com in flights:
        if len(t) < 14:
            continue
        design = np.stack([np.ones_like(t), t, -0.5 * t**2], axis=1)
        fit, *_ = np.linalg.lstsq(design, com, rcond=None)
        distance = np.sqrt(((design @ fit - com) ** 2).sum(axis=1).mean())
        if distance < _MAX_DISTANCE / 2 and 8.0 < fit[2, 2] < 11.0:
            found.append(fit[2, 2])
    return float(np.median(found)) if len(found) >= 3 else 9.81


def _flight_start(t: NDArray, com: NDArray, gravity: float) -> int | None:
    """Return the first frame from which the centre of mass is on a parabola; None if it never is for long enough."""
    falls = com + 0.5 * gravity * t[:, np.newaxis] ** 2 * [0.0, 0.0, 1.0]
    start = None
    for first in range(len(t) - MIN_FLIGHT, -1, -1):
        design = np.stack([np.ones(len(t) - first), t[first:]], axis=1)
        fit, *_ = np.linalg.lstsq(design, falls[first:], rcond=None)
        distance = np.linalg.norm(design @ fit - falls[first:], axis=1)
        # The newest frame must be near the parabola, too: many good frames do not make up for a bad one.
        if np.sqrt((distance**2).mean()) > _MAX_DISTANCE or distance[0] > 3 * _MAX_DISTANCE:
            break
        start = first
    return start


_STEEP = np.cos(np.radians(8))  # a steeper plane is no tilt of the recorder: the part leans
_MIN_RESTING = 5  # tosses at rest that are needed to find the tilt as their median
_REGISTERED = 2e-4  # [m] within which the lowest points of most tosses end where each was registered by itself


def level(
    tosses: JointedTosses, places: Sequence[Places], by: NDArray[np.bool_]
) -> tuple[JointedTosses, list[Places], list[str]]:
    """Turn and shift tosses so that the ground is level, at z = 0, and report the findings.

    by: tosses (n,) from which the tilt may be found
    """
    still = np.array([_is_at_rest(one) for one in places])
    normals = [_normal(one) if rests and may else None for one, rests, may in zip(places, still, by)]
    tilt = _median_of_neighbours(np.array([toss.place for toss in tosses.tosses]), normals)
    turns = Rotation.from_rotvec(np.stack([tilt[:, 1], -tilt[:, 0], np.zeros(len(tilt))], axis=1))
    ends = np.array([one.lowest[-1] for one in places])
    registered = bool((np.abs(ends - np.median(ends)) < _REGISTERED).mean() >= 0.9) and len(ends) >= _MIN_RESTING
    turned = [
        replace(one, points=turn.apply(one.points.reshape(-1, 3)).reshape(one.points.shape), com=turn.apply(one.com))
        for one, turn in zip(places, turns)
    ]
    height = np.array([_height(one, bool(rests)) for one, rests in zip(turned, still)])
    if not registered:
        height[:] = np.median(height[still]) if still.any() else 0.0
    moved = [
        replace(_moved(toss, turns[k], float(height[k])), rests=registered and bool(still[k]))
        for k, toss in enumerate(tosses.tosses)
    ]
    lowered = [replace(one, points=one.points - [0, 0, z], com=one.com - [0, 0, z]) for one, z in zip(turned, height)]
    return JointedTosses(moved, tosses.timestep), lowered, _report(tilt, registered, still, height, ends)


def _report(tilt, registered, still, height, ends) -> list[str]:
    report = []
    size = np.hypot(*tilt.T)
    much = size > np.radians(0.3)
    if much.any():
        report.append(
            f"The recorder's axes are tilted against the ground by {np.degrees(np.median(size[much])):.1f} degrees in "
            f"{int(much.sum())} of {len(tilt)} tosses, as parts at rest show: these were turned upright."
        )
    if registered:
        n_moving = int((~still).sum())
        unsettled = f"; {n_moving} still move at the end, and their ground is less certain" if n_moving else ""
        report.append(
            "The ground was registered toss by toss: the lowest point ends at "
            f"{1e3 * np.median(ends):.1f} mm in nearly every one. It was moved to where each comes to rest"
            f"{unsettled}."
        )
    elif abs(float(np.median(height))) > _REGISTERED:
        report.append(f"The ground is at {1e3 * float(np.median(height)):.1f} mm in the recorder's axes.")
    return report


def _is_at_rest(places: Places) -> bool:
    """Return whether no point moves by 2 mm in the last six frames."""
    last = places.points[-6:]
    return bool(np.linalg.norm(last - last[-1], axis=2).max() < 0.002)


def _normal(places: Places) -> NDArray[np.float64] | None:
    """Return x and y of the upward normal of the plane that the part rests on, if that can be found."""
    points, com = places.points[-1], places.com[-1]
    try:
        hull = ConvexHull(points)
    except QhullError:  # all in one plane
        return None
    below = hull.equations[hull.equations[:, 2] < -_STEEP]
    if not len(below):
        return None
    depth = -(below[:, :2] @ com[:2] + below[:, 3]) / below[:, 2]  # of each side under the centre of mass
    side = below[depth.argmax()]
    near = points[np.abs(points @ side[:3] + side[3]) < 0.003]
    slopes, _, rank, _ = np.linalg.lstsq(np.c_[near[:, :2], np.ones(len(near))], near[:, 2], rcond=1e-3)
    normal = np.array([-slopes[0], -slopes[1], 1.0]) / np.sqrt(1 + slopes[0] ** 2 + slopes[1] ** 2)
    return normal[:2] if rank == 3 and normal[2] > _STEEP else None


def _median_of_neighbours(place: NDArray, normals: Sequence[NDArray | None]) -> NDArray[np.float64]:
    """Return the median normal (n, 2) of the 31 tosses recorded next to each one; zero if there are too few."""
    known = np.array([k for k, normal in enumerate(normals) if normal is not None], dtype=np.int64)
    if len(known) < _MIN_RESTING:
        return np.zeros((len(place), 2))
    found = np.array([normals[k] for k in known])
    tilt = np.empty((len(place), 2))
    for k, number in enumerate(place):
        near = np.argsort(np.abs(place[known] - number), kind="stable")[:31]
        tilt[k] = np.median(found[near], axis=0)
    return tilt


def _height(places: Places, still: bool) -> float:
    """Return the height of the ground: where the part rests; if it still moves, that of its low frames."""
    low = places.lowest
    if still:
        return float(low[-1])
    after = low[int((low < low.min() + 0.005).argmax()) :]
    return float(np.quantile(after, 0.2))


def _moved(toss: JointedToss, turn: Rotation, height: float) -> JointedToss:
    qpos = toss.qpos.copy()
    qpos[:, :3] = turn.apply(qpos[:, :3]) - [0.0, 0.0, height]
    qpos[:, 3:POSE] = (turn * Rotation.from_quat(qpos[:, 3:POSE], scalar_first=True)).as_quat(scalar_first=True)
    return replace(toss, qpos=qpos)


@dataclass(frozen=True)
class Prepared:
    """Fitted and held-out tosses, with their starts.

    gravity: of the flights [m/s^2]; report: findings and corrections, in sentences
    """

    part: JointedPart
    fitted: Starts
    held_out: Starts
    gravity: float
    report: list[str] = field(default_factory=list)


def prepare(
    data: str | Path | JointedTosses, part: JointedPart, *, tosses: int | None = None, seed: int = 0
) -> Prepared:
    """Read, level and cut recorded tosses. tosses: number of tosses to fit, drawn with `seed`"""
    recorded = data if isinstance(data, JointedTosses) else read_jointed(data, part)
    if len(recorded) < 3:
        raise checks.InputError(f"A fit needs 2 tosses and one to hold out, got {len(recorded)}.")
    to_fit, to_hold_out = recorded.split(seed)
    number = len(to_fit)
    both = JointedTosses([*to_fit.tosses, *to_hold_out.tosses], recorded.timestep)
    is_fitted = np.arange(len(both)) < number  # held-out tosses take no part in finding the tilt
    levelled, places, report = level(both, places_of(part, both.tosses), is_fitted)
    flying, kept, gravity, more = find_flights(levelled, places)
    fitted, held_out = np.flatnonzero(kept < number), np.flatnonzero(kept >= number)
    if tosses is not None:
        fitted = drawn(fitted, checks.count("tosses", tosses, 2), seed)
    if len(fitted) < 2 or not len(held_out):
        raise checks.InputError(
            f"A fit needs 2 tosses with a free flight and one to hold out, got {len(fitted)} and {len(held_out)}."
        )
    free = part.model({"gravity": gravity}, recorded.timestep / SUBSTEPS, contact=False)
    fitted_starts, held_out_starts = (Starts(part, flying[some], free) for some in (fitted, held_out))
    return Prepared(part, fitted_starts, held_out_starts, gravity, [*report, *more])
