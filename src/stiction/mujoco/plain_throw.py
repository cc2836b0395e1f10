"""Throws of a box onto the ground in MuJoCo, as trajectories: a second opinion on friction, and a peer at rest.

MuJoCo's contacts are soft by design: a body at rest sinks in a little, and creeps on a slope.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.bodies.trajectory import Trajectory
from stiction.laws.law import GRAVITY
from stiction.mujoco.mjcf import full_inertia, mujoco, text_of
from stiction.simulation.motion import Motion, Setting, engine_setting, recorded_throws


class SoftContact(NamedTuple):
    """MuJoCo's settings of a contact, by default its own.

    settling_time: time constant of a contact [s]; MuJoCo takes at least twice the time step
    noslip: iterations of its solver against slip
    """

    cone: Literal["pyramidal", "elliptic"] = "pyramidal"
    settling_time: float = 0.02
    noslip: int = 0


USUAL = SoftContact()


def throw(
    body: Body,
    state: State,
    steps: int = 800,
    *,
    friction: ArrayLike = 0.5,
    contact: SoftContact = USUAL,
    timestep: float = 0.002,
    gravity: ArrayLike = GRAVITY,
) -> Trajectory:
    """Throw a box onto the ground in MuJoCo, from one state or from each state of a batch.

    friction: coefficient, or (mu_x, mu_y) along the world axes
    """
    steps = checks.count("steps", steps, 0)
    coefficients = np.broadcast_to(checks.array("friction", friction, ()), 2)
    checks.choice("cone", contact.cone, ("pyramidal", "elliptic"))
    if body.shape != "box":
        raise checks.InputError(f"Only a box can be thrown in MuJoCo, got a {body.shape}.")
    setting = engine_setting(timestep, gravity)

    def simulate(start: Motion) -> tuple[NDArray, NDArray, NDArray]:
        model = mujoco.MjModel.from_xml_string(scene(body, coefficients, setting, contact))
        data = mujoco.MjData(model)
        position, quaternion, twist = (np.empty((len(start.position), steps + 1, size)) for size in (3, 4, 6))
        back = np.empty(4)
        for i in range(len(start.position)):
            mujoco.mj_resetData(model, data)
            data.qpos[:], data.qvel[:3] = np.append(start.position[i], start.quaternion[i]), start.twist[i, :3]
            mujoco.mju_negQuat(back, data.qpos[3:])
            mujoco.mju_rotVecQuat(data.qvel[3:], start.twist[i, 3:], back)  # MuJoCo's angular velocity: body axes
            for t in range(steps + 1):
                position[i, t], quaternion[i, t], twist[i, t, :3] = data.qpos[:3], data.qpos[3:], data.qvel[:3]
                mujoco.mju_rotVecQuat(twist[i, t, 3:], data.qvel[3:], data.qpos[3:])
                if t < steps:
                    mujoco.mj_step(model, data)
        return position, quaternion, twist

    return recorded_throws(body, state, steps, setting, simulate)


def scene(body: Body, friction, setting: Setting, contact: SoftContact = USUAL) -> str:
    """MJCF of the ground and the body, whose frame lies at the centre of mass; friction: (mu_x, mu_y)."""
    # On a plane with z up, the first of a pair's coefficients acts along world y, the second along x.
    slide = text_of([friction[1], friction[0]])
    return f"""
<mujoco>
  <option timestep="{setting.timestep:.17g}" gravity="{text_of(setting.gravity)}" cone="{contact.cone}"
          noslip_iterations="{contact.noslip}"/>
  <worldbody>
    <geom name="ground" type="plane" size="0 0 1"/>
    <body name="body">
      <freejoint/>
      <inertial pos="0 0 0" mass="{body.mass:.17g}" fullinertia="{full_inertia(body)}"/>
      <geom name="body" type="box" size="{text_of(np.array(body.size) / 2)}" pos="{text_of(-body.com)}"/>
    </body>
  </worldbody>
  <contact>
    <pair geom1="ground" geom2="body" condim="3" friction="{slide} 0 0 0" solref="{contact.settling_time:.17g} 1"/>
  </contact>
</mujoco>"""
