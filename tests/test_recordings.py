"""Recordings: every format is read, and every bad recording is recognised and named."""

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

from stiction import Body, InputError
from stiction.cli import main
from stiction.learning.recordings.folder import load_recordings, save_recordings
from stiction.learning.recordings.poses import Conventions
from stiction.learning.recordings.read import import_recordings
from stiction.learning.recordings.recorded import split
from toss_files import RATE, record, write_csv, write_mcap, write_npz

SIZE = Body.box((0.1, 0.1, 0.1), 0.37)  # what someone has measured


@pytest.fixture(scope="module")
def states():
    return record(12)


def same_poses(recordings, states) -> None:
    for toss, rows in zip(recordings.tosses.tosses, states, strict=True):
        assert np.abs(toss.position - rows[toss.frame, :3]).max() < 1e-6
        assert np.abs((toss.quaternion * rows[toss.frame, 3:7]).sum(axis=1)).min() > 1 - 1e-9


def test_npz_is_read(tmp_path, states):
    found = import_recordings(write_npz(tmp_path / "a.npz", states, split=np.arange(12) > 8), SIZE)
    same_poses(found, states)
    assert found.held_out.sum() == 3 and found.tosses.timestep == 1 / RATE
    assert all(4 <= toss.flight < 60 for toss in found.tosses.tosses)
    assert any("Free flight falls at 9.8" in line or "Free flight falls at 9.7" in line for line in found.report)


def test_csv_and_parquet_are_read_with_other_column_names(tmp_path, states):
    path = write_csv(tmp_path / "a.csv", states, "n,t,px,py,pz,rw,rx,ry,rz")
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(path), tmp_path / "a.parquet")
    columns = dict(toss="n", time="t", x="px", y="py", z="pz", qw="rw", qx="rx", qy="ry", qz="rz")
    for name in ("a.csv", "a.parquet"):
        found = import_recordings(tmp_path / name, SIZE, columns=columns)
        same_poses(found, states)
        assert found.tosses.timestep == pytest.approx(1 / RATE, rel=1e-3)
    with pytest.raises(InputError, match=r"has no column x, y, z, .* it has n, t, px"):
        import_recordings(path, SIZE)


def test_mcap_poses_are_read(tmp_path, states):
    for i in range(4):
        write_mcap(tmp_path / f"toss{i}.mcap", states[i])
    found = import_recordings(tmp_path, SIZE)
    same_poses(found, states[:4])
    with pytest.raises(InputError, match=r"no poses in JSON messages on topic /other"):
        import_recordings(tmp_path, SIZE, topic="/other")


def test_folder_round_trip_is_exact_and_damage_is_refused(tmp_path, states):
    found = import_recordings(write_npz(tmp_path / "a.npz", states), SIZE)
    save_recordings(found, tmp_path / "set")
    again = load_recordings(tmp_path / "set")
    for a, b in zip(found.tosses.tosses, again.tosses.tosses, strict=True):
        assert np.array_equal(a.position, b.position) and np.array_equal(a.frame, b.frame) and a.flight == b.flight
    assert again.report == found.report
    data = (tmp_path / "set" / "recordings.parquet").read_bytes()
    (tmp_path / "set" / "recordings.parquet").write_bytes(data[:-1])
    with pytest.raises(InputError, match="was altered after it was written, or is not whole"):
        load_recordings(tmp_path / "set")


def test_wrong_units_are_named(tmp_path, states):
    large = states.copy()
    large[..., :3] *= 1000
    path = write_npz(tmp_path / "mm.npz", large)
    with pytest.raises(InputError, match=r"positions are in mm\. Give --units mm"):
        import_recordings(path, SIZE)
    same_poses(import_recordings(path, SIZE, Conventions(units="mm")), states)


def test_wrong_time_units_are_named(tmp_path, states):
    path = write_csv(tmp_path / "ms.csv", states, time=1000 * np.arange(100) / RATE)
    with pytest.raises(InputError, match=r"times are in ms\. Give --time-unit ms"):
        import_recordings(path, SIZE)


def test_swapped_quaternion_order_is_named(tmp_path, states):
    swapped = states.copy()
    swapped[..., 3:7] = states[..., [4, 5, 6, 3]]
    path = write_npz(tmp_path / "xyzw.npz", swapped)
    with pytest.raises(InputError, match=r"they do if quaternions are xyzw .* Give --quaternion xyzw"):
        import_recordings(path, SIZE)
    same_poses(import_recordings(path, SIZE, Conventions(quaternion="xyzw")), states)


def test_inverse_quaternions_are_named(tmp_path, states):
    turned = states.copy()
    turned[..., 4:7] *= -1
    with pytest.raises(InputError, match=r"turn world into body axes .* Give --inverse"):
        import_recordings(write_npz(tmp_path / "inverse.npz", turned), SIZE)


@pytest.mark.parametrize("axis", [0, 1])
def test_left_handed_frames_are_named(tmp_path, axis):
    states = record(60, seed=7)  # one impact a toss says little about sideways forces, many say enough
    mirrored = states.copy()
    mirrored[..., axis] *= -1
    path = write_npz(tmp_path / "left.npz", mirrored)
    with pytest.raises(InputError, match=f"left-handed frame, orientations are not. Give --mirror {'xy'[axis]}"):
        import_recordings(path, SIZE)
    same_poses(import_recordings(path, SIZE, Conventions(mirror="xy"[axis])), states)


def test_another_upward_axis_is_named(tmp_path, states):
    turned = states.copy()
    turned[..., 1], turned[..., 2] = states[..., 2], -states[..., 1]  # y up
    half = 0.5**0.5
    w, x, y, z = (states[..., k] for k in range(3, 7))
    for k, part in enumerate((half * (w + x), half * (x - w), half * (y + z), half * (z - y))):
        turned[..., 3 + k] = part
    path = write_npz(tmp_path / "y.npz", turned)
    with pytest.raises(InputError, match=r"falls along -y, not along -z\. Give --up y"):
        import_recordings(path, SIZE)
    same_poses(import_recordings(path, SIZE, Conventions(up="y")), states)


def test_body_frame_velocities_are_named(tmp_path, states):
    from scipy.spatial.transform import Rotation

    other = states.copy()
    turn = Rotation.from_quat(states[..., 3:7].reshape(-1, 4), scalar_first=True).inv()
    for part in (slice(7, 10), slice(10, 13)):
        other[..., part] = turn.apply(states[..., part].reshape(-1, 3)).reshape(12, 100, 3)
    report = "\n".join(import_recordings(write_npz(tmp_path / "body.npz", other), SIZE).report)
    assert "Recorded linear velocities are in body axes" in report
    assert "Recorded angular velocities are in body axes" in report
    fine = "\n".join(import_recordings(write_npz(tmp_path / "world.npz", states), SIZE).report)
    assert "in body axes" not in fine


def test_a_floor_at_another_height_is_named_and_moved(tmp_path, states):
    raised = states.copy()
    raised[..., 2] += 0.75
    path = write_npz(tmp_path / "table.npz", raised)
    found = import_recordings(path, SIZE)
    assert any("The floor lies at z = 0.7" in line for line in found.report)
    assert np.abs(found.tosses.tosses[0].position[-1, 2] - states[0, -1, 2]) < 2e-3
    with pytest.raises(InputError, match=r"from the floor that was given\. Give --floor 0\.7"):
        import_recordings(path, SIZE, Conventions(floor=0.0))


def test_nan_gaps_are_tolerated_and_long_ones_named(tmp_path, states):
    gaps = states.copy()
    gaps[0, 30:34] = np.nan
    gaps[1, 20:40] = np.nan
    found = import_recordings(write_npz(tmp_path / "gaps.npz", gaps), SIZE)
    report = "\n".join(found.report)
    assert "Frames left out as missing: 4, in 1 tosses" in report
    assert "gaps[1] has a gap of 21 frames, at most 10 are tolerated" in report
    assert len(found) == 11 and len(found.tosses.tosses[0].frame) == 96


def test_ten_frames_are_too_few(tmp_path, states):
    with pytest.raises(InputError, match=r"has 10 usable frames of 10, at least 20 are needed"):
        import_recordings(write_npz(tmp_path / "short.npz", states[:, :10]), SIZE)


def test_outliers_and_bad_quaternions_are_left_out(tmp_path, states):
    bad = states.copy()
    bad[2, 50, :3] += 0.3
    bad[3, 60, 3:7] *= 0.5
    report = "\n".join(import_recordings(write_npz(tmp_path / "bad.npz", bad), SIZE).report)
    assert "left out as outlier: 1, in 1 tosses" in report
    assert "left out as quaternion not of length 1: 1" in report


def test_time_stamps_must_rise(tmp_path, states):
    time = np.arange(100) / RATE
    time[40] = 0.0
    with pytest.raises(InputError, match="time stamps must rise, but row 40 is earlier"):
        import_recordings(write_csv(tmp_path / "time.csv", states[:3], time=time), SIZE)


def test_the_wrong_body_is_doubted(tmp_path, states):
    plate = Body.box((0.3, 0.02, 0.1), 0.37)
    with pytest.raises(InputError, match="is this the body, are its axes right"):
        import_recordings(write_npz(tmp_path / "a.npz", states), plate)


def test_groups_stay_together_in_a_split(tmp_path, states):
    found = import_recordings(write_npz(tmp_path / "a.npz", states, group_id=np.arange(12) // 2), SIZE)
    fit, held = split(found, 0.3, seed=1)
    assert not set(found.groups[fit]) & set(found.groups[held]) and len(fit) + len(held) == 12


def test_import_command(tmp_path, states, capsys):
    path = write_npz(tmp_path / "a.npz", states)
    args = ["import", str(path), "--body", "box:0.1,0.1,0.1", "--mass", "0.37", "--out", str(tmp_path / "set")]
    assert main(args) == 0
    assert "Wrote 12 tosses" in capsys.readouterr().out
    assert main([*args[:1], str(tmp_path / "absent.npz"), *args[2:]]) == 2
    assert "There is no recording" in capsys.readouterr().err
