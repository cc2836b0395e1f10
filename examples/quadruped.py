"""A quadruped with learned feet stands, trots and stands again, for a minute.

python examples/quadruped.py [SECONDS]
"""

import sys

import mujoco

import stiction
from stiction.viewer.quadruped import FEET, STANCE, Gait, model_text, strength_at, targets

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
foot = stiction.load("foot")  # learned from throws of a foot alone
sim = stiction.mujoco.Simulation(mujoco.MjModel.from_xml_string(model_text()), laws={name: foot for name in FEET})

gait = Gait()
sim.data.qpos[7:] = targets(0.0, gait, 0.0)
sim.data.qpos[2] = STANCE + 0.05
stand = seconds / 6
while sim.data.time < seconds:
    now = sim.data.time
    sim.data.ctrl[:] = targets(now, gait, strength_at(now, stand, seconds - 2 * stand))
    sim.step()
    if sim.steps % 2500 == 0:
        x, _y, z = sim.data.qpos[:3]
        feet = ", ".join(f"{name.removesuffix('_foot')} {sim.contacts[name].mode.name.lower()}" for name in FEET)
        print(f"{sim.data.time:5.1f} s  x {x:6.3f} m  height {z:.3f} m  {feet}")

for name in FEET:
    contact = sim.contacts[name]
    evaluations = contact.total_evaluations / max(1, contact.steps)
    print(
        f"{name}: {contact.steps:,} steps in contact, {evaluations:.1f} evaluations each, "
        f"{contact.unsolved} unsolved, {contact.outside} outside of the training range"
    )
