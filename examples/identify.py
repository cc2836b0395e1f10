"""From a tracker's take to a grasp: a part is imported, identified, judged and forecast, and a gripper lifts it.

    python examples/identify.py [TAKE PART MASS NAME]

TAKE: a file as a tracker exports it; PART: a mesh of the part [m]; MASS: [kg]; NAME: of the part in the take. Without
them, MuJoCo throws a part with an off-centre mass, and its motion is written as OptiTrack Motive exports it, so that
the result can be compared with the truth.
"""

import sys
from pathlib import Path

import mujoco
import numpy as np

import stiction
from stiction_studies.recordings import example_take, truths

GRIPPER = """
<mujoco>
  <option timestep="0.002"/>
  <asset><mesh name="part" file="part.obj"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 0.1"/>
    <body name="part" pos="0 0 0.1" euler="0 90 0"><freejoint/><geom type="mesh" mesh="part" mass="0.3"/></body>
    <body name="hand" pos="0 0 0.2">
      <joint name="lift" type="slide" axis="0 0 1"/>
      <geom type="box" size="0.07 0.02 0.01" mass="0.3"/>
      <body pos="-0.035 0 -0.1">
        <joint name="left" type="slide" axis="1 0 0" damping="5"/>
        <geom type="box" size="0.005 0.03 0.06" mass="0.05"/>
      </body>
      <body pos="0.035 0 -0.1">
        <joint name="right" type="slide" axis="-1 0 0" damping="5"/>
        <geom type="box" size="0.005 0.03 0.06" mass="0.05"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position joint="lift" kp="2000" kv="100"/><motor joint="left"/><motor joint="right"/>
  </actuator>
</mujoco>"""


def height_in_hand(material: stiction.Material, part: Path, force: float, seconds: float = 2.0) -> float:
    """How far the part has moved down between the fingers, which press with `force` [N], while it was lifted [m]."""
    model = mujoco.MjModel.from_xml_string(GRIPPER, {"part.obj": part.read_bytes()})
    sim = stiction.mujoco.Simulation(model, laws={"part": material})
    before = sim.data.qpos[2] - sim.data.qpos[7]
    while sim.data.time < seconds:
        sim.data.ctrl[:] = 0.1 * np.clip(sim.data.time - 0.5, 0, 1), force, force
        sim.step()
    return before - (sim.data.qpos[2] - sim.data.qpos[7])


if len(sys.argv) > 1:
    path, drawn, mass, name = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
else:
    take = example_take.write_take("build/recording")
    path, drawn, mass, name = take.path, take.part, truths.MASS, example_take.OBJECT

recordings = stiction.recordings.read(path, stiction.Body.mesh(drawn, mass), name=name)
print(recordings)
print("\n".join(f"- {line}" for line in recordings.report))
found = stiction.identify(recordings, progress=False)
print(found)

verdict = found.figures["verdict"]
if len(sys.argv) == 1:
    part = example_take.PART
    true = {"friction_sliding": truths.friction(part), "restitution": truths.restitution(part)}
    for what, value in true.items():
        print(f"{what}: found {verdict[what]['value']:.3f} +- {verdict[what]['error']:.3f}, true {value:.3f}")

toss = recordings[5]
run = toss.forecast(found.law)
away = np.linalg.norm(toss.at_frames(run).position - toss.position, axis=1)
off = f"{1e3 * away.mean():.2f} mm on average, {1e3 * away[-1]:.2f} mm at the end"
print(f"{toss}: the forecast from its flight is off by {off}")

if len(sys.argv) == 1:
    friction = verdict["friction_sliding"]["value"]
    least = mass * 9.81 / (2 * friction)  # [N], with which two fingers carry the weight
    for share in (1.5, 0.7):
        down = height_in_hand(found.material, drawn, share * least)
        print(f"gripped with {share:g} of {least:.1f} N, the part slips {1e3 * down:.2g} mm")
