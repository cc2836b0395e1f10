"""What the core gives, for tests that compare its two forms: run with STICTION_CORE set, and a file to write to.

Asserts that a batch has the bits of single bodies and that the number of threads changes no bit, for laws of all sorts.
Then it writes impulses and modes of contacts of all sorts, to be compared with those of the other form.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # for conftest

from conftest import convex_stone, random_states
from contact_states import handled, random_contacts
from stiction import AugmentedLaw, Body, CoulombLaw, Kind, Law, Mode, Stepper, _core, load, rollout
from stiction.laws.approximators import LEAF, KernelMachine, Trees
from stiction.laws.learned import KINDS

FIELDS = ("position", "quaternion", "velocity", "angular_velocity", "impulse", "mode", "kind")
BODIES = 70  # more than one chunk of two threads


def random_machine(inputs: int, outputs: int, rng: np.random.Generator) -> KernelMachine:
    """A kernel machine of 40 random centres."""
    shapes = {"mean": (inputs,), "centres": (40, inputs), "weights": (40, outputs), "bias": (outputs,)}
    parts = {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}
    return KernelMachine(**parts, scale=np.ones(inputs, np.float32), gamma=np.full(outputs, 0.05, np.float32))


def random_trees(inputs: int, outputs: int, rng: np.random.Generator) -> Trees:
    """Thirty trees of one question and two answers for each output."""
    trees = 30 * outputs
    feature = np.full((trees, 3), LEAF)
    feature[:, 0] = rng.integers(inputs, size=trees)
    return Trees(
        np.zeros(inputs, np.float32),
        np.ones(inputs, np.float32),
        rng.normal(0, 0.1, outputs).astype(np.float32),
        (3 * np.arange(trees)).astype(np.int32),
        np.tile(np.arange(outputs), 30).astype(np.int32),
        feature.ravel().astype(np.int32),
        rng.normal(0, 0.1, 3 * trees).astype(np.float32),
        (np.arange(3 * trees) + 1).astype(np.int32),
    )


def learned_with(make, body: Body) -> AugmentedLaw:
    rng = np.random.default_rng(1)
    sizes = AugmentedLaw.untrained(body)

    def part(kind: Kind, role: str):
        return make(sizes.inputs.size(kind), AugmentedLaw.outputs(role, kind), rng)

    return AugmentedLaw(body, {kind: tuple(part(kind, role) for role in AugmentedLaw.ROLES) for kind in KINDS})


class InPython(Law):
    """A law that is asked by callback: viscous friction."""

    def __init__(self, body: Body) -> None:
        self.body = body

    def classify(self, contacts):
        slow = np.abs(contacts.record["velocity"]).max(axis=1) < 0.3
        return np.where(slow, Mode.STATIC, Mode.DYNAMIC)

    def friction(self, contacts, dynamic):
        return -0.1 * contacts.record["velocity"][dynamic][:, [0, 1, 5]]


def laws() -> dict[str, Law]:
    """Laws of all sorts."""
    box, prism, stone = Body.box((0.2, 0.3, 0.4), 1.0), Body.prism(5, 0.2, 0.2, 1.0), convex_stone(200)
    return {
        "friction box": CoulombLaw(prism, 0.7, cone="dart"),
        "rigid friction box": CoulombLaw(stone, (0.5, 0.8), softness=0.0, cone="dart"),
        "friction cone": CoulombLaw(box, (0.4, 0.8), cone="round"),
        "learned": load("box"),
        "learned, planar": load("rectangle"),
        "baseline": load("box-pdd"),
        "untrained, of many vertices": AugmentedLaw.untrained(stone, seed=1),
        "kernel machines": learned_with(random_machine, box),
        "trees": learned_with(random_trees, box),
        "impact": load("cube"),
        "in Python": InPython(prism),
    }


def assert_same(a, b, what: str) -> None:
    for name in FIELDS:
        assert np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True), f"{what}: {name}"


def check_batch(name: str, law: Law) -> None:
    """A batch against single bodies, threads and a stepper."""
    start = random_states(np.random.default_rng(3), BODIES, planar=law.body.planar)
    start.velocity[:, 2] = -3.0  # soon in contact
    how = {"finite": False}
    batch = rollout(law, start, 200, threads=1, **how)
    assert (batch.kind > 0).any(axis=1).all(), f"{name}: all must touch"
    for i in (0, 1, 31, 63, 64, BODIES - 1):
        assert_same(rollout(law, start[i], 200, **how), batch[i], f"{name}: a body alone")
    for some in (slice(0, 3), slice(5, 12)):
        assert_same(rollout(law, start[some], 200, **how), batch[some], f"{name}: some bodies")
    for threads in (2, 3, 16):
        assert_same(rollout(law, start, 200, threads=threads, **how), batch, f"{name}: {threads} threads")
    stepper = Stepper(law, start)
    for t in range(200):
        stepper.step()
        assert np.array_equal(stepper.impulse, batch.impulse[:, t], equal_nan=True), f"{name}: a stepper"


def main(path: str) -> None:
    """All of it, for the form of the core that this process has."""
    found = {}
    for name, law in laws().items():
        check_batch(name, law)
        contacts = random_contacts(law.body, 300, np.random.default_rng(4))
        found[f"{name}/impulse"], found[f"{name}/mode"] = handled(law, contacts)
    np.savez(path, level=_core.LEVEL, **found)


if __name__ == "__main__":
    main(sys.argv[1])
