"""Robots that nobody here made: twelve MuJoCo models of other packages, found where those are installed.

The packages are read, not imported: what counts is the model file. So they need none of their own dependencies.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.mujoco import mjcf
from stiction.viewer.quadruped import Drive, random_motors
from stiction_studies.robots.servos import random_servos

mujoco = mjcf.mujoco
INSTALL = "pip install --no-deps gymnasium dm_control robosuite"
FLOOR = "floor"  # the geom's name, in every one of these models
CLEARANCE = 0.005  # [m] between floor and robot at the start
_RING = 32  # points by which a round geom is described to find the robot's lowest point
_WALLS = ("wall_px", "wall_py", "wall_nx", "wall_ny")


@dataclass(frozen=True)
class Stranger:
    """A model of another package.

    file: its path inside the package's folder
    without: names of bodies, geoms, sites and cameras that the package's own walking task removes as well
    stance: joint angles to stand with, [rad]; the model's own by default
    sway: 0 for a robot that random controls drive. Where the motors are bare torques on joints without damping, random
        ones would only fling it about: there it is driven by joint servos with random targets, this far from the
        stance at most [rad]
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
        """The MjModel, with a floor and gravity; the time step, the integrator and all else are its own."""
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
        """What sets the controls of each step."""
        return random_servos(model, data, seed, self.sway) if self.sway else random_motors(model, data, seed)

    def start(self, model: Any) -> NDArray[np.float64]:
        """Standing just above the floor, all joints within their limits; qpos, shape (nq,)."""
        qpos = model.qpos0.copy()
        if self.stance:
            qpos[-len(self.stance) :] = self.stance
        scalar = np.isin(model.jnt_type, (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE))
        limited = scalar & (model.jnt_limited > 0)
        place = model.jnt_qposadr[limited]
        qpos[place] = np.clip(qpos[place], *model.jnt_range[limited].T)
        qpos[_height(model)] += CLEARANCE - _lowest(model, qpos)
        return qpos


def _unwanted(spec: Any, names: tuple[str, ...]) -> Iterator[Any]:
    for name in names:
        yield from filter(None, (spec.body(name), spec.geom(name), spec.site(name), spec.camera(name)))
    if names:  # they measure distances to what is removed, and cost more than the whole robot
        yield from (sensor for sensor in spec.sensors if sensor.type == mujoco.mjtSensor.mjSENS_RANGEFINDER)


def _height(model: Any) -> int:
    """The number in qpos that raises the whole robot: of its free joint, or of a slide upwards."""
    for joint, kind in enumerate(model.jnt_type):
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            return int(model.jnt_qposadr[joint]) + 2
        if kind == mujoco.mjtJoint.mjJNT_SLIDE and model.jnt_axis[joint, 2] == 1.0:
            return int(model.jnt_qposadr[joint])
    raise LookupError("No joint raises the robot.")


def _lowest(model: Any, qpos: NDArray[np.float64]) -> float:
    """Height of the robot's lowest point that can touch, over the floor [m]."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    floor = model.geom(FLOOR).id
    heights = []
    for body in range(1, model.nbody):
        down = data.xmat[body].reshape(3, 3)[2]
        for geom in mjcf.contact_geoms(model, body):
            heights.append(data.xpos[body, 2] + (mjcf.corners(model, geom, _RING) @ down).min())
    return float(min(heights) - data.geom_xpos[floor, 2])


def _gymnasium(name: str, file: str) -> Stranger:
    return Stranger(name, "gymnasium", f"envs/mujoco/assets/{file}.xml")


def _dm_control(name: str, *without: str) -> Stranger:
    return Stranger(name, "dm_control", f"suite/{name}.xml", without)


def _robosuite(name: str, sway: float, stance: tuple[float, ...] = ()) -> Stranger:
    return Stranger(name, "robosuite", f"models/assets/robots/{name.lower()}/robot.xml", stance=stance, sway=sway)


STRANGERS = (
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
