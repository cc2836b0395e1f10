"""Rotation matrices of many quaternions at once."""

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
