"""Each example runs, briefly, and tells what it promises."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

EXAMPLES = Path(__file__).parents[2] / "examples"
NUMBER = r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?"


def printed(name: str, *arguments: str, before: tuple[str, ...] = (), folder: Path | None = None) -> str:
    """What the example prints; `folder`: where it runs and writes."""
    command = [*before, sys.executable, str(EXAMPLES / name), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)
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


def test_a_user_defined_law_slows_a_box_as_theory_says():
    *table, last = printed("own_law.py").strip().splitlines()[1:]
    assert len(table) == 8 and numbers(last)[0] < 0.2  # percent
    for row in table:
        time, simulated, theory = numbers(row.partition("]")[2])
        assert 0 <= time <= 2 and simulated == pytest.approx(theory, abs=3.5e-3)


def test_a_batch_shows_where_boxes_rest():
    first, _, *shares, apart, same = printed("batch.py", "60").strip().splitlines()
    assert first.startswith("60 throws of 800 steps") and same.endswith("True")
    assert 85 < sum(numbers(line.partition(":")[2])[0] for line in shares) <= 100
    assert numbers(apart)[0] < 3


def test_a_throw_is_plotted(tmp_path):
    first, *stretches, last = printed("plot.py", "out", folder=tmp_path).strip().splitlines()
    assert first.startswith("Trajectory(800 steps of 0.002 s) ends at State(position=") and "throw.png" in last
    assert "flight" in stretches[0] and "surface static" in stretches[-1]
    assert (tmp_path / "out/throw.png").read_bytes().startswith(b"\x89PNG")
    pushed = sum(numbers(line)[-1] for line in stretches)  # against gravity, for 1.6 s, from its fall to rest
    assert pushed == pytest.approx(9.81 * 1.6, rel=2e-3)


def test_a_foot_stands_and_slides_on_a_slope_as_theory_says():
    _, *rows, last = printed("mujoco_foot.py").strip().splitlines()
    modes = []
    for row in rows:
        _, theory, ours, plain = numbers(row)
        assert ours == pytest.approx(theory, abs=2e-3)
        assert theory > 0 or plain > 0.5  # MuJoCo's creeps
        modes.append(row.split()[-1])
    assert modes == ["dynamic", "dynamic", "static", "static"]
    assert len(set(numbers(last))) == 1


@pytest.mark.slow
def test_a_wedge_comes_to_rest_on_its_faces(tmp_path):
    body, *faces, last = printed("drop_mesh.py", folder=tmp_path).strip().splitlines()
    assert body == "Body(mesh of 6 vertices, 0.2 kg)" and len(faces) == 5
    shares = [numbers(face)[-1] for face in faces]
    assert 99 < sum(shares) < 101 and sum(share > 15 for share in shares) == 3  # hardly ever on its small ends
    assert numbers(last)[1] > 99


@pytest.mark.slow
def test_a_part_is_identified_from_a_take_and_lifted(tmp_path):
    text = printed("identify.py", folder=tmp_path)
    assert text.startswith("Recordings(24 tosses of Body(mesh of 8 vertices, 0.3 kg) at 120 Hz)")
    assert "Split into 24 tosses" in text and "Verdict:           usable." in text
    for name in ("friction_sliding", "restitution"):
        found, error, true = numbers(next(line for line in text.splitlines() if line.startswith(f"{name}: found")))
        assert abs(found - true) < 3 * abs(error) and abs(error) < 0.1
    held, dropped = (numbers(line)[-1] for line in text.splitlines() if line.startswith("gripped"))
    assert abs(held) < 0.1 and dropped > 50  # [mm]


@pytest.mark.slow
def test_the_quadruped_walks():
    text = printed("quadruped.py", "10")
    assert text.count("steps in contact") == 4 and "10.0 s" in text


@pytest.mark.slow
def test_a_gait_is_tuned():
    pytest.importorskip("gymnasium")
    text = printed("train_gait.py", "1")
    assert text.startswith("start") and "best:" in text
