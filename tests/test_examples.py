"""Each example runs, briefly, and tells what it promises."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

EXAMPLES = Path(__file__).parents[1] / "examples"
NUMBER = r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?"


def printed(name: str, *arguments: str, before: tuple[str, ...] = ()) -> str:
    """What the example prints."""
    command = [*before, sys.executable, str(EXAMPLES / name), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return run.stdout


def numbers(text: str) -> list[float]:
    return [float(word.replace(",", "")) for word in re.findall(NUMBER, text)]


def test_the_gripper_holds_its_cube():
    seconds, ours, plain, unsolved = numbers(printed("gripper.py", "1"))
    assert seconds == 1 and unsolved == 0
    assert ours < 1e-10 and plain > 1e-4


def test_the_stack_stands():
    seconds, ours, plain = numbers(printed("stack.py", "1"))
    assert seconds == 1 and ours < 1e-10 and plain > 1e-7


def test_what_falls_down_the_stairs_does_not_fall_through():
    text = printed("stairs.py", "3")
    die, can, last = text.strip().splitlines()
    for line, half in ((die, 0.04), (can, 0.03)):
        x, height, steps = numbers(line)
        assert x > 0.9 and height == pytest.approx(half, abs=0.003) and steps > 100  # down on the floor, on a face
    deepest, unsolved = numbers(last)
    assert 0 < deepest < 1e-3 and unsolved < 10


def test_the_conveyor_carries_one_way_only_with_friction_that_knows_directions():
    seconds, hairs, coulomb = numbers(printed("conveyor.py", "3"))
    assert seconds == 3 and hairs > 20 and abs(coulomb) < 10


def test_slanted_hairs_make_the_ant_walk():
    pytest.importorskip("gymnasium")
    lines = [numbers(line) for line in printed("ant.py", "40").strip().splitlines()]
    rubber, ice, hairs = (along for along, _, _, _ in lines)
    assert hairs > rubber + 0.5 and hairs > ice + 0.5
    assert all(contacts > 100 and unsolved < 5 for _, _, contacts, unsolved in lines)


@pytest.mark.skipif(shutil.which("xvfb-run") is None, reason="xvfb-run is not installed")
def test_the_viewer_opens_and_closes():
    pytest.importorskip("glfw")
    seconds, speed = numbers(printed("viewer.py", "0.5", before=("xvfb-run", "-a")).replace("m/s or rad/s", ""))
    assert seconds >= 0.5 and speed < 1e-10


@pytest.mark.slow
def test_the_quadruped_walks():
    text = printed("quadruped.py", "10")
    assert text.count("steps in contact") == 4 and "10.0 s" in text


@pytest.mark.slow
def test_a_gait_is_tuned():
    pytest.importorskip("gymnasium")
    text = printed("train_gait.py", "1")
    assert text.startswith("start") and "best:" in text
