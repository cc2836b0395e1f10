"""Third-party robots: twelve MuJoCo models of other packages, driven by MuJoCo alone and with a material on the floor.

The packages are read, not imported: only the model file is needed. So they need none of their own dependencies.
"""

import copy
import time as clock
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics.checks import InputError
from stiction.laws.material import Material
from stiction.mujoco import mjcf
from stiction.mujoco.simulation import Simulation, mujoco
from stiction.viewer.quadruped import Drive, RandomPath, random_motors
from stiction_studies.page.motions_shown import Frames, Motion

INSTALL = "pip install --no-deps gymnasium dm_control robosuite gymnasium-robotics gym-hil"
FLOOR = "floor"  # the geom's name, in every one of these models
FRICTION = 0.8
_WALLS = ("wall_px", "wall_py", "wall_nx", "wall_ny")


@dataclass(frozen=True)
class ThirdPartyRobot:
    """A model of another package.

    file: its path inside the package's folder
    without: names of bodies, geoms, sites and cameras that the package's own walking task removes as well
    stance: joint angles to stand with, [rad]; the model's own by default
    sway: 0 for a robot with random controls. Random torques on joints without damping would only fling a robot about:
        there it is driven by joint servos with random targets, this far from the stance at most [rad]
    """

    name: str
    package: str
    file: str
    without: tuple[str, ...] = ()
    stance: tuple[float, ...] = ()
    sway: float = 0.0

    @property
    def path(self) -> Path | None:
        """The model file; None where the package is not installed, or has no such file."""
        spec = find_spec(self.package)
        folders = (spec.submodule_search_locations or []) if spec else []
        return next((Path(folder) / self.file for folder in folders if (Path(folder) / self.file).is_file()), None)

    def load(self) -> Any:
        """Return the MjModel, with a floor and gravity; everything else is as the package has it."""
        spec = mujoco.MjSpec.from_file(str(self.path))
        for element in list(_unwanted(spec, self.without)):
            spec.delete(element)
        if spec.geom(FLOOR) is None:  # a robot without a world
            spec.option.gravity = [0.0, 0.0, -9.81]
            spec.worldbody.add_geom(name=FLOOR, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[10.0, 10.0, 0.1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # MuJoCo's advice on old attributes is for the model's authors
            return spec.compile()

    def drive(self, model: Any, data: Any, seed: int) -> Drive:
        """Return the function that sets the controls of each step."""
        return _random_servos(model, data, seed, self.sway) if self.sway else random_motors(model, data, seed)

    def start(self, model: Any) -> NDArray[np.float64]:
        """Return qpos (nq,) of the robot 5 mm above the floor, all joints within their limits."""
        qpos = model.qpos0.copy()
        if self.stance:
            qpos[-len(self.stance) :] = self.stance
        scalar = np.isin(model.jnt_type, (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE))
        limited = scalar & (model.jnt_limited > 0)
        place = model.jnt_qposadr[limited]
        qpos[place] = np.clip(qpos[place], *model.jnt_range[limited].T)
        qpos[_height(model)] += 0.005 - _lowest(model, qpos)
        return qpos


def _unwanted(spec: Any, names: tuple[str, ...]) -> Iterator[Any]:
    for name in names:
        yield from filter(None, (spec.body(name), spec.geom(name), spec.site(name), spec.camera(name)))
    if names:  # they measure distances to the removed bodies, and cost more than the whole robot
        yield from (sensor for sensor in spec.sensors if sensor.type == mujoco.mjtSensor.mjSENS_RANGEFINDER)


def _height(model: Any) -> int:
    """Return the index in qpos of the robot's height: of its free joint, or of a slide upwards."""
    for joint, kind in enumerate(model.jnt_type):
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            return int(model.jnt_qposadr[joint]) + 2
        if kind == mujoco.mjtJoint.mjJNT_SLIDE and model.jnt_axis[joint, 2] == 1.0:
            return int(model.jnt_qposadr[joint])
    raise LookupError("No joint raises the robot.")


def _lowest(model: Any, qpos: NDArray[np.float64]) -> float:
    """Return the height of the robot's lowest point that can touch, over the floor [m]."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    floor = model.geom(FLOOR).id
    heights = []
    for body in range(1, model.nbody):
        down = data.xmat[body].reshape(3, 3)[2]
        for geom in mjcf.contact_geoms(model, body):
            heights.append(data.xpos[body, 2] + (mjcf.corners(model, geom, 32) @ down).min())
    return float(min(heights) - data.geom_xpos[floor, 2])


def _random_servos(model: Any, data: Any, seed: int, sway: float) -> Drive:
    """Return torques of servos at all actuated joints, whose targets wander about the current pose of `data`.

    Their stiffness is stable at this time step, at most 500 N m/rad, and they are nearly critically damped.
    sway: greatest distance of the targets from that pose [rad]
    """
    joints = model.actuator_trnid[:, 0]
    place, dof = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
    inertia = _inertia(model, data)[dof]
    # An explicit servo becomes unstable at 4 inertia / timestep^2.
    stiffness = np.minimum(500.0, 0.05 * inertia / model.opt.timestep**2)
    damping = 1.6 * np.sqrt(stiffness * inertia)
    stance, (low, high) = data.qpos[place].copy(), model.actuator_ctrlrange.T
    wander = RandomPath(stance - sway, stance + sway, stance, model.opt.timestep, seed)

    def drive(step: int) -> None:
        torque = stiffness * (wander(step) - data.qpos[place]) - damping * data.qvel[dof]
        data.ctrl[:] = np.clip(torque, low, high)

    return drive


def _inertia(model: Any, data: Any) -> NDArray[np.float64]:
    """Return the effective inertia of each joint with all others free, shape (nv,)."""
    mujoco.mj_forward(model, data)
    response = np.zeros((model.nv, model.nv))
    mujoco.mj_solveM(model, data, response, np.eye(model.nv))
    return 1 / np.diag(response)


def _gymnasium(name: str, file: str) -> ThirdPartyRobot:
    return ThirdPartyRobot(name, "gymnasium", f"envs/mujoco/assets/{file}.xml")


def _dm_control(name: str, *without: str) -> ThirdPartyRobot:
    return ThirdPartyRobot(name, "dm_control", f"suite/{name}.xml", without)


def _robosuite(name: str, sway: float, stance: tuple[float, ...] = ()) -> ThirdPartyRobot:
    file = f"models/assets/robots/{name.lower()}/robot.xml"
    return ThirdPartyRobot(name, "robosuite", file, stance=stance, sway=sway)


ROBOTS = (
    _gymnasium("Ant", "ant"),
    _gymnasium("Humanoid", "humanoid"),
    _gymnasium("HalfCheetah", "half_cheetah"),
    _gymnasium("Walker2d", "walker2d_v5"),
    _gymnasium("Hopper", "hopper"),
    _dm_control("walker"),
    _dm_control("quadruped", *_WALLS, "terrain", "ball", "target"),
    _dm_control("humanoid"),
    _dm_control("humanoid_CMU"),
    _dm_control("dog", *_WALLS, "ball", "target"),
    _robosuite("Spot", 0.1, (0.0, 0.9, -1.8) * 4),
    _robosuite("GR1", 0.3),
)


# Runs.


@dataclass
class Trial:
    """One run of a robot.

    seconds: processor time of each step [s], shape (steps,)
    points: at the floor in each step, shape (steps,)
    depth: greatest penetration of a point [m]
    unsolved: steps in which the point solver found no solution
    warnings: MuJoCo's, by name, how often
    failed: why the run ended early; empty if it did not
    end: qpos after the last step
    motion: of all bodies, in the first seconds
    """

    seconds: NDArray[np.float64]
    points: NDArray[np.int64]
    depth: float = 0.0
    unsolved: int = 0
    warnings: dict[str, int] = field(default_factory=dict)
    failed: str = ""
    end: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    motion: Motion | None = None

    @property
    def touching(self) -> NDArray[np.bool_]:
        """The steps in which something touches the floor, shape (steps,)."""
        return self.points > 0

    @property
    def finite(self) -> bool:
        """Whether all numbers stayed finite, so that MuJoCo did not reset its state."""
        return not self.failed and not any(name.startswith("bad") for name in self.warnings)


@dataclass(frozen=True)
class _Engine:
    """A model that is stepped: `points` returns how many touch the floor in the last step, `unsolved` steps so far."""

    model: Any
    data: Any
    step: Callable[[], None]
    points: Callable[[], int]
    unsolved: Callable[[], int]


def by_mujoco(robot: ThirdPartyRobot, model: Any, seed: int, duration: float) -> Trial:
    """Return a run of `duration` seconds by MuJoCo alone, with Euler's method instead of RK4, as stiction has it."""
    model = _with_equal_friction(model)
    if model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    floor = model.geom(FLOOR).id

    def engine() -> _Engine:
        data = mujoco.MjData(model)

        def points() -> int:
            return int(((data.contact.geom == floor).any(axis=1) & (data.contact.efc_address >= 0)).sum())

        return _Engine(model, data, lambda: mujoco.mj_step(model, data), points, lambda: 0)

    return _twice(robot, engine, seed, duration)


def by_stiction(robot: ThirdPartyRobot, model: Any, seed: int, duration: float) -> Trial:
    """Return a run of `duration` seconds with a Coulomb material between the floor and everything that touches it.

    A model that is refused gives a run without steps, with the reason.
    """

    def engine() -> _Engine:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the table's note mentions that RK4 becomes Euler
            sim = Simulation(_with_equal_friction(model), laws={f"geom:{FLOOR}": Material.coulomb(FRICTION)})
        floor = sim.contacts[f"geom:{FLOOR}"]
        return _Engine(sim.model, sim.data, sim.step, lambda: len(floor.points), lambda: sim.unsolved)

    return _twice(robot, engine, seed, duration)


def _with_equal_friction(model: Any) -> Any:
    """Return a copy of the model in which MuJoCo's own contacts have the friction of the material."""
    model = copy.copy(model)
    model.geom_friction[:, 0] = FRICTION
    model.pair_friction[:, :2] = FRICTION
    return model


def _twice(robot: ThirdPartyRobot, engine: Callable[[], _Engine], seed: int, duration: float) -> Trial:
    """Return the same run, made twice, with the shorter time of each step: without delays by the operating system."""
    try:
        first, second = (_drive(robot, engine(), seed, duration) for _ in range(2))
    except InputError as error:
        return Trial(np.zeros(0), np.zeros(0, dtype=np.int64), failed=str(error))
    if not np.array_equal(first.end, second.end, equal_nan=True):
        second.failed = second.failed or "The same run, repeated, ended elsewhere."
    second.seconds = np.minimum(first.seconds, second.seconds)
    return second


def _drive(robot: ThirdPartyRobot, engine: _Engine, seed: int, duration: float) -> Trial:
    model, data = engine.model, engine.data
    data.qpos[:] = robot.start(model)
    mujoco.mj_forward(model, data)
    steps, h = round(duration / model.opt.timestep), model.opt.timestep
    drive = robot.drive(model, data, seed)
    floor, stride = model.geom(FLOOR).id, max(1, round(0.02 / h))  # frames of 0.02 s
    trial = Trial(np.zeros(steps), np.zeros(steps, dtype=np.int64))
    frames = Frames()
    for t in range(steps):
        drive(t)
        start = clock.thread_time()
        try:
            engine.step()
        except InputError as error:
            trial.failed = str(error)
            break
        trial.seconds[t] = clock.thread_time() - start
        trial.points[t] = engine.points()
        at_floor = (data.contact.geom == floor).any(axis=1)
        trial.depth = max(trial.depth, -data.contact.dist[at_floor].min(initial=0.0))
        if t % stride == 0 and t * h < 4.0:  # [s] of a replay
            frames.take(data)
    trial.unsolved = engine.unsolved()
    trial.warnings = {_name(k): int(w.number) for k, w in enumerate(data.warning) if w.number}
    trial.end = data.qpos.copy()
    if frames:
        trial.motion = frames.motion(stride * h, model.geom_pos[floor])
    return trial


def _name(warning: int) -> str:
    return mujoco.mjtWarning(warning).name.removeprefix("mjWARN_").lower()
