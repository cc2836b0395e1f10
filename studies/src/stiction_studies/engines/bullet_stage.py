"""Bullet in the bench: one body stepped by `stepSimulation`, without sleeping."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from stiction.bodies.body import Body
from stiction.simulation.motion import Motion, Setting
from stiction_studies.engines.bullet import pybullet
from stiction_studies.engines.stage import FOOT, Stage, feet


class BulletStage(Stage):
    """A body in Bullet, its frame at the centre of mass.

    create: makes the body in the client of this number and returns its own number
    """

    def __init__(
        self, body: Body, starts: Motion, friction: float, setting: Setting, create: Callable[[int], int]
    ) -> None:
        self.body, self.starts, self.friction, self.setting, self.create = body, starts, friction, setting, create
        self.client = pybullet.connect(pybullet.DIRECT)
        self.step = partial(pybullet.stepSimulation, self.client)

    def put(self, start: int) -> None:
        client = self.client
        pybullet.resetSimulation(physicsClientId=client)  # or contact points of earlier steps would stay
        pybullet.setPhysicsEngineParameter(fixedTimeStep=self.setting.timestep, physicsClientId=client)
        pybullet.setGravity(*self.setting.gravity.tolist(), physicsClientId=client)
        plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE, planeNormal=(0, 0, 1), physicsClientId=client)
        ground = pybullet.createMultiBody(0, plane, physicsClientId=client)
        pybullet.changeDynamics(ground, -1, lateralFriction=1.0, physicsClientId=client)
        self.number = self.create(client)
        pybullet.changeDynamics(
            self.number,
            -1,
            lateralFriction=self.friction,
            linearDamping=0.0,
            angularDamping=0.0,
            localInertiaDiagonal=np.diag(self.body.inertia).tolist(),
            activationState=pybullet.ACTIVATION_STATE_DISABLE_SLEEPING,
            physicsClientId=client,
        )
        w, x, y, z = self.starts.quaternion[start].tolist()
        place = self.starts.position[start].tolist()
        pybullet.resetBasePositionAndOrientation(self.number, place, (x, y, z, w), client)
        linear, angular = self.starts.twist[start, :3].tolist(), self.starts.twist[start, 3:].tolist()
        pybullet.resetBaseVelocity(self.number, linear, angular, physicsClientId=client)

    def touching(self) -> int:
        return len(pybullet.getContactPoints(self.number, physicsClientId=self.client))

    def close(self) -> None:
        pybullet.disconnect(self.client)


def box(body: Body, starts: Motion, friction: float, setting: Setting) -> BulletStage:
    """A box on a plane."""
    half = (np.array(body.size) / 2).tolist()

    def create(client: int) -> int:
        shape = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=half, physicsClientId=client)
        return pybullet.createMultiBody(body.mass, shape, physicsClientId=client)

    return BulletStage(body, starts, friction, setting, create)


def mesh(body: Body, starts: Motion, friction: float, setting: Setting) -> BulletStage:
    """Any body as a convex mesh on a plane."""
    vertices = (body.vertices - body.com).tolist()

    def create(client: int) -> int:
        shape = pybullet.createCollisionShape(pybullet.GEOM_MESH, vertices=vertices, physicsClientId=client)
        return pybullet.createMultiBody(body.mass, shape, physicsClientId=client)

    return BulletStage(body, starts, friction, setting, create)


def spheres(body: Body, starts: Motion, friction: float, setting: Setting) -> BulletStage:
    """A prism on a small sphere in each corner of its lower face: every contact point is kept."""
    shapes = "".join(
        f'<collision><origin xyz="{x:.9g} {y:.9g} {z:.9g}"/>\n'
        f'<geometry><sphere radius="{FOOT}"/></geometry></collision>\n'
        for x, y, z in feet(body).tolist()
    )
    a, b, c = np.diag(body.inertia).tolist()
    inertial = (
        f'<inertial><mass value="{body.mass:.17g}"/>'
        f'<inertia ixx="{a:.17g}" iyy="{b:.17g}" izz="{c:.17g}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    text = f'<robot name="body"><link name="body">{inertial}\n{shapes}</link></robot>'

    def create(client: int) -> int:
        # Bullet's own calls take at most 16 shapes of a body; a URDF file of short lines may have any number.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "body.urdf"
            path.write_text(text)
            return pybullet.loadURDF(str(path), physicsClientId=client)

    return BulletStage(body, starts, friction, setting, create)
