"""Free flight of recorded tosses: what its frames tell about the start, for any mass properties of the body.

Nothing but gravity acts: the centre of mass flies on a parabola, and the body turns about it with a steady angular
momentum, so that the spin of a body with unequal inertias wanders. All tosses are fitted at once, by least squares.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.bodies.rotations import rotation_matrices, rotation_vectors
from stiction.bodies.state import State
from stiction.learning.recordings.turning import momentum_slopes, torque_free, turned

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
