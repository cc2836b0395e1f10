"""What materials cost beside a learned law: whole throws in a batch, and single contacts by kind of patch and mode."""

import numpy as np

from stiction import _core
from stiction.bodies.state import Kind, Mode
from stiction.laws.law import Law
from stiction.laws.material import Material
from stiction.laws.modelfile import load
from stiction.simulation.motion import contacts_at
from stiction.simulation.rollout import rollout
from stiction_studies.speed import common
from stiction_studies.speed.common import Begin, Scale
from stiction_studies.speed.measured import Measured
from stiction_studies.timing import least_times, pinned, quiet, timed

NETWORKS, DART = "networks, law box", "material as DART: box, frictionless limit"
BATCH = "batch, whole throws"
MATERIALS = {  # all with about the friction of the throws that the law box was learned from
    DART: Material.coulomb(1.0, cone="box"),
    "material: round cone": Material.coulomb(1.0),
    "material: direction": Material.directional(0.8, 1.0, 1.25),
    "material: speed": Material.stribeck(1.2, 0.9, speed=0.3),
    "material: load": Material.of(1.0, load=lambda force: (force / 10 + 0.1) ** -0.1),
    "material: direction, speed and load": Material.of(
        0.9,
        direction=lambda angle: 1 + 0.2 * np.cos(angle),
        speed=lambda v: 1 + 0.3 * np.exp(-((v / 0.3) ** 2)),
        load=lambda force: (force / 10 + 0.1) ** -0.1,
    ),
}
GROUPS = {
    f"{kind.name.lower()} {word}": (kind, mode)
    for kind in (Kind.POINT, Kind.LINE, Kind.SURFACE)
    for word, mode in (("sticks", Mode.STATIC), ("slides", Mode.DYNAMIC))
}
_MOST = 1000  # contacts of each group
_BATCH = 256


def run(size: Scale, seed: int, begin: Begin) -> Measured:
    """Time batches of whole throws with one thread, and Algorithm 1 on the contacts of each law's own throws."""
    box = load("box")
    laws: dict[str, Law] = {NETWORKS: box, **{name: m.on(box.body) for name, m in MATERIALS.items()}}
    states = common.throws(box.body, _BATCH, seed)
    advance = begin("Materials", len(laws) * (size.rounds + 2))
    runs = {
        name: lambda law=law: np.array([timed(lambda: rollout(law, states, size.steps, threads=1))])
        for name, law in laws.items()
    }
    with pinned():
        batches = least_times(runs, size.rounds, advance)
    figures = {name: {BATCH: 1e6 * float(batches[name][0]) / (_BATCH * size.steps)} for name in laws}
    for name, law in laws.items():
        throws = rollout(law, states, size.steps)
        for group, (kind, mode) in GROUPS.items():
            contacts = _contacts(law, throws, kind, mode, seed)
            if len(contacts):
                with pinned(), quiet():
                    least = min(timed(lambda c=contacts, n=law.native: n.respond(c)) for _ in range(4 * size.repeats))
                figures[name][group] = 1e6 * least / len(contacts)
        advance()
    notes = [
        f"{_BATCH} throws of {size.steps} steps of the box, one thread; then Algorithm 1 with each law on up to "
        f"{_MOST:,} contacts of each kind and mode of its own throws, in one call."
    ]
    return Measured(
        "materials", "Materials and networks", "µs a body and step, µs a contact", [BATCH, *GROUPS], figures,
        {name: NETWORKS for name in MATERIALS}, notes,
    )  # fmt: skip


def _contacts(law: Law, throws, kind: Kind, mode: Mode, seed: int) -> _core.Contacts:
    """Some of the contacts of one kind and mode in a batch of throws."""
    throw, step = np.nonzero((throws.kind == kind) & (throws.mode == mode))
    some = np.random.default_rng(seed).permutation(len(throw))[:_MOST]
    return contacts_at(law.body, common.motion(law.body, throws.states()[throw[some], step[some]]), common.setting())
