"""Recordings: every format is read, and every bad recording is recognised and named."""

from dataclasses import replace

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

import stiction
from stiction import AugmentedLaw, Body, CoulombLaw, InputError, evaluate, rollout
from stiction.bodies.trajectory import columns_of
from stiction.cli import main
from stiction.recordings import Conventions, Tosses, coverage, read, split
from stiction.recordings.mechanics_checks import check_fall
from stiction.recordings.poses import frame_interval
from stiction.recordings.raw import RawToss
from toss_files import LAW, RATE, impact_law, record, starts, write_csv, write_mcap, write_npz

SIZE = Body.box((0.1, 0.1, 0.1), 0.37)  # what someone has measured
BRICK = Body.box((0.15, 0.1, 0.05), 1.0)


@pytest.fixture(scope="module")
def states():
    return record(12)


def same_poses(recordings, states) -> None:
    for toss, rows in zip(recordings.tosses.tosses, states, strict=True):
        assert np.abs(toss.position - rows[toss.frame, :3]).max() < 1e-6
        assert np.abs((toss.quaternion * rows[toss.frame, 3:7]).sum(axis=1)).min() > 1 - 1e-9


def brick(count: int, seed: int) -> np.ndarray:
    """Tosses of a brick until it lies still, poses (count, frames, 7)."""
    law = impact_law(BRICK, friction=0.3, friction_loaded=0.3)
    return record(count, seed=seed, frames=150, law=law)[..., :7]


def test_npz_is_read(tmp_path, states):
    found = read(write_npz(tmp_path / "a.npz", states, split=np.arange(12) > 8), SIZE)
    same_poses(found, states)
    assert found.held_out.sum() == 3 and found.tosses.timestep == 1 / RATE
    assert all(4 <= toss.flight < 60 for toss in found.tosses.tosses)
    assert any("Free flight falls at 9.8" in line or "Free flight falls at 9.7" in line for line in found.report)


def test_edges_that_contacts_contradict_are_named(tmp_path):
    """Twelve tosses are enough to refuse a side that is 67 % too long."""
    path = write_npz(tmp_path / "a.npz", record(12, seed=3, frames=150))
    assert not any("contacts fit" in line for line in read(path, SIZE).report)
    with pytest.raises(InputError, match=r"Along its x axis the body was given as 167 mm, but its contacts fit \d+ ±"):
        read(path, Body.box((0.167, 0.1, 0.1), 0.37))


def test_csv_and_parquet_are_read_with_other_column_names(tmp_path, states):
    path = write_csv(tmp_path / "a.csv", states, "n,t,a1,a2,a3,b0,b1,b2,b3")
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(path), tmp_path / "a.parquet")
    columns = dict(toss="n", time="t", x="a1", y="a2", z="a3", qw="b0", qx="b1", qy="b2", qz="b3")
    for name in ("a.csv", "a.parquet"):
        found = read(tmp_path / name, SIZE, columns=columns)
        same_poses(found, states)
        assert found.tosses.timestep == pytest.approx(1 / RATE, rel=1e-3)
    with pytest.raises(InputError, match=r"has no column x, y, z, .* it has n, t, a1"):
        read(path, SIZE)


def test_mcap_poses_are_read(tmp_path, states):
    for i in range(4):
        write_mcap(tmp_path / f"toss{i}.mcap", states[i])
    found = read(tmp_path, SIZE)
    same_poses(found, states[:4])
    with pytest.raises(InputError, match=r"no poses on topic /other"):
        read(tmp_path, SIZE, topic="/other")


def test_folder_round_trip_is_exact_and_damage_is_refused(tmp_path, states):
    found = read(write_npz(tmp_path / "a.npz", states), SIZE)
    stiction.recordings.save(found, tmp_path / "set")
    again = stiction.recordings.load(tmp_path / "set")
    for a, b in zip(found.tosses.tosses, again.tosses.tosses, strict=True):
        assert np.array_equal(a.position, b.position) and np.array_equal(a.frame, b.frame) and a.flight == b.flight
    assert again.report == found.report
    data = (tmp_path / "set" / "recordings.parquet").read_bytes()
    (tmp_path / "set" / "recordings.parquet").write_bytes(data[:-1])
    with pytest.raises(InputError, match="was altered after it was written, or is not whole"):
        stiction.recordings.load(tmp_path / "set")


def test_wrong_units_are_named(tmp_path, states):
    large = states.copy()
    large[..., :3] *= 1000
    path = write_npz(tmp_path / "mm.npz", large)
    with pytest.raises(InputError, match=r"positions are in mm\. Give --units mm"):
        read(path, SIZE, Conventions(units="m"))
    for how in (None, Conventions(units="mm")):
        same_poses(read(path, SIZE, how), states)


def test_wrong_time_units_are_named(tmp_path, states):
    path = write_csv(tmp_path / "ms.csv", states, time=1000 * np.arange(100) / RATE)
    with pytest.raises(InputError, match=r"times are in ms\. Give --time-unit ms"):
        read(path, SIZE, Conventions(time_unit="s"))
    same_poses(read(path, SIZE), states)


def test_a_body_in_millimetres_is_named(tmp_path, states):
    path = write_npz(tmp_path / "a.npz", states)
    with pytest.raises(InputError, match=r"its sizes look like millimetres\. Give them in metres, 0\.1 for 100"):
        read(path, Body.box((100, 100, 100), 0.37))


def test_rounded_time_stamps_give_the_rate():
    time = np.round(np.arange(100) / 240, 5)  # gaps of 4.16 and 4.17 ms
    raw = [RawToss("a", time, np.zeros((100, 7)))]
    assert frame_interval(raw, Conventions(), None) == pytest.approx(1 / 240, rel=1e-4)


def test_gravity_is_doubted_only_where_it_shows():
    low = np.array([0.0, 0.0, -9.448])
    sure, unsure = (str(check_fall(low, error, Conventions())[0]) for error in (0.01, 0.3))
    assert "9.448 ± 0.01 m/s^2, where 9.81 is expected: lengths seem 3.7% too short" in sure
    assert "too short" not in unsure and "fit within the error" in unsure


def test_few_impacts_do_not_refuse_a_right_recording(tmp_path):
    """Twelve impacts say little about sideways forces, and by chance the wrong thing."""
    for seed in range(2):
        assert len(read(write_npz(tmp_path / f"{seed}.npz", record(12, seed=20 + seed)), SIZE)) == 12


def test_swapped_quaternion_order_is_named(tmp_path, states):
    swapped = states.copy()
    swapped[..., 3:7] = states[..., [4, 5, 6, 3]]
    path = write_npz(tmp_path / "xyzw.npz", swapped)
    with pytest.raises(InputError, match=r"they do if quaternions are xyzw .* Give --quaternion xyzw"):
        read(path, SIZE, Conventions(quaternion="wxyz"))
    for how in (None, Conventions(quaternion="xyzw")):
        same_poses(read(path, SIZE, how), states)


@pytest.mark.slow
def test_rests_reveal_what_few_impacts_do_not(tmp_path):
    """Of some draws of tosses, impacts fit no reading surely better; where the body comes to rest does."""
    reasons = {"impacts": 0, "rests": 0}
    for seed in range(8):
        box = brick(8, seed)
        path = write_npz(tmp_path / "xyzw.npz", box[..., [0, 1, 2, 4, 5, 6, 3]])
        with pytest.raises(InputError, match=r"if quaternions are xyzw.* Give --quaternion xyzw\.$") as refused:
            read(path, BRICK, Conventions(quaternion="wxyz"))
        reasons["rests" if "comes to rest" in str(refused.value) else "impacts"] += 1
        read(write_npz(tmp_path / "right.npz", box), BRICK)
    assert reasons["impacts"] and reasons["rests"]


@pytest.mark.parametrize("order", [(2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_edges_in_another_order_are_named(tmp_path, order):
    given = Body.box([BRICK.size[k] for k in order], 1.0)
    with pytest.raises(InputError, match=r"size of the body does not fit.* Give --body box:0.15,0.1,0.05\.$"):
        read(write_npz(tmp_path / "brick.npz", brick(12, 3)), given)


def test_inverse_quaternions_are_named(tmp_path, states):
    turned = states.copy()
    turned[..., 4:7] *= -1
    with pytest.raises(InputError, match=r"turn world into body axes .* Give --inverse"):
        read(write_npz(tmp_path / "inverse.npz", turned), SIZE)


@pytest.mark.parametrize("axis", [0, 1])
def test_left_handed_frames_are_named(tmp_path, axis):
    states = record(60, seed=7)  # one impact a toss says little about sideways forces, many say enough
    mirrored = states.copy()
    mirrored[..., axis] *= -1
    path = write_npz(tmp_path / "left.npz", mirrored)
    with pytest.raises(InputError, match=f"left-handed frame, orientations are not. Give --mirror {'xy'[axis]}"):
        read(path, SIZE)
    same_poses(read(path, SIZE, Conventions(mirror="xy"[axis])), states)


def test_another_upward_axis_is_named(tmp_path, states):
    turned = states.copy()
    turned[..., 1], turned[..., 2] = states[..., 2], -states[..., 1]  # y up
    half = 0.5**0.5
    w, x, y, z = (states[..., k] for k in range(3, 7))
    for k, part in enumerate((half * (w + x), half * (x - w), half * (y + z), half * (z - y))):
        turned[..., 3 + k] = part
    path = write_npz(tmp_path / "y.npz", turned)
    with pytest.raises(InputError, match=r"falls along -y, not along -z\. Give --up y"):
        read(path, SIZE, Conventions(up="z"))
    for how in (None, Conventions(up="y")):
        same_poses(read(path, SIZE, how), states)


def test_body_frame_velocities_are_named(tmp_path, states):
    from scipy.spatial.transform import Rotation

    other = states.copy()
    turn = Rotation.from_quat(states[..., 3:7].reshape(-1, 4), scalar_first=True).inv()
    for part in (slice(7, 10), slice(10, 13)):
        other[..., part] = turn.apply(states[..., part].reshape(-1, 3)).reshape(12, 100, 3)
    report = "\n".join(read(write_npz(tmp_path / "body.npz", other), SIZE).report)
    assert "Recorded linear velocities are in body axes" in report
    assert "Recorded angular velocities are in body axes" in report
    fine = "\n".join(read(write_npz(tmp_path / "world.npz", states), SIZE).report)
    assert "in body axes" not in fine


def test_a_floor_at_another_height_is_named_and_moved(tmp_path, states):
    raised = states.copy()
    raised[..., 2] += 0.75
    path = write_npz(tmp_path / "table.npz", raised)
    found = read(path, SIZE)
    assert any("rests on a floor at z = 0.7" in line for line in found.report)
    assert np.abs(found.tosses.tosses[0].position[-1, 2] - states[0, -1, 2]) < 2e-3
    with pytest.raises(InputError, match=r"from the floor that was given\. Give --floor 0\.7"):
        read(path, SIZE, Conventions(floor=0.0))


def test_nan_gaps_are_tolerated_and_long_ones_named(tmp_path, states):
    gaps = states.copy()
    gaps[0, 30:34] = np.nan
    gaps[1, 20:40] = np.nan
    found = read(write_npz(tmp_path / "gaps.npz", gaps), SIZE)
    report = "\n".join(found.report)
    assert "4 frames in 1 tosses are left out: the tracker did not see the body." in report
    assert "gaps[1] has a gap of 21 frames, at most 10 are tolerated" in report
    assert len(found) == 11 and len(found.tosses.tosses[0].frame) == 96


def test_ten_frames_are_too_few(tmp_path, states):
    with pytest.raises(InputError, match=r"has 10 usable frames of 10, at least 20 are needed"):
        read(write_npz(tmp_path / "short.npz", states[:, :10]), SIZE)


def test_outliers_and_bad_quaternions_are_left_out(tmp_path, states):
    bad = states.copy()
    bad[2, 50, :3] += 0.3
    bad[3, 60, 3:7] *= 0.5
    report = "\n".join(read(write_npz(tmp_path / "bad.npz", bad), SIZE).report)
    assert "1 frames in 1 tosses are left out: their positions are outliers." in report
    assert "1 frames in 1 tosses are left out: their quaternions are not of length 1." in report


def test_time_stamps_must_rise(tmp_path, states):
    time = np.arange(100) / RATE
    time[40] = 0.0
    with pytest.raises(InputError, match="time stamps must rise, but row 40 is earlier"):
        read(write_csv(tmp_path / "time.csv", states[:3], time=time), SIZE)


def test_the_wrong_body_is_doubted(tmp_path, states):
    plate = Body.box((0.3, 0.02, 0.1), 0.37)
    with pytest.raises(InputError, match="is this the body, are its axes right"):
        read(write_npz(tmp_path / "a.npz", states), plate)


def test_groups_stay_together_in_a_split(tmp_path, states):
    found = read(write_npz(tmp_path / "a.npz", states, group_id=np.arange(12) // 2), SIZE)
    fit, held = split(found, 0.3, seed=1)
    assert not set(found.groups[fit]) & set(found.groups[held]) and len(fit) + len(held) == 12


def test_import_command(tmp_path, states, capsys):
    path = write_npz(tmp_path / "a.npz", states)
    args = ["import", str(path), "--body", "box:0.1,0.1,0.1", "--mass", "0.37", "--out", str(tmp_path / "set")]
    assert main(args) == 0
    assert "Wrote 12 tosses" in capsys.readouterr().out
    assert main([*args[:1], str(tmp_path / "absent.npz"), *args[2:]]) == 2
    assert "There is no recording" in capsys.readouterr().err


@pytest.fixture(scope="module")
def recordings(tmp_path_factory, states):
    return read(write_npz(tmp_path_factory.mktemp("npz") / "a.npz", states, split=np.arange(12) > 8), SIZE)


def test_recordings_are_a_list_of_tosses_that_know_their_body(recordings):
    toss = recordings[3]
    assert toss.body is SIZE and toss.timestep == 1 / RATE and toss.name == recordings.names[3]
    assert [each.name for each in recordings] == recordings.names
    assert recordings[-1].name == recordings.names[11]
    some = recordings[2:5]
    assert some.names == recordings.names[2:5] and some.body is SIZE and some[0].name == recordings.names[2]
    assert recordings[[1, 7]].names == [recordings.names[1], recordings.names[7]]
    with pytest.raises(IndexError):
        recordings[12]
    shown = "Recordings(12 tosses of Body(box 0.1 x 0.1 x 0.1 m, 0.37 kg) at 148 Hz, 3 held out)"
    assert repr(recordings) == shown
    assert repr(toss) == f"Toss('a[3]', 100 frames, 0.669 s, {toss.flight} in flight)"


def test_a_toss_has_a_start(recordings, states):
    """Closer than its first frame, and with the law's own centre of mass as good as the noise allows."""
    for i, toss in enumerate(recordings):
        rough, exact = toss.start(), toss.start(LAW)
        assert exact.position == pytest.approx(states[i, 0, :3], abs=1e-4)
        assert exact.velocity == pytest.approx(states[i, 0, 7:10], abs=0.01)
        assert exact.angular_velocity == pytest.approx(states[i, 0, 10:], abs=0.05)
        assert np.linalg.norm(rough.velocity - exact.velocity) < 0.12  # its centre of mass is 5 mm off
        error = np.sqrt(np.diag(toss.start_covariance(LAW)))
        assert (
            error.shape == (12,) and (np.abs(exact.angular_velocity - states[i, 0, 10:]) < 5 * error[9:] + 1e-3).all()
        )
    assert recordings[0].start("cube").batch_shape == ()


def test_a_toss_is_forecast_at_its_frames(recordings):
    for toss in recordings[:4]:
        run = toss.forecast(LAW)
        assert run.steps == toss.steps and run.timestep == pytest.approx(toss.timestep)
        assert np.linalg.norm(toss.at_frames(run).position - toss.position, axis=1).max() < 5e-3
        assert toss.time == pytest.approx(run.time[toss.frame])
    fine = recordings[0].forecast(
        CoulombLaw(SIZE, 0.2, timestep=0.001)
    )  # which takes several steps from frame to frame
    assert fine.steps == recordings[0].steps and fine.timestep == pytest.approx(1 / RATE)
    drawn = recordings[0].forecast("cube", samples=5, seed=1)
    assert recordings[0].at_frames(drawn).batch_shape == (5, len(recordings[0].frame))
    assert drawn.position.shape == (5, 100, 3) and np.ptp(drawn.position[:, -1], axis=0).max() > 1e-4
    with pytest.raises(InputError, match=r"learned for time steps of 0.002 s and holds only for these, got 0.0022"):
        recordings[0].forecast(AugmentedLaw.untrained(SIZE, seed=0))


def test_a_law_of_another_body_forecasts_nothing(recordings):
    for call in (
        lambda: recordings[0].start("box"),
        lambda: recordings[0].forecast(CoulombLaw(Body.box((0.12, 0.08, 0.05), 0.37), 0.2, timestep=1 / RATE)),
        lambda: coverage("box", recordings),
        lambda: evaluate(LAW, data=replace(recordings, body=Body.box((0.1, 0.1, 0.2), 0.37))),
    ):
        with pytest.raises(InputError, match=r"The law is for Body\(.*\), but these are tosses of Body\(box .*\)\."):
            call()


def test_coverage_grows_with_the_level_and_with_the_spread(recordings):
    unsure = LAW.with_spread([0.2, 0.3, 0.1])
    sure = LAW.with_material(friction=0.5).with_spread([0.002, 0.003, 0.001])  # and wrong
    shares = coverage(unsure, recordings, (0.2, 0.5, 0.95), samples=24)
    assert list(shares) == [0.2, 0.5, 0.95] and shares[0.2] <= shares[0.5] <= shares[0.95] and shares[0.95] > 0.8
    assert coverage(sure, recordings, samples=24)[0.9] < 0.5
    refused = {
        "has no spread, so that its forecasts have no regions": lambda: coverage(LAW, recordings),
        "has no known uncertainty": lambda: coverage(CoulombLaw(SIZE, timestep=1 / RATE), recordings),
        "is for steps of 0.002 s, but frames are 0.006757 s apart": lambda: coverage(
            AugmentedLaw.untrained(SIZE, seed=0), recordings
        ),
        "levels must lie between 0 and 1": lambda: coverage("cube", recordings, (0.5, 1.5)),
        "recordings must come from stiction.recordings.read, got list": lambda: coverage("cube", [1]),  # type: ignore
        "samples must be a whole number of at least 8": lambda: coverage("cube", recordings, samples=2),
    }
    for sentence, call in refused.items():
        with pytest.raises(InputError, match=sentence):
            call()


def test_a_folder_keeps_the_frames_that_are_held(tmp_path, recordings):
    held = Tosses([replace(toss, held=2) for toss in recordings.tosses.tosses], recordings.timestep)
    stiction.recordings.save(replace(recordings, tosses=held), tmp_path / "set")
    again = stiction.recordings.load(tmp_path / "set").tosses.tosses
    assert all(a.held == 2 and a.flight == b.flight for a, b in zip(again, held.tosses, strict=True))


def test_a_folder_keeps_the_body(tmp_path, recordings):
    stiction.recordings.save(recordings, tmp_path / "set")
    again = stiction.recordings.load(tmp_path / "set")
    assert again.body is not None and again.body.same_as(SIZE)
    assert np.array_equal(again[3].start().velocity, recordings[3].start().velocity)
    unknown = replace(recordings, body=None)
    stiction.recordings.save(unknown, tmp_path / "other")
    assert stiction.recordings.load(tmp_path / "other").body is None
    with pytest.raises(InputError, match=r"The body of this toss is not known: give its law, toss.start\(law\)"):
        unknown[0].start()
    with pytest.raises(InputError, match="This toss has no time step: take it from recordings"):
        recordings.tosses.tosses[0].start(LAW)
    with pytest.raises(InputError, match=r"body must be the stiction.Body that was tossed, got str"):
        read(tmp_path / "set", "box")  # type: ignore[arg-type]


def test_a_table_of_a_trajectory_can_be_read_as_a_recording(tmp_path):
    columns = columns_of(rollout(LAW, starts(3, 1), 100))
    pyarrow.csv.write_csv(pyarrow.table(columns), tmp_path / "a.csv")
    found = read(tmp_path / "a.csv", SIZE)
    assert len(found) == 3 and found[1].position[7].tolist() == pytest.approx(
        [columns[name][101 + 7] for name in ("x", "y", "z")], abs=1e-6
    )


def test_a_folder_that_import_wrote_is_not_read_as_poses(tmp_path):
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match=r"open it with stiction\.recordings\.load"):
        read(tmp_path, Body.box((0.1, 0.1, 0.1), 1.0))
