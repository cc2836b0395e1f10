"""A plate that shakes back and forth carries a part one way if friction depends on the direction of slip.

    python examples/conveyor.py [SECONDS [ANIMATION.webp]]   # an animation needs stiction-studies

The part has a fur of slanted hairs: it slips easily forward and hardly backward (`Material.directional`). With Coulomb
friction the same plate only shakes it.
"""

import sys
from pathlib import Path

import mujoco
import numpy as np

import stiction

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


def carry(material: stiction.Material, seconds: float) -> tuple[float, np.ndarray]:
    """Distance of the part along the plate [m], and the frames of an animation (n, nq)."""
    frames = []
    sim = stiction.mujoco.Simulation(mujoco.MjModel.from_xml_string(MODEL), laws={"part": material})
    while sim.data.time < seconds:
        ramp = min(1.0, sim.data.time)  # over a second, or the first push would throw the part off
        sim.data.ctrl[0] = ramp * AMPLITUDE * np.sin(2 * np.pi * FREQUENCY * sim.data.time)
        sim.step()
        if sim.steps % EVERY == 0:
            frames.append(sim.data.qpos.copy())
    return float(sim.data.qpos[1] - sim.data.qpos[0]), np.array(frames)


seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
hairs = stiction.Material.directional(forward=0.15, sideways=0.4, backward=0.6)
coulomb = stiction.Material.coulomb(0.15)
with_hairs, hairs_film = carry(hairs, seconds)
without, coulomb_film = carry(coulomb, seconds)
print(f"In {seconds:g} s the plate carries the part {1e3 * with_hairs:.1f} mm with slanted hairs,")
print(f"and {1e3 * without:.1f} mm with Coulomb friction.")
if len(sys.argv) > 2:
    from stiction_studies.page.animation import write
    from stiction_studies.page.motions_shown import poses_of, scene_of

    model = mujoco.MjModel.from_xml_string(MODEL)
    runs = {"Coulomb friction": poses_of(model, coulomb_film), "slanted hairs": poses_of(model, hairs_film)}
    scene = scene_of("Conveyor", model, runs, EVERY * model.opt.timestep, plain="plate", seen_from=(0.3, -1.0))
    write(scene, Path(sys.argv[2]))
