"""Bullet with its own contact: single bodies, tosses, scenes, and parts on hinges.

Bullet multiplies the contact coefficients of two bodies, and damps all motion unless its damping is set to zero.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.bodies.faces import shrunk
from stiction.bodies.state import State
from stiction.bodies.trajectory import Trajectory
from stiction.laws.law import GRAVITY
from stiction.simulation.motion import Motion, Setting, engine_setting, recorded_throws, to_motion
from stiction_studies.engines.scene_parts import G, Link, Part, Scene, ground_height, link_starts, link_states, links_of
from stiction_studies.engines.worlds import BULLET, FOOT, Coefficients, Engine, Poses, World, feet, film

try:
    import pybullet
except ImportError as error:
    raise ImportError(needs("stiction_studies.engines.bullet_engine", "pybullet")) from error

HULL_MARGIN = 0.001  # radius of the ball that Bullet sweeps over a hull [m]
_KEEP = -1  # for a parameter of Bullet: its default


class _Start(NamedTuple):
    """A state of a body: position, quaternion x y z w of its base, its velocity and spin, and its joints."""

    position: Sequence[float]
    quaternion: Sequence[float]
    velocity: Sequence[float]
    spin: Sequence[float]
    angles: Sequence[float] = ()
    rates: Sequence[float] = ()


class _Client:
    """A connection to Bullet; its methods are pybullet's functions."""

    def __init__(self) -> None:
        self.id = pybullet.connect(pybullet.DIRECT)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(getattr(pybullet, name), physicsClientId=self.id)

    def close(self) -> None:
        pybullet.disconnect(self.id)


def _add_ground(
    client: _Client,
    setting: Setting,
    ground: Coefficients,
    *,
    normal: Sequence[float] = (0.0, 0.0, 1.0),
    height: float = 0.0,
    bounces: bool = False,
) -> None:
    """Set time step and gravity of an empty world and add a plane.

    bounces: allow restitution at low speeds too, and make tosses repeatable
    """
    client.setPhysicsEngineParameter(
        fixedTimeStep=setting.timestep,
        restitutionVelocityThreshold=0.03 if bounces else _KEEP,
        deterministicOverlappingPairs=1 if bounces else _KEEP,
    )
    client.setGravity(*np.asarray(setting.gravity).tolist())
    plane = client.createCollisionShape(pybullet.GEOM_PLANE, planeNormal=normal)
    number = client.createMultiBody(0, plane, basePosition=(0, 0, height))
    friction, restitution, spinning = ground.friction, ground.restitution, ground.spinning
    client.changeDynamics(number, -1, lateralFriction=friction, restitution=restitution, spinningFriction=spinning)


def _set_dynamics(
    client: _Client,
    body: int,
    link: int,
    inertia: NDArray[np.float64],
    contact: Coefficients,
    *,
    damping: float = 0.0,
    joint_damping: float = 0.0,
    threshold: float = _KEEP,
) -> None:
    """Set the principal moments of inertia (3,), contact coefficients and damping of a link, -1 for the base.

    threshold: gap below which contact acts [m]. By Bullet's default a body is stopped just before it touches, and never
        bounces
    """
    client.changeDynamics(
        body,
        link,
        lateralFriction=contact.friction,
        restitution=contact.restitution,
        spinningFriction=contact.spinning,
        linearDamping=damping,
        angularDamping=damping,
        jointDamping=joint_damping,
        contactProcessingThreshold=threshold,
        localInertiaDiagonal=inertia.tolist(),
    )


def _pose(client: _Client, body: int) -> list[float]:
    """Return the position and quaternion w x y z of a body, and its joint angles."""
    place, (x, y, z, w) = client.getBasePositionAndOrientation(body)
    return [*place, w, x, y, z, *(client.getJointState(body, k)[0] for k in range(client.getNumJoints(body)))]


class BulletWorld(World):
    """A body in Bullet, its frame at the centre of mass.

    create: sets up the world in an empty client and returns the number of the body
    fresh: make a new world for each start, since contact points of earlier steps would stay
    """

    def __init__(self, starts: list[_Start], create: Callable[[_Client], int], *, fresh: bool = True) -> None:
        self.starts, self.create, self.fresh = starts, create, fresh
        self.client = _Client()
        self.body = create(self.client)
        self.step = self.client.stepSimulation

    def put(self, start: int) -> None:
        if self.fresh:
            self.client.resetSimulation()
            self.body = self.create(self.client)
        state = self.starts[start]
        self.client.resetBasePositionAndOrientation(self.body, state.position, state.quaternion)
        self.client.resetBaseVelocity(self.body, state.velocity, state.spin)
        for k, (angle, rate) in enumerate(zip(state.angles, state.rates)):
            self.client.resetJointState(self.body, k, angle, rate)

    def n_contacts(self) -> int:
        return len(self.client.getContactPoints(self.body))

    def read(self) -> list[float]:
        """Return the pose and joint angles, and the velocity and spin of the base."""
        linear, angular = self.client.getBaseVelocity(self.body)
        return [*_pose(self.client, self.body), *linear, *angular]

    def close(self) -> None:
        self.client.close()


class BulletEngine(Engine):
    """Bullet."""

    name = BULLET

    def box(self, body: Body, starts: Motion, friction: float, setting: Setting) -> BulletWorld:
        return _free_body(body, starts, friction, setting, lambda client: _add_box(client, body))

    def mesh(self, body: Body, starts: Motion, friction: float, setting: Setting) -> BulletWorld:
        def add(client: _Client) -> int:
            return _add_hull(client, body, body.vertices)

        return _free_body(body, starts, friction, setting, add)

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

        def add(client: _Client) -> int:
            # Bullet's own calls take at most 16 shapes of a body; a URDF file of short lines may have any number.
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "body.urdf"
                path.write_text(text)
                return client.loadURDF(str(path))

        return _free_body(body, starts, friction, setting, add)

    def toss(
        self, body: Body, states: State, steps: int, setting: Setting, contact: Mapping[str, float], drag: float = 0.0
    ) -> Poses:
        substeps = 4
        step = Setting(setting.timestep / substeps, setting.gravity)
        coefficients = Coefficients(contact["friction"], contact["restitution"], contact["spinning"])

        def create(client: _Client) -> int:
            _add_ground(client, step, Coefficients(1.0, 1.0, 1.0), bounces=True)
            damping = -float(np.expm1(-drag))  # Bullet's is the share of the velocity that is lost in a second
            if body.shape == "box":
                number, threshold = _add_box(client, body), _KEEP
            else:  # Bullet sweeps a ball over a hull
                number, threshold = _add_hull(client, body, shrunk(body.vertices, HULL_MARGIN)), 0.0
            inertia = np.diag(body.inertia)
            _set_dynamics(client, number, -1, inertia, coefficients, damping=damping, threshold=threshold)
            return number

        with closing(BulletWorld(_starts(to_motion(body, states)), create, fresh=False)) as world:
            frames = world.film(len(world.starts), world.read, substeps * steps, substeps)
        quaternion = frames[..., 3:7]
        return frames[..., :3] - _turned(quaternion, body.com), quaternion

    def run_scene(self, scene: Scene, steps: int, every: int) -> NDArray[np.float64]:
        contact = Coefficients(float(np.sqrt(scene.friction)))  # the product of two is the scene's
        with closing(_Client()) as client:
            setting = Setting(scene.timestep, np.array([0.0, 0.0, -G]))
            _add_ground(client, setting, contact, normal=scene.up.tolist())
            parts = [(_add_part(client, part, contact), part) for part in scene.parts]
            pushed = [(number, part.force) for number, part in parts if part.slide is not None]

            def step() -> None:
                for number, force in pushed:  # Bullet clears it after each step
                    client.setJointMotorControl2(number, 0, pybullet.TORQUE_CONTROL, force=force)
                client.stepSimulation()

            def read() -> list[float]:
                both = ((_pose(client, number), part.slide) for number, part in parts)
                return [value for pose, slide in both for value in (pose if slide is None else pose[7:])]

            return scene.poses(film(step, read, steps, every))

    def roll_links(
        self, model: Any, states: NDArray[np.float64], frames: int, substeps: int, contact: Coefficients
    ) -> NDArray[np.float64]:
        links = links_of(model)
        base, setting = links[0], Setting(float(model.opt.timestep), np.array(model.opt.gravity))

        def create(client: _Client) -> int:
            _add_ground(client, setting, Coefficients(1.0, 1.0, 1.0), height=ground_height(model), bounces=True)
            return _add_links(client, links, contact)

        starts = []
        for s in link_starts(base, states):
            turn = (s.rotation * base.principal).as_quat()  # Bullet's frame of a base is that of its inertia
            starts.append(
                _Start(*(part.tolist() for part in (s.position, turn, s.velocity, s.spin, s.angles, s.rates)))
            )
        with closing(BulletWorld(starts, create, fresh=False)) as world:
            read = world.film(len(starts), world.read, frames * substeps, substeps)[:, 1:, :-6]
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
    if body.shape != "box" or np.any(body.com) or np.any(body.inertia != np.diag(np.diag(body.inertia))):
        raise checks.InputError("Only a box with its centre of mass in the middle can be thrown in Bullet.")
    setting = engine_setting(timestep, gravity)

    def simulate(start: Motion) -> tuple[NDArray, NDArray, NDArray]:
        with closing(BulletEngine().box(body, start, friction, setting)) as world:
            position, quaternion, twist = np.split(world.film(len(world.starts), world.read, steps, 1), (3, 7), axis=2)
        return position, quaternion, twist

    return recorded_throws(body, state, steps, setting, simulate)


def _free_body(
    body: Body, starts: Motion, friction: float, setting: Setting, add: Callable[[_Client], int]
) -> BulletWorld:
    """Return a world with a body on a plane, which `add` adds."""

    def create(client: _Client) -> int:
        _add_ground(client, setting, Coefficients(1.0))
        number = add(client)
        _set_dynamics(client, number, -1, np.diag(body.inertia), Coefficients(friction))
        client.changeDynamics(number, -1, activationState=pybullet.ACTIVATION_STATE_DISABLE_SLEEPING)
        return number

    return BulletWorld(_starts(starts), create)


def _starts(starts: Motion) -> list[_Start]:
    """Return states of a free body (n,) as Bullet has them: its quaternions end with w."""
    rows = zip(starts.position, starts.quaternion[:, [1, 2, 3, 0]], starts.twist[:, :3], starts.twist[:, 3:])
    return [_Start(*(part.tolist() for part in row)) for row in rows]


def _turned(q: NDArray[np.float64], vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a body vector in world axes, for quaternions (..., 4)."""
    v = np.broadcast_to(vector, q[..., 1:].shape)
    t = 2 * np.cross(q[..., 1:], v)
    return v + q[..., :1] * t + np.cross(q[..., 1:], t)


def _add_box(client: _Client, body: Body) -> int:
    """Add a box with its frame at the centre of mass, and return its number."""
    half, place = (np.array(body.size) / 2).tolist(), (-body.com).tolist()
    shape = client.createCollisionShape(pybullet.GEOM_BOX, halfExtents=half, collisionFramePosition=place)
    return client.createMultiBody(body.mass, shape)


def _add_hull(client: _Client, body: Body, vertices: NDArray[np.float64]) -> int:
    """Add the hull of these vertices (n, 3) with its frame at the centre of mass, and return its number."""
    corners = (vertices - body.com).tolist()
    return client.createMultiBody(body.mass, client.createCollisionShape(pybullet.GEOM_MESH, vertices=corners))


def _add_part(client: _Client, part: Part, contact: Coefficients) -> int:
    """Add a free body, or a link on a fixed base that slides, and return its number."""
    radius, height = part.size[0], part.size[-1]
    if part.shape == "box":
        shape = client.createCollisionShape(pybullet.GEOM_BOX, halfExtents=(np.array(part.size) / 2).tolist())
    else:
        kinds = {"sphere": pybullet.GEOM_SPHERE, "capsule": pybullet.GEOM_CAPSULE, "cylinder": pybullet.GEOM_CYLINDER}
        shape = client.createCollisionShape(kinds[part.shape], radius=radius, height=height)  # a sphere has no height
    w, x, y, z = part.quaternion
    if part.slide is None:
        number = client.createMultiBody(part.mass, shape, -1, part.position, (x, y, z, w))
        client.resetBaseVelocity(number, part.velocity, part.spin)
        _set_dynamics(client, number, -1, part.inertia, contact)
        return number
    number = client.createMultiBody(
        0.0, -1, -1, part.position, (x, y, z, w),
        linkMasses=[part.mass], linkCollisionShapeIndices=[shape], linkVisualShapeIndices=[-1],
        linkPositions=[(0, 0, 0)], linkOrientations=[(0, 0, 0, 1)],
        linkInertialFramePositions=[(0, 0, 0)], linkInertialFrameOrientations=[(0, 0, 0, 1)],
        linkParentIndices=[0], linkJointTypes=[pybullet.JOINT_PRISMATIC], linkJointAxis=[part.slide],
    )  # fmt: skip
    client.setJointMotorControl2(number, 0, pybullet.VELOCITY_CONTROL, force=0)  # a new joint has a motor that holds it
    _set_dynamics(client, number, 0, part.inertia, contact)
    return number


def _add_links(client: _Client, links: list[Link], contact: Coefficients) -> int:
    """Add a part on hinges, and return its number."""
    shapes = [
        client.createCollisionShapeArray(
            shapeTypes=[pybullet.GEOM_SPHERE] * len(link.balls),
            radii=link.balls[:, 3].tolist(),
            collisionFramePositions=link.balls[:, :3].tolist(),
        )
        for link in links
    ]
    base, *others = links
    number = client.createMultiBody(
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
    )  # fmt: skip
    for k, link in enumerate(others):
        # A motor with target speed 0 and a limited torque is Coulomb friction.
        client.setJointMotorControl2(number, k, pybullet.VELOCITY_CONTROL, targetVelocity=0.0, force=link.friction)
    for k, link in enumerate(links):
        _set_dynamics(client, number, k - 1, link.inertia, contact, joint_damping=link.damping, threshold=0.0)
    return number
