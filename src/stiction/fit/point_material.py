"""The material of an identified body, for contact points in MuJoCo: converted from its law, then fitted to its tosses.

An impact law acts on a whole patch, a material at each contact point. The conversion (`ImpactLaw.as_material`) ignores
this difference; a fit of a few factors, with the found body in MuJoCo, makes up for some of it. Friction that depends
strongly on the load of an impact may not be solvable at points: constant friction is tried as well.
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
from stiction.laws.impact import ImpactLaw
from stiction.laws.material import Material
from stiction.recordings.tosses import Tosses

# Factors of parameters of the law, such as friction_load: the load of a point is less than that of a patch.
FACTORS = (
    Parameter("friction", "", 1.0, 0.1, 0.02, 0.5, 2.0),
    Parameter("friction_loaded", "", 1.0, 0.1, 0.02, 0.5, 2.0),
    Parameter("friction_load", "", 1.0, 0.5, 0.1, 0.1, 10.0),
    Parameter("restitution", "", 1.0, 0.1, 0.03, 0.5, 1.5),
    Parameter("restitution_threshold", "", 1.0, 0.5, 0.1, 0.1, 5.0),
)
STAGES = (Stage((25, None), 20.0, 3, 64),)  # the last stage of the law's own fit, with fewer tosses
# Friction depends on the load, or is that under a constant load, in multiples of the body's weight.
LOADS = (None, 10.0, 100.0)
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


def body_model(law: ImpactLaw, load: float | None = None) -> TossModel[Tosses, Motions]:
    """Return the model of the law's body in MuJoCo with a material; its parameters are the FACTORS. load: see LOADS"""
    from stiction.fit.jointed_starts import frames_of, roll_with

    scene = body_scene(law)

    def predict(values: Values, tosses: Tosses, steps: NDArray[np.int64]) -> Motions:
        roll = roll_with(adjusted(law, values, load), ("body",))
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


def adjusted(law: ImpactLaw, factors: Mapping[str, float], load: float | None = None) -> Material:
    """Return the material of the law with some of its parameters multiplied by factors. load: see LOADS"""
    changes = {name: getattr(law.material, name) * factor for name, factor in factors.items()}
    if "restitution" in changes:
        changes["restitution"] = min(1.0, changes["restitution"])
    found = replace(law, point_material=None).with_material(**changes).as_material()
    if load is None:
        return found
    force = load * law.body.mass * float(np.linalg.norm(law.gravity))
    factor = 1.0 if found.load is None else float(np.exp(found.load(force)))
    return replace(found, scale=found.scale * factor, load=None)


def fit_material(law: ImpactLaw, tosses: Tosses, held_out: Tosses | None) -> tuple[Material, dict[str, Any]]:
    """Return the material of the law's contact, and what is known about it.

    tosses: to fit; held_out: on which the loss of accuracy is measured, by default the fitted ones

    The figures are the `factors` of the parameters, the `load` (see LOADS), mean errors of the `law` and of the
    `material` in MuJoCo, and their relative difference, `loss`: position [% of the width], rotation [degrees].
    """
    if find_spec("mujoco") is None:
        about = "converted from the law; " + needs("A fit of it to the tosses", "mujoco")
        return law.as_material().with_info(source=about), {"source": about}
    # Few tosses may mislead the fit: motions after several impacts are a matter of chance.
    some = tosses[range(min(len(tosses), MAX_COMPARED))]
    tried = {load: _total(body_model(law, load), {}, some) for load in LOADS}
    load = min(tried, key=lambda load: tried[load])
    parameters = [p for p in FACTORS if _matters(p.name, law, load)]
    model = body_model(law, load)
    factors = named(parameters, fit(model, parameters, tosses, errors=False).values)
    source = "converted from the law, and fitted to its tosses in MuJoCo"
    if _total(model, factors, some) > tried[load]:
        factors, source = dict.fromkeys(factors, 1.0), "converted from the law; a fit to its tosses did no better"
    seen = tosses if held_out is None else held_out
    own, its = law_errors(law, seen, model.width).means(), model_errors(model, factors, seen).means()
    figures = {
        "source": source,
        "factors": factors,
        "load": load,
        "tosses": len(seen),
        "held_out": held_out is not None,
        "law": own,
        "material": its,
        "loss": {name: its[name] / max(own[name], 1e-9) - 1 for name in ("position", "rotation")},
    }
    return adjusted(law, factors, load).with_info(**figures), figures


def _matters(name: str, law: ImpactLaw, load: float | None) -> bool:
    """Return whether a factor has an effect."""
    if name.startswith("restitution"):
        return law.bounces
    return load is None or name in ("friction", "friction_loaded")


def _total(model: TossModel[Tosses, Motions], values: Values, tosses: Tosses) -> float:
    """Return the sum of the mean errors, in percent of the width and in degrees."""
    found = model_errors(model, values, tosses).means()
    return found["position"] + found["rotation"]


def model_errors(model: TossModel[Tosses, Motions], values: Values, tosses: Tosses) -> TossErrors:
    """Return the errors of a model's forecasts of whole tosses."""
    return toss_errors(tosses, model.predict(values, tosses, horizon(tosses, (None,))), model.width)
