"""From a data set to a law and its figures: the three commands, at small scale."""

import json

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import stiction
from conftest import random_states
from stiction import AugmentedLaw, CoulombLaw, DataSet, InputError, Mode, State, load, rollout
from stiction.cli import main
from stiction.training.examples import read_instances
from stiction.training.settings import Switches


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sixty throws of a box in the analytic ground truth."""
    out = tmp_path_factory.mktemp("data") / "box"
    options = ["--throws", "60", "--steps", "500", "--truth", "coulomb-box", "--friction", "0.6", "--workers", "1"]
    assert main(["collect", "box", "--out", str(out), *options]) == 0
    return out


@pytest.mark.slow
def test_three_commands_give_a_law_worth_simulating_with(folder, tmp_path, capsys):
    path, figures = tmp_path / "box.safetensors", tmp_path / "figures.json"
    assert main(["train", str(folder), "--out", str(path), "--steps", "400"]) == 0
    assert main(["evaluate", str(path), "--contacts", "500", "--json", str(figures)]) == 0
    law = load(path)
    assert isinstance(law, AugmentedLaw)
    kinds = json.loads(figures.read_text())["kinds"]
    print(capsys.readouterr().out)
    assert set(kinds) == {"point", "line", "surface"}
    for figure in kinds.values():
        assert figure["accuracy"] > 0.97 and figure["friction_error"] < 0.03 and figure["impulse_error"] < 0.03
    start = random_states(np.random.default_rng(99), 30)
    wanted, got = rollout(CoulombLaw(law.body, 0.6, cone="dart"), start, 500), rollout(law, start, 500)
    error = np.linalg.norm(got.position[:, -1] - wanted.position[:, -1], axis=1)
    travelled = np.linalg.norm(wanted.position[:, -1, :2] - wanted.position[:, 0, :2], axis=1).mean()
    print(f"final position error: median {np.median(error) / travelled:.2%}, mean {error.mean() / travelled:.2%}")
    assert np.median(error) < 0.01 * travelled
    resting = rollout(law, rollout(law, State([0, 0, 0.2]), 3000).state(), 3000)
    assert np.abs(resting.position - resting.position[0]).max() < 1e-12 and (resting.mode == Mode.STATIC).all()


@pytest.mark.slow
def test_the_baseline_is_evaluated_in_the_same_way(folder, tmp_path):
    path, figures = tmp_path / "pdd.safetensors", tmp_path / "figures.json"
    how = ["--law", "statistical", "--steps", "500", "--fold", "mirror"]
    assert main(["train", str(folder), "--out", str(path), *how]) == 0
    assert main(["evaluate", str(path), "--contacts", "300", "--json", str(figures)]) == 0
    for figure in json.loads(figures.read_text())["kinds"].values():
        assert "accuracy" not in figure and 0 < figure["impulse_error"] < 0.2


@pytest.mark.slow
def test_a_law_says_where_it_comes_from(folder):
    law = stiction.train(folder, steps=20, most=1000, hidden=(16,), switches=Switches(guess=False, fold="none"))
    data = DataSet(folder)
    assert law.info["data"] == data.fingerprint and law.info["plan"]["truth"]["friction"] == [0.6]
    assert law.body.same_as(data.body)


def test_instances_can_be_thinned(folder):
    data = DataSet(folder)
    few = read_instances(data, 50, seed=1)
    assert len(few) == 150 and np.array_equal(few.throw, read_instances(data, 50, seed=1).throw)


def test_wrong_files_are_named(folder, tmp_path, capsys):
    with pytest.raises(InputError, match=r"--out must name a .safetensors file, got .*law.txt"):
        stiction.train(folder, out=tmp_path / "law.txt")
    AugmentedLaw.untrained(DataSet(folder).body).save(tmp_path / "untrained.safetensors")
    assert main(["evaluate", str(tmp_path / "untrained.safetensors")]) == 2
    assert "does not say what it was trained on" in capsys.readouterr().err
