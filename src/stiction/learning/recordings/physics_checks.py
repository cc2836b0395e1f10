"""Does a recording obey mechanics as read? If not, which other reading of it would?

Free flight tells units and the upward axis. Impacts tell the rest: the impulse that changes the velocity acts at the
lowest corner, so that it must change the spin by r x p. Where units, order of the quaternion and handedness are read
right, the two agree; where not, they do not, and one of a few other readings makes them agree.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.bodies.body import Body
from stiction.learning.recordings.poses import LENGTHS, TIMES, Clean, Conventions

GRAVITY = 9.81  # [m/s^2]
SLACK = 0.15  # gravity may look this much larger or smaller: tracking scales are rarely better than a few percent
IMPULSE = 0.15  # [m/s] change of velocity between frames that counts as an impact
AGREES = 0.5  # correlation of torque and change of spin in a recording that is read right
BETTER = 0.2  # by which another reading must win
HOPELESS = 0.2
MIRRORED, SURELY_MIRRORED = -0.2, -0.6  # correlation of one axis alone, over at least ENOUGH impacts and over fewer
ENOUGH = 8
MOST_IMPACTS = 100
FLOOR = 0.005  # [m] a floor farther than this from z = 0 is worth a word
CLEAR = 0.008  # [m] a body whose lowest point is above this flies


@dataclass(frozen=True)
class Finding:
    """One thing found: `wrong` if the recording cannot be used as read; `remedy` names the option that helps."""

    text: str
    wrong: bool = False
    remedy: str = ""

    def __str__(self) -> str:
        return self.text + (f" Give {self.remedy}." if self.remedy else "")


def fall(tosses: list[Clean], interval: float, frames: int = 7) -> NDArray[np.float64]:
    """Acceleration (3,) [m/s^2] of the first frames of the tosses: the median over them."""
    found = []
    for toss in tosses:
        n = int(np.searchsorted(toss.frame, frames))
        if n >= 4:
            t = interval * toss.frame[:n]
            found.append(2 * np.polynomial.polynomial.polyfit(t, toss.position[:n], 2)[2])
    return np.median(found, axis=0) if found else np.full(3, np.nan)


def check_fall(acceleration: NDArray, how: Conventions) -> list[Finding]:
    """Units and upward axis, from free flight."""
    size = float(np.linalg.norm(acceleration))
    if not np.isfinite(size) or size == 0:
        return [Finding("No toss has enough frames at its start to see it fall.", wrong=True)]
    axis = int(np.abs(acceleration).argmax())
    if np.abs(acceleration[axis]) < 0.95 * size:
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
    if abs(size / GRAVITY - 1) <= SLACK:
        scale = f"; lengths are {abs(size / GRAVITY - 1):.1%} too {'short' if size < GRAVITY else 'long'}"
        note = scale if abs(size / GRAVITY - 1) > 0.005 else ""
        return [Finding(f"Free flight falls at {size:.3f} m/s^2 (9.81 is usual){note}.")]
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


def lowest(body: Body, position: NDArray, quaternion: NDArray) -> tuple[NDArray, NDArray]:
    """Height of the lowest point [m], shape (n,), and which vertex it belongs to."""
    R = Rotation.from_quat(quaternion, scalar_first=True).as_matrix()
    heights = position[:, 2:] + R[:, 2] @ body.vertices.T - body.rounding
    return heights.min(axis=1), heights.argmin(axis=1)


def floor_height(body: Body, tosses: list[Clean]) -> tuple[float, float]:
    """Height of the floor [m]: where the lowest corner rests at the ends of the tosses, and its spread."""
    ends = np.array([np.median(lowest(body, toss.position[-5:], toss.quaternion[-5:])[0]) for toss in tosses])
    return float(np.median(ends)), float(np.percentile(ends, 90) - np.percentile(ends, 10))


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


def spin_agreement(impacts: list[Impact]) -> float:
    """Correlation of r x dv with I dw / m."""
    a = np.array([np.cross(impact.arm, impact.dv) for impact in impacts])
    b = np.array([impact.torque for impact in impacts])
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def axis_agreement(impacts: list[Impact], axis: int) -> float:
    """Correlation of the torque of one component of dv with what the others leave unexplained: negative if mirrored.

    The inertia is known only roughly, so that its scale is taken from the impacts themselves.
    """
    one = np.eye(3)[axis]
    whole = np.array([np.cross(impact.arm, impact.dv) for impact in impacts])
    torque = np.array([impact.torque for impact in impacts])
    scale = np.clip(np.sqrt((whole**2).sum() / (torque**2).sum()), 0.5, 2.0)
    own = np.array([np.cross(impact.arm, impact.dv * one) for impact in impacts])
    rest = np.array([scale * impact.torque - np.cross(impact.arm, impact.dv * (1 - one)) for impact in impacts])
    return float((own * rest).sum() / np.sqrt((own * own).sum() * (rest * rest).sum()))


def check_reading(body: Body, how: Conventions, interval: float, read) -> list[Finding]:
    """Order of the quaternion, its direction, and handedness, from first impacts.

    read: from Conventions to clean tosses
    """

    def impacts(reading: Conventions) -> list[Impact]:
        found = (first_impact(body, toss, interval) for toss in read(reading)[:MOST_IMPACTS])
        return [impact for impact in found if impact is not None]

    given = impacts(how)
    if len(given) < 3:
        return [Finding("There are too few impacts to tell whether orientations are read right.")]
    score = spin_agreement(given)
    other = "xyzw" if how.quaternion == "wxyz" else "wxyz"
    readings = {
        f"quaternions are {other}": (replace(how, quaternion=other), f"--quaternion {other}"),
        "quaternions turn world into body axes": (replace(how, inverse=not how.inverse), "--inverse"),
    }
    for name, (reading, remedy) in readings.items():
        better = spin_agreement(impacts(reading))
        if better > max(AGREES, score + BETTER):
            text = (
                f"Impacts do not fit the spin they cause (correlation {score:.2f}); they do if {name} ({better:.2f})."
            )
            return [Finding(text, True, remedy)]
    sideways = {name: axis_agreement(given, k) for k, name in enumerate("xy")}
    for name, value in sideways.items():
        if value < (MIRRORED if len(given) >= ENOUGH else SURELY_MIRRORED):
            text = (
                f"Impacts turn the body the wrong way along {name} (correlation {value:.2f}): positions are from a "
                "left-handed frame, orientations are not."
            )
            return [Finding(text, True, f"--mirror {name}")]
    if score < AGREES:
        text = (
            f"Impacts hardly fit the spin they cause (correlation {score:.2f}): is this the body, are its axes right?"
        )
        return [Finding(text, wrong=score < HOPELESS)]
    return [Finding(f"Impacts fit the spin they cause (correlation {score:.2f}).")]


def check_floor(body: Body, tosses: list[Clean], how: Conventions) -> tuple[float, list[Finding]]:
    """The floor to use, and what to say about it."""
    height, spread = floor_height(body, tosses)
    size = float(np.ptp(body.vertices, axis=0).min())
    findings = []
    if spread > 0.1 * size:
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
