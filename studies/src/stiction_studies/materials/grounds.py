"""The ground truths of the study: six that are made of points, as a material is, and two that are not."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stiction.bodies.body import Body
from stiction.laws.material import Material
from stiction_studies.materials.brush import Brush

BOX = Body.box((0.2, 0.3, 0.4), 1.0)
TIMESTEP = 0.002  # [s] of all throws that are learned from


@dataclass(frozen=True)
class Ground:
    """A ground truth.

    name: one word; title: as shown
    truth: what `stiction.collect` can throw on
    of_points: whether it is friction at points, so that a material can express it
    """

    name: str
    title: str
    truth: Any
    of_points: bool = True


def _scales(angle: float) -> float:
    return 0.35 + 0.5 * float(np.sin(angle / 2) ** 4)


def _stribeck(v: float) -> float:
    return 0.35 + 0.45 * float(np.exp(-((v / 0.4) ** 2)))


def _pressed(load: float) -> float:
    return 0.25 + 0.5 / (1 + load / 20)


scales, stribeck = Material.of(direction=_scales), Material.of(speed=_stribeck)
GROUNDS = (
    Ground("direction", "direction", scales),
    Ground("speed", "speed (Stribeck)", stribeck),
    Ground("load", "load", Material.of(load=_pressed)),
    Ground("viscous", "Coulomb + viscous", Material.viscous(0.3, 0.8)),
    Ground(
        "direction-speed",
        "direction and speed",
        Material.of(
            direction=lambda angle: float(1 + 0.3 * np.cos(angle - 0.5) + 0.15 * np.sin(2 * angle)),
            speed=lambda v: 0.3 + 0.4 * float(np.exp(-v / 0.5)),
        ),
    ),
    Ground("load-speed", "load and speed", Material.of(load=_pressed, speed=lambda v: 1.3 - 0.5 * v / (v + 0.3))),
    Ground("creeping", "creeping ground", Brush(0.5, speed=0.02), of_points=False),
    Ground("pads", "soft pads", Brush(0.5, speed=1e-5, radius=0.015, bristles=8, holds=True), of_points=False),
)


def ground(name: str) -> Ground:
    """The ground of that name."""
    return next(one for one in GROUNDS if one.name == name)
