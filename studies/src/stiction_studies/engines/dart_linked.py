"""DART with a part on hinges, with its own contact."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.dart import add_shape, dartpy, new_world
from stiction.simulation.motion import Setting
from stiction_studies.engines.linked import Contact, Link, ground_of, links_of, move


def motions(
    model: Any, states: NDArray[np.float64], frames: int, substeps: int, contact: Contact
) -> NDArray[np.float64]:
    """States (n, frames, nq + nv) of the part of a MuJoCo model at each frame, in DART; velocities are NaN."""
    links = links_of(model)
    part = _Part(model, links, contact)
    return move(part, links[0], states, frames, substeps, part.world.reset)


class _Part:
    """The part in a world with a ground; each frame lies at its link's centre of mass, in the link's axes."""

    def __init__(self, model: Any, links: list[Link], contact: Contact) -> None:
        self.world = new_world("dantzig", Setting(float(model.opt.timestep), np.array(model.opt.gravity)))
        ground = dartpy.dynamics.Skeleton("ground")
        _joint, node = ground.createWeldJointAndBodyNodePair()
        plane = dartpy.dynamics.PlaneShape([0.0, 0.0, 1.0], ground_of(model))
        add_shape(node, plane, (0.0, 0.0, 0.0), contact.friction, 1.0)
        self.skeleton = dartpy.dynamics.Skeleton("part")
        nodes: list[Any] = []
        for link in links:
            node = self._add_hinge(nodes[link.parent], links[link.parent], link) if nodes else self._add_base()
            axes = link.principal.as_matrix()
            inertia = axes @ np.diag(link.inertia) @ axes.T
            node.setInertia(dartpy.dynamics.Inertia(link.mass, np.zeros(3), inertia))
            for *place, radius in link.balls.tolist():
                shape = dartpy.dynamics.SphereShape(radius)
                add_shape(node, shape, np.array(place) - link.com, contact.friction, contact.restitution)
            nodes.append(node)
        self.world.addSkeleton(ground)
        self.world.addSkeleton(self.skeleton)
        self.step = self.world.step

    def _add_base(self) -> Any:
        return self.skeleton.createFreeJointAndBodyNodePair()[1]

    def _add_hinge(self, carrier: Any, parent: Link, link: Link) -> Any:
        properties = dartpy.dynamics.RevoluteJointProperties()
        properties.mAxis = link.axis.tolist()
        joint, node = self.skeleton.createRevoluteJointAndBodyNodePair(carrier, properties)
        joint.setTransformFromParentBodyNode(_transform(link.place - parent.com, link.turn))
        joint.setTransformFromChildBodyNode(_transform(-link.com, Rotation.identity()))
        joint.setDampingCoefficient(0, link.damping)
        joint.setCoulombFriction(0, link.friction)
        return node

    def put(self, place, turn: Rotation, velocity, spin, q, dq) -> None:
        # A free joint is angular first: a rotation vector, then the origin; velocities are in world axes.
        self.skeleton.setPositions(np.concatenate([turn.as_rotvec(), place, q]))
        self.skeleton.setVelocities(np.concatenate([spin, velocity, dq]))

    def read(self) -> NDArray[np.float64]:
        q = self.skeleton.getPositions()
        if not np.isfinite(q).all():
            return np.full(len(q) + 1, np.nan)
        return np.concatenate([q[3:6], Rotation.from_rotvec(q[:3]).as_quat(scalar_first=True), q[6:]])


def _transform(place: NDArray, turn: Rotation) -> Any:
    transform = dartpy.math.Isometry3()
    transform.set_rotation(turn.as_matrix())
    transform.set_translation(place)
    return transform
