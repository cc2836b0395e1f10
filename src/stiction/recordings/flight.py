"""Free flight of recorded tosses: least-squares fits of their starts, for any mass properties of the body.

Only gravity acts: the centre of mass moves on a parabola, x0 + v0 t + g t^2 / 2, and the body rotates about it with
constant angular momentum L, so that its angular velocity R I^-1 R^T L changes unless its moments of inertia are equal.
Unknowns of a toss are x0, v0, the first orientation and L. The position is linear in x0 and v0; orientation and L are
found by Gauss-Newton, for all tosses at once.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.bodies.rotations import rotation_matrices, rotation_vectors
from stiction.bodies.state import State

if TYPE_CHECKING:
    from stiction.recordings.tosses import Toss

MIN_FRAMES = 3  # from which a start can be estimated


# Rotation without torque


def torque_free(quaternion, momentum, inertia, timestep: float, steps: int) -> NDArray[np.float64]:
    """Quaternions (n, steps + 1, 4) of bodies without torque, from `quaternion` (n, 4) on.

    momentum: angular momentum, world axes, shape (n, 3)
    inertia: body axes, in units consistent with those of the momentum, shape (3, 3)

    The scheme is commutator-free with two exponentials (Celledoni, Marthinsen and Owren 2003): of fourth order in the
    time step, and exact for a constant spin.
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
    """Derivatives of the rotations by the momentum, world axes, shape (n, steps + 1, 3, 3).

    quaternion: from `torque_free`

    A small rotation d caused by a change l of the momentum L grows as d' = M (l + L x d), where M L is the spin. Heun's
    method is accurate enough for derivatives.
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


class Flights:
    """The frames in free flight of tosses (n,), side by side on a grid of k frames.

    weight: of each frame, 0 where there is none, shape (n, k)
    position, quaternion: as recorded, shapes (n, k, 3) and (n, k, 4)
    time: of the frames [s], shape (k,)
    """

    def __init__(self, tosses: Sequence["Toss"], timestep: float) -> None:
        n, k = len(tosses), 1 + max(int(toss.frame[toss.flight - 1]) for toss in tosses)
        self.timestep, self.time = timestep, timestep * np.arange(k)
        self.weight, self.position, self.quaternion = np.zeros((n, k)), np.zeros((n, k, 3)), np.zeros((n, k, 4))
        self.quaternion[..., 0] = 1.0
        for i, toss in enumerate(tosses):
            free = slice(toss.held, toss.flight)
            at = toss.frame[free]
            if len(at) < MIN_FRAMES:
                raise checks.InputError(
                    f"A toss needs {MIN_FRAMES} frames of free flight to estimate its start, got {len(at)}."
                )
            self.weight[i, at] = 1.0
            self.position[i, at], self.quaternion[i, at] = toss.position[free], toss.quaternion[free]
        self._fits: dict[bytes, Flown] = {}  # by inertia: a fit of a law returns to the same ones

    def flown(self, inertia) -> "Flown":
        """The best fit for a body with this inertia (3, 3), whose scale does not matter."""
        shape = np.asarray(inertia) * (3 / np.trace(inertia))
        key = shape.tobytes()
        if key not in self._fits:
            if len(self._fits) >= 8:
                del self._fits[next(iter(self._fits))]
            self._fits[key] = self._fitted(shape)
        return self._fits[key]

    def _fitted(self, shape: NDArray[np.float64]) -> "Flown":
        steps = len(self.time) - 1
        first, momentum = self._guess(shape)
        for _ in range(30):
            path = torque_free(first, momentum, shape, self.timestep, steps)
            slopes = momentum_slopes(path, momentum, shape, self.timestep)
            try:
                change = np.linalg.solve(*self.equations(slopes, self.turns_off(path)[..., np.newaxis]))[..., 0]
            except np.linalg.LinAlgError as error:
                raise checks.InputError(
                    "No body of this inertia rotates in flight as recorded: is this the body, are its axes right?"
                ) from error
            turn = rotations(change[:, :3])  # rotates the whole flight, and its momentum
            first, momentum = turned(first, change[:, :3]), _of_each(turn, momentum) + change[:, 3:]
            if np.abs(change).max() < 1e-8:  # [rad, rad/s]
                break
        return Flown(self, torque_free(first, momentum, shape, self.timestep, steps), momentum, shape)

    def _guess(self, shape) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The first orientation (n, 4), and the momentum (n, 3) of the mean spin in the first 50 ms."""
        n = len(self.weight)
        early = max(MIN_FRAMES, int(0.05 / self.timestep))
        first, spin = np.empty((n, 4)), np.empty((n, 3))
        for i in range(n):
            at = np.flatnonzero(self.weight[i])
            at = at[: max(MIN_FRAMES, int((at < at[0] + early).sum()))]
            seen = self.quaternion[i, at]
            # Frame by frame: together they may be more than half a turn.
            spin[i] = rotation_vectors(seen[1:], seen[:-1]).sum(axis=0) / (self.time[at[-1]] - self.time[at[0]])
            first[i] = seen[0] if at[0] == 0 else turned(seen[:1], -self.time[at[0]] * spin[i : i + 1])[0]
        R = rotation_matrices(first)
        return first, _of_each(R @ shape @ np.swapaxes(R, 1, 2), spin)

    def equations(self, slopes, off) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Normal equations of a change of the start: a rotation of the first orientation, and the momentum.

        slopes: of the turns by the momentum, shape (n, k, 3, 3)
        off: c columns of rotations to be explained, shape (n, k, 3, c)

        Matrices (n, 6, 6) and right sides (n, 6, c).
        """
        weighted = self.weight[..., np.newaxis, np.newaxis] * slopes
        one = self.weight.sum(axis=1)[:, np.newaxis, np.newaxis] * np.eye(3)
        mixed, both = weighted.sum(axis=1), np.einsum("nkji,nkjl->nil", weighted, slopes)
        matrix = np.block([[one, mixed], [np.swapaxes(mixed, 1, 2), both]])
        right = [np.einsum("nk,nkjc->njc", self.weight, off), np.einsum("nkji,nkjc->nic", weighted, off)]
        return matrix, np.concatenate(right, axis=1)

    def turns_off(self, path) -> NDArray[np.float64]:
        """Rotation vectors (n, k, 3) [rad] from `path` (n, k, 4) to the recorded orientations; 0 at missing frames."""
        off = rotation_vectors(self.quaternion.reshape(-1, 4), path.reshape(-1, 4)).reshape(*path.shape[:2], 3)
        return off * (self.weight > 0)[..., np.newaxis]

    @cached_property
    def line(self) -> NDArray[np.float64]:
        """Matrices from samples on the grid to value and slope at t = 0 of the best line, shape (n, 2, k)."""
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
        """Residuals of the centre of mass (3,) from its parabola, shape (n, k, 3) [m]; 0 at missing frames."""
        flights = self.flights
        level = flights.position + self.turned @ np.asarray(com)
        level -= 0.5 * flights.time[:, np.newaxis] ** 2 * np.asarray(gravity)
        design = np.stack([np.ones_like(flights.time), flights.time], axis=1)
        return (level - design @ (flights.line @ level)) * (flights.weight > 0)[..., np.newaxis]

    @cached_property
    def slopes(self) -> NDArray[np.float64]:
        """Derivatives of the rotations by the momentum, shape (n, k, 3, 3)."""
        return momentum_slopes(self.quaternion, self.momentum, self.shape, self.flights.timestep)

    def turns_off(self) -> NDArray[np.float64]:
        """Residuals of the recorded orientations, rotation vectors (n, k, 3) [rad]."""
        return self.flights.turns_off(self.quaternion)

    def turns_with(self, inertia) -> NDArray[np.float64]:
        """Effect of another inertia (3, 3) on the rotations (n, k, 3) [rad] that no other start compensates."""
        flights = self.flights
        shape = np.asarray(inertia) * (3 / np.trace(inertia))
        path = torque_free(self.quaternion[:, 0], self.momentum, shape, flights.timestep, len(flights.time) - 1)
        more = (self.turns_off() - flights.turns_off(path))[..., np.newaxis]
        start = np.linalg.solve(*flights.equations(self.slopes, more))
        compensated = start[:, np.newaxis, :3] + self.slopes @ start[:, np.newaxis, 3:]
        return (more - compensated)[..., 0]


def rotations(vectors) -> NDArray[np.float64]:
    """Rotation matrices (n, 3, 3) of rotation vectors (n, 3) [rad]."""
    return rotation_matrices(turned(np.broadcast_to([1.0, 0.0, 0.0, 0.0], (len(vectors), 4)), vectors))


def _of_each(matrix, vector) -> NDArray[np.float64]:
    return (matrix @ vector[..., np.newaxis])[..., 0]
