"""Free flight of recorded tosses: what its frames tell about the start, for any mass properties of the body.

Nothing but gravity acts: the centre of mass flies on a parabola, and the body turns about it with a steady angular
momentum, so that the spin of a body with unequal inertias wanders. All tosses are fitted at once, by least squares.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.bodies.rotations import rotation_matrices, rotation_vectors
from stiction.bodies.state import State

# How bodies turn in free flight: no torque acts, the angular momentum stays, and the spin wanders with the body.


def torque_free(quaternion, momentum, inertia, timestep: float, steps: int) -> NDArray[np.float64]:
    """Quaternions (n, steps + 1, 4) of bodies that nothing turns, from `quaternion` (n, 4) on.

    momentum: angular momentum, world axes, shape (n, 3)
    inertia: body axes, in units that go with those of the momentum, shape (3, 3)

    Of fourth order in the time step, and exact where the spin is steady: steps are turns, by a commutator-free scheme
    with two exponentials (Celledoni, Marthinsen and Owren 2003).
    """
    q, L, inverse, h = np.asarray(quaternion).T, np.asarray(momentum).T, np.linalg.inv(inertia), timestep
    path = np.empty((steps + 1, *q.shape))
    path[0] = q
    for step in range(steps):
        a = _spin(q, L, inverse)
        half = _product(_turn(h / 2 * a), q)
        b = _spin(half, L, inverse)
        c = _spin(_product(_turn(h / 2 * b), q), L, inverse)
        d = _spin(_product(_turn(h * c - h / 2 * a), half), L, inverse)
        q = _product(_turn(h / 12 * (3 * a + 2 * b + 2 * c - d)), q)
        q = _product(_turn(h / 12 * (-a + 2 * b + 2 * c + 3 * d)), q)
        path[step + 1] = q
    return np.moveaxis(path, -1, 0)


def momentum_slopes(quaternion, momentum, inertia, timestep: float) -> NDArray[np.float64]:
    """What a change of the momentum at the start does to the turns, world axes, shape (n, steps + 1, 3, 3).

    quaternion: what `torque_free` gave

    Turned by d, a body with another momentum L + l turns as d' = M (l + L x d), where M L is its spin. Heun's method is
    good enough for slopes.
    """
    R = rotation_matrices(quaternion)
    M = R @ np.linalg.inv(inertia) @ np.swapaxes(R, -1, -2)
    B = M @ cross_matrices(momentum)[:, np.newaxis]
    slopes = np.zeros_like(M)
    now = slopes[:, 0]
    for k in range(M.shape[1] - 1):
        rate = M[:, k] + B[:, k] @ now
        then = M[:, k + 1] + B[:, k + 1] @ (now + timestep * rate)
        now = now + 0.5 * timestep * (rate + then)
        slopes[:, k + 1] = now
    return slopes


def cross_matrices(v) -> NDArray[np.float64]:
    """Matrices (n, 3, 3) whose product with a vector is the cross product of v (n, 3) with it."""
    x, y, z = np.asarray(v).T
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(-1, 3, 3)


def turned(quaternion, by) -> NDArray[np.float64]:
    """Quaternions (n, 4), turned in world axes by the rotation vectors `by` (n, 3) [rad]."""
    return _product(_turn(np.asarray(by).T), np.asarray(quaternion).T).T


def _spin(q, L, inverse):
    w, v = q[0], q[1:]
    return _rotated(w, v, inverse @ _rotated(w, -v, L))


def _rotated(w, v, a):
    twice = 2 * _cross(v, a)
    return a + w * twice + _cross(v, twice)


def _cross(a, b):
    # np.cross would take most of the time
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _turn(vector):
    half = 0.5 * np.sqrt((vector**2).sum(axis=0))
    sine = 0.5 * np.sinc(half / np.pi)  # sin(half) / (2 half)
    return np.concatenate([np.cos(half)[np.newaxis], sine * vector])


def _product(a, b):
    return np.stack(
        [
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        ]
    )


LEAST = 3  # frames that tell a start
_GUESS = 0.05  # [s] of flight whose mean turn is the first guess of the spin
_ROUNDS, _DONE = 30, 1e-8  # of Gauss-Newton, at most, and the change [rad, rad/s] that ends it
_KEPT = 8  # shapes of inertia whose fits are remembered: a fit of a law comes back to them


class Recorded(Protocol):
    """Recorded poses of a toss, see `Toss`."""

    @property
    def frame(self) -> NDArray[np.int64]: ...
    @property
    def position(self) -> NDArray[np.float64]: ...
    @property
    def quaternion(self) -> NDArray[np.float64]: ...
    @property
    def flight(self) -> int: ...
    @property
    def held(self) -> int: ...


class Flights:
    """The frames in free flight of tosses (n,), side by side on a grid of k frames.

    weight: of each frame, 0 where there is none, shape (n, k)
    position, quaternion: as recorded, shapes (n, k, 3) and (n, k, 4)
    time: of the frames [s], shape (k,)
    """

    def __init__(self, tosses: Sequence[Recorded], timestep: float) -> None:
        n, k = len(tosses), 1 + max(int(toss.frame[toss.flight - 1]) for toss in tosses)
        self.timestep, self.time = timestep, timestep * np.arange(k)
        self.weight, self.position, self.quaternion = np.zeros((n, k)), np.zeros((n, k, 3)), np.zeros((n, k, 4))
        self.quaternion[..., 0] = 1.0
        for i, toss in enumerate(tosses):
            free = slice(toss.held, toss.flight)
            at = toss.frame[free]
            if len(at) < LEAST:
                raise checks.InputError(f"A toss needs {LEAST} frames of free flight to know its start, got {len(at)}.")
            self.weight[i, at] = 1.0
            self.position[i, at], self.quaternion[i, at] = toss.position[free], toss.quaternion[free]
        self._known: dict[bytes, Flown] = {}

    def flown(self, inertia) -> "Flown":
        """The motion that fits best for a body with this inertia (3, 3), of which the scale does not matter."""
        shape = np.asarray(inertia) * (3 / np.trace(inertia))
        key = shape.tobytes()
        if key not in self._known:
            if len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
            self._known[key] = self._fitted(shape)
        return self._known[key]

    def _fitted(self, shape: NDArray[np.float64]) -> "Flown":
        steps = len(self.time) - 1
        first, momentum = self._guess(shape)
        for _ in range(_ROUNDS):
            path = torque_free(first, momentum, shape, self.timestep, steps)
            slopes = momentum_slopes(path, momentum, shape, self.timestep)
            try:
                change = np.linalg.solve(*self.equations(slopes, self.turns_off(path)[..., np.newaxis]))[..., 0]
            except np.linalg.LinAlgError as error:
                raise checks.InputError(
                    "No body of this inertia turns in flight as recorded: is this the body, are its axes right?"
                ) from error
            turn = rotations(change[:, :3])  # of the whole flight, its momentum as well
            first, momentum = turned(first, change[:, :3]), _of_each(turn, momentum) + change[:, 3:]
            if np.abs(change).max() < _DONE:
                break
        return Flown(self, torque_free(first, momentum, shape, self.timestep, steps), momentum, shape)

    def _guess(self, shape) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The first orientation (n, 4), and the momentum (n, 3) of the mean spin soon after it."""
        n = len(self.weight)
        early = max(LEAST, int(_GUESS / self.timestep))
        first, spin = np.empty((n, 4)), np.empty((n, 3))
        for i in range(n):
            at = np.flatnonzero(self.weight[i])
            at = at[: max(LEAST, int((at < at[0] + early).sum()))]
            seen = self.quaternion[i, at]
            # Turn by turn: also right where the whole of them is more than half a circle.
            spin[i] = rotation_vectors(seen[1:], seen[:-1]).sum(axis=0) / (self.time[at[-1]] - self.time[at[0]])
            first[i] = seen[0] if at[0] == 0 else turned(seen[:1], -self.time[at[0]] * spin[i : i + 1])[0]
        R = rotation_matrices(first)
        return first, _of_each(R @ shape @ np.swapaxes(R, 1, 2), spin)

    def equations(self, slopes, off) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Normal equations of a change of the start: turns about the first orientation, and the momentum.

        slopes: of the turns by the momentum, shape (n, k, 3, 3)
        off: c columns of turns to be explained, shape (n, k, 3, c)

        Matrices (n, 6, 6) and right sides (n, 6, c).
        """
        weighted = self.weight[..., np.newaxis, np.newaxis] * slopes
        one = self.weight.sum(axis=1)[:, np.newaxis, np.newaxis] * np.eye(3)
        mixed, both = weighted.sum(axis=1), np.einsum("nkji,nkjl->nil", weighted, slopes)
        matrix = np.block([[one, mixed], [np.swapaxes(mixed, 1, 2), both]])
        right = [np.einsum("nk,nkjc->njc", self.weight, off), np.einsum("nkji,nkjc->nic", weighted, off)]
        return matrix, np.concatenate(right, axis=1)

    def turns_off(self, path) -> NDArray[np.float64]:
        """Rotation vectors (n, k, 3) [rad] from `path` (n, k, 4) to what was recorded; 0 where nothing was."""
        off = rotation_vectors(self.quaternion.reshape(-1, 4), path.reshape(-1, 4)).reshape(*path.shape[:2], 3)
        return off * (self.weight > 0)[..., np.newaxis]

    @cached_property
    def line(self) -> NDArray[np.float64]:
        """From samples on the grid to the value and the slope at t = 0 of the line that fits best, shape (n, 2, k)."""
        design = np.stack([np.ones_like(self.time), self.time])
        weighted = self.weight[:, np.newaxis] * design
        return np.asarray(np.linalg.solve(weighted @ design.T, weighted), dtype=np.float64)


class Flown:
    """Flights fitted for a body with one shape of inertia.

    quaternion: of all frames, shape (n, k, 4); turned: the same as matrices
    spin: angular velocity at frame 0, world axes [rad/s], shape (n, 3)
    """

    def __init__(self, flights: Flights, path, momentum, shape) -> None:
        self.flights, self.quaternion, self.turned = flights, path, rotation_matrices(path)
        self.momentum, self.shape = momentum, shape
        R = self.turned[:, 0]
        self.spin_slopes = R @ np.linalg.inv(shape) @ np.swapaxes(R, 1, 2)  # from the momentum to the spin
        self.spin = _of_each(self.spin_slopes, momentum)
        # com_k = p_k + R_k c = x0 + v0 t + g t^2 / 2: linear in c and g.
        self._plain = flights.line @ flights.position  # (n, 2, 3)
        self._per_com = np.einsum("nak,nkij->naij", flights.line, self.turned)
        self._per_gravity = flights.line @ (-0.5 * flights.time**2)  # (n, 2)

    def states(self, com, gravity) -> State:
        """States (n,) of the body's frame at frame 0 for this centre of mass (3,) [m] and gravity (3,) [m/s^2]."""
        com, gravity = np.asarray(com), np.asarray(gravity)
        moved = self._plain + self._per_com @ com + self._per_gravity[:, :, np.newaxis] * gravity
        arm = self.turned[:, 0] @ com
        return State(moved[:, 0] - arm, self.quaternion[:, 0], moved[:, 1] - np.cross(self.spin, arm), self.spin)

    def paths_off(self, com, gravity) -> NDArray[np.float64]:
        """How far the centre of mass (3,) is off its parabola, shape (n, k, 3) [m]; 0 where nothing was recorded."""
        flights = self.flights
        level = flights.position + self.turned @ np.asarray(com)
        level -= 0.5 * flights.time[:, np.newaxis] ** 2 * np.asarray(gravity)
        design = np.stack([np.ones_like(flights.time), flights.time], axis=1)
        return (level - design @ (flights.line @ level)) * (flights.weight > 0)[..., np.newaxis]

    @cached_property
    def slopes(self) -> NDArray[np.float64]:
        """Of the turns by the momentum, shape (n, k, 3, 3)."""
        return momentum_slopes(self.quaternion, self.momentum, self.shape, self.flights.timestep)

    def turns_off(self) -> NDArray[np.float64]:
        """How far the recorded orientations are off, as rotation vectors (n, k, 3) [rad]."""
        return self.flights.turns_off(self.quaternion)

    def turns_with(self, inertia) -> NDArray[np.float64]:
        """What another inertia (3, 3) does to the turns (n, k, 3) [rad] that no other start would undo."""
        flights = self.flights
        shape = np.asarray(inertia) * (3 / np.trace(inertia))
        path = torque_free(self.quaternion[:, 0], self.momentum, shape, flights.timestep, len(flights.time) - 1)
        more = (self.turns_off() - flights.turns_off(path))[..., np.newaxis]
        start = np.linalg.solve(*flights.equations(self.slopes, more))
        undone = start[:, np.newaxis, :3] + self.slopes @ start[:, np.newaxis, 3:]
        return (more - undone)[..., 0]


def rotations(vectors) -> NDArray[np.float64]:
    """Rotation matrices (n, 3, 3) of rotation vectors (n, 3) [rad]."""
    return rotation_matrices(turned(np.broadcast_to([1.0, 0.0, 0.0, 0.0], (len(vectors), 4)), vectors))


def _of_each(matrix, vector) -> NDArray[np.float64]:
    return (matrix @ vector[..., np.newaxis])[..., 0]


# How well the start of a toss is known: from the recorder's noise, as free flight shows it, to a covariance.


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
