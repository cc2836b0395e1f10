"""A law of one body inside MuJoCo: a foot on a slope of 20 degrees stands or slides.

    python examples/mujoco_foot.py

The law describes the foot alone; inside any model it computes the foot's contact with the ground, whatever the foot is
attached to. Theory: on a slope of angle a it stands if the coefficient mu is at least tan a = 0.364, and otherwise
slides with the acceleration g (sin a - mu cos a). MuJoCo's own contact is shown beside it.
"""

import mujoco
import numpy as np

import stiction
from stiction.mujoco import Simulation, body_of

SLOPE = np.radians(20)
STEP, STEPS = 0.002, 500  # [s]
GRAVITY = 9.81 * np.array([np.sin(SLOPE), 0.0, -np.cos(SLOPE)])  # a slope is level ground with tilted gravity


def model(friction: float) -> mujoco.MjModel:
    """A foot on the ground."""
    return mujoco.MjModel.from_xml_string(f"""
    <mujoco>
      <option timestep="{STEP}" gravity="{GRAVITY[0]} {GRAVITY[1]} {GRAVITY[2]}"/>
      <worldbody>
        <geom type="plane" size="5 5 1" friction="{friction}"/>
        <body name="foot" pos="0 0 0.02"><freejoint/>
          <geom type="box" size="0.1 0.05 0.02" mass="0.5" friction="{friction}"/>
        </body>
      </worldbody>
    </mujoco>""")


print(f"{'friction':>8}{'theory':>12}{'our law':>12}{'MuJoCo':>12}   (distance in {STEP * STEPS:g} s [mm])")
for friction in (0.2, 0.3, 0.4, 0.6):
    plain = model(friction)
    law = stiction.CoulombLaw(body_of(plain, "foot"), friction=friction, timestep=STEP)
    sim = Simulation(model(friction), laws={"foot": law})
    data = mujoco.MjData(plain)
    sim.step(STEPS)
    mujoco.mj_step(plain, data, STEPS)
    acceleration = max(0.0, 9.81 * (np.sin(SLOPE) - friction * np.cos(SLOPE)))
    theory = acceleration * STEP**2 * STEPS * (STEPS + 1) / 2  # with this time step
    distances = np.array([theory, sim.data.qpos[0], data.qpos[0]])
    contact = sim.contacts["foot"]
    print(
        f"{friction:8}"
        + "".join(f"{abs(distance):12.3f}" for distance in 1e3 * distances)
        + f"   {contact.mode.name.lower()}"
    )
print(f"the ground pushes with {contact.impulse[2] / STEP:.3f} N, the foot presses with {0.5 * -GRAVITY[2]:.3f} N")
