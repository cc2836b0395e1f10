"""What is not known of a jointed part and of its contact, and a material of the numbers that were found."""

from collections.abc import Mapping

import numpy as np

from stiction.laws.material import SPEEDS, Material
from stiction.laws.restitution import Restitution
from stiction.learning.identify.gauss_newton import Parameter
from stiction.learning.jointed.part import JointedPart

_SLIP = 0.3  # [m/s] at which `friction` is stated
_LEAST = 0.1  # share of friction that any slip and load leave
PARTS = 8  # in which an impact builds up
RESTITUTION_SPEED = 0.5  # [m/s] at which `restitution` is stated


def part_parameters(part: JointedPart, gravity: float) -> list[Parameter]:
    """Masses, shape, joints and ground of a part that someone has measured. gravity: [m/s^2] that its flights show"""
    size = part.length
    found = []
    for number, link in enumerate(part.links):
        found += [Parameter(f"{link.name}.com_{axis}", "m", 0.0, 0.03 * size, 0.003 * size) for axis in "xyz"]
        found += [Parameter(f"{link.name}.shift_{axis}", "m", 0.0, 0.01 * size, 0.003 * size) for axis in "xyz"]
        found.append(Parameter(f"{link.name}.inertia", "", 1.0, 0.2, 0.02, 0.3, 3.0))
        found += [Parameter(f"{link.name}.inertia_{axis}", "", 1.0, 0.1, 0.02, 0.6, 1.6) for axis in "yz"]
        if number:
            found.append(Parameter(f"{link.name}.mass", "", 1.0, 0.1, 0.02, 0.2, 5.0))
    # What gravity does to a whole link, over its length, is the measure of what a joint may do.
    torque = part.links[0].mass * 9.81 * size
    for name in part.joints:
        found.append(Parameter(f"{name}.damping", "N m s", 1e-3 * torque, 1e-3 * torque, 2e-4 * torque, 0.0, torque))
        found.append(Parameter(f"{name}.friction", "N m", 0.01 * torque, 0.01 * torque, 2e-3 * torque, 0.0, torque))
    return [
        *found,
        Parameter("size", "", 1.0, 0.02, 0.002, 0.8, 1.2),
        Parameter("rounding", "m", 0.02 * size, 0.02 * size, 0.004 * size, 1e-4, 0.15 * size),
        Parameter("ground", "m", 0.0, 0.005 * size, 0.002 * size),
        Parameter("gravity", "m/s^2", gravity, 0.1, 0.05, 7.0, 12.0),
    ]


def contact_parameters() -> list[Parameter]:
    """Of a material: friction, how it changes with slip and load, and how it bounces."""
    return [
        Parameter("friction", "", 0.2, 0.1, 0.01, 0.01, 2.0),
        Parameter("friction_rise", "", 0.0, 0.1, 0.03, -0.6, 1.0),
        Parameter("friction_fall", "", 0.0, 0.1, 0.03, -0.5, 0.5),
        Parameter("restitution", "", 0.35, 0.1, 0.015, 0.0, 1.0),
        Parameter("restitution_fall", "", 0.1, 0.2, 0.04, -0.5, 1.5),
        Parameter("restitution_threshold", "m/s", 0.02, 0.02, 0.006, 0.0, 0.2),
    ]


def build_material(values: Mapping[str, float]) -> Material:
    """The material with numbers as fitted.

    friction: coefficient of a slip of 0.3 m/s under 10 N; it grows by the share friction_rise with each factor of ten
    in slip, and falls with the power friction_fall of the load
    restitution: at 0.5 m/s, threshold and all
    """
    more = {}
    if rise := values.get("friction_rise", 0.0):
        more["speed"] = lambda v: np.maximum(1 + rise * np.log10(np.clip(v, 0.02, 10.0) / _SLIP), _LEAST)
    if fall := values.get("friction_fall", 0.0):
        more["load"] = lambda n: (np.clip(n, 0.1, 1e4) / 10.0) ** -fall
    threshold = values.get("restitution_threshold", 0.0)
    kept = 1 - threshold / RESTITUTION_SPEED
    e0 = min(1.0, max(0.0, values.get("restitution", 0.0)) / kept)
    bounce = Restitution(e0, values.get("restitution_fall", 0.0), threshold)
    return Material.of(values["friction"], restitution=bounce, parts=PARTS, **more)


assert SPEEDS[0] < 0.02  # the curve covers the slips at which it is held
