"""Rotations of many bodies: quaternions to matrices and rotation vectors, and rotations in the x-z plane."""

import numpy as np
from numpy.typing import NDArray


def rotation_matrices(quaternions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotation matrices, body to world, shape (n, 3, 3), of unit quaternions (w, x, y, z), shape (n, 4)."""
    w, x, y, z = np.moveaxis(np.asarray(quaternions, dtype=np.float64), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def rotation_vectors(a, b) -> NDArray[np.float64]:
    """Rotation vectors (n, 3) [rad] of quaternions a relative to b, world axes."""
    w = (a * b).sum(axis=1)
    a0, a1, a2, a3 = a.T
    b0, b1, b2, b3 = b.T
    v = np.empty((len(w), 3))  # of a b^-1, written out: np.cross would take most of the time of a fit
    v[:, 0] = b0 * a1 - a0 * b1 - a2 * b3 + a3 * b2
    v[:, 1] = b0 * a2 - a0 * b2 - a3 * b1 + a1 * b3
    v[:, 2] = b0 * a3 - a0 * b3 - a1 * b2 + a2 * b1
    v[w < 0] *= -1
    sine = np.sqrt((v**2).sum(axis=1))
    angle = 2 * np.arctan2(sine, np.abs(w))
    return v * (angle / np.maximum(sine, 1e-12))[:, np.newaxis]


def turns_in_plane(angle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quaternions (n, 4) of rotations by angles (n,) [rad] in the x-z plane, from x towards z."""
    half = 0.5 * np.asarray(angle, dtype=np.float64)
    none = np.zeros_like(half)
    return np.stack([np.cos(half), none, -np.sin(half), none], axis=-1)


def angles_in_plane(quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unwrapped angles (n,) [rad] of successive rotations (n, 4) in the x-z plane, from x towards z."""
    return np.unwrap(-2 * np.arctan2(quaternion[:, 2], quaternion[:, 0]))
