"""Uncertainty of the starts of tosses: the recorder's noise, as free flight shows it, and its covariance at frame 0."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.state import State
from stiction.recordings.flight import Flown, cross_matrices, turned

OUTLIER = 4.0  # in robust standard deviations: larger errors are clipped to this
PRIOR_FRAMES = 12.0  # weight of the noise of all tosses in that of a single one


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
    """The noise of the recorder, from the residuals of all flights for this centre of mass and gravity."""
    paths, turns = flown.paths_off(com, gravity), flown.turns_off()
    (across, up), steady = _noise(flown, _seen(paths[..., :2]), paths[..., 2:])
    (about,), wander = _noise(flown, _seen(turns))
    across, up, about = (max(size, 1e-9) for size in (across, up, about))  # a simulation has no noise
    return Noise(np.array([across, across, up]), about, (steady, wander))


def _seen(off: NDArray[np.float64]) -> NDArray[np.float64]:
    """Errors (n, k, c) without the coordinates that are zero throughout, as in a planar recording."""
    there = off.any(axis=(0, 1))
    return off[..., there] if there.any() else off


def start_covariances(flown: Flown, com, gravity, noise: Noise) -> NDArray[np.float64]:
    """Covariances (n, 12, 12) of the errors of the starts, in the order of `moved`.

    The noise of a toss is a weighted mean of its own and that of all tosses.
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
    clipped = []
    for group in groups:
        deviation = 1.4826 * float(np.median(np.abs(group[weight]))) + 1e-12
        clipped.append(np.clip(group / deviation, -OUTLIER, OUTLIER))
    both = weight[:, 1:] & weight[:, :-1]
    products = sum(float((g[:, 1:] * g[:, :-1])[both].sum()) for g in clipped)
    seen = products / max(1e-12, sum(float((g[weight] ** 2).sum()) for g in clipped))
    frames = round(float(np.median(weight.sum(axis=1))))
    memories = np.linspace(0.0, 0.95, 20)
    residual, correlation = np.array([_line_residual(frames, memory) for memory in memories]).T
    memory = float(np.interp(seen, correlation, memories))
    share = float(np.interp(memory, memories, residual)) / frames
    limits = (OUTLIER * (1.4826 * np.median(np.abs(g[weight]))) for g in groups)
    sizes = [np.clip(g, -limit, limit) for g, limit in zip(groups, limits, strict=True)]
    return [float(np.sqrt((g[weight] ** 2).mean() / share)) for g in sizes], memory


def _line_residual(frames: int, memory: float) -> tuple[float, float]:
    """Expected sum of squares of the residuals of a line through unit noise, and their correlation of neighbours."""
    design = np.stack([np.ones(frames), np.arange(frames)], axis=1)
    free = np.eye(frames) - design @ np.linalg.pinv(design)
    covariance = free @ correlations(frames, memory) @ free
    return float(np.trace(covariance)), float(np.trace(covariance, 1) / np.trace(covariance))


def correlations(frames: int, memory: float) -> NDArray[np.float64]:
    """Correlations (frames, frames) of frames whose neighbours are correlated by `memory`."""
    number = np.arange(frames)
    return memory ** np.abs(number[:, np.newaxis] - number)


def _variance_ratio(flown: Flown, off, memory: float) -> NDArray[np.float64]:
    """Ratio (n,) of the variance of each toss to that of all; off: errors in units of the noise."""
    frames = (flown.flights.weight > 0).sum(axis=1)
    residual = {int(n): _line_residual(int(n), memory)[0] for n in np.unique(frames)}
    expected = off.shape[2] * np.array([residual[int(n)] for n in frames])
    return (PRIOR_FRAMES * off.shape[2] + (off**2).sum(axis=(1, 2))) / (PRIOR_FRAMES * off.shape[2] + expected)


def _line_covariance(flown: Flown, noise: Noise, off) -> NDArray[np.float64]:
    """Covariance of position and velocity (n, 6, 6) of the centre of mass at frame 0."""
    line = flown.flights.line
    steady = line @ correlations(line.shape[2], noise.memory[0]) @ np.swapaxes(line, 1, 2)
    variance = _variance_ratio(flown, off, noise.memory[0])[:, np.newaxis] * noise.position**2  # (n, 3)
    return np.einsum("nab,ni,ij->naibj", steady, variance, np.eye(3)).reshape(-1, 6, 6)


def _turn_covariance(flown: Flown, noise: Noise, off) -> NDArray[np.float64]:
    """Covariance of rotation and momentum (n, 6, 6) at frame 0."""
    flights = flown.flights
    one = np.broadcast_to(np.eye(3), flown.slopes.shape)
    design = flights.weight[..., np.newaxis, np.newaxis] * np.concatenate([one, flown.slopes], axis=3)
    n, k = flights.weight.shape
    like = (correlations(k, noise.memory[1]) @ design.reshape(n, k, 18)).reshape(n, k, 3, 6)
    matrix, _ = flights.equations(flown.slopes, off[..., np.newaxis])
    inverse = np.linalg.inv(matrix)
    spread = inverse @ np.einsum("nkji,nkjm->nim", design, like) @ inverse
    return noise.rotation**2 * _variance_ratio(flown, off, noise.memory[1])[:, np.newaxis, np.newaxis] * spread
