"""Scenes in DART, with the solver that the paper takes and no sleeping.

FCL, the detector of our ground truth, knows no capsules and finds too few points of a cylinder: it lets the one fall
and the other sink in. Of DART's other detectors, each of them gets the one in which it does neither.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.dart import add_shape, add_thick_ground, dartpy, new_world
from stiction.simulation.motion import Setting
from stiction_studies.engines.scene import G, Part, Scene, film

_DETECTORS = {
    "capsule": dartpy.collision.BulletCollisionDetector,
    "cylinder": dartpy.collision.OdeCollisionDetector,
}


def run(scene: Scene, steps: int, every: int, *, solver: str = "dantzig") -> NDArray[np.float64]:
    """Poses (frames, parts, 7) of all parts, position and quaternion, each `every` steps."""
    world = new_world(solver, Setting(scene.timestep, np.array([0.0, 0.0, -G])))
    for part in scene.parts:
        if part.shape in _DETECTORS:
            world.getConstraintSolver().setCollisionDetector(_DETECTORS[part.shape]())
    _add_ground(world, scene)
    skeletons = [_add_body(world, part, scene.friction) for part in scene.parts]
    pushed = [(one, np.array([part.force])) for one, part in zip(skeletons, scene.parts) if part.slide is not None]

    def step() -> None:
        for skeleton, force in pushed:  # DART forgets it after each step
            skeleton.setForces(force)
        world.step()

    q = film(step, lambda: np.concatenate([one.getPositions() for one in skeletons]), steps, every)
    return _poses(scene, q)


def _add_ground(world, scene: Scene) -> None:
    ground = dartpy.dynamics.Skeleton("ground")
    joint, node = ground.createWeldJointAndBodyNodePair()
    joint.setTransformFromParentBodyNode(_transform((0.0, 0.0, 0.0), scene.tilt))
    add_thick_ground(node, scene.friction)
    world.addSkeleton(ground)


def _add_body(world, part: Part, friction: float):
    """A skeleton of one body, free or on a joint that slides."""
    skeleton = dartpy.dynamics.Skeleton(part.name)
    if part.slide is None:
        _joint, node = skeleton.createFreeJointAndBodyNodePair()
    else:
        properties = dartpy.dynamics.PrismaticJointProperties()
        properties.mAxis = list(part.slide)
        joint, node = skeleton.createPrismaticJointAndBodyNodePair(None, properties)
        joint.setTransformFromParentBodyNode(_transform(part.position, part.quaternion))
    add_shape(node, _shape(part), (0.0, 0.0, 0.0), friction)
    node.setInertia(dartpy.dynamics.Inertia(part.mass, np.zeros(3), np.diag(part.inertia)))
    if part.slide is None:  # a free joint is angular first
        turn = Rotation.from_quat(part.quaternion, scalar_first=True).as_rotvec()
        skeleton.setPositions(np.concatenate([turn, part.position]))
        skeleton.setVelocities(np.concatenate([part.spin, part.velocity]))
    world.addSkeleton(skeleton)
    return skeleton


def _shape(part: Part):
    if part.shape == "box":
        return dartpy.dynamics.BoxShape(list(part.size))
    kind = {
        "sphere": dartpy.dynamics.SphereShape,
        "capsule": dartpy.dynamics.CapsuleShape,
        "cylinder": dartpy.dynamics.CylinderShape,
    }
    return kind[part.shape](*part.size)


def _transform(place, quaternion):
    transform = dartpy.math.Isometry3()
    transform.set_rotation(Rotation.from_quat(quaternion, scalar_first=True).as_matrix())
    transform.set_translation(list(place))
    return transform


def _poses(scene: Scene, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Poses (frames, parts, 7) from DART's joint positions (frames, dofs)."""
    found = np.empty((len(q), len(scene.parts), 7))
    at = 0
    for k, part in enumerate(scene.parts):
        if part.slide is None:
            found[:, k, :3] = q[:, at + 3 : at + 6]
            found[:, k, 3:] = Rotation.from_rotvec(q[:, at : at + 3]).as_quat(scalar_first=True)
            at += 6
        else:
            found[:, k] = part.slid(q[:, at])
            at += 1
    return found
