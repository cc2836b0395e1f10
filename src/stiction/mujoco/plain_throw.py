"""Throws of a box onto the ground in MuJoCo, as trajectories: a second opinion on friction, and a peer at rest.

MuJoCo's contacts are soft by design: a body at rest sinks in a little, and creeps on a slope.
"""

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.bodies.trajectory import Trajectory
from stiction.laws.law import GRAVITY
from stiction.simulation.motion import (
    Setting,
    check_finite,
    check_start,
    empty_record,
    recover,
    to_motion,
    to_trajectory,
)

try:
    import mujoco as engine
except ImportError as error:
    raise ImportError(needs("stiction.mujoco.plain_throw", "mujoco")) from error

mujoco = cast(Any, engine)  # a compiled module, whose names are known at run time only
CONES = ("pyramidal", "elliptic")


def throw(
    body: Body,
    state: State,
    steps: int = 800,
    *,
    friction: ArrayLike = 0.5,
    cone: str = "pyramidal",
    settling_time: float = 0.02,
    noslip: int = 0,
    timestep: float = 0.002,
    gravity: ArrayLike = GRAVITY,
) -> Trajectory:
    """Throw a box onto the ground in MuJoCo, from one state or from each state of a batch.

    friction: coefficient, or (mu_x, mu_y) along the world axes
    cone: "pyramidal", MuJoCo's default, or "elliptic"
    settling_time: MuJoCo's time constant of a contact [s]; its default, and at least twice the time step
    noslip: iterations of MuJoCo's solver against slip, off by default
    """
    steps = checks.count("steps", steps, 0)
    coefficients = np.broadcast_to(checks.array("friction", friction, ()), 2)
    checks.choice("cone", cone, CONES)
    if body.shape != "box":
        raise checks.InputError(f"Only a box can be thrown in MuJoCo, got a {body.shape}.")
    setting = Setting(checks.positive("timestep [s]", timestep), checks.array("gravity", gravity, (3,)))
    check_start(body, state)
    start = to_motion(body, state.reshape(int(np.prod(state.batch_shape))))
    record = empty_record(len(start.position), steps)
    model = mujoco.MjModel.from_xml_string(scene(body, coefficients, cone, settling_time, noslip, setting))
    data = mujoco.MjData(model)
    for i in range(len(start.position)):
        mujoco.mj_resetData(model, data)
        data.qpos[:3], data.qpos[3:] = start.position[i], start.quaternion[i]
        data.qvel[:3] = start.twist[i, :3]
        data.qvel[3:] = _to_body(data.qpos[3:], start.twist[i, 3:])
        _write(record, i, 0, data)
        for t in range(steps):
            mujoco.mj_step(model, data)
            _write(record, i, t + 1, data)
    check_finite(setting.timestep, *record[:2], record.twist[..., :3], record.twist[..., 3:])
    recover(body, setting, record)
    return to_trajectory(body, record, state.batch_shape, setting.timestep)


def _write(record, i: int, t: int, data) -> None:
    """Write the present state; MuJoCo's angular velocity is in body axes."""
    record.position[i, t], record.quaternion[i, t] = data.qpos[:3], data.qpos[3:]
    record.twist[i, t, :3] = data.qvel[:3]
    mujoco.mju_rotVecQuat(record.twist[i, t, 3:], data.qvel[3:], data.qpos[3:])


def _to_body(quaternion, vector):
    """A world vector in body axes."""
    back, out = np.empty(4), np.empty(3)
    mujoco.mju_negQuat(back, np.asarray(quaternion))
    mujoco.mju_rotVecQuat(out, np.asarray(vector), back)
    return out


def scene(body: Body, friction, cone: str, settling_time: float, noslip: int, setting: Setting) -> str:
    """MJCF of the ground and the body, whose frame lies at the centre of mass."""

    def text(values) -> str:
        return " ".join(f"{value:.17g}" for value in np.ravel(values))

    I = body.inertia
    inertia = text([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
    # On a plane with z up, the first of a pair's coefficients acts along world y, the second along x.
    slide = text([friction[1], friction[0]])
    return f"""
<mujoco>
  <option timestep="{setting.timestep:.17g}" gravity="{text(setting.gravity)}" cone="{cone}"
          noslip_iterations="{noslip}"/>
  <worldbody>
    <geom name="ground" type="plane" size="0 0 1"/>
    <body name="body">
      <freejoint/>
      <inertial pos="0 0 0" mass="{body.mass:.17g}" fullinertia="{inertia}"/>
      <geom name="body" type="box" size="{text(np.array(body.size) / 2)}" pos="{text(-body.com)}"/>
    </body>
  </worldbody>
  <contact>
    <pair geom1="ground" geom2="body" condim="3" friction="{slide} 0 0 0" solref="{settling_time:.17g} 1"/>
  </contact>
</mujoco>"""
