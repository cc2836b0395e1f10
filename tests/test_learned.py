"""Learned laws with any weights: safe, the same compiled and interpreted, aware of what they were not trained on."""

import numpy as np
import pytest

from conftest import random_states
from contact_states import handled, random_contacts
from stiction import AugmentedLaw, InputError, Kind, Mode, rollout
from stiction.laws.augmented import AugmentedTerms
from stiction.laws.networks import Network
from stiction.laws.statistical import StatisticalLaw
from test_contact import violations


@pytest.mark.parametrize("name", ["box", "prism", "stone"])
def test_random_weights_cannot_break_physics(name, request):
    """Properties 1-3, no friction without load, no energy from contact: for any weights, of any size."""
    body = request.getfixturevalue(name)
    contacts = random_contacts(body, 5000, np.random.default_rng(1))
    for seed, size in ((0, 1.0), (1, 30.0), (2, 1e3)):
        law = AugmentedLaw.untrained(body, seed=seed)
        for networks in law.parts.values():
            for network in networks:
                assert isinstance(network, Network)
                for weight in network.weights:
                    weight *= np.float32(size)
        p, mode = handled(law, contacts)
        worst = violations(contacts, p, mode)
        print(f"{name}, weights x {size:g}: penetration, pull, work, lone friction, energy {worst}")
        assert np.isfinite(p).all() and (worst <= 1e-9).all()


def test_compiled_and_interpreted_rollouts_are_the_same(box):
    law = AugmentedLaw.untrained(box, seed=3)

    class Interpreted:
        body, timestep, softness = law.body, law.timestep, law.softness
        classify, friction = law.classify, law.friction

    start = random_states(np.random.default_rng(2), 2)
    fast, slow = rollout(law, start, 250), rollout(Interpreted(), start, 250)
    assert np.array_equal(fast.position, slow.position) and np.array_equal(fast.mode, slow.mode)


def test_untrained_is_seeded(box):
    a, b, c = (AugmentedLaw.untrained(box, seed=seed).packed[0] for seed in (1, 1, 2))
    assert np.array_equal(a, b) and not np.array_equal(a, c)


def test_a_query_far_from_the_training_data_is_outside(box):
    law = AugmentedLaw.untrained(box)
    contacts = random_contacts(box, 300, np.random.default_rng(3))
    # As if the training contacts had differed widely, and as if they had all been alike.
    for scale, least, most in ((1e3, 0, 0), (1e-3, 100, 300)):
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
    assert not isinstance(law.compiled, AugmentedTerms)
    run = rollout(law, random_states(np.random.default_rng(5), 3), 200)
    assert set(np.unique(run.mode)) <= {Mode.NONE, Mode.STATIC, Mode.DYNAMIC, Mode.DETACH}
    assert (run.impulse[..., 2] < 0).any() or (run.mode == Mode.NONE).all(), "random weights must pull somewhere"
