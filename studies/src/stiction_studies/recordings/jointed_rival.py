"""MuJoCo, Bullet and DART with their own contact on a jointed part: what one fitter needs to fit each of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from stiction.fit.gauss_newton import Parameter
from stiction.fit.jointed_fit import Build
from stiction.fit.jointed_part import JointedPart
from stiction.fit.jointed_starts import SUBSTEPS, Roll, roll_plainly
from stiction.mujoco.mjcf import mujoco
from stiction_studies.engines.linked import Contact

_FRICTION = Parameter("friction", "", 0.2, 0.1, 0.01, 0.01, 2.0)
_BOUNCE = Parameter("restitution", "", 0.35, 0.1, 0.015, 0.0, 1.0)
MUJOCO_CONTACT = (
    Parameter("friction", "", 0.25, 0.1, 0.01, 0.01, 2.0),
    Parameter("torsion", "m", 0.002, 0.005, 0.0005, 1e-5, 0.1),
    Parameter("time_constant", "s", 0.004, 0.003, 0.0003, 0.0018, 0.1),
    Parameter("damping_ratio", "", 0.6, 0.3, 0.03, 0.05, 2.0),
    Parameter("impedance", "", 0.9, 0.1, 0.02, 0.1, 0.99),
    Parameter("impedance_width", "m", 0.001, 0.002, 0.0003, 1e-5, 0.02),
)


@dataclass(frozen=True)
class JointedRival:
    """A simulator: its package, the contact parameters that it offers, and how it moves a part with them."""

    name: str
    package: str
    contact: tuple[Parameter, ...]
    on: Callable[[JointedPart], Build]


def with_mujoco_contact(part: JointedPart) -> Build:
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


def _in(module: str) -> Callable[[JointedPart], Build]:
    """Contact and motion by a simulator that takes the links of the part: a module of stiction_studies.engines."""

    def on(part: JointedPart) -> Build:
        motions = import_module(f"stiction_studies.engines.{module}").motions

        def build(values: Mapping[str, float], timestep: float) -> tuple[Any, Roll]:
            contact = Contact(values["friction"], values["restitution"], values.get("spinning", 0.0))
            return part.model(values, timestep), lambda model, states, n: motions(model, states, n, SUBSTEPS, contact)

        return build

    return on


RIVALS = (
    JointedRival("MuJoCo", "mujoco", MUJOCO_CONTACT, with_mujoco_contact),
    JointedRival(
        "Bullet",
        "pybullet",
        (_FRICTION, _BOUNCE, Parameter("spinning", "m", 0.002, 0.005, 0.0005, 0.0, 0.1)),
        _in("bullet_linked"),
    ),
    JointedRival("DART", "dartpy", (_FRICTION, _BOUNCE), _in("dart_linked")),
)


def available() -> list[JointedRival]:
    """The simulators that are installed."""
    return [rival for rival in RIVALS if find_spec(rival.package) is not None]
