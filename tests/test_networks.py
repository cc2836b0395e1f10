"""Compiled networks against plain numpy."""

import numpy as np
import pytest

from stiction import InputError
from stiction.laws.approximators import FARTHEST, evaluate, pack, standardise
from stiction.laws.networks import SPACE, TOGETHER, WIDEST, Network


def test_evaluate_agrees_with_numpy():
    rng = np.random.default_rng(1)
    networks = [
        Network.random(sizes, rng) for sizes in ([5, 8, 3], [7, 16, 16, 2], [4, 6], [9, 32, 16, 8, 3], [71, 100, 3])
    ]
    numbers, table = pack(networks)
    for row, network in enumerate(networks):
        x = rng.normal(size=network.sizes[0]) * 5
        value = np.clip((x - network.mean) / network.scale, -FARTHEST, FARTHEST)
        for k, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
            value = value @ weight + bias
            if k < len(network.weights) - 1:
                value = np.maximum(value, 0)
        for count in (1, TOGETHER):
            out = np.empty((count, network.sizes[-1]))
            evaluate(numbers, table, row, count, filled(numbers, table, row, [x] * count), np.arange(count), out)
            assert out == pytest.approx(np.tile(value, (count, 1)), rel=1e-4, abs=1e-4)


def filled(numbers, table, row, inputs):
    space = np.empty(SPACE, dtype=np.float32)
    for place, x in enumerate(inputs):
        standardise(numbers, table, row, x, space, place)
    return space


def test_company_changes_no_bit_of_an_answer():
    """Contacts go through a network together, yet a throw in a batch must be the throw alone."""
    rng = np.random.default_rng(2)
    numbers, table = pack([Network.random([71, 64, 64, 3], rng)])
    x = rng.normal(size=(TOGETHER, 71))
    together, alone = np.empty((TOGETHER, 3)), np.empty((TOGETHER, 3))
    evaluate(numbers, table, 0, TOGETHER, filled(numbers, table, 0, x), np.arange(TOGETHER), together)
    for k in range(TOGETHER):
        evaluate(numbers, table, 0, 1, filled(numbers, table, 0, x[k : k + 1]), np.arange(k, k + 1), alone)
    assert (together == alone).all()


def test_networks_too_wide_for_their_room_are_refused():
    with pytest.raises(InputError, match="up to 512 units"):
        Network.random([5, WIDEST + 1, 3], np.random.default_rng(0))
