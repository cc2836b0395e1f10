"""Planar recordings: checks of the angle, a level floor, and repair of lost frames and wrong rows.

A rectangle in a vertical plane is recorded as x, z and an angle that turns x towards z. At rest it is flat on one of
its sides: its angle is then a multiple of a quarter turn, plus the slope of the floor, plus a constant offset of the
tracker. The heights of rests along the floor give the slope, and the residual is the offset.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.rotations import angles_in_plane, turns_in_plane
from stiction.recordings.impact_checks import first_impacts
from stiction.recordings.mechanics_checks import SURE, Finding, lowest
from stiction.recordings.poses import ANGLES, FEWEST, Clean, Conventions, Refused

STILL = 10  # last frames in which a body at rest does not move
QUARTER = np.pi / 2


def check_angles(body: Body, tosses: list[Clean], conventions: Conventions, interval: float) -> list[Finding]:
    """Unit of the angles, from first impacts: how much the push at the lowest corner can turn the body."""
    if conventions.up != "z" or conventions.mirror == "y":
        raise checks.InputError("The axes of a planar recording are x and z, with z up: name them by --columns.")
    impacts = first_impacts(body, tosses, interval)
    if not impacts:
        return []
    pushes = [float(np.linalg.norm(np.cross(impact.arm, impact.dv))) for impact in impacts]
    torques = [np.linalg.norm(impact.torque) for impact in impacts]
    faster = float(np.median(torques) / max(np.median(pushes), 1e-12))
    if 1 / 5 < faster < 5 or not np.isfinite(faster):
        return []
    (unit,) = set(ANGLES) - {conventions.angle}
    text = f"Impacts turn the body {faster:.2g} times as much as their push can"
    if (faster > 1) == (unit == "deg"):
        return [Finding(f"{text}: angles are in {unit}.", True, f"--angle {unit}")]
    return [Finding(f"{text}: is this the body, are its axes right?", True)]


def check_sense(body: Body, tosses: list[Clean], conventions: Conventions, interval: float) -> list[Finding]:
    """Sense of the angles, from first impacts: in a mirror, the floor's push turns the body as before, but its friction
    turns it the other way. Each impact has one vote, since many are two in one."""
    torques = [(-i.arm[0] * i.dv[2], i.arm[2] * i.dv[0], i.torque[1]) for i in first_impacts(body, tosses, interval)]
    normal, friction, torque = np.array(torques).reshape(-1, 3).T  # about y: of push, friction and change of spin
    large = np.abs(friction) > 0.2 * np.median(np.abs(friction)) if len(friction) else np.zeros(0, dtype=bool)
    large &= np.abs(torque) < 3 * np.median(np.abs(normal) + np.abs(friction))
    if large.sum() < 8:
        return [Finding("There are too few impacts to decide which way angles turn.")]
    share = float((np.abs(torque - normal - friction) < np.abs(torque - normal + friction))[large].mean())
    votes = f"{share:.0%} of {large.sum()} impacts turn the body as friction does where angles turn"
    given, other = ("z towards x", "x towards z") if conventions.inverse else ("x towards z", "z towards x")
    if (0.5 - share) * 2 * np.sqrt(large.sum()) > SURE:
        remedy = "no --inverse" if conventions.inverse else "--inverse"
        return [Finding(f"Only {votes} {given}: they turn {other}.", True, remedy)]
    return [Finding(f"{votes} {given}.")]


def at_rest(body: Body, toss: Clean) -> bool:
    """Whether the body is at rest at the end of a toss."""
    last = toss.position[-STILL:]
    reach = 0.5 * float(np.ptp(body.vertices, axis=0).max())
    turned = reach * np.ptp(angles_in_plane(toss.quaternion[-STILL:]))
    return bool(max(np.ptp(last, axis=0).max(), turned) < 0.01 * 2 * reach)


@dataclass(frozen=True)
class Level:
    """Rotation of a recording: the slope of its floor, and the offset of its angles; both [rad]."""

    slope: float = 0.0
    offset: float = 0.0

    def applied(self, toss: Clean) -> Clean:
        """The toss over a level floor, without the offset."""
        c, s = np.cos(self.slope), np.sin(self.slope)
        x, y, z = toss.position.T
        angle = angles_in_plane(toss.quaternion) - self.slope - self.offset
        return replace(
            toss, position=np.stack([c * x + s * z, y, c * z - s * x], axis=1), quaternion=turns_in_plane(angle)
        )


def check_level(body: Body, tosses: list[Clean]) -> tuple[list[Clean], list[Finding]]:
    """The tosses over a level floor, without the offset of their angles, and the findings."""
    rests = [toss for toss in tosses if at_rest(body, toss)]
    if not rests:
        text = "No toss comes to rest: a slope of the floor or an offset of the angles is not observable."
        return tosses, [Finding(text)]
    last = slice(-STILL // 2, None)
    ends = [replace(t, position=t.position[last], quaternion=t.quaternion[last]) for t in rests]
    off = _offset(ends)
    slope, error = _slope(body, [Level(0.0, off).applied(end) for end in ends])
    slope = slope if abs(slope) > SURE * error else 0.0
    level = Level(slope, off - slope)
    findings = []
    if slope:
        size = f"{np.degrees(slope):.2f} ± {np.degrees(error):.2f} degrees"
        findings.append(Finding(f"The floor rises along x by {size}; the recording is turned by it."))
    if abs(np.degrees(level.offset)) > 0.1:
        text = f"At rest, the angle of the body is off by {np.degrees(level.offset):.2f} degrees"
        findings.append(Finding(f"{text} ({len(rests)} rests); this is corrected."))
    return [level.applied(toss) for toss in tosses], findings


def _offset(ends: list[Clean]) -> float:
    """Median offset of the angles at rest from a multiple of a quarter turn [rad]."""
    angles = np.array([np.median(angles_in_plane(end.quaternion)) for end in ends])
    around = np.angle(np.exp(4j * angles).sum()) / 4
    return float(around + np.median((angles - around + QUARTER / 2) % QUARTER - QUARTER / 2))


def _slope(body: Body, ends: list[Clean]) -> tuple[float, float]:
    """Slope of the floor [rad], from the heights at which the body rests along it, and its standard error."""
    if len(ends) < 5:
        return 0.0, np.inf
    x = np.array([np.median(end.position[:, 0]) for end in ends])
    z = np.array([np.median(lowest(body, end.position, end.quaternion)[0]) for end in ends])
    design = np.stack([np.ones_like(x), x - x.mean()], axis=1)
    line, weight = np.zeros(2), np.ones_like(x)
    for _ in range(10):  # nearly least absolute deviations: a toss that ends on its edge is an outlier
        line, *_ = np.linalg.lstsq(design * weight[:, np.newaxis], z * weight, rcond=None)
        residual = np.abs(z - design @ line)
        weight = 1 / np.sqrt(np.maximum(residual, 0.3 * np.median(residual) + 1e-9))
    spread = 1.5 * np.median(np.abs(z - design @ line))
    return float(np.arctan(line[1])), float(1.25 * spread / max(1e-12, np.sqrt(len(x)) * x.std()))


# Repair: frames that the tracker lost, rows that it got wrong, and turns by a symmetry of the body.


@dataclass(frozen=True)
class MendSettings:
    """Tolerances by which steps from row to row are explained; lengths in shares of the body's width."""

    faster: float = 1.15  # a step this many times longer than the one before it takes more than one frame
    noise: float = 0.007  # error of a row
    close: float = 0.025  # residual of a step that is explained
    symmetric: float = 0.013  # the same for a step that needs the body turned by a symmetry
    max_lost: int = 16  # frames in one step
    max_wrong: int = 4  # consecutive rows
    max_guessed: int = 4  # frames of a step with more than one impact, which only speed bounds from below
    parts: int = 4  # of a frame, at which the time of an impact is searched


SETTINGS = MendSettings()


@dataclass(frozen=True)
class _Step:
    """A step from one row to the next correct one.

    rows: number of rows; frames: duration; turn: added by the tracker, in symmetries of the body
    """

    rows: int
    frames: int
    turn: int = 0


class Mending:
    """Explains a toss step by step: counts lost frames, leaves out wrong rows and undoes turns by a symmetry.

    gravity: (3,) [m/s^2], as the recorder sees it
    """

    def __init__(self, toss: Clean, body: Body, interval: float, gravity: NDArray[np.float64]) -> None:
        self.toss = toss
        self.radius = float(np.sqrt(body.inertia[1, 1] / body.mass))
        self.width = float(np.ptp(body.vertices, axis=0)[[0, 2]].mean())
        self.symmetry = _symmetry(body)
        self.whole = round(2 * np.pi / self.symmetry)  # symmetries in a whole turn, which changes nothing
        self.fall = interval**2 * np.array([gravity[0], gravity[2], 0.0])  # a frame
        self.angle = angles_in_plane(toss.quaternion)
        self.path = np.stack([toss.position[:, 0], toss.position[:, 2], self.radius * self.angle], axis=1)
        self.given = np.diff(toss.frame)  # frames from row to row, if they are known
        self.doubtful = self._doubtful()

    def _doubtful(self) -> NDArray[np.bool_]:
        """Steps (n,) that may be too long for their frames; the others are not examined."""
        velocity = np.diff(self.path, axis=0) / self.given[:, np.newaxis]
        speed, ahead = np.linalg.norm(velocity, axis=1), np.median(sliding_window_view(velocity, 3, axis=0), axis=2)
        doubtful = np.zeros(len(speed), dtype=bool)
        k = np.arange(2, len(ahead) - 1)
        doubtful[k] = speed[k] > self._fastest(velocity[k - 1], speed[k - 1], speed[k - 1], ahead[k + 1])
        return doubtful

    def _fastest(self, last: NDArray, last_speed, usual_speed, ahead: NDArray):
        """Greatest length a frame of steps that come after `last` (..., 3) and before `ahead` (..., 3)."""
        noise = SETTINGS.noise * self.width
        fastest = SETTINGS.faster * np.maximum(usual_speed, last_speed) + noise
        return np.where(self._steady(last, last_speed, ahead), np.minimum(fastest, 1.5 * last_speed + noise), fastest)

    def _steady(self, last: NDArray, last_speed, ahead: NDArray):
        """Whether velocities (..., 3) before and after a step are nearly the same, without an impact between them."""
        tolerance = SETTINGS.faster * SETTINGS.noise * self.width + 0.15 * last_speed
        return np.linalg.norm(last - ahead, axis=-1) < tolerance

    def result(self) -> Clean:
        """The toss with these corrections; it is cut where no step fits."""
        rows, frames, turns = [0], [0], [0]
        while rows[-1] < len(self.path) - 1 and (step := self._step(rows, frames, turns)) is not None:
            rows.append(rows[-1] + step.rows)
            frames.append(frames[-1] + step.frames)
            turns.append(turns[-1] + step.turn)
        if len(rows) < FEWEST:
            raise Refused(f"{self.toss.name} cannot be followed from row {rows[-1]} on: the body jumps.")
        last = rows[-1] + 1
        left_out = {
            "they do not fit the motion before and after": last - len(rows),
            "they come after a jump": len(self.path) - last,
        }
        lost = frames[-1] - int(self.toss.frame[rows[-1]] - self.toss.frame[0])
        turned = int(np.count_nonzero(np.diff(turns) % self.whole))
        mended = {"frames that the tracker had lost": lost, "jumps to another side of the body": turned}
        at = np.array(rows)
        return replace(
            self.toss,
            frame=np.array(frames),
            position=self.toss.position[at],
            quaternion=turns_in_plane(self.angle[at] - self.symmetry * np.array(turns)),
            recorded=None if self.toss.recorded is None else self.toss.recorded[at],
            notes=self.toss.notes | {name: number for name, number in left_out.items() if number},
            mended={name: number for name, number in mended.items() if number},
        )

    def _step(self, rows: list[int], frames: list[int], turns: list[int]) -> _Step | None:
        """The step from the last correct row; None if none is explained."""
        k, path = rows[-1], self.path
        plain = _Step(1, int(self.given[k]))
        if not self.doubtful[k] and all(further == 1 for further in np.diff(frames[-4:])):
            return plain
        ahead = self._velocity(k + 1)
        if len(rows) < 3 or ahead is None:
            return plain
        recent = path[rows[-4:]] - self._turned(turns[-4:])
        before = np.diff(recent, axis=0) / np.diff(frames[-4:])[:, np.newaxis]
        speeds = np.linalg.norm(before, axis=1)
        fastest = float(self._fastest(before[-1], speeds[-1], np.median(speeds), ahead))
        if np.linalg.norm(path[k + 1] - path[k]) <= fastest * plain.frames:
            return plain
        return self._explained(k, (np.median(before, axis=0), before[-1]), fastest)

    def _turned(self, turns: list[int]) -> NDArray[np.float64]:
        return np.outer(turns, [0.0, 0.0, self.radius * self.symmetry])

    def _velocity(self, k: int) -> NDArray[np.float64] | None:
        """Velocity a frame after row k: the median of the next steps."""
        moves = np.diff(self.path[k : k + 4], axis=0) / self.given[k : k + 3, np.newaxis]
        return np.median(moves, axis=0) if len(moves) >= 2 else None

    def _explained(self, k: int, before: tuple[NDArray, NDArray], fastest: float) -> _Step | None:
        """The simplest explanation of a step that is too long."""
        whole, half = self.whole, self.whole // 2
        for turns, close in (
            ([0, -whole, whole], SETTINGS.close),
            ([*range(-half, 0), *range(1, half + 1)], SETTINGS.symmetric),
        ):
            for wrong in range(SETTINGS.max_wrong + 1):
                after = self._velocity(k + 1 + wrong)
                if after is None or not turns:
                    break
                found = min(self._flights(k, wrong, v, after, turn) for v in before for turn in turns)
                if found[0] < close * self.width:
                    return _Step(wrong + 1, *found[1:])
        usual = before[0]
        for wrong in range(SETTINGS.max_wrong + 1):
            after = self._velocity(k + 1 + wrong)
            if after is None or self._steady(usual, np.linalg.norm(usual), after):
                continue
            if frames := self._least(k, wrong, usual, after, fastest):
                return _Step(wrong + 1, frames)
        return None

    def _flights(self, k: int, wrong: int, before, after, turn: int) -> tuple[float, int, int]:
        """Residual of a step explained by two flights with one impact between them, its duration, and the turn."""
        step = self.path[k + 1 + wrong] - self.path[k] - self._turned([turn])[0]
        known = int(self.given[k : k + 1 + wrong].sum())
        frames, first = _times(known, known if self.toss.stamped else max(known, SETTINGS.max_lost))
        second = frames - first
        moved = np.outer(first, before) + np.outer(second, after) + np.outer(0.5 * (first**2 - second**2), self.fall)
        residual = np.linalg.norm(step - moved, axis=1)
        best = int(residual.argmin())
        return float(residual[best]), int(frames[best]), turn

    def _least(self, k: int, wrong: int, before, after, fastest: float) -> int:
        """The least number of frames of a step with several impacts, 0 if it is too great."""
        step = self.path[k + 1 + wrong] - self.path[k]
        known = int(self.given[k : k + 1 + wrong].sum())
        if self.toss.stamped:
            return known if np.linalg.norm(step) <= fastest * known else 0
        for frames in range(known, SETTINGS.max_guessed + wrong + 1):
            _, times = _times(frames, frames)
            first, last = (part.ravel() for part in np.meshgrid(times, times))
            residual = np.linalg.norm(step - np.outer(first, before) - np.outer(last, after), axis=1)
            if ((first + last <= frames) & (residual <= fastest * (frames - first - last))).any():
                return frames
        return 0


@lru_cache
def _times(least: int, most: int) -> tuple[NDArray, NDArray]:
    """All lengths of a step [frames] with all times of an impact in it."""
    parts = SETTINGS.parts
    pairs = [(frames, t / parts) for frames in range(least, most + 1) for t in range(frames * parts + 1)]
    frames, first = np.array(pairs, dtype=np.float64).T
    return frames, first


def _symmetry(body: Body) -> float:
    """The least turn in its plane [rad] that maps a body onto itself."""
    corners = body.vertices[:, [0, 2]] - body.vertices[:, [0, 2]].mean(axis=0)
    for turn in (np.pi / 2, np.pi):
        c, s = np.cos(turn), np.sin(turn)
        away = np.linalg.norm((corners @ [[c, s], [-s, c]])[:, np.newaxis] - corners, axis=2).min(axis=1)
        if away.max() < 0.01 * np.ptp(corners, axis=0).max():
            return turn
    return 2 * np.pi
