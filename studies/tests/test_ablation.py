"""The ablation: variations differ from each other, verdicts follow the figures, the second network sees the effect."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("plotly", reason="plotly is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from contact_states import described_by, random_contacts, twist_after
from stiction import Kind, _core
from stiction.laws.inputs import Inputs
from stiction_studies.paper.ablation import GROUPS, VARIATIONS, varied_inputs, verdict, with_effect


def test_variations_have_names_of_their_own_and_a_group():
    assert len({(v.group, v.name) for v in VARIATIONS}) == len(VARIATIONS)
    assert {v.group for v in VARIATIONS} == set(GROUPS)
    for variation in VARIATIONS:
        varied_inputs(variation, Inputs(friction=(1.0, 1.0)))  # refuses what makes no sense


def test_a_rough_guess_is_off_by_a_fifth():
    (rough,) = [v for v in VARIATIONS if "rough" in v.name]
    assert varied_inputs(rough, Inputs(friction=(1.0, 0.5))).friction == pytest.approx((0.8, 0.4))


def test_verdicts_follow_the_figures():
    def row(error, spread=0.0):
        return {"name": "other", "friction_error": error, "spread": spread}

    assert verdict(row(0.01), [row(0.02), row(0.03)]).startswith("confirmed, 1 % against 2 %")
    assert verdict(row(0.03), [row(0.02)]).startswith("not confirmed")
    assert verdict(row(0.02, 0.02), [row(0.03)]).startswith("neither")


def test_the_second_network_sees_what_the_first_friction_leaves(box):
    """Of a point: u' = u + K f, with the friction really applied to the body while its point stays down."""
    contacts = random_contacts(box, 400, np.random.default_rng(1))
    inputs = Inputs(fold="none", guess=False)
    compared, mobility = 0, contacts.inverse_inertia
    described = described_by(contacts, inputs.recipe(box.mass))
    for i, c in enumerate(contacts.record):
        if c.kind != Kind.POINT or i not in described:
            continue
        x, answer = c.features[None, : inputs.size(Kind.POINT)].copy(), np.array([[0.1, -0.05]])
        p_f = _core.friction_from(contacts, i, np.array([0.1, -0.05, 0.0]))
        point, N0 = np.array(c.centre), c.unit_impulse
        up = np.r_[0, 0, 1, point[1], -point[0], 0]
        rub = np.r_[p_f[:2], 0, np.cross(point, [p_f[0], p_f[1], 0])]
        before = twist_after(contacts, i, N0 * up)
        v = twist_after(contacts, i, N0 * up + rub)
        v += -(up @ (v - before)) / (up @ mobility[i] @ up) * (mobility[i] @ up)
        left = box.mass * (v[:2] + np.cross(v[3:], point)[:2]) / N0
        assert with_effect(x, answer)[0, -2:] == pytest.approx(left / (1 + np.abs(left)), abs=1e-6)
        compared += 1
    assert compared > 50
