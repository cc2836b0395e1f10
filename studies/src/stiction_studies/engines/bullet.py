"""Throws of a box onto the ground in Bullet, as trajectories: a peer in the study of slopes."""

import numpy as np
from numpy.typing import ArrayLike

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.bodies.trajectory import Trajectory
from stiction.laws.law import GRAVITY
from stiction.simulation.motion import (
    Setting,
    check_finite,
    check_start,
    empty_record,
    recover,
    to_motion,
    to_trajectory,
)

try:
    import pybullet
except ImportError as error:
    raise ImportError(needs("stiction_studies.engines.bullet", "pybullet")) from error


def throw(
    body: Body,
    state: State,
    steps: int = 800,
    *,
    friction: float = 0.5,
    timestep: float = 0.002,
    gravity: ArrayLike = GRAVITY,
) -> Trajectory:
    """Throw a box onto the ground in Bullet, from one state or from each state of a batch.

    friction: Coulomb coefficient of body and ground
    """
    steps = checks.count("steps", steps, 0)
    mu = checks.non_negative("friction", friction)
    if body.shape != "box" or np.any(body.com) or np.any(body.inertia != np.diag(np.diag(body.inertia))):
        raise checks.InputError("Only a box with its centre of mass in the middle can be thrown in Bullet.")
    setting = Setting(checks.positive("timestep [s]", timestep), checks.array("gravity", gravity, (3,)))
    check_start(body, state)
    start = to_motion(body, state.reshape(int(np.prod(state.batch_shape))))
    record = empty_record(len(start.position), steps)
    client = pybullet.connect(pybullet.DIRECT)
    try:
        for i in range(len(start.position)):
            number = _scene(client, body, mu, setting)
            x, y, z, w = start.quaternion[i][[1, 2, 3, 0]].tolist()
            pybullet.resetBasePositionAndOrientation(number, start.position[i].tolist(), (x, y, z, w), client)
            linear, angular = start.twist[i, :3].tolist(), start.twist[i, 3:].tolist()
            pybullet.resetBaseVelocity(number, linear, angular, physicsClientId=client)
            for t in range(steps + 1):
                _write(record, i, t, client, number)
                if t < steps:
                    pybullet.stepSimulation(client)
    finally:
        pybullet.disconnect(client)
    check_finite(setting.timestep, *record[:2], record.twist[..., :3], record.twist[..., 3:])
    recover(body, setting, record)
    return to_trajectory(body, record, state.batch_shape, setting.timestep)


def _scene(client: int, body: Body, mu: float, setting: Setting) -> int:
    """A fresh world with the ground and the body; the number of the body."""
    pybullet.resetSimulation(physicsClientId=client)
    pybullet.setPhysicsEngineParameter(fixedTimeStep=setting.timestep, physicsClientId=client)
    pybullet.setGravity(*setting.gravity.tolist(), physicsClientId=client)
    plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE, planeNormal=(0, 0, 1), physicsClientId=client)
    half = (np.array(body.size) / 2).tolist()
    shape = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=half, physicsClientId=client)
    ground = pybullet.createMultiBody(0, plane, physicsClientId=client)
    number = pybullet.createMultiBody(body.mass, shape, physicsClientId=client)
    # Bullet multiplies the two coefficients, and damps all motion unless told not to.
    pybullet.changeDynamics(ground, -1, lateralFriction=1.0, physicsClientId=client)
    pybullet.changeDynamics(
        number,
        -1,
        lateralFriction=mu,
        linearDamping=0.0,
        angularDamping=0.0,
        localInertiaDiagonal=np.diag(body.inertia).tolist(),
        physicsClientId=client,
    )
    return number


def _write(record, i: int, t: int, client: int, number: int) -> None:
    """Write the present state; Bullet's quaternions end with w."""
    position, (x, y, z, w) = pybullet.getBasePositionAndOrientation(number, client)
    linear, angular = pybullet.getBaseVelocity(number, client)
    record.position[i, t], record.quaternion[i, t] = position, (w, x, y, z)
    record.twist[i, t, :3], record.twist[i, t, 3:] = linear, angular
