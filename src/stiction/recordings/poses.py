"""Clean poses on a regular grid of frames from one raw toss: units, axes, time stamps, gaps, outliers."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.bodies.rotations import turns_in_plane
from stiction.recordings.raw import RawToss
from stiction.recordings.readers import checked_interval

LENGTHS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254}
NAMES = {
    "m": "metres", "cm": "centimetres", "mm": "millimetres", "in": "inches",
    "s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds",
}  # fmt: skip
ANGLES = {"rad": 1.0, "deg": np.pi / 180}
TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
# Conventions that are detected where they are not given or stated, the usual ones first.
ALLOWED = {
    "units": tuple(LENGTHS),
    "time_unit": tuple(TIMES),
    "quaternion": ("wxyz", "xyzw"),
    "up": ("z", "y", "x", "-z", "-y", "-x"),
}
# Quaternions that turn each axis upwards.
_HALF = 0.5**0.5
UPRIGHT = {
    "y": (_HALF, _HALF, 0.0, 0.0),
    "x": (_HALF, 0.0, -_HALF, 0.0),
    "-z": (0.0, 1.0, 0.0, 0.0),
    "-y": (_HALF, -_HALF, 0.0, 0.0),
    "-x": (_HALF, 0.0, _HALF, 0.0),
}
FRAME_INTERVALS = 2e-5, 0.2  # [s] of recorders
FEWEST = 20  # frames of a toss
LONGEST_GAP = 10  # frames
MOST_FRAMES = 10_000_000  # of a toss


@dataclass(frozen=True)
class Conventions:
    """Units, axes and other conventions of a recorder. Those that are None are taken from the file or detected.

    units, time_unit: of positions and time stamps
    quaternion: order of the components
    up: axis that points up, such as "y" or "-y"
    mirror: "x" or "y": positions are from a left-handed frame, mirrored along this axis, orientations are not
    inverse: quaternions turn world into body axes; in a planar recording, angles turn z towards x
    angle: unit of the angles of a planar recording
    floor: height of the ground [m] after conversion; None: measured
    interval: between frames [s]; None: measured
    """

    units: str | None = None
    time_unit: str | None = None
    quaternion: str | None = None
    up: str | None = None
    mirror: str = ""
    inverse: bool = False
    angle: str = "rad"
    floor: float | None = None
    interval: float | None = None

    def __post_init__(self) -> None:
        for name, allowed in ALLOWED.items():
            if getattr(self, name) is not None:
                checks.choice(name.replace("_", " "), getattr(self, name), allowed)
        checks.choice("mirror", self.mirror, ("", "x", "y"))
        checks.flag("inverse", self.inverse)
        if self.floor is not None:
            checks.scalar("floor [m]", self.floor)
        checks.choice("angle", self.angle, tuple(ANGLES))

    def settled(self, stated: dict[str, str]) -> tuple["Conventions", set[str]]:
        """Conventions without None: as given, as the file states, or the usual ones; and the names of the latter."""
        open_ = {name for name in ALLOWED if getattr(self, name) is None}
        known = {name: stated.get(name, ALLOWED[name][0]) for name in open_}
        return replace(self, **known), open_ - set(stated)  # type: ignore[arg-type]

    @property
    def metres(self) -> float:
        """Metres in a unit of length."""
        return LENGTHS[self.units or "m"]

    @property
    def seconds(self) -> float:
        """Seconds in a unit of time."""
        return TIMES[self.time_unit or "s"]

    def words(self) -> dict[str, str]:
        """The conventions that can be detected, in words."""
        return {
            "up": f"{self.up or 'z'} up",
            "units": NAMES[self.units or "m"],
            "time_unit": f"times in {NAMES[self.time_unit or 's']}",
            "quaternion": f"quaternions {', '.join(self.quaternion or 'wxyz')}",
        }


@dataclass
class Clean:
    """Clean poses of one toss.

    frame: numbers of the frames that are there, shape (n,)
    recorded: velocities as the recorder gave them, (n, 6), or None
    stamped: whether frames are known from time stamps, not only counted
    rests: whether it ends at rest, as far as is known
    notes: numbers of frames that were left out, by reason
    mended: numbers of other corrections, by name
    """

    name: str
    frame: NDArray[np.int64]
    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    recorded: NDArray[np.float64] | None
    group: int
    held_out: bool
    stamped: bool = True
    rests: bool = True
    notes: dict[str, int] = field(default_factory=dict)
    mended: dict[str, int] = field(default_factory=dict)


class Refused(checks.InputError):
    """A single toss that cannot be used."""


def frame_interval(raw: list[RawToss], conventions: Conventions, stated: float | None) -> float:
    """Interval between frames [s]: as asked for, as the file states, or from the time stamps."""
    if conventions.interval is not None:
        return checked_interval("interval [s]", conventions.interval)
    if stated is not None:
        return stated
    gaps = _stamp_gaps(raw)
    if not len(gaps):
        raise checks.InputError("The recording has no increasing time stamps; give the frame rate with --rate.")
    # Stamps are rounded, and a gap may span several frames: the mean over all of them is not affected by either.
    frames = np.round(gaps / float(np.median(gaps)))
    near = frames <= LONGEST_GAP
    return checked_interval("The time stamps", float(gaps[near].sum() / frames[near].sum()) * conventions.seconds)


def _stamp_gaps(raw: list[RawToss]) -> NDArray[np.float64]:
    """All positive differences of consecutive stamps."""
    found = [np.diff(toss.time[np.isfinite(toss.time)]) for toss in raw if toss.time is not None]
    gaps = np.concatenate([np.empty(0), *found])
    return gaps[gaps > 0]


def likely_time_units(raw: list[RawToss], interval: float | None) -> list[str]:
    """The units in which frames are `interval` [s] apart, or at a usual rate; seconds if there is none."""
    low, high = FRAME_INTERVALS if interval is None else (interval / 30, interval * 30)
    gaps = _stamp_gaps(raw)
    gap = float(np.median(gaps)) if len(gaps) else 0.0
    return [unit for unit, seconds in TIMES.items() if low <= gap * seconds <= high] or ["s"]


def clean(raw: RawToss, conventions: Conventions, interval: float) -> Clean:
    """Convert one toss to metres, z up, w x y z, frames on a grid; drop what is missing, doubled or an outlier."""
    position, quaternion = _converted(raw.pose, conventions)
    frame = frame_numbers(raw, conventions, interval)
    length = np.linalg.norm(quaternion, axis=1)
    keep = np.isfinite(position).all(axis=1) & np.isfinite(quaternion).all(axis=1) & (frame >= 0)
    missing, doubled = ~keep, keep.copy()
    doubled[np.unique(np.where(keep, frame, -1), return_index=True)[1]] = False
    keep &= ~doubled
    unnormalised = keep & (np.abs(length - 1) > 0.02)  # closer ones are normalised
    keep &= ~unnormalised
    outlier = keep.copy()
    outlier[keep] = _outliers(frame[keep], position[keep], interval)
    keep &= ~outlier
    left_out = {
        "the tracker did not see the body": missing,
        "they have the time stamp of another frame": doubled,
        "their quaternions are not of length 1": unnormalised,
        "their positions are outliers": outlier,
    }
    notes = {reason: int(rows.sum()) for reason, rows in left_out.items() if rows.any()}
    if keep.sum() < FEWEST:
        raise Refused(f"{raw.name} has {int(keep.sum())} usable frames of {len(keep)}, at least {FEWEST} are needed.")
    at = np.flatnonzero(keep)
    gap = np.diff(frame[at]).max()
    if gap > LONGEST_GAP:
        raise Refused(f"{raw.name} has a gap of {gap} frames, at most {LONGEST_GAP} are tolerated.")
    start = frame[at[0]]
    q = quaternion[at] / length[at][:, np.newaxis]
    q[1:] *= np.where(np.cumprod(np.sign((q[1:] * q[:-1]).sum(axis=1))) < 0, -1.0, 1.0)[:, np.newaxis]
    velocity = None if raw.velocity is None else raw.velocity[at]
    stamped = raw.time is not None
    return Clean(
        raw.name, frame[at] - start, position[at], q, velocity, raw.group, raw.held_out, stamped, raw.rests, notes
    )


def _converted(pose: NDArray, conventions: Conventions) -> tuple[NDArray, NDArray]:
    if pose.shape[1] == 3:
        return _in_plane(pose, conventions)
    position = conventions.metres * pose[:, :3]
    quaternion = pose[:, [6, 3, 4, 5]] if conventions.quaternion == "xyzw" else pose[:, 3:]
    if conventions.inverse:
        quaternion = quaternion * [1.0, -1.0, -1.0, -1.0]
    if conventions.mirror:
        position = position * [-1.0 if conventions.mirror == axis else 1.0 for axis in "xyz"]
    if conventions.up not in (None, "z"):
        turn = UPRIGHT[conventions.up]
        world = Rotation.from_quat(turn, scalar_first=True)
        position = world.apply(np.nan_to_num(position, nan=0.0)) + np.where(np.isfinite(position), 0.0, np.nan)
        quaternion = _product(np.array(turn), quaternion)
    return position, quaternion


def _in_plane(pose: NDArray, conventions: Conventions) -> tuple[NDArray, NDArray]:
    """Positions and quaternions of (x, z, angle), shape (n, 3)."""
    x, z, angle = pose.T
    length, sense = conventions.metres, -1.0 if conventions.inverse else 1.0
    position = length * np.stack([-x if conventions.mirror == "x" else x, np.zeros_like(x), z], axis=1)
    return position, turns_in_plane(sense * ANGLES[conventions.angle] * angle)


def _product(a: NDArray, b: NDArray) -> NDArray:
    """Quaternion a (4,) times quaternions b (n, 4)."""
    w, x, y, z = a
    table = np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])
    return b @ table.T


def frame_numbers(raw: RawToss, conventions: Conventions, interval: float) -> NDArray[np.int64]:
    """Frame numbers (n,); -1 where there is no time stamp."""
    if raw.time is None:
        return np.arange(len(raw.pose))
    time = raw.time * conventions.seconds
    known = np.isfinite(time)
    if not known.any():
        return np.arange(len(raw.pose))
    if (np.diff(time[known]) < 0).any():
        back = int(np.flatnonzero(np.diff(time[known]) < 0)[0])
        raise Refused(f"{raw.name}: time stamps must rise, but row {back + 1} is earlier than the row before it.")
    frame = np.full(len(time), -1, dtype=np.int64)
    since = np.round((time[known] - time[known][0]) / interval)
    if since[-1] > MOST_FRAMES:
        raise Refused(f"{raw.name} lasts {since[-1]:.3g} frames of {interval:g} s, at most {MOST_FRAMES} are read.")
    frame[known] = since.astype(np.int64)
    return frame


def _outliers(frame: NDArray, position: NDArray, interval: float) -> NDArray[np.bool_]:
    """Single frames far off the line between their neighbours."""
    out = np.zeros(len(frame), dtype=bool)
    if len(frame) < 5:
        return out
    t = frame.astype(np.float64)
    share = ((t[1:-1] - t[:-2]) / (t[2:] - t[:-2]))[:, np.newaxis]
    middle = position[:-2] + share * (position[2:] - position[:-2])
    off = np.linalg.norm(position[1:-1] - middle, axis=1)
    # Impacts bend the path, too, by at most the change of speed in a frame, 30 m/s; only a jump there and back is an
    # outlier, 8 times as far off as the median frame.
    limit = max(30.0 * interval / 4, 8.0 * float(np.median(off)))
    peak = off > limit
    beside = np.maximum(np.r_[0.0, off[:-1]], np.r_[off[1:], 0.0])
    out[1:-1] = peak & (off > 1.5 * beside)
    return out
