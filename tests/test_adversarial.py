"""No law can break the physics: the worst ones on a few thousand contacts; `adversarial.py` takes a million."""

import numpy as np
import pytest

import adversarial
from contact_states import handled, random_contacts


def test_no_law_can_break_the_physics():
    """Properties 1-3 of the paper, no friction without load and no energy from contact."""
    parts = list(adversarial.attacks(16_000, seed=1))
    assert {body for body, *_ in parts} == set(adversarial.bodies()) and len(parts) == 16
    for body, law, count, worst in parts:
        assert count == 1000
        known = np.isfinite(worst)
        assert known.all() or ("five numbers" in law and known[[0, 3, 4]].all())
        assert (worst[known] <= 1e-9).all(), (body, law, dict(zip(adversarial.NAMES, worst)))


@pytest.mark.parametrize("name", ["box", "prism", "stone", "rectangle"])
def test_the_contacts_are_of_all_kinds_and_modes(name, request):
    body = request.getfixturevalue(name)
    contacts = random_contacts(body, 2000, np.random.default_rng(2))
    _, mode = handled(adversarial.RandomLaw(body, 3), contacts)
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
    p, _ = handled(adversarial.RandomLaw(box, 5), contacts)
    sound, broken = (adversarial.violations(contacts, q) for q in (p, change(p)))
    which = adversarial.NAMES.index(name)
    assert sound[which] <= 1e-9 and broken[which] > 1e-8
