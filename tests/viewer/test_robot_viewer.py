"""The viewer of a robot: the quadruped stands and walks, any model runs with a material."""

import numpy as np
import pytest

from stiction import InputError

pytest.importorskip("viser")
pytest.importorskip("mujoco")

from stiction.commands.simulating import view
from stiction.viewer import robot_viewer as live
from stiction.viewer.robot_viewer import RobotViewer

MODEL = """
<mujoco>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body pos="0 0 .11"><freejoint/><geom type="box" size=".1 .1 .1"/>
      <body pos=".3 0 0"><joint name="arm" axis="0 1 0"/><geom type="capsule" size=".02 .1"/></body>
    </body>
  </worldbody>
  <actuator><motor joint="arm" ctrlrange="-2 2"/></actuator>
</mujoco>"""


@pytest.fixture
def model_file(tmp_path):
    (tmp_path / "model.xml").write_text(MODEL)
    return tmp_path / "model.xml"


def test_the_quadruped_stands_and_then_walks():
    robot = live.Quadruped()
    for _ in range(250):
        robot.step()
    points, modes = robot.touching()
    stood = robot.poses(ours=True)[0][1].copy()
    assert len(points) >= 12 and (modes == 1).all() and np.abs(points[:, 2]).max() < 1e-3
    robot.strength = 1.0
    for _ in range(750):
        robot.step()
    assert robot.poses(ours=True)[0][1, 0] > stood[0] + 0.05
    robot.reset()
    assert robot.steps == 0 and np.array_equal(robot.poses(ours=True)[0], robot.poses(ours=False)[0])


def test_any_model_runs_with_a_material_beside_mujocos_own_contact(model_file):
    robot = live.ModelFile(model_file, 0.5)
    robot.random = True
    for _ in range(300):
        robot.step()
    points, modes = robot.touching()
    assert len(points) and set(modes) <= {1, 2}
    assert not np.array_equal(robot.poses(ours=True)[0], robot.poses(ours=False)[0])


def test_the_viewer_runs_the_robot_in_time_and_follows_it(model_file):
    with RobotViewer(live.ModelFile(model_file), port=0) as viewer:
        for _ in range(10):
            viewer.advance(0.02)
        assert viewer.robot.steps == pytest.approx(100, abs=1)
        assert viewer._world.position[:2] == pytest.approx(-viewer.robot.poses(ours=True)[0][1, :2], abs=1e-4)
        viewer.set_playing(False)
        viewer.advance(0.02)
        assert viewer.robot.steps == pytest.approx(100, abs=1)


@pytest.mark.parametrize(
    ("what", "options", "sentence"),
    [
        ("nothing.xml", {}, "no model file nothing.xml"),
        ("quadruped", {"data": "tosses"}, "Recordings are for a law"),
        ("quadruped", {"material": 0.5}, "learned feet"),
        ("box", {"material": 0.5}, "for the file of a robot's model"),
        ("box", {"port": 70000}, "from 0 to 65535"),
        ("quadruped", {"port": 70000}, "from 0 to 65535"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_sentence(what, options, sentence):
    usual = {"host": "127.0.0.1", "port": 0, "seed": 0, "open": False}
    with pytest.raises(InputError, match=sentence):
        view(what, **{**usual, **options})
