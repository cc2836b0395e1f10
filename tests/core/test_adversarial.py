"""No law can break the physics: the worst ones on a few thousand contacts; `python -m fuzz` takes a million."""

import numpy as np
import pytest

from conftest import convex_stone
from contact_states import contacts_from, handled, random_contacts
from fuzz.contacts import attack
from fuzz.violations import BOUND, NAMES, violations
from fuzz.worst_laws import LAWS, RandomLaw
from stiction import Body, Law, Mode, State, rollout

BODIES = {
    "box": Body.box((0.2, 0.3, 0.4), 1.0),
    "cube": Body.box((0.1, 0.1, 0.1), 0.37),
    "needle": Body.box((0.5, 0.002, 0.002), 1.0),
    "plate": Body.box((0.3, 0.3, 0.001), 0.1),
    "foil": Body.box((1.0, 1.0, 1e-4), 0.3),
    "ribbon": Body.box((1.0, 0.01, 1e-4), 0.01),
    "most slender rod": Body.box((0.44, 0.001, 0.001), 0.02),
    "prism": Body.prism(5, 0.2, 0.2, 1.0),
    "stone of 200 vertices": convex_stone(200),
    "planar rectangle": Body.rectangle((0.2, 0.4), 1.0),
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("law", LAWS)
def test_no_law_can_break_the_physics(law, body):
    """Properties 1-3 of the paper, no friction without load and no energy from contact."""
    for k in range(3):
        found = attack(law, BODIES[body], 300, np.random.default_rng([1, k]))
        assert (found <= BOUND).all(), dict(zip(NAMES, found))


@pytest.mark.parametrize("size", [1e100, 1e150, 1e153, 1e200, 1e308, np.inf, np.nan])
def test_friction_beyond_all_measure_is_none(size):
    """A slender body at rest stays where it is, however large and wherever directed the friction of its law."""

    class Absurd(Law):
        body = BODIES["needle"]

        def classify(self, contacts):
            return np.full(len(contacts), Mode.DYNAMIC)

        def friction(self, contacts, dynamic):
            with np.errstate(all="ignore"):
                return size * np.random.default_rng(0).normal(size=(len(dynamic), 3))

    start = State(np.tile([0, 0, 0.001], (50, 1)))
    run = rollout(Absurd(), start, 20)
    assert np.abs(run.velocity).max() < 1e-9 and np.abs(run.position - start.position[:, None]).max() < 1e-9


def test_torques_of_a_law_press_within_the_patch():
    """Of five numbers, the last two may move the centre of pressure, but never out of the patch."""
    tells = contacts_from(BODIES["box"], [[0.8, 0.36, 0.48, 0.0]], [1e-4], [[0.5, 0.2, -1.0, 0.3, 0.2, 0.1]])
    assert tells.record["count"][0] == 1
    found = attack("random answers of five numbers", BODIES["box"], 1000, np.random.default_rng(7))
    assert found[NAMES.index("pull")] <= BOUND
    p, _ = handled(RandomLaw(BODIES["box"], 3, 5), tells)
    assert violations(tells, p)[NAMES.index("pull")] <= BOUND


@pytest.mark.parametrize("name", ["box", "prism", "stone", "rectangle"])
def test_the_contacts_are_of_all_kinds_and_modes(name, request):
    body = request.getfixturevalue(name)
    contacts = random_contacts(body, 2000, np.random.default_rng(2))
    _, mode = handled(RandomLaw(body, 3), contacts)
    assert (np.bincount(contacts.record["kind"], minlength=4)[1 : 3 if body.planar else 4] > 20).all()
    assert (np.bincount(mode, minlength=4)[1:] > 20).all()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("penetration", lambda p: p * (1 - 1e-6)),
        ("pull", lambda p: p + p[:, 2:3] * [0, 0, 0, 1, 0, 0]),
        ("work", lambda p: p * (1 + 1e-6)),
        ("lone friction", lambda p: p + np.where(p[:, 2:3] == 0, 1e-6, 0) * [1, 0, 0, 0, 0, 0]),
        ("energy", lambda p: 10 * p),
    ],
)
def test_a_violation_is_seen(box, name, change):
    contacts = random_contacts(box, 500, np.random.default_rng(4))
    p, _ = handled(RandomLaw(box, 5), contacts)
    sound, broken = (violations(contacts, q) for q in (p, change(p)))
    which = NAMES.index(name)
    assert sound[which] <= BOUND and broken[which] > 1e-8
