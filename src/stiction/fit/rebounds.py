"""Restitution as recordings show it, without a law of contact: the first rebound of each toss.

A toss flies, touches with one corner, and flies again. Both flights determine the motion of the body without any law of
contact: extrapolated to the touch and back to the release, they give the normal velocities v- and v+ of the corner, and

    e = -v+ / v-.

How long the contact lasts in between does not matter, which makes this a measurement of soft contacts, too.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.fit.slides import corner_heights, position_noise, robust_regression
from stiction.laws.impact import IMPACT_SPEED
from stiction.recordings.flight import Flown, rotations
from stiction.recordings.tosses import Toss, Tosses


@dataclass(frozen=True)
class ReboundSettings:
    """Which pieces of a toss count as rebounds.

    min_frames: of the flight after the first impact, and of the one before it
    min_height: of the lowest corner in flight, in standard deviations of its noise
    max_duration: of the contact [s]; max_search: from the release to the first frame that counts as flight [s]
    min_speed: of the approach [m/s]
    min_tosses: with rebounds, from which restitution counts as observed
    """

    min_frames: int = 5
    min_height: float = 4.0
    max_duration: float = 0.06
    max_search: float = 0.02
    min_speed: float = 0.2
    min_tosses: int = 3


SETTINGS = ReboundSettings()


@dataclass(frozen=True)
class Rebound:
    """One rebound: its toss, approach speed [m/s], restitution with its standard error, and duration [s]."""

    toss: int
    speed: float
    restitution: float
    error: float
    duration: float


@dataclass(frozen=True)
class MeasuredRestitution:
    """Restitution of a corner that arrives at IMPACT_SPEED, from several rebounds.

    speeds: range of approach speeds that hold 90 % of the rebounds [m/s]
    duration: median of the contacts [s]
    """

    restitution: float
    error: float
    n_rebounds: int
    speeds: tuple[float, float]
    duration: float


class _Motion:
    """Free motions (n,) near one instant, from fitted flights: linear in time but for gravity."""

    def __init__(self, flown: Flown, frame: NDArray[np.int64], body: Body, gravity: NDArray[np.float64]) -> None:
        n, t = np.arange(len(frame)), flown.flights.timestep * frame[:, np.newaxis]
        start = flown.states(body.com, gravity)
        arm = flown.turned[:, 0] @ body.com
        velocity = start.velocity + np.cross(start.angular_velocity, arm)
        self.position = start.position + arm + velocity * t + 0.5 * gravity * t**2
        self.velocity, self.gravity = velocity + gravity * t, gravity
        self.axes = rotation_matrices(flown.quaternion[n, frame])
        local = np.einsum("nji,nj->ni", self.axes, flown.momentum)
        self.spin = np.einsum("nij,nj->ni", self.axes, local @ np.linalg.inv(flown.shape))
        self.corners = body.vertices - body.com
        self.rounding = body.rounding

    def arms(self, time: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the corners relative to the centre of mass after times (n,) [s], world axes, (n, corners, 3)."""
        turned = rotations(self.spin * time[:, np.newaxis]) @ self.axes
        return self.corners @ np.swapaxes(turned, 1, 2)

    def heights(self, time: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the heights of the corners after times (n,) [s], (n, corners) [m]."""
        up = self.position[:, 2] + self.velocity[:, 2] * time + 0.5 * self.gravity[2] * time**2
        return self.arms(time)[:, :, 2] + up[:, np.newaxis] - self.rounding

    def speeds(self, time: NDArray[np.float64], corner: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the vertical velocity of one corner of each after times (n,) [s], (n,) [m/s]."""
        arm = self.arms(time)[np.arange(len(corner)), corner]
        return self.velocity[:, 2] + self.gravity[2] * time + np.cross(self.spin, arm)[:, 2]


def measure_rebounds(tosses: Tosses, body: Body, gravity: float) -> list[Rebound]:
    """Return the first rebound of each toss that shows one; gravity: [m/s^2], downwards."""
    if body.planar:
        return []
    g, dt = np.array([0.0, 0.0, -gravity]), tosses.timestep
    pieces = [
        (i, first, end) for i, toss in enumerate(tosses.tosses) for first, end in _second_flight(toss, tosses, body, g)
    ]
    if not pieces:
        return []
    number, first, _ = np.array(pieces).T
    before = tosses[number]
    after = Tosses([_piece(tosses.tosses[i], k, end) for i, k, end in pieces], dt, whole=tosses.whole)
    touch = np.array([toss.frame[toss.flight - 1] for toss in before.tosses])
    release = np.array([toss.frame[k] for toss, k in zip(before.tosses, first)])
    try:
        arriving = _Motion(before.flights.flown(body.inertia), touch, body, g)
        leaving = _Motion(after.flights.flown(body.inertia), np.zeros(len(number), dtype=np.int64), body, g)
    except checks.InputError:  # such short and noisy flights show no rotation
        return []

    n = np.arange(len(number))
    at_touch = _crossing(lambda t: arriving.heights(t).min(axis=1), len(n), dt)
    corner = arriving.heights(np.nan_to_num(at_touch)).argmin(axis=1)
    at_release = -_crossing(lambda t: leaving.heights(-t)[n, corner], len(n), dt, SETTINGS.max_search)
    duration = (release - touch) * dt + at_release - at_touch
    fine = np.isfinite(duration) & (duration < SETTINGS.max_duration) & (duration > -0.5 * dt)
    at_touch, at_release = np.nan_to_num(at_touch), np.nan_to_num(at_release)
    others = np.stack([arriving.heights(at_touch), leaving.heights(at_release)])
    others[:, n, corner] = np.inf
    fine &= others.min(axis=(0, 2)) > 0.0  # no other corner has touched, nor does one in the frames between
    fine &= [_others_fly(toss, body, k, c) for toss, k, c in zip(before.tosses, first.tolist(), corner.tolist())]
    down, up = -arriving.speeds(at_touch, corner), leaving.speeds(at_release, corner)
    fine &= down > SETTINGS.min_speed
    errors = [
        _speed_errors(some, body, g, motion.arms(time)[n, corner])
        for some, motion, time in ((before, arriving, at_touch), (after, leaving, at_release))
    ]
    found = up / np.maximum(down, 1e-9)
    error = np.hypot(errors[1], found * errors[0]) / np.maximum(down, 1e-9)
    rows = zip(number.tolist(), down.tolist(), found.tolist(), error.tolist(), duration.tolist())
    return [Rebound(*row) for row, kept in zip(rows, fine) if kept]


def _second_flight(toss: Toss, tosses: Tosses, body: Body, gravity: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return first frame and end of the flight after the first impact of a toss, or nothing."""
    height, arm = corner_heights(toss, body).min(axis=1), float(np.linalg.norm(body.vertices - body.com, axis=1).max())
    deviation = np.hypot(position_noise(tosses, body, -gravity[2]), arm * tosses.noise(body, gravity).rotation)
    flies = (height > SETTINGS.min_height * deviation) & (np.arange(len(height)) >= toss.flight)
    flies[1:] &= np.diff(toss.frame) == 1
    if toss.flight - toss.held < SETTINGS.min_frames:
        return []
    for first, end in np.flatnonzero(np.diff(np.r_[0, flies, 0])).reshape(-1, 2).tolist():
        away = (toss.frame[first] - toss.frame[toss.flight - 1]) * tosses.timestep
        if away > SETTINGS.max_duration + 3 * tosses.timestep:
            return []
        if end - first >= SETTINGS.min_frames:
            return [(first, end)]
    return []


def _others_fly(toss: Toss, body: Body, first: int, corner: int) -> bool:
    """Return whether no other corner is at the ground between the flights, the second of which starts at `first`."""
    return bool((np.delete(corner_heights(toss, body)[toss.flight : first], corner, axis=1) > 0.0).all())


def _piece(toss: Toss, first: int, end: int) -> Toss:
    """Return the frames from `first` to `end` as a toss that only flies."""
    some = slice(first, end)
    return Toss(toss.frame[some] - toss.frame[first], toss.position[some], toss.quaternion[some], end - first)


def _crossing(height, n: int, dt: float, longest: float = 0.0) -> NDArray[np.float64]:
    """Return when heights (n,), a function of times (n,), fall below 0; NaN: never.

    The search starts one frame before now and ends two frames later, or after the time `longest` [s].
    """
    times = np.linspace(-dt, max(2 * dt, longest), 65)
    rows = np.array([height(np.full(n, t)) for t in times])
    k = np.argmax(rows < 0, axis=0)
    crosses = (rows < 0).any(axis=0) & (k > 0)
    k, each = np.maximum(k, 1), np.arange(n)
    above, below = rows[k - 1, each], rows[k, each]
    share = np.divide(above, above - below, out=np.zeros(n), where=above > below)
    return np.where(crosses, times[k - 1] + share * (times[k] - times[k - 1]), np.nan)


def _speed_errors(tosses: Tosses, body: Body, gravity: NDArray, arm: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard errors (n,) of the vertical velocities of corners; arm: from the centre of mass (n, 3)."""
    slope = np.zeros((len(arm), 12))
    slope[:, 8], slope[:, 9], slope[:, 10] = 1.0, arm[:, 1], -arm[:, 0]
    covariance = tosses.start_covariances(body, gravity)
    return np.sqrt(np.einsum("ni,nij,nj->n", slope, covariance, slope))


def rebound_restitution(rebounds: list[Rebound]) -> MeasuredRestitution | None:
    """Combine rebounds into restitution as a function of speed; None if there are too few to count as observed."""
    if len(rebounds) < SETTINGS.min_tosses:
        return None
    toss, speed, value, error, duration = (
        np.array([getattr(r, name) for r in rebounds]) for name in ("toss", "speed", "restitution", "error", "duration")
    )
    decades, one = np.log10(speed / IMPACT_SPEED), np.ones(len(rebounds))
    spread = 1.48 * float(np.median(np.abs(value - np.median(value))))
    error = np.hypot(error, max(spread, 0.01))  # impacts differ by more than the noise of the recorder
    level, errors = robust_regression(one[:, np.newaxis], value, error, toss)
    if len(rebounds) > 4 * SETTINGS.min_tosses and np.ptp(decades) > 0.3:
        both, both_errors = robust_regression(np.stack([one, decades], axis=1), value, error, toss)
        if abs(both[1]) > 3 * both_errors[1]:
            level, errors = both, both_errors
    low, high = np.percentile(speed, [5, 95])
    return MeasuredRestitution(
        restitution=float(np.clip(level[0], 0.0, 1.0)),
        error=float(errors[0]),
        n_rebounds=len(rebounds),
        speeds=(float(low), float(high)),
        duration=float(np.median(duration)),
    )
