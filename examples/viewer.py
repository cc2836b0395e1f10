"""MuJoCo's own viewer on a simulation with laws: a cube at rest on a slope of 30 degrees.

    python examples/viewer.py [SECONDS]

The viewer shows `sim.model` and `sim.data`. It comes with mujoco-core, but needs the package glfw (`pip install glfw`,
or the extra `gym`) and a screen; without one: `xvfb-run -a python examples/viewer.py`.
"""

import sys
import threading
import time

import mujoco
import mujoco.viewer

import stiction

MODEL = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <light pos="0 0 3"/>
    <geom type="plane" size="1 1 0.1" euler="0 30 0" rgba="0.8 0.85 0.9 1"/>
    <body name="cube" pos="0.05 0 0.0866" euler="0 30 0">
      <freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1" rgba="0.25 0.42 0.9 1"/>
    </body>
  </worldbody>
</mujoco>"""

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
sim = stiction.mujoco.Simulation(mujoco.MjModel.from_xml_string(MODEL), laws={"cube": 0.6})
before = set(threading.enumerate())
with mujoco.viewer.launch_passive(sim.model, sim.data) as viewer:
    while viewer.is_running() and sim.data.time < seconds:
        start = time.perf_counter()
        for _ in range(8):
            sim.step()
        viewer.sync()
        time.sleep(max(0.0, 8 * sim.model.opt.timestep - (time.perf_counter() - start)))
for thread in set(threading.enumerate()) - before:
    thread.join(10)  # the viewer closes in a thread, before which Python must not end
print(f"{sim.data.time:.1f} s in the viewer; the cube moves at {abs(sim.data.qvel).max():.1e} m/s or rad/s")
