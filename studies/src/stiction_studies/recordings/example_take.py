"""One long take of a part that our own law did not throw: MuJoCo throws it, and it is written as a tracker exports it.

    python -m stiction_studies.recordings.example_take FOLDER

writes FOLDER/take.csv, as OptiTrack Motive exports rigid bodies (y up, millimetres, some frames not tracked), and
FOLDER/part.obj, the part as drawn [m]. The real part is 1.5 % larger, and its centre of mass is not where that of a
uniform part is. Some throws tumble, others land flat and slide; after each, a hand carries the part back.
"""

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation, Slerp

from stiction.basics.files import make_folder
from stiction.bodies.faces import faces_of
from stiction_studies.engines.worlds import MUJOCO
from stiction_studies.recordings.truths import MIXED, SECONDS, Recorded, Truth, noisy, simulate, starts, until_rest

PART = Truth(MUJOCO, "frustum", friction=0.4, restitution=0.3, com=(0.006, -0.004, 0.003))
OBJECT = "Part"  # its name in the take
RECORDED = Recorded(tosses=24, throws=MIXED, rate=120.0, mm=0.1, degrees=0.1)
SWING = 0.15  # [s] in which a hand reaches the velocity of the release
_UNITS = {"Meters": 1.0, "Centimeters": 100.0, "Millimeters": 1000.0}


@dataclass(frozen=True)
class Take:
    """Files of a recording: `path` of the take, `part` of the part as drawn, and the number of tosses in it."""

    path: Path
    part: Path
    tosses: int


def write_take(folder: str | Path, tosses: int = RECORDED.tosses, seed: int = 0) -> Take:
    """Throw the part, and write the take and the part as drawn to a folder, which is made if missing."""
    folder = Path(folder)
    make_folder(folder)
    poses = take_poses(tosses, seed)
    path = write_motive(folder / "take.csv", poses, units="Millimeters", rate=RECORDED.rate)
    return Take(path, _write_part(folder / "part.obj"), tosses)


def take_poses(tosses: int = RECORDED.tosses, seed: int = 0) -> NDArray[np.float64]:
    """Return the poses (n, 7) of the part as a tracker sees them, frame by frame, z up, with noise."""
    rng, how = np.random.default_rng(seed), RECORDED
    states = starts(PART, how.throws, tosses, how.rate, rng)
    motions = zip(*simulate(PART, states, int(SECONDS * how.rate), how.rate))
    frames = [np.r_[0.0, 0.0, 0.05, 1.0, 0.0, 0.0, 0.0]]
    for motion, velocity, spin in zip(motions, states.velocity, states.angular_velocity, strict=True):
        poses = until_rest(*motion, how.rate)
        frames += carried(frames[-1], poses[0], velocity, spin, how.rate)
        frames += [*poses, *[poses[-1]] * int(how.rate)]
    return noisy(np.array(frames), how, rng)


def carried(
    rest: NDArray[np.float64],
    release: NDArray[np.float64],
    velocity: NDArray[np.float64],
    spin: NDArray[np.float64],
    rate: float,
) -> list[NDArray[np.float64]]:
    """Return the poses (7,) of a part that a hand lifts, holds, and swings until the frame before the release.

    rest: pose at the start; release: pose at the release; velocity, spin: at the release
    """
    turn = _rotation(release)
    back = np.array([*(-SWING / 2 * velocity[:2]), 0.04])  # it is held higher, and swung down and forward
    held = np.r_[release[:3] + back, (Rotation.from_rotvec(-SWING / 2 * spin) * turn).as_quat(scalar_first=True)]
    s = np.arange(1, round(SWING * rate))[:, np.newaxis] / round(SWING * rate)
    place = release[:3] + (1 - s) ** 2 * (1 + 2 * s) * back - s**2 * (1 - s) * SWING * velocity  # Hermite's cubic
    turned = Rotation.from_rotvec((s**2 - 1) * SWING / 2 * spin) * turn
    return [*lifted(rest, held, rate), *np.hstack([place, turned.as_quat(scalar_first=True)])]


def lifted(start: NDArray[np.float64], end: NDArray[np.float64], rate: float) -> list[NDArray[np.float64]]:
    """Return the poses (7,) of a second of lifting and half a second of holding still."""
    share = np.linspace(0, 1, int(rate))
    share = share**2 * (3 - 2 * share)
    turn = Slerp([0, 1], _rotation(np.array([start, end])))(share)
    path = np.hstack([start[:3] + share[:, np.newaxis] * (end - start)[:3], turn.as_quat(scalar_first=True)])
    return [*path, *[end] * int(rate / 2)]


def y_up(poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same motion (n, 7) in a frame whose y axis points up."""
    turn = Rotation.from_euler("x", -90, degrees=True)
    return np.hstack([turn.apply(poses[:, :3]), (turn * _rotation(poses)).as_quat(scalar_first=True)])


def still(poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the poses (n, 7) of another body, which does not move."""
    return np.tile([0.5, 0.6, 0.7, 1.0, 0.0, 0.0, 0.0], (len(poses), 1))


def _rotation(poses: NDArray[np.float64]) -> Rotation:
    return Rotation.from_quat(poses[..., 3:], scalar_first=True)


def write_motive(path: Path, poses, rotation: str = "Quaternion", units: str = "Meters", rate: float = 120.0) -> Path:
    """Write a file of Motive, format version 1.23: two rigid bodies with their markers, y up; some frames are lost.

    poses: (n, 7), z up; rotation: "Quaternion" or "XYZ"
    """
    scale, axes = _UNITS[units], "XYZW" if rotation == "Quaternion" else "XYZ"
    columns, data = [], []
    for name, motion in (("Gripper", still(poses)), (OBJECT, y_up(poses))):
        turn = _rotation(motion).as_quat() if axes == "XYZW" else _rotation(motion).as_euler("XYZ", degrees=True)
        columns += [("Rigid Body", name, "Rotation", axis) for axis in axes]
        columns += [("Rigid Body", name, "Position", axis) for axis in "XYZ"]
        columns += [("Rigid Body", name, "Mean Marker Error", "")]
        columns += [("Rigid Body Marker", f"{name}:Marker1", "Position", axis) for axis in "XYZ"]
        columns += [("Marker", f"{name}:Marker1", "Position", axis) for axis in "XYZ"]
        marker = scale * motion[:, :3] + 0.01
        data += [turn, scale * motion[:, :3], np.full((len(motion), 1), 1e-4), marker, marker]
    with path.open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file).writerow
        write(_motive_head(rotation, units, rate, len(poses)))
        write([])
        for k, label in enumerate(("Type", "Name")):
            write(["", label, *(column[k] for column in columns)])
        write(["", "ID", *(f"{column[1]}-1A2B" for column in columns)])
        write(["", "Parent", *("" for _ in columns)])
        write(["", "", *(column[2] for column in columns)])
        write(["Frame", "Time (Seconds)", *(column[3] for column in columns)])
        for k, row in enumerate(np.hstack(data)):
            lost = k % 97 == 50
            write([k, f"{k / rate:.6f}", *("" if lost else f"{value:.7f}" for value in row)])
    return path


def _motive_head(rotation: str, units: str, rate: float, n: int) -> list[str]:
    head = {
        "Format Version": "1.23",
        "Take Name": "Take 1",
        "Take Notes": "",
        "Capture Frame Rate": f"{rate:f}",
        "Export Frame Rate": f"{rate:f}",
        "Capture Start Time": "2024-03-01 10.00.00.000 AM",
        "Capture Start Frame": "0",
        "Total Frames in Take": str(n),
        "Total Exported Frames": str(n),
        "Rotation Type": rotation,
        "Length Units": units,
        "Coordinate Space": "Global",
    }
    return [cell for entry in head.items() for cell in entry]


def _write_part(path: Path) -> Path:
    corners = PART.given.vertices
    rows = [f"v {x:.6g} {y:.6g} {z:.6g}" for x, y, z in corners]
    rows += ["f " + " ".join(str(corner + 1) for corner in face) for face in faces_of(corners)]
    path.write_text("\n".join(rows) + "\n")
    return path


if __name__ == "__main__":
    take = write_take(Path(sys.argv[1] if len(sys.argv) > 1 else "recording"))
    print(f"Wrote {take.path}, a take of {take.tosses} tosses, and {take.part}, the part as drawn.")
