"""The paper's own inputs: orientation, twist, and two redundant features, in world axes and as they are.

The orientation may be written in four ways, which the paper compares; impulses are not divided by the load.
"""

import numpy as np

from stiction.compiled import lean
from stiction.laws.frame import GUESS, set_frame

MATRIX, QUATERNION, EULER, AXIS_ANGLE = 1, 2, 3, 4
ROTATION_SIZE = {MATRIX: 9, QUATERNION: 4, EULER: 3, AXIS_ANGLE: 3}


@lean
def describe_state(c, rotation, with_centre, with_slip, mass):
    """Write features and frame of contact record `c` into its memo.

    rotation: MATRIX, QUATERNION, EULER or AXIS_ANGLE
    with_centre: the patch's centre in the body frame; with_slip: the velocity there: the two redundant features
    """
    x = c.memo
    o = _orientation(c.rotation, rotation, x)
    x[o] = c.height
    o += 1
    for k in range(6):
        x[o + k] = c.velocity[k]
    o += 6
    if with_centre:
        for k in range(3):
            x[o + k] = 0.0
            for m in range(3):
                x[o + k] += c.rotation[m, k] * c.centre[m]
        o += 3
    if with_slip:
        v, r = c.velocity, c.centre
        x[o] = v[0] + v[4] * r[2] - v[5] * r[1]
        x[o + 1] = v[1] + v[5] * r[0] - v[3] * r[2]
        x[o + 2] = v[2] + v[3] * r[1] - v[4] * r[0]
    for k in range(3):
        x[GUESS + k] = 0.0
    set_frame(x, mass, c.diameter, 1.0, 0.0, 0.0, 1.0)


@lean
def _orientation(R, rotation, x):
    """Write the orientation at the start of x; the next free place back."""
    if rotation == MATRIX:
        for k in range(9):
            x[k] = R[k // 3, k % 3]
        return 9
    w, a, b, c = _quaternion(R)
    if rotation == QUATERNION:
        x[0], x[1], x[2], x[3] = w, a, b, c
        return 4
    if rotation == EULER:  # turns about x, then y, then z of the world
        x[0] = np.arctan2(R[2, 1], R[2, 2])
        x[1] = -np.arcsin(min(max(R[2, 0], -1.0), 1.0))
        x[2] = np.arctan2(R[1, 0], R[0, 0])
        return 3
    length = np.sqrt(a * a + b * b + c * c)
    factor = 2 * np.arctan2(length, w) / length if length > 1e-12 else 2.0
    x[0], x[1], x[2] = factor * a, factor * b, factor * c
    return 3


@lean
def _quaternion(R):
    """(w, x, y, z) of a rotation matrix with w >= 0."""
    w2 = 1 + R[0, 0] + R[1, 1] + R[2, 2]
    x2 = 1 + R[0, 0] - R[1, 1] - R[2, 2]
    y2 = 1 - R[0, 0] + R[1, 1] - R[2, 2]
    z2 = 1 - R[0, 0] - R[1, 1] + R[2, 2]
    a, b, c = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    d, e, f = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    best = max(w2, x2, y2, z2)
    s = 0.5 / np.sqrt(best)  # the greatest of the four is found without a loss of digits, the others from it
    if best == w2:
        w, x, y, z = s * w2, s * a, s * b, s * c
    elif best == x2:
        w, x, y, z = s * a, s * x2, s * d, s * e
    elif best == y2:
        w, x, y, z = s * b, s * d, s * y2, s * f
    else:
        w, x, y, z = s * c, s * e, s * f, s * z2
    sign = -1.0 if w < 0 else 1.0
    return sign * w, sign * x, sign * y, sign * z
