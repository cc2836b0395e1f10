"""Bullet as a peer on recorded tosses: its own contact, with the parameters that it offers."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.simulation.motion import to_motion

try:
    import pybullet
except ImportError as error:
    raise ImportError(needs("stiction_studies.engines.bullet_peer", "pybullet")) from error


def toss(
    body: Body,
    states: State,
    steps: int,
    *,
    timestep: float,
    gravity: ArrayLike,
    drag: float = 0.0,
    substeps: int = 4,
    friction: float = 0.2,
    restitution: float = 0.1,
    spinning: float = 0.001,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Positions (n, steps + 1, 3) and quaternions (n, steps + 1, 4) of the body frame of a box.

    gravity: [m/s^2], shape (3,); drag: by which motion and spin slow down, of their speed [1/s]
    friction, restitution: coefficients; spinning: coefficient of friction against spinning [m]
    """
    client = pybullet.connect(pybullet.DIRECT)
    try:
        number = _scene(client, body, timestep / substeps, gravity, drag, friction, restitution, spinning)
        motion = to_motion(body, states)
        frames = np.empty((len(motion.position), steps + 1, 7))
        for i in range(len(frames)):
            w, x, y, z = motion.quaternion[i].tolist()
            pybullet.resetBasePositionAndOrientation(number, motion.position[i].tolist(), (x, y, z, w), client)
            linear, angular = motion.twist[i, :3].tolist(), motion.twist[i, 3:].tolist()
            pybullet.resetBaseVelocity(number, linear, angular, physicsClientId=client)
            for t in range(steps + 1):
                place, turn = pybullet.getBasePositionAndOrientation(number, client)
                frames[i, t] = *place, turn[3], *turn[:3]
                for _ in range(substeps if t < steps else 0):
                    pybullet.stepSimulation(client)
    finally:
        pybullet.disconnect(client)
    quaternion = frames[..., 3:]
    return frames[..., :3] - _turned(quaternion, body.com), quaternion


def _turned(q, vector) -> NDArray[np.float64]:
    """A body vector in world axes, for quaternions (..., 4)."""
    v = np.broadcast_to(vector, q[..., 1:].shape)
    t = 2 * np.cross(q[..., 1:], v)
    return v + q[..., :1] * t + np.cross(q[..., 1:], t)


def _scene(client: int, body: Body, h, gravity, drag, friction, restitution, spinning) -> int:
    """A world with the ground and the body, whose frame lies at the centre of mass; the number of the body."""
    pybullet.setPhysicsEngineParameter(
        fixedTimeStep=h, restitutionVelocityThreshold=0.03, deterministicOverlappingPairs=1, physicsClientId=client
    )
    pybullet.setGravity(*np.asarray(gravity).tolist(), physicsClientId=client)
    plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE, planeNormal=(0, 0, 1), physicsClientId=client)
    half = (np.array(body.size) / 2).tolist()
    shape = pybullet.createCollisionShape(
        pybullet.GEOM_BOX, halfExtents=half, collisionFramePosition=(-body.com).tolist(), physicsClientId=client
    )
    ground = pybullet.createMultiBody(0, plane, physicsClientId=client)
    number = pybullet.createMultiBody(body.mass, shape, physicsClientId=client)
    # Bullet multiplies the coefficients of the two, and damps all motion unless told not to; by what is lost a second.
    lost = -float(np.expm1(-drag))
    pybullet.changeDynamics(
        ground, -1, lateralFriction=1.0, restitution=1.0, spinningFriction=1.0, physicsClientId=client
    )
    pybullet.changeDynamics(
        number,
        -1,
        lateralFriction=friction,
        restitution=restitution,
        spinningFriction=spinning,
        linearDamping=lost,
        angularDamping=lost,
        localInertiaDiagonal=np.diag(body.inertia).tolist(),
        physicsClientId=client,
    )
    return number
