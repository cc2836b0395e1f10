"""The bench: what it measures is whole and finite, what is not installed is left out, and what it writes can be read.

No test looks at how long anything takes.
"""

import json
import os
import sys
from dataclasses import replace

import numpy as np
import pytest

from stiction import InputError, State, load, rollout
from stiction.cli import main
from stiction_studies import timing
from stiction_studies.speed import bench_run, bench_throws, fresh_processes
from stiction_studies.speed.bench_case import SCALES, Measured, Phase, Who, friction_of, spread, table
from stiction_studies.study import markdown

SMALLEST = replace(
    SCALES["quick"], repeats=1, rounds=1, throws=2, batch=4, limit=0.05, steps=150, swing_steps=600, points=(4, 16)
)
PEERS = {"mujoco": (Who.MUJOCO, Who.MUJOCO_ROLLED), "dartpy": (Who.DART,), "pybullet": (Who.BULLET,)}


def progress(what: str, turns: int):
    return lambda: None


def hide(monkeypatch, package: str) -> None:
    """As if a package were not installed."""
    monkeypatch.setitem(sys.modules, package, None)
    for name in [
        name
        for name in sys.modules
        if name.startswith(("stiction_studies.engines.", "stiction.mujoco", "stiction.dart"))
    ]:
        monkeypatch.delitem(sys.modules, name)


def all_figures(measured: Measured) -> list[float]:
    return [value for figures in measured.figures.values() for value in figures.values()]


def test_thrown_box_has_costs_of_flight_and_contact_and_ratios():
    for package in PEERS:
        pytest.importorskip(package)
    found = bench_throws.run_one(SMALLEST, 0, progress)
    assert set(found.figures) == {Who.STEPPED, Who.ROLLED, Who.MUJOCO, Who.MUJOCO_ROLLED, Who.DART, Who.BULLET}
    for name in (Who.STEPPED, Who.MUJOCO, Who.DART, Who.BULLET):
        assert set(found.figures[name]) == {Phase.FLIGHT, Phase.CONTACT, Phase.WHOLE}
    assert all(0 < value < 1e5 for value in all_figures(found))
    assert all(0.1 < share < 0.9 for share in found.extra["contact_share"].values())
    assert found.ratio(Who.MUJOCO_ROLLED, Phase.WHOLE) == pytest.approx(
        found.figures[Who.MUJOCO_ROLLED][Phase.WHOLE] / found.figures[Who.ROLLED][Phase.WHOLE]
    )


@pytest.mark.parametrize("package", PEERS)
def test_an_engine_that_is_not_installed_is_left_out_with_a_word(package, monkeypatch):
    hide(monkeypatch, package)
    found = bench_throws.run_one(replace(SMALLEST, steps=5), 0, progress)
    assert not set(PEERS[package]) & set(found.figures) and Who.STEPPED in found.figures
    assert f"{PEERS[package][0].partition(',')[0]} is not installed and was left out." in found.notes


def test_every_case_of_states_and_worlds_runs_and_is_written(tmp_path, monkeypatch, capsys):
    for package in (*PEERS, "matplotlib"):
        pytest.importorskip(package)
    monkeypatch.setitem(SCALES, "quick", SMALLEST)
    files = {"out": tmp_path, "plot": tmp_path / "b.png"}
    bench_run.run("quick", only=("batch", "materials", "points", "chain", "quadruped", "profile"), repeat=2, **files)
    content = json.loads((tmp_path / "bench" / "results.json").read_text())
    assert content["parameters"] == {"scale": "quick", "seed": 0, "repeat": 2}
    assert [list(run) for run in content["runs"]] == [
        ["batch", "materials", "points", "chain", "quadruped", "profile"]
    ] * 2
    points = content["runs"][0]["points"]
    assert points["parts"]["MuJoCo, spheres"]["16"]["points_kept"] == 16
    assert points["parts"]["Bullet, mesh"]["16"]["points_kept"] <= 4
    assert all(len(target["measured"]) == 2 for target in content["targets"]) and content["targets"]
    assert files["plot"].read_bytes().startswith(b"\x89PNG")
    printed, written = capsys.readouterr().out, (tmp_path / "bench" / "tables.md").read_text()
    for title in ("Many thrown boxes", "N contact points", "Three-link chain", "Quadruped", "A batch step", "Aims"):
        assert title in printed and title in written


def test_body_steps_that_repeat_the_one_before_are_counted():
    law = load("box")
    lying = State(np.tile([0.0, 0.0, 0.2], (2, 1)), velocity=[[0, 0, 0], [0, 0, 1.0]])
    assert bench_throws.repeated_share(rollout(law, lying, 10)) == 9 / 20  # the second one flies


def test_fresh_processes_report_their_time_and_memory():
    once = replace(SMALLEST, rounds=0, bodies=(300,))
    seconds = fresh_processes.start(once, 0, progress).figures
    works = fresh_processes.ANALYTIC, fresh_processes.LEARNED, fresh_processes.ROBOT
    assert all(0 < seconds[name]["s"] for name in works) and np.isfinite(seconds[fresh_processes.IMPORT]["s"])
    assert 20 < fresh_processes.memory(once, 0, progress).figures["300 bodies"]["MB"] < 2000


def test_tables_show_the_spread_of_ratios_over_runs():
    runs = [
        Measured("Boxes", "µs", ["whole"], {"ours": {"whole": a}, "theirs": {"whole": 6.0}}, {"theirs": "ours"})
        for a in (2.0, 3.0)
    ]
    shown = table(runs)
    assert shown.rows == [["ours", "2.50"], ["theirs", "6.00 (2.00–3.00)"]]
    assert "| theirs | 6.00 (2.00–3.00) |" in markdown([shown])
    assert spread([1234.5, 1234.5]) == "1,234" and spread([0.0123]) == "0.0123"


def test_targets_without_their_case_are_left_out():
    assert bench_run.target_table([{}]).rows == []


def test_least_times_are_of_each_piece_after_one_round_to_warm_up():
    turns = iter([[0.0, 0.0], [3.0, 1.0], [2.0, 5.0]])
    found = timing.least_times({"one": lambda: np.array(next(turns))}, 2, lambda: None)
    assert found["one"].tolist() == [2.0, 1.0]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no threads")
def test_pinning_ends_with_the_block():
    before = os.sched_getaffinity(0)
    with timing.pinned():
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before


def test_a_plot_without_its_case_is_refused(tmp_path):
    with pytest.raises(InputError, match="The plot shows the case points"):
        bench_run.run("quick", only=("throw",), plot=tmp_path / "b.png")


def test_peers_get_the_friction_that_the_law_was_learned_with():
    law = load("box")
    assert friction_of(law) == pytest.approx(law.inputs.friction[0], rel=0.01)


def test_two_scales_at_once_are_refused(capsys):
    assert main(["bench", "--quick", "--full"]) == 2
    assert capsys.readouterr().err == "stiction: Give --quick or --full, not both.\n"
