"""Compiled networks against plain numpy."""

import numpy as np
import pytest

from stiction.laws.approximators import FARTHEST, evaluate, pack
from stiction.laws.networks import Network


def test_evaluate_agrees_with_numpy():
    rng = np.random.default_rng(1)
    networks = [Network.random(sizes, rng) for sizes in ([5, 8, 3], [7, 16, 16, 2], [4, 6], [9, 32, 16, 8, 3])]
    numbers, table = pack(networks)
    for row, network in enumerate(networks):
        x = rng.normal(size=network.sizes[0]) * 5
        value = np.clip((x - network.mean) / network.scale, -FARTHEST, FARTHEST)
        for k, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
            value = value @ weight + bias
            if k < len(network.weights) - 1:
                value = np.maximum(value, 0)
        out = np.empty(network.sizes[-1])
        evaluate(numbers, table, row, x, out)
        assert out == pytest.approx(value, rel=1e-4, abs=1e-4)
