"""Checks of a recording against mechanics: units and upward axis from free flight, the floor from ends of tosses."""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.bodies.body import Body
from stiction.recordings.poses import LENGTHS, TIMES, Clean, Conventions

GRAVITY = 9.81  # [m/s^2]
SLACK = 0.15  # relative tolerance of measured gravity: tracking scales are rarely better than a few percent
SURE = 3.0  # standard errors that make a difference significant
FLOOR_TOLERANCE = 0.005  # [m] a floor farther than this from z = 0 is reported
UNLEVEL = 0.1  # share of the body's least extent: heights of rest farther apart than this are not those of one plane


@dataclass(frozen=True)
class Finding:
    """One finding: `wrong` if the recording cannot be used as read; `remedy` names the option that helps.

    change: the fields of `Conventions` that this option sets
    decided: False if the recording does not show what was checked
    """

    text: str
    wrong: bool = False
    remedy: str = ""
    change: dict[str, str] = field(default_factory=dict)
    decided: bool = True

    def __str__(self) -> str:
        return self.text + (f" Give {self.remedy}." if self.remedy else "")


def fall(tosses: list[Clean], interval: float, frames: int = 7) -> tuple[NDArray[np.float64], float]:
    """Acceleration (3,) [m/s^2] in the first frames, the median over the tosses, and its standard error."""
    found = [a for toss in tosses if (a := _acceleration(toss, interval, frames)) is not None]
    if not found:
        return np.full(3, np.nan), np.inf
    median = np.median(found, axis=0)
    spread = 1.4826 * np.median(np.abs(np.array(found) - median), axis=0).max()
    return median, 1.2533 * spread / np.sqrt(len(found)) if len(found) > 2 else np.inf  # that of a median


def _acceleration(toss: Clean, interval: float, frames: int) -> NDArray[np.float64] | None:
    """Acceleration (3,) [m/s^2] in the first frames, fewer of them where a parabola does not fit: it touches."""
    fits = []
    for window in (frames, frames // 2, frames // 4):
        n = int(np.searchsorted(toss.frame, window))
        if n < 4 or (fits and n < 7):
            break
        parabola, about = np.polynomial.polynomial.polyfit(interval * toss.frame[:n], toss.position[:n], 2, full=True)
        fits.append((2 * parabola[2], float(np.sqrt(np.sum(about[0]) / max(1, n - 3)))))
    if not fits:
        return None
    best = 0
    while best + 1 < len(fits) and fits[best][1] > 2 * fits[best + 1][1]:
        best += 1
    return fits[best][0]


def check_fall(acceleration: NDArray, error: float, conventions: Conventions) -> list[Finding]:
    """Units and upward axis, from the acceleration (3,) of free flight and its standard error [m/s^2]."""
    size = float(np.linalg.norm(acceleration))
    if not np.isfinite(size) or size == 0:
        return [Finding("No toss has enough frames at its start to see it fall.", wrong=True)]
    axis = int(np.abs(acceleration).argmax())
    sideways = float(np.linalg.norm(np.delete(acceleration, axis)))
    if sideways > max(0.31 * size, SURE * error if np.isfinite(error) else 0.0):
        row = ", ".join(f"{value:.3g}" for value in acceleration)
        return [Finding(f"The tosses do not start in free flight: they accelerate by ({row}) m/s^2.", wrong=True)]
    if axis != 2 or acceleration[2] > 0:
        # The body falls along an axis of the converted frame: which axis of the recorder is that?
        name, sign = "xyz"[axis], "-" if acceleration[axis] > 0 else ""
        if conventions.up not in (None, "z"):
            return [Finding(f"The body does not fall along -{conventions.up}.", True, "another --up")]
        text = f"The body falls along {'+' if sign else '-'}{name}, not along -z."
        return [Finding(text, True, f"--up={sign}{name}" if sign else f"--up {name}", {"up": sign + name})]
    doubt = SURE * error / GRAVITY if np.isfinite(error) else 0.0
    if abs(size / GRAVITY - 1) <= np.clip(doubt, SLACK, 0.5):
        band = f" ± {error:.2g}" if np.isfinite(error) else ""
        off = abs(size - GRAVITY)
        if off > max(0.005 * GRAVITY, SURE * error):
            note = f": lengths seem {off / GRAVITY:.1%} too {'short' if size < GRAVITY else 'long'}"
        else:
            note = ": units, rate and upward axis fit" + ("" if off < 0.005 * GRAVITY else " within the error")
        return [Finding(f"Free flight falls at {size:.3f}{band} m/s^2, where 9.81 is expected{note}.")]
    return [_unit_finding(size, conventions)]


def _unit_finding(size: float, conventions: Conventions) -> Finding:
    """The units of length and time in which a fall at `size` [m/s^2], as converted now, is one at 9.81 m/s^2."""
    for time_unit, seconds in sorted(TIMES.items(), key=lambda each: each[0] != conventions.time_unit):
        for unit, metres in sorted(LENGTHS.items(), key=lambda each: each[0] != conventions.units):
            slack = SLACK if time_unit == conventions.time_unit else 2 * SLACK
            ratio = size / GRAVITY * metres / conventions.metres * (conventions.seconds / seconds) ** 2
            if abs(ratio - 1) <= slack:
                change = {"units": unit, "time_unit": time_unit}
                change = {name: value for name, value in change.items() if getattr(conventions, name) != value}
                what = {"units": f"positions are in {unit}", "time_unit": f"times are in {time_unit}"}
                remedy = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in change.items())
                text = " and ".join(what[name] for name in change)
                return Finding(f"Free flight falls at {size:.4g} m/s^2: {text}.", True, remedy, change)
    return Finding(f"Free flight falls at {size:.4g} m/s^2, which no usual unit explains.", True, "--units or --rate")


def check_size(body: Body, tosses: list[Clean]) -> list[Finding]:
    """Units of the body, from the distance that it moves."""
    moved = max(float(np.ptp(toss.position, axis=0).max()) for toss in tosses)
    size = float(np.ptp(body.vertices, axis=0).max())
    if size < 3 * moved:
        return []
    unit, name = ("mm", "millimetres") if size > 20 else ("cm", "centimetres")
    text = f"The body is {size:.4g} m long, but moves within {moved:.2g} m: its sizes look like {name}."
    return [Finding(text, True, f"them in metres, {size * LENGTHS[unit]:.4g} for {size:.4g}")]


def least_extent(body: Body) -> float:
    """The least extent of the body along its axes [m]; for a planar one, in its plane."""
    return float(np.ptp(body.vertices, axis=0)[[0, 2] if body.planar else [0, 1, 2]].min())


def lowest(body: Body, position: NDArray, quaternion: NDArray) -> tuple[NDArray, NDArray]:
    """Height of the lowest point [m] and the index of its vertex, both (n,)."""
    R = Rotation.from_quat(quaternion, scalar_first=True).as_matrix()
    heights = position[:, 2:] + R[:, 2] @ body.vertices.T - body.rounding
    return heights.min(axis=1), heights.argmin(axis=1)


def floor_height(body: Body, tosses: list[Clean]) -> tuple[float, float]:
    """Height of the floor [m], from the lowest corner at the ends of the tosses, and its spread."""
    resting = [toss for toss in tosses if toss.rests] or tosses
    ends = np.array([np.median(lowest(body, toss.position[-5:], toss.quaternion[-5:])[0]) for toss in resting])
    return float(np.median(ends)), float(np.percentile(ends, 90) - np.percentile(ends, 10))


def check_floor(body: Body, tosses: list[Clean], conventions: Conventions) -> tuple[float, list[Finding]]:
    """The height of the floor to use [m], and findings about it."""
    height, spread = floor_height(body, tosses)
    size = least_extent(body)
    findings = []
    if spread > UNLEVEL * size:
        text = f"The body does not come to rest on one plane, its lowest corner ends {1e3 * spread:.0f} mm apart"
        findings.append(Finding(f"{text}: is this the body, are its axes right?", wrong=spread > 0.5 * size))
    if conventions.floor is not None:
        if abs(height - conventions.floor) > max(FLOOR_TOLERANCE, 0.05 * size):
            off = abs(height - conventions.floor)
            text = f"The body rests on z = {height:.4f} m, {off:.4f} m from the floor that was given."
            findings.append(Finding(text, True, f"--floor {height:.4f}"))
        return conventions.floor, findings
    if abs(height) > FLOOR_TOLERANCE:
        findings.append(Finding(f"The body rests on a floor at z = {height:.4f} m: heights are counted from there."))
        return height, findings
    return 0.0, findings


def edge_scales(body: Body, tosses: list[Clean], interval: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Factors (3,) on the extents along the body's axes that fit the contacts seen best, and their standard errors.

    The lowest corner is on the floor at rest, and near it when an impact pushes the body up: one equation for each,

        z + min_v sum_a R_za s_a v_a = floor (at rest),   = floor - depth (in impacts),

    for the factors s, the height of the floor and the common depth of impacts: robust least squares with weak priors.
    """
    rows = [row for toss in tosses for row in _contact_poses(body, toss, interval)]
    height, up, error, impact = (np.array(part) for part in zip(*rows))
    x, prior = np.array([1.0, 1.0, 1.0, np.median(height), 0.0]), np.array([0.5, 0.5, 0.5, 1.0, 0.008])
    start, covariance = x.copy(), np.eye(5)
    for _ in range(12):
        corner = (up @ (x[:3] * body.vertices).T).argmin(axis=1)
        arms = up * body.vertices[corner]
        design = np.hstack([arms, -np.ones((len(rows), 1)), impact[:, np.newaxis]])
        off = height - body.rounding + design @ x
        weight = np.minimum(1.0, 2.0 * error / np.maximum(np.abs(off), 1e-12)) / error**2
        covariance = np.linalg.inv((design * weight[:, np.newaxis]).T @ design + np.diag(prior**-2))
        step = covariance @ (design.T @ (weight * off) + (x - start) / prior**2)
        x = x - np.clip(step, -0.15, 0.15)
        x[:3] = np.clip(x[:3], 0.2, 5.0)
    excess = np.sqrt(max(1.0, float(np.median((off / error) ** 2)) / 0.455))  # 0.455: that of a unit normal
    return x[:3], excess * np.sqrt(np.diag(covariance))[:3]


def _contact_poses(body: Body, toss: Clean, interval: float) -> list[tuple[float, NDArray, float, float]]:
    """Height [m], upward axis in body axes (3,), error of the height [m], and whether it is an impact, of contacts."""
    axes = Rotation.from_quat(toss.quaternion, scalar_first=True).as_matrix()
    z = (toss.position + axes @ body.com)[:, 2]
    rows = []
    if _is_still(toss, interval):
        rows.append((float(np.median(toss.position[-5:, 2])), axes[-3, 2], 0.001, 0.0))
    steps = np.diff(toss.frame) * interval
    speed = np.diff(z) / steps
    kick = np.diff(speed) > 0.35  # [m/s] from frame to frame
    for k in np.flatnonzero(kick & ~np.r_[False, kick[:-1]]) + 1:  # the first of successive frames
        fall = max(0.0, -speed[max(0, k - 2)])
        rows.append((float(toss.position[k, 2]), axes[k, 2], 0.002 + 0.5 * fall * interval, 1.0))
    return rows


def _is_still(toss: Clean, interval: float) -> bool:
    """Whether the body has come to rest in the last frames."""
    if len(toss.frame) < 12:
        return False
    drift = np.linalg.norm(toss.position[-3:].mean(axis=0) - toss.position[-9:-6].mean(axis=0))
    turn = Rotation.from_quat(toss.quaternion[[-1, -9]], scalar_first=True)
    return bool(drift < 0.03 * 6 * interval + 3e-4 and (turn[0] * turn[1].inv()).magnitude() < 0.03)


def check_edges(body: Body, tosses: list[Clean], interval: float) -> list[Finding]:
    """Extents of the body that the contacts contradict; without rests, the floor is not known well enough."""
    if len(tosses) < 8 or sum(_is_still(toss, interval) for toss in tosses) < 0.5 * len(tosses):
        return []
    scales, errors = edge_scales(body, tosses, interval)
    extents = np.ptp(body.vertices, axis=0) + 2 * body.rounding
    findings = []
    for name, scale, error, extent in zip("xyz", scales, errors, extents):
        if abs(scale - 1) > max(0.08, 4 * error):
            text = (
                f"Along its {name} axis the body was given as {1e3 * extent:.0f} mm, but its contacts fit "
                f"{1e3 * scale * extent:.0f} ± {1e3 * error * extent:.0f} mm: are its edges and axes right?"
            )
            # Corners below the floor prove that a side is too long; early impacts may have other causes.
            findings.append(Finding(text, wrong=bool(1 - scale > max(0.25, 5 * error))))
    return findings


def check_velocities(tosses: list[Clean], interval: float) -> list[Finding]:
    """Axes of the recorded velocities; they are reported only, since velocities are estimated from poses."""
    errors: dict[tuple[str, str], list[float]] = defaultdict(list)
    for toss in tosses:
        if toss.recorded is None or len(toss.frame) < 5:
            continue
        turn = Rotation.from_quat(toss.quaternion, scalar_first=True)
        step = (np.diff(toss.frame) * interval)[:, np.newaxis]
        linear = np.diff(toss.position, axis=0) / step
        angular = (turn[1:] * turn[:-1].inv()).as_rotvec() / step
        got, back = toss.recorded[1:], turn[1:].inv()
        for name, estimate, given in (("linear", linear, got[:, :3]), ("angular", angular, got[:, 3:])):
            size = np.linalg.norm(estimate) + 1e-12
            with np.errstate(over="ignore"):  # an infinite error does not fit the poses either
                errors[name, "world"].append(float(np.linalg.norm(estimate - given) / size))
                errors[name, "body"].append(float(np.linalg.norm(back.apply(estimate) - given) / size))
    findings = []
    for kind in ("linear", "angular") if errors else ():
        world, body = np.median(errors[kind, "world"]), np.median(errors[kind, "body"])
        if body < 0.6 * world and body < 0.5:
            text = f"Recorded {kind} velocities are in body axes; velocities are estimated from poses."
            findings.append(Finding(text))
        elif world > 0.5:
            findings.append(Finding(f"Recorded {kind} velocities do not fit the poses; they are estimated from poses."))
    return findings


def flight_frames(body: Body, toss: Clean, floor: float) -> int:
    """Number of leading frames whose lowest point is more than 8 mm above the floor."""
    heights, _ = lowest(body, toss.position, toss.quaternion)
    down = np.flatnonzero(heights - floor < 0.008)
    return int(down[0]) if len(down) else len(heights)
