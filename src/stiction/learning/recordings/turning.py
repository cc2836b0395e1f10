"""How bodies turn in free flight: no torque acts, the angular momentum stays, and the spin wanders with the body.

All bodies of a batch at once, component by component: their numbers are the last axis, shapes (4, n) and (3, n).
"""

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.rotations import rotation_matrices


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
