"""The three-link chain: with the analytic law as DART swings it, with the learned law nearly so."""

from typing import Any, cast

import numpy as np
import pytest

pytest.importorskip("dartpy")
pytest.importorskip("mujoco")

from stiction import CoulombLaw, load
from stiction_studies.robots import chain_model


@pytest.fixture(scope="module")
def truth() -> chain_model.Swing:
    return chain_model.swing_in_dart(np.zeros(3), 1000)


def test_analytic_law_follows_dart(truth):
    law = CoulombLaw(chain_model.LINK, chain_model.FRICTION, cone="round", softness=0.0)
    ours = chain_model.swing_with(law, np.zeros(3), 1000, tolerance=1e-6)
    assert np.abs(ours.angle - truth.angle).max() < 1e-6
    assert np.abs(ours.joint_force - truth.joint_force).max() < 1e-2
    touching = ours.kind > 0
    assert touching.sum() > 300
    assert ours.evaluations[touching].mean() < 6
    assert not ours.unsolved.any()


def test_law_of_the_free_link_works_in_the_chain(truth):
    """The shipped law knows throws of one link only."""
    ours = chain_model.swing_with(cast(Any, load("link")), np.zeros(3), 1000)
    assert np.abs(ours.angle - truth.angle).max() < 0.05
    assert ours.evaluations[ours.evaluations > 0].mean() < 6
    assert ours.unsolved.sum() < 0.005 * (ours.kind > 0).sum()
    assert ours.outside.sum() < 0.01 * (ours.kind > 0).sum()
