"""The worst laws on contacts of all sorts: by how much they break the physics, at most.

    python tests/adversarial.py 1000000

answers with the greatest violations that a million contacts show. Each is relative to the contact's own size:

penetration: speed at which a contact point still approaches, of the greatest such speed before
pull: part of the impulse that would have to pull, as if its centre of pressure lay so far outside the patch
work: power of the normal impulse on points that separate, of the impulse times the greatest speed
lone friction: impulse where nothing presses [N s]
energy: kinetic energy gained, of the sum of what the parts of the impulse do
"""

import sys
from collections.abc import Iterator

import numpy as np

from conftest import convex_stone
from contact_states import points_of, random_contacts
from stiction import AugmentedLaw, Body, Law, Material, Mode, _core
from stiction.laws.curves import Curve
from stiction.laws.material import Restitution
from stiction.laws.material_law import MaterialLaw
from stiction.laws.networks import Network

NAMES = ("penetration", "pull", "work", "lone friction", "energy")
AT_ONCE = 5000  # contacts
_ALL_ROUND = np.arange(32) * np.pi / 16


class RandomLaw(Law):
    """The worst law: random modes, random friction of any size and direction, sometimes not even a number.

    numbers: of the friction: 3, or 5 with torques (m_x, m_y) that no friction can have
    """

    def __init__(self, body: Body, seed: int, numbers: int = 3) -> None:
        self.body, self.rng, self.numbers = body, np.random.default_rng(seed), numbers

    def classify(self, contacts):
        return self.rng.choice([Mode.STATIC, Mode.DYNAMIC, Mode.DETACH], size=len(contacts))

    def friction(self, contacts, dynamic):
        size = 10 ** self.rng.uniform(-12, 12, (len(dynamic), 1))
        p_f = size * self.rng.normal(size=(len(dynamic), self.numbers))
        odd = self.rng.uniform(size=len(dynamic)) < 0.01
        p_f[odd] = self.rng.choice([0.0, np.nan, np.inf, -np.inf, 1e300], size=(odd.sum(), 1))
        return p_f


def random_networks(body: Body, seed: int) -> AugmentedLaw:
    """A learned law with random weights, of any size up to where single precision ends."""
    law = AugmentedLaw.untrained(body, seed=seed)
    size = np.float32(10 ** np.random.default_rng(seed).uniform(-1, 13))
    for network in (network for networks in law.parts.values() for network in networks):
        assert isinstance(network, Network)
        for weight in network.weights:
            weight *= size
    return law


def random_materials(body: Body, seed: int) -> MaterialLaw:
    """A material whose friction swings wildly with direction, speed and load; sometimes it bounces."""
    rng = np.random.default_rng(seed)
    speed, load = (Curve(-9.0, 1.0, rng.normal(0, 3, 20)) for _ in range(2))
    harmonics = rng.normal(0, 1, (2, 3))
    cone, limit = rng.choice(["round", "box"]), rng.choice(["actual", "frictionless"])
    scale, bounce = 10 ** rng.uniform(-3, 3), rng.choice([0.0, 0.0, 0.7])
    material = Material(
        scale, cosines=harmonics[0], sines=harmonics[1], speed=speed, load=load, viscosity=rng.uniform(0, 5),
        cone=str(cone), limit=str(limit), restitution=Restitution(bounce),
    )  # fmt: skip
    return material.on(body)


def bodies() -> dict[str, Body]:
    """What is thrown at the worst laws."""
    return {
        "box": Body.box((0.2, 0.3, 0.4), 1.0),
        "prism": Body.prism(5, 0.2, 0.2, 1.0),
        "stone of 200 vertices": convex_stone(200),
        "planar rectangle": Body.rectangle((0.2, 0.4), 1.0),
    }


def violations(contacts: _core.Contacts, p: np.ndarray, spun: bool = True) -> np.ndarray:
    """The greatest violations of impulses (n, 6), in the order of NAMES.

    spun: whether (m_x, m_y) of friction follow from its spin, as with friction of three numbers. Those of a law that
        gives five cannot be told from what presses, so that pull and work are not known then (NaN).
    """
    record = contacts.record
    inverse_inertia = contacts.inverse_inertia
    p = np.where(np.einsum("nii->ni", inverse_inertia) > 0, p, 0.0)  # what cannot move a planar body is no matter
    velocity = record["velocity"]
    after = velocity + np.einsum("nij,nj->ni", inverse_inertia, p)
    points, first = points_of(contacts)
    x, y = points[:, 0], points[:, 1]
    counts = record["count"]

    def rise(twist):
        v = np.repeat(twist, counts, axis=0)
        return v[:, 2], y * v[:, 3], -x * v[:, 4]

    parts = rise(velocity)
    fastest = np.maximum.reduceat(np.abs(np.stack([sum(parts), parts[1], parts[2]])).max(axis=0), first)
    fastest = np.maximum(fastest, 1e-300)
    worst = np.zeros(5)
    worst[0] = (-np.minimum.reduceat(sum(rise(after)), first) / fastest).max(initial=0.0)
    size = np.abs(p).max(axis=1)
    loaded = p[:, 2] != 0
    worst[3] = size[~loaded].max(initial=0.0)
    if not loaded.any():
        return worst
    size = np.where(loaded, size, 1.0)
    worst[1] = (-p[loaded, 2] / size[loaded]).max(initial=0.0)
    gained = (p * (velocity + 0.5 * (after - velocity))).sum(axis=1)
    worst[4] = (gained[loaded] / np.abs(p * velocity).sum(axis=1)[loaded]).max(initial=0.0)
    if not spun:
        worst[1:3] = np.nan
        return worst
    # The normal part of p is what its friction leaves.
    centre, axis = record["centre"], record["axis"]
    m_z = p[:, 5] - (centre[:, 0] * p[:, 1] - centre[:, 1] * p[:, 0])
    across = np.hypot(axis[:, 0], axis[:, 1])
    lean = np.where(across > 0, m_z * axis[:, 2] / np.where(across > 0, across, 1.0) ** 2, 0.0)
    m_x = p[:, 3] + lean * axis[:, 0] + centre[:, 2] * p[:, 1]
    m_y = p[:, 4] + lean * axis[:, 1] - centre[:, 2] * p[:, 0]
    # Nowhere a pull: the centre of pressure lies within the patch, seen from all sides.
    p_z = np.where(loaded, p[:, 2], 1.0)
    for angle in _ALL_ROUND:
        dx, dy = np.cos(angle), np.sin(angle)
        beyond = (dy * m_x - dx * m_y) / p_z - np.maximum.reduceat(dx * x + dy * y, first)
        worst[1] = max(worst[1], (beyond / record["diameter"] * p_z / size)[loaded].max())
    power = p[:, 2] * after[:, 2] + m_x * after[:, 3] + m_y * after[:, 4]
    worst[2] = (np.abs(power) / (size * fastest))[loaded].max()
    return worst


LAWS = {
    "random answers": RandomLaw,
    "random answers of five numbers": lambda body, seed: RandomLaw(body, seed, 5),
    "random networks": random_networks,
    "random materials, of five numbers": random_materials,
}


def attacks(count: int, seed: int = 0) -> Iterator[tuple[str, str, int, np.ndarray]]:
    """Let the worst laws loose on about `count` contacts: body, law, number of contacts, violations."""
    each = -(-count // (len(LAWS) * len(bodies())))
    for number, (name, body) in enumerate(bodies().items()):
        for kind, (label, make) in enumerate(LAWS.items()):
            worst, done = np.full(5, np.nan), 0
            while done < each:
                some, seeds = min(AT_ONCE, each - done), [seed, number, kind, done]
                contacts = random_contacts(body, some, np.random.default_rng(seeds))
                law = make(body, int(np.random.default_rng([*seeds, 1]).integers(2**31)))
                law.native.respond(contacts)
                p = contacts.record["impulse"]
                assert np.isfinite(p).all(), f"{name}, {label}: an impulse is not finite"
                assert np.isin(contacts.record["mode"], (Mode.STATIC, Mode.DYNAMIC, Mode.DETACH)).all()
                worst = np.fmax(worst, violations(contacts, p, spun="five numbers" not in label))
                done += some
            yield name, label, done, worst


def report(count: int, seed: int = 0) -> np.ndarray:
    """Print what `attacks` find, and give the greatest violations of all."""
    total, greatest = 0, np.zeros(5)
    for name, law, done, worst in attacks(count, seed):
        total, greatest = total + done, np.fmax(greatest, worst)
        print(f"{name}, {law}: {done} contacts; " + ", ".join(f"{n} {w:.1e}" for n, w in zip(NAMES, worst)))
    print(f"in all: {total} contacts; " + ", ".join(f"{n} {w:.1e}" for n, w in zip(NAMES, greatest)))
    return greatest


if __name__ == "__main__":
    report(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
