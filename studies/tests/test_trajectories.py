"""The studies end to end, at a small scale: what they write, and that one that fails does not stop the others."""

import json

import numpy as np
import pytest

from stiction.cli import main
from stiction_studies.catalogue import STUDIES
from stiction_studies.paper import trajectories
from stiction_studies.study import number

pytest.importorskip("dartpy")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def small(monkeypatch):
    """One body, three throws."""
    monkeypatch.setattr(trajectories, "CASES", trajectories.CASES[:1])
    monkeypatch.setattr(trajectories, "SCALES", {"quick": trajectories.Scale(throws=3, at_rest=1)})


@pytest.mark.slow
def test_trajectories_write_figures_of_every_throw(tmp_path, small, capsys):
    assert main(["reproduce", "trajectories", "--quick", "--out", str(tmp_path)]) == 0
    figures = json.loads((tmp_path / "trajectories" / "results.json").read_text())
    [case] = figures["cases"]
    assert set(case["runs"]) == {"DART", "stiction", "PDD", "DART ± 1e-6", "DART ± 1e-4", "DART ± 1e-3"}
    ours = case["runs"]["stiction"]
    assert ours["right_face"] == 1.0 and ours["position"]["share_mean"] < 0.05
    assert ours["drift_10_s_m"]["max"] < 1e-12 and ours["greatest_energy_gain_J"] < 1e-12
    assert case["runs"]["DART"]["position"]["mean"] == 0.0
    rows = pq.read_table(tmp_path / "trajectories" / "rows.parquet").to_pylist()
    assert len(rows) == 6 * 3 and {row["throw"] for row in rows} == {0, 1, 2}
    mean = sum(row["position"] for row in rows if row["run"] == "stiction") / 3
    assert mean == pytest.approx(ours["position"]["mean"])
    assert "Right face" in capsys.readouterr().out


def test_a_run_that_diverged_or_sank_has_no_drift():
    plan = trajectories.plan_of(trajectories.load("box"))
    start = trajectories.fresh_starts(plan, 3, 0)
    run = trajectories.rollout(trajectories.load("box"), start, 3)
    run.position[0, -1] = float("nan")
    run.position[1, -1, 2] = -1.0

    def resume(state):
        assert state.batch_shape == (1,)
        return trajectories.throw_truth(plan, state, trajectories.SETTLING_STEPS + 5)

    drift = trajectories.drifts(plan, run, resume)
    assert np.isnan(drift).tolist() == [True, True, False]
    assert trajectories.drift_summary(drift)["lost"] == 2 and trajectories.drift_summary(drift[:2])["max"] is None


def test_fresh_starts_do_not_depend_on_their_number():
    plan = trajectories.plan_of(trajectories.load("box"))
    few, many = trajectories.fresh_starts(plan, 2, 5), trajectories.fresh_starts(plan, 4, 5)
    assert (many.position[:2] == few.position).all() and (many.quaternion[:2] == few.quaternion).all()


def test_all_names_what_failed_and_runs_the_others(tmp_path, monkeypatch, capsys):
    ran = []

    def reproduce(name, out, scale, seed, data):
        ran.append(name)
        if name in ("events", "slope"):
            raise OSError("the disk is full")

    monkeypatch.setattr("stiction_studies.reproduce.run", reproduce)
    assert main(["reproduce", "all", "--quick", "--out", str(tmp_path)]) == 1
    assert len(ran) == len(set(ran)) >= 7
    assert f"2 of {len(STUDIES)} studies failed: events, slope." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (1234.5, "1,234"), (0.12345, "0.123"), (2.34e-5, "2.3e-5"), (-0.5, "-0.5")]
)
def test_numbers_have_three_digits(value, text):
    assert number(value) == text
