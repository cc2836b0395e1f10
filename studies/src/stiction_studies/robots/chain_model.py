"""The paper's three-link chain: its model for MuJoCo, its starts, and swings of it in MuJoCo and DART."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.bodies.state import Kind, Mode
from stiction.laws.law import GRAVITY, Law

if TYPE_CHECKING:
    from stiction.mujoco.links import Method

LENGTH, WIDTH, HEIGHT, MASS = 0.5, 0.1, 0.08, 1.0  # of a link [m, kg]
PIN = 1.25  # height of the pinned end [m]
FRICTION, TIMESTEP = 0.6, 0.002
LINK = Body.box((LENGTH, WIDTH, HEIGHT), MASS)
LAST = "link3"
SPREAD = 0.6  # [rad] of the starting angles; the first swing is the paper's, straight and level
STEPS = 1000  # of a swing: 2 s
MOVED = 1e-4  # [rad] by which every joint's start is moved, to measure how fast the same swing diverges from itself

_GEOM = f'type="box" size="{LENGTH / 2} {WIDTH / 2} {HEIGHT / 2}" pos="{LENGTH / 2} 0 0" mass="{MASS}"'
_HINGE = 'type="hinge" axis="0 1 0"'
CHAIN = f"""
<mujoco model="chain">
  <option timestep="{TIMESTEP}" cone="elliptic"/>
  <worldbody>
    <geom name="ground" type="plane" size="5 5 0.1" friction="{FRICTION}"/>
    <body name="link1" pos="0 0 {PIN}">
      <joint name="joint1" {_HINGE}/><geom {_GEOM} contype="0" conaffinity="0"/>
      <body name="link2" pos="{LENGTH} 0 0">
        <joint name="joint2" {_HINGE}/><geom {_GEOM} contype="0" conaffinity="0"/>
        <body name="{LAST}" pos="{LENGTH} 0 0">
          <joint name="joint3" {_HINGE}/><geom {_GEOM} friction="{FRICTION}"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def draw_starts(count: int, seed: int) -> NDArray[np.float64]:
    """Return joint angles (count, 3) [rad]: the level chain, then random ones within +-SPREAD, clear of the ground."""
    rng, starts = np.random.default_rng([seed, 5]), [np.zeros(3)]
    while len(starts) < count:
        angle = rng.uniform(-SPREAD, SPREAD, 3)
        if PIN + LENGTH * directions(np.cumsum(angle))[0][:, 1].sum() - WIDTH > 0.05:  # [m] above the ground
            starts.append(angle)
    return np.array(starts)


def directions(heading: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return unit vectors (x, z) along links turned about y by `heading`, and their derivatives, (..., 2)."""
    c, s = np.cos(heading), np.sin(heading)
    return np.stack([c, -s], axis=-1), np.stack([-s, -c], axis=-1)


@dataclass(frozen=True)
class Swing:
    """A swing of the chain.

    angle, rate: of each joint to the link before [rad, rad/s], (steps + 1, 3)
    impulse: contact impulse on the last link about its centre of mass [N s, N m s], (steps, 6)
    mode, kind, evaluations, outside, unsolved: of each step, (steps,); zeros for other simulators
    law_twists: V1 at which the law was evaluated, (contact steps, 6); empty for other simulators
    """

    angle: NDArray[np.float64]
    rate: NDArray[np.float64]
    impulse: NDArray[np.float64]
    mode: NDArray[np.int64]
    kind: NDArray[np.int64]
    evaluations: NDArray[np.int64]
    outside: NDArray[np.bool_]
    unsolved: NDArray[np.bool_]
    law_twists: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 6)))

    @property
    def joint_force(self) -> NDArray[np.float64]:
        """Force (x, z) [N] of the joint between second and third link on the third, (steps, 2).

        By Newton's law from the motion: mass times acceleration, less weight and contact force.
        """
        acceleration = np.diff(self.rate, axis=0) / TIMESTEP
        motion = _centre_acceleration(self.angle[:-1], self.rate[:-1], acceleration)
        return MASS * (motion - np.array([GRAVITY[0], GRAVITY[2]])) - self.impulse[:, [0, 2]] / TIMESTEP


def swing_in_dart(start: NDArray[np.float64], steps: int, solver: str = "nsgs") -> Swing:
    """Return a swing in DART, the ground truth."""
    from stiction_studies.engines.dart_engine import chain, last_impulse

    world = chain(LINK, start[np.newaxis], PIN, FRICTION, TIMESTEP, solver)
    world.put(0)
    skeleton, last = world.skeleton, world.skeleton.getBodyNode(len(start) - 1)

    def step() -> NDArray[np.float64]:
        centre = last.getCOM()
        world.step()
        return last_impulse(world, centre)

    motion = _recorded(steps, step, lambda: (skeleton.getPositions(), skeleton.getVelocities()))
    touched, none = np.abs(motion[2]).sum(axis=1) > 0, np.zeros(steps, dtype=np.int64)
    kind = np.where(touched, int(Kind.LINE), int(Kind.NONE))
    mode = np.where(touched, int(Mode.DYNAMIC), int(Mode.NONE))  # DART does not name its modes
    return Swing(*motion, mode, kind, none, none > 0, none > 0)


def swing_with(
    law: Law, start: NDArray[np.float64], steps: int, *, tolerance: float = 1e-3, method: "Method" = "modes"
) -> Swing:
    """Return a swing in MuJoCo with a law of the last link; tolerance and method of Algorithm 2."""
    from stiction.mujoco.simulation import Simulation, mujoco

    model = mujoco.MjModel.from_xml_string(CHAIN)
    sim = Simulation(model, laws={LAST: law}, tolerance=tolerance, method=method)
    sim.reset(qpos=start)
    contact = sim.contacts[LAST]
    rows, law_twists = [], []

    def step() -> NDArray[np.float64]:
        sim.step()
        rows.append((contact.mode, contact.kind, contact.evaluations, contact.outside, contact.unsolved))
        if contact.evaluations:
            law_twists.append(contact.last_query)
        return contact.impulse

    motion = _recorded(steps, step, lambda: (sim.data.qpos.copy(), sim.data.qvel.copy()))
    mode, kind, evaluations, outside, unsolved = np.array(rows, dtype=np.int64).T
    outside, unsolved = (np.diff(count, prepend=0) > 0 for count in (outside, unsolved))
    return Swing(*motion, mode, kind, evaluations, outside, unsolved, np.array(law_twists).reshape(-1, 6))


def swing_in_mujoco(start: NDArray[np.float64], steps: int) -> Swing:
    """Return a swing with MuJoCo's own contact, for comparison."""
    from stiction.mujoco.simulation import mujoco

    model = mujoco.MjModel.from_xml_string(CHAIN)
    data = mujoco.MjData(model)
    data.qpos[:] = start
    body = model.body(LAST).id
    force = np.zeros(6)

    def step() -> NDArray[np.float64]:
        mujoco.mj_forward(model, data)
        total = np.zeros(6)
        for k in range(data.ncon):
            mujoco.mj_contactForce(model, data, k, force)
            push = data.contact.frame[k].reshape(3, 3).T @ force[:3]  # on the second geom: the link, after the ground
            total[:3] += push
            total[3:] += np.cross(data.contact.pos[k] - data.xipos[body], push)
        mujoco.mj_step(model, data)
        return TIMESTEP * total

    none = np.zeros(steps, dtype=np.int64)
    motion = _recorded(steps, step, lambda: (data.qpos.copy(), data.qvel.copy()))
    return Swing(*motion, none, none, none, none > 0, none > 0)


def _recorded(
    steps: int, step: Callable[[], NDArray], read: Callable[[], tuple[NDArray, NDArray]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the angles and rates that `read` returns, and the impulses on the last link that `step` returns."""
    states, impulses = [read()], []
    for _ in range(steps):
        impulses.append(step())
        states.append(read())
    angle, rate = (np.array(part) for part in zip(*states))
    return angle, rate, np.array(impulses)


def _centre_acceleration(angle, rate, acceleration) -> NDArray[np.float64]:
    """Return the acceleration (x, z) of the last link's centre [m/s^2], (steps, 2)."""
    heading, spin, change = (np.cumsum(part, axis=1) for part in (angle, rate, acceleration))
    along, down = directions(heading)
    links = change[..., None] * down - (spin**2)[..., None] * along
    return LENGTH * (links[:, 0] + links[:, 1] + 0.5 * links[:, 2])
