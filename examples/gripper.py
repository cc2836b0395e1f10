"""A gripper closes on a cube, lifts it and holds it: with our solver the cube stays, in MuJoCo it slips.

    python examples/gripper.py [SECONDS]

The law is Coulomb friction between the cube and whatever it touches; fingers, joints and motors are MuJoCo's.
"""

import sys

import mujoco
import numpy as np

import stiction

MODEL = """
<mujoco>
  <option timestep="0.002"/>
  <default><geom friction="0.7"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 0.1"/>
    <body name="cube" pos="0 0 0.02"><freejoint/><geom type="box" size="0.02 0.02 0.02" mass="0.1"/></body>
    <body name="hand" pos="0 0 0.1">
      <joint name="lift" type="slide" axis="0 0 1"/>
      <geom type="box" size="0.06 0.02 0.01" mass="0.3"/>
      <body pos="-0.03 0 -0.05">
        <joint name="left" type="slide" axis="1 0 0" damping="5"/>
        <geom type="box" size="0.005 0.02 0.04" mass="0.05"/>
      </body>
      <body pos="0.03 0 -0.05">
        <joint name="right" type="slide" axis="-1 0 0" damping="5"/>
        <geom type="box" size="0.005 0.02 0.04" mass="0.05"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position joint="lift" kp="2000" kv="100"/><motor joint="left" gear="15"/><motor joint="right" gear="15"/>
  </actuator>
</mujoco>"""


def slip(data, step, seconds: float) -> float:
    """Distance that the cube slips between the fingers while it is held up [m]."""
    held = []
    while data.time < 2.0 + seconds:
        raised = np.clip(data.time - 0.5, 0.0, 1.0)  # close for 0.5 s, lift for 1 s, settle for 0.5 s
        data.ctrl[:] = 0.2 * raised, 1.0, 1.0
        step()
        if data.time > 2.0:
            held.append(data.qpos[2] - data.qpos[7])  # height of the cube relative to the hand
    return abs(held[-1] - held[0])


seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
sim = stiction.mujoco.Simulation(mujoco.MjModel.from_xml_string(MODEL), laws={"cube": stiction.Material.coulomb(0.7)})
ours = slip(sim.data, sim.step, seconds)
model = mujoco.MjModel.from_xml_string(MODEL)
data = mujoco.MjData(model)
plain = slip(data, lambda: mujoco.mj_step(model, data), seconds)
print(f"In {seconds:g} s the cube slips {ours:.1e} m with stiction, {plain:.1e} m in MuJoCo; {sim.unsolved} unsolved.")
