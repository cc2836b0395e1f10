"""DART as ground truth of the three-link chain: a passive swing to the ground, with contact and joint forces."""

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.dart import add_shape, add_thick_ground, dartpy, new_world
from stiction.laws.law import GRAVITY
from stiction.simulation.motion import Setting

Swing = dict[str, NDArray[np.float64]]


def swing(
    link: Body,
    angles: NDArray[np.float64],
    steps: int,
    *,
    pin: float,
    friction: float,
    solver: str = "dantzig",
    timestep: float = 0.002,
) -> Swing:
    """Swing a chain of boxes, hinged end to end about y and pinned at height `pin` [m], from rest at the joint angles.

    link: a box, of each link; its x axis runs along the chain. Only the last link touches the ground.
    angles: of each joint to the link before [rad], (n,)

    Returns `angle` and `rate` of the joints, (steps + 1, n), and `impulse`, the contact impulse on the last link about
    its centre of mass, (steps, 6), as DART's contacts report it.
    """
    world, chain = new_chain(link, len(angles), pin, friction, solver, timestep)
    chain.setPositions(np.asarray(angles, dtype=np.float64))
    last = chain.getBodyNode(len(angles) - 1)
    angle, rate, impulse = [chain.getPositions()], [chain.getVelocities()], np.zeros((steps, 6))
    for t in range(steps):
        centre = last.getCOM()
        world.step()
        for contact in world.getLastCollisionResult().getContacts():
            # DART reports the force on the first of the two objects.
            sign = 1.0 if "chain" in contact.collisionObject1.getShapeFrame().getName() else -1.0
            force = sign * timestep * np.asarray(contact.force).reshape(3)
            impulse[t, :3] += force
            impulse[t, 3:] += np.cross(np.asarray(contact.point).reshape(3) - centre, force)
        angle.append(chain.getPositions())
        rate.append(chain.getVelocities())
    return {"angle": np.array(angle), "rate": np.array(rate), "impulse": impulse}


def new_chain(link: Body, count: int, pin: float, friction: float, solver: str, timestep: float):
    """A world with the ground, and the skeleton of a chain of `count` links in it; see `swing`."""
    checks.choice("link shape", link.shape, ("box",))
    world = new_world(solver, Setting(timestep, np.array(GRAVITY)))
    ground = dartpy.dynamics.Skeleton("ground")
    _joint, node = ground.createWeldJointAndBodyNodePair()
    add_thick_ground(node, friction)
    world.addSkeleton(ground)
    chain = dartpy.dynamics.Skeleton("chain")
    _build(chain, link, count, pin, friction)
    world.addSkeleton(chain)
    return world, chain


def _build(chain, link: Body, count: int, pin: float, friction: float) -> None:
    """Links in DART's own order: each body frame at its joint, the box ahead of it along x."""
    length = link.size[0]
    parent = None
    for k in range(count):
        properties = dartpy.dynamics.RevoluteJointProperties()
        properties.mAxis = [0.0, 1.0, 0.0]
        joint, node = chain.createRevoluteJointAndBodyNodePair(parent, properties)
        place = dartpy.math.Isometry3()
        place.set_translation([0.0, 0.0, pin] if k == 0 else [length, 0.0, 0.0])
        joint.setTransformFromParentBodyNode(place)
        node.setInertia(dartpy.dynamics.Inertia(link.mass, np.array([length / 2, 0.0, 0.0]), link.inertia))
        if k == count - 1:
            add_shape(node, dartpy.dynamics.BoxShape(list(link.size)), (length / 2, 0.0, 0.0), friction)
            node.getShapeNode(0).setName("chain")
        parent = node
