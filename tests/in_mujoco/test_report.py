"""The report of a run in MuJoCo."""

import copy
import json
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import stiction
from stiction.mujoco import Simulation
from stiction.mujoco.report import report_of

mujoco: Any = pytest.importorskip("mujoco")

FLOOR = '<geom name="floor" type="plane" size="5 5 1"/>'
MESH = '<asset><mesh name="brick" vertex="{}"/></asset>'


def simulation(bodies: str, laws: Any, assets: str = "", **options: Any) -> Simulation:
    text = f"<mujoco>{assets}<worldbody>{FLOOR}{bodies}</worldbody></mujoco>"
    return Simulation(mujoco.MjModel.from_xml_string(text), laws=laws, **options)


def box(name: str, height: float, half: float = 0.05) -> str:
    geom = f'<geom type="box" size="{half} {half} {half}" mass="1"/>'
    return f'<body name="{name}" pos="0 0 {height}"><freejoint/>{geom}</body>'


def test_a_stack_is_reported_with_its_pairs_and_the_time_spent():
    sim = simulation(box("a", 0.05) + box("b", 0.15), {"*": 0.5})
    sim.step(170)
    report = sim.report()
    assert (report.steps, report.contact_steps, report.unsolved, report.most_points) == (170, 170, 0, 8)
    assert report.points == pytest.approx(8.0) and report.rounds == 1.0
    assert [str(one) for one in report.pairs] == ["'floor'-'a'", "'a'-'b'"]
    assert all(one.steps == 170 and one.points == 4.0 and one.unsolved == 0 for one in report.pairs)
    assert set(report.seconds) == {"detection", "constraints", "free motion", "solving", "integration", "recovery"}
    assert 0.0 < report.seconds["solving"] < sum(report.seconds.values()) < 10.0
    assert report.advice == "All contact steps were solved."
    text = str(report)
    assert repr(report) == text and "'a'-'b': 170 steps, 4.0 points" in text and "unsolved  none" in text


def test_a_report_survives_json_copies_and_pickles():
    sim = simulation(box("a", 0.05), {"*": 0.5})
    sim.step(40)
    report = sim.report()
    assert json.loads(json.dumps(report.to_dict()))["pairs"][0]["names"] == ["floor", "a"]
    for twin in (copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))):
        assert twin.report() == report
        twin.step()
        assert twin.report().steps == 41 and twin.report().pairs[0].steps == 41
    assert sim.report() == report
    sim.reset()
    assert sim.report().contact_steps == 0 and not sim.report().pairs and not sum(sim.report().seconds.values())


def test_advice_before_and_without_contact():
    sim = simulation(box("a", 1.0), {"a": 0.5})
    assert sim.report().advice == "No step was taken yet." and "not measured" in str(sim.report())
    sim.step(10)
    assert sim.report().advice.startswith("No contact with a law so far")


def test_advice_on_penetration_names_the_pair_and_its_cause():
    sim = simulation(box("a", 0.05) + box("b", 0.13), {"*": 0.5})
    sim.step(5)
    assert sim.report().advice.startswith("'a'-'b' overlapped by up to 20 mm, 20 % of the thinner one, at the start")
    sim = simulation(box("a", 0.05) + box("b", 0.3), {"*": 0.5}, gap=1e-4)
    sim.data.qvel[8] = -20.0
    sim.step(5)
    assert "'a'-'b' penetrated by up to" in sim.report().advice and "time step of 0.002 s" in sim.report().advice


def counted(rows: Any, *, unsolved: int, solving: int = 0) -> Any:
    """What a native step would have counted in 1,000 steps: see core/mujoco/run_statistics.hpp."""
    residuals = np.zeros(200, dtype=np.int64)
    residuals[80] = unsolved  # 1e-8
    counts = np.array([1000, 9000, 12, 1000, 50, 10, 10, 10, solving, 10, 10], dtype=np.int64)
    return SimpleNamespace(
        run_statistics=(np.concatenate([counts, residuals]), 1.2e-8, np.array(rows, dtype=float).reshape(-1, 7)),
        all_contact_steps=1000, unsolved=unsolved, rounds=1000, newton_steps=3000,
    )  # fmt: skip


BRICK = '<body name="brick"><freejoint/><geom type="mesh" mesh="brick" mass="1"/></body>'
MODEL = (
    f"<mujoco>{MESH.format('0 0 0 .1 0 0 0 .1 0 0 0 .1')}<worldbody>{FLOOR}{box('a', 1)}{BRICK}</worldbody></mujoco>"
)


@pytest.mark.parametrize(
    ("rows", "unsolved", "solving", "advice"),
    [
        (
            [[0, 1, 900, 0, 3600, 0, 0], [1, 2, 900, 20, 1800, 0, 0]],
            20,
            0,
            "Unsolved steps (2 %) concern 'a'-'brick': try",
        ),
        ([[1, 2, 900, 20, 18000, 0, 0]], 20, 0, "Unsolved steps (2 %) concern 'a'-'brick'; 'a'-'brick' has 20 points"),
        ([[1, 2, 900, 0, 18000, 0, 0]], 0, 90, "Most of the time is spent on solving, with 20 points at 'a'-'brick'"),
        ([[1, 2, 900, 0, 18000, 0, 0]], 0, 10, "All contact steps were solved."),
        ([[0, 1, 900, 1, 3600, 0, 0]], 1, 0, "All contact steps but 1 were solved."),
        ([[0, 1, 900, 1, 3600, 0.02, 0]], 1, 0, "'floor'-'a' penetrated by up to 20 mm, 20 % of the thinner one"),
    ],
)
def test_advice_follows_what_was_counted(rows, unsolved, solving, advice):
    report = report_of(
        counted(rows, unsolved=unsolved, solving=solving), mujoco.MjModel.from_xml_string(MODEL), {}, 1000
    )
    assert report.advice.startswith(advice)


def test_unsolved_steps_are_reported_with_their_residuals_and_bodies():
    rows = [[0, 1, 900, 0, 3600, 0, 0], [1, 2, 900, 20, 1800, 0, 0]]
    report = report_of(counted(rows, unsolved=20), mujoco.MjModel.from_xml_string(MODEL), {}, 1000)
    assert report.residual == 1.2e-8 and report.median_residual == pytest.approx(1.12e-8, rel=0.01)
    assert str(report.pairs[0]) == "'a'-'brick'"
    assert "20 steps, 2 % of those with contact; relative residual: median 1e-08, greatest 1e-08" in str(report)
    assert "'a'-'brick': 900 steps, 2.0 points, 20 unsolved" in str(report)


def test_learned_laws_have_a_line_each():
    law = stiction.CoulombLaw(stiction.Body.box(size=(0.1, 0.1, 0.1), mass=1.0), 0.5)
    sim = simulation(box("a", 0.05), {"a": law})
    sim.step(20)
    report = sim.report()
    assert report.contact_steps == 20 and report.laws[0].key == "a" and report.laws[0].steps == 20
    assert "law       a: 20 steps, 0 unsolved" in str(report)
