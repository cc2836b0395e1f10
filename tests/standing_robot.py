"""The quadruped of the viewer in MuJoCo, for tests of robots that stand and walk."""

import mujoco

from stiction.mujoco import Simulation
from stiction.viewer.quadruped import FEET, STANCE, Gait, model_text, targets

__all__ = ["FEET", "MODEL", "STANCE", "joint_targets", "standing"]

MODEL = model_text()  # MJCF


def joint_targets(time: float = 0.0, strength: float = 0.0):
    """Angles of the twelve joints [rad]; strength: from 0, standing, to 1, the full gait."""
    return targets(time, Gait(), strength)


def standing(laws, height: float = 0.05, text: str = MODEL, **options) -> Simulation:
    """The quadruped with `laws`, as it stands but `height` higher [m]."""
    sim = Simulation(mujoco.MjModel.from_xml_string(text), laws=laws, **options)
    sim.data.qpos[7:] = sim.data.ctrl[:] = joint_targets()
    sim.data.qpos[2] = STANCE + height
    return sim
