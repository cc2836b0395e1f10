"""Friction as recordings show it, without a law of contact: slides.

Slides are pieces of tosses in which the body slides to rest on one of its faces. A body that slides on level ground
without tumbling is pressed by its weight, whatever its shape: friction decelerates its centre of mass at mu g. Each
slide is therefore a measurement of mu that needs no law of contact, with

    s(t) = s0 + v0 t - mu g t^2 / 2   until it stops at t = v0 / (mu g),   s = constant afterwards,

for the path s of the centre of mass, by least squares over (s0, v0, mu g). A slow spin turns the friction of the single
points away from the path; with evenly distributed pressure, it is corrected by the mean cosine of these angles.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from stiction.bodies.body import Body
from stiction.fit.gauss_newton import sum_covariance, sums_by
from stiction.laws.impact import SLIP_SPEED
from stiction.recordings.tosses import Toss, Tosses


@dataclass(frozen=True)
class SlideSettings:
    """Which pieces of a toss count as slides.

    flatness: height of the third-lowest corner above the ground, relative to the least extent of the body, below which
        the body lies on a face
    settling: frames after the body has come to lie on a face that are left out, since the last impact may go on, and
        the same in time constants of the impacts
    min_frames, min_moving: of a slide, and of its part before the body stops
    min_distance: [m], and in standard deviations of the recorder's noise
    max_bend: sideways motion relative to the distance
    min_alignment: mean cosine of the angle between the slips of the points and the path
    min_tosses: with slides, from which friction counts as observed
    """

    flatness: float = 0.015
    settling: tuple[int, float] = (2, 6.0)
    min_frames: int = 7
    min_moving: int = 5
    min_distance: tuple[float, float] = (0.012, 8.0)
    max_bend: float = 0.15
    min_alignment: float = 0.8
    min_tosses: int = 3


SETTINGS = SlideSettings()


@dataclass(frozen=True)
class Slide:
    """One slide: its toss, initial speed [m/s], direction [rad], duration [s], friction and its standard error."""

    toss: int
    speed: float
    direction: float
    duration: float
    friction: float
    error: float

    @property
    def typical_speed(self) -> float:
        """The mean speed over the distance of a constant deceleration to rest [m/s]."""
        return 2 / 3 * self.speed


@dataclass(frozen=True)
class SlidingFriction:
    """Friction under the body's own weight, mu(v) = friction (1 + rise log10(v / SLIP_SPEED)), from several slides.

    errors: standard errors of friction and rise; rise is 0 where it is not significant
    speeds: range of slip speeds that hold 90 % of the slides [m/s]; seconds: of all slides
    by_direction: coefficients along x, along y, and on the diagonals between them, if they differ significantly
    """

    friction: float
    rise: float
    errors: tuple[float, float]
    n_slides: int
    n_tosses: int
    speeds: tuple[float, float]
    seconds: float
    by_direction: tuple[float, float, float] | None = None


def measure_slides(tosses: Tosses, body: Body, gravity: float, impact_time: float = 0.0) -> list[Slide]:
    """Return all slides in the recorded tosses of a body.

    gravity: [m/s^2], downwards; impact_time: time constant of the impacts [s]
    """
    if body.planar:
        return []
    noise = position_noise(tosses, body, gravity)
    n_frames, time_constants = SETTINGS.settling
    settling = n_frames + round(time_constants * impact_time / tosses.timestep)
    return [
        slide
        for number, toss in enumerate(tosses.tosses)
        for found in _resting_pieces(toss, body, settling, noise)
        if (slide := _slide(number, toss, found, tosses.timestep, body, gravity, noise)) is not None
    ]


def position_noise(tosses: Tosses, body: Body, gravity: float) -> float:
    """Return the root mean square of the recorder's noise over the axes [m]."""
    return float(np.sqrt(np.mean(np.square(tosses.noise(body, (0.0, 0.0, -gravity)).position))))


def _resting_pieces(toss: Toss, body: Body, settling: int, noise: float) -> Iterator[slice]:
    """Return the pieces of a toss in which the body lies on a face, after it has settled."""
    third = np.partition(corner_heights(toss, body), 2, axis=1)[:, 2]
    extent = float(np.ptp(body.vertices, axis=0).min())
    lies = (third < SETTINGS.flatness * extent + 3 * noise) & (np.arange(len(third)) >= toss.flight)
    lies[1:] &= np.diff(toss.frame) == 1
    for first, end in np.flatnonzero(np.diff(np.r_[0, lies, 0])).reshape(-1, 2).tolist():
        if end - first - settling >= SETTINGS.min_frames:
            yield slice(first + settling, end)


def corner_heights(toss: Toss, body: Body) -> NDArray[np.float64]:
    """Return the heights of all corners (frames, corners) [m]."""
    up = Rotation.from_quat(toss.quaternion, scalar_first=True).as_matrix()[:, 2]
    return toss.position[:, 2:] + up @ body.vertices.T - body.rounding


def _slide(
    number: int, toss: Toss, piece: slice, timestep: float, body: Body, gravity: float, noise: float
) -> Slide | None:
    """Return the slide in a piece of a toss, or None if there is none."""
    turn = Rotation.from_quat(toss.quaternion[piece], scalar_first=True)
    axes = turn.as_matrix()
    found = _stopping((toss.position[piece] + axes @ body.com)[:, :2], timestep, noise)
    if found is None:
        return None
    speed, deceleration, error, direction = found
    duration = min((len(axes) - 1) * timestep, speed / deceleration)
    if duration < SETTINGS.min_moving * timestep:
        return None
    last = int(duration / timestep)
    spin = (turn[last] * turn[0].inv()).as_rotvec()[2] / duration
    heights = body.vertices @ axes[last // 2, 2]
    touching = heights < heights.min() + 2 * SETTINGS.flatness * float(np.ptp(body.vertices, axis=0).min()) + 3 * noise
    arms = (body.vertices[touching] - body.com) @ axes[last // 2].T
    slip = 0.5 * speed * direction + spin * np.stack([-arms[:, 1], arms[:, 0]], axis=1)
    alignment = float(np.mean(slip @ direction / np.maximum(np.linalg.norm(slip, axis=1), 1e-12)))
    if alignment < SETTINGS.min_alignment:
        return None
    friction = deceleration / gravity / alignment
    angle = float(np.arctan2(direction[1], direction[0]))
    return Slide(number, speed, angle, duration, friction, max(error / gravity, 0.01 * friction))


def _stopping(path: NDArray[np.float64], timestep: float, noise: float) -> tuple[float, float, float, NDArray] | None:
    """Return initial speed, deceleration, its standard error and the direction (2,) of a path (n, 2), or None."""
    away = path - path[0]
    distance = float(np.linalg.norm(away[-1]))
    least, deviations = SETTINGS.min_distance
    if distance < max(least, deviations * noise):
        return None
    direction = away[-1] / distance
    along, sideways = away @ direction, away @ [-direction[1], direction[0]]
    if np.ptp(sideways) > SETTINGS.max_bend * distance + 6 * noise:
        return None
    t = timestep * np.arange(len(path))

    def residuals(x: NDArray[np.float64]) -> NDArray[np.float64]:
        start, speed, deceleration = x
        until = np.minimum(t, speed / deceleration)
        return (start + speed * until - 0.5 * deceleration * until**2 - along) / noise

    speed = max(along[4] / t[4], 1e-3)
    bounds = ([-np.inf, 1e-6, 1e-3], np.inf)
    guesses = ([0.0, speed, share * 9.81] for share in (0.4, 0.1))
    found = min((least_squares(residuals, x, bounds=bounds, x_scale=[1e-3, 0.1, 1.0]) for x in guesses), key=_cost)
    excess = max(1.0, 2 * found.cost / max(1, len(t) - 3))
    information = found.jac.T @ found.jac
    if np.linalg.cond(information) > 1e14:
        return None
    error = float(np.sqrt(np.linalg.inv(information)[2, 2] * excess))
    return float(found.x[1]), float(found.x[2]), error, direction


def _cost(found) -> float:
    return found.cost


def sliding_friction(slides: list[Slide]) -> SlidingFriction | None:
    """Combine slides into friction as a function of speed; None if there are too few to count as observed.

    Weighted least squares on log10(v), with Huber's weights; standard errors from how whole tosses differ.
    """
    toss = np.array([s.toss for s in slides], dtype=np.int64)
    if len(np.unique(toss)) < SETTINGS.min_tosses:
        return None
    friction, error, speed, angle = (
        np.array([getattr(s, name) for s in slides]) for name in ("friction", "error", "typical_speed", "direction")
    )
    decades = np.log10(speed / SLIP_SPEED)
    one = np.ones(len(slides))
    level, level_errors = robust_regression(one[:, np.newaxis], friction, error, toss)
    values, errors = level[:1], level_errors[:1]
    rise, rise_error = 0.0, np.inf
    if len(slides) > 2 * SETTINGS.min_tosses and np.ptp(decades) > 0.3:
        both, both_errors = robust_regression(np.stack([one, decades], axis=1), friction, error, toss)
        rise_error = float(both_errors[1] / both[0])
        if abs(both[1]) > 2.5 * both_errors[1]:
            values, errors, rise = both, both_errors, float(both[1] / both[0])
    by_direction = None
    if len(slides) > 4 * SETTINGS.min_tosses:
        shape = np.stack([one, decades * (rise != 0), np.cos(2 * angle), np.cos(4 * angle)], axis=1)
        turned, turned_errors = robust_regression(shape, friction, error, toss)
        if (np.abs(turned[2:]) > np.maximum(3 * turned_errors[2:], 0.03 * turned[0])).any():
            a, two, four = turned[0], turned[2], turned[3]
            by_direction = float(a + two + four), float(a - two + four), float(a - four)
    low, high = np.percentile(speed, [5, 95])
    return SlidingFriction(
        friction=float(values[0]),
        rise=rise,
        errors=(float(errors[0]), rise_error),
        n_slides=len(slides),
        n_tosses=len(np.unique(toss)),
        speeds=(float(low), float(high)),
        seconds=float(sum(s.duration for s in slides)),
        by_direction=by_direction,
    )


def robust_regression(
    X: NDArray[np.float64], y: NDArray[np.float64], error: NDArray[np.float64], toss: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return coefficients (p,) of y (n,) on X (n, p) by Huber's method, and their errors clustered by toss."""
    ridge = 1e-9 * np.eye(X.shape[1])
    weight, found, inverse = 1 / error**2, np.zeros(X.shape[1]), ridge
    for _ in range(20):
        inverse = np.linalg.inv((X * weight[:, np.newaxis]).T @ X + ridge)
        found = inverse @ (X.T @ (weight * y))
        off = np.abs(y - X @ found) / error
        weight = np.minimum(1.0, 2.0 / np.maximum(off, 1e-12)) / error**2
    gradients = sums_by(X * (weight * (y - X @ found))[:, np.newaxis], toss)
    spread = inverse @ sum_covariance(gradients) @ inverse
    return found, np.sqrt(np.maximum(np.diag(spread), np.diag(inverse)))
