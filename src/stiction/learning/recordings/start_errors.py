"""How well the start of a toss is known: from the recorder's noise, as free flight shows it, to a covariance.

Errors of neighbouring frames are alike, since trackers smooth, and drag and shutters are left out of a parabola: they
are taken as an autoregressive noise, whose correlation is found with its size.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.state import State
from stiction.learning.recordings.flight import Flown
from stiction.learning.recordings.turning import cross_matrices, turned

_WILD = 4.0  # typical errors beyond which an error counts as one of this size: it is no noise
_MEMORIES = np.linspace(0.0, 0.95, 20)  # correlations of neighbouring frames that are tried
_LEAST = 1e-9  # [m], [rad] of noise: of a simulation, or a part that does not turn, there may be none
_OTHERS = 12.0  # so much do all tosses count in the noise of one, in frames


@dataclass(frozen=True)
class Noise:
    """Errors of recorded poses, found in free flight.

    position: standard deviation along x, y, z [m], shape (3,)
    rotation: about any axis [rad]
    memory: correlation of neighbouring frames, of positions and of rotations
    """

    position: NDArray[np.float64]
    rotation: float
    memory: tuple[float, float]

    def __repr__(self) -> str:
        mm = ", ".join(f"{1e3 * value:.3f}" for value in self.position)
        return f"Noise(position ({mm}) mm, rotation {np.degrees(self.rotation):.4f} degrees)"


def noise_of(flown: Flown, com, gravity) -> Noise:
    """The noise of the recorder, from what is left of all flights for this centre of mass and gravity."""
    paths, turns = flown.paths_off(com, gravity), flown.turns_off()
    (across, up), steady = _noise(flown, _seen(paths[..., :2]), paths[..., 2:])
    (about,), wander = _noise(flown, _seen(turns))
    across, up, about = (max(size, _LEAST) for size in (across, up, about))
    return Noise(np.array([across, across, up]), about, (steady, wander))


def _seen(off: NDArray[np.float64]) -> NDArray[np.float64]:
    """Errors (n, k, c) without the coordinates that a planar recording does not have."""
    there = off.any(axis=(0, 1))
    return off[..., there] if there.any() else off


def start_covariances(flown: Flown, com, gravity, noise: Noise) -> NDArray[np.float64]:
    """Covariances (n, 12, 12) of the errors of the starts, in the order of `moved`.

    A toss that is noisier than others counts as such: its noise is a mean of its own and that of all.
    """
    paths, turns = _seen(flown.paths_off(com, gravity) / noise.position), _seen(flown.turns_off() / noise.rotation)
    parts = [_line_covariance(flown, noise, paths), _turn_covariance(flown, noise, turns)]
    n, arm = len(parts[0]), flown.turned[:, 0] @ np.asarray(com)
    whole = np.zeros((n, 12, 12))  # of (x0, v0) of the centre of mass, of turn and momentum
    whole[:, :6, :6], whole[:, 6:, 6:] = parts
    to = np.zeros((n, 12, 12))
    spins, arms, one = cross_matrices(flown.spin), cross_matrices(arm), np.eye(3)
    to[:, 3:6, 6:9] = one
    to[:, 9:, 6:9], to[:, 9:, 9:] = -spins, flown.spin_slopes  # the momentum turns with the body
    to[:, :3, :3], to[:, :3, 6:9] = one, arms
    to[:, 6:9, 3:6] = one
    to[:, 6:9, 6:] = arms @ to[:, 9:, 6:]
    to[:, 6:9, 6:9] += spins @ arms
    return to @ whole @ np.swapaxes(to, 1, 2)


def moved(state: State, error) -> State:
    """States (...,) with errors (..., 12): position [m], turn as rotation vector [rad], velocity, spin; world axes."""
    p, turn, v, spin = np.split(np.asarray(error), 4, axis=-1)
    quaternion = np.broadcast_to(state.quaternion, (*turn.shape[:-1], 4))
    q = turned(quaternion.reshape(-1, 4), turn.reshape(-1, 3)).reshape(quaternion.shape)
    return State(state.position + p, q, state.velocity + v, state.angular_velocity + spin)


def draw(covariance, samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Errors (samples, n, 12) with covariances (n, 12, 12)."""
    scale = np.sqrt(np.einsum("nii->ni", covariance)) + 1e-30  # metres and radians are far apart
    sizes, axes = np.linalg.eigh(covariance / (scale[:, :, np.newaxis] * scale[:, np.newaxis]))
    root = axes * np.sqrt(np.maximum(sizes, 0.0))[:, np.newaxis]
    return scale * np.einsum("nij,snj->sni", root, rng.standard_normal((samples, *scale.shape)))


def _noise(flown: Flown, *groups: NDArray[np.float64]) -> tuple[list[float], float]:
    """Standard deviation of each group of components (n, k, c), and the correlation of neighbours in all of them."""
    weight = flown.flights.weight > 0
    tame = []
    for group in groups:
        typical = 1.4826 * float(np.median(np.abs(group[weight]))) + 1e-12
        tame.append(np.clip(group / typical, -_WILD, _WILD))
    both = weight[:, 1:] & weight[:, :-1]
    products = sum(float((g[:, 1:] * g[:, :-1])[both].sum()) for g in tame)
    seen = products / max(1e-12, sum(float((g[weight] ** 2).sum()) for g in tame))
    frames = round(float(np.median(weight.sum(axis=1))))
    left, alike = np.array([_left(frames, memory) for memory in _MEMORIES]).T
    memory = float(np.interp(seen, alike, _MEMORIES))
    share = float(np.interp(memory, _MEMORIES, left)) / frames
    sizes = [np.clip(g, -_WILD * m, _WILD * m) for g, m in ((g, 1.4826 * np.median(np.abs(g[weight]))) for g in groups)]
    return [float(np.sqrt((g[weight] ** 2).mean() / share)) for g in sizes], memory


def _left(frames: int, memory: float) -> tuple[float, float]:
    """What a line through frames leaves of a noise of size 1: its expected sum of squares, and the seen correlation."""
    design = np.stack([np.ones(frames), np.arange(frames)], axis=1)
    free = np.eye(frames) - design @ np.linalg.pinv(design)
    rest = free @ memories(frames, memory) @ free
    return float(np.trace(rest)), float(np.trace(rest, 1) / np.trace(rest))


def memories(frames: int, memory: float) -> NDArray[np.float64]:
    """Correlations (frames, frames) of frames whose neighbours are correlated by `memory`."""
    number = np.arange(frames)
    return memory ** np.abs(number[:, np.newaxis] - number)


def _own(flown: Flown, off, memory: float) -> NDArray[np.float64]:
    """By how much (n,) the variance of each toss is greater than that of all; off: errors in units of the noise."""
    frames = (flown.flights.weight > 0).sum(axis=1)
    left = {int(n): _left(int(n), memory)[0] for n in np.unique(frames)}
    expected = off.shape[2] * np.array([left[int(n)] for n in frames])
    return (_OTHERS * off.shape[2] + (off**2).sum(axis=(1, 2))) / (_OTHERS * off.shape[2] + expected)


def _line_covariance(flown: Flown, noise: Noise, off) -> NDArray[np.float64]:
    """Of place and velocity (n, 6, 6) of the centre of mass at frame 0."""
    line = flown.flights.line
    steady = line @ memories(line.shape[2], noise.memory[0]) @ np.swapaxes(line, 1, 2)
    own = _own(flown, off, noise.memory[0])[:, np.newaxis] * noise.position**2  # (n, 3)
    return np.einsum("nab,ni,ij->naibj", steady, own, np.eye(3)).reshape(-1, 6, 6)


def _turn_covariance(flown: Flown, noise: Noise, off) -> NDArray[np.float64]:
    """Of the turn and the momentum (n, 6, 6) at frame 0."""
    flights = flown.flights
    one = np.broadcast_to(np.eye(3), flown.slopes.shape)
    design = flights.weight[..., np.newaxis, np.newaxis] * np.concatenate([one, flown.slopes], axis=3)
    n, k = flights.weight.shape
    like = (memories(k, noise.memory[1]) @ design.reshape(n, k, 18)).reshape(n, k, 3, 6)
    matrix, _ = flights.equations(flown.slopes, off[..., np.newaxis])
    inverse = np.linalg.inv(matrix)
    spread = inverse @ np.einsum("nkji,nkjm->nim", design, like) @ inverse
    return noise.rotation**2 * _own(flown, off, noise.memory[1])[:, np.newaxis, np.newaxis] * spread
