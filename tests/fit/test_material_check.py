"""Which of two laws is kept: the one that forecasts throws better, beyond the luck of the draw."""

import numpy as np
import pytest

from stiction.fit.material_check import Comparison, Forecasts

ERRORS = np.array([0.1, 0.2, 0.3, 0.2])


def compared(*more: float, every: Comparison | None = None) -> Comparison:
    """Four throws in which the errors of the material are this much greater."""
    return Comparison(Forecasts(ERRORS + more), Forecasts(ERRORS), every)


@pytest.mark.parametrize(
    ("held_out", "every", "loses"),
    [
        ((0.1, 0.1, 0.1, 0.1), None, True),  # clearly worse
        ((0.3, -0.1, 0.2, -0.1), None, False),  # worse on the mean, by less than two standard errors
        ((0.3, -0.1, 0.2, -0.1), (0.01, 0.0, 0.0, 0.0), True),  # all throws agree
        ((0.3, -0.1, 0.2, -0.1), (-0.01, 0.0, 0.0, 0.0), False),  # they do not
        ((0.01, 0.0, 0.0, 0.0), (0.1, 0.0, 0.1, 0.0), True),  # luck alone on held-out throws, but not on all
        ((-0.01, 0.0, 0.0, 0.0), (0.1, 0.0, 0.1, 0.0), False),
        ((0.01, 0.0, 0.0, 0.0), (0.01, 0.0, 0.0, 0.0), False),
        ((-0.1, -0.1, -0.1, -0.1), (-0.1, -0.1, -0.1, -0.1), False),
    ],
)
def test_the_law_that_forecasts_better_is_kept(held_out, every, loses):
    found = compared(*held_out, every=None if every is None else compared(*every))
    assert found.loses is loses
    assert found.to_dict()["kept"] == ("coulomb" if loses else "material")


def test_a_single_throw_decides_nothing():
    assert not Comparison(Forecasts(np.array([0.5])), Forecasts(np.array([0.1]))).loses


def test_a_material_that_forecasts_well_is_kept_unless_another_law_is_clearly_better():
    good = np.array([1e-3, 1e-3, 1e-3, 0.1])
    every = compared(0.1, 0.0, 0.1, 0.0)
    assert not Comparison(Forecasts(good), Forecasts(1e-3 * good), every).loses
