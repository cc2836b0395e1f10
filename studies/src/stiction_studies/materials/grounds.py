"""The ground truths of the study of materials: eight that are studied in full, others that users may have, of which a
material expresses some; and the bodies and time steps on which materials are used."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.laws.material import Material
from stiction_studies.materials.brush import Brush
from stiction_studies.materials.corners import Corners, Slip

BOX = Body.box((0.2, 0.3, 0.4), 1.0)
TIMESTEP = 0.002  # [s] of all training throws


@dataclass(frozen=True)
class Ground:
    """A ground truth.

    name: one word; title: as shown
    truth: a ground truth for `stiction.collect`
    of_points: whether it is friction at points, hard or soft, so that a material can express it
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


def _constant(slip: Slip) -> NDArray[np.float64]:
    return np.full(len(slip.load), 0.4)


def _grain(slip: Slip) -> NDArray[np.float64]:
    """Smooth along the body's x axis, rough across it, on every side of the body."""
    along = (slip.rotation[:, :2, 0] * slip.direction).sum(axis=1)
    return 0.7 - 0.5 * along**2


def _ratchet(slip: Slip) -> NDArray[np.float64]:
    """Teeth: easy forward, hard backward, with a sharp edge at 60 degrees from the way back."""
    return 0.3 + 0.5 / (1 + np.exp(-(-slip.direction[:, 0] - 0.5) / 0.05))


def _patches(slip: Slip) -> NDArray[np.float64]:
    return 0.4 + 0.25 * np.sin(4 * slip.place[:, 0]) * np.sin(4 * slip.place[:, 1])


def _rate_and_state(slip: Slip) -> NDArray[np.float64]:
    v0, way = 0.1, 0.005
    return 0.4 + 0.03 * np.log(slip.speed / v0 + 0.1) + 0.05 * np.log(np.maximum(slip.age, 1e-9) * v0 / way)


def _falling_bounce(speed: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(speed > 0.05, 0.6 / (1 + speed), 0.0)


# Learned from 100 throws of the box. `of_points`: a material expresses it; the others are to be reported.
OTHERS = (
    Ground("hertz", "load (Hertz)", Material.of(load=lambda n: 0.8 * (n / 2) ** (-1 / 3))),
    Ground("strong-stribeck", "strong Stribeck", Material.stribeck(0.9, 0.2, speed=0.3)),
    Ground("body-axes", "scales along the body's x axis", Material.directional(0.25, 0.4, 0.8, axes="body")),
    Ground("grain", "grain along the body's x axis", Corners(_grain)),
    Ground("ratchet", "sharp ratchet", Corners(_ratchet)),
    Ground("bounce", "bounce that falls with speed", Corners(_constant, restitution=_falling_bounce)),
    Ground("rate-state", "rate and state", Corners(_rate_and_state, forgetting=0.005), of_points=False),
    Ground(
        "rubber", "rubber, tangential rebound",
        Corners(_constant, restitution=lambda v: np.where(v > 0.05, 0.5, 0.0), tangential=0.5), of_points=False,
    ),
    Ground("skew", "friction skewed by 20 degrees", Corners(_constant, skew=np.radians(20)), of_points=False),
    Ground("patchy", "patchy floor", Corners(_patches), of_points=False),
    Ground("rolling", "rolling resistance", Corners(_constant, rolling=0.01)),
    Ground("fingertip", "soft fingertip, torsion", Corners(_constant, spinning=0.02)),
    Ground("presliding", "presliding (Dahl)", Corners(_constant, bristle=0.001), of_points=False),
    Ground("adhesion", "adhesion", Corners(_constant, adhesion=2.0), of_points=False),
)  # fmt: skip


def ground(name: str) -> Ground:
    """The ground of that name."""
    return next(one for one in (*GROUNDS, *OTHERS) if one.name == name)


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
