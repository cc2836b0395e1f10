"""MuJoCo with contact laws: `stiction.mujoco.Simulation`, `stiction.mujoco.rollout`, `stiction.mujoco.to_mjcf`.

    ground = '<geom type="plane" size="1 1 1"/>'
    ball = '<body name="ball" pos="0 0 0.1"><freejoint/><geom size="0.1"/></body>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{ground}{ball}</worldbody></mujoco>")
    sim = stiction.mujoco.Simulation(model, laws={"ball": stiction.Material.coulomb(0.6)})
    sim.step(100)
    print(sim.contacts["ball"])

Needs the extra `mujoco`.
"""

from importlib.util import find_spec

from stiction.basics.environment import needs

if find_spec("mujoco") is None:
    raise ImportError(needs("stiction.mujoco", "mujoco"))

from stiction.laws.modelfile import shipped_model
from stiction.mujoco.contact_reports import BodyContact, PairContact
from stiction.mujoco.mjcf import body_of, to_mjcf
from stiction.mujoco.report import RunReport
from stiction.mujoco.rollouts import rollout
from stiction.mujoco.simulation import Simulation

__all__ = ["BodyContact", "PairContact", "RunReport", "Simulation", "body_of", "rollout", "shipped_model", "to_mjcf"]
