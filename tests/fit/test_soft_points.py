"""Torsional and rolling friction found from contacts."""

import pytest

import stiction
from stiction import Body, Material
from stiction.fit.material_points import observe
from stiction.fit.material_residual import causes_of

BOX = Body.box((0.2, 0.3, 0.4), 1.0)


def test_torsion_and_rolling_are_found_where_contacts_show_them():
    data = stiction.collect(BOX, Material.soft(0.4, torsion=0.01, rolling=0.003), throws=12, seed=0)
    found = stiction.train_material(data, seed=0)
    assert found.torsion == pytest.approx(0.01, rel=1e-6) and found.rolling == pytest.approx(0.003, rel=1e-6)
    assert found.info["structure"]["depends_on"] == "torsion + rolling"
    assert found.info["held_out"]["all"]["friction_error"] < 1e-6


def test_hard_contacts_are_not_taken_for_soft_ones():
    data = stiction.collect(BOX, Material.coulomb(0.4), throws=12, seed=0)
    found = stiction.train_material(data, seed=0)
    assert found.torsion is None and found.rolling is None


def test_torques_that_were_learned_are_not_named_as_missing():
    data = stiction.collect(BOX, Material.soft(0.4, torsion=0.01, rolling=0.003), throws=12, seed=0)
    parts = observe([data])
    hard, soft = (causes_of(one, parts, 0) for one in (Material.coulomb(0.4), stiction.train_material(data, seed=0)))
    assert any("spin torque" in cause for cause in hard) and any("rolling" in cause for cause in hard)
    assert soft == []
