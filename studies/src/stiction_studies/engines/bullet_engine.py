"""Bullet with its own contact: single bodies, tosses, scenes, and parts on hinges.

Bullet multiplies the contact coefficients of two bodies, and damps all motion unless its damping is set to zero.
"""

import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.bodies.state import State, Trajectory
from stiction.laws.law import GRAVITY
from stiction.simulation.motion import (
    Motion,
    Setting,
    check_finite,
    check_start,
    empty_record,
    recover,
    to_motion,
    to_trajectory,
)
from stiction_studies.engines.scene_parts import G, Link, Part, Scene, ground_height, link_starts, link_states, links_of
from stiction_studies.engines.worlds import BULLET, FOOT, Coefficients, Engine, Poses, World, feet, film

try:
    import pybullet
except ImportError as error:
    raise ImportError(needs("stiction_studies.engines.bullet_engine", "pybullet")) from error

_KEEP = -1  # for a parameter of Bullet: its default


@dataclass(frozen=True)
class _Start:
    """A state of a body: position, quaternion x y z w of its base, its velocity and spin, and its joints."""

    position: list[float]
    quaternion: list[float]
    velocity: list[float]
    spin: list[float]
    angles: list[float]
    rates: list[float]


class _Client:
    """A connection to Bullet with a ground, to which bodies are added.

    ground: its coefficients; normal, height [m]: of its plane
    bounces: set up for restitution, at low speeds too, and for tosses that can be repeated
    """

    def __init__(
        self,
        setting: Setting,
        ground: Coefficients,
        *,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        height: float = 0.0,
        bounces: bool = False,
    ) -> None:
        self.setting, self.ground, self.bounces = setting, ground, bounces
        self.normal, self.height = np.asarray(normal).tolist(), height
        self.id = pybullet.connect(pybullet.DIRECT)
        self.reset()

    def reset(self) -> None:
        """Remove all bodies but the ground, and all contact points of earlier steps."""
        pybullet.resetSimulation(physicsClientId=self.id)
        pybullet.setPhysicsEngineParameter(
            fixedTimeStep=self.setting.timestep,
            restitutionVelocityThreshold=0.03 if self.bounces else _KEEP,
            deterministicOverlappingPairs=1 if self.bounces else _KEEP,
            physicsClientId=self.id,
        )
        pybullet.setGravity(*np.asarray(self.setting.gravity).tolist(), physicsClientId=self.id)
        plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE, planeNormal=self.normal, physicsClientId=self.id)
        ground = pybullet.createMultiBody(0, plane, basePosition=(0, 0, self.height), physicsClientId=self.id)
        pybullet.changeDynamics(
            ground,
            -1,
            lateralFriction=self.ground.friction,
            restitution=self.ground.restitution,
            spinningFriction=self.ground.spinning,
            physicsClientId=self.id,
        )

    def add(self, shape: int, mass: float) -> int:
        """Add a free body with its frame at the centre of mass, and return its number."""
        return pybullet.createMultiBody(mass, shape, physicsClientId=self.id)

    def box(self, size: ArrayLike, place: ArrayLike = (0.0, 0.0, 0.0)) -> int:
        """Return the number of a box shape with these edges [m]."""
        half, place = (np.array(size) / 2).tolist(), np.asarray(place).tolist()
        return pybullet.createCollisionShape(
            pybullet.GEOM_BOX, halfExtents=half, collisionFramePosition=place, physicsClientId=self.id
        )

    def set_dynamics(
        self,
        body: int,
        link: int,
        inertia: NDArray[np.float64],
        contact: Coefficients,
        *,
        damping: float = 0.0,
        joint_damping: float = 0.0,
        at_touch: bool = False,
    ) -> None:
        """Set the principal moments of inertia (3,), contact coefficients and damping of a link, -1 for the base.

        at_touch: contact acts only once a shape touches. Otherwise Bullet stops it just before, and it never bounces.
        """
        pybullet.changeDynamics(
            body,
            link,
            lateralFriction=contact.friction,
            restitution=contact.restitution,
            spinningFriction=contact.spinning,
            linearDamping=damping,
            angularDamping=damping,
            jointDamping=joint_damping,
            contactProcessingThreshold=0.0 if at_touch else _KEEP,
            localInertiaDiagonal=inertia.tolist(),
            physicsClientId=self.id,
        )

    def place(self, body: int, start: _Start) -> None:
        """Put a body into a state."""
        pybullet.resetBasePositionAndOrientation(body, start.position, start.quaternion, self.id)
        pybullet.resetBaseVelocity(body, start.velocity, start.spin, physicsClientId=self.id)
        for k, (angle, rate) in enumerate(zip(start.angles, start.rates)):
            pybullet.resetJointState(body, k, angle, rate, physicsClientId=self.id)

    def pose(self, body: int, n_joints: int = 0) -> list[float]:
        """Return the position, quaternion w x y z and joint angles of a body."""
        place, (x, y, z, w) = pybullet.getBasePositionAndOrientation(body, self.id)
        return [*place, w, x, y, z, *(pybullet.getJointState(body, k, self.id)[0] for k in range(n_joints))]

    def step(self) -> None:
        pybullet.stepSimulation(self.id)

    def close(self) -> None:
        pybullet.disconnect(self.id)


class BulletWorld(World):
    """A body in Bullet, its frame at the centre of mass.

    create: adds the body and returns its number
    fresh: make a new world for each start, since contact points of earlier steps would stay
    """

    def __init__(self, client: _Client, starts: list[_Start], create: Callable[[], int], *, fresh: bool = True) -> None:
        self.client, self.starts, self.create, self.fresh = client, starts, create, fresh
        self.body = create()
        self.step = partial(pybullet.stepSimulation, client.id)

    def put(self, start: int) -> None:
        if self.fresh:
            self.client.reset()
            self.body = self.create()
        self.client.place(self.body, self.starts[start])

    def n_contacts(self) -> int:
        return len(pybullet.getContactPoints(self.body, physicsClientId=self.client.id))

    def film(self, steps: int, every: int) -> NDArray[np.float64]:
        """Return the poses from each start, each `every` steps, (n, 1 + steps // every, 7 + joints)."""
        read = partial(self.client.pose, self.body, len(self.starts[0].angles))
        frames = []
        for start in range(len(self.starts)):
            self.put(start)
            frames.append(film(self.step, read, steps, every))
        return np.array(frames)

    def close(self) -> None:
        self.client.close()


class BulletEngine(Engine):
    """Bullet."""

    name = BULLET

    def box(self, body: Body, starts: Motion, friction: float, setting: Setting) -> BulletWorld:
        return _free_body(body, starts, friction, setting, lambda client: client.add(client.box(body.size), body.mass))

    def mesh(self, body: Body, starts: Motion, friction: float, setting: Setting) -> BulletWorld:
        vertices = (body.vertices - body.com).tolist()

        def create(client: _Client) -> int:
            shape = pybullet.createCollisionShape(pybullet.GEOM_MESH, vertices=vertices, physicsClientId=client.id)
            return client.add(shape, body.mass)

        return _free_body(body, starts, friction, setting, create)

    def spheres(self, body: Body, starts: Motion, friction: float, setting: Setting) -> BulletWorld:
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

        def create(client: _Client) -> int:
            # Bullet's own calls take at most 16 shapes of a body; a URDF file of short lines may have any number.
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "body.urdf"
                path.write_text(text)
                return pybullet.loadURDF(str(path), physicsClientId=client.id)

        return _free_body(body, starts, friction, setting, create)

    def toss(
        self, body: Body, states: State, steps: int, setting: Setting, contact: Mapping[str, float], drag: float = 0.0
    ) -> Poses:
        substeps = 4
        client = _Client(
            Setting(setting.timestep / substeps, setting.gravity), Coefficients(1.0, 1.0, 1.0), bounces=True
        )

        def create() -> int:
            number = client.add(client.box(body.size, -body.com), body.mass)
            damping = -float(np.expm1(-drag))  # Bullet's is the share of the velocity that is lost in a second
            client.set_dynamics(number, -1, np.diag(body.inertia), Coefficients(**contact), damping=damping)
            return number

        with closing(BulletWorld(client, _starts(to_motion(body, states)), create, fresh=False)) as world:
            frames = world.film(substeps * steps, substeps)
        return frames[..., :3] - _turned(frames[..., 3:], body.com), frames[..., 3:]

    def run_scene(self, scene: Scene, steps: int, every: int) -> NDArray[np.float64]:
        contact = Coefficients(float(np.sqrt(scene.friction)))  # the product of two is the scene's
        client = _Client(Setting(scene.timestep, np.array([0.0, 0.0, -G])), contact, normal=scene.up)
        with closing(client):
            numbers = [_add_part(client, part, contact) for part in scene.parts]
            both = list(zip(numbers, scene.parts))
            pushed = [(number, part.force) for number, part in both if part.slide is not None]

            def step() -> None:
                for number, force in pushed:  # Bullet clears it after each step
                    pybullet.setJointMotorControl2(
                        number, 0, pybullet.TORQUE_CONTROL, force=force, physicsClientId=client.id
                    )
                client.step()

            def read() -> list[float]:
                return [
                    value
                    for number, part in both
                    for value in (client.pose(number) if part.slide is None else client.pose(number, 1)[7:])
                ]

            return scene.poses(film(step, read, steps, every), 7, lambda pose: pose)

    def roll_links(
        self, model: Any, states: NDArray[np.float64], frames: int, substeps: int, contact: Coefficients
    ) -> NDArray[np.float64]:
        links = links_of(model)
        base, setting = links[0], Setting(float(model.opt.timestep), np.array(model.opt.gravity))
        client = _Client(setting, Coefficients(1.0, 1.0, 1.0), height=ground_height(model), bounces=True)
        starts = [
            _Start(
                start.position.tolist(),
                (start.rotation * base.principal).as_quat().tolist(),  # Bullet's frame of a base is that of its inertia
                start.velocity.tolist(),
                start.spin.tolist(),
                start.angles.tolist(),
                start.rates.tolist(),
            )
            for start in link_starts(base, states)
        ]
        with closing(BulletWorld(client, starts, partial(_add_links, client, links, contact), fresh=False)) as world:
            read = world.film(frames * substeps, substeps)[:, 1:]
        turns = Rotation.from_quat(read[..., 3:7].reshape(-1, 4), scalar_first=True) * base.principal.inv()
        read[..., 3:7] = turns.as_quat(scalar_first=True).reshape(*read.shape[:2], 4)
        return link_states(base, read)


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
    with closing(BulletEngine().box(body, start, mu, setting)) as world:

        def read() -> list[float]:
            linear, angular = pybullet.getBaseVelocity(world.body, world.client.id)
            return [*world.client.pose(world.body), *linear, *angular]

        for i in range(len(start.position)):
            world.put(i)
            frames = film(world.step, read, steps, 1)
            record.position[i], record.quaternion[i], record.twist[i] = frames[:, :3], frames[:, 3:7], frames[:, 7:]
    check_finite(setting.timestep, *record[:2], record.twist[..., :3], record.twist[..., 3:])
    recover(body, setting, record)
    return to_trajectory(body, record, state.batch_shape, setting.timestep)


def _free_body(
    body: Body, starts: Motion, friction: float, setting: Setting, add: Callable[[_Client], int]
) -> BulletWorld:
    """Return a world with a body on a plane, which `add` adds."""
    client = _Client(setting, Coefficients(1.0))

    def create() -> int:
        number = add(client)
        client.set_dynamics(number, -1, np.diag(body.inertia), Coefficients(friction))
        awake = pybullet.ACTIVATION_STATE_DISABLE_SLEEPING
        pybullet.changeDynamics(number, -1, activationState=awake, physicsClientId=client.id)
        return number

    return BulletWorld(client, _starts(starts), create)


def _starts(starts: Motion) -> list[_Start]:
    """Return states of a free body (n,) as Bullet has them: its quaternions end with w."""
    rows = zip(starts.position, starts.quaternion[:, [1, 2, 3, 0]], starts.twist[:, :3], starts.twist[:, 3:])
    return [_Start(x.tolist(), q.tolist(), v.tolist(), spin.tolist(), [], []) for x, q, v, spin in rows]


def _turned(q: NDArray[np.float64], vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a body vector in world axes, for quaternions (..., 4)."""
    v = np.broadcast_to(vector, q[..., 1:].shape)
    t = 2 * np.cross(q[..., 1:], v)
    return v + q[..., :1] * t + np.cross(q[..., 1:], t)


def _add_part(client: _Client, part: Part, contact: Coefficients) -> int:
    """Add a free body, or a link on a fixed base that slides, and return its number."""
    shape = _part_shape(client, part)
    w, x, y, z = part.quaternion
    if part.slide is None:
        number = pybullet.createMultiBody(part.mass, shape, -1, part.position, (x, y, z, w), physicsClientId=client.id)
        pybullet.resetBaseVelocity(number, part.velocity, part.spin, physicsClientId=client.id)
        client.set_dynamics(number, -1, part.inertia, contact)
        return number
    number = pybullet.createMultiBody(
        0.0, -1, -1, part.position, (x, y, z, w),
        linkMasses=[part.mass], linkCollisionShapeIndices=[shape], linkVisualShapeIndices=[-1],
        linkPositions=[(0, 0, 0)], linkOrientations=[(0, 0, 0, 1)],
        linkInertialFramePositions=[(0, 0, 0)], linkInertialFrameOrientations=[(0, 0, 0, 1)],
        linkParentIndices=[0], linkJointTypes=[pybullet.JOINT_PRISMATIC], linkJointAxis=[part.slide],
        physicsClientId=client.id,
    )  # fmt: skip
    # A new joint has a motor that holds it.
    pybullet.setJointMotorControl2(number, 0, pybullet.VELOCITY_CONTROL, force=0, physicsClientId=client.id)
    client.set_dynamics(number, 0, part.inertia, contact)
    return number


def _part_shape(client: _Client, part: Part) -> int:
    if part.shape == "box":
        return client.box(part.size)
    kind = {"sphere": pybullet.GEOM_SPHERE, "capsule": pybullet.GEOM_CAPSULE, "cylinder": pybullet.GEOM_CYLINDER}
    radius, height = part.size[0], part.size[-1]  # a sphere has no height, and Bullet does not look at it
    return pybullet.createCollisionShape(kind[part.shape], radius=radius, height=height, physicsClientId=client.id)


def _add_links(client: _Client, links: list[Link], contact: Coefficients) -> int:
    """Add a part on hinges, and return its number."""
    shapes = [
        pybullet.createCollisionShapeArray(
            shapeTypes=[pybullet.GEOM_SPHERE] * len(link.balls),
            radii=link.balls[:, 3].tolist(),
            collisionFramePositions=link.balls[:, :3].tolist(),
            physicsClientId=client.id,
        )
        for link in links
    ]
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
        physicsClientId=client.id,
    )  # fmt: skip
    for k, link in enumerate(others):
        # A motor with target speed 0 and a limited torque is Coulomb friction.
        pybullet.setJointMotorControl2(
            number, k, pybullet.VELOCITY_CONTROL, targetVelocity=0.0, force=link.friction, physicsClientId=client.id
        )
    for k, link in enumerate(links):
        client.set_dynamics(number, k - 1, link.inertia, contact, joint_damping=link.damping, at_touch=True)
    return number
