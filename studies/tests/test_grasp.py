"""Grasps, stacks and slopes: the same scenes in all simulators, and what ours holds."""

import json

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

from stiction.mujoco.simulation import mujoco
from stiction_studies.engines.mujoco_engine import scene_mjcf
from stiction_studies.engines.scene_parts import G, Part, Scene
from stiction_studies.engines.worlds import BULLET, DART, MUJOCO, load_engine
from stiction_studies.robots import grasp, grasp_scenes

SHAPES = {"box": (0.1, 0.2, 0.3), "sphere": (0.1,), "capsule": (0.05, 0.3), "cylinder": (0.05, 0.3)}


@pytest.fixture(params=(MUJOCO, BULLET, DART))
def engine(request):
    pytest.importorskip({MUJOCO: "mujoco", BULLET: "pybullet", DART: "dartpy"}[request.param])
    return load_engine(request.param)


@pytest.mark.parametrize("shape", SHAPES)
def test_inertia_is_that_of_mujoco(shape):
    part = Part("part", shape, SHAPES[shape], 0.7, (0.0, 0.0, 1.0))
    text = scene_mjcf(Scene((part,), 0.5))
    start = text.index("<inertial")
    bare = text[:start] + text[text.index("/>", start) + 2 :].replace("<geom name", '<geom mass="0.7" name')
    model = mujoco.MjModel.from_xml_string(bare)
    assert np.sort(part.inertia) == pytest.approx(np.sort(model.body("part").inertia), rel=1e-9)


def test_what_is_free_falls_and_what_slides_is_pushed(engine):
    """Position and turn after 0.2 s, from a turned start: axes, order and forces mean the same everywhere."""
    half = np.sqrt(0.5)
    free = Part("free", "capsule", (0.02, 0.1), 0.3, (0.0, 0.0, 2.0), (half, half, 0.0, 0.0), (1.0, -2.0, 0.5),
                spin=(0.0, 3.0, 0.0))  # fmt: skip
    pushed = Part("pushed", "box", (0.1, 0.1, 0.1), 0.5, (3.0, 0.0, 1.0), slide=(0.0, -1.0, 0.0), force=2.0)
    poses = engine.run_scene(Scene((free, pushed), 0.5, timestep=0.001), 200, 50)
    assert poses.shape == (5, 2, 7)
    assert poses[-1, 0, :3] == pytest.approx([0.2, -0.4, 2.0 + 0.1 - G * 0.02], abs=2e-3)
    w, y = np.cos(0.3), np.sin(0.3)  # turned by 0.6 rad about y, about which the capsule is round
    assert abs(poses[-1, 0, 3:] @ (half * np.array([w, w, y, -y]))) == pytest.approx(1.0, abs=1e-6)
    assert poses[-1, 1] == pytest.approx([3.0, -0.5 * 4.0 * 0.04, 1.0, 1.0, 0.0, 0.0, 0.0], abs=2e-3)


def test_friction_and_slope_are_the_same_for_all(engine):
    move = next(move for move in grasp_scenes.moves() if move.name == "slides, friction 0.5")
    poses = engine.run_scene(move.scene, round(move.seconds / move.scene.timestep), grasp.EVERY)
    assert abs(move.error(move.way(poses), grasp.EVERY * move.scene.timestep)) < 0.01


def test_creep_is_slip_along_what_holds():
    hold = grasp_scenes.grasp("cube", 20)
    poses = np.zeros((3, 3, 7))
    poses[..., 3] = 1.0
    poses[1:, 0, 2] = -0.01  # it slips down, then
    poses[2, :, 0] = 0.5  # all of them move aside,
    poses[2, 0, 0] += 0.002  # and the cube goes a little into a finger
    assert grasp_scenes.creep(hold, poses) == pytest.approx([0.0, 0.01, 0.01])
    assert grasp_scenes.motion(hold, poses) == pytest.approx([0.0, 0.01, np.hypot(0.01, 0.002)])
    assert grasp_scenes.turn(hold, poses) == 0.0


def test_acceleration_of_an_even_motion():
    time = 0.02 * np.arange(101)
    assert grasp_scenes.acceleration(3.0 + 2.0 * time + 0.5 * 0.7 * time**2, 0.02) == pytest.approx(0.7)


@pytest.mark.parametrize("hold", grasp_scenes.holds(), ids=lambda hold: hold.name)
def test_ours_holds(hold):
    run = grasp.run_with_material(hold.scene, 1.0)
    assert run.unsolved <= 1  # of 500
    assert grasp_scenes.creep(hold, run.poses[25:]).max() < 1e-11
    assert grasp_scenes.motion(hold, run.poses[25:]).max() < 1e-11


@pytest.mark.parametrize("move", grasp_scenes.moves(), ids=lambda move: move.name)
def test_ours_slides_and_rolls(move):
    run = grasp.run_with_material(move.scene, move.seconds)
    assert run.unsolved == 0
    assert abs(move.error(move.way(run.poses), grasp.EVERY * move.scene.timestep)) < 1e-6


@pytest.mark.slow
def test_the_study_shows_who_creeps(tmp_path, capsys):
    pytest.importorskip("plotly")
    from stiction.cli import main

    figures = tmp_path / "figures.json"
    assert main(["reproduce", "grasp", "--quick", "--out", str(tmp_path), "--json", str(figures)]) == 0
    found = json.loads(figures.read_text())
    assert found["held"]["MuJoCo"]["cube 20x"]["creep_m"] > 1e-3 > found["held"]["stiction"]["cube 20x"]["creep_m"]
    assert "Creep of grasped bodies, in 3 s" in capsys.readouterr().out
    assert "A cube between two fingers" in (tmp_path / "index.html").read_text()
