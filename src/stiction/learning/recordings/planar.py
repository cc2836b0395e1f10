"""Planar recordings: is the angle read right, is the floor level, and is the angle that of the body?

A rectangle in a vertical plane is recorded as x, z and an angle that turns x towards z. Where it comes to rest it lies
flat on one of its sides: its angle is then a multiple of a quarter turn, plus the slope of the floor, plus whatever the
tracker's own axes are turned by. Rests along the floor tell the slope, and what is left is the tracker's.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.rotations import angles_in_plane, turns_in_plane
from stiction.learning.recordings.impact_checks import Impact, first_impact
from stiction.learning.recordings.physics_checks import Finding, lowest
from stiction.learning.recordings.poses import ANGLES, Clean, Conventions

STILL = 10  # last frames in which a body at rest stays where it is
MOVED = 0.01  # of its width: farther is no rest
QUARTER = np.pi / 2
ENOUGH_RESTS = 5  # to tell a slope
ENOUGH = 8  # impacts, to tell which way angles turn
SURE = 3.0  # standard errors of a slope that is one, and of votes that are not chance
FAINT, ABSURD = 0.2, 3.0  # times the usual torque: of friction that says nothing, and of a change of spin that is none
OFF = 0.1  # [degrees] by which an angle may be off without a word
TOO_FAST = 5.0  # times the spin that an impact can cause: angles are in another unit


def check_angles(body: Body, tosses: list[Clean], how: Conventions, interval: float) -> list[Finding]:
    """Unit of the angles, from first impacts: how much the push at the lowest corner can turn the body."""
    if how.up != "z" or how.mirror == "y":
        raise checks.InputError("Of a planar recording, the axes are x and z, with z up: name them by --columns.")
    faster = _spin_ratio(_impacts(body, tosses, interval))
    if 1 / TOO_FAST < faster < TOO_FAST or not np.isfinite(faster):
        return []
    (unit,) = set(ANGLES) - {how.angle}
    text = f"Impacts turn the body {faster:.2g} times as much as their push can"
    if (faster > 1) == (unit == "deg"):
        return [Finding(f"{text}: angles are in {unit}.", True, f"--angle {unit}")]
    return [Finding(f"{text}: is this the body, are its axes right?", True)]


def check_sense(body: Body, tosses: list[Clean], how: Conventions, interval: float) -> list[Finding]:
    """Which way angles turn, from first impacts: seen in a mirror, the floor's push turns the body as before, but its
    friction turns it the other way. Each impact has a vote, since many are two in one."""
    normal, friction, torque = np.array([_torques(i) for i in _impacts(body, tosses, interval)]).reshape(-1, 3).T
    large = np.abs(friction) > FAINT * np.median(np.abs(friction)) if len(friction) else np.zeros(0, dtype=bool)
    large &= np.abs(torque) < ABSURD * np.median(np.abs(normal) + np.abs(friction))
    if large.sum() < ENOUGH:
        return [Finding("There are too few impacts to tell which way angles turn.")]
    share = float((np.abs(torque - normal - friction) < np.abs(torque - normal + friction))[large].mean())
    votes = f"{share:.0%} of {large.sum()} impacts turn the body as friction does where angles turn"
    given, other = ("z towards x", "x towards z") if how.inverse else ("x towards z", "z towards x")
    if (0.5 - share) * 2 * np.sqrt(large.sum()) > SURE:
        remedy = "no --inverse" if how.inverse else "--inverse"
        return [Finding(f"Only {votes} {given}: they turn {other}.", True, remedy)]
    return [Finding(f"{votes} {given}.")]


def _torques(impact: Impact) -> tuple[float, float, float]:
    """About y: of the floor's push, of friction, and what changed the spin."""
    return -impact.arm[0] * impact.dv[2], impact.arm[2] * impact.dv[0], impact.torque[1]


def _impacts(body: Body, tosses: list[Clean], interval: float) -> list[Impact]:
    found = (first_impact(body, toss, interval) for toss in tosses)
    return [impact for impact in found if impact is not None]


def _spin_ratio(impacts: list[Impact]) -> float:
    """How much faster impacts make the body spin than their push at the lowest corner can: about 1."""
    if not impacts:
        return np.nan
    pushes = [float(np.linalg.norm(np.cross(impact.arm, impact.dv))) for impact in impacts]
    return float(np.median([np.linalg.norm(impact.torque) for impact in impacts]) / max(np.median(pushes), 1e-12))


def at_rest(body: Body, toss: Clean) -> bool:
    """Whether the body lies still at the end of a toss."""
    last = toss.position[-STILL:]
    reach = 0.5 * float(np.ptp(body.vertices, axis=0).max())
    turned = reach * np.ptp(angles_in_plane(toss.quaternion[-STILL:]))
    return bool(max(np.ptp(last, axis=0).max(), turned) < MOVED * 2 * reach)


@dataclass(frozen=True)
class Level:
    """How a recording is turned: the slope of its floor, and by what its angles are off; both [rad]."""

    slope: float = 0.0
    offset: float = 0.0

    def applied(self, toss: Clean) -> Clean:
        """The toss over a level floor, its angles those of the body."""
        c, s = np.cos(self.slope), np.sin(self.slope)
        x, y, z = toss.position.T
        angle = angles_in_plane(toss.quaternion) - self.slope - self.offset
        return replace(
            toss, position=np.stack([c * x + s * z, y, c * z - s * x], axis=1), quaternion=turns_in_plane(angle)
        )


def check_level(body: Body, tosses: list[Clean]) -> tuple[list[Clean], list[Finding]]:
    """The tosses over a level floor with angles that are those of the body, and what was found."""
    rests = [toss for toss in tosses if at_rest(body, toss)]
    if not rests:
        return tosses, [Finding("No toss comes to rest: a slope of the floor, or angles that are off, would not show.")]
    ends = [replace(t, position=_last(t.position), quaternion=_last(t.quaternion)) for t in rests]
    off = _offset(ends)
    slope, error = _slope(body, [Level(0.0, off).applied(end) for end in ends])
    slope = slope if abs(slope) > SURE * error else 0.0
    level = Level(slope, off - slope)
    findings = []
    if slope:
        size = f"{np.degrees(slope):.2f} ± {np.degrees(error):.2f} degrees"
        findings.append(Finding(f"The floor rises along x by {size}; the recording is turned by it."))
    if abs(np.degrees(level.offset)) > OFF:
        text = f"Where the body lies flat, its angle is off by {np.degrees(level.offset):.2f} degrees"
        findings.append(Finding(f"{text} ({len(rests)} rests); that is taken out."))
    return [level.applied(toss) for toss in tosses], findings


def _last(rows: NDArray) -> NDArray:
    return rows[-STILL // 2 :]


def _offset(ends: list[Clean]) -> float:
    """By what angles at rest are off a multiple of a quarter turn [rad]: the median."""
    angles = np.array([np.median(angles_in_plane(end.quaternion)) for end in ends])
    around = np.angle(np.exp(4j * angles).sum()) / 4
    return float(around + np.median((angles - around + QUARTER / 2) % QUARTER - QUARTER / 2))


def _slope(body: Body, ends: list[Clean]) -> tuple[float, float]:
    """Slope of the floor [rad], from the heights at which the body rests along it, and its standard error."""
    if len(ends) < ENOUGH_RESTS:
        return 0.0, np.inf
    x = np.array([np.median(end.position[:, 0]) for end in ends])
    z = np.array([np.median(lowest(body, end.position, end.quaternion)[0]) for end in ends])
    design = np.stack([np.ones_like(x), x - x.mean()], axis=1)
    line, weight = np.zeros(2), np.ones_like(x)
    for _ in range(10):  # least absolute deviations, nearly: a toss that ends on its edge says nothing
        line, *_ = np.linalg.lstsq(design * weight[:, np.newaxis], z * weight, rcond=None)
        left = np.abs(z - design @ line)
        weight = 1 / np.sqrt(np.maximum(left, 0.3 * np.median(left) + 1e-9))
    spread = 1.5 * np.median(np.abs(z - design @ line))
    return float(np.arctan(line[1])), float(1.25 * spread / max(1e-12, np.sqrt(len(x)) * x.std()))
