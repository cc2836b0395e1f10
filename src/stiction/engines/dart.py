"""DART as ground truth: throws of one body onto the ground, as trajectories with impulses and modes.

The body and the ground are set up so that DART finds exactly the vertices below z = 0, keeps no memory between steps
and never lets the correction of penetration into the velocity; see the comments in `_world`.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from stiction import checks
from stiction.bodies import Body
from stiction.compiled import compiled
from stiction.labels import observed_mode
from stiction.patch import new_contacts
from stiction.spatial import apply, sandwich
from stiction.state import State, Trajectory
from stiction.stepping import (
    GRAVITY,
    Motion,
    Record,
    Setting,
    begin_step,
    check_start,
    empty_record,
    to_motion,
    to_trajectory,
)

try:
    import dartpy
except ImportError as error:
    raise ImportError("stiction.dart needs DART: pip install 'stiction[dart]'.") from error

SOLVERS = ("dantzig", "nsgs")
_GROUND = 2.0  # thickness of the ground box [m]


def throw(
    body: Body,
    state: State,
    steps: int = 800,
    *,
    friction: float = 0.5,
    solver: str = "dantzig",
    timestep: float = 0.002,
    gravity: ArrayLike = GRAVITY,
) -> Trajectory:
    """Throw `body` onto the ground in DART, from one state or from each state of a batch.

    friction: Coulomb coefficient of body and ground
    solver: "dantzig", a friction box along the world axes (the paper's ground truth), or "nsgs", a round cone
    """
    steps = checks.count("steps", steps, 0)
    mu = checks.non_negative("friction", friction)
    checks.choice("solver", solver, SOLVERS)
    setting = Setting(checks.positive("timestep [s]", timestep), checks.array("gravity", gravity, (3,)))
    check_start(body, state)
    start = to_motion(body, state.reshape(int(np.prod(state.batch_shape))))
    record = empty_record(len(start.position), steps)
    with _shape(body) as shape:
        for i in range(len(start.position)):
            _run(body, shape, mu, solver, setting, start, record, i)
    for i in range(len(start.position)):
        _recover(body, setting, record, i)
    return to_trajectory(body, record, state.batch_shape, setting.timestep)


def _run(body, shape, mu, solver, setting, start, record, i) -> None:
    """Throw number i of `start` and write its poses and twists, at the centre of mass, into `record`."""
    world, skeleton = _world(body, shape, mu, solver, setting)  # a fresh world a throw is bit-reproducible
    _place(skeleton, start.position[i], start.quaternion[i], start.twist[i])
    frames = record.position.shape[1]
    q, dq = np.empty((2, frames, skeleton.getNumDofs()))
    q[0], dq[0] = skeleton.getPositions(), skeleton.getVelocities()
    for t in range(1, frames):
        world.step()
        q[t], dq[t] = skeleton.getPositions(), skeleton.getVelocities()
    # A free joint is angular first: a rotation vector, then the origin; velocities are in world axes.
    record.position[i], record.twist[i] = q[:, 3:], np.hstack([dq[:, 3:], dq[:, :3]])
    record.quaternion[i] = Rotation.from_rotvec(q[:, :3]).as_quat(scalar_first=True)


def _place(skeleton, position, quaternion, twist) -> None:
    skeleton.setPositions(np.r_[Rotation.from_quat(quaternion, scalar_first=True).as_rotvec(), position])
    skeleton.setVelocities(np.r_[twist[3:], twist[:3]])


def _world(body, shape, mu, solver, setting):
    world = dartpy.simulation.World()
    world.setTimeStep(setting.timestep)
    world.setGravity(setting.gravity)
    constraints = world.getConstraintSolver()
    if solver == "nsgs":
        constraints.setBoxedLcpSolver(dartpy.constraint.NsgsFrictionSolver())
    # FCL is the detector without memory: from the same state always the same contacts.
    constraints.setCollisionDetector(dartpy.collision.FCLCollisionDetector())
    # Otherwise the correction of penetration adds to the velocity and hides every static contact.
    constraints.setSplitImpulseEnabled(True)
    sleeping = world.getDeactivationOptions()
    sleeping.mEnabled = False
    world.setDeactivationOptions(sleeping)

    ground = dartpy.dynamics.Skeleton("ground")
    _joint, node = ground.createWeldJointAndBodyNodePair()
    # FCL finds all corners of a box on a thick box, and all vertices of a mesh on a plane, but not the other way round.
    if body.shape == "box":
        _add_shape(node, dartpy.dynamics.BoxShape([200.0, 200.0, _GROUND]), (0.0, 0.0, -_GROUND / 2), mu)
    else:
        _add_shape(node, dartpy.dynamics.PlaneShape([0.0, 0.0, 1.0], 0.0), (0.0, 0.0, 0.0), mu)

    skeleton = dartpy.dynamics.Skeleton("body")
    # A planar body too gets a free joint, and stays in its plane by symmetry: with a planar joint, friction across the
    # plane has no mobility, Dantzig's method fails on it, and DART falls back to a rough solver without a word.
    _joint, node = skeleton.createFreeJointAndBodyNodePair()
    inertia = np.diag(np.diag(body.inertia)) if body.planar else body.inertia
    # DART integrates the origin of its body frame; at the centre of mass that is exact in free flight.
    _add_shape(node, shape, -body.com, mu)
    node.setInertia(dartpy.dynamics.Inertia(body.mass, np.zeros(3), inertia))
    world.addSkeleton(ground)
    world.addSkeleton(skeleton)
    return world, skeleton


def _add_shape(node, shape, place, mu) -> None:
    shape_node = node.createShapeNode(shape)
    transform = dartpy.math.Isometry3()
    transform.set_translation(place)
    shape_node.setRelativeTransform(transform)
    shape_node.createCollisionAspect()
    shape_node.createDynamicsAspect()
    shape_node.getDynamicsAspect().setFrictionCoeff(mu)
    shape_node.getDynamicsAspect().setRestitutionCoeff(0.0)


@contextmanager
def _shape(body: Body) -> Iterator:
    """DART's collision shape of the body."""
    if body.shape == "box":
        yield dartpy.dynamics.BoxShape(list(body.size))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spikes.obj"
        path.write_text(_spikes(body))
        urdf = (
            '<robot name="body"><link name="body"><collision><geometry>'
            f'<mesh filename="{path.as_uri()}"/></geometry></collision></link></robot>'
        )
        skeleton = dartpy.utils.DartLoader().parseSkeletonString(urdf, "file:///")
        yield skeleton.getBodyNode(0).getShapeNode(0).getShape()


def _spikes(body: Body) -> str:
    """The body as an OBJ file of one slender triangle a vertex, which points to it from inside.

    On a plane FCL reports the deepest corner of each triangle of a mesh. Of a closed surface it would report some
    vertices often and others never; of spikes it reports each touching vertex once.
    """
    centre = body.vertices.mean(axis=0)
    inner = body.vertices + 0.05 * (centre - body.vertices)
    beside = inner + 0.01 * (np.roll(body.vertices, 1, axis=0) - body.vertices)
    points = np.concatenate([body.vertices, inner, beside])
    n = len(body.vertices)
    lines = [f"v {x:.17g} {y:.17g} {z:.17g}" for x, y, z in points]
    lines += [f"f {i + 1} {n + i + 1} {2 * n + i + 1}" for i in range(n)]
    return "\n".join(lines) + "\n"


def _recover(body: Body, setting: Setting, record: Record, i: int) -> None:
    """Impulses, modes and kinds of throw i from its motion: p = M (v' - v) - h tau, gyroscopic torque included."""
    frames = record.position.shape[1]
    before = Motion(record.position[i, :-1].copy(), record.quaternion[i, :-1].copy(), record.twist[i, :-1].copy())
    contacts = new_contacts(body.hull, frames - 1)
    found = begin_step(setting, body.hull, contacts, before)
    label_steps(body.hull, contacts, found, record.twist[i], record.impulse[i], record.mode[i], record.kind[i])


@compiled
def label_steps(hull, contacts, found, twist, impulse, mode, kind):
    """Write what happened in the steps in contact, from the twists (steps + 1, 6) of all steps."""
    inertia = np.empty((3, 3))
    for k in range(found):
        c = contacts.record[k]
        t = c.index
        change = twist[t + 1] - c.velocity
        sandwich(c.rotation, hull.inertia, inertia)
        torque = apply(inertia, change[3:])
        for m in range(3):
            impulse[t, m] = hull.mass * change[m]
            impulse[t, 3 + m] = torque[m]
        kind[t] = c.kind
        mode[t] = observed_mode(contacts, k, twist[t + 1], impulse[t])
