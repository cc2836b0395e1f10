"""Is a recording read right? If not, which other reading of it would make impacts and rests obey mechanics?

Two things tell. An impact at the lowest corner turns the body as a push there would (impact_checks.py), and a body that
has come to rest lies on the floor, whichever of its faces it lies on. Where the order of the quaternion, its direction
or the edges of a box are wrong, neither holds, and both do in one of a few other readings. A few tosses agree or
disagree by chance: only what is sure counts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, permutations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.bodies.body import Body
from stiction.recordings.poses import LENGTHS, TIMES, Clean, Conventions

# Does a recording obey mechanics as read? Free flight tells units and the upward axis; the end of a toss, the floor.


GRAVITY = 9.81  # [m/s^2]
SLACK = 0.15  # gravity may look this much larger or smaller: tracking scales are rarely better than a few percent
SURE = 3.0  # standard errors by which a number must differ from another one to be told from it
HUGE = 3.0  # a body this many times larger than the room in which it moves was not measured in metres
MILLIMETRES = 20.0  # a body said to be longer than this [m] was measured in them
FLOOR = 0.005  # [m] a floor farther than this from z = 0 is worth a word
UNLEVEL = 0.1  # of the body's least extent: heights of rest farther apart than this are not those of one plane
CLEAR = 0.008  # [m] a body whose lowest point is above this flies


@dataclass(frozen=True)
class Finding:
    """One thing found: `wrong` if the recording cannot be used as read; `remedy` names the option that helps."""

    text: str
    wrong: bool = False
    remedy: str = ""

    def __str__(self) -> str:
        return self.text + (f" Give {self.remedy}." if self.remedy else "")


def fall(tosses: list[Clean], interval: float, frames: int = 7) -> tuple[NDArray[np.float64], float]:
    """Acceleration (3,) [m/s^2] of the first frames of the tosses, the median over them, and its standard error."""
    found = []
    for toss in tosses:
        n = int(np.searchsorted(toss.frame, frames))
        if n >= 4:
            t = interval * toss.frame[:n]
            found.append(2 * np.polynomial.polynomial.polyfit(t, toss.position[:n], 2)[2])
    if not found:
        return np.full(3, np.nan), np.inf
    middle = np.median(found, axis=0)
    spread = 1.4826 * np.median(np.abs(np.array(found) - middle), axis=0).max()
    return middle, 1.2533 * spread / np.sqrt(len(found)) if len(found) > 2 else np.inf  # that of a median


def check_fall(acceleration: NDArray, error: float, how: Conventions) -> list[Finding]:
    """Units and upward axis, from the acceleration (3,) of free flight and its standard error [m/s^2]."""
    size = float(np.linalg.norm(acceleration))
    if not np.isfinite(size) or size == 0:
        return [Finding("No toss has enough frames at its start to see it fall.", wrong=True)]
    axis = int(np.abs(acceleration).argmax())
    sideways = float(np.linalg.norm(np.delete(acceleration, axis)))
    if sideways > max(0.31 * size, SURE * error if np.isfinite(error) else 0.0):
        return [
            Finding(
                f"The tosses do not begin in free flight: they accelerate by {_row(acceleration)} m/s^2.", wrong=True
            )
        ]
    if axis != 2 or acceleration[2] > 0:
        up = {0: "x", 1: "y", 2: "z"}[axis]
        if acceleration[axis] > 0:
            return [
                Finding(
                    f"The body falls along +{up}: the {up} axis points down, which is not supported; turn it.", True
                )
            ]
        return [Finding(f"The body falls along -{up}, not along -z.", True, f"--up {up}")]
    doubt = SURE * error / GRAVITY if np.isfinite(error) else 0.0
    if abs(size / GRAVITY - 1) <= np.clip(doubt, SLACK, 0.5):
        told = f" ± {error:.2g}" if np.isfinite(error) else ""
        off = abs(size - GRAVITY)
        if off > max(0.005 * GRAVITY, SURE * error):
            note = f"; lengths are {off / GRAVITY:.1%} too {'short' if size < GRAVITY else 'long'}"
        else:
            note = "" if off < 0.005 * GRAVITY else ", which it may well be: it shows no better than that"
        return [Finding(f"Free flight falls at {size:.3f}{told} m/s^2 (9.81 is usual){note}.")]
    ratio = size / GRAVITY
    for unit, metres in LENGTHS.items():
        if abs(ratio * metres / LENGTHS[how.units] - 1) <= SLACK:
            return [
                Finding(f"Free flight falls at {size:.4g} m/s^2: positions are in {unit}.", True, f"--units {unit}")
            ]
    for unit, seconds in TIMES.items():
        if abs(ratio * (TIMES[how.time_unit] / seconds) ** 2 - 1) <= 2 * SLACK:
            return [
                Finding(f"Free flight falls at {size:.4g} m/s^2: times are in {unit}.", True, f"--time-unit {unit}")
            ]
    return [Finding(f"Free flight falls at {size:.4g} m/s^2, which no usual unit explains.", True, "--units or --rate")]


def check_size(body: Body, tosses: list[Clean]) -> list[Finding]:
    """Units of the body, from the room in which it moves."""
    room = max(float(np.ptp(toss.position, axis=0).max()) for toss in tosses)
    size = float(np.ptp(body.vertices, axis=0).max())
    if size < HUGE * room:
        return []
    unit, name = ("mm", "millimetres") if size > MILLIMETRES else ("cm", "centimetres")
    text = f"The body is {size:.4g} m long, but moves within {room:.2g} m: its sizes look like {name}."
    return [Finding(text, True, f"them in metres, {size * LENGTHS[unit]:.4g} for {size:.4g}")]


def least_extent(body: Body) -> float:
    """Of the body along its axes [m]; of a planar one, in its plane."""
    return float(np.ptp(body.vertices, axis=0)[[0, 2] if body.planar else [0, 1, 2]].min())


def lowest(body: Body, position: NDArray, quaternion: NDArray) -> tuple[NDArray, NDArray]:
    """Height of the lowest point [m], shape (n,), and which vertex it belongs to."""
    R = Rotation.from_quat(quaternion, scalar_first=True).as_matrix()
    heights = position[:, 2:] + R[:, 2] @ body.vertices.T - body.rounding
    return heights.min(axis=1), heights.argmin(axis=1)


def floor_height(body: Body, tosses: list[Clean]) -> tuple[float, float]:
    """Height of the floor [m]: where the lowest corner rests at the ends of the tosses, and its spread."""
    ends = np.array([np.median(lowest(body, toss.position[-5:], toss.quaternion[-5:])[0]) for toss in tosses])
    return float(np.median(ends)), float(np.percentile(ends, 90) - np.percentile(ends, 10))


def check_floor(body: Body, tosses: list[Clean], how: Conventions) -> tuple[float, list[Finding]]:
    """The floor to use, and what to say about it."""
    height, spread = floor_height(body, tosses)
    size = least_extent(body)
    findings = []
    if spread > UNLEVEL * size:
        text = f"The body does not come to rest on one plane, its lowest corner ends {1e3 * spread:.0f} mm apart"
        findings.append(Finding(f"{text}: is this the body, are its axes right?", wrong=spread > 0.5 * size))
    if how.floor is not None:
        if abs(height - how.floor) > max(FLOOR, 0.05 * size):
            text = (
                f"The body rests on z = {height:.4f} m, {abs(height - how.floor):.4f} m from the floor that was given."
            )
            findings.append(Finding(text, True, f"--floor {height:.4f}"))
        return how.floor, findings
    if abs(height) > FLOOR:
        findings.append(Finding(f"The floor lies at z = {height:.4f} m; it is moved to 0."))
        return height, findings
    return 0.0, findings


def check_velocities(tosses: list[Clean], interval: float) -> list[Finding]:
    """Axes of the velocities that came with the recording; ours are from poses, so this is only to be known."""
    errors: dict[str, list[float]] = {"linear world": [], "linear body": [], "angular world": [], "angular body": []}
    for toss in tosses:
        if toss.recorded is None or len(toss.frame) < 5:
            continue
        turn = Rotation.from_quat(toss.quaternion, scalar_first=True)
        step = (np.diff(toss.frame) * interval)[:, np.newaxis]
        linear = np.diff(toss.position, axis=0) / step
        angular = (turn[1:] * turn[:-1].inv()).as_rotvec() / step
        got, back = toss.recorded[1:], turn[1:].inv()
        for name, mine, theirs in (("linear", linear, got[:, :3]), ("angular", angular, got[:, 3:])):
            size = np.linalg.norm(mine) + 1e-12
            errors[f"{name} world"].append(float(np.linalg.norm(mine - theirs) / size))
            errors[f"{name} body"].append(float(np.linalg.norm(back.apply(mine) - theirs) / size))
    findings = []
    for world, body in pairwise(errors):
        if not world.endswith("world") or not errors[world]:
            continue
        a, b = np.median(errors[world]), np.median(errors[body])
        kind = world.split()[0]
        if b < 0.6 * a and b < 0.5:
            findings.append(
                Finding(f"Recorded {kind} velocities are in body axes; velocities are estimated from poses.")
            )
        elif a > 0.5:
            findings.append(Finding(f"Recorded {kind} velocities do not fit the poses; they are estimated from poses."))
    return findings


def flight_frames(body: Body, toss: Clean, floor: float) -> int:
    """Leading frames whose lowest point is clear of the floor."""
    heights, _ = lowest(body, toss.position, toss.quaternion)
    down = np.flatnonzero(heights - floor < CLEAR)
    return int(down[0]) if len(down) else len(heights)


def _row(values) -> str:
    return "(" + ", ".join(f"{value:.3g}" for value in values) + ")"


# Do impacts obey mechanics as they were read?


IMPULSE = 0.15  # [m/s] change of velocity between frames that counts as an impact
DRAWS = 400  # of the impacts, for standard errors


@dataclass(frozen=True)
class Impact:
    """The first impact of a toss: arm of the lowest corner, change of velocity, torque that changed the spin."""

    arm: NDArray[np.float64]
    dv: NDArray[np.float64]
    torque: NDArray[np.float64]  # I dw / m


def first_impact(body: Body, toss: Clean, interval: float) -> Impact | None:
    """The first impact, if one is seen: two frames are enough for it, and not yet for the next."""
    if len(toss.frame) < 12:
        return None
    step = (np.diff(toss.frame) * interval)[:, np.newaxis]
    turn = Rotation.from_quat(toss.quaternion, scalar_first=True)
    R = turn.as_matrix()
    velocity = np.diff(toss.position + R @ body.com, axis=0) / step
    velocity[:, 2] += GRAVITY * interval * toss.frame[1:]  # what gravity takes is no impact
    hit = np.flatnonzero((velocity[2:, 2] - velocity[:-2, 2])[3:-6] > IMPULSE)
    if not len(hit):
        return None
    k = int(hit[0]) + 4  # velocities up to number k - 1 are of before the impact, number k + 1 is of after it
    spin = (turn[1:] * turn[:-1].inv()).as_rotvec() / step
    dv = velocity[k + 1] - velocity[k - 3 : k].mean(axis=0)
    dw = spin[k + 1] - spin[k - 3 : k].mean(axis=0)
    at = k + 1
    _, vertex = lowest(body, toss.position[at : at + 1], toss.quaternion[at : at + 1])
    arm = R[at] @ (body.vertices[vertex[0]] - body.com)
    return Impact(arm, dv, R[at] @ body.inertia @ R[at].T @ dw / body.mass)


@dataclass(frozen=True)
class Agreement:
    """A correlation over impacts, and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"correlation {self.value:.2f} ± {self.error:.2f}"

    def below(self, other: float, sure: float = SURE) -> bool:
        """Whether it is less than `other`, by so many standard errors."""
        return self.value + sure * self.error < other


def spin_agreement(impacts: list[Impact]) -> Agreement:
    """Correlation of r x dv with I dw / m."""
    return _correlation(_arms(impacts, np.ones(3)), np.array([impact.torque for impact in impacts]))


def axis_agreement(impacts: list[Impact], axis: int) -> Agreement:
    """Correlation of the torque of one component of dv with what the others leave unexplained: negative if mirrored.

    The inertia is known only roughly, so that its scale is taken from the impacts themselves.
    """
    one = np.eye(3)[axis]
    whole, torque = _arms(impacts, np.ones(3)), np.array([impact.torque for impact in impacts])
    scale = np.clip(np.sqrt((whole**2).sum() / max((torque**2).sum(), 1e-300)), 0.5, 2.0)
    own, rest = _arms(impacts, one), scale * torque - _arms(impacts, 1 - one)
    # Where a second corner hits at once, the rest is wild: it counts as one of usual size.
    sizes = np.linalg.norm(rest, axis=1)
    share = np.minimum(1.0, np.median(sizes) / np.maximum(sizes, 1e-300))[:, np.newaxis]
    return _correlation(share * own, share * rest)


def _arms(impacts: list[Impact], some: NDArray) -> NDArray[np.float64]:
    """Torques r x dv (n, 3) of some components of dv."""
    return np.array([np.cross(impact.arm, impact.dv * some) for impact in impacts])


def _correlation(a: NDArray, b: NDArray) -> Agreement:
    """Of vectors (n, 3), with the standard error over draws of the n: their components are not independent."""
    products, squares = (a * b).sum(axis=1), ((a * a).sum(axis=1), (b * b).sum(axis=1))
    draws = np.random.default_rng(0).integers(0, len(a), (DRAWS, len(a)))
    p, x, y = (part[draws].sum(axis=1) for part in (products, *squares))
    drawn = p / np.sqrt(np.maximum(x * y, 1e-300))
    value = products.sum() / np.sqrt(max(squares[0].sum() * squares[1].sum(), 1e-300))
    # Of few impacts, those that were drawn tell too little about the rest.
    return Agreement(float(value), float(np.std(drawn) * np.sqrt(len(a) / max(1, len(a) - 1)) + 1 / (3 * len(a))))


AGREES = 0.5  # correlation of torque and change of spin in a recording that is read right
BETTER = 0.2  # by which another reading must win
HOPELESS = 0.2  # a correlation that is surely below is that of another body
MIRRORED = 2.0  # standard errors below 0 of one axis alone; read right, it would be far above
LEVEL = 0.003  # [m] a reading for which tosses end at heights further apart than as given is not the right one
FLAT = 0.03  # of the body's least extent: a reading for which tosses end at heights this close has them on the floor
CLEARLY = 3.0  # times farther apart as given than in a reading that is told by rests
FEWEST, FEWEST_MIRRORED, FEWEST_RESTS = 3, 6, 4  # impacts, and tosses
MOST_IMPACTS = 100


@dataclass(frozen=True)
class Reading:
    """A way to read a recording, and what mechanics says of it.

    what: as a clause, such as "quaternions are xyzw"; remedy: the option that asks for it
    spin: how well impacts fit the spin they cause; apart: how far apart the heights [m] are at which tosses end
    rests: how many tosses end
    """

    what: str
    remedy: str
    impacts: list[Impact]
    spin: Agreement
    apart: float
    rests: int

    @property
    def telling(self) -> bool:
        """Whether there are enough impacts to say anything."""
        return len(self.impacts) >= FEWEST

    def clearly_turns_better(self, given: "Reading") -> bool:
        """Whether impacts fit the spin they cause in this reading, and surely less as given."""
        margin = max(BETTER, float(np.hypot(self.spin.error, given.spin.error)))
        return self.spin.value > max(AGREES, given.spin.value + margin) and self.apart < given.apart + LEVEL

    def clearly_rests_better(self, given: "Reading", extent: float) -> bool:
        """Whether tosses end on one plane in this reading, and surely not as given, while impacts do not object.

        extent: the body's least [m]
        """
        flat = self.apart < max(LEVEL, FLAT * extent) and self.rests >= FEWEST_RESTS
        objected = self.spin.value < min(AGREES, given.spin.value)
        return flat and given.apart > max(UNLEVEL * extent, CLEARLY * self.apart) and not objected


def check_reading(
    body: Body, how: Conventions, interval: float, read: Callable[[Conventions], list[Clean]]
) -> list[Finding]:
    """Order of the quaternion, its direction, edges of a box, and handedness, from first impacts and rests."""

    def reading(what: str, remedy: str, conventions: Conventions, body: Body = body) -> Reading:
        tosses = read(conventions)
        found = [impact for toss in tosses[:MOST_IMPACTS] if (impact := first_impact(body, toss, interval)) is not None]
        agreement = spin_agreement(found) if found else Agreement(0.0, np.inf)
        apart = floor_height(body, tosses)[1] if tosses else np.inf
        return Reading(what, remedy, found, agreement, apart, len(tosses))

    given = reading("", "", how)
    if not given.telling:
        return [Finding("There are too few impacts to tell whether orientations are read right.")]
    others = [reading(*other) for other in _orientations(how)]
    others += [reading(what, remedy, how, other) for what, remedy, other in _edges(body)]
    better = _best(given, [other for other in others if other.telling], least_extent(body))
    if better is not None:
        return [better]
    level = given.apart <= UNLEVEL * least_extent(body)  # a mirror leaves heights alone
    mirrored = _mirrored_axis(given.impacts) if level and not how.mirror else None
    if mirrored is not None:
        axis, sideways = mirrored
        if reading("", "", replace(how, mirror=axis)).spin.value > max(AGREES, given.spin.value):
            return [_left_handed(axis, sideways)]
    return [_verdict(given)]


def _orientations(how: Conventions) -> Iterator[tuple[str, str, Conventions]]:
    """Other ways to read quaternions: what they are, the option, and the conventions."""
    other = "xyzw" if how.quaternion == "wxyz" else "wxyz"
    yield f"quaternions are {other}", f"--quaternion {other}", replace(how, quaternion=other)
    turn, remedy = ("body into world", "no --inverse") if how.inverse else ("world into body", "--inverse")
    yield f"quaternions turn {turn} axes", remedy, replace(how, inverse=not how.inverse)


def _edges(body: Body) -> Iterator[tuple[str, str, Body]]:
    """Boxes with the same edges in another order: what they are, the option, and the body."""
    if body.shape != "box":
        return
    seen = {body.size}
    for order in permutations(range(3)):
        size = tuple(body.size[k] for k in order)
        if size not in seen:
            seen.add(size)
            turned = {"com": body.com[list(order)], "inertia": body.inertia[np.ix_(order, order)]}
            edges = [f"{length:.6g}" for length in size]
            other = Body.box(size, body.mass, **turned, rounding=body.rounding)
            yield f"its edges are {', '.join(edges)} m", f"--body box:{','.join(edges)}", other


def _best(given: Reading, others: list[Reading], extent: float) -> Finding | None:
    """The reading that mechanics surely prefers to the one given, if there is one."""
    turning = [other for other in others if other.clearly_turns_better(given)]
    resting = [other for other in others if other.clearly_rests_better(given, extent)]
    if not turning and not resting:
        return None
    best = max([*turning, *resting], key=lambda other: other.spin.value)
    size = "The size of the body does not fit. " if best.remedy.startswith("--body") else ""
    if best in turning:
        text = f"Impacts do not fit the spin they cause ({given.spin}); they do if {best.what} ({best.spin.value:.2f})."
    else:
        heights = f"{1e3 * given.apart:.0f} mm apart; they are {1e3 * best.apart:.1f} mm apart if {best.what}"
        text = f"The heights at which the lowest corner comes to rest are {heights}."
    return Finding(size + text, True, best.remedy)


def _mirrored_axis(impacts: list[Impact]) -> tuple[str, Agreement] | None:
    """The axis along which impacts surely turn the body the wrong way, and how well they agree along it."""
    if len(impacts) < FEWEST_MIRRORED:
        return None
    along = ((axis, axis_agreement(impacts, k)) for k, axis in enumerate("xy"))
    return next((found for found in along if found[1].below(0.0, MIRRORED)), None)


def _left_handed(axis: str, sideways: Agreement) -> Finding:
    text = (
        f"Impacts turn the body the wrong way along {axis} ({sideways}): positions are from a left-handed frame, "
        "orientations are not."
    )
    return Finding(text, True, f"--mirror {axis}")


def _verdict(given: Reading) -> Finding:
    """What impacts say where no other reading is better."""
    score = given.spin
    if score.value >= AGREES:
        return Finding(f"Impacts fit the spin they cause ({score}).")
    if score.below(AGREES):
        text = f"Impacts hardly fit the spin they cause ({score}): is this the body, are its axes right?"
        return Finding(text, wrong=score.below(HOPELESS))
    return Finding(f"Impacts say little about whether orientations are read right ({score}, of {len(given.impacts)}).")
