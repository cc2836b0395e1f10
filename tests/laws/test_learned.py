"""Learned laws with any weights: safe, the same in the core and by callback, aware of what they were not trained on."""

import numpy as np
import pytest

from conftest import random_states
from contact_states import random_contacts
from stiction import AugmentedLaw, InputError, Kind, Mode, _core, rollout
from stiction.laws.approximators import Network
from stiction.laws.learned import StatisticalLaw


def test_a_rollout_by_callback_is_that_of_the_core(box):
    law = AugmentedLaw.untrained(box, seed=3)

    class ByCallback:
        body, timestep, softness = law.body, law.timestep, law.softness
        classify, friction = law.classify, law.friction

    start = random_states(np.random.default_rng(2), 2)
    fast, slow = rollout(law, start, 250), rollout(ByCallback(), start, 250)
    assert np.array_equal(fast.position, slow.position) and np.array_equal(fast.mode, slow.mode)


def test_untrained_is_seeded(box):
    a, b, c = (AugmentedLaw.untrained(box, seed=seed).parts[Kind.LINE][0].arrays()["weight0"] for seed in (1, 1, 2))
    assert np.array_equal(a, b) and not np.array_equal(a, c)


def test_a_query_far_from_the_training_data_is_outside(box):
    contacts = random_contacts(box, 300, np.random.default_rng(3))
    # As if the training contacts had differed widely, and as if they had all been alike.
    for scale, least, most in ((1e3, 0, 0), (1e-3, 100, 300)):
        law = AugmentedLaw.untrained(box)
        for networks in law.parts.values():
            networks[0].scale[:] = scale
        assert least <= law.outside(contacts).sum() <= most


def test_networks_of_wrong_size_are_refused(box):
    law = AugmentedLaw.untrained(box)
    networks = dict(law.parts)
    networks[Kind.LINE] = (networks[Kind.LINE][0], Network.random([53, 8, 2], np.random.default_rng(0)))
    with pytest.raises(InputError, match="regressor of a line must have 53 inputs and 3 outputs, got 53 and 2"):
        AugmentedLaw(box, networks)


def test_statistical_law_runs_without_physics(box):
    """The baseline gives whatever its network says; its modes are those seen in the motion."""
    law = StatisticalLaw.untrained(box, seed=4)
    run = rollout(law, random_states(np.random.default_rng(5), 8), 400)
    touches = run.kind != Kind.NONE
    assert touches.any(axis=1).all() and np.array_equal(touches, run.mode != Mode.NONE)
    assert (run.impulse[..., 2] < 0).any(), "random weights must pull somewhere"


def test_statistical_law_says_what_its_network_says(box):
    """Six numbers in the units and axes of the patch, and no guard between them and the impulse."""
    law = StatisticalLaw.untrained(box, seed=4)
    contacts = random_contacts(box, 200, np.random.default_rng(6))
    p, mode = law.respond(contacts)
    described = contacts.record["unit_impulse"] > 0
    assert 50 < described.sum() < 200 and not p[~described].any() and (mode == Mode.NONE).all()
    for i in np.flatnonzero(described).tolist():
        kind = Kind(contacts.record[i].kind)
        answer = law.parts[kind][0].native(contacts.record["features"][i : i + 1, : law.inputs.size(kind)])
        assert np.array_equal(p[i], _core.impulse_from(contacts, i, answer[0]))
