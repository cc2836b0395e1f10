"""A material as a model file holds it: a description and tensors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.laws.curves import Curve
from stiction.laws.material import Material
from stiction.laws.restitution import Restitution

KIND = "material"
_CURVES = ("speed", "load")
_PLAIN = ("scale", "stretch", "viscosity", "cone", "limit", "axes")


def to_parts(material: Material) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """Description and tensors of a material."""
    bounce = material.restitution
    description: dict[str, Any] = {name: getattr(material, name) for name in _PLAIN}
    description |= {
        "kind": KIND,
        "restitution": [bounce.e0, bounce.fall, bounce.threshold],
        "parts": material.parts,
        "curves": {},
        "info": material.info,
    }
    tensors = {"cosines": material.cosines, "sines": material.sines}
    for name in _CURVES:
        curve: Curve | None = getattr(material, name)
        if curve is not None:
            description["curves"][name] = curve_to_parts(curve)
            tensors[name] = np.array(curve.coefficients)
    if material.covariance is not None:
        tensors["covariance"] = material.covariance
    return description, tensors


def curve_to_parts(curve: Curve) -> dict[str, Any]:
    """Description of a curve, whose coefficients are a tensor."""
    return {"begin": curve.begin, "step": curve.step, "seen": list(curve.seen)}


def curve_from_parts(description: dict[str, Any], coefficients: NDArray[Any]) -> Curve:
    """The curve with this description and these coefficients."""
    return Curve(description["begin"], description["step"], coefficients, tuple(description["seen"]))


def from_parts(description: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Material:
    """The material that `to_parts` described; whatever does not fit together is refused."""
    parts = {name: description.pop(name) for name in _PLAIN}
    curves = description.pop("curves")
    if set(curves) - set(_CURVES) or set(tensors) - {"cosines", "sines", "covariance", *curves}:
        raise checks.InputError(
            "A material has curves of speed and load, cosines, sines and a covariance, nothing else."
        )
    for name, of in curves.items():
        parts[name] = curve_from_parts(of, tensors[name])
    parts["restitution"] = Restitution(*description.pop("restitution"))
    parts["parts"] = description.pop("parts", 1)  # files of earlier versions know of none
    info = description.pop("info")
    if description or not isinstance(info, dict):
        raise checks.InputError(f"A material is not described by {', '.join(description) or 'such an info'}.")
    return Material(
        cosines=tensors["cosines"], sines=tensors["sines"], covariance=tensors.get("covariance"), info=info, **parts
    )
