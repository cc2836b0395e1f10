"""Several bodies at once: the bits of each are those of one alone."""

import numpy as np
import pytest
from stiction.compiled import lean
from stiction.lanes import LANES, any_of, load, magnitude, multiply_add, root, store, where, zeros


@lean
def calculate(room, zero):
    """A little of everything, from rows 0 to 2 into row 3; how often until nothing is left to do."""
    a, b, c = load(room, 0, zero), load(room, 1, zero), load(room, 2, zero)
    turns = 0
    while any_of((a > 1.0) | (b < -1.0)):
        a, b = where(a > 1.0, 0.5 * a - 0.1, a), where(b < -1.0, b / 3.0, b)
        turns += 1
    d = root(magnitude(a * b - c)) + 1.0 / (2.0 + c * c)
    d = where((a != b) & (c == c), multiply_add(a, b, d), zero)
    store(room, 3, d)
    return turns


@lean
def calculate_together(room):
    return calculate(room, zeros())


@lean
def calculate_alone(room):
    return calculate(room, 0.0)


@pytest.mark.parametrize("seed", range(20))
def test_company_changes_no_bit(seed):
    numbers = np.random.default_rng(seed).normal(size=(4, LANES)) * 5
    together = numbers.ravel().copy()
    turns = calculate_together(together)
    alone = [numbers[:, lane].copy() for lane in range(LANES)]
    assert turns == max(calculate_alone(room) for room in alone)
    assert np.array_equal(together.reshape(4, LANES), np.transpose(alone))
    assert np.isfinite(together).all() and np.ptp(together[3 * LANES :]) > 0
