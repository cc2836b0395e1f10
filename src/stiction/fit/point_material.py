"""The material of an identified body, for contact points in MuJoCo: converted from its law, then fitted to its tosses.

An impact law acts on a whole patch, a material at each contact point. The conversion (`ImpactLaw.as_material`) ignores
this difference; a fit of a few factors, with the found body in MuJoCo, makes up for some of it. Friction in slides is
no such factor: the law's own, which slides have measured, holds for a body on the points of a face.
"""

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.bodies.rotations import angles_in_plane, turns_in_plane
from stiction.bodies.state import State
from stiction.fit.forecast import TossErrors, law_errors, toss_errors
from stiction.fit.gauss_newton import Parameter, named
from stiction.fit.toss_objective import Motions, Stage, TossModel, Values, fit, horizon, width_of
from stiction.laws.impact import SLIP_SPEED, ImpactLaw
from stiction.laws.material import Material
from stiction.recordings.tosses import Tosses

# Factors of parameters of the law, such as friction_load: the load of a point is less than that of a patch.
FACTORS = (
    Parameter("friction_loaded", "", 1.0, 0.1, 0.02, 0.5, 2.0),
    Parameter("friction_load", "", 1.0, 0.5, 0.1, 0.1, 10.0),
    Parameter("restitution", "", 1.0, 0.1, 0.03, 0.5, 1.5),
    Parameter("restitution_threshold", "", 1.0, 0.5, 0.1, 0.1, 5.0),
)
STAGES = (Stage((25, None), 20.0, 3, 64),)  # the last stage of the law's own fit, with fewer tosses
# Where the factor of friction_load may start: an impact on a corner acts at one point, on an edge at two, on a face at
# four; the corners of a planar body are edges in MuJoCo.
LOAD_STARTS = (1.0, 0.5, 0.25)
FACE_POINTS = 4  # that carry a body which slides
MAX_COMPARED = 200  # tosses on which the fitted factors must do better than none


def body_states(body: Body, states: State) -> NDArray[np.float64]:
    """Return qpos and qvel of the body in the model that `to_mjcf` writes, (n, nq + nv)."""
    if body.planar:
        places = [states.position[:, [0, 2]], -angles_in_plane(states.quaternion)[:, np.newaxis]]
        return np.hstack([*places, states.velocity[:, [0, 2]], states.angular_velocity[:, 1:2]])
    spin = Rotation.from_quat(states.quaternion, scalar_first=True).inv().apply(states.angular_velocity)
    return np.hstack([states.position, states.quaternion, states.velocity, spin])


def body_motions(body: Body, motions: list[NDArray[np.float64]]) -> Motions:
    """Return position and quaternion at each frame, from qpos."""
    if body.planar:
        return [(np.insert(rows[:, :2], 1, 0.0, axis=1), turns_in_plane(-rows[:, 2])) for rows in motions]
    return [(rows[:, :3], rows[:, 3:]) for rows in motions]


def body_model(law: ImpactLaw) -> TossModel[Tosses, Motions]:
    """Return the model of the law's body in MuJoCo with a material; its parameters are the FACTORS."""
    from stiction.fit.jointed_starts import frames_of, roll_with

    scene = body_scene(law)

    def predict(values: Values, tosses: Tosses, steps: NDArray[np.int64]) -> Motions:
        roll = roll_with(adjusted(law, values), ("body",))
        states = body_states(law.body, tosses.states(law.body, law.gravity, law.drag))
        return body_motions(law.body, frames_of(roll, scene, states, steps))

    return TossModel(predict, width_of(law.body), stages=STAGES)


def body_scene(law: ImpactLaw) -> Any:
    """Return the law's body above its ground as an MjModel, with a time step that resolves impacts."""
    from stiction.fit.jointed_starts import SUBSTEPS
    from stiction.mujoco.mjcf import mujoco, to_mjcf

    scene = mujoco.MjModel.from_xml_string(to_mjcf(law))
    scene.opt.timestep = law.timestep / SUBSTEPS
    return scene


def adjusted(law: ImpactLaw, factors: Mapping[str, float]) -> Material:
    """Return the material of the law with some of its parameters multiplied by factors, and the same sliding friction.

    A body that slides under its weight on FACE_POINTS points has the law's friction.
    """
    changes = {name: getattr(law.material, name) * factor for name, factor in factors.items()}
    if "restitution" in changes:
        changes["restitution"] = min(1.0, changes["restitution"])
    weight = law.body.mass * float(np.linalg.norm(law.gravity))
    sliding, at_points = float(law.friction_at(SLIP_SPEED, weight)), weight / FACE_POINTS
    plain = replace(law, point_material=None)
    for _ in range(2):  # a residual may depend on the load, too
        found = plain.with_material(**changes)
        m, now = found.material, float(found.friction_at(SLIP_SPEED, at_points))
        # The coefficient without load by which the coefficient under this load is the wanted one.
        missing = (sliding / max(now, 1e-9) - 1) * float(m.friction_at(SLIP_SPEED, at_points))
        changes["friction"] = max(0.0, m.friction + missing * (1 + at_points / m.friction_load))
    return plain.with_material(**changes).as_material()


def fit_material(law: ImpactLaw, tosses: Tosses, held_out: Tosses | None) -> tuple[Material, dict[str, Any]]:
    """Return the material of the law's contact, and what is known about it.

    tosses: to fit; held_out: on which the loss of accuracy is measured, by default the fitted ones

    The figures are the `factors` of the parameters, mean errors of the `law` and of the `material` in MuJoCo, and their
    relative difference, `loss`: position [% of the width], rotation [degrees].
    """
    if find_spec("mujoco") is None:
        about = "converted from the law; " + needs("A fit of it to the tosses", "mujoco")
        return law.as_material().with_info(source=about), {"source": about}
    # Few tosses may mislead the fit: motions after several impacts are a matter of chance.
    some, model = tosses[range(min(len(tosses), MAX_COMPARED))], body_model(law)
    tried = {start: _total(model, {"friction_load": start}, some) for start in LOAD_STARTS}
    start = min(tried, key=lambda start: tried[start])
    parameters = [replace(p, start=start) if p.name == "friction_load" else p for p in FACTORS]
    parameters = [p for p in parameters if law.bounces or not p.name.startswith("restitution")]
    factors = named(parameters, fit(model, parameters, tosses, errors=False).values)
    source = "converted from the law, and fitted to its tosses in MuJoCo"
    if _total(model, factors, some) >= tried[start]:
        factors = {p.name: p.start for p in parameters}
        source = "converted from the law; a fit to its tosses did no better"
    seen = tosses if held_out is None else held_out
    own, its = law_errors(law, seen, model.width).means(), model_errors(model, factors, seen).means()
    figures = {
        "source": source,
        "factors": factors,
        "tosses": len(seen),
        "held_out": held_out is not None,
        "law": own,
        "material": its,
        "loss": {name: its[name] / max(own[name], 1e-9) - 1 for name in ("position", "rotation")},
    }
    return adjusted(law, factors).with_info(**figures), figures


def _total(model: TossModel[Tosses, Motions], values: Values, tosses: Tosses) -> float:
    """Return the sum of the mean errors, in percent of the width and in degrees."""
    found = model_errors(model, values, tosses).means()
    return found["position"] + found["rotation"]


def model_errors(model: TossModel[Tosses, Motions], values: Values, tosses: Tosses) -> TossErrors:
    """Return the errors of a model's forecasts of whole tosses."""
    return toss_errors(tosses, model.predict(values, tosses, horizon(tosses, (None,))), model.width)
