"""A plate that shakes to and fro carries a part one way, if friction depends on the direction of slip.

    python examples/conveyor.py [SECONDS [ANIMATION.webp]]

The part has a fur of slanted hairs: it slips easily forward and hardly backward (`Material.directional`). With Coulomb
friction the same plate only shakes it.
"""

import sys
from pathlib import Path

import mujoco
import numpy as np

import stiction
from stiction.viewer.pieces import Frames, scene_of

MODEL = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body name="plate" pos="0 0 0.1">
      <joint name="plate" type="slide" axis="1 0 0"/>
      <geom type="box" size="0.55 0.12 0.01" mass="10"/>
    </body>
    <body name="part" pos="0 0 0.13"><freejoint/><geom type="box" size="0.03 0.03 0.02" mass="0.1"/></body>
  </worldbody>
  <actuator><position joint="plate" kp="1e5" kv="2000"/></actuator>
</mujoco>"""

EVERY = 20  # steps between two frames of the animation
AMPLITUDE, FREQUENCY = 0.005, 5.0  # of the plate [m], [Hz]: up to 4.9 m/s^2


def carried(material: stiction.Material, seconds: float, frames: Frames) -> float:
    """How far the part has come along the plate [m]."""
    sim = stiction.mujoco.Simulation(mujoco.MjModel.from_xml_string(MODEL), laws={"part": material})
    while sim.data.time < seconds:
        begin = min(1.0, sim.data.time)  # a second to begin, or the first push would carry the part away
        sim.data.ctrl[0] = begin * AMPLITUDE * np.sin(2 * np.pi * FREQUENCY * sim.data.time)
        sim.step()
        if sim.steps % EVERY == 0:
            frames.take(sim.data)
    return float(sim.data.qpos[1] - sim.data.qpos[0])


seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
hairs = stiction.Material.directional(forward=0.15, sideways=0.4, backward=0.6)
coulomb = stiction.Material.coulomb(0.15)
films = {"Coulomb friction": Frames(), "slanted hairs": Frames()}
with_hairs = carried(hairs, seconds, films["slanted hairs"])
without = carried(coulomb, seconds, films["Coulomb friction"])
print(f"In {seconds:g} s the plate carries the part {1e3 * with_hairs:.1f} mm with slanted hairs,")
print(f"and {1e3 * without:.1f} mm with Coulomb friction.")
if len(sys.argv) > 2:
    from stiction_studies.page.animation import write

    model = mujoco.MjModel.from_xml_string(MODEL)
    scene = scene_of("Conveyor", model, films, EVERY * model.opt.timestep, plain="plate", seen_from=(0.3, -1.0))
    write(scene, Path(sys.argv[2]))
