"""Results of `stiction.identify` in a model with a nominal body: it gets the identified mass properties and material.

A nominal body has the shape of the one that was identified, as drawn, and mass properties as guessed, such as those of
a uniform box.
"""

import warnings
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from stiction.basics import checks
from stiction.laws.law import Law
from stiction.laws.material import Material
from stiction.mujoco import body_fit
from stiction.mujoco.mjcf import body_number, contact_geoms, mujoco, read_by_mujoco
from stiction.mujoco.pairs import names_a_body

ALIKE = 0.1  # relative difference in shape up to which a geom is taken for the body that was identified


def is_identified(value: Any) -> bool:
    """Whether this is a result of `stiction.identify`: neither law nor material, but with one of each."""
    return not isinstance(value, Law | Material) and hasattr(value, "law") and hasattr(type(value), "material")


def with_identified(
    model: Any, spec: Any, laws: Mapping[Hashable, Any], classes: Mapping[str, set[int]], tolerance: float
) -> tuple[Any, dict[Hashable, Any]]:
    """The model and the laws to use in it, where some values of `laws` are results of `stiction.identify`.

    spec: of which the model was compiled, or None; tolerance: of `body_fit.fit`

    The material acts for every key, so that it holds against the ground and in a gripper alike; a body that has the
    identified shape also gets the identified mass properties. A pair with an impact law takes its material, too.
    """
    found: dict[Hashable, Any] = {}
    for key, value in laws.items():
        found[key] = value
        if is_identified(value):
            in_space = isinstance(value.law, Law) and not value.law.body.planar
            if in_space and names_a_body(model, key, classes):
                model = _with_identified_inertia(model, spec, key, value.law, tolerance)
            found[key] = value.material
        elif hasattr(value, "as_material") and not names_a_body(model, key, classes):
            found[key] = value.as_material()
    return model, found


def _with_identified_inertia(model: Any, spec: Any, key: Any, law: Any, tolerance: float) -> Any:
    """The model with the identified mass properties of a body, if it has the identified shape."""
    number = body_number(model, key)
    if model.body_weldid[number] == 0 or not contact_geoms(model, number):
        return model
    try:
        body_fit.fit(model, key, law.body, tolerance)
        return model  # it has them already
    except checks.InputError:
        pass
    name = model.body(number).name or number
    try:
        turn, shift, misfit = body_fit.place(model, key, law.body)
    except checks.InputError:
        misfit = np.inf  # a geom whose corners are not known
    if misfit > ALIKE * law.body.diameter:
        warnings.warn(
            f"The geoms of the body {name!r} do not have the shape that was identified: it keeps its mass properties, "
            "and the identified material acts.",
            stacklevel=3,
        )
        return model
    if spec is None and model.body_simple[number]:
        warnings.warn(
            f"The body {name!r} keeps its mass properties, because MuJoCo has compiled it with the centre of mass in "
            'the origin: for those that were identified, give an MjSpec, or compile the body with simple="false"; the '
            "identified material acts.",
            stacklevel=3,
        )
        return model
    ratio = float(model.body_mass[number]) / law.body.mass
    com, inertia = turn @ law.body.com + shift, ratio * turn @ law.body.inertia @ turn.T
    warnings.warn(
        f"The body {name!r} now has the centre of mass and inertia that were identified, the former at "
        f"{np.round(com, 5).tolist()} m; the identified material acts.",
        stacklevel=3,
    )
    return _with_mass_properties(model, spec, number, com, inertia)


def _with_mass_properties(model: Any, spec: Any, number: int, com: np.ndarray, inertia: np.ndarray) -> Any:
    """The model, changed or compiled anew, with this centre of mass [m] (3,) and inertia [kg m^2] (3, 3) of a body."""
    if spec is not None:
        body = next(body for body in spec.bodies if body.id == number)
        body.explicitinertial, body.mass, body.ipos = True, float(model.body_mass[number]), com
        body.iquat, body.fullinertia = [1.0, 0.0, 0.0, 0.0], inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        with read_by_mujoco("the model with the identified mass properties"):
            return spec.compile()
    moments, axes = np.linalg.eigh(inertia)
    axes[:, 2] *= np.linalg.det(axes)  # right-handed
    model.body_ipos[number], model.body_inertia[number] = com, moments
    mujoco.mju_mat2Quat(model.body_iquat[number], axes.ravel())
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model
