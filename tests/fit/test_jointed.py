"""Recordings of jointed parts: what made a recording is found in it, and its quirks are recognised."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from elbow_tosses import DT, ELBOW, FRAMES, GRAVITY, LINKS, TRUTH, toss, write

mujoco = pytest.importorskip("mujoco")

import stiction
from stiction import InputError, load
from stiction.cli import main
from stiction.fit.forecast import dense_regions_hold
from stiction.fit.jointed_fit import (
    Sampling,
    calibrated_spread,
    contact_parameters,
    ends,
    forecasts_without,
    jointed_model,
    judge,
    part_parameters,
    shares_held,
    tosses_held,
    with_material,
)
from stiction.fit.jointed_flight import prepare
from stiction.fit.jointed_part import JointedPart
from stiction.fit.jointed_recording import read_jointed
from stiction.fit.jointed_starts import SUBSTEPS, frames_of
from stiction.fit.toss_objective import Stage, fit
from stiction.mujoco import Simulation


@pytest.fixture(scope="module")
def part():
    return JointedPart.read(ELBOW)


@pytest.fixture(scope="module")
def poses(part):
    return toss(part, 14)


@pytest.fixture(scope="module")
def ready(part, poses, tmp_path_factory):
    """The tosses without noise, prepared for a fit."""
    return prepare(write(tmp_path_factory.mktemp("elbow") / "tosses.npz", poses), part)


@pytest.mark.slow
def test_a_synthetic_recording_gives_its_numbers_back(part, poses, tmp_path):
    rng = np.random.default_rng(1)
    noisy = poses + rng.normal(0, 1e-4, poses.shape)
    ready = prepare(write(tmp_path / "tosses.npz", noisy), part)
    assert ready.gravity == pytest.approx(GRAVITY, abs=0.15)
    known = [p for p in [*part_parameters(part, GRAVITY), *contact_parameters()] if p.name in TRUTH]
    fixed = {"gravity": GRAVITY}

    def build(values, timestep):
        return with_material(part)({**fixed, **values}, timestep)

    solution = fit(jointed_model(part, build), known, ready.fitted, stages=(Stage((5, 10), 5.0, 5),))
    for p, value, error in zip(known, solution.values, solution.errors):
        assert abs(value - TRUTH[p.name]) < 3 * error + 0.02 * p.scale, (p.name, value, error)
        assert error < 1.5 * p.scale
    values = dict(zip((p.name for p in known), solution.values))
    errors = judge(ready.held_out, build, values)["touch"]
    assert np.median(errors.position) < 2.0 and np.median(errors.rotation) < 4.0


def test_a_tilted_recorder_and_grounds_registered_toss_by_toss_are_undone(part, poses, ready, tmp_path):
    turn = Rotation.from_rotvec(np.radians([1.5, -2.0, 0.0]))
    tilted = poses.copy()
    tilted[..., 4:7] = turn.apply(poses[..., 4:7].reshape(-1, 3)).reshape((*poses.shape[:2], 3))
    seen = Rotation.from_quat(poses[..., :4].reshape(-1, 4), scalar_first=True)
    tilted[..., :4] = (turn * seen).as_quat(scalar_first=True).reshape((*poses.shape[:2], 4))
    lowest = part_lowest(part, tilted[:, -1])
    tilted[..., 6] -= lowest[:, np.newaxis]
    level, ready = ready, prepare(write(tmp_path / "tilted.npz", tilted), part)
    assert any("tilted against the ground by 2.5 degrees" in line for line in ready.report)
    assert any("registered toss by toss" in line for line in ready.report)
    assert not any("tilted" in line for line in level.report)
    both = {t.name.split("[")[1]: t for t in level.fitted.tosses}
    for one in ready.fitted.tosses:
        other = both[one.name.split("[")[1]]
        assert abs(one.qpos[0, 2] - other.qpos[0, 2]) < 0.002


def part_lowest(part, poses):
    """Height (n,) of the lowest corner of poses (n, 8) as measured."""
    corners = 0.5 * np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.05, 0.05) for z in (-0.05, 0.05)])
    heights = []
    for pose in poses:
        base = Rotation.from_quat(pose[:4], scalar_first=True)
        second = Rotation.from_rotvec([0.0, pose[7], 0.0]).apply(np.add(corners, (0.035, 0, 0)))
        second = np.add(second, (-0.035, 0.06, 0))
        heights.append(base.apply(np.vstack([corners, second]))[:, 2].min() + pose[6])
    return np.array(heights)


def test_a_hand_on_the_part_is_recognised(part, poses, tmp_path):
    held = poses.copy()
    held[3, :6] = poses[3, 6]  # it rests in the hand for six frames
    ready = prepare(write(tmp_path / "hand.npz", held), part)
    assert any(line.startswith("In 1 of 14 tosses a hand") for line in ready.report)
    cut = [t for t in [*ready.fitted.tosses, *ready.held_out.tosses] if t.name.endswith("[3]")]
    assert cut and cut[0].steps == FRAMES - 1 - 5


def test_inertias_that_no_body_has_can_be_tried(part):
    """Of the numbers that a fit may try, some would make MuJoCo refuse the model: two moments less than the third."""
    model = part.model({"link2.inertia_y": 1.6, "link2.inertia_z": 0.6}, DT / SUBSTEPS)
    assert model.nv == 7


def test_starts_are_those_of_the_toss(part, ready):
    free = part.model({**TRUTH, "gravity": GRAVITY}, DT / SUBSTEPS, contact=False)
    assert np.median(ready.fitted.stray(free)) < 0.03  # percents and degrees
    shaken = ready.fitted.shaken(0.3, np.random.default_rng(0)).states(free)
    assert 0 < np.abs(shaken - ready.fitted.states(free)).max() < 0.5


def test_contact_from_shortly_before_the_touch_on_changes_no_forecast(part, ready):
    """The flight is simulated without contact, and remembered: the forecast is that of one motion from the start on."""
    values, steps = {**TRUTH, "gravity": GRAVITY}, np.full(len(ready.held_out), 40)
    found = jointed_model(part, with_material(part)).predict(values, ready.held_out, steps)
    free = part.model(values, DT / SUBSTEPS, contact=False)
    model, roll = with_material(part)(values, DT / SUBSTEPS)
    whole = frames_of(roll, model, ready.held_out.states(free), steps)
    for a, b in zip(found, whole, strict=True):
        np.testing.assert_allclose(a[:41], b, atol=1e-6)
    assert ready.held_out.flown(free) is ready.held_out.flown(part.model(values, DT / SUBSTEPS, contact=False))
    heavier = part.model({**values, "link2.mass": 1.3}, DT / SUBSTEPS, contact=False)
    assert ready.held_out.flown(heavier) is not ready.held_out.flown(free)


@pytest.mark.slow
def test_a_part_that_repeats_is_given_narrow_regions(part, poses, tmp_path):
    ready = prepare(write(tmp_path / "tosses.npz", poses[:8, :60]), part)
    forecasts = [(ready.fitted, {**TRUTH, "gravity": GRAVITY})]
    scale, tried = calibrated_spread(forecasts, with_material(part), samples=24)
    assert scale < 0.5 and list(tried) == sorted(tried)


def test_forecasts_for_calibration_use_numbers_fitted_to_other_tosses(part, ready):
    few = [p for p in contact_parameters() if p.name in ("friction", "restitution")]
    values = np.array([TRUTH[p.name] for p in few])

    def build(values, timestep):
        return with_material(part)({**TRUTH, "gravity": GRAVITY, **values}, timestep)

    found = forecasts_without(ready.fitted, build, few, values, n_tosses=6, seed=0)
    assert [len(some) for some, _ in found] == [3, 3]
    names = [{toss.name for toss in some.tosses} for some, _ in found]
    assert not names[0] & names[1]
    for _, numbers in found:
        assert numbers["friction"] == pytest.approx(TRUTH["friction"], abs=0.1)


def test_regions_of_a_right_model_without_spread_are_points_and_with_much_hold_all(part, ready):
    values = {**TRUTH, "gravity": GRAVITY}
    build = with_material(part)
    samples = ends(ready.held_out, build, values, Sampling(1.0, samples=6))
    assert samples.shape == (6, len(ready.held_out), 3)
    assert samples.std(axis=0).min() > 0
    held = shares_held(tosses_held(ready.held_out, samples))
    assert held["position"][0.9] >= held["position"][0.5]


def test_dense_regions_hold_what_they_should_of_two_ways_to_rest():
    rng = np.random.default_rng(0)

    def draw(n):  # at 0 or at half a turn, with whole turns that do not matter
        rests = rng.choice([0.0, np.pi], n) + rng.normal(0, 0.2, n) + 2 * np.pi * rng.integers(-2, 3, n)
        return rests[:, np.newaxis]

    how = (np.array([0.2]), np.array([2 * np.pi]))
    held = np.mean([dense_regions_hold(draw(64), draw(1)[0], (0.5, 0.9), *how) for _ in range(400)], axis=0)
    np.testing.assert_allclose(held, (0.5, 0.9), atol=0.06)
    assert dense_regions_hold(draw(64), np.array([np.pi / 2]), (0.9,), *how) == [False]


def test_csv_and_npz_are_the_same(part, poses, tmp_path):
    rows = ["toss,time,x,y,z,qw,qx,qy,qz,hinge"]
    for n, frames in enumerate(poses[:4]):
        for k, pose in enumerate(frames):
            rows.append(",".join(map(repr, map(float, [n, k * DT, *pose[4:7], *pose[:4], pose[7]]))))
    (tmp_path / "tosses.csv").write_text("\n".join(rows))
    table = prepare(tmp_path / "tosses.csv", part)
    packed = prepare(write(tmp_path / "tosses.npz", poses[:4]), part)
    for a, b in zip(table.fitted.tosses, packed.fitted.tosses, strict=True):
        np.testing.assert_allclose(a.qpos, b.qpos, atol=1e-12)


def test_bad_inputs_are_refused_in_one_sentence(part, poses, tmp_path):
    fixed = tmp_path / "fixed.xml"
    fixed.write_text(ELBOW.read_text().replace('<freejoint name="base"/>', ""))
    with pytest.raises(InputError, match="must have one free joint"):
        JointedPart.read(fixed)
    floating = tmp_path / "floating.xml"
    floating.write_text(ELBOW.read_text().replace('type="plane" size="5 5 0.1"', 'type="sphere" size="0.1"'))
    with pytest.raises(InputError, match="no plane to fall on"):
        JointedPart.read(floating)
    door = '<body name="door"><joint name="door" type="hinge"/><geom type="box" size="1 1 1"/></body></worldbody>'
    crowded = tmp_path / "crowded.xml"
    crowded.write_text(ELBOW.read_text().replace("</worldbody>", door))
    with pytest.raises(InputError, match="'door' belongs to another body"):
        JointedPart.read(crowded)
    with pytest.raises(InputError, match=r"shape \(tosses, frames, 8\).*\(hinge\), got \(14, 100, 7\)"):
        prepare(write(tmp_path / "few.npz", poses[..., :7]), part)
    np.savez(tmp_path / "no_dt.npz", poses=poses)
    with pytest.raises(InputError, match="has no dt; it has poses"):
        prepare(tmp_path / "no_dt.npz", part)
    (tmp_path / "few.csv").write_text("time,x,y,z,qw,qx,qy,qz\n0,0,0,0,1,0,0,0\n")
    with pytest.raises(InputError, match="has no column hinge"):
        prepare(tmp_path / "few.csv", part)


def test_the_command_says_what_it_needs(poses, tmp_path, capsys):
    data = str(write(tmp_path / "tosses.npz", poses))
    out = str(tmp_path / "found")
    for more, sentence in (
        ([], "Give what was tossed: --body, such as box:0.1,0.1,0.1, or --mjcf for a part with joints."),
        (["--mjcf", str(ELBOW), "--body", "box:1,1,1"], "--mjcf describes the whole part"),
        (["--mjcf", "nowhere.xml"], "There is no MJCF file nowhere.xml."),
    ):
        assert main(["identify", data, "--out", out, *more]) != 0
        assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"dt": np.array([0.01, 0.2])}, "dt"),
        ({"dt": np.array(1e300)}, "dt"),
        ({"dt": np.array("x")}, "dt"),
        ({"split": np.array(["val"])}, "split must have one entry per toss"),
        ({"number": np.array(["a", "b", "c"])}, "number"),
        ({"number": np.array(3)}, "number must have one entry per toss"),
        ({"poses": np.full((3, 4, 8), "x")}, "poses"),
    ],
)
def test_an_invalid_recording_is_refused_in_one_sentence(tmp_path, part, change, sentence):
    poses = np.zeros((3, 4, 8))
    poses[..., 0] = 1.0
    np.savez(tmp_path / "a.npz", **({"poses": poses, "dt": np.array(0.01)} | change))
    with pytest.raises(InputError, match=sentence):
        read_jointed(tmp_path / "a.npz", part)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('axis="0 1 0"', 'axis="0 0 0"', "MuJoCo cannot read .*axis too small"),
        ("</mujoco>", "", "MuJoCo cannot read .*XML"),
        ('"0.05 0.025 0.025"', '"1e300 1e300 1e300"', "lengths must be within 1e.06 m, got 1e.300 m"),
        ('mass="0.37"', 'mass="1e300"', "masses must be within 1e.15 kg, got 1e.300 kg"),
        ("<worldbody>", '<option gravity="0 0 1e300"/><worldbody>', "gravity must lie within"),
    ],
)
def test_an_invalid_part_is_refused_in_one_sentence(tmp_path, old, new, sentence):
    (tmp_path / "a.xml").write_text(ELBOW.read_text().replace(old, new))
    with pytest.raises(InputError, match=sentence) as refusal:
        JointedPart.read(tmp_path / "a.xml")
    assert "\n" not in str(refusal.value) and str(refusal.value).endswith(".")


def test_a_table_with_a_long_name_is_refused_shortly(tmp_path, part):
    (tmp_path / "a.csv").write_text(f"time,x,y,z,qw,qx,qy,qz,{'a' * 5000}\n0,0,0,0,1,0,0,0,0\n")
    with pytest.raises(InputError, match="has no column hinge") as refusal:
        read_jointed(tmp_path / "a.csv", part)
    assert len(str(refusal.value)) < 600
    with pytest.raises(InputError, match="A recording must be a path"):
        read_jointed(None, part)  # type: ignore[arg-type]


def test_a_frame_that_is_nowhere_is_left_out_as_missing(tmp_path, part, poses):
    nowhere = poses[:4].copy()
    nowhere[0, 3, 4], nowhere[1, :, 4] = 1e300, 1e300
    tosses = read_jointed(write(tmp_path / "a.npz", nowhere[[0, 2, 3]]), part)
    assert 3 not in tosses.tosses[0].frame and len(tosses.tosses[0].frame) == FRAMES - 1
    with pytest.raises(InputError, match="has 0 frames without missing numbers"):
        read_jointed(write(tmp_path / "b.npz", nowhere), part)


@pytest.mark.slow
def test_a_part_is_identified_like_a_body(poses, tmp_path, monkeypatch):
    """The public call, and all that its result offers."""
    monkeypatch.setattr("stiction.fit.jointed_fit.STAGES", (Stage((3,), 8.0, 1),))
    data = write(tmp_path / "tosses.npz", poses[:5, :60])
    found = stiction.identify(data, mjcf=ELBOW, progress=False)
    assert found.law is found.material and found.body.joints == ("hinge",) and found.figures["fitted_tosses"] == 4
    assert found.report == str(found) and "Friction is" in found.report and "held-out tosses" in found.report
    assert mujoco.MjModel.from_xml_string(found.mjcf()).nv == 7
    few = found.sample(3)
    assert len(few) == 3 and len({one.law.scale for one in few}) == 3
    found.plot(tmp_path / "part.png")
    assert (tmp_path / "part.png").read_bytes()[:4] == b"\x89PNG"
    model_file, material_file = found.save(tmp_path / "found")
    material = load(material_file)
    assert material.info["fitted_tosses"] == 4 and set(material.info["held_out"]) == {"touch", "whole"}
    sim = Simulation(mujoco.MjModel.from_xml_path(str(model_file)), laws=dict.fromkeys(LINKS, material))
    sim.step(1000)
    assert np.isfinite(sim.data.qpos).all() and sim.data.qpos[2] < 0.2
    with pytest.raises(InputError, match="mjcf describes the whole part: leave out body"):
        stiction.identify(data, stiction.Body.box((0.1, 0.1, 0.1), 1.0), mjcf=ELBOW)
