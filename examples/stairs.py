"""A die tumbles down a flight of stairs, whose steps are fixed boxes, and comes to rest; a can beside it rolls on.

    python examples/stairs.py [SECONDS]

One line puts a material on each of them; MuJoCo detects the contacts with edges and faces of the steps.
"""

import sys

import mujoco
import numpy as np

import stiction

STEPS = 6
RUN, RISE = 0.15, 0.1  # of a step [m]
steps = "".join(
    f'<geom type="box" size="{RUN / 2} 0.4 {height / 2}" pos="{RUN * (k + 0.5)} 0 {height / 2}"/>'
    for k in range(STEPS)
    for height in [RISE * (STEPS - k)]
)
MODEL = f"""
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    {steps}
    <body name="die" pos="0.05 -0.15 0.8"><freejoint/><geom type="box" size="0.04 0.04 0.04" mass="0.2"/></body>
    <body name="can" pos="0.05 0.15 0.8" quat="1 1 0 0"><freejoint/>
      <geom type="cylinder" size="0.03 0.05" mass="0.2"/>
    </body>
  </worldbody>
</mujoco>"""

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 6.0
sim = stiction.mujoco.Simulation(mujoco.MjModel.from_xml_string(MODEL), laws={"die": 0.5, "can": 0.5})
sim.data.qvel[0] = sim.data.qvel[6] = 1.2  # pushed off the top
deepest = 0.0
while sim.data.time < seconds:
    sim.step()
    deepest = min(deepest, np.min(sim.data.contact.dist, initial=0.0))
for name in ("die", "can"):
    x, _y, z = sim.data.body(name).xpos
    print(f"{name}: at x = {x:.2f} m, {z:.3f} m high, {sim.contacts[name].steps:,} steps in contact")
print(f"deepest penetration {-deepest:.1e} m, {sim.unsolved} steps unsolved")
