"""Where a material is used: the box that it was learned on, and bodies and time steps that it has never seen."""

from dataclasses import dataclass, replace

import numpy as np

from stiction.bodies.body import Body
from stiction_studies.materials.grounds import BOX, TIMESTEP

DURATION = 1.6  # [s] of a throw


@dataclass(frozen=True)
class Place:
    """A body and a time step [s], with a title to be shown."""

    title: str
    body: Body
    timestep: float = TIMESTEP

    @property
    def steps(self) -> int:
        """Steps of a throw."""
        return round(DURATION / self.timestep)


def stone(vertices: int = 200, seed: int = 5) -> Body:
    """A stone of 1 kg with so many corners, drawn on an ellipsoid: the hull of random points."""
    mass, axes = 1.0, np.array([0.15, 0.12, 0.1])
    points = np.random.default_rng(seed).normal(size=(vertices, 3))
    points *= axes / np.linalg.norm(points, axis=1, keepdims=True)
    inertia = 0.2 * mass * np.diag((axes**2).sum() - axes**2)  # of the ellipsoid
    return Body.hull_of(points, mass, com=np.zeros(3), inertia=inertia)


def heavier(body: Body, mass: float) -> Body:
    """The same body with another mass [kg], its inertia in proportion."""
    return replace(body, mass=mass, inertia=body.inertia * (mass / body.mass))


HOME = Place("box, 1 kg, 2 ms", BOX)
LONG = Place("long box", Body.box((0.1, 0.1, 0.5), 1.0))
PRISM = Place("pentagon prism", Body.prism(5, 0.2, 0.2, 1.0))
ELSEWHERE = (
    LONG,
    PRISM,
    Place("stone, 200 vertices", stone()),
    Place("box, 0.2 kg", heavier(BOX, 0.2)),
    Place("box, 5 kg", heavier(BOX, 5.0)),
    Place("box, h = 1 ms", BOX, 0.001),
    Place("box, h = 5 ms", BOX, 0.005),
)
