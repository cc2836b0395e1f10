"""Rotations and rigid motion: small compiled kernels on single arrays, and loops over batches.

Twists and wrenches are (linear, angular) at the centre of mass in world axes; quaternions are w, x, y, z.
"""

import numpy as np

from stiction.compiled import compiled, lean


@lean
def rotation_matrix(quaternion, out):
    """Write the rotation matrix (3, 3), body to world, of a unit quaternion (4,) into `out`."""
    w, x, y, z = quaternion
    out[0, 0] = 1 - 2 * (y * y + z * z)
    out[0, 1] = 2 * (x * y - w * z)
    out[0, 2] = 2 * (x * z + w * y)
    out[1, 0] = 2 * (x * y + w * z)
    out[1, 1] = 1 - 2 * (x * x + z * z)
    out[1, 2] = 2 * (y * z - w * x)
    out[2, 0] = 2 * (x * z - w * y)
    out[2, 1] = 2 * (y * z + w * x)
    out[2, 2] = 1 - 2 * (x * x + y * y)


@lean
def clear(values):
    """Set an array (n,) to zero."""
    for k in range(len(values)):
        values[k] = 0.0


@compiled
def rotation_matrices(quaternions):
    """Rotation matrices, shape (n, 3, 3), of unit quaternions, shape (n, 4)."""
    out = np.empty((len(quaternions), 3, 3))
    for i in range(len(quaternions)):
        rotation_matrix(quaternions[i], out[i])
    return out


@lean
def rotate(quaternion, turn_x, turn_y, turn_z):
    """Turn a quaternion (4,) in place by a rotation vector, world axes [rad]."""
    angle = np.sqrt(turn_x**2 + turn_y**2 + turn_z**2)
    # sin(angle / 2) / angle, by its series where the quotient would lose digits.
    half = 0.5 - angle * angle / 48 if angle < 1e-4 else np.sin(0.5 * angle) / angle
    a, b, c, d = np.cos(0.5 * angle), half * turn_x, half * turn_y, half * turn_z
    w, x, y, z = quaternion
    quaternion[0] = a * w - b * x - c * y - d * z
    quaternion[1] = a * x + b * w + c * z - d * y
    quaternion[2] = a * y - b * z + c * w + d * x
    quaternion[3] = a * z + b * y - c * x + d * w
    # One Newton step to unit length: no effect at all on a body at rest.
    square = quaternion[0] ** 2 + quaternion[1] ** 2 + quaternion[2] ** 2 + quaternion[3] ** 2
    for k in range(4):
        quaternion[k] *= 1.5 - 0.5 * square


@lean
def sandwich(rotation, tensor, out):
    """Write R T R^T into `out`: a body-frame tensor (3, 3) in world axes."""
    R, T = rotation, tensor
    for i in range(3):
        x = R[i, 0] * T[0, 0] + R[i, 1] * T[1, 0] + R[i, 2] * T[2, 0]
        y = R[i, 0] * T[0, 1] + R[i, 1] * T[1, 1] + R[i, 2] * T[2, 1]
        z = R[i, 0] * T[0, 2] + R[i, 1] * T[1, 2] + R[i, 2] * T[2, 2]
        for j in range(i + 1):
            out[i, j] = out[j, i] = x * R[j, 0] + y * R[j, 1] + z * R[j, 2]


@compiled
def apply(matrix, vector):
    """Matrix (n, m) times vector (m,)."""
    out = np.zeros(matrix.shape[0])
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[i] += matrix[i, j] * vector[j]
    return out


@lean
def copy(source, out):
    """Write the vector `source` into `out`."""
    for k in range(len(source)):
        out[k] = source[k]


@lean
def dot(a, b):
    """Scalar product of two vectors."""
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total
