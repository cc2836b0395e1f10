"""MuJoCo with its own contact: single bodies, tosses, scenes, and any model from given joint positions."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.mujoco.plain_throw import mujoco, scene
from stiction.simulation.motion import Motion, Setting
from stiction_studies.engines.scene_parts import G, Part, Scene
from stiction_studies.engines.worlds import FOOT, MUJOCO, Engine, Poses, World, feet, film

try:
    from mujoco import rollout
except ImportError as error:
    raise ImportError(needs("stiction_studies.engines.mujoco_engine", "mujoco")) from error

SUBSTEPS = 4  # time steps of a toss between two frames, at least
COARSEST = 0.002  # time step of a toss, at most [s]


class MujocoWorld(World):
    """A model in MuJoCo. MuJoCo's sleeping is off by default.

    starts: MuJoCo's full states, (n, 1 + nq + nv): the time, positions, velocities
    """

    def __init__(self, model_text: str, starts: NDArray[np.float64]) -> None:
        self.model = mujoco.MjModel.from_xml_string(model_text)
        self.data = mujoco.MjData(self.model)
        self.starts = starts
        self.step = partial(mujoco.mj_step, self.model, self.data)
        self._pools = {}

    def put(self, start: int) -> None:
        mujoco.mj_resetData(self.model, self.data)
        split = 1 + self.model.nq
        self.data.qpos[:], self.data.qvel[:] = self.starts[start, 1:split], self.starts[start, split:]

    def n_contacts(self) -> int:
        return self.data.ncon

    def roll(
        self, starts: slice, steps: int, threads: int = 1, *, control: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the states (n, steps, 1 + nq + nv) after each step from some starts, by one call of MuJoCo's rollout.

        control: of each start in each step, (n, steps, nu)
        """
        if threads not in self._pools:
            datas = [mujoco.MjData(self.model) for _ in range(threads)]
            self._pools[threads] = rollout.Rollout(nthread=threads if threads > 1 else 0), datas
        pool, datas = self._pools[threads]
        return pool.rollout(self.model, datas, self.starts[starts], control, nstep=steps)[0]

    def close(self) -> None:
        for pool, _ in self._pools.values():
            pool.close()


class MujocoEngine(Engine):
    """MuJoCo.

    options: of scenes, attributes of MJCF's <option>, such as 'cone="elliptic" impratio="100"'
    """

    name = MUJOCO

    def __init__(self, options: str = "") -> None:
        self.options = options

    def box(self, body: Body, starts: Motion, friction: float, setting: Setting) -> MujocoWorld:
        return MujocoWorld(scene(body, np.full(2, friction), setting), _full_states(starts))

    def mesh(self, body: Body, starts: Motion, friction: float, setting: Setting) -> MujocoWorld:
        geoms, asset = '<geom type="mesh" mesh="hull"/>', _hull_asset(body.vertices - body.com)
        return MujocoWorld(_free_body(body, friction, setting, geoms, asset), _full_states(starts))

    def spheres(self, body: Body, starts: Motion, friction: float, setting: Setting) -> MujocoWorld:
        geoms = "".join(f'<geom type="sphere" size="{FOOT}" pos="{_text(place)}"/>' for place in feet(body))
        return MujocoWorld(_free_body(body, friction, setting, geoms), _full_states(starts))

    def toss(
        self, body: Body, states: State, steps: int, setting: Setting, contact: Mapping[str, float], drag: float = 0.0
    ) -> Poses:
        substeps = max(SUBSTEPS, math.ceil(setting.timestep / COARSEST))
        model = mujoco.MjModel.from_xml_string(tossed_body(body, setting, contact, substeps))
        damp(model, drag)
        return rolled(model, states, steps, substeps)

    def run_scene(self, scene: Scene, steps: int, every: int) -> NDArray[np.float64]:
        model = mujoco.MjModel.from_xml_string(scene_mjcf(scene, self.options))
        data = mujoco.MjData(model)
        start_scene(scene, data)
        return scene.poses(film(partial(mujoco.mj_step, model, data), data.qpos.copy, steps, every))


def posed(model_text: str, angles: NDArray[np.float64]) -> MujocoWorld:
    """Return a world of a model that starts at rest at each row of joint positions (n, nq)."""
    still = np.zeros((len(angles), mujoco.MjModel.from_xml_string(model_text).nv))
    return MujocoWorld(model_text, np.hstack([np.zeros((len(angles), 1)), angles, still]))


# Tosses.


def tossed_body(body: Body, setting: Setting, contact: Mapping[str, float], substeps: int = SUBSTEPS) -> str:
    """Return the MJCF of a box or a convex mesh above the ground, and of the contact pair that they make.

    setting: time between two frames [s], and gravity
    contact: coefficients of sliding `friction` and of `torsion` [m]; `time_constant` [s], `damping_ratio`: solref
    """
    if body.shape == "box":
        shape, asset = f'type="box" size="{_text(np.array(body.size) / 2)}"', ""
    else:
        shape, asset = 'type="mesh" mesh="hull"', _hull_asset(body.vertices)
    friction, solref = contact["friction"], [contact["time_constant"], contact["damping_ratio"]]
    return _mjcf(
        f'timestep="{setting.timestep / substeps:.17g}" gravity="{_text(setting.gravity)}" cone="elliptic"',
        '<geom name="ground" type="plane" size="0 0 1"/>',
        f"""<body name="body">
          <freejoint/>
          <inertial pos="{_text(body.com)}" mass="{body.mass:.17g}" fullinertia="{_full_inertia(body)}"/>
          <geom name="body" {shape}/>
        </body>""",
        f"""<contact>
          <pair geom1="ground" geom2="body" condim="4" solref="{_text(solref)}"
                friction="{_text([friction, friction, contact["torsion"]])} 0 0"/>
        </contact>""",
        asset,
    )


def damp(model: Any, drag: float) -> None:
    """Let the one free body of a model lose velocity and spin at this rate [1/s]."""
    model.dof_damping[:3] = drag * model.body_mass[1]
    model.dof_damping[3:6] = drag * model.body_inertia[1].mean()


def rolled(model: Any, states: State, steps: int, substeps: int = SUBSTEPS) -> Poses:
    """Return the poses of the one free body of a model at the start and after each of `steps` frames."""
    start = _full_states(
        Motion(states.position, states.quaternion, np.hstack([states.velocity, states.angular_velocity]))
    )
    found, _ = rollout.rollout(model, mujoco.MjData(model), start, nstep=max(1, steps * substeps))
    found = np.asarray(cast(Any, found))
    frames = np.concatenate([start[:, np.newaxis, :8], found[:, substeps - 1 :: substeps, :8][:, :steps]], axis=1)
    return frames[..., 1:4], frames[..., 4:8]


# Scenes.


def scene_mjcf(scene: Scene, options: str = "") -> str:
    """Return the scene's MJCF. Contacts have condim 3: no torsional or rolling friction, as in all simulators."""
    motors = "".join(f'<motor joint="{part.name}"/>' for part in scene.parts if part.slide is not None)
    return _mjcf(
        f'timestep="{scene.timestep:.17g}" gravity="0 0 {-G:.17g}" {options}',
        f'<geom name="ground" type="plane" size="5 5 1" quat="{_text(scene.tilt)}"/>',
        "\n".join(_part(part) for part in scene.parts),
        f"<actuator>{motors}</actuator>",
        f'<default><geom friction="{scene.friction:.17g}" condim="3"/></default>',
    )


def start_scene(scene: Scene, data: Any) -> None:
    """Set the initial velocities and the constant forces of the scene; the initial poses are in the model."""
    at = 0
    for part in scene.parts:
        if part.slide is None:
            data.qvel[at : at + 3] = part.velocity
            turn = Rotation.from_quat(part.quaternion, scalar_first=True)
            data.qvel[at + 3 : at + 6] = turn.inv().apply(part.spin)  # in body axes
        at += 6 if part.slide is None else 1
    data.ctrl[:] = [part.force for part in scene.parts if part.slide is not None]


def _part(part: Part) -> str:
    if part.slide is None:
        joint = f'<freejoint name="{part.name}"/>'
    else:
        joint = f'<joint name="{part.name}" type="slide" axis="{_text(part.slide)}"/>'
    radius, *length = part.size
    size = np.array(part.size) / 2 if part.shape == "box" else [radius, *(edge / 2 for edge in length)]
    return f"""
    <body name="{part.name}" pos="{_text(part.position)}" quat="{_text(part.quaternion)}">
      {joint}
      <inertial pos="0 0 0" mass="{part.mass:.17g}" diaginertia="{_text(part.inertia)}"/>
      <geom name="{part.name}" type="{part.shape}" size="{_text(size)}"/>
    </body>"""


# MJCF.


def _mjcf(option: str, ground: str, bodies: str, after: str = "", before: str = "") -> str:
    """Return a whole model: elements before the world, its ground and bodies, and elements after it."""
    return f"""
<mujoco>
  <option {option}/>
  {before}
  <worldbody>
    {ground}
    {bodies}
  </worldbody>
  {after}
</mujoco>"""


def _free_body(body: Body, friction: float, setting: Setting, geoms: str, asset: str = "") -> str:
    """Return the MJCF of a plane and a body whose geoms touch the plane only."""
    default = f'<default><geom friction="{friction:.17g}" condim="3" contype="1" conaffinity="0"/></default>'
    return _mjcf(
        f'timestep="{setting.timestep:.17g}" gravity="{_text(setting.gravity)}"',
        '<geom type="plane" size="0 0 1" contype="0" conaffinity="1"/>',
        f"""<body>
          <freejoint/>
          <inertial pos="0 0 0" mass="{body.mass:.17g}" fullinertia="{_full_inertia(body)}"/>
          {geoms}
        </body>""",
        before=f'<size memory="200M"/>{default}{asset}',  # enough for a thousand contacts
    )


def _hull_asset(vertices: NDArray[np.float64]) -> str:
    """Return the MJCF of the convex mesh "hull" with these vertices (n, 3)."""
    return f'<asset><mesh name="hull" vertex="{_text(vertices)}" inertia="shell"/></asset>'


def _full_inertia(body: Body) -> str:
    I = body.inertia
    return _text([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])


def _text(values) -> str:
    return " ".join(f"{value:.17g}" for value in np.ravel(values))


def _full_states(starts: Motion) -> NDArray[np.float64]:
    """Return full states (n, 14) of a free body: the time, its pose, its velocity, and its spin in body axes."""
    spin = Rotation.from_quat(starts.quaternion, scalar_first=True).inv().apply(starts.twist[:, 3:])
    time = np.zeros((len(spin), 1))
    return np.hstack([time, starts.position, starts.quaternion, starts.twist[:, :3], spin])
