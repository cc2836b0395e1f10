"""The test bed of identification: its truths are what they claim to be, and its shares are counted right."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("pybullet")
pytest.importorskip("dartpy")

from stiction import InputError
from stiction.bodies.state import State
from stiction.simulation.motion import Setting
from stiction_studies.engines.worlds import BULLET, DART, MUJOCO, load_engine
from stiction_studies.recordings import testbed, testbed_tables, truths
from stiction_studies.recordings.truths import PYRAMIDS, SLIDING, SOFT, Recorded, Truth, friction, restitution


@pytest.mark.parametrize("engine", [MUJOCO, BULLET, DART])
def test_a_recording_is_reproducible_by_its_seed(engine, tmp_path):
    truth, how = Truth(engine, "frustum", stiffness=SOFT), Recorded(2, SLIDING, 60)
    for name, seed in (("one", 3), ("same", 3), ("other", 4)):
        truths.record(truth, how, 1, seed, tmp_path / f"{name}.npz")
    one, same, other = (np.load(tmp_path / f"{name}.npz")["states"] for name in ("one", "same", "other"))
    assert np.array_equal(one, same) and not np.array_equal(one[:20], other[:20])


def test_an_elliptic_cone_has_its_nominal_friction_in_all_directions():
    truth = Truth(MUJOCO, "wedge", 0.4, stiffness=SOFT)
    assert [friction(truth, angle) for angle in (0.0, 0.4, 0.8)] == pytest.approx([0.4] * 3, abs=0.002)


def test_a_pyramid_has_less_friction_on_its_diagonals_and_a_box_more():
    diagonal = np.pi / 4
    assert friction(Truth(PYRAMIDS, "box", 0.4, stiffness=SOFT), diagonal) == pytest.approx(0.4 / np.sqrt(2), abs=0.005)
    assert friction(Truth(DART, "box", 0.4), diagonal) == pytest.approx(0.4 * np.sqrt(2), abs=0.005)


def test_friction_that_falls_with_speed_acts_as_stated():
    truth = Truth(MUJOCO, "box", 0.4, falls="speed", stiffness=SOFT)
    assert friction(truth, speed=0.6) == pytest.approx(truth.coefficient(0.6, 3.0), rel=0.05)
    assert truth.coefficient(0.0, 3.0) == pytest.approx(0.6)
    with pytest.raises(InputError, match="in MuJoCo's truths only"):
        replace(truth, engine=DART)


@pytest.mark.parametrize("engine", [MUJOCO, BULLET, DART])
def test_a_livelier_truth_bounces_higher(engine):
    low, high = (restitution(Truth(engine, "box", restitution=e, stiffness=SOFT)) for e in (0.0, 0.5))
    assert low < 0.1 and 0.45 < high < 0.6


@pytest.mark.parametrize("engine", [MUJOCO, BULLET, DART])
def test_a_hull_comes_to_rest_on_its_face(engine):
    body = Truth(engine, "frustum", size=1.0, com=(0.0, 0.0, 0.0)).body
    contact = {"friction": 0.5, "restitution": 0.1, "spinning": 0.0}
    contact |= {"torsion": 0.001, "time_constant": 0.01, "damping_ratio": 1.0}
    start = State(np.array([[0.0, 0.0, 0.05]]), np.array([[1.0, 0.0, 0.0, 0.0]]), np.zeros((1, 3)), np.zeros((1, 3)))
    setting = Setting(0.01, np.array([0.0, 0.0, -9.81]))
    position, quaternion = load_engine(engine).toss(body, start, 60, setting, contact)
    assert position.shape == (1, 61, 3) and position[0, -1, 2] == pytest.approx(0.03, abs=5e-4)
    assert abs(quaternion[0, -1, 0]) == pytest.approx(1.0, abs=1e-3)


def _row(one: testbed.TossSet, answers: dict) -> tuple:
    true = {"friction": [(0.3, 0.4)], "restitution": [(0.2, 0.2)], "com": [(0.0, 0.0)] * 3}
    true |= {"inertia": [(1.0, 1.0)], "size": [(1.0, 1.0)]}
    return one, {"truth": true, "answers": answers, "forecasts": {}, "refused": None}


def test_intervals_are_counted_by_components_and_unobserved_ones_apart():
    half = {"friction": [(0.45, 0.1)], "restitution": [None], "com": [(0.0, 1.0), (1.5, 1.0), (3.0, 1.0)]}
    half |= {"inertia": [(1.0, 0.1)], "size": [(1.1, 0.05)]}
    rows = [_row(testbed.QUICK[0], half), _row(testbed.QUICK[2], {})]
    assert testbed_tables.offs(rows, "friction").tolist()[:1] == pytest.approx([0.5])  # from the end of the range
    lines = {line[0]: line[1:] for line in testbed_tables.coverage_table(rows).rows}
    assert lines["friction in sliding"][:4] == ["1", "1", "100 %", "100 %"]
    assert lines["restitution at 1 m/s"] == ["0", "2", "-", "-", "-"]
    assert lines["centre of mass"][:4] == ["3", "3", "33.3 %", "66.7 %"]
    assert lines["size"][2:4] == ["0 %", "0 %"]
    assert testbed_tables.coarse_table(rows).rows[0][1] == "0 of 1"  # only the second set is coarse
    assert len(testbed_tables.columns(rows)["set"]) == 14


def test_a_verdict_is_preferred_and_keeps_what_was_not_observed():
    verdict = {
        "friction_sliding": {"value": None, "error": None, "observed": False, "speeds": None},
        "restitution": {"value": 0.3, "error": 0.02, "observed": True},
        "com": {"value": [0.0, 1e-3, 2e-3], "error": [1e-4] * 3},
        "inertia": {"value": 1.05, "error": 0.02},
        "size": {"value": 1.01, "error": 0.003},
    }
    found = testbed.answers(SimpleNamespace(law=SimpleNamespace(info={"verdict": verdict})))  # type: ignore[arg-type]
    assert found["friction"] == [None] and found["restitution"] == [(0.3, 0.02)]
    assert found["com"][2] == (2e-3, 1e-4) and found["size"] == [(1.01, 0.003)]


def test_the_list_has_what_it_states():
    sets = testbed.SETS
    assert len(sets) >= 40 and len(set(sets)) == len(sets)
    assert {one.truth.engine for one in sets} == {MUJOCO, PYRAMIDS, BULLET, DART}
    assert {one.truth.shape for one in sets} == {"box", "frustum", "wedge", "capsule hull"}
    assert {one.how.tosses for one in sets} == {12, 50} and sum(one.is_coarse for one in sets) >= 8


def test_a_quick_set_is_identified_and_forecast(tmp_path):
    figures = testbed._kept_figures(2, tmp_path, "v", testbed.QUICK[1], 0)
    assert figures["refused"] is None and set(figures["forecasts"]) == {testbed.OURS, MUJOCO, testbed.COULOMB}
    again = testbed._kept_figures(2, tmp_path, "v", testbed.QUICK[1], 0)  # as it was kept
    assert again["answers"].keys() == figures["answers"].keys() and len(list(tmp_path.iterdir())) == 1
