"""The ground truths of the study of materials, six with friction at points, as a material has, and two without; and the
bodies and time steps on which materials are used."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stiction.bodies.body import Body
from stiction.laws.material import Material
from stiction_studies.materials.brush import Brush

BOX = Body.box((0.2, 0.3, 0.4), 1.0)
TIMESTEP = 0.002  # [s] of all training throws


@dataclass(frozen=True)
class Ground:
    """A ground truth.

    name: one word; title: as shown
    truth: a ground truth for `stiction.collect`
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


@dataclass(frozen=True)
class Setup:
    """A body and a time step [s] for throws of 1.6 s, with a title to be shown."""

    title: str
    body: Body
    timestep: float = TIMESTEP

    @property
    def steps(self) -> int:
        """Time steps of a throw."""
        return round(1.6 / self.timestep)


def stone(vertices: int = 200, seed: int = 5) -> Body:
    """A stone of 1 kg: the convex hull of random points on an ellipsoid, with the inertia of the ellipsoid."""
    mass, axes = 1.0, np.array([0.15, 0.12, 0.1])
    points = np.random.default_rng(seed).normal(size=(vertices, 3))
    points *= axes / np.linalg.norm(points, axis=1, keepdims=True)
    inertia = 0.2 * mass * np.diag((axes**2).sum() - axes**2)
    return Body.hull_of(points, mass, com=np.zeros(3), inertia=inertia)


def with_mass(body: Body, mass: float) -> Body:
    """The same body with another mass [kg], its inertia in proportion."""
    return replace(body, mass=mass, inertia=body.inertia * (mass / body.mass))


HOME = Setup("box, 1 kg, 2 ms", BOX)  # of the training throws
LONG = Setup("long box", Body.box((0.1, 0.1, 0.5), 1.0))
PRISM = Setup("pentagon prism", Body.prism(5, 0.2, 0.2, 1.0))
ELSEWHERE = (
    LONG,
    PRISM,
    Setup("stone, 200 vertices", stone()),
    Setup("box, 0.2 kg", with_mass(BOX, 0.2)),
    Setup("box, 5 kg", with_mass(BOX, 5.0)),
    Setup("box, h = 1 ms", BOX, 0.001),
    Setup("box, h = 5 ms", BOX, 0.005),
)
