"""The command line: what it writes, and how it refuses."""

import numpy as np
import pytest

from stiction.cli import main


def test_simulate_writes_a_trajectory(tmp_path, capsys):
    path = tmp_path / "run.npz"
    assert main(["simulate", "--steps", "50", "--height", "0.3", "--out", str(path)]) == 0
    with np.load(path) as run:
        assert run["position"].shape == (51, 3) and run["mode"].shape == (50,)
    assert "final position" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["simulate", "--mass", "-1"], "stiction: Body mass [kg] must be positive, got -1."),
        (["simulate", "--height", "0"], "stiction: The body starts below the ground"),
        (["simulate", "--out", "run.csv"], "stiction: --out must name an .npz file, got run.csv."),
        (["evaluate", "no-such-law"], "stiction: There is no law 'no-such-law'; shipped are"),
        (
            ["train", "data", "--out", "x", "--through", "rollouts"],
            "stiction: --through and --body are for a material.",
        ),
        (["view", "no-such-law"], "stiction: There is no law 'no-such-law'; shipped are"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(arguments, sentence, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("stiction 0.")
