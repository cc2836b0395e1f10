"""Short pieces of recorded motions, explained by rollouts: what a material is learned from if poses are noisy.

A window is a few frames of one throw. Its start is not known well enough, so that it is found together with friction:
what of a pose error another start could explain is taken out of the residuals, for each window by itself.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.spatial.transform import Rotation

from stiction import _core
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_vectors
from stiction.bodies.state import State, Trajectory
from stiction.laws.material import Material
from stiction.learning.material.structure import Model
from stiction.simulation.motion import DEEPEST_START, Setting, to_motion
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
        missing = np.maximum(-0.5 * DEEPEST_START * self.body.diameter - lowest, 0.0)
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
