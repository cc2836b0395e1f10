"""DART with its own contact: Dantzig's solver by default, and no sleeping.

Single bodies, tosses, scenes, parts on hinges, and the paper's three-link chain.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.dart import add_shape, add_thick_ground, build_world, dartpy, new_world
from stiction.laws.law import GRAVITY
from stiction.simulation.motion import Motion, Setting, to_motion
from stiction_studies.engines.scene_parts import G, Link, Part, Scene, ground_height, link_starts, link_states, links_of
from stiction_studies.engines.worlds import DART, FOOT, Coefficients, Engine, Poses, World, feet, film


class DartWorld(World):
    """A skeleton in a world of DART.

    q, dq: positions and velocities of its joints at the starts, (n, dofs)
    fresh: reset the world at each start
    """

    def __init__(
        self, world: Any, skeleton: Any, q: NDArray[np.float64], dq: NDArray[np.float64], *, fresh: bool = False
    ) -> None:
        self.world, self.skeleton, self.q, self.dq, self.fresh = world, skeleton, q, dq, fresh
        self.step = world.step

    def put(self, start: int) -> None:
        if self.fresh:
            self.world.reset()
        self.skeleton.setPositions(self.q[start])
        self.skeleton.setVelocities(self.dq[start])

    def n_contacts(self) -> int:
        return self.world.getLastCollisionResult().getNumContacts()


class DartEngine(Engine):
    """DART."""

    name = DART
    has_drag = False

    def box(self, body: Body, starts: Motion, friction: float, setting: Setting) -> DartWorld:
        with build_world(body, friction, setting, 0.0) as (world, skeleton):
            return DartWorld(world, skeleton, *_free_joint(starts))

    def mesh(self, body: Body, starts: Motion, friction: float, setting: Setting) -> DartWorld:
        return self.box(body, starts, friction, setting)  # any other body is a mesh, of which every vertex is found

    def spheres(self, body: Body, starts: Motion, friction: float, setting: Setting) -> DartWorld:
        world = new_world("dantzig", setting)
        _add_plane(world, friction)
        skeleton = dartpy.dynamics.Skeleton("body")
        _joint, node = skeleton.createFreeJointAndBodyNodePair()
        for place in feet(body):
            add_shape(node, dartpy.dynamics.SphereShape(FOOT), place, friction)
        node.setInertia(dartpy.dynamics.Inertia(body.mass, np.zeros(3), body.inertia))
        world.addSkeleton(skeleton)
        return DartWorld(world, skeleton, *_free_joint(starts))

    def toss(
        self, body: Body, states: State, steps: int, setting: Setting, contact: Mapping[str, float], drag: float = 0.0
    ) -> Poses:
        substeps, step = 3, Setting(setting.timestep / 3, np.array(setting.gravity, dtype=np.float64))
        with build_world(body, contact["friction"], step, contact["restitution"]) as (world, skeleton):
            tossed = DartWorld(world, skeleton, *_free_joint(to_motion(body, states)))
            frames = tossed.film(len(tossed.q), skeleton.getPositions, substeps * steps, substeps)
        rotations = Rotation.from_rotvec(frames[..., :3].reshape(-1, 3))
        quaternion = rotations.as_quat(scalar_first=True).reshape(*frames.shape[:2], 4)
        arm = (rotations.as_matrix() @ body.com).reshape(*frames.shape[:2], 3)
        return frames[..., 3:] - arm, quaternion

    def run_scene(self, scene: Scene, steps: int, every: int) -> NDArray[np.float64]:
        world = new_world("dantzig", Setting(scene.timestep, np.array([0.0, 0.0, -G])))
        # FCL, the detector of our ground truth, does not support capsules and finds too few points of a cylinder: it
        # lets the one fall and the other sink in. Each of them gets the one of DART's detectors that does neither.
        detectors = {
            "capsule": dartpy.collision.BulletCollisionDetector,
            "cylinder": dartpy.collision.OdeCollisionDetector,
        }
        for part in scene.parts:
            if part.shape in detectors:
                world.getConstraintSolver().setCollisionDetector(detectors[part.shape]())
        ground = dartpy.dynamics.Skeleton("ground")
        joint, node = ground.createWeldJointAndBodyNodePair()
        joint.setTransformFromParentBodyNode(_transform(np.zeros(3), _rotation(scene.tilt)))
        add_thick_ground(node, scene.friction)
        world.addSkeleton(ground)
        skeletons = [_add_part(world, part, scene.friction) for part in scene.parts]
        pushed = [(one, np.array([part.force])) for one, part in zip(skeletons, scene.parts) if part.slide is not None]

        def step() -> None:
            for skeleton, force in pushed:  # DART clears it after each step
                skeleton.setForces(force)
            world.step()

        q = film(step, lambda: np.concatenate([one.getPositions() for one in skeletons]), steps, every)
        return scene.poses(q, 6, _pose)

    def roll_links(
        self, model: Any, states: NDArray[np.float64], frames: int, substeps: int, contact: Coefficients
    ) -> NDArray[np.float64]:
        links = links_of(model)
        world = new_world("dantzig", Setting(float(model.opt.timestep), np.array(model.opt.gravity)))
        _add_plane(world, contact.friction, ground_height(model))
        skeleton = _linked(links, contact)
        world.addSkeleton(skeleton)
        starts = link_starts(links[0], states)
        q = np.array([np.concatenate([s.rotation.as_rotvec(), s.position, s.angles]) for s in starts])
        dq = np.array([np.concatenate([s.spin, s.velocity, s.rates]) for s in starts])
        rolled = DartWorld(world, skeleton, q, dq, fresh=True)
        read = rolled.film(len(q), skeleton.getPositions, frames * substeps, substeps)[:, 1:]
        read[~np.isfinite(read).all(axis=2)] = np.nan
        pose = _pose(np.nan_to_num(read[..., :6]).reshape(-1, 6)).reshape(*read.shape[:2], 7)
        lost = np.isnan(read[..., :1])
        return link_states(links[0], np.concatenate([np.where(lost, np.nan, pose), read[..., 6:]], axis=2))


def chain(
    link: Body, starts: NDArray[np.float64], pin: float, friction: float, timestep: float, solver: str = "dantzig"
) -> DartWorld:
    """Return a chain of boxes, hinged end to end about y and pinned at height `pin` [m], which starts from rest.

    link: a box, of each link; its x axis runs along the chain. Only the last link touches the ground.
    starts: angle of each joint to the link before [rad], (n, links)
    """
    checks.choice("link shape", link.shape, ("box",))
    world = new_world(solver, Setting(timestep, np.array(GRAVITY)))
    ground = dartpy.dynamics.Skeleton("ground")
    _joint, node = ground.createWeldJointAndBodyNodePair()
    add_thick_ground(node, friction)
    world.addSkeleton(ground)
    skeleton = dartpy.dynamics.Skeleton("chain")
    length, count, parent = link.size[0], starts.shape[1], None
    for k in range(count):  # each body frame is at its joint, the box ahead of it along x
        properties = dartpy.dynamics.RevoluteJointProperties()
        properties.mAxis = [0.0, 1.0, 0.0]
        joint, node = skeleton.createRevoluteJointAndBodyNodePair(parent, properties)
        place = dartpy.math.Isometry3()
        place.set_translation([0.0, 0.0, pin] if k == 0 else [length, 0.0, 0.0])
        joint.setTransformFromParentBodyNode(place)
        node.setInertia(dartpy.dynamics.Inertia(link.mass, np.array([length / 2, 0.0, 0.0]), link.inertia))
        if k == count - 1:
            add_shape(node, dartpy.dynamics.BoxShape(list(link.size)), (length / 2, 0.0, 0.0), friction)
            node.getShapeNode(0).setName("chain")
        parent = node
    world.addSkeleton(skeleton)
    return DartWorld(world, skeleton, starts, np.zeros_like(starts))


def last_impulse(chain: DartWorld, about: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the contact impulse on the chain's last link in the last step, about a point (3,), (6,)."""
    impulse = np.zeros(6)
    for contact in chain.world.getLastCollisionResult().getContacts():
        # DART reports the force on the first of the two objects.
        sign = 1.0 if "chain" in contact.collisionObject1.getShapeFrame().getName() else -1.0
        force = sign * chain.world.getTimeStep() * np.asarray(contact.force).reshape(3)
        impulse[:3] += force
        impulse[3:] += np.cross(np.asarray(contact.point).reshape(3) - about, force)
    return impulse


# A free joint is angular first: a rotation vector, then the origin; velocities are in world axes.


def _free_joint(starts: Motion) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the positions and velocities of a free joint, (n, 6) each."""
    turn = Rotation.from_quat(starts.quaternion, scalar_first=True).as_rotvec().reshape(-1, 3)
    return np.hstack([turn, starts.position]), np.hstack([starts.twist[:, 3:], starts.twist[:, :3]])


def _pose(q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the poses (n, 7) of free joints at positions (n, 6)."""
    return np.hstack([q[:, 3:], Rotation.from_rotvec(q[:, :3]).as_quat(scalar_first=True)])


def _rotation(quaternion: tuple[float, ...]) -> Rotation:
    return Rotation.from_quat(quaternion, scalar_first=True)


def _transform(place: NDArray[np.float64], turn: Rotation) -> Any:
    transform = dartpy.math.Isometry3()
    transform.set_rotation(turn.as_matrix())
    transform.set_translation(place)
    return transform


def _add_plane(world: Any, friction: float, height: float = 0.0) -> None:
    ground = dartpy.dynamics.Skeleton("ground")
    _joint, node = ground.createWeldJointAndBodyNodePair()
    add_shape(node, dartpy.dynamics.PlaneShape([0.0, 0.0, 1.0], height), (0.0, 0.0, 0.0), friction, 1.0)
    world.addSkeleton(ground)


def _add_part(world: Any, part: Part, friction: float) -> Any:
    """Add a skeleton of one body, free or on a prismatic joint, and return it."""
    skeleton = dartpy.dynamics.Skeleton(part.name)
    if part.slide is None:
        _joint, node = skeleton.createFreeJointAndBodyNodePair()
    else:
        properties = dartpy.dynamics.PrismaticJointProperties()
        properties.mAxis = list(part.slide)
        joint, node = skeleton.createPrismaticJointAndBodyNodePair(None, properties)
        joint.setTransformFromParentBodyNode(_transform(np.array(part.position), _rotation(part.quaternion)))
    shapes = {
        "sphere": dartpy.dynamics.SphereShape,
        "capsule": dartpy.dynamics.CapsuleShape,
        "cylinder": dartpy.dynamics.CylinderShape,
    }
    shape = dartpy.dynamics.BoxShape(list(part.size)) if part.shape == "box" else shapes[part.shape](*part.size)
    add_shape(node, shape, (0.0, 0.0, 0.0), friction)
    node.setInertia(dartpy.dynamics.Inertia(part.mass, np.zeros(3), np.diag(part.inertia)))
    if part.slide is None:
        skeleton.setPositions(np.concatenate([_rotation(part.quaternion).as_rotvec(), part.position]))
        skeleton.setVelocities(np.concatenate([part.spin, part.velocity]))
    world.addSkeleton(skeleton)
    return skeleton


def _linked(links: list[Link], contact: Coefficients) -> Any:
    """Return the skeleton of a part on hinges; each frame is at its link's centre of mass, in the link's axes."""
    skeleton = dartpy.dynamics.Skeleton("part")
    nodes: list[Any] = []
    for link in links:
        if nodes:
            properties = dartpy.dynamics.RevoluteJointProperties()
            properties.mAxis = link.axis.tolist()
            joint, node = skeleton.createRevoluteJointAndBodyNodePair(nodes[link.parent], properties)
            joint.setTransformFromParentBodyNode(_transform(link.place - links[link.parent].com, link.turn))
            joint.setTransformFromChildBodyNode(_transform(-link.com, Rotation.identity()))
            joint.setDampingCoefficient(0, link.damping)
            joint.setCoulombFriction(0, link.friction)
        else:
            _joint, node = skeleton.createFreeJointAndBodyNodePair()
        axes = link.principal.as_matrix()
        node.setInertia(dartpy.dynamics.Inertia(link.mass, np.zeros(3), axes @ np.diag(link.inertia) @ axes.T))
        for *place, radius in link.balls.tolist():
            shape = dartpy.dynamics.SphereShape(radius)
            add_shape(node, shape, np.array(place) - link.com, contact.friction, contact.restitution)
        nodes.append(node)
    return skeleton
