"""DART in the bench: one body, or the three-link chain, with FCL, Dantzig's solver and no sleeping."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.bodies.body import Body
from stiction.dart import add_shape, build_world, dartpy, new_world
from stiction.simulation.motion import Motion, Setting
from stiction_studies.engines.dart_chain import new_chain
from stiction_studies.engines.stage import FOOT, Stage, feet


class DartStage(Stage):
    """A skeleton in a world of DART.

    q, dq: positions and velocities of its joints at the starts, (n, dofs)
    """

    def __init__(self, world, skeleton, q: NDArray[np.float64], dq: NDArray[np.float64]) -> None:
        self.world, self.skeleton, self.q, self.dq = world, skeleton, q, dq
        self.step = world.step

    def put(self, start: int) -> None:
        self.skeleton.setPositions(self.q[start])
        self.skeleton.setVelocities(self.dq[start])

    def touching(self) -> int:
        return self.world.getLastCollisionResult().getNumContacts()


def _free_joint(starts: Motion) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Positions and velocities of a free joint, which is angular first."""
    turn = Rotation.from_quat(starts.quaternion, scalar_first=True).as_rotvec().reshape(-1, 3)
    return np.hstack([turn, starts.position]), np.hstack([starts.twist[:, 3:], starts.twist[:, :3]])


def box(body: Body, starts: Motion, friction: float, setting: Setting) -> DartStage:
    """A box on the ground, as in the ground truth of the shipped laws."""
    with build_world(body, friction, setting, 0.0) as (world, skeleton):
        return DartStage(world, skeleton, *_free_joint(starts))


mesh = box  # a body that is no box is a mesh whose every vertex is found


def spheres(body: Body, starts: Motion, friction: float, setting: Setting) -> DartStage:
    """A prism on a small sphere in each corner of its lower face."""
    world = new_world("dantzig", setting)
    ground = dartpy.dynamics.Skeleton("ground")
    _joint, node = ground.createWeldJointAndBodyNodePair()
    add_shape(node, dartpy.dynamics.PlaneShape([0.0, 0.0, 1.0], 0.0), (0.0, 0.0, 0.0), friction, 1.0)
    world.addSkeleton(ground)
    skeleton = dartpy.dynamics.Skeleton("body")
    _joint, node = skeleton.createFreeJointAndBodyNodePair()
    for place in feet(body):
        add_shape(node, dartpy.dynamics.SphereShape(FOOT), place, friction)
    node.setInertia(dartpy.dynamics.Inertia(body.mass, np.zeros(3), body.inertia))
    world.addSkeleton(skeleton)
    return DartStage(world, skeleton, *_free_joint(starts))


def chain(link: Body, starts: NDArray[np.float64], pin: float, friction: float, timestep: float) -> DartStage:
    """The chain, from rest at each row of joint angles (n, links)."""
    world, skeleton = new_chain(link, starts.shape[1], pin, friction, "dantzig", timestep)
    return DartStage(world, skeleton, starts, np.zeros_like(starts))
