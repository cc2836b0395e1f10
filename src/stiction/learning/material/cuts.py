"""From recorded poses to windows: where they begin, how noisy they are, and what the first frames tell of the start."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_vectors
from stiction.bodies.state import State
from stiction.learning.material.recorded_poses import Poses
from stiction.learning.material.windows import Noise, Windows
from stiction.learning.recordings.tosses import Toss, Tosses
from stiction.simulation.motion import Setting, to_motion

WINDOW = 0.08  # [s]
FEWEST_FRAMES = 7  # of a window: fewer tell nothing but its start
_STEP = 0.002  # [s]: the longest step of the simulation
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
    every = max(1, int(np.ceil(tosses.timestep / _STEP - 1e-6)))
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
