"""Bullet with a part on hinges, with its own contact."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction_studies.engines.bullet import pybullet
from stiction_studies.engines.linked import Contact, Link, ground_of, links_of, move


def motions(
    model: Any, states: NDArray[np.float64], frames: int, substeps: int, contact: Contact
) -> NDArray[np.float64]:
    """States (n, frames, nq + nv) of the part of a MuJoCo model at each frame, in Bullet; velocities are NaN."""
    client = pybullet.connect(pybullet.DIRECT)
    try:
        links = links_of(model)
        part = _Part(client, model, links, contact)
        return move(part, links[0], states, frames, substeps, lambda: None)
    finally:
        pybullet.disconnect(client)


class _Part:
    """The part in a world with a ground."""

    def __init__(self, client: int, model: Any, links: list[Link], contact: Contact) -> None:
        self.client, self.base = client, links[0]
        pybullet.setPhysicsEngineParameter(
            fixedTimeStep=float(model.opt.timestep),
            restitutionVelocityThreshold=0.03,
            deterministicOverlappingPairs=1,
            physicsClientId=client,
        )
        pybullet.setGravity(*np.array(model.opt.gravity).tolist(), physicsClientId=client)
        plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE, planeNormal=(0, 0, 1), physicsClientId=client)
        ground = pybullet.createMultiBody(0, plane, basePosition=(0, 0, ground_of(model)), physicsClientId=client)
        # Bullet multiplies the coefficients of the two.
        pybullet.changeDynamics(
            ground, -1, lateralFriction=1.0, restitution=1.0, spinningFriction=1.0, physicsClientId=client
        )
        self.number = _create(client, links)
        self.hinges = range(len(links) - 1)
        for k, link in enumerate(links):
            _set_dynamics(client, self.number, k - 1, link, contact)
        self._axes = self.base.principal.inv()

    def put(self, place, turn: Rotation, velocity, spin, q, dq) -> None:
        seen = (turn * self.base.principal).as_quat().tolist()  # Bullet's frame of a base is that of its inertia
        pybullet.resetBasePositionAndOrientation(self.number, place.tolist(), seen, self.client)
        pybullet.resetBaseVelocity(self.number, velocity.tolist(), spin.tolist(), physicsClientId=self.client)
        for k in self.hinges:
            pybullet.resetJointState(self.number, k, float(q[k]), float(dq[k]), physicsClientId=self.client)

    def step(self) -> None:
        pybullet.stepSimulation(self.client)

    def read(self) -> NDArray[np.float64]:
        place, turn = pybullet.getBasePositionAndOrientation(self.number, self.client)
        quaternion = (Rotation.from_quat(turn) * self._axes).as_quat(scalar_first=True)
        angles = [pybullet.getJointState(self.number, k, self.client)[0] for k in self.hinges]
        return np.array([*place, *quaternion, *angles])


def _create(client: int, links: list[Link]) -> int:
    shapes = [_balls(client, link) for link in links]
    base, *others = links
    number = pybullet.createMultiBody(
        base.mass, shapes[0],
        baseInertialFramePosition=base.com.tolist(), baseInertialFrameOrientation=base.principal.as_quat().tolist(),
        linkMasses=[link.mass for link in others], linkCollisionShapeIndices=shapes[1:],
        linkVisualShapeIndices=[-1] * len(others),
        linkPositions=[link.place.tolist() for link in others],
        linkOrientations=[link.turn.as_quat().tolist() for link in others],
        linkInertialFramePositions=[link.com.tolist() for link in others],
        linkInertialFrameOrientations=[link.principal.as_quat().tolist() for link in others],
        linkParentIndices=[link.parent for link in others],  # 0 is the base
        linkJointTypes=[pybullet.JOINT_REVOLUTE] * len(others), linkJointAxis=[link.axis.tolist() for link in others],
        physicsClientId=client,
    )  # fmt: skip
    for k, link in enumerate(others):
        # A motor that wants speed 0 with so much torque at most is Coulomb friction.
        pybullet.setJointMotorControl2(
            number, k, pybullet.VELOCITY_CONTROL, targetVelocity=0.0, force=link.friction, physicsClientId=client
        )
    return number


def _balls(client: int, link: Link) -> int:
    return pybullet.createCollisionShapeArray(
        shapeTypes=[pybullet.GEOM_SPHERE] * len(link.balls),
        radii=link.balls[:, 3].tolist(),
        collisionFramePositions=link.balls[:, :3].tolist(),
        physicsClientId=client,
    )


def _set_dynamics(client: int, number: int, index: int, link: Link, contact: Contact) -> None:
    pybullet.changeDynamics(
        number,
        index,
        lateralFriction=contact.friction,
        restitution=contact.restitution,
        spinningFriction=contact.spinning,
        linearDamping=0.0,  # Bullet damps all motion unless told not to
        angularDamping=0.0,
        jointDamping=link.damping,
        # Or a ball is stopped just before it arrives, and never bounces.
        contactProcessingThreshold=0.0,
        localInertiaDiagonal=link.inertia.tolist(),
        physicsClientId=client,
    )
