"""MuJoCo in the bench: one body stepped by `mj_step`, and whole batches by MuJoCo's own rollout in C."""

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.mujoco.plain_throw import mujoco, scene
from stiction.simulation.motion import Motion, Setting
from stiction_studies.engines.stage import FOOT, Stage, feet

try:
    from mujoco import rollout
except ImportError as error:
    raise ImportError(needs("stiction_studies.engines.mujoco_stage", "mujoco")) from error

_MEMORY = "200M"  # of a world with a thousand contacts


class MujocoStage(Stage):
    """A model in MuJoCo. MuJoCo sleeps only if told to.

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

    def touching(self) -> int:
        return self.data.ncon

    def roll(
        self, starts: slice, steps: int, threads: int = 1, *, control: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """States (n, steps, 1 + nq + nv) after each step from some of the starts, all in one call to MuJoCo's rollout.

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


def posed(model_text: str, angles: NDArray[np.float64]) -> MujocoStage:
    """A model with MuJoCo's own contact, from rest at each row of joint positions (n, nq)."""
    still = np.zeros((len(angles), mujoco.MjModel.from_xml_string(model_text).nv))
    return MujocoStage(model_text, np.hstack([np.zeros((len(angles), 1)), angles, still]))


def _free_joint(starts: Motion) -> NDArray[np.float64]:
    """Full states of a free body, whose spin MuJoCo keeps in body axes."""
    spin = Rotation.from_quat(starts.quaternion, scalar_first=True).inv().apply(starts.twist[:, 3:])
    time = np.zeros((len(spin), 1))
    return np.hstack([time, starts.position, starts.quaternion, starts.twist[:, :3], spin])


def box(body: Body, starts: Motion, friction: float, setting: Setting) -> MujocoStage:
    """A box on a plane, with MuJoCo's default contact."""
    return MujocoStage(scene(body, np.full(2, friction), "pyramidal", 0.02, 0, setting), _free_joint(starts))


def mesh(body: Body, starts: Motion, friction: float, setting: Setting) -> MujocoStage:
    """Any body as a convex mesh on a plane."""
    asset = f'<asset><mesh name="hull" vertex="{_text(body.vertices - body.com)}" inertia="shell"/></asset>'
    return MujocoStage(_world(body, friction, setting, '<geom type="mesh" mesh="hull"/>', asset), _free_joint(starts))


def spheres(body: Body, starts: Motion, friction: float, setting: Setting) -> MujocoStage:
    """A prism on a small sphere in each corner of its lower face: every contact point is kept."""
    places = feet(body)
    geoms = "".join(f'<geom type="sphere" size="{FOOT}" pos="{_text(place)}"/>' for place in places)
    return MujocoStage(_world(body, friction, setting, geoms, ""), _free_joint(starts))


def _text(values) -> str:
    return " ".join(f"{value:.17g}" for value in np.ravel(values))


def _world(body: Body, friction: float, setting: Setting, geoms: str, asset: str) -> str:
    """MJCF of a plane and a body with these shapes, which touch the plane only."""
    I = body.inertia
    inertia = _text([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
    return f"""
<mujoco>
  <size memory="{_MEMORY}"/>
  <option timestep="{setting.timestep:.17g}" gravity="{_text(setting.gravity)}"/>
  <default><geom friction="{friction:.17g}" condim="3" contype="1" conaffinity="0"/></default>
  {asset}
  <worldbody>
    <geom type="plane" size="0 0 1" contype="0" conaffinity="1"/>
    <body>
      <freejoint/>
      <inertial pos="0 0 0" mass="{body.mass:.17g}" fullinertia="{inertia}"/>
      {geoms}
    </body>
  </worldbody>
</mujoco>"""
