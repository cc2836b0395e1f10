"""Adversarial laws and extreme bodies."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from stiction import AugmentedLaw, Body, CoulombLaw, Law, Material, Mode
from stiction.laws.approximators import Network
from stiction.laws.curves import Curve, Restitution
from stiction.laws.material_law import MaterialLaw


class RandomLaw(Law):
    """Random modes, random friction of any size and direction, sometimes NaN.

    numbers: of the friction: 3, or 5 with torques (m_x, m_y) that no friction can have
    """

    def __init__(self, body: Body, seed: int, numbers: int = 3) -> None:
        self.body, self.rng, self.numbers = body, np.random.default_rng(seed), numbers
        self.largest = self.rng.choice([12, 308])

    def classify(self, contacts):
        return self.rng.choice([Mode.STATIC, Mode.DYNAMIC, Mode.DETACH], size=len(contacts))

    def friction(self, contacts, dynamic):
        size = 10.0 ** self.rng.uniform(-12, self.largest, (len(dynamic), 1))
        with np.errstate(over="ignore"):
            p_f = size * self.rng.normal(size=(len(dynamic), self.numbers))
        odd = self.rng.uniform(size=len(dynamic)) < 0.01
        p_f[odd] = self.rng.choice([0.0, np.nan, np.inf, -np.inf, 1e308], size=(odd.sum(), 1))
        return p_f


def random_networks(body: Body, seed: int) -> AugmentedLaw:
    """A learned law with random weights, up to the limit of single precision."""
    law = AugmentedLaw.untrained(body, seed=seed)
    size = np.float32(10 ** np.random.default_rng(seed).uniform(-1, 38))
    for network in (network for networks in law.parts.values() for network in networks):
        assert isinstance(network, Network)
        for weight in network.weights:
            weight *= size
    return law


def random_materials(body: Body, seed: int) -> MaterialLaw:
    """A material whose friction varies wildly with direction, speed and load; sometimes with restitution."""
    rng = np.random.default_rng(seed)
    speed, load = (Curve(-9.0, 1.0, rng.normal(0, 3, 20)) for _ in range(2))
    harmonics = rng.normal(0, 1, (2, 3))
    cone, limit = rng.choice(["round", "box"]), rng.choice(["actual", "frictionless"])
    scale, bounce = 10 ** rng.uniform(-3, 3), rng.choice([0.0, 0.0, 0.7])
    material = Material(
        scale, cosines=harmonics[0], sines=harmonics[1], speed=speed, load=load, viscosity=rng.uniform(0, 5),
        cone=cast(Any, str(cone)), limit=cast(Any, str(limit)), restitution=Restitution(bounce),
    )  # fmt: skip
    return material.on(body)


def random_coulomb(body: Body, seed: int) -> MaterialLaw:
    """Coulomb friction from zero to the greatest allowed coefficient, rigid or soft."""
    rng = np.random.default_rng(seed)
    cone, softness = cast(Any, str(rng.choice(["round", "dart"]))), 0.0
    return CoulombLaw(body, 10.0 ** rng.uniform(-6, 19.9, rng.integers(1, 3)), cone=cone, softness=softness)


LAWS: dict[str, Callable[[Body, int], Law]] = {
    "random answers": RandomLaw,
    "random answers of five numbers": lambda body, seed: RandomLaw(body, seed, 5),
    "random networks": random_networks,
    "random materials": random_materials,
    "random Coulomb friction": random_coulomb,
}


def random_body(rng: np.random.Generator) -> Body:
    """A body from cube to needle or plate, of any size and mass; sometimes a prism, a random hull or a rectangle.

    Needles and plates go to what a body may be: see `stiction.bodies.body_checks`.
    """
    length, mass = 10 ** rng.uniform(-3, 1), 10 ** rng.uniform(-4, 4)
    width, height = 10.0 ** rng.uniform([-2.49, -4.9], 0) if rng.uniform() < 0.7 else np.ones(2)
    if rng.uniform() < 0.3:
        height = width
    match rng.integers(5):
        case 0:
            return Body.prism(int(rng.integers(3, 40)), length * width, length * height, mass)
        case 1:
            shape = [1.0, max(width, 0.02), max(height, 1e-4)]  # of a cloud, whose hull may be thinner
            return Body.hull_of(length * rng.normal(size=(int(rng.integers(8, 200)), 3)) * shape, mass)
        case 2:
            return Body.rectangle((length, length * height), mass)
        case _:
            return Body.box(rng.permutation(length * np.array([1.0, width, height])), mass)
