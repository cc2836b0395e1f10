"""DART as ground truth: throws of one body onto the ground, as trajectories with impulses and modes.

The body and the ground are set up so that DART finds exactly the vertices below z = 0, keeps no state between steps and
does not add its penetration correction to the velocity; see the comments in `new_world`.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.bodies.trajectory import Trajectory
from stiction.laws.law import GRAVITY
from stiction.simulation.motion import Motion, Setting, engine_setting, recorded_throws

try:
    import dartpy
except ImportError as error:
    raise ImportError(needs("stiction.dart", "dartpy")) from error

__all__ = ["SOLVERS", "throw"]

Solver = Literal["dantzig", "nsgs"]
SOLVERS: tuple[Solver, ...] = get_args(Solver)


def throw(
    body: Body,
    state: State,
    steps: int = 800,
    *,
    friction: float = 0.5,
    solver: Solver = "dantzig",
    timestep: float = 0.002,
    gravity: ArrayLike = GRAVITY,
    finite: bool = True,
) -> Trajectory:
    """Throw `body` onto the ground in DART, from one state or from each state of a batch.

    A simulator can be queried in any state: steps=1 returns the next one.

    friction: Coulomb coefficient of body and ground
    solver: "dantzig", a friction box along the world axes (the paper's ground truth), or "nsgs", a round cone
    finite: raise an InputError if the motion becomes infinite or NaN (a thin body that spins too fast)
    """
    steps = checks.count("steps", steps, 0)
    mu = checks.non_negative("friction", friction)
    checks.choice("solver", solver, SOLVERS)
    setting = engine_setting(timestep, gravity)
    if body.rounding:
        raise checks.InputError(f"DART throws only bodies with sharp edges, got one rounded by {body.rounding:g} m.")

    def simulate(start: Motion) -> tuple[NDArray, NDArray, NDArray]:
        # A free joint is angular first: a rotation vector, then the origin; velocities are in world axes.
        turn = Rotation.from_quat(start.quaternion, scalar_first=True).as_rotvec().reshape(-1, 3)
        q, dq = np.hstack([turn, start.position]), np.hstack([start.twist[:, 3:], start.twist[:, :3]])
        with _shape(body) as shape:
            q, dq = _run(_world(body, shape, mu, solver, setting), q, dq, steps, solver)
        quaternion = Rotation.from_rotvec(q[:, :3]).as_quat(scalar_first=True)
        return q[:, 3:], quaternion, np.hstack([dq[:, 3:], dq[:, :3]])

    return recorded_throws(body, state, steps, setting, simulate, finite)


def _run(stage, start_q, start_dq, steps: int, solver: str):
    """Throw from each row of joint positions and velocities (n, dofs); returns all frames, (n (steps + 1), dofs).

    One world serves all throws: its step depends only on the state, bit for bit.
    """
    world, skeleton = stage
    step, get_positions, get_velocities = world.step, skeleton.getPositions, skeleton.getVelocities
    q, dq = np.empty((2, len(start_q) * (steps + 1), start_q.shape[1]))
    lost = np.full(start_q.shape[1], np.nan)
    for i in range(len(start_q)):
        if solver == "nsgs":  # it starts from its last solution: a throw would depend on the one before
            world.getConstraintSolver().setBoxedLcpSolver(dartpy.constraint.NsgsFrictionSolver())
        skeleton.setPositions(start_q[i])
        skeleton.setVelocities(start_dq[i])
        positions, velocities = [get_positions()], [get_velocities()]
        for t in range(steps):
            step()
            positions.append(get_positions())
            velocities.append(get_velocities())
            if not np.dot(velocities[-1], velocities[-1]) < 1e10:  # [m/s, rad/s]^2: it diverges
                positions += [lost] * (steps - 1 - t)
                velocities += [lost] * (steps - 1 - t)
                break
        throw = slice(i * (steps + 1), (i + 1) * (steps + 1))
        np.concatenate(positions, out=q[throw].reshape(-1))
        np.concatenate(velocities, out=dq[throw].reshape(-1))
    return q, dq


@contextmanager
def build_world(body: Body, friction: float, setting: Setting, restitution: float) -> Iterator:
    """A world with Dantzig's solver, and the skeleton of the body in it, its origin at the centre of mass."""
    with _shape(body) as shape:
        yield _world(body, shape, friction, "dantzig", setting, restitution)


def new_world(solver, setting):
    """An empty world that keeps no state between steps."""
    world = dartpy.simulation.World()
    world.setTimeStep(setting.timestep)
    world.setGravity(setting.gravity)
    constraints = world.getConstraintSolver()
    if solver == "nsgs":
        constraints.setBoxedLcpSolver(dartpy.constraint.NsgsFrictionSolver())
    # FCL is the detector whose contacts depend only on the state.
    constraints.setCollisionDetector(dartpy.collision.FCLCollisionDetector())
    # Otherwise penetration correction adds to the velocity and hides every static contact.
    constraints.setSplitImpulseEnabled(True)
    sleeping = world.getDeactivationOptions()
    sleeping.mEnabled = False
    world.setDeactivationOptions(sleeping)
    return world


def _world(body, shape, mu, solver, setting, restitution=0.0):
    world = new_world(solver, setting)
    ground = dartpy.dynamics.Skeleton("ground")
    _joint, node = ground.createWeldJointAndBodyNodePair()
    # FCL finds all corners of a box on a thick box, and all vertices of a mesh on a plane, but not the other way round.
    if body.shape == "box":
        add_thick_ground(node, mu)
    else:
        add_shape(node, dartpy.dynamics.PlaneShape([0.0, 0.0, 1.0], 0.0), (0.0, 0.0, 0.0), mu, 1.0)

    skeleton = dartpy.dynamics.Skeleton("body")
    # A planar body has a free joint too, and stays in its plane by symmetry: with a planar joint, friction across the
    # plane has no effect, Dantzig's method fails on it, and DART silently falls back to an inaccurate solver.
    _joint, node = skeleton.createFreeJointAndBodyNodePair()
    inertia = np.diag(np.diag(body.inertia)) if body.planar else body.inertia
    # DART integrates the origin of its body frame; at the centre of mass that is exact in free flight.
    add_shape(node, shape, -body.com, mu, restitution)
    node.setInertia(dartpy.dynamics.Inertia(body.mass, np.zeros(3), inertia))
    world.addSkeleton(ground)
    world.addSkeleton(skeleton)
    return world, skeleton


def add_thick_ground(node, mu) -> None:
    """A box as ground, on which FCL finds all corners of a box."""
    add_shape(node, dartpy.dynamics.BoxShape([200.0, 200.0, 2.0]), (0.0, 0.0, -1.0), mu, 1.0)


def add_shape(node, shape, place, mu, restitution=0.0) -> None:
    """Give a body node a collision shape at `place` in its frame, with Coulomb friction and a restitution."""
    shape_node = node.createShapeNode(shape)
    transform = dartpy.math.Isometry3()
    transform.set_translation(place)
    shape_node.setRelativeTransform(transform)
    shape_node.createCollisionAspect()
    shape_node.createDynamicsAspect()
    shape_node.getDynamicsAspect().setFrictionCoeff(mu)
    shape_node.getDynamicsAspect().setRestitutionCoeff(restitution)  # DART multiplies both coefficients


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
    """The body as an OBJ file with one slender triangle per vertex, which points to it from inside.

    On a plane FCL reports the deepest corner of each triangle of a mesh. For a closed surface it would report some
    vertices often and others never; with spikes it reports each touching vertex once.
    """
    centre = body.vertices.mean(axis=0)
    inner = body.vertices + 0.05 * (centre - body.vertices)
    beside = inner + 0.01 * (np.roll(body.vertices, 1, axis=0) - body.vertices)
    points = np.concatenate([body.vertices, inner, beside])
    n = len(body.vertices)
    lines = [f"v {x:.17g} {y:.17g} {z:.17g}" for x, y, z in points]
    lines += [f"f {i + 1} {n + i + 1} {2 * n + i + 1}" for i in range(n)]
    return "\n".join(lines) + "\n"
