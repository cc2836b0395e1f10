"""Files as trackers export them: each yields the motion that was written, in its tosses, whatever its conventions."""

import re
from pathlib import Path

import numpy as np
import pytest

import tracker_files as exports
from stiction import Body, InputError
from stiction.cli import main
from stiction.data.tables import read_columns
from stiction.recordings import Conventions, load, plot_cuts, read
from stiction_studies.recordings.example_take import lifted, write_motive, y_up
from toss_files import write_mcap

BODY = Body.box(exports.SIZE, exports.MASS)
DOCS = Path(__file__).parents[2] / "docs" / "recordings.md"


@pytest.fixture(scope="module")
def motion() -> np.ndarray:
    return exports.session(3)[0]


def bag(kind: str, stamped: bool = True):
    return lambda path, poses: exports.write_bag(path, poses, kind, stamped)


# File, writer and name of the body, by the rows of the table in the docs.
READ = {
    "OptiTrack Motive, CSV": [
        ("a.csv", write_motive, "Part"),
        ("a.csv", lambda path, poses: write_motive(path, poses, "XYZ", "Millimeters"), "part"),
        ("a.csv", lambda path, poses: write_motive(path, poses, units="Centimeters"), "Part"),
    ],
    "Vicon Nexus and Tracker, CSV": [
        ("a.csv", exports.write_vicon, "Part"),
        ("a.csv", lambda path, poses: exports.write_vicon(path, poses, "rad", ";"), "Part"),
    ],
    "Qualisys QTM, TSV": [("a.tsv", exports.write_qualisys, "Part")],
    "ROS 2 bag, MCAP: PoseStamped": [
        ("a.mcap", bag("geometry_msgs/msg/PoseStamped"), None),
        ("a.mcap", bag("geometry_msgs/msg/PoseStamped", stamped=False), "/part"),
    ],
    "ROS 2 bag, MCAP: PoseWithCovarianceStamped": [
        ("a.mcap", bag("geometry_msgs/msg/PoseWithCovarianceStamped"), None)
    ],
    "ROS 2 bag, MCAP: Odometry": [("a.mcap", bag("nav_msgs/msg/Odometry"), None)],
    "ROS 2 bag, MCAP: TransformStamped": [("a.mcap", bag("geometry_msgs/msg/TransformStamped"), None)],
    "ROS 2 bag, MCAP: TFMessage": [("a.mcap", bag("tf2_msgs/msg/TFMessage"), "Part")],
    "Foxglove, MCAP: PoseInFrame in JSON": [
        ("a.mcap", lambda path, poses: write_mcap(path, poses, rate=exports.RATE), None)
    ],
    "ROS 2, `ros2 topic echo --csv`": [
        ("a.csv", exports.write_echo, None),
        ("a.csv", lambda path, poses: exports.write_echo(path, poses, transform=True), "Part"),
    ],
    "ROS 2, CSV with names such as `pose.position.x`": [("a.csv", exports.write_ros_csv, None)],
    "PlotJuggler, CSV": [("a.csv", exports.write_plotjuggler, "/part/pose")],
    "AprilTag and ArUco detections, CSV": [
        ("a.csv", exports.write_tags, "7"),
        ("a.csv", lambda path, poses: exports.write_tags(path, poses, quaternion=True), "7"),
    ],
    "TUM trajectory, `.txt` or `.tum`": [("a.txt", exports.write_tum, None), ("a.tum", exports.write_tum, None)],
}
NOT_READ = {"ROS 2 bag, `.db3`": "a.db3", "ROS 1 bag, `.bag`": "a.bag", "markers, `.c3d`": "a.c3d"}


def test_the_docs_list_the_exports_that_are_read():
    table = DOCS.read_text().partition("| files as exported by")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (.*?) \| (yes|no) \|", table, re.MULTILINE)
    assert [name for name, read in rows if read == "yes"] == list(READ)
    assert [name for name, read in rows if read == "no"] == list(NOT_READ)


@pytest.mark.parametrize(("row", "file"), NOT_READ.items(), ids=NOT_READ)
def test_other_files_are_refused_with_a_remedy(tmp_path, row, file):
    (tmp_path / file).write_bytes(b"")
    with pytest.raises(InputError, match=r"is no recording that can be read; (convert|export) .*\.$"):
        read(tmp_path / file, BODY)


def same_motion(found, motion: np.ndarray) -> None:
    """Each toss is a part of the motion, to the digits that were written."""
    assert len(found) == 3
    for toss in found:
        start = int(np.argmin(np.abs(motion[:, :3] - toss.position[0]).sum(axis=1)))
        rows = motion[start + toss.frame]
        assert np.abs(toss.position - rows[:, :3]).max() < 2e-6
        assert np.abs((toss.quaternion * rows[:, 3:]).sum(axis=1)).min() > 1 - 1e-9
        assert toss.flight > 15


@pytest.mark.parametrize(
    ("file", "write", "name"), [case for cases in READ.values() for case in cases],
    ids=[f"{name} {k}" for name, cases in READ.items() for k in range(len(cases))],
)  # fmt: skip
def test_every_export_yields_the_same_motion(tmp_path, motion, file, write, name):
    found = read(write(tmp_path / file, motion), BODY, name=name)
    same_motion(found, motion)
    assert found.timestep == pytest.approx(1 / exports.RATE, rel=1e-6)
    assert any(line.startswith("Split into 3 tosses") for line in found.report)


def test_tosses_start_at_their_release_and_end_at_rest(tmp_path):
    poses, spans = exports.session(6, seed=3)
    cuts: list = []
    read(exports.write_tum(tmp_path / "a.txt", poses), BODY, cuts=cuts)
    (cut,) = cuts
    assert len(cut.pieces) == 6
    for (start, end), (released, at_rest) in zip(cut.pieces, spans):
        assert abs(start - released) <= 1 and abs(end - at_rest) < 0.1 * exports.RATE
    plot_cuts(cuts, tmp_path / "split.png")
    assert (tmp_path / "split.png").read_bytes().startswith(b"\x89PNG")


def test_a_part_that_is_caught_is_no_toss_and_a_gap_ends_one(tmp_path):
    poses, spans = exports.session(4, seed=5)
    caught = spans[1][0] + 14  # in flight: a hand takes it back to where it was thrown from
    back = lifted(poses[caught], poses[spans[1][0] - 60], exports.RATE)
    poses = np.concatenate([poses[:caught], back, poses[spans[1][0] - 60 :]])
    path = exports.write_ros_csv(tmp_path / "a.csv", poses)
    assert len(read(path, BODY)) == 4
    lines = path.read_text().splitlines()
    touching = spans[0][0] + 45
    path.write_text("\n".join(lines[: touching + 1] + lines[touching + 13 :]) + "\n")
    found = read(path, BODY)
    assert len(found) == 4 and len(found[0].frame) == pytest.approx(45, abs=2)


@pytest.mark.parametrize(("rate", "noise"), [(30, 5e-4), (60, 1e-3), (240, 2e-4)])
def test_noisy_and_slow_recordings_are_split(tmp_path, rate, noise):
    rng = np.random.default_rng(0)
    poses, spans = exports.session(3, seed=7, rate=rate)
    poses[:, :3] = 1000 * (poses[:, :3] + rng.normal(0, noise, (len(poses), 3)))
    cuts: list = []
    found = read(exports.write_tags(tmp_path / "a.csv", poses, rate=rate), BODY, name="7", cuts=cuts)
    assert len(found) == 3 and "millimetres, times in nanoseconds" in found.report[0]
    assert all(abs(a - b) <= 1 + 0.03 * rate for (a, _), (b, _) in zip(cuts[0].pieces, spans, strict=True))


def test_conventions_are_detected_and_reported(tmp_path, motion):
    turned = y_up(motion)
    turned[:, :3] *= 100
    path = exports.write_tags(tmp_path / "a.csv", turned)
    found = read(path, BODY, name="7")
    assert found.report[0].endswith(" Detected: y up, centimetres, times in nanoseconds, 120 Hz.")
    same_motion(found, motion)
    assert {name: found.source[name] for name in ("units", "up", "time_unit")} == {
        "units": "cm", "up": "y", "time_unit": "ns",
    }  # fmt: skip
    same_motion(read(path, BODY, Conventions(units="cm", up="y", time_unit="ns"), name="7"), motion)
    with pytest.raises(InputError, match=r"positions are in cm\. Give --units cm"):
        read(path, BODY, Conventions(units="m"), name="7")


def test_an_axis_that_points_down_is_detected(tmp_path, motion):
    down = motion[:, [0, 1, 2, 4, 3, 6, 5]] * [1, -1, -1, -1, 1, -1, 1]  # half a turn about x, as in a camera's frame
    found = read(exports.write_tum(tmp_path / "a.txt", down), BODY)
    assert "-z up" in found.report[0]
    same_motion(found, motion)


def test_the_bodies_of_a_file_are_listed(tmp_path, motion):
    path = write_motive(tmp_path / "a.csv", motion[:50])
    with pytest.raises(InputError, match=r"holds 2 bodies, Gripper, Part: give --object NAME with one of them\.$"):
        read(path, BODY)
    with pytest.raises(InputError, match=r"has no body 'cube'; it has Gripper, Part\.$"):
        read(path, BODY, name="cube")
    np.savez(tmp_path / "a.npz", states=motion[:50], offsets=[0, 50], dt=1 / 120)
    with pytest.raises(InputError, match=r"does not name bodies: leave out --object\.$"):
        read(tmp_path / "a.npz", BODY, name="cube")


def test_stamps_in_nanoseconds_keep_their_digits(tmp_path):
    first = 1_709_287_200_123_456_789
    (tmp_path / "a.csv").write_text("stamp,unused,x\n" + "".join(f"{first + k},{first - k},1\n" for k in range(5)))
    table = read_columns(tmp_path / "a.csv")
    assert table["stamp"].tolist() == [0, 1, 2, 3, 4] and table["unused"].tolist() == [0, -1, -2, -3, -4]


WRONG = {
    "no rigid body": (",Type,Rigid Body", ",Type,Skeleton", r"give --object|no rigid body"),
    "local": ("Coordinate Space,Global", "Coordinate Space,Local", r"coordinate space Local: export it with Global"),
    "furlongs": ("Length Units,Meters", "Length Units,Furlongs", r"Length Units must be one of meters, .*'Furlongs'"),
    "no axes": ("\nFrame,Time", "\nRow,Time", r"has no row of axes, Frame, Time"),
    "a word": ("0.500000", "half", r"cannot be read: could not convert string to float: 'half'"),
    "no rate": ("Export Frame Rate,120.000000", "Export Frame Rate,fast", r"frame rate \[Hz\] must be a number"),
}


@pytest.mark.parametrize(("old", "new", "sentence"), WRONG.values(), ids=WRONG)
def test_damaged_exports_are_refused_in_one_sentence(tmp_path, motion, old, new, sentence):
    path = write_motive(tmp_path / "a.csv", motion[:80])
    text = path.read_text().replace("\r\n", "\n")
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError, match=sentence) as refused:
        read(path, BODY, name=None if "Skeleton" in new else "Part")
    assert "\n" not in str(refused.value) and str(refused.value).endswith(".")


def test_exports_of_markers_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("Trajectories\n100\n,,a,,\nFrame,Sub Frame,X,Y,Z\n,,mm,mm,mm\n1,0,1,2,3\n")
    with pytest.raises(InputError, match=r"no section Objects or Segments, only markers"):
        read(tmp_path / "a.csv", BODY)
    (tmp_path / "a.tsv").write_text("NO_OF_FRAMES\t1\nDATA_INCLUDED\t3D\nMARKER_NAMES\ta\n1\t2\t3\n")
    with pytest.raises(InputError, match=r"has no BODY_NAMES: export 6D data"):
        read(tmp_path / "a.tsv", BODY)
    (tmp_path / "a.txt").write_text("Notes on the session.\n")
    with pytest.raises(InputError, match=r"text files are read as exported by OptiTrack Motive CSV, .*TUM trajectory"):
        read(tmp_path / "a.txt", BODY)


def test_a_take_is_split_in_the_right_time_unit(tmp_path):
    """At 5 kHz, stamps in milliseconds look like those of 5 Hz in seconds."""
    poses, _ = exports.session(2, seed=2, rate=5000.0)
    rows = np.hstack([0.2 * np.arange(len(poses))[:, np.newaxis], poses])
    np.savetxt(tmp_path / "a.csv", rows, "%.12g", ",", header="time,x,y,z,qw,qx,qy,qz", comments="")
    cuts: list = []
    found = read(tmp_path / "a.csv", BODY, cuts=cuts)
    assert len(found) == 2 and found.timestep == pytest.approx(1 / 5000, rel=1e-6)
    assert "times in milliseconds" in found.report[0] and len(cuts[0].pieces) == 2


def test_a_missing_mass_is_said_and_an_impossible_one_refused(tmp_path, capsys):
    poses, _ = exports.session(2, seed=2)
    path, out = write_motive(tmp_path / "session.csv", poses), tmp_path / "data"
    args = ["import", str(path), "--object", "Part", "--body", "box:0.12,0.08,0.06", "--out", str(out)]
    assert main(args) == 0
    assert "No --mass was given: 1 kg is assumed." in capsys.readouterr().out
    for mass in ("220", "1e-4"):
        assert main([*args, "--mass", mass]) == 2
        assert "cannot be: a body of 576 cm^3 has a mass between 0.00058 and 13 kg" in capsys.readouterr().err
        assert main(["identify", str(out), "--mass", mass, "--out", str(tmp_path / "a.safetensors")]) == 2
        assert "give the mass in kilograms and the sizes in metres." in capsys.readouterr().err
    assert main([*args, "--mass", "0.4"]) == 0 and "assumed" not in capsys.readouterr().out


def test_import_and_identify_know_the_body(tmp_path, capsys, monkeypatch):
    """From a raw session to a law: the body and its mass are given once."""
    poses, _ = exports.session(5, seed=2)
    path, out = write_motive(tmp_path / "session.csv", poses), tmp_path / "data"
    args = ["--object", "Part", "--body", "box:0.12,0.08,0.06", "--mass", "0.4", "--out", str(out)]
    assert main(["import", str(path), *args]) == 0
    assert "Split into 5 tosses" in capsys.readouterr().out and (out / "split.png").exists()
    assert load(out).body.mass == 0.4  # type: ignore[union-attr]
    asked = []
    monkeypatch.setattr("stiction.fit.identify.identify_tosses", lambda *args, **_: asked.append(args[2]) or 1 / 0)
    cube, same = ["--body", "box:0.1,0.1,0.1"], exports.SIZE
    for more, mass, size in (([], 0.4, same), (["--mass", "0.5"], 0.5, same), (cube, 0.4, (0.1, 0.1, 0.1))):
        with pytest.raises(ZeroDivisionError):
            main(["identify", str(out), *more, "--out", str(tmp_path / "law.safetensors")])
        assert asked[-1].mass == mass and tuple(asked[-1].size) == size
        noted = "these tosses were imported as of" in capsys.readouterr().err
        assert noted == bool(more)
