"""Robots of other packages: how they are found, placed, driven, drawn and measured."""

import dataclasses
import json

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("scipy")

from stiction.mujoco.simulation import mujoco
from stiction.viewer.pieces import pieces_of
from stiction_studies.robots.scene_catalogue import SCENES
from stiction_studies.robots.third_party_robots import FLOOR, ROBOTS, ThirdPartyRobot, by_mujoco

ABSENT = ThirdPartyRobot("Absent", "a_package_that_nobody_has", "robot.xml")


def robot(name: str) -> ThirdPartyRobot:
    one = next(one for one in ROBOTS if one.name == name)
    if one.path is None:
        pytest.skip(f"{one.package} is not installed")
    return one


@pytest.mark.parametrize("name", [one.name for one in ROBOTS])
def test_a_robot_starts_just_above_its_floor_within_its_limits(name):
    one = robot(name)
    model = one.load()
    data = mujoco.MjData(model)
    data.qpos[:] = one.start(model)
    limited = model.jnt_limited > 0
    low, high = model.jnt_range[limited].T
    angle = data.qpos[model.jnt_qposadr[limited]]
    assert (low <= angle).all() and (angle <= high).all()
    model.geom_margin[:] = 0.0
    floor = model.geom(FLOOR).id
    steps = round(0.05 / model.opt.timestep)  # a fall of 12 mm
    touching = []
    for _ in range(steps):
        mujoco.mj_step(model, data)
        touching.append((data.contact.geom == floor).any())
    assert not touching[0] and any(touching)


@pytest.mark.parametrize("name", ["Hopper", "Spot"])
def test_the_same_seed_drives_the_same_way_and_another_one_differently(name):
    one = robot(name)
    model = one.load()
    first, same, other = (by_mujoco(one, model, seed, 0.5) for seed in (3, 3, 4))
    assert first.finite and first.touching.any() and (first.seconds > 0).all()
    assert np.array_equal(first.end, same.end) and np.array_equal(first.points, same.points)
    assert not np.array_equal(first.end, other.end)


def test_controls_stay_in_their_range_and_reach_far_into_it():
    one = robot("Ant")
    model = one.load()
    data = mujoco.MjData(model)
    drive, seen = one.drive(model, data, 0), []
    for step in range(1000):
        drive(step)
        seen.append(data.ctrl.copy())
    low, high = model.actuator_ctrlrange.T
    assert (np.min(seen, axis=0) >= low).all() and (np.max(seen, axis=0) <= high).all()
    assert (np.ptp(seen, axis=0) > 0.8 * (high - low)).all()
    assert np.abs(np.diff(seen, axis=0)).max() < 0.11  # smooth: a whole range takes 20 steps of 0.01 s


SHAPES = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
<body pos="1 2 3"><freejoint/>
 <geom type="box" size=".1 .2 .3" pos="1 0 0" euler="30 20 10"/><geom type="sphere" size=".2"/>
 <geom type="capsule" size=".1 .3" euler="0 40 0"/><geom type="cylinder" size=".1 .3"/>
 <geom type="ellipsoid" size=".1 .2 .3"/><geom type="sphere" size=".3" group="4" contype="0" conaffinity="0"/></body>
<body><freejoint/><geom type="sphere" size=".3" group="4"/></body>
</worldbody></mujoco>"""


def test_pieces_have_the_size_of_their_geoms_and_face_outwards():
    pieces = pieces_of(mujoco.MjModel.from_xml_string(SHAPES))
    assert [piece.body for piece in pieces] == [1, 1, 1, 1, 1, 2]  # hidden ones only if they can touch
    ball = 4 / 3 * np.pi
    wanted = [8 * 0.006, ball * 0.008, ball * 0.001 + np.pi * 0.006, np.pi * 0.006, ball * 0.006, ball * 0.027]
    for piece, volume in zip(pieces, wanted, strict=True):
        a, b, c = (piece.vertices[piece.triangles[:, k]] for k in range(3))
        found = np.einsum("ij,ij->", np.cross(a, b), c) / 6  # is negative for faces that look inwards
        assert 0.85 * volume < found <= volume * (1 + 1e-9)
    assert pieces[0].vertices[:, 0].mean() == pytest.approx(1.0)


@pytest.mark.slow
def test_the_study_measures_what_is_there_and_names_what_is_missing(tmp_path, capsys):
    for module in ("plotly", "viser", "jinja2", "pyarrow", "dartpy"):
        pytest.importorskip(module)
    from stiction_studies.robots.robots import MUJOCO, STICTION, run

    run(tmp_path, scale="quick", robots=[robot("Hopper"), ABSENT], families={"others": {"belt": SCENES["belt"]}})
    assert "Left out, as their packages are not installed: Absent" in capsys.readouterr().out
    found = json.loads((tmp_path / "robots" / "results.json").read_text())
    assert found["left_out"][0] == "Absent" and list(found["robots"]) == ["Hopper"]
    assert found["scenes"]["belt"]["unsolved_share"] == 0 and found["scenes"]["belt"]["points_mean"] > 8
    hopper = found["robots"]["Hopper"]
    for name in (MUJOCO, STICTION):
        assert hopper[name]["contact_steps"] > 100 and hopper[name]["points_max"] >= 2
        assert hopper[name]["microseconds_max"] >= hopper[name]["microseconds_mean"] > 1.0
        assert hopper[name]["broken_runs"] == 0 and hopper[name]["depth_m"] < 0.06
    assert hopper[STICTION]["unsolved"] == 0
    assert {aim["aim"]: aim["met"] for aim in found["aims"]}["no run breaks that MuJoCo's own does not"]
    page = (tmp_path / "index.html").read_text()
    assert "Hopper (gymnasium)" in page and "Play in 3D" in page
    for title in ("Agreement: the chain", "The cube of real tosses inside MuJoCo", "Many quadrupeds at once"):
        assert title in page
    assert {"box", "chain", "quadruped"} == set(found["agreement"]) and len(found["cube"]) == 5


@pytest.mark.slow
def test_without_any_robot_the_study_has_its_own_scenes(tmp_path, capsys):
    for module in ("plotly", "viser", "jinja2", "pyarrow", "dartpy"):
        pytest.importorskip(module)
    from stiction_studies.robots.robots import run

    gone = [dataclasses.replace(ABSENT, name=name) for name in ("One", "Two")]
    run(tmp_path, scale="quick", robots=gone, families={"others": {"belt": SCENES["belt"]}})
    assert "To have them: pip install --no-deps" in capsys.readouterr().out
    assert list(json.loads((tmp_path / "robots" / "results.json").read_text())["scenes"]) == ["belt"]
