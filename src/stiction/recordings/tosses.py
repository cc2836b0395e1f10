"""Recorded tosses: poses, frames of free flight, and the state at the start with its uncertainty."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks, splits
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_vectors
from stiction.bodies.state import State
from stiction.bodies.trajectory import Trajectory
from stiction.laws.law import GRAVITY
from stiction.recordings.flight import Flights
from stiction.recordings.start_noise import Noise, draw, moved, noise_of, start_covariances
from stiction.simulation.rollout import law_of, rollout


class Frames:
    """Numbered frames of a recording, of which the first ones are in free flight."""

    frame: NDArray[np.int64]
    flight: int

    @property
    def steps(self) -> int:
        """Time steps from the first frame to the last."""
        return int(self.frame[-1])

    @cached_property
    def touch(self) -> int:
        """The first frame after the flight."""
        return int(self.frame[min(self.flight, len(self.frame) - 1)])

    def frames_until(self, last: int) -> int:
        """Number of frames up to number `last`."""
        return int(np.searchsorted(self.frame, last, side="right"))


def check_plane(recorded: Body | None, used: Body) -> None:
    """Refuse a body that moves in space for what was recorded in a plane, and the other way round."""
    if recorded is not None and recorded.planar != used.planar:
        seen, other = ("a plane", "space") if recorded.planar else ("space", "a plane")
        raise checks.InputError(f"These tosses were recorded in {seen}, but {used!r} moves in {other}.")


def check_body(recorded: Body | None, used: Body) -> None:
    """Refuse the body of a law that cannot be the recorded one: fits change its size by less than 30 %."""
    check_plane(recorded, used)
    if recorded is None:
        return
    measured, given = (np.ptp(body.vertices, axis=0) + 2 * body.rounding for body in (recorded, used))
    axes = [0, 2] if recorded.planar else [0, 1, 2]
    if (np.abs(np.log(given[axes] / measured[axes])) > np.log(1.3)).any():
        raise checks.InputError(f"The law is for {used!r}, but these are tosses of {recorded!r}.")


@dataclass(frozen=True, eq=False)
class Toss(Frames):
    """One recorded toss; missing frames are left out.

    frame: numbers of the frames that are there, the first 0, shape (n,)
    position: of the tracked point, the origin of the body frame [m], shape (n, 3)
    quaternion: body to world (w, x, y, z), shape (n, 4)
    flight: number of leading frames in free flight
    timestep: time from frame to frame [s]; None where only `Tosses` has it
    body: the body that was tossed, if it is known
    name: of its recording
    held: number of leading frames in which a hand still touches it: they do not count as flight
    among: tosses of the same recorder, from which its noise is estimated

        toss = recordings[3]
        forecast = toss.at_frames(toss.forecast("cube"))
        away = np.linalg.norm(forecast.position - toss.position, axis=1)  # of the forecast, at each frame [m]
        plt.plot(toss.time, away)
    """

    frame: NDArray[np.int64]
    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    flight: int
    timestep: float | None = None
    body: Body | None = None
    name: str = ""
    held: int = 0
    among: "Tosses | None" = None

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        lasts = "" if self.timestep is None else f", {self.steps * self.timestep:.3g} s"
        held = f", the first {self.held} still held" if self.held else ""
        return f"Toss({name}{len(self.frame)} frames{lasts}, {self.flight} in flight{held})"

    def start(self, law: Any = None) -> State:
        """The state at frame 0 that best fits the frames in free flight: noise of single frames averages out.

        If a hand holds the body in the first frames, the flight is extrapolated back to frame 0.

        law: a law, or its name or path, whose centre of mass, inertia and gravity are used; by default those of `body`,
            and 9.81 m/s^2
        """
        return self._alone().states(*self._flying(law))[0]

    def start_covariance(self, law: Any = None) -> NDArray[np.float64]:
        """Covariance (12, 12) of the errors of `start` in position [m], orientation (rotation vector [rad]), velocity
        [m/s] and angular velocity [rad/s], all in world axes.

        It follows from the noise of the recorder in the flights of all tosses of the recordings and of this toss.

        law: as for `start`

            errors = np.sqrt(np.diag(toss.start_covariance(law)))
            errors[9:]  # standard errors of the angular velocity [rad/s]
        """
        return self._alone().start_covariances(*self._flying(law))[0]

    def _alone(self) -> "Tosses":
        return Tosses([self], self._interval(), whole=self.among)

    def _flying(self, law: Any) -> tuple[Body, Any, float]:
        """Body, gravity and drag."""
        known = None if law is None else law_of(law)
        body = self.body if known is None else known.body
        if body is None:
            raise checks.InputError("The body of this toss is not known: give its law, toss.start(law).")
        check_body(self.body, body)
        return (body, GRAVITY, 0.0) if known is None else (body, known.gravity, known.drag)

    def forecast(self, law: Any, *, samples: int | None = None, seed: int = 0) -> Trajectory:
        """The law's prediction of this toss from `start(law)`: a trajectory with a state at each frame.

        Frames that the recording lacks are included; `toss.at_frames(run)` are the states at the recorded ones.

        law: a law, or its name or path
        samples: draw as many motions, as a first axis: from the law's uncertainty and from that of the start
        seed: of the samples
        """
        law, interval = law_of(law), self._interval()
        check_body(self.body, law.body)
        parts = max(1, round(interval / law.timestep))  # time steps from frame to frame
        steps, timestep = parts * self.steps, interval / parts
        if samples is None:
            return rollout(law, self.start(law), steps, timestep=timestep, every=parts)
        samples, seed = checks.count("samples", samples, 1), checks.count("seed", seed, 0)
        starts = self._alone().drawn_states(law.body, law.gravity, samples, [seed], law.drag)[:, 0]
        return rollout(law, starts, steps, timestep=timestep, every=parts, samples=1, seed=seed)[0]

    def at_frames(self, run: Trajectory) -> State:
        """The states of a forecast at the recorded frames: shape (n,) as `position`, or (samples, n)."""
        return run.states()[(slice(None),) * (run.mode.ndim - 1) + (self.frame,)]

    @property
    def time(self) -> NDArray[np.float64]:
        """Time of each frame since the first [s], shape (n,)."""
        return self._interval() * self.frame.astype(np.float64)

    def _interval(self) -> float:
        if self.timestep is None:
            raise checks.InputError("This toss has no time step: take it from recordings, recordings[i].")
        return self.timestep


class Tosses:
    """Tosses of one body, recorded with one frame interval.

    timestep: [s]
    whole: all tosses of the recorder, from which its noise is estimated; by default these
    """

    def __init__(self, tosses: list[Toss], timestep: float, *, whole: "Tosses | None" = None) -> None:
        self.tosses = tosses
        self.timestep = checks.positive("timestep [s]", timestep)
        self.whole = self if whole is None else whole
        self._noises: dict[bytes, Noise] = {}

    def __len__(self) -> int:
        return len(self.tosses)

    def __repr__(self) -> str:
        return f"Tosses({len(self)} at {1 / self.timestep:.4g} Hz)"

    def __getitem__(self, which) -> "Tosses":
        """The tosses with these numbers."""
        return Tosses([self.tosses[int(i)] for i in np.atleast_1d(which)], self.timestep, whole=self.whole)

    @cached_property
    def flights(self) -> Flights:
        """The frames in free flight."""
        return Flights(self.tosses, self.timestep)

    def states(self, body: Body, gravity, drag: float = 0.0) -> State:
        """States at frame 0, fitted to the flights for this inertia and centre of mass; gravity (3,), drag [1/s]."""
        found = self.flights.flown(body.inertia).states(body.com, self._acceleration(body, gravity, drag))
        if not drag:
            return found
        return replace(found, angular_velocity=found.angular_velocity * (1 + drag * self._half))

    def _acceleration(self, body: Body, gravity, drag: float) -> NDArray[np.float64]:
        """Gravity (3,), or with drag, the acceleration of each toss in the middle of its flight, shape (n, 1, 3)."""
        if not drag:
            return np.asarray(gravity)
        start = self.flights.flown(body.inertia).states(body.com, gravity).velocity
        return (gravity - drag * (start + self._half * np.asarray(gravity)))[:, np.newaxis]

    @cached_property
    def _half(self) -> NDArray[np.float64]:
        """Half the duration of each flight [s], shape (n, 1)."""
        return 0.5 * self.timestep * np.array([[toss.frame[toss.flight - 1]] for toss in self.tosses])

    def noise(self, body: Body, gravity, drag: float = 0.0) -> Noise:
        """The noise of the recorder, from the residuals of all flights for this body and gravity (3,)."""
        if self.whole is not self:
            return self.whole.noise(body, gravity, drag)
        key = np.concatenate([body.inertia.ravel(), body.com, np.asarray(gravity), [drag]]).tobytes()
        if key not in self._noises:
            flown = self.flights.flown(body.inertia)
            self._noises[key] = noise_of(flown, body.com, self._acceleration(body, gravity, drag))
        return self._noises[key]

    def start_covariances(self, body: Body, gravity, drag: float = 0.0) -> NDArray[np.float64]:
        """Covariances (n, 12, 12) of the errors of `states`: position, turn, velocity, spin; see Toss."""
        flown = self.flights.flown(body.inertia)
        noise = self.noise(body, gravity, drag)
        found = start_covariances(flown, body.com, self._acceleration(body, gravity, drag), noise)
        if body.planar:
            out_of_plane = [1, 3, 5, 7, 9, 11]
            found[:, out_of_plane], found[:, :, out_of_plane] = 0.0, 0.0
        return found

    def drawn_states(self, body: Body, gravity, samples: int, seed, drag: float = 0.0) -> State:
        """States at frame 0 drawn from their distribution given the flights, shape (samples, n)."""
        errors = draw(self.start_covariances(body, gravity, drag), samples, np.random.default_rng(seed))
        return moved(self.states(body, gravity, drag), errors)


def errors(toss: Toss, position, quaternion, last: int | None = None) -> tuple[NDArray, NDArray]:
    """Position errors (n, 3) [m] and rotation errors (n, 3) [rad] of a predicted motion at the recorded frames.

    position, quaternion: of all frames, shape (steps + 1, ...)
    last: only frames up to this number
    """
    n = len(toss.frame) if last is None else toss.frames_until(last)
    at = toss.frame[:n]
    return position[at] - toss.position[:n], rotation_vectors(quaternion[at], toss.quaternion[:n])


# Recordings: tosses of one body with one frame interval, and which of them are held out.


@dataclass(frozen=True)
class Recordings:
    """Tosses of one body with one frame interval, the ground at z = 0.

    `recordings[3]` is a toss, `recordings[:10]` some of them, as recordings; `len` and `for` work as for a list.

    tosses: all of them; names: of each
    groups: tosses with the same number are the same recording in other axes, shape (n,)
    held_out: tosses for validation, shape (n,)
    report: findings when they were read
    source: file and conventions
    body: the body that was tossed, as measured; None if it is not known
    """

    tosses: Tosses
    names: list[str]
    groups: NDArray[np.int64]
    held_out: NDArray[np.bool_]
    report: list[str] = field(default_factory=list)
    source: dict[str, Any] = field(default_factory=dict)
    body: Body | None = None

    def __len__(self) -> int:
        return len(self.tosses)

    def __repr__(self) -> str:
        what = "" if self.body is None else f" of {self.body!r}"
        held = f", {int(self.held_out.sum())} held out" if self.held_out.any() else ""
        return f"Recordings({len(self)} tosses{what} at {1 / self.timestep:.4g} Hz{held})"

    @property
    def timestep(self) -> float:
        """Time from frame to frame [s]."""
        return self.tosses.timestep

    @overload
    def __getitem__(self, which: int) -> Toss: ...
    @overload
    def __getitem__(self, which: "slice | Sequence[int] | NDArray") -> "Recordings": ...
    def __getitem__(self, which: Any) -> "Toss | Recordings":
        """The toss with this number, with body and time step; or some tosses, as recordings."""
        if not isinstance(which, int | np.integer):
            return self.part(np.arange(len(self))[which])
        toss, name = self.tosses.tosses[which], self.names[which]  # an IndexError ends a `for`
        return replace(toss, timestep=self.timestep, body=self.body, name=name, among=self.tosses)

    def part(self, which: Sequence[int] | NDArray) -> "Recordings":
        """Some of the tosses."""
        which = np.asarray(which)
        return replace(
            self,
            tosses=self.tosses[which],
            names=[self.names[int(i)] for i in which],
            groups=self.groups[which],
            held_out=self.held_out[which],
        )


def split(recordings: Recordings, share: float = 0.2, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of the tosses to fit and to hold out: as the recording states, else drawn; groups stay together."""
    if recordings.held_out.any() and not recordings.held_out.all():
        return np.flatnonzero(~recordings.held_out), np.flatnonzero(recordings.held_out)
    if len(np.unique(recordings.groups)) < 2:
        raise checks.InputError("At least two tosses are needed, one of them to hold out.")
    out = splits.held_out(recordings.groups, share, seed)
    return np.flatnonzero(~out), np.flatnonzero(out)
