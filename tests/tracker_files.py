"""Recordings as trackers export them, written from one motion: tosses of a box in MuJoCo, with pauses and hands."""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from stiction_studies.recordings.example_take import carried, still

mujoco: Any = import_module("mujoco")  # whose stubs lack most names
SIZE = (0.12, 0.08, 0.06)  # [m]
MASS = 0.4  # [kg]
RATE = 120.0
STEPS = 16  # of the simulation from frame to frame
_MODEL = f"""
<mujoco><option integrator="implicitfast"/><worldbody>
<geom type="plane" size="5 5 1" friction="0.4 0 0"/>
<body><freejoint/><geom type="box" size="{SIZE[0] / 2} {SIZE[1] / 2} {SIZE[2] / 2}" mass="{MASS}" friction="0.4 0 0"
 solref="0.004 0.6"/></body></worldbody></mujoco>
"""


@cache
def session(tosses: int = 15, seed: int = 0, rate: float = RATE) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Poses (frames, 7) of a session, z up, w x y z, and the frames (release, rest) of each toss in it.

    After each toss the box lies for a second; then a hand lifts it, turns it, holds it still, and throws it again.
    """
    model = mujoco.MjModel.from_xml_string(_MODEL)
    model.opt.timestep = 1 / rate / STEPS
    rng, frames, spans = np.random.default_rng(seed), [], []
    rest = np.array([0.0, 0.0, SIZE[2] / 2, 1.0, 0.0, 0.0, 0.0])
    for _ in range(tosses):
        hand = np.r_[
            rng.normal(0, 0.1, 2), rng.uniform(0.25, 0.4), Rotation.random(None, rng).as_quat(scalar_first=True)
        ]
        velocity, spin = np.r_[rng.normal(0, 0.6, 2), rng.normal(0.2, 0.4)], rng.normal(0, 5, 3)
        frames += carried(rest, hand, velocity, spin, rate)
        flight, rest = _thrown(model, hand, velocity, spin, rate)
        spans.append((len(frames), len(frames) + len(flight)))
        frames += [*flight, *[rest] * int(rate)]
    return np.array(frames), spans


def _thrown(model, pose, velocity, spin, rate: float) -> tuple[list[np.ndarray], np.ndarray]:
    """Poses from the release until the box lies still for 0.1 s, and the last one."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:3] = pose, velocity
    data.qvel[3:] = Rotation.from_quat(pose[3:], scalar_first=True).inv().apply(spin)
    found, still = [], 0
    while still < 0.1 * rate:
        found.append(data.qpos.copy())
        still = still + 1 if np.abs(data.qvel).max() < 0.02 else 0
        mujoco.mj_step(model, data, STEPS)
    return found, found[-1]


def _rotation(poses: np.ndarray) -> Rotation:
    return Rotation.from_quat(poses[:, 3:], scalar_first=True)


def write_vicon(path: Path, poses, unit: str = "deg", mark: str = ",", rate: float = RATE) -> Path:
    """Nexus or Tracker: objects with rotation vectors in degrees or radians, mm, then marker trajectories."""
    data = []
    for motion in (still(poses), poses):
        data += [_rotation(motion).as_rotvec(degrees=unit == "deg"), 1000 * motion[:, :3]]
    rows = ["Objects", f"{rate:g}", mark.join(["", "", "Gripper:Gripper", *[""] * 5, "Part:Part", *[""] * 5])]
    rows += [mark.join(["Frame", "Sub Frame", *["RX", "RY", "RZ", "TX", "TY", "TZ"] * 2])]
    rows += [mark.join(["", "", *([unit] * 3 + ["mm"] * 3) * 2])]
    for k, row in enumerate(np.hstack(data)):
        cells = [f"{value:.9g}" for value in row]
        cells = ["" for _ in cells] if k % 97 == 50 else cells
        rows.append(mark.join([str(k + 1), "0", *cells]).replace(".", "," if mark == ";" else "."))
    rows += ["", "Trajectories", f"{rate:g}", f"{mark}{mark}Part:a", mark.join(["Frame", "Sub Frame", "X", "Y", "Z"])]
    rows += [f"{mark}{mark}mm{mark}mm{mark}mm", mark.join(["1", "0", "1", "2", "3"])]
    path.write_text("\n".join(rows) + "\n")
    return path


def write_qualisys(path: Path, poses, rate: float = RATE) -> Path:
    """QTM: 6D data of two bodies, mm, matrices by columns, zeros where a body was not seen."""
    rows = [f"NO_OF_FRAMES\t{len(poses)}", "NO_OF_CAMERAS\t8", "NO_OF_BODIES\t2", f"FREQUENCY\t{rate:g}"]
    rows += ["NO_OF_ANALOG\t0", "ANALOG_FREQUENCY\t0", "DESCRIPTION\t--", "TIME_STAMP\t2024-03-01, 10:00:00\t1.5"]
    rows += ["DATA_INCLUDED\t6D", "BODY_NAMES\tGripper\tPart"]
    names = ["Y", "Z", "Roll", "Pitch", "Yaw", "Residual", *(f"Rot[{k}]" for k in range(9))]
    rows.append("\t".join(["Frame", "Time", "Gripper X", *names, "Part X", *names]))
    data = []
    for motion in (still(poses), poses):
        turn = _rotation(motion)
        by_columns = np.swapaxes(turn.as_matrix(), 1, 2).reshape(-1, 9)
        data += [1000 * motion[:, :3], turn.as_euler("XYZ", degrees=True), np.full((len(motion), 1), 0.3), by_columns]
    for k, row in enumerate(np.hstack(data)):
        row = 0 * row if k % 97 == 50 else row
        rows.append("\t".join([str(k + 1), f"{k / rate:.5f}", *(f"{value:.6f}" for value in row)]))
    path.write_text("\n".join(rows) + "\n")
    return path


def write_tum(path: Path, poses, rate: float = RATE) -> Path:
    """Trajectory of a visual odometry: timestamp tx ty tz qx qy qz qw, seconds since 1970."""
    rows = ["# ground truth trajectory", "# timestamp tx ty tz qx qy qz qw"]
    for k, row in enumerate(poses[:, [0, 1, 2, 4, 5, 6, 3]]):
        rows.append(" ".join([f"{1709287200.123456 + k / rate:.6f}", *(f"{value:.8f}" for value in row)]))
    path.write_text("\n".join(rows) + "\n")
    return path


def _stamp(k: int, rate: float) -> int:
    return 1_709_287_200_123_456_789 + round(k * 1e9 / rate)


def write_echo(path: Path, poses, transform: bool = False, rate: float = RATE) -> Path:
    """`ros2 topic echo --csv` of a PoseStamped or TransformStamped: no names of columns."""
    rows = []
    for k, row in enumerate(poses[:, [0, 1, 2, 4, 5, 6, 3]]):
        sec, part = divmod(_stamp(k, rate), 10**9)
        frames = ["world", "Part"] if transform else ["world"]
        rows.append(",".join([str(sec), str(part), *frames, *(repr(float(value)) for value in row)]))
    path.write_text("\n".join(rows) + "\n")
    return path


def write_ros_csv(path: Path, poses, rate: float = RATE) -> Path:
    """A bag's PoseStamped as a table with flattened names, and a stamp in nanoseconds that nobody needs."""
    names = ["header.stamp.sec", "header.stamp.nanosec", "header.frame_id", "log_time"]
    names += [f"pose.position.{axis}" for axis in "xyz"] + [f"pose.orientation.{axis}" for axis in "xyzw"]
    rows = [",".join(names)]
    for k, row in enumerate(poses[:, [0, 1, 2, 4, 5, 6, 3]]):
        sec, part = divmod(_stamp(k, rate), 10**9)
        rows.append(",".join([str(sec), str(part), "world", str(_stamp(k, rate) + 7), *(f"{v:.9g}" for v in row)]))
    path.write_text("\n".join(rows) + "\n")
    return path


def write_plotjuggler(path: Path, poses, rate: float = RATE) -> Path:
    """PlotJuggler: a column of each signal of two topics, whose rows alternate."""
    topics = ("/gripper/pose", "/part/pose")
    signals = [f"/position/{axis}" for axis in "xyz"] + [f"/orientation/{axis}" for axis in "xyzw"]
    rows = [",".join(["__time", *(topic + signal for topic in topics for signal in signals)])]
    for k, row in enumerate(poses[:, [0, 1, 2, 4, 5, 6, 3]]):
        time = 1709287200.123456 + k / rate
        cells = [f"{value:.9g}" for value in row]
        rows.append(",".join([f"{time:.6f}", *[""] * 7, *cells]))
        rows.append(",".join([f"{time + 0.001:.6f}", *["1"] * 6, "0", *[""] * 7]))
    path.write_text("\n".join(rows) + "\n")
    return path


def write_tags(path: Path, poses, quaternion: bool = False, rate: float = RATE) -> Path:
    """Detections of AprilTags: stamps in ns, the tag's number, tvec and rvec (or a quaternion)."""
    turns = [f"q{axis}" for axis in "xyzw"] if quaternion else [f"rvec_{axis}" for axis in "xyz"]
    rows = [",".join(["timestamp", "id", *(f"tvec_{axis}" for axis in "xyz"), *turns])]
    for k, row in enumerate(poses):
        turn = _rotation(poses[k : k + 1])
        cells = turn.as_quat()[0] if quaternion else turn.as_rotvec()[0]
        rows.append(",".join([str(_stamp(k, rate)), "7", *(f"{value:.9g}" for value in [*row[:3], *cells])]))
        rows.append(",".join([str(_stamp(k, rate)), "3", *["0.5"] * (3 + len(cells))]))
    path.write_text("\n".join(rows) + "\n")
    return path


# ROS 2 bags

_STAMP = "std_msgs/Header header\n"
_DEFINITIONS = {
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "geometry_msgs/Pose": "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation",
    "geometry_msgs/Point": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Quaternion": "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1",
    "geometry_msgs/Transform": "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation",
    "geometry_msgs/TransformStamped": _STAMP + "string child_frame_id\ngeometry_msgs/Transform transform",
    "geometry_msgs/PoseWithCovariance": "geometry_msgs/Pose pose\nfloat64[36] covariance",
    "geometry_msgs/Twist": "geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular",
    "geometry_msgs/TwistWithCovariance": "geometry_msgs/Twist twist\nfloat64[36] covariance",
}
MESSAGES = {
    "geometry_msgs/msg/PoseStamped": _STAMP + "geometry_msgs/Pose pose",
    "geometry_msgs/msg/PoseWithCovarianceStamped": _STAMP + "geometry_msgs/PoseWithCovariance pose",
    "geometry_msgs/msg/TransformStamped": _DEFINITIONS["geometry_msgs/TransformStamped"],
    "tf2_msgs/msg/TFMessage": "geometry_msgs/TransformStamped[] transforms",
    "nav_msgs/msg/Odometry": _STAMP
    + "string child_frame_id\ngeometry_msgs/PoseWithCovariance pose\ngeometry_msgs/TwistWithCovariance twist",
}  # fmt: skip


def write_bag(path: Path, poses, kind: str = "geometry_msgs/msg/PoseStamped", stamped: bool = True, rate=RATE) -> Path:
    """A bag with poses as this type of message, and strings on another topic.

    stamped: whether headers have stamps; messages are logged late and in bursts, so that stamps are worth having
    """
    from mcap_ros2.writer import Writer

    rest = "".join(f"\n{'=' * 80}\nMSG: {name}\n{text}" for name, text in _DEFINITIONS.items())
    with path.open("wb") as stream, Writer(stream) as writer:
        schema = writer.register_msgdef(kind, MESSAGES[kind] + rest)
        other = writer.register_msgdef("std_msgs/msg/String", "string data")
        for k, row in enumerate(poses):
            at = _stamp(k, rate)
            late = at if not stamped else _stamp(k - k % 4, rate) + 30_000_000
            message = _message(kind, row.tolist(), at if stamped else 0)
            writer.write_message("/part", schema, message, log_time=late, publish_time=late)
            if k % 50 == 0:
                writer.write_message("/log", other, {"data": "x"}, log_time=late, publish_time=late)
    return path


def _message(kind: str, row: list[float], stamp: int) -> dict:
    header = {"stamp": {"sec": stamp // 10**9, "nanosec": stamp % 10**9}, "frame_id": "world"}
    place, turn = dict(zip("xyz", row[:3])), dict(zip("wxyz", row[3:]))
    pose, zeros = {"position": place, "orientation": turn}, [0.0] * 36
    moved = {"header": header, "child_frame_id": "Part", "transform": {"translation": place, "rotation": turn}}
    still = {"translation": dict.fromkeys("xyz", 0.5), "rotation": {"w": 1.0, "x": 0.0, "y": 0.0, "z": 0.0}}
    match kind.rsplit("/", 1)[1]:
        case "PoseStamped":
            return {"header": header, "pose": pose}
        case "TransformStamped":
            return moved
        case "TFMessage":
            return {"transforms": [{**moved, "child_frame_id": "Gripper", "transform": still}, moved]}
        case "PoseWithCovarianceStamped":
            return {"header": header, "pose": {"pose": pose, "covariance": zeros}}
        case _:
            none = {"linear": dict.fromkeys("xyz", 0.0), "angular": dict.fromkeys("xyz", 0.0)}
            twist = {"twist": none, "covariance": zeros}
            pose = {"pose": pose, "covariance": zeros}
            return {"header": header, "child_frame_id": "base_link", "pose": pose, "twist": twist}
