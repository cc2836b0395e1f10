"""Windows of recorded motions, compared with rollouts: the observations from which a material is learned if poses are
noisy.

A window is a few frames of one throw. The state at its start is too uncertain to be fixed and is eliminated: residuals
are projected, window by window, on the complement of the derivatives with respect to the start.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.spatial.transform import Rotation

from stiction import _core
from stiction.basics import checks
from stiction.basics.files import path_of
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_vectors
from stiction.bodies.state import State
from stiction.bodies.trajectory import Trajectory
from stiction.fit.friction_structure import Model
from stiction.fit.material_points import opened
from stiction.laws.material import Material
from stiction.recordings.start_noise import moved
from stiction.recordings.tosses import Recordings, Toss, Tosses
from stiction.simulation.motion import MAX_START_DEPTH, Setting, to_motion
from stiction.simulation.rollout import rollout

MODES = 6  # slow modes of a pose error in time that count: faster ones are noise
_START = 12  # numbers of a start: position, rotation, velocity, angular velocity
_STEP = 1e-2  # of the parameters, for finite differences
_DAMPING = (0.01, 1.0, 100.0)  # of the steps of a start, attempted one after another


@dataclass(frozen=True)
class Noise:
    """Standard deviations of recorded poses: position [m], rotation [rad]."""

    position: float
    rotation: float


@dataclass(frozen=True)
class Windows:
    """Windows of one body, n of them, of f + 1 frames each.

    start: estimated states at their first frames; setting: with the step of the simulation
    every: steps of the simulation in a frame
    position, quaternion: recorded poses (n, f + 1, 3) and (n, f + 1, 4)
    throw: (n,)
    slopes: derivatives (n, k, 12) of the errors with respect to the starts; effect: of friction on the poses (n,); both
        in standard deviations of the noise, and empty before `refined`
    scale: root mean square effect of friction, the unit of the residuals
    """

    body: Body
    setting: Setting
    every: int
    noise: Noise
    start: State
    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    throw: NDArray[np.int64]
    slopes: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    effect: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    scale: float = 1.0

    def __len__(self) -> int:
        return len(self.throw)

    def part(self, which: NDArray) -> "Windows":
        """Some of the windows, by mask or by index."""
        names = ["start", "position", "quaternion", "throw"] + ["slopes", "effect"] * (len(self.effect) > 0)
        return replace(self, **{name: getattr(self, name)[which] for name in names})

    @cached_property
    def typical(self) -> float:
        """Best of some constant coefficients of friction."""
        guesses = (0.1, 0.2, 0.35, 0.6, 1.0)
        errors = [np.median(_size(self._explained(Material.coulomb(mu))[0])) for mu in guesses]
        return guesses[int(np.argmin(errors))]

    def residuals(self, model: Model, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the pose errors (n, k) that no other start explains."""
        return self._explained(model.material(theta))[0] / self.scale

    def jacobian(self, model: Model, theta: NDArray[np.float64], residuals: NDArray) -> NDArray[np.float64]:
        """Return the derivatives (n, k, p) of the residuals by finite differences from the same starts."""
        material = model.material(theta)
        start = self._explained(material)[1]
        here = self.errors(material, start)
        J = np.empty((*residuals.shape, len(theta)))
        for k in range(len(theta)):
            nudged = theta.copy()
            nudged[k] += _STEP
            change = (self.errors(model.material(nudged), start) - here) / (_STEP * self.scale)
            J[..., k] = _cut_off(self._unexplained(change))
        return J

    def errors(self, material: Material, start: State) -> NDArray[np.float64]:
        """Return slow modes of the pose errors (n, 6 MODES) of rollouts from `start` (n,), in units of the noise."""
        run = self.run(material, start)
        dp = (run.position - self.position) / self.noise.position
        turn = rotation_vectors(run.quaternion.reshape(-1, 4), self.quaternion.reshape(-1, 4))
        both = np.concatenate([dp, turn.reshape(dp.shape) / self.noise.rotation], axis=2)
        both = np.clip(np.nan_to_num(both, nan=1e3), -1e3, 1e3)
        return np.asarray(dct(both, axis=1, norm="ortho"))[:, :MODES].reshape(len(self), -1)

    def run(self, material: Material, start: State | None = None, every: int | None = None) -> Trajectory:
        """Simulate all windows, with one state per frame, or one in `every` steps."""
        law = material.on(self.body, timestep=self.setting.timestep)
        steps = self.every * (self.position.shape[1] - 1)
        state = self._above_ground(self.start if start is None else start)
        every = every or self.every
        # Whole steps: windows start from noisy poses, with corners on both sides of the ground.
        gravity = self.setting.gravity
        return rollout(law, state, steps, gravity=gravity, substeps=0, every=every, threads=1, finite=False)

    def _above_ground(self, state: State) -> State:
        """Return the states, corrected where they penetrate the ground too deeply to start a simulation."""
        missing = -0.5 * MAX_START_DEPTH * self.body.diameter - _lowest_heights(self.body, state)
        raised = state.position + np.maximum(missing, 0.0)[:, np.newaxis] * [0.0, 0.0, 1.0]
        return State(raised, state.quaternion, state.velocity, state.angular_velocity)

    def refined(self, material: Material, rounds: int) -> "Windows":
        """Return the windows with the starts from which this material explains them best, by Gauss-Newton."""
        start, errors = self.start, self.errors(material, self.start)
        for _ in range(rounds):
            slopes = self._start_slopes(material, start, errors)
            for damping in _DAMPING:
                start, errors = self._stepped(material, start, errors, _inverse(slopes, damping))
        found = replace(self, start=start, slopes=self._start_slopes(material, start, errors))
        more = replace(material, scale=(1 + _STEP) * material.scale)
        effect = _size(_cut_off(found._unexplained(found.errors(more, start) - errors))) / _STEP
        return replace(found, effect=effect, scale=max(float(np.sqrt((effect**2).mean())), 1.0))

    def misfit(self, material: Material) -> float:
        """Return the median error of the informative windows, over that of noise alone."""
        size = _size(self._explained(material)[0])
        size = size[self.informative] if self.informative.any() else size
        return float(np.median(size) / np.sqrt(6 * MODES - _START))

    @property
    def informative(self) -> NDArray[np.bool_]:
        """Windows (n,) in which the effect of friction exceeds the noise."""
        return self.effect > 1.0

    def _explained(self, material: Material) -> tuple[NDArray[np.float64], State]:
        """Return the errors (n, k) that no other start explains, and the starts (n,) that explain most."""
        errors = self.errors(material, self.start)
        inverse = _inverse(self.slopes, _DAMPING[0])
        start, errors = self._stepped(material, self.start, errors, inverse)
        return self._unexplained(errors), start

    def _stepped(
        self, material: Material, start: State, errors: NDArray, inverse: NDArray
    ) -> tuple[State, NDArray[np.float64]]:
        """Return starts (n,) after one Gauss-Newton step, where that reduces the errors (n, k), and the errors."""
        trial = self._moved(start, -_apply(inverse, errors))
        again = self.errors(material, trial)
        better = (_size(again) < _size(errors))[:, np.newaxis]
        names = ("position", "quaternion", "velocity", "angular_velocity")
        found = State(*(np.where(better, getattr(trial, name), getattr(start, name)) for name in names))
        return found, np.where(better, again, errors)

    def _unexplained(self, errors: NDArray[np.float64]) -> NDArray[np.float64]:
        return errors - _apply(self.slopes, _apply(self._inverse, errors))

    @cached_property
    def _inverse(self) -> NDArray[np.float64]:
        return _inverse(self.slopes, 0.0)

    @cached_property
    def _units(self) -> NDArray[np.float64]:
        """Units of a start (12,): the noise of a pose, and velocities that move the end of a window by as much."""
        length = self.setting.timestep * self.every * (self.position.shape[1] - 1)
        pose = np.repeat([self.noise.position, self.noise.rotation], 3)
        return np.concatenate([pose, 2 * pose / length])

    def _start_slopes(self, material: Material, start: State, errors: NDArray) -> NDArray[np.float64]:
        """Return the derivatives (n, k, 12) of the errors with respect to the starts, in their units."""
        slopes, step = np.empty((*errors.shape, _START)), 0.2
        for k in range(_START):
            nudge = np.zeros((1, _START))
            nudge[0, k] = step
            slopes[..., k] = _cut_off((self.errors(material, self._moved(start, nudge)) - errors) / step)
        return slopes

    def _moved(self, start: State, by: NDArray[np.float64]) -> State:
        """Return starts moved by (n, 12) of their units, by at most 30."""
        return moved(start, np.broadcast_to(np.clip(by, -30.0, 30.0) * self._units, (len(self), _START)))


def _lowest_heights(body: Body, state: State) -> NDArray[np.float64]:
    motion = to_motion(body, state)
    return _core.lowest_heights(body.hull, motion.position, motion.quaternion)


def _inverse(slopes: NDArray, damping: float) -> NDArray[np.float64]:
    """Return the matrices (n, 12, k) from errors to the starts that explain them, with a prior of 30 units."""
    transposed = slopes.transpose(0, 2, 1)
    H = transposed @ slopes
    H += np.eye(_START) * (30.0**-2 + damping * np.einsum("nii->ni", H)[:, np.newaxis])
    return np.linalg.solve(H, transposed)


def _apply(matrices: NDArray, vectors: NDArray) -> NDArray[np.float64]:
    return np.einsum("nij,nj->ni", matrices, vectors)


def _size(rows: NDArray) -> NDArray[np.float64]:
    return np.linalg.norm(rows, axis=1)


def _cut_off(slopes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return derivatives, cut off at the 98th percentile: a corner that lands elsewhere is no derivative."""
    size = _size(slopes)
    limit = np.percentile(size, 98.0) if len(size) else 1.0
    return slopes * np.minimum(1.0, limit / np.maximum(size, 1e-300))[:, np.newaxis]


@dataclass(frozen=True)
class Poses:
    """Tosses of a body under `gravity` (3,) [m/s^2]; throw: numbers (n,), equal for copies of one toss."""

    tosses: Tosses
    body: Body
    gravity: NDArray[np.float64]
    throw: NDArray[np.int64]


def is_recorded(data: Any) -> bool:
    """Return whether data are poses and not a data set."""
    if isinstance(data, str | Path):
        return (path_of("data", data) / "recordings.parquet").is_file()
    return isinstance(data, Recordings | Tosses | Trajectory)


def recorded_poses(data: Any, body: Body | None) -> Poses:
    """Return the poses of one body."""
    if not is_recorded(data):
        return _of_contacts(data)
    if isinstance(data, str | Path):
        from stiction.recordings.folder import load_recordings  # needs pyarrow

        data = load_recordings(data)
    if body is None and isinstance(data, Recordings):
        body = data.body
    if not isinstance(body, Body):
        raise checks.InputError("Poses alone do not say what was thrown: give the stiction.Body as body.")
    if isinstance(data, Trajectory):
        poses = (part.reshape(-1, *part.shape[-2:]) for part in (data.position, data.quaternion))
        frame = np.arange(data.steps + 1)
        data = Tosses([Toss(frame, p, q, flight=0) for p, q in zip(*poses)], data.timestep)
    tosses, throw = (data.tosses, data.groups) if isinstance(data, Recordings) else (data, np.arange(len(data)))
    return Poses(tosses, body, np.array((0.0, 0.0, -9.81)), throw)


def _of_contacts(data: Any) -> Poses:
    """Return the poses of a data set's contacts, with gaps where the body flew."""
    sets = opened(data)
    if len(sets) > 1:
        raise checks.InputError(f"Through rollouts, a material is learned from one data set, got {len(sets)}.")
    rows = sets[0].read(("position", "quaternion", "throw", "step"))
    tosses = []
    for number in np.unique(rows["throw"]):
        at = np.flatnonzero((rows["throw"] == number) & (rows["step"] >= 0))
        at = at[np.argsort(rows["step"][at], kind="stable")]
        if len(at):
            frame = rows["step"][at].astype(np.int64)
            poses = (np.asarray(rows[name], dtype=np.float64)[at] for name in ("position", "quaternion"))
            tosses.append(Toss(frame - frame[0], *poses, flight=0))
    setting = sets[0].setting
    found = Tosses(tosses, setting.timestep)
    return Poses(found, sets[0].body, np.asarray(setting.gravity), np.arange(len(tosses)))


_LEAST_NOISE = 5e-5, 5e-4  # [m], [rad]: no simulation follows a real body more closely


def pose_noise(tosses: Tosses) -> Noise:
    """Return the noise of poses, from their third differences, to which smooth motion hardly contributes."""
    third, jumps, turns = np.array([-1.0, 3.0, -3.0, 1.0]), [], []
    for toss in tosses.tosses:
        beside = np.flatnonzero(toss.frame[3:] - toss.frame[:-3] == 3)
        jumps.append(sum(c * toss.position[beside + k] for k, c in enumerate(third)))
        about = toss.quaternion[beside + 1]
        turns.append(sum(c * rotation_vectors(toss.quaternion[beside + k], about) for k, c in enumerate(third)))
    usual = [float(np.median(np.abs(np.concatenate(part)))) for part in (jumps, turns)]
    factor = 1 / (0.6745 * float(np.linalg.norm(third)))
    return Noise(*(max(factor * size, least) for size, least in zip(usual, _LEAST_NOISE)))


def cut(poses: Poses) -> Windows:
    """Return all windows of about 80 ms, and at least 7 frames, in which the body touches the ground."""
    tosses, body = poses.tosses, poses.body
    frames = max(round(0.08 / tosses.timestep), 6)
    every = max(1, int(np.ceil(tosses.timestep / 0.002 - 1e-6)))
    noise = pose_noise(tosses) if any(toss.steps >= frames for toss in tosses.tosses) else Noise(*_LEAST_NOISE)
    found = [(k, at) for k, toss in enumerate(tosses.tosses) for at in _window_starts(toss, body, noise, frames)]
    if not found:
        raise checks.InputError(
            f"No {frames + 1} frames in a row show contact with the ground: materials need throws that land."
        )
    cuts = [(tosses.tosses[k], slice(at, at + frames + 1)) for k, at in found]
    position = np.stack([toss.position[window] for toss, window in cuts])
    quaternion = np.stack([toss.quaternion[window] for toss, window in cuts])
    start = _guessed(position, quaternion, tosses.timestep)
    throw = np.asarray(poses.throw)[[k for k, _ in found]]
    setting = Setting(tosses.timestep / every, poses.gravity)
    return Windows(body, setting, every, noise, start, position, quaternion, throw)


def _window_starts(toss: Toss, body: Body, noise: Noise, frames: int) -> list[int]:
    """Return the first rows of a toss's windows, one after another from shortly before the touch, without gaps."""
    height = _lowest_heights(body, State(toss.position, toss.quaternion))
    near = height < 4.0 * np.hypot(noise.position, 0.5 * body.diameter * noise.rotation)
    touches = np.flatnonzero(near)
    if not len(touches):
        return []
    first = max(0, int(touches[0]) - frames // 3)
    starts = range(first, len(toss.frame) - frames, frames)
    return [at for at in starts if toss.frame[at + frames] - toss.frame[at] == frames and near[at : at + frames].any()]


def _guessed(position: NDArray, quaternion: NDArray, interval: float) -> State:
    """Return states at the first frames of windows, by straight lines through the first eight poses."""
    n = min(8, position.shape[1])
    t = interval * np.arange(n)
    value, slope = np.linalg.pinv(np.stack([np.ones(n), t], axis=1))
    p = position[:, :n]
    first = quaternion[:, 0]
    turn = np.stack([rotation_vectors(quaternion[:, k], first) for k in range(n)], axis=1)
    rotation = Rotation.from_rotvec(np.einsum("k,nki->ni", value, turn)) * Rotation.from_quat(first, scalar_first=True)
    along = [np.einsum("k,nki->ni", weights, part) for weights, part in ((value, p), (slope, p), (slope, turn))]
    return State(along[0], rotation.as_quat(scalar_first=True), along[1], along[2])
