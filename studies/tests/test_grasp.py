"""Grasps, stacks and slopes: the same scenes in all simulators, and what ours holds."""

import json

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

from stiction.mujoco.simulation import mujoco
from stiction_studies.engines.mujoco_scene import mjcf
from stiction_studies.engines.scene import G, Part, Scene
from stiction_studies.robots import held, holders, moving

SHAPES = {"box": (0.1, 0.2, 0.3), "sphere": (0.1,), "capsule": (0.05, 0.3), "cylinder": (0.05, 0.3)}
ENGINES = ["mujoco_scene", "bullet_scene", "dart_scene"]


def engine(name: str):
    return pytest.importorskip(f"stiction_studies.engines.{name}", exc_type=ImportError)


@pytest.mark.parametrize("shape", SHAPES)
def test_inertia_is_that_of_mujoco(shape):
    part = Part("part", shape, SHAPES[shape], 0.7, (0.0, 0.0, 1.0))
    text = mjcf(Scene((part,), 0.5))
    begin = text.index("<inertial")
    bare = text[:begin] + text[text.index("/>", begin) + 2 :].replace("<geom name", '<geom mass="0.7" name')
    model = mujoco.MjModel.from_xml_string(bare)
    assert np.sort(part.inertia) == pytest.approx(np.sort(model.body("part").inertia), rel=1e-9)


@pytest.mark.parametrize("name", ENGINES)
def test_what_is_free_falls_and_what_slides_is_pushed(name):
    """Position and turn after 0.2 s, from a turned start: axes, order and forces mean the same everywhere."""
    half = np.sqrt(0.5)
    free = Part("free", "capsule", (0.02, 0.1), 0.3, (0.0, 0.0, 2.0), (half, half, 0.0, 0.0), (1.0, -2.0, 0.5),
                spin=(0.0, 3.0, 0.0))  # fmt: skip
    pushed = Part("pushed", "box", (0.1, 0.1, 0.1), 0.5, (3.0, 0.0, 1.0), slide=(0.0, -1.0, 0.0), force=2.0)
    poses = engine(name).run(Scene((free, pushed), 0.5, timestep=0.001), 200, 50)
    assert poses.shape == (5, 2, 7)
    assert poses[-1, 0, :3] == pytest.approx([0.2, -0.4, 2.0 + 0.1 - G * 0.02], abs=2e-3)
    w, y = np.cos(0.3), np.sin(0.3)  # turned by 0.6 rad about y, about which the capsule is round
    assert abs(poses[-1, 0, 3:] @ (half * np.array([w, w, y, -y]))) == pytest.approx(1.0, abs=1e-6)
    assert poses[-1, 1] == pytest.approx([3.0, -0.5 * 4.0 * 0.04, 1.0, 1.0, 0.0, 0.0, 0.0], abs=2e-3)


@pytest.mark.parametrize("name", ENGINES)
def test_friction_and_slope_are_the_same_for_all(name):
    move = next(move for move in moving.moves() if move.name == "slides, friction 0.5")
    poses = engine(name).run(move.scene, round(move.seconds / move.scene.timestep), holders.EVERY)
    assert abs(move.error(move.way(poses), holders.EVERY * move.scene.timestep)) < 0.01


def test_creep_is_slip_along_what_holds():
    hold = held.grasp("cube", 20)
    poses = np.zeros((3, 3, 7))
    poses[..., 3] = 1.0
    poses[1:, 0, 2] = -0.01  # it slips down, then
    poses[2, :, 0] = 0.5  # all of them move aside,
    poses[2, 0, 0] += 0.002  # and the cube goes a little into a finger
    assert held.creep(hold, poses) == pytest.approx([0.0, 0.01, 0.01])
    assert held.motion(hold, poses) == pytest.approx([0.0, 0.01, np.hypot(0.01, 0.002)])
    assert held.turn(hold, poses) == 0.0


def test_acceleration_of_an_even_motion():
    time = 0.02 * np.arange(101)
    assert moving.acceleration(3.0 + 2.0 * time + 0.5 * 0.7 * time**2, 0.02) == pytest.approx(0.7)


@pytest.mark.parametrize("hold", held.holds(), ids=lambda hold: hold.name)
def test_ours_holds(hold):
    run = holders.run_with_material(hold.scene, 1.0)
    assert run.unsolved <= 1  # of 500
    assert held.creep(hold, run.poses[25:]).max() < 1e-11
    assert held.motion(hold, run.poses[25:]).max() < 1e-11


@pytest.mark.parametrize("move", moving.moves(), ids=lambda move: move.name)
def test_ours_slides_and_rolls(move):
    run = holders.run_with_material(move.scene, move.seconds)
    assert run.unsolved == 0
    assert abs(move.error(move.way(run.poses), holders.EVERY * move.scene.timestep)) < 1e-6


@pytest.mark.slow
def test_the_study_tells_who_creeps(tmp_path, capsys):
    pytest.importorskip("plotly")
    from stiction.cli import main

    figures = tmp_path / "figures.json"
    assert main(["reproduce", "grasp", "--quick", "--out", str(tmp_path), "--json", str(figures)]) == 0
    found = json.loads(figures.read_text())
    assert found["held"]["MuJoCo"]["cube 20x"]["creep_m"] > 1e-3 > found["held"]["stiction"]["cube 20x"]["creep_m"]
    assert "Creep of what is grasped, in 3 s" in capsys.readouterr().out
    assert "A cube between two fingers" in (tmp_path / "index.html").read_text()
