"""A killed training goes on where it was stopped, to the same bytes."""

import subprocess
import sys
import time

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import numpy as np

from stiction.cli import main
from stiction.laws.approximators import Network
from stiction.training.training import Checkpoint


def network(seed: int) -> Network:
    return Network.random([4, 8, 2], np.random.default_rng(seed))


def test_what_was_put_is_found_by_the_same_training_only(tmp_path):
    path = tmp_path / "law.training"
    Checkpoint(path, {"seed": 1}).put("point regressor", network(1))
    again = Checkpoint(path, {"seed": 1})
    found = again.get("point regressor")
    assert isinstance(found, Network) and np.array_equal(found.weights[0], network(1).weights[0])
    assert len(again) == 1 and again.get("line regressor") is None
    assert len(Checkpoint(path, {"seed": 2})) == 0
    again.remove()
    assert not path.exists() and len(Checkpoint(path, {"seed": 1})) == 0


def test_a_file_that_was_cut_off_counts_as_none(tmp_path):
    path = tmp_path / "law.training"
    Checkpoint(path, {}).put("a", network(1))
    path.write_bytes(path.read_bytes()[:50])
    assert len(Checkpoint(path, {})) == 0


@pytest.mark.slow
def test_a_killed_training_goes_on_to_the_same_bytes(tmp_path):
    data, wanted, out = tmp_path / "data", tmp_path / "wanted.safetensors", tmp_path / "law.safetensors"
    options = ["--throws", "12", "--steps", "300", "--truth", "coulomb-box", "--friction", "0.6", "--workers", "1"]
    assert main(["collect", "box", "--out", str(data), *options]) == 0
    how = ["--steps", "100", "--no-guess", "--fold", "mirror"]
    command = [sys.executable, "-m", "stiction", "train", str(data), "--out", str(out), *how]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    unfinished, patience = out.with_name(out.name + ".training"), time.monotonic() + 120
    while not unfinished.exists() and process.poll() is None and time.monotonic() < patience:
        time.sleep(0.005)
    process.kill()
    output = process.communicate()[1]
    assert unfinished.exists() and not out.exists(), output
    assert main(["train", str(data), "--out", str(out), *how]) == 0
    assert not unfinished.exists()
    assert main(["train", str(data), "--out", str(wanted), *how]) == 0
    assert out.read_bytes() == wanted.read_bytes()
