"""Planar recordings: x, z and an angle are read, mended and levelled, and a known law comes back from them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stiction
from stiction import Body, InputError, State, evaluate, identify, load, rollout
from stiction.bodies.rotations import angles_in_plane, turns_in_plane
from stiction.fit.free import flight_in_plane
from stiction.recordings import Conventions, read
from toss_files import impact_law, record, write_csv, write_npz

RATE = 250.0
SQUARE = Body.rectangle((0.06, 0.06), 1.0)
ROUNDED = SQUARE.reshaped(rounding=0.001, inertia=1.05 * SQUARE.inertia)
MATERIAL: dict[str, Any] = dict(restitution=0.4, friction=0.2, friction_loaded=0.12, restitution_lever=0.2)
LAW = impact_law(ROUNDED, timestep=1 / RATE, gravity=(0.1, 0.0, -9.7), drag=0.5, **MATERIAL)


def poses(count: int, seed: int = 0, frames: int = 160) -> np.ndarray:
    """Drops of the square, (count, frames, 3): x, z, angle, with a tracker's noise."""
    rng = np.random.default_rng(seed)
    none = np.zeros(count)
    start = State(
        np.stack([rng.normal(0, 0.1, count), none, rng.uniform(0.13, 0.17, count)], axis=1),
        turns_in_plane(rng.uniform(-3, 3, count)),
        np.stack([rng.normal(-0.4, 0.3, count), none, rng.uniform(-2.2, -1.2, count)], axis=1),
        np.stack([none, rng.normal(0, 6, count), none], axis=1),
    )
    run = rollout(LAW, start, frames - 1)
    angle = np.array([angles_in_plane(toss) for toss in run.quaternion])
    clean = np.stack([run.position[..., 0], run.position[..., 2], angle], axis=2)
    return clean + rng.normal(0, 1, clean.shape) * [3e-5, 3e-5, 1e-3]


def write(path: Path, data: np.ndarray, **fields) -> Path:
    np.savez(path, poses=data, **{"dt": 1 / RATE, **fields})
    return path


@pytest.fixture(scope="module")
def drops():
    return poses(24)


def test_planar_npz_is_read_as_a_motion_in_the_plane(tmp_path, drops):
    split = np.where(np.arange(24) < 20, "train", "val")
    found = read(write(tmp_path / "a.npz", drops, split=split), SQUARE)
    assert len(found) == 24 and found.held_out.sum() == 4
    stiction.recordings.save(found, tmp_path / "set")
    toss = stiction.recordings.load(tmp_path / "set")[3]
    assert toss.position[:, [0, 2]] == pytest.approx(drops[3, toss.frame, :2], abs=2e-3)  # the floor may be moved
    assert np.cos(angles_in_plane(toss.quaternion) - drops[3, toss.frame, 2]).min() > 0.999
    assert not toss.position[:, 1].any() and not toss.quaternion[:, [1, 3]].any()
    run = toss.forecast(LAW)
    n = toss.flight + 10
    assert run.position[toss.frame[:n]] == pytest.approx(toss.position[:n], abs=2e-3)
    assert not run.position[..., 1].any()


def csv(path: Path, drops: np.ndarray, header: str = "toss,time,x,y,theta") -> Path:
    rows = [
        f"{i},{k / RATE:.4f}," + ",".join(f"{value:.6f}" for value in row)
        for i, toss in enumerate(drops)
        for k, row in enumerate(toss)
    ]
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_usual_names_of_columns_are_guessed_and_others_mapped(tmp_path, drops):
    found = read(csv(tmp_path / "a.csv", drops[:8]), SQUARE)
    other = read(
        csv(tmp_path / "b.csv", drops[:8], "toss,time,u,v,w"), SQUARE, columns={"x": "u", "z": "v", "angle": "w"}
    )
    for a, b in zip(found.tosses.tosses, other.tosses.tosses, strict=True):
        assert np.array_equal(a.position, b.position) and np.array_equal(a.quaternion, b.quaternion)
    with pytest.raises(InputError, match=r"has no column x, z, angle; it has .*: map them, such as --columns x=pos_x"):
        read(tmp_path / "b.csv", SQUARE)


def test_poses_in_a_plane_of_a_body_in_space_are_refused_at_once(tmp_path, drops):
    box, tosses = Body.box((0.1, 0.1, 0.1), 0.37), record(4)
    in_plane = [write(tmp_path / "a.npz", drops), csv(tmp_path / "a.csv", drops[:4])]
    in_space = [write_npz(tmp_path / "b.npz", tosses), write_csv(tmp_path / "b.csv", tosses)]
    for path in in_plane:
        with pytest.raises(InputError, match=r"poses in a plane .* give a planar one, --body rectangle:X,Z\."):
            read(path, box)
    for path in in_space:
        with pytest.raises(InputError, match=r"poses in space .* such as --body box:X,Y,Z\."):
            read(path, SQUARE)
    recordings = read(in_plane[0], SQUARE)
    wrong = {
        "identify": lambda: identify(recordings, box),
        "start": lambda: recordings[0].start("cube"),
        "forecast": lambda: recordings[0].forecast("cube", samples=2),
        "evaluate": lambda: evaluate("cube", data=recordings),
    }
    for call in wrong.values():
        with pytest.raises(InputError, match=r"recorded in a plane, but Body\(box .*\) moves in space\."):
            call()


def test_degrees_and_the_other_sense_are_named(tmp_path, drops):
    degrees = write(tmp_path / "deg.npz", drops * [1, 1, 180 / np.pi])
    with pytest.raises(InputError, match=r"angles are in deg\. Give --angle deg"):
        read(degrees, SQUARE)
    assert len(read(degrees, SQUARE, Conventions(angle="deg"))) == 24
    with pytest.raises(InputError, match=r"they turn z towards x\. Give --inverse"):
        read(write(tmp_path / "sense.npz", drops * [1, 1, -1]), SQUARE)


def test_a_sloping_floor_and_angles_that_are_off_are_put_right(tmp_path, drops):
    slope, off = np.radians(1.5), np.radians(-2.0)
    c, s = np.cos(slope), np.sin(slope)
    tilted = drops @ [[c, s, 0], [-s, c, 0], [0, 0, 1]] + [0, 0, slope + off]
    found = read(write(tmp_path / "tilted.npz", tilted), SQUARE)
    assert any("floor rises along x by 1.5" in line for line in found.report)
    assert any("angle of the body is off by -2.0" in line for line in found.report)
    level = read(write(tmp_path / "level.npz", drops), SQUARE)
    for a, b in zip(found.tosses.tosses, level.tosses.tosses, strict=True):
        assert np.abs(a.position - b.position).max() < 1e-3
        assert np.abs(angles_in_plane(a.quaternion) - angles_in_plane(b.quaternion)).max() < np.radians(0.2)


def test_lost_frames_are_counted_and_wrong_rows_left_out(tmp_path, drops):
    kept = np.delete(np.arange(160), [8, 60, 61])  # the tracker left out three rows, and nothing says so
    closed = np.concatenate([drops[:, kept], drops[:, -1:], drops[:, -1:], drops[:, -1:]], axis=1)
    closed[:, 5] += [0.05, 0.0, 1.0]  # and got one wrong
    found = read(write(tmp_path / "lost.npz", closed), SQUARE)
    whole = read(write(tmp_path / "whole.npz", drops), SQUARE)
    right = 0
    for a, b in zip(found.tosses.tosses, whole.tosses.tosses, strict=True):
        assert 5 not in a.frame and 8 not in a.frame  # in flight, both are seen for certain
        right += 60 not in a.frame and 61 not in a.frame
        assert a.position[a.frame == 20] == pytest.approx(b.position[b.frame == 20], abs=1e-3)
    assert right >= 12  # a body that hardly moves may lose what it likes


def test_turns_by_a_symmetry_are_taken_back(tmp_path, drops):
    turned = drops.copy()
    turned[:, 9:, 2] += np.pi / 2
    found = read(write(tmp_path / "turned.npz", turned), SQUARE)
    assert any("24 jumps to another side of the body in 24 tosses are corrected." in line for line in found.report)
    oblong = Body.rectangle((0.06, 0.05), 1.0)  # which a quarter turn does not leave as it is
    found = read(tmp_path / "turned.npz", oblong)
    assert len(found) < 20 and any("cannot be followed from row 8 on: the body jumps" in line for line in found.report)


def test_drag_slows_flight_as_it_should():
    start = State([0, 0, 5.0], velocity=[1.0, 0, 0], angular_velocity=[0, 4.0, 0])
    law = impact_law(ROUNDED, timestep=1 / RATE, gravity=(0, 0, 0), drag=0.5, **MATERIAL)
    run = rollout(law, start, 100)
    t = run.timestep * np.arange(101)
    assert run.position[:, 0] == pytest.approx((1 - np.exp(-0.5 * t)) / 0.5, abs=1e-6)
    assert run.angular_velocity[:, 1] == pytest.approx(4 * np.exp(-0.5 * t), rel=1e-9)


def test_a_rounded_square_keeps_its_sides_and_comes_to_rest():
    body = SQUARE.reshaped(scale=1.1, rounding=0.002)
    assert np.ptp(body.vertices, axis=0) == pytest.approx([0.062, 0, 0.062]) and body.rounding == 0.002
    with pytest.raises(InputError, match="it is too small"):
        SQUARE.reshaped(rounding=0.03)
    law = impact_law(body, timestep=0.002, **dict(MATERIAL, restitution=0.3))
    run = rollout(law, State([0, 0, 0.05], turns_in_plane(np.array([0.3]))[0]), 2000)
    assert run.position[-1, 2] == pytest.approx(0.033, abs=1e-4) and not run.velocity[-1].any()


@pytest.mark.slow
def test_a_known_law_comes_back_from_planar_drops(tmp_path):
    split = np.arange(80) >= 64
    recordings = read(write(tmp_path / "a.npz", poses(80, seed=2), split=split), SQUARE)
    flight = flight_in_plane(recordings.tosses, SQUARE)
    for name, value in {"gravity": 9.7, "gravity_x": 0.1, "drag": 0.5}.items():
        assert abs(flight[name][0] - value) < 4 * flight[name][1], name
    found = identify(recordings, progress=False)
    truth = {
        "com_x": 0.0,
        "com_z": 0.0,
        "inertia": 1.05,
        "size": 1.0,
        "rounding": 0.001,
        "restitution": float(LAW.material.restitution_at(0.5)),
        "restitution_lever": 0.2,
        "friction_loaded": 0.12,
    }
    for name, value in truth.items():
        row = found.figures["parameters"][name]
        assert abs(row["value"] - value) < 3 * row["error"] + 1e-5, name
    assert found.figures["parameters"]["restitution"]["error"] < 0.03
    assert "Drag: " in found.summary() and found.law.body.planar


def test_the_law_square_ships_and_forecasts_drops(tmp_path, drops):
    law = load("square")
    assert law.body.planar and law.drag == pytest.approx(0.52, abs=0.05)
    toss = read(write(tmp_path / "a.npz", drops), SQUARE)[0]
    many = toss.forecast(law, samples=5, seed=1)
    assert many.position.shape == (5, toss.steps + 1, 3) and np.ptp(many.position[:, -1, 0]) > 0
