"""Ten boxes on top of each other: with our solver none moves, in MuJoCo the stack shifts.

python examples/stack.py [SECONDS]
"""

import sys

import mujoco
import numpy as np

import stiction

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
spec = mujoco.MjSpec()
spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1])
for k in range(10):
    box = spec.worldbody.add_body(name=f"box{k}", pos=[0.001 * (-1) ** k, 0.0, 0.05 + 0.1 * k])
    box.add_freejoint()
    box.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.05, 0.05, 0.05], mass=1.0, friction=[0.6, 0.005, 0.0001])


def motion(data, step) -> float:
    """Greatest horizontal motion of any box after the first second [m]."""
    while data.time < 1.0:
        step()
    before = data.qpos.reshape(10, 7)[:, :2].copy()
    while data.time < 1.0 + seconds:
        step()
    return float(np.abs(data.qpos.reshape(10, 7)[:, :2] - before).max())


sim = stiction.mujoco.Simulation(spec.compile(), laws={f"box{k}": 0.6 for k in range(10)})
model = spec.compile()
data = mujoco.MjData(model)
plain = motion(data, lambda: mujoco.mj_step(model, data))
print(f"In {seconds:g} s the boxes move {motion(sim.data, sim.step):.1e} m with stiction, {plain:.1e} m in MuJoCo.")
