"""Networks of the core against plain NumPy."""

import numpy as np
import pytest

from stiction import InputError, _core
from stiction.laws.approximators import FARTHEST, MAX_WIDTH, Network

SIZES = ([5, 8, 3], [7, 16, 16, 2], [4, 6], [9, 32, 16, 8, 3], [71, 100, 3], [71, 512, 6], [18, 48, 48, 3])


def in_numpy(network: Network, x: np.ndarray) -> np.ndarray:
    value = np.clip((x - network.mean) / network.scale, -FARTHEST, FARTHEST)
    for k, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        value = value @ weight.astype(np.float64) + bias
        if k < len(network.weights) - 1:
            value = np.maximum(value, 0)
    return value


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_answers_agree_with_numpy(sizes):
    rng = np.random.default_rng(1)
    network = Network.random(sizes, rng)
    network.mean[:], network.scale[:] = rng.normal(size=sizes[0]), rng.uniform(0.5, 2, sizes[0])
    x = rng.normal(size=(11, sizes[0])) * 5
    x[0] *= 100  # beyond what was seen
    answers = network.native(x)
    assert answers[:, : sizes[-1]] == pytest.approx(in_numpy(network, x), rel=1e-4, abs=1e-4)
    assert not answers[:, sizes[-1] :].any()


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_company_changes_no_bit_of_an_answer(sizes):
    """Contacts go through a network together, yet a throw in a batch must be the throw alone."""
    rng = np.random.default_rng(2)
    native = Network.random(sizes, rng).native
    x = rng.normal(size=(23, sizes[0]))
    together = native(x)
    assert np.ptp(together[:, 0]) > 0
    for count in (1, 2, 3):
        parts = [native(x[k : k + count]) for k in range(0, 23, count)]
        assert np.array_equal(np.concatenate(parts), together)


def test_networks_too_wide_for_their_room_are_refused():
    with pytest.raises(InputError, match="up to 512 units"):
        Network.random([5, MAX_WIDTH + 1, 3], np.random.default_rng(0))


def test_inputs_and_layers_that_do_not_fit_are_refused():
    network = Network.random([5, 8, 3], np.random.default_rng(0))
    with pytest.raises(ValueError, match="number of inputs does not fit"):
        network.native(np.zeros((2, 4)))
    with pytest.raises(InputError, match=r"weight0 of a network must be float32 of shape \(5, 8\)"):
        Network(network.mean, network.scale, network.weights[::-1], network.biases)
    torn = [network.weights[1], network.weights[0]]
    with pytest.raises(ValueError, match="layers of a network do not fit together"):
        _core.network(network.mean, network.scale, torn, list(network.biases))
