"""Short pieces of recorded motions, explained by rollouts: what a material is learned from if poses are noisy.

A window is a few frames of one throw. Its start is not known well enough, so that it is found together with friction:
what of a pose error another start could explain is taken out of the residuals, for each window by itself.
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
from stiction.fit.observed import opened
from stiction.laws.material import Material
from stiction.recordings.tosses import Recordings, Toss, Tosses
from stiction.simulation.motion import MAX_START_DEPTH, Setting, to_motion
from stiction.simulation.rollout import rollout

MODES = 6  # slow modes of a pose error in time that count: faster ones are noise
_START = 12  # numbers of a start: position, rotation, velocity, spin
_NUDGE = 0.2  # of a start, for finite differences: share of the noise
_STEP = 1e-2  # of the parameters, for finite differences
_DAMPING = (0.01, 1.0, 100.0)  # of the steps of a start, tried one after another
_CLIP = 98.0  # percentile at which derivatives are cut off: a corner that lands elsewhere is no slope
_PRIOR = 30.0  # noises by which a start may well differ from what the poses around it tell
_GUESSES = (0.1, 0.2, 0.35, 0.6, 1.0)
_FARTHEST = 30.0  # noises by which a start moves at once
_FAR = 1e3  # noises: the error of a motion that runs out of numbers


@dataclass(frozen=True)
class Noise:
    """Standard deviations of recorded poses: position [m], rotation [rad]."""

    position: float
    rotation: float


@dataclass(frozen=True)
class Windows:
    """Windows of one body, n of them, of f + 1 frames each.

    start: states at their first frames, as good as they are known; setting: with the step of the simulation
    every: steps of the simulation in a frame
    position, quaternion: recorded poses (n, f + 1, 3) and (n, f + 1, 4)
    throw: (n,)
    slopes: derivatives (n, k, 12) of the errors with the starts; effect: of friction as a whole on the poses (n,), in
        noises; both are empty before `refined`
    scale: noises that are as much as friction does to the poses of a window; residuals are shares of it
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

    def typical(self) -> float:
        """The best of some constant coefficients."""
        return self._guess

    @cached_property
    def _guess(self) -> float:
        errors = [np.median(_size(self._explained(Material.coulomb(mu))[0])) for mu in _GUESSES]
        return _GUESSES[int(np.argmin(errors))]

    def residuals(self, model: Model, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Pose errors (n, k) that no other start explains."""
        return self._explained(model.material(theta))[0] / self.scale

    def jacobian(self, model: Model, theta: NDArray[np.float64], residuals: NDArray) -> NDArray[np.float64]:
        """Derivatives (n, k, p) of the residuals with the parameters, by finite differences from the same starts."""
        material = model.material(theta)
        start = self._explained(material)[1]
        here = self.errors(material, start)
        J = np.empty((*residuals.shape, len(theta)))
        for k in range(len(theta)):
            moved = theta.copy()
            moved[k] += _STEP
            change = (self.errors(model.material(moved), start) - here) / (_STEP * self.scale)
            J[..., k] = _cut_off(self._unexplained(change))
        return J

    def errors(self, material: Material, start: State) -> NDArray[np.float64]:
        """Slow modes of the pose errors (n, 6 MODES) of rollouts from `start` (n,), in noises."""
        run = self.run(material, start)
        dp = (run.position - self.position) / self.noise.position
        turn = rotation_vectors(run.quaternion.reshape(-1, 4), self.quaternion.reshape(-1, 4))
        both = np.concatenate([dp, turn.reshape(dp.shape) / self.noise.rotation], axis=2)
        both = np.clip(np.nan_to_num(both, nan=_FAR), -_FAR, _FAR)
        return np.asarray(dct(both, axis=1, norm="ortho"))[:, :MODES].reshape(len(self), -1)

    def run(self, material: Material, start: State | None = None, every: int | None = None) -> Trajectory:
        """Rollouts of all windows, one state a frame, or one in `every` steps."""
        law = material.on(self.body, timestep=self.setting.timestep)
        steps = self.every * (self.position.shape[1] - 1)
        state = self._above_ground(self.start if start is None else start)
        how = {"gravity": self.setting.gravity, "every": every or self.every, "threads": 1, "finite": False}
        return rollout(law, state, steps, **how)

    def _above_ground(self, state: State) -> State:
        """The states, raised where they lie so deep below the ground that no motion starts there."""
        motion = to_motion(self.body, state)
        lowest = _core.lowest_heights(self.body.hull, motion.position, motion.quaternion)
        missing = np.maximum(-0.5 * MAX_START_DEPTH * self.body.diameter - lowest, 0.0)
        raised = state.position + missing[:, np.newaxis] * [0.0, 0.0, 1.0]
        return State(raised, state.quaternion, state.velocity, state.angular_velocity)

    def refined(self, material: Material, rounds: int) -> "Windows":
        """The same windows with the starts from which this material explains them best."""
        start, errors = self.start, self.errors(material, self.start)
        for _ in range(rounds):
            slopes = self._start_slopes(material, start, errors)
            for damping in _DAMPING:
                trial = self._moved(start, -_apply(_inverse(slopes, damping), errors))
                again = self.errors(material, trial)
                better = _size(again) < _size(errors)
                start, errors = _chosen(better, trial, start), np.where(better[:, np.newaxis], again, errors)
        found = replace(self, start=start, slopes=self._start_slopes(material, start, errors))
        more = replace(material, scale=(1 + _STEP) * material.scale)
        effect = _size(_cut_off(found._unexplained(found.errors(more, start) - errors))) / _STEP
        return replace(found, effect=effect, scale=max(float(np.sqrt((effect**2).mean())), 1.0))

    def misfit(self, material: Material) -> float:
        """The median error of the windows in which friction shows, over what noise alone would leave."""
        size = _size(self._explained(material)[0])
        told = size[self.telling] if self.telling.any() else size
        return float(np.median(told) / np.sqrt(6 * MODES - _START))

    @property
    def telling(self) -> NDArray[np.bool_]:
        """In which windows (n,) friction does more than noise."""
        return self.effect > 1.0

    def _explained(self, material: Material) -> tuple[NDArray[np.float64], State]:
        """Errors (n, k) that no other start explains, and the starts (n,) that explain most."""
        errors = self.errors(material, self.start)
        trial = self._moved(self.start, -_apply(_inverse(self.slopes, _DAMPING[0]), errors))
        again = self.errors(material, trial)
        better = _size(again) < _size(errors)
        start = _chosen(better, trial, self.start)
        return self._unexplained(np.where(better[:, np.newaxis], again, errors)), start

    def _unexplained(self, errors: NDArray[np.float64]) -> NDArray[np.float64]:
        return errors - _apply(self.slopes, _apply(self._inverse, errors))

    @cached_property
    def _inverse(self) -> NDArray[np.float64]:
        return _inverse(self.slopes, 0.0)

    @cached_property
    def _units(self) -> NDArray[np.float64]:
        """What one noise is in each number of a start (12,): a velocity moves the end of a window by as much."""
        length = self.setting.timestep * self.every * (self.position.shape[1] - 1)
        pose = np.repeat([self.noise.position, self.noise.rotation], 3)
        return np.concatenate([pose, 2 * pose / length])

    def _start_slopes(self, material: Material, start: State, errors: NDArray) -> NDArray[np.float64]:
        """Derivatives (n, k, 12) of the errors with the starts, in noises."""
        slopes = np.empty((*errors.shape, _START))
        for k in range(_START):
            nudge = np.zeros((1, _START))
            nudge[0, k] = _NUDGE
            slopes[..., k] = _cut_off((self.errors(material, self._moved(start, nudge)) - errors) / _NUDGE)
        return slopes

    def _moved(self, start: State, by: NDArray[np.float64]) -> State:
        """Starts moved by (n, 12) noises."""
        p, turn, v, w = np.split(np.clip(by, -_FARTHEST, _FARTHEST) * self._units, 4, axis=1)
        rotation = Rotation.from_rotvec(turn) * Rotation.from_quat(start.quaternion, scalar_first=True)
        quaternion = rotation.as_quat(scalar_first=True)
        return State(start.position + p, quaternion, start.velocity + v, start.angular_velocity + w)


def _inverse(slopes: NDArray, damping: float) -> NDArray[np.float64]:
    """(n, 12, k): from errors to the start that explains them, which is known to _PRIOR noises beforehand."""
    transposed = slopes.transpose(0, 2, 1)
    H = transposed @ slopes
    H += np.eye(_START) * (_PRIOR**-2 + damping * np.einsum("nii->ni", H)[:, np.newaxis])
    return np.linalg.solve(H, transposed)


def _apply(matrices: NDArray, vectors: NDArray) -> NDArray[np.float64]:
    return np.einsum("nij,nj->ni", matrices, vectors)


def _size(rows: NDArray) -> NDArray[np.float64]:
    return np.linalg.norm(rows, axis=1)


def _cut_off(slopes: NDArray[np.float64]) -> NDArray[np.float64]:
    size = _size(slopes)
    most = np.percentile(size, _CLIP) if len(size) else 1.0
    return slopes * np.minimum(1.0, most / np.maximum(size, 1e-300))[:, np.newaxis]


def _chosen(which: NDArray[np.bool_], first: State, second: State) -> State:
    """The first states where `which` is so, else the second."""
    names = ("position", "quaternion", "velocity", "angular_velocity")
    at = which[:, np.newaxis]
    return State(*(np.where(at, getattr(first, name), getattr(second, name)) for name in names))


# The poses in whatever a user has: recordings, trajectories, or the contacts of a data set in the order of steps.


_GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2]


@dataclass(frozen=True)
class Poses:
    """Tosses of a body under `gravity` (3,) [m/s^2]; throw: numbers (n,), the same for copies of one toss."""

    tosses: Tosses
    body: Body
    gravity: NDArray[np.float64]
    throw: NDArray[np.int64]


def is_recorded(data: Any) -> bool:
    """Whether data are poses and not a data set."""
    if isinstance(data, str | Path):
        return (path_of("data", data) / "recordings.parquet").is_file()
    return isinstance(data, Recordings | Tosses | Trajectory)


def recorded_poses(data: Any, body: Body | None) -> Poses:
    """The poses of one body."""
    if not is_recorded(data):
        return _of_contacts(data, body)
    if isinstance(data, str | Path):
        from stiction.recordings.folder import load_recordings  # needs pyarrow

        data = load_recordings(data)
    if body is None and isinstance(data, Recordings):
        body = data.body
    if not isinstance(body, Body):
        raise checks.InputError("Poses do not tell what was thrown: give the stiction.Body as body.")
    if isinstance(data, Trajectory):
        data = _of_trajectory(data)
    if isinstance(data, Recordings):
        return Poses(data.tosses, body, np.array(_GRAVITY), data.groups)
    return Poses(data, body, np.array(_GRAVITY), np.arange(len(data)))


def _of_trajectory(run: Trajectory) -> Tosses:
    position = run.position.reshape(-1, *run.position.shape[-2:])
    quaternion = run.quaternion.reshape(-1, *run.quaternion.shape[-2:])
    frame = np.arange(run.steps + 1)
    return Tosses([Toss(frame, p, q, flight=0) for p, q in zip(position, quaternion)], run.timestep)


def _of_contacts(data: Any, body: Body | None) -> Poses:
    """The poses of a data set: those of its contacts, with gaps where the body flew."""
    sets = opened(data)
    if body is not None:
        raise checks.InputError("body is for recorded poses; a data set knows its own.")
    if len(sets) > 1:
        raise checks.InputError(f"Through rollouts, a material is learned from one data set, got {len(sets)}.")
    rows = sets[0].read(("position", "quaternion", "throw", "step"))
    tosses = []
    for number in np.unique(rows["throw"]):
        own = np.flatnonzero((rows["throw"] == number) & (rows["step"] >= 0))
        own = own[np.argsort(rows["step"][own], kind="stable")]
        if len(own):
            frame = rows["step"][own].astype(np.int64)
            poses = (np.asarray(rows[name], dtype=np.float64)[own] for name in ("position", "quaternion"))
            tosses.append(Toss(frame - frame[0], *poses, flight=0))
    setting = sets[0].setting
    found = Tosses(tosses, setting.timestep)
    return Poses(found, sets[0].body, np.asarray(setting.gravity), np.arange(len(tosses)))


# From recorded poses to windows: where they begin, how noisy they are, and what the first frames tell of the start.


WINDOW = 0.08  # [s]
FEWEST_FRAMES = 7  # of a window: fewer tell nothing but its start
_LONGEST_STEP = 0.002  # [s]: the longest step of the simulation
_FIRST = 8  # frames from which the start of a window is first guessed
_NEAR = 4.0  # noises of height within which a corner may touch
_LEAST_NOISE = 5e-5, 5e-4  # [m], [rad]: no simulation follows a real body more closely
_THIRD = np.array([-1.0, 3.0, -3.0, 1.0])  # third differences: of smooth motion nothing is left, of noise a lot


def pose_noise(tosses: Tosses) -> Noise:
    """How noisy poses are: what third differences of neighbours leave, where there is no impact in most of them."""
    jumps, turns = [], []
    for toss in tosses.tosses:
        beside = np.flatnonzero(toss.frame[3:] - toss.frame[:-3] == 3)
        jumps.append(sum(c * toss.position[beside + k] for k, c in enumerate(_THIRD)))
        about = toss.quaternion[beside + 1]
        turns.append(sum(c * rotation_vectors(toss.quaternion[beside + k], about) for k, c in enumerate(_THIRD)))
    usual = [float(np.median(np.abs(np.concatenate(part)))) for part in (jumps, turns)]
    factor = 1 / (0.6745 * float(np.linalg.norm(_THIRD)))
    return Noise(*(max(factor * size, least) for size, least in zip(usual, _LEAST_NOISE)))


def cut(poses: Poses, *, length: float = WINDOW) -> Windows:
    """All windows of about `length` [s] in which the body touches the ground, one after another."""
    tosses, body = poses.tosses, poses.body
    frames = max(round(length / tosses.timestep), FEWEST_FRAMES - 1)
    every = max(1, int(np.ceil(tosses.timestep / _LONGEST_STEP - 1e-6)))
    noise = pose_noise(tosses) if any(toss.steps >= frames for toss in tosses.tosses) else Noise(*_LEAST_NOISE)
    found = [(k, at) for k, toss in enumerate(tosses.tosses) for at in _begins(toss, body, noise, frames)]
    if not found:
        raise checks.InputError(
            f"No {frames + 1} frames in a row show contact with the ground: materials need throws that land."
        )
    own = [(tosses.tosses[k], slice(at, at + frames + 1)) for k, at in found]
    position = np.stack([toss.position[window] for toss, window in own])
    quaternion = np.stack([toss.quaternion[window] for toss, window in own])
    start = _guessed(position, quaternion, tosses.timestep)
    throw = np.asarray(poses.throw)[[k for k, _ in found]]
    setting = Setting(tosses.timestep / every, poses.gravity)
    return Windows(body, setting, every, noise, start, position, quaternion, throw)


def _begins(toss: Toss, body: Body, noise: Noise, frames: int) -> list[int]:
    """Where the windows of a toss begin: one after another from shortly before the first touch, none with a gap."""
    motion = to_motion(body, State(toss.position, toss.quaternion))
    height = _core.lowest_heights(body.hull, motion.position, motion.quaternion)
    near = height < _NEAR * np.hypot(noise.position, 0.5 * body.diameter * noise.rotation)
    touches = np.flatnonzero(near)
    if not len(touches):
        return []
    first = max(0, int(touches[0]) - frames // 3)
    begins = range(first, len(toss.frame) - frames, frames)
    return [at for at in begins if toss.frame[at + frames] - toss.frame[at] == frames and near[at : at + frames].any()]


def _guessed(position: NDArray, quaternion: NDArray, interval: float) -> State:
    """States at the first frames of windows, by straight lines through the first poses."""
    n = min(_FIRST, position.shape[1])
    t = interval * np.arange(n)
    value, slope = np.linalg.pinv(np.stack([np.ones(n), t], axis=1))
    p = position[:, :n]
    first = quaternion[:, 0]
    turn = np.stack([rotation_vectors(quaternion[:, k], first) for k in range(n)], axis=1)
    rotation = Rotation.from_rotvec(np.einsum("k,nki->ni", value, turn)) * Rotation.from_quat(first, scalar_first=True)
    along = [np.einsum("k,nki->ni", weights, part) for weights, part in ((value, p), (slope, p), (slope, turn))]
    return State(along[0], rotation.as_quat(scalar_first=True), along[1], along[2])
