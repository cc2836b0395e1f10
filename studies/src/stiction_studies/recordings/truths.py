"""Recordings of known parts, made by MuJoCo, Bullet and DART: what `identify` should find is known, and is not our law.

A nominal coefficient says little about how a simulator acts: MuJoCo's default cone is a pyramid, DART's a box, and soft
contact has its own restitution. `friction` and `restitution` therefore measure both in the simulator itself.
"""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.simulation.motion import Setting
from stiction_studies.engines.worlds import BULLET, DART, MUJOCO, Poses, load_engine

PYRAMIDS = "MuJoCo, pyramidal cone"  # its default
G = 9.81
SOFT, STIFF = 8e3, 4e5  # MuJoCo's contact stiffness by the effective mass [1/s^2]: impacts last about 35 and 5 ms
MASS = 0.3  # [kg]
OFFSET = (0.003, -0.002, 0.002)  # of the centre of mass from the given one [m]
TUMBLING, SLIDING, MIXED = "tumbling", "sliding", "mixed"
SLIDES = {TUMBLING: 0.0, SLIDING: 1.0, MIXED: 0.4}  # share of the throws that land flat and slide
SECONDS = 1.5  # of a toss, at most
LAG = 0.003  # of load-dependent friction [s]: in MuJoCo, a part that slides steadily presses in pulses
SPEED, IMPACT_SPEED = 0.3, 1.0  # of slip and of approach, at which friction and restitution are measured [m/s]


@dataclass(frozen=True)
class Truth:
    """A simulated part and its contact.

    engine: MUJOCO with its elliptic cone, PYRAMIDS, BULLET or DART; shape: one of SHAPES
    friction, restitution: nominal coefficients; how they act is measured by `friction` and `restitution`
    falls: with what friction falls: "speed", "load" or nothing, ""; in MuJoCo only
    stiffness: of MuJoCo's contact, SOFT or STIFF; the others are rigid
    size, inertia: factors of the true part against the given one
    """

    engine: str
    shape: str
    friction: float = 0.4
    restitution: float = 0.3
    falls: str = ""
    stiffness: float = STIFF
    com: tuple[float, float, float] = OFFSET
    size: float = 1.015
    inertia: float = 1.06

    def __post_init__(self) -> None:
        checks.choice("engine", self.engine, (MUJOCO, PYRAMIDS, BULLET, DART))
        checks.choice("shape", self.shape, tuple(SHAPES))
        checks.choice("falls", self.falls, ("", "speed", "load"))
        if self.falls and not self.soft:
            raise checks.InputError(f"Friction falls with {self.falls} in MuJoCo's truths only, got {self.engine}.")
        if self.engine == BULLET and self.shape == "wedge":
            raise checks.InputError("A wedge has products of inertia, which tosses in Bullet do not have.")

    @property
    def soft(self) -> bool:
        """Whether its contact is MuJoCo's, which has a stiffness."""
        return self.engine in (MUJOCO, PYRAMIDS)

    @property
    def given(self) -> Body:
        """The part as a user measures it: uniform, and slightly too small."""
        return SHAPES[self.shape]()

    @property
    def body(self) -> Body:
        """The part as it is."""
        given = self.given
        inertia = self.inertia * given.inertia
        return given.reshaped(scale=self.size, rounding=0.0, com=given.com + np.array(self.com), inertia=inertia)

    def coefficient(self, speed: float, force: float) -> float:
        """Return the coefficient of friction at a slip speed [m/s] and a normal force [N]."""
        if self.falls == "speed":
            return self.friction * (0.6 + 0.9 * float(np.exp(-speed / 0.3)))
        if self.falls == "load":
            return self.friction * (0.6 + 0.8 / (1 + max(0.0, force) / (3 * MASS * G)))
        return self.friction


# Shapes, each with its largest face down.


def _box() -> Body:
    return Body.box((0.10, 0.07, 0.05), MASS)


def _frustum() -> Body:
    return Body.hull_of([[x * a, y * a, z] for a, z in ((0.05, -0.03), (0.035, 0.03)) for x, y in _CORNERS], MASS)


def _wedge() -> Body:
    ends = ((-0.05, -0.02), (0.05, -0.02), (-0.05, 0.04))
    return Body.hull_of([[x, y, z] for x, z in ends for y in (-0.035, 0.035)], MASS)


def _capsule() -> Body:
    """A capsule along x as a polyhedron: rings of eight vertices, and two tips."""
    rings = ((0.035, 0.025), (0.035 + 0.0177, 0.0177))
    angles = np.pi / 8 + np.pi / 4 * np.arange(8)
    points = [[end * x, r * np.cos(a), r * np.sin(a)] for end in (-1, 1) for x, r in rings for a in angles]
    return Body.hull_of([*points, [-0.06, 0, 0], [0.06, 0, 0]], MASS)


def _octahedron() -> Body:
    """Dropped on a vertex it does not turn."""
    return Body.hull_of(0.03 * np.concatenate([np.eye(3), -np.eye(3)]), MASS)


def _plate() -> Body:
    """So low that it slides without tipping or hopping."""
    return Body.box((0.2, 0.2, 0.004), MASS)


_CORNERS = ((-1, -1), (-1, 1), (1, -1), (1, 1))
SHAPES = {"box": _box, "frustum": _frustum, "wedge": _wedge, "capsule hull": _capsule}
SHAPES |= {"octahedron": _octahedron, "plate": _plate}  # to measure restitution and friction


# Simulation.


def simulate(truth: Truth, states: State, frames: int, rate: float) -> Poses:
    """Return the poses from each state (n,) at the start and after each of `frames` frames, at `rate` [Hz]."""
    interval, gravity = 1 / rate, np.array([0.0, 0.0, -G])
    if truth.soft:
        return _in_mujoco(truth, states, frames, Setting(interval, gravity))
    parts = int(np.ceil(interval / 0.002))  # each of which takes a few time steps
    contact = {"friction": truth.friction, "restitution": truth.restitution, "spinning": 0.0}
    engine, body = load_engine(truth.engine), truth.body
    if truth.engine == BULLET:  # its boxes hardly bounce, its hulls do
        body = replace(body, shape="hull", size=())
    p, q = engine.toss(body, states, parts * frames, Setting(interval / parts, gravity), contact)
    return p[:, ::parts], q[:, ::parts]


def _in_mujoco(truth: Truth, states: State, frames: int, setting: Setting) -> Poses:
    from stiction_studies.engines.mujoco_engine import mujoco, rolled, tossed_body

    e, k = truth.restitution, truth.stiffness
    damping_ratio = -np.log(e) / np.hypot(np.pi, np.log(e)) if e else 2.5
    contact = {"friction": truth.friction, "torsion": 0.0}
    contact |= {"time_constant": -k, "damping_ratio": -2 * damping_ratio * np.sqrt(k)}  # below 0: MuJoCo's direct form
    substeps = int(np.ceil(setting.timestep * np.sqrt(k) / 0.06))  # fifty and more in an impact
    model = mujoco.MjModel.from_xml_string(tossed_body(truth.body, setting, contact, substeps))
    model.pair_dim[0], model.pair_solimp[0, :3] = 3, (0.99, 0.99, 0.001)
    model.opt.impratio = 10.0
    if truth.engine == PYRAMIDS:
        model.opt.cone, model.opt.impratio = mujoco.mjtCone.mjCONE_PYRAMIDAL, 1.0
    if not truth.falls:
        return rolled(model, states, frames, substeps)
    runs = [_with_falling_friction(truth, model, states[i], frames, substeps) for i in range(len(states.position))]
    found = np.array(runs)
    return found[..., :3], found[..., 3:]


def _with_falling_friction(truth: Truth, model, state: State, frames: int, substeps: int) -> list[NDArray[np.float64]]:
    """Return the poses (7,) of a toss whose coefficient of friction is set anew before each time step."""
    from stiction_studies.engines.mujoco_engine import mujoco

    data, body, h = mujoco.MjData(model), truth.body, model.opt.timestep
    turn = Rotation.from_quat(state.quaternion, scalar_first=True)
    data.qpos[:] = np.r_[state.position, state.quaternion]
    data.qvel[:] = np.r_[state.velocity, turn.inv().apply(state.angular_velocity)]
    poses, axes, force = [data.qpos.copy()], np.empty(9), 0.0
    for _ in range(frames):
        for _ in range(substeps):
            before = data.qvel[2]
            if data.ncon:
                mujoco.mju_quat2Mat(axes, data.qpos[3:])
                model.pair_friction[0, :2] = truth.coefficient(_slip(body, axes.reshape(3, 3), data.qvel), force)
            mujoco.mj_step(model, data)
            force += h / LAG * (MASS * (G + (data.qvel[2] - before) / h) - force)
        poses.append(data.qpos.copy())
    return poses


def _slip(body: Body, axes: NDArray[np.float64], velocity: NDArray[np.float64]) -> float:
    """Return the mean horizontal speed [m/s] of the lowest corners; velocity: MuJoCo's (6,), the spin in body axes."""
    low = body.vertices @ axes[2]
    touching = body.vertices[low < low.min() + 1e-3]
    moving = velocity[:2] + np.cross(velocity[3:], touching) @ axes.T[:, :2]
    return float(np.hypot(*moving.T).mean())


# Throws and their recordings.


def starts(truth: Truth, throws: str, number: int, rate: float, rng: np.random.Generator) -> State:
    """Return the states (number,) from which a part is thrown: turning and high, or flat, low and fast.

    Each flies for 8 frames and 20 ms at least, flat ones little more: `stiction import` needs to see a free flight.
    """
    body, flat = truth.body, rng.random(number) < SLIDES[throws]
    speed, heading = rng.uniform(0.3, 1.5, number) + 0.3 * flat, rng.uniform(0, 2 * np.pi, number)
    seconds = np.where(flat, 0.0, rng.uniform(0.15, 0.3, number)).clip(min=8 / rate + 0.02)
    gap = np.where(flat, 0.012, rng.uniform(0.05, 0.25, number))
    turn = np.where(flat[:, np.newaxis], rng.normal(0, 0.02, (number, 3)), rng.uniform(-np.pi, np.pi, (number, 3)))
    rotation = Rotation.from_rotvec(np.outer(heading, [0, 0, 1])) * Rotation.from_rotvec(turn)
    spin = rng.normal(0, 1, (number, 3)) * np.where(flat, 0.3, 5.0)[:, np.newaxis]
    down = np.array([(axes @ body.vertices.T)[2].min() for axes in rotation.as_matrix()])
    reach = np.where(flat, -down, np.linalg.norm(body.vertices, axis=1).max())
    rise = G * seconds / 2 - gap / seconds  # so that it lands after `seconds`
    course = rng.uniform(0, 2 * np.pi, number)
    velocity = np.column_stack([speed * np.cos(course), speed * np.sin(course), rise])
    position = np.column_stack([np.zeros((number, 2)), reach + gap])
    return State(position, rotation.as_quat(scalar_first=True), velocity, spin)


@dataclass(frozen=True)
class Recorded:
    """How a part is thrown and recorded.

    tosses: number to identify from; throws: TUMBLING, SLIDING or MIXED
    rate: frames a second; mm, degrees: standard deviations of the tracker's noise, along and about each axis
    """

    tosses: int = 50
    throws: str = MIXED
    rate: float = 150.0
    mm: float = 0.2
    degrees: float = 0.2


def record(truth: Truth, how: Recorded, fresh: int, seed: int, path: Path) -> None:
    """Throw a part, and write the recordings as an .npz file; the last `fresh` throws are marked as held out."""
    rng = np.random.default_rng(seed)
    number = how.tosses + fresh
    states = starts(truth, how.throws, number, how.rate, rng)
    poses = simulate(truth, states, int(SECONDS * how.rate), how.rate)
    seen = [noisy(until_rest(*each, how.rate), how, rng) for each in zip(*poses)]
    offsets = np.cumsum([0, *map(len, seen)])
    split = np.arange(number) >= how.tosses
    np.savez(path, states=np.concatenate(seen), offsets=offsets, dt=1 / how.rate, split=split.astype(np.int64))


def until_rest(position: NDArray[np.float64], quaternion: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """Return the poses (n, 7) up to shortly after the last motion."""
    turned = 2 * np.linalg.norm(np.diff(quaternion, axis=0), axis=1)
    moving = np.linalg.norm(np.diff(position, axis=0), axis=1) + 0.05 * turned > 0.005 / rate
    last = int(np.flatnonzero(moving)[-1]) + 2 + int(np.ceil(0.05 * rate))
    return np.hstack([position, quaternion])[:last]


def noisy(poses: NDArray[np.float64], how: Recorded, rng: np.random.Generator) -> NDArray[np.float64]:
    position = poses[:, :3] + rng.normal(0, 1e-3 * how.mm, (len(poses), 3))
    turn = Rotation.from_rotvec(rng.normal(0, np.radians(how.degrees), (len(poses), 3)))
    rotation = turn * Rotation.from_quat(poses[:, 3:], scalar_first=True)
    return np.hstack([position, rotation.as_quat(scalar_first=True)])


# What is true, measured in the simulator. Contact depends on neither shape nor mass properties: simple ones serve.


def friction(truth: Truth, direction: float = 0.0, speed: float = SPEED) -> float:
    """Return the coefficient of friction of a plate that slides under its own weight.

    The ratio of the horizontal impulse against the motion to the vertical one, while the plate slows down from 1.15 to
    0.85 of `speed` [m/s]; direction: of slip, from the x axis [rad]
    """
    return _friction(_plain(truth, "plate"), float(direction), float(speed))


def friction_range(truth: Truth, speed: float = SPEED) -> tuple[float, float]:
    """Return the least and the greatest coefficient of friction over all directions of slip.

    Five directions of half a right angle are measured where friction depends on them; all simulators are symmetric.
    """
    angles = np.pi / 16 * np.arange(5) if truth.engine in (PYRAMIDS, DART) else (0.0,)
    found = [friction(truth, angle, speed) for angle in angles]
    return min(found), max(found)


def restitution(truth: Truth) -> float:
    """Return the coefficient of restitution of an octahedron that falls on its vertex with 1 m/s: mean of 8 drops.

    They touch at other fractions of a time step, on which the rebound depends in Bullet.
    """
    return _restitution(_plain(truth, "octahedron"))


def _plain(truth: Truth, shape: str) -> Truth:
    return replace(truth, shape=shape, com=(0.0, 0.0, 0.0), size=1.0, inertia=1.0)


@cache
def _friction(truth: Truth, direction: float, speed: float) -> float:
    rate = 2000.0
    (rest,), (turn,) = (x[:, -1] for x in simulate(truth, _single([0, 0, 0.002], np.zeros(3)), 600, rate))
    course = np.array([np.cos(direction), np.sin(direction), 0.0])
    (path,), _ = simulate(truth, _single(rest, 1.25 * speed * course, turn), 1200, rate)
    velocity = np.diff(path, axis=0) * rate
    pace = np.linalg.norm(velocity[:, :2], axis=1)
    first, last = (int(np.argmax(pace < share * speed)) for share in (1.15, 0.85))
    change, mean = velocity[last] - velocity[first], velocity[first:last].mean(axis=0) * [1, 1, 0]
    return float(-(change @ mean) / np.linalg.norm(mean) / (G * (last - first) / rate + change[2]))


@cache
def _restitution(truth: Truth) -> float:
    rate, found = 4000.0, []
    for gap in 0.01 + 5e-4 / 8 * np.arange(8):
        thrown = _single([0, 0, 0.03 + gap], [0, 0, -np.sqrt(IMPACT_SPEED**2 - 2 * G * gap)])
        (path,), _ = simulate(truth, thrown, 400, rate)
        found.append(max(0.0, float(np.diff(path[:, 2]).max() * rate) / IMPACT_SPEED))
    return float(np.mean(found))


def _single(position, velocity, quaternion=(1.0, 0.0, 0.0, 0.0)) -> State:
    """Return one state that does not turn, as a batch (1,)."""
    rows = (np.array([row], dtype=np.float64) for row in (position, quaternion, velocity, np.zeros(3)))
    return State(*rows)
