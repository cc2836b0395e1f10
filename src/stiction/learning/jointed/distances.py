"""How far motions of a jointed part are apart: its base, in percent of a length and degrees, and its joints."""

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.rotations import rotation_vectors
from stiction.learning.jointed.part import POSE, JointedPart


def differences(part: JointedPart, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """From qpos b to qpos a, each (n, 7 + joints): shape (n, 6 + joints).

    Position of the base [% of the part's length], its rotation vector in world axes [degrees], hinges [degrees], slides
    [% of the length].
    """
    percent = 100 / part.length
    scale = np.where(part.hinges, np.degrees(1.0), percent)
    turn = np.degrees(rotation_vectors(a[:, 3:POSE], b[:, 3:POSE]))
    return np.hstack([(a[:, :3] - b[:, :3]) * percent, turn, (a[:, POSE:] - b[:, POSE:]) * scale])
