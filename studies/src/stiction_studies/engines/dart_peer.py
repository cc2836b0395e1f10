"""DART as a peer on recorded tosses: its own contact, with restitution."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.dart import build_world
from stiction.simulation.motion import Setting, to_motion


def toss(
    body: Body,
    states: State,
    steps: int,
    *,
    timestep: float,
    gravity: ArrayLike,
    substeps: int = 3,
    friction: float = 0.2,
    restitution: float = 0.1,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Positions (n, steps + 1, 3) and quaternions (n, steps + 1, 4) of the body frame of a box.

    gravity: [m/s^2], shape (3,); friction, restitution: coefficients
    """
    setting = Setting(timestep / substeps, np.array(gravity, dtype=np.float64))
    motion = to_motion(body, states)
    turn = Rotation.from_quat(motion.quaternion, scalar_first=True).as_rotvec().reshape(-1, 3)
    # A free joint is angular first: a rotation vector, then the origin, which lies at the centre of mass.
    q, dq = np.hstack([turn, motion.position]), np.hstack([motion.twist[:, 3:], motion.twist[:, :3]])
    with build_world(body, friction, setting, restitution) as (world, skeleton):
        frames = np.empty((len(q), steps + 1, 6))
        for i in range(len(q)):
            skeleton.setPositions(q[i])
            skeleton.setVelocities(dq[i])
            for t in range(steps + 1):
                frames[i, t] = skeleton.getPositions()
                for _ in range(substeps if t < steps else 0):
                    world.step()
    rotations = Rotation.from_rotvec(frames[..., :3].reshape(-1, 3))
    quaternion = rotations.as_quat(scalar_first=True).reshape(*frames.shape[:2], 4)
    arm = (rotations.as_matrix() @ body.com).reshape(*frames.shape[:2], 3)
    return frames[..., 3:] - arm, quaternion
