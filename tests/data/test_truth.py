"""An identified law as ground truth: the paper's networks can be trained on a real material."""

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from stiction import DataSet, rollout
from stiction.cli import main
from toss_files import LAW, starts


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "cube.safetensors"
    LAW.save(path)
    return path


def test_the_command_throws_the_body_of_a_law_with_its_gravity(path, tmp_path):
    options = ["--throws", "2", "--steps", "40", "--workers", "1"]
    assert main(["collect", "--law", str(path), "--out", str(tmp_path / "set"), *options]) == 0
    data = DataSet(tmp_path / "set")
    assert data.body.same_as(LAW.body) and data.plan.gravity == LAW.gravity
    run = data.plan.truth.throw(LAW.body, starts(2, 0), 40, timestep=0.002)
    assert np.array_equal(run.position, rollout(LAW, starts(2, 0), 40, timestep=0.002, substeps=0).position)


@pytest.mark.parametrize("body", [["box", "--law", "cube"], []])
def test_either_a_body_or_a_law_is_thrown(body, tmp_path, capsys):
    assert main(["collect", *body, "--out", str(tmp_path / "set")]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "Give a BODY" in message and "or --law" in message
