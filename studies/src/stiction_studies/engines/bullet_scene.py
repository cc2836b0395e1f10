"""Scenes in Bullet, with its own defaults: no sleeping, and no damping, which no other simulator has."""

import numpy as np
from numpy.typing import NDArray

from stiction_studies.engines.bullet import pybullet
from stiction_studies.engines.scene import G, Part, Scene, film


def run(scene: Scene, steps: int, every: int) -> NDArray[np.float64]:
    """Poses (frames, parts, 7) of all parts, position and quaternion, each `every` steps."""
    client = pybullet.connect(pybullet.DIRECT)
    try:
        pybullet.setPhysicsEngineParameter(fixedTimeStep=scene.timestep, physicsClientId=client)
        pybullet.setGravity(0, 0, -G, physicsClientId=client)
        _ground(client, scene)
        numbers = [_body(client, part, scene.friction) for part in scene.parts]
        pushed = [(number, part.force) for number, part in zip(numbers, scene.parts) if part.slide is not None]

        def step() -> None:
            for number, force in pushed:  # Bullet forgets it after each step
                pybullet.setJointMotorControl2(number, 0, pybullet.TORQUE_CONTROL, force=force, physicsClientId=client)
            pybullet.stepSimulation(client)

        def read() -> NDArray[np.float64]:
            return np.array([_pose(client, number, part) for number, part in zip(numbers, scene.parts)])

        return film(step, read, steps, every)
    finally:
        pybullet.disconnect(client)


def _ground(client: int, scene: Scene) -> None:
    plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE, planeNormal=scene.up.tolist(), physicsClientId=client)
    ground = pybullet.createMultiBody(0, plane, physicsClientId=client)
    # Bullet multiplies the two coefficients, and those of two parts must give the scene's.
    pybullet.changeDynamics(ground, -1, lateralFriction=float(np.sqrt(scene.friction)), physicsClientId=client)


def _body(client: int, part: Part, friction: float) -> int:
    """A free body, or a link on a fixed base that slides; its number."""
    shape = _shape(client, part)
    w, x, y, z = part.quaternion
    if part.slide is None:
        number = pybullet.createMultiBody(part.mass, shape, -1, part.position, (x, y, z, w), physicsClientId=client)
        pybullet.resetBaseVelocity(number, part.velocity, part.spin, physicsClientId=client)
        _set_dynamics(client, number, -1, part, friction)
        return number
    number = pybullet.createMultiBody(
        0.0, -1, -1, part.position, (x, y, z, w),
        linkMasses=[part.mass], linkCollisionShapeIndices=[shape], linkVisualShapeIndices=[-1],
        linkPositions=[(0, 0, 0)], linkOrientations=[(0, 0, 0, 1)],
        linkInertialFramePositions=[(0, 0, 0)], linkInertialFrameOrientations=[(0, 0, 0, 1)],
        linkParentIndices=[0], linkJointTypes=[pybullet.JOINT_PRISMATIC], linkJointAxis=[part.slide],
        physicsClientId=client,
    )  # fmt: skip
    # A new joint has a motor that holds it.
    pybullet.setJointMotorControl2(number, 0, pybullet.VELOCITY_CONTROL, force=0, physicsClientId=client)
    _set_dynamics(client, number, 0, part, friction)
    return number


def _set_dynamics(client: int, number: int, link: int, part: Part, friction: float) -> None:
    pybullet.changeDynamics(
        number,
        link,
        lateralFriction=float(np.sqrt(friction)),
        linearDamping=0.0,
        angularDamping=0.0,
        jointDamping=0.0,
        localInertiaDiagonal=part.inertia.tolist(),
        physicsClientId=client,
    )


def _shape(client: int, part: Part) -> int:
    if part.shape == "box":
        half = (np.array(part.size) / 2).tolist()
        return pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=half, physicsClientId=client)
    kind = {"sphere": pybullet.GEOM_SPHERE, "capsule": pybullet.GEOM_CAPSULE, "cylinder": pybullet.GEOM_CYLINDER}
    radius, *length = part.size
    height = {"height": length[0]} if length else {}
    return pybullet.createCollisionShape(kind[part.shape], radius=radius, **height, physicsClientId=client)


def _pose(client: int, number: int, part: Part) -> tuple[float, ...]:
    """Position and quaternion; Bullet's end with w."""
    if part.slide is None:
        place, (x, y, z, w) = pybullet.getBasePositionAndOrientation(number, client)
        return *place, w, x, y, z
    distance = pybullet.getJointState(number, 0, client)[0]
    return tuple(part.slid(np.array([distance]))[0])
