"""MuJoCo's own contact on a jointed part, fitted to the same recordings by the same fitter."""

from collections.abc import Mapping
from typing import Any

from stiction.learning.identify.gauss_newton import Parameter
from stiction.learning.jointed.fit import Build
from stiction.learning.jointed.part import JointedPart
from stiction.learning.jointed.rolling import Roll, roll_plainly
from stiction.robots.mjcf import mujoco


def rival_parameters() -> list[Parameter]:
    """Contact parameters that MuJoCo offers: sliding and torsional friction, solref, solimp."""
    return [
        Parameter("friction", "", 0.25, 0.1, 0.01, 0.01, 2.0),
        Parameter("torsion", "m", 0.002, 0.005, 0.0005, 1e-5, 0.1),
        Parameter("time_constant", "s", 0.004, 0.003, 0.0003, 0.0018, 0.1),
        Parameter("damping_ratio", "", 0.6, 0.3, 0.03, 0.05, 2.0),
        Parameter("impedance", "", 0.9, 0.1, 0.02, 0.1, 0.99),
        Parameter("impedance_width", "m", 0.001, 0.002, 0.0003, 1e-5, 0.02),
    ]


def with_own_contact(part: JointedPart) -> Build:
    """Contact as MuJoCo has it, with elliptic cones."""

    def build(values: Mapping[str, float], timestep: float) -> tuple[Any, Roll]:
        spec = part.spec(values, timestep)
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        for geom in [geom for body in spec.bodies for geom in body.geoms]:
            geom.friction = [values["friction"], values["torsion"], 1e-4]
            geom.condim = 4
            geom.solref = [values["time_constant"], values["damping_ratio"]]
            geom.solimp = [values["impedance"], max(0.95, values["impedance"]), values["impedance_width"], 0.5, 2.0]
        return spec.compile(), roll_plainly

    return build
