"""Which frames of a toss are in free flight: from where no hand is on the part any more, to its first touch."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.fit.jointed_part import POSE, JointedPart
from stiction.fit.jointed_recording import JointedToss, JointedTosses, Places, places_of, read_jointed
from stiction.fit.jointed_starts import SUBSTEPS, Starts

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


# The ground of recorded tosses: how a recorder's axes are tilted against it, and how high it is under each toss.


_STILL = 0.002  # [m] that a part at rest moves in the last frames, at most
_LAST = 6  # frames in which it must rest
_FLAT = 0.003  # [m] from the plane that it lies on, of points that lie on it, too
_STEEP = np.radians(8)  # more is no tilt of the recorder: the part leans
_NEIGHBOURS, _FEWEST = 31, 5  # tosses whose median is the tilt
_REGISTERED = 2e-4  # [m] within which the lowest points of nearly all tosses end where each was registered by itself
_NEARLY_ALL = 0.9
_WORTH_SAYING = np.radians(0.3)  # a lesser tilt is not worth a word


@dataclass
class Levelled:
    """Tosses in axes whose z is upright on the ground, which is at z = 0.

    tilt: of each toss's recorder (n, 2), x and y of the normal that was found [rad]
    report: what was found, in sentences
    """

    tosses: JointedTosses
    tilt: NDArray[np.float64]
    report: list[str] = field(default_factory=list)


def level(tosses: JointedTosses, places: Sequence[Places], by: NDArray[np.bool_]) -> tuple[Levelled, list[Places]]:
    """Turn and shift tosses so that the ground is level, at z = 0. by: tosses (n,) that may decide on the tilt"""
    still = np.array([_lies_still(one) for one in places])
    normals = [_normal(one) if rests and may else None for one, rests, may in zip(places, still, by)]
    tilt = _median_of_neighbours(np.array([toss.place for toss in tosses.tosses]), normals)
    turns = Rotation.from_rotvec(np.stack([tilt[:, 1], -tilt[:, 0], np.zeros(len(tilt))], axis=1))
    ends = np.array([one.lowest[-1] for one in places])
    registered = bool((np.abs(ends - np.median(ends)) < _REGISTERED).mean() >= _NEARLY_ALL) and len(ends) >= _FEWEST
    turned = [_turned(one, turns[k]) for k, one in enumerate(places)]
    height = np.array([_height(one, bool(rests)) for one, rests in zip(turned, still)])
    if not registered:
        height[:] = np.median(height[still]) if still.any() else 0.0
    moved = [
        replace(_moved(toss, turns[k], float(height[k])), rests=registered and bool(still[k]))
        for k, toss in enumerate(tosses.tosses)
    ]
    lowered = [replace(one, points=one.points - [0, 0, z], com=one.com - [0, 0, z]) for one, z in zip(turned, height)]
    report = _report(tilt, registered, still, height, ends)
    return Levelled(JointedTosses(moved, tosses.timestep), tilt, report), lowered


def _report(tilt, registered, still, height, ends) -> list[str]:
    said = []
    size = np.hypot(*tilt.T)
    if (size > _WORTH_SAYING).any():
        much = size > _WORTH_SAYING
        said.append(
            f"The recorder's axes are tilted against the ground by {np.degrees(np.median(size[much])):.1f} degrees in "
            f"{int(much.sum())} of {len(tilt)} tosses, as parts that lie still show: these were turned upright."
        )
    if registered:
        said.append(
            "The ground was registered toss by toss: the lowest point ends at "
            f"{1e3 * np.median(ends):.1f} mm in nearly every one. It was put under where each comes to rest"
            + (
                f"; {int((~still).sum())} still move at the end, and their ground is less certain."
                if not still.all()
                else "."
            )
        )
    elif abs(float(np.median(height))) > _REGISTERED:
        said.append(f"The ground is at {1e3 * float(np.median(height)):.1f} mm in the recorder's axes.")
    return said


def _lies_still(places: Places) -> bool:
    last = places.points[-_LAST:]
    return bool(np.linalg.norm(last - last[-1], axis=2).max() < _STILL)


def _normal(places: Places) -> NDArray[np.float64] | None:
    """Upward normal of the plane that the part lies on, if that can be found."""
    points, com = places.points[-1], places.com[-1]
    try:
        hull = ConvexHull(points)
    except QhullError:  # all in one plane
        return None
    below = hull.equations[hull.equations[:, 2] < -np.cos(_STEEP)]
    if not len(below):
        return None
    depth = -(below[:, :2] @ com[:2] + below[:, 3]) / below[:, 2]  # of each side under the centre of mass
    side = below[depth.argmax()]
    near = points[np.abs(points @ side[:3] + side[3]) < _FLAT]
    slopes, _, rank, _ = np.linalg.lstsq(np.c_[near[:, :2], np.ones(len(near))], near[:, 2], rcond=1e-3)
    normal = np.array([-slopes[0], -slopes[1], 1.0]) / np.sqrt(1 + slopes[0] ** 2 + slopes[1] ** 2)
    return normal[:2] if rank == 3 and normal[2] > np.cos(_STEEP) else None


def _median_of_neighbours(place: NDArray, normals: Sequence[NDArray | None]) -> NDArray[np.float64]:
    known = np.array([k for k, normal in enumerate(normals) if normal is not None], dtype=np.int64)
    if len(known) < _FEWEST:
        return np.zeros((len(place), 2))
    found = np.array([normals[k] for k in known])
    tilt = np.empty((len(place), 2))
    for k, own in enumerate(place):
        near = np.argsort(np.abs(place[known] - own), kind="stable")[:_NEIGHBOURS]
        tilt[k] = np.median(found[near], axis=0)
    return tilt


def _turned(places: Places, turn: Rotation) -> Places:
    points = turn.apply(places.points.reshape(-1, 3)).reshape(places.points.shape)
    return Places(points, places.radius, turn.apply(places.com))


def _height(places: Places, still: bool) -> float:
    """Of the ground: where the part lies; or, if it still moves, what its low frames show."""
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


# From a recording and an MJCF file to tosses that can be fitted: level, cut to their flights, with starts.


_LEAST = 2  # tosses to fit


@dataclass(frozen=True)
class Prepared:
    """Tosses to fit and to judge by, with their starts.

    gravity: [m/s^2] that the flights show; report: what was found and done, in sentences
    """

    part: JointedPart
    fitted: Starts
    held_out: Starts
    gravity: float
    report: list[str] = field(default_factory=list)


def prepare(
    data: str | Path | JointedTosses, part: JointedPart, *, tosses: int | None = None, seed: int = 0
) -> Prepared:
    """Read, level and cut recorded tosses. tosses: fit this many only, drawn with `seed`"""
    recorded = data if isinstance(data, JointedTosses) else read_jointed(data, part)
    if len(recorded) < _LEAST + 1:
        raise checks.InputError(f"A fit needs {_LEAST} tosses and one to judge by, got {len(recorded)}.")
    to_fit, to_judge = recorded.split(seed)
    number = len(to_fit)
    both = JointedTosses([*to_fit.tosses, *to_judge.tosses], recorded.timestep)
    may_decide = np.arange(len(both)) < number  # what is held out says nothing of the recorder's tilt
    levelled, places = level(both, places_of(part, both.tosses), may_decide)
    flights = find_flights(levelled.tosses, places)
    fitted, held_out = np.flatnonzero(flights.kept < number), np.flatnonzero(flights.kept >= number)
    if tosses is not None:
        fitted = np.sort(np.random.default_rng(seed).permutation(fitted)[: checks.count("tosses", tosses, _LEAST)])
    if len(fitted) < _LEAST or not len(held_out):
        raise checks.InputError(
            f"A fit needs {_LEAST} tosses with a free flight and one to judge by, got {len(fitted)} and "
            f"{len(held_out)}."
        )
    free = part.model({"gravity": flights.gravity}, recorded.timestep / SUBSTEPS, contact=False)
    starts = [Starts(part, flights.tosses[some], free) for some in (fitted, held_out)]
    return Prepared(part, starts[0], starts[1], flights.gravity, [*levelled.report, *flights.report])
