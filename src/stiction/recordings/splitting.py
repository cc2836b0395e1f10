"""One long recording with pauses and hands, split into tosses: each from its free flight to rest.

In free flight the position is a parabola with the acceleration of gravity, which also shows what is up and the unit of
lengths. A toss starts with a flight. It ends at rest, at a gap in the recording, or at a hand: where the body is too
high to touch the floor and does not fly. Floor and hands are judged by the height of the tracked point, so that
nothing here depends on how orientations are read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.spatial import ConvexHull

from stiction.basics import checks
from stiction.basics.environment import require
from stiction.bodies.body import Body
from stiction.recordings.poses import FEWEST, LENGTHS, LONGEST_GAP, Conventions, Refused, frame_numbers
from stiction.recordings.raw import RawToss

GRAVITY = 9.81  # [m/s^2]
SHORTEST_FIT, LONGEST_FIT = 0.045, 0.15  # [s] of the window to which a parabola is fitted
STILL = 0.12  # [s] without motion that count as rest
STILL_LENGTH, STILL_ANGLE = 0.0015, 0.02  # [m, rad] of motion at rest, beside noise
SMEAR = 0.06  # [s] for which an impact spoils the fit of a flight
CLOSE = 0.25  # relative difference from gravity in flight: the tracked point turns about the centre of mass


@dataclass(frozen=True, eq=False)
class Cut:
    """Where a recording was split.

    time: of each row [s], shape (n,); height: of the tracked point [m], NaN where it was not tracked, shape (n,)
    pieces: first row of each toss, and the one after its last; rested: whether it ends at rest
    """

    name: str
    time: NDArray[np.float64]
    height: NDArray[np.float64]
    pieces: list[tuple[int, int]]
    rested: list[bool]


def split_recordings(
    raw: list[RawToss], body: Body, conventions: Conventions, interval: float
) -> tuple[list[RawToss], list[Cut]]:
    """All tosses in the recordings; a recording without a flight, or with one toss only, stays as it is.

    interval: between frames [s]
    """
    tosses, cuts = [], []
    for each in raw:
        cut = _cut(each, body, conventions, interval)
        if cut is None:
            tosses.append(each)
            continue
        cuts.append(cut)
        for k, (piece, rested) in enumerate(zip(cut.pieces, cut.rested)):
            tosses.append(each.part(f"{each.name}[{k}]", slice(*piece), rested))
    return tosses, cuts


def _cut(raw: RawToss, body: Body, conventions: Conventions, interval: float) -> Cut | None:
    """Where one recording is split; None if it is not."""
    if not raw.alone or body.planar:
        return None
    try:
        frame = frame_numbers(raw, conventions, interval)
    except Refused:
        return None  # which is reported when it is cleaned
    there = np.flatnonzero(np.isfinite(raw.pose).all(axis=1) & (frame >= 0))
    there = there[np.diff(frame[there], prepend=-1) > 0]
    if len(there) < FEWEST:
        return None
    ends = np.flatnonzero(np.diff(frame[there]) > LONGEST_GAP) + 1
    parts = [_Part(raw.pose[rows], frame[rows], interval) for rows in np.split(there, ends) if len(rows) >= 5]
    gravity = _gravity(parts) if parts else None
    if gravity is None:
        return None
    fall, metre = gravity
    up = -fall / np.linalg.norm(fall)
    for part in parts:
        part.look(fall, metre)
    heights = np.concatenate([part.position @ up for part in parts])
    still = np.concatenate([part.still for part in parts])
    lowest = float(np.percentile(heights[still] if still.any() else heights, 1))
    reach = lowest + (_reach(body) + 0.01) / metre  # the tracked point is lower in every contact
    pieces = [piece for part in parts for piece in _pieces(part, part.position @ up, reach)]
    seen = frame[there]
    rows = [(int(there[np.searchsorted(seen, a)]), 1 + int(there[np.searchsorted(seen, b) - 1])) for a, b, _ in pieces]
    if not rows or (len(rows) == 1 and rows[0][0] == there[0] and there[-1] - rows[0][1] < 0.5 / interval):
        return None
    time, height = np.asarray(interval * frame, dtype=np.float64), metre * (raw.pose[:, :3] @ up - lowest)
    return Cut(raw.name, time, height, rows, [rested for _, _, rested in pieces])


class _Part:
    """Consecutive frames of a recording on a regular grid, with short gaps filled.

    free, still: frames in free flight and at rest, shape (n,), known after `look`
    """

    def __init__(self, pose: NDArray, frame: NDArray, interval: float) -> None:
        self.first, self.interval = int(frame[0]), interval
        grid = np.arange(frame[0], frame[-1] + 1)
        self.position = CubicSpline(frame, pose[:, :3])(grid)
        self.quaternion = pose[np.searchsorted(frame, grid, side="right") - 1, 3:]
        step = np.diff(self.position, 3, axis=0)
        self.noise = float(np.median(np.abs(step))) / (0.6745 * np.sqrt(20)) if len(step) else 0.0

    def fits(self, gravity: float) -> tuple[int, NDArray[np.float64], NDArray[np.bool_]]:
        """Frames of a window, accelerations (m, 3) of the windows, and whether they are parabolas within the noise."""
        count, most = max(5, round(SHORTEST_FIT / self.interval)), max(5, round(LONGEST_FIT / self.interval))
        while count < most and np.sqrt(720 / count**5) * self.noise / self.interval**2 > 0.07 * gravity:
            count += 1
        if len(self.position) < count:
            return count, np.empty((0, 3)), np.empty(0, dtype=bool)
        basis = np.linalg.qr(np.vander(np.linspace(-1, 1, count), 3, increasing=True))[0]
        scale = 2 / (basis[:, 2] @ np.linspace(-1, 1, count) ** 2) / ((count - 1) / 2 * self.interval) ** 2
        bend, off = [], []
        windows = np.lib.stride_tricks.sliding_window_view(self.position, count, axis=0)
        for some in np.array_split(windows, 1 + len(windows) // 20_000):
            level = some - some[..., :1]
            fitted = level @ basis
            bend.append(scale * fitted[..., 2])
            off.append(np.sqrt(((level - fitted @ basis.T) ** 2).mean(axis=-1)).max(axis=-1))
        limit = 3 * self.noise + 0.02 * gravity * (count * self.interval) ** 2
        return count, np.concatenate(bend), np.concatenate(off) < limit

    def look(self, gravity: NDArray, metre: float) -> None:
        """Find flights and rests; gravity: in the recorder's units, shape (3,); metre: of one unit of length."""
        size = float(np.linalg.norm(gravity))
        count, bend, smooth = self.fits(size)
        good = smooth & (np.linalg.norm(bend - gravity, axis=1) < CLOSE * size)
        self.free = _covered(good, count, len(self.position))
        self.good, self.bend, self.gravity = good, bend, size
        self.error = np.sqrt(720 / count**5) * self.noise / self.interval**2 + 0.03 * size
        wide = max(5, round(STILL / self.interval))
        self.still = np.zeros(len(self.position), dtype=bool)
        if len(self.position) >= wide:
            windows = np.lib.stride_tricks.sliding_window_view(self.position, wide, axis=0)
            moved = np.ptp(windows, axis=-1).max(axis=-1)
            q, last = self.quaternion[: len(moved)], self.quaternion[wide - 1 :]
            middle = self.quaternion[wide // 2 :][: len(moved)]
            product = np.minimum(np.abs((q * last).sum(axis=1)), np.abs((q * middle).sum(axis=1)))
            length = np.maximum((q * q).sum(axis=1), 1e-12)
            turned = 2 * np.arccos(np.clip(product / length, 0.0, 1.0))
            quiet = (moved < STILL_LENGTH / metre + 8 * self.noise) & (turned < STILL_ANGLE + self._shake())
            self.still = _covered(quiet, wide, len(self.position))

    def release(self, start: int) -> int:
        """The frame from which the flight that starts at `start` is that of its middle: a hand may bend it before."""
        run = start + int(np.argmin(np.append(self.good[start:], False)))
        bend = self.bend[start:run]
        if len(bend) < 3:
            return start
        off = np.linalg.norm(bend - np.median(bend[len(bend) // 3 :], axis=0), axis=1)
        usual = np.median(off[len(off) // 3 :])
        late = int(np.argmax(off <= 2 * self.error + 2 * usual))
        unseen = np.sqrt(6 * self.noise / self.gravity) / self.interval  # frames until the end of a push shows
        return start + min(late + int(unseen + 0.8), len(bend) - 1)

    def _shake(self) -> float:
        """Noise of the orientation that a window may show [rad]."""
        step = np.abs(np.diff(self.quaternion, 3, axis=0))
        return 12 * float(np.median(step)) / (0.6745 * np.sqrt(20)) if len(step) else 0.0


def _covered(good: NDArray[np.bool_], count: int, frames: int) -> NDArray[np.bool_]:
    """The frames that lie in a good window; windows have `count` frames."""
    change = np.zeros(frames + 1, dtype=np.int64)
    np.add.at(change, np.flatnonzero(good), 1)
    np.add.at(change, np.flatnonzero(good) + count, -1)
    return np.cumsum(change)[:-1] > 0


def _gravity(parts: list[_Part]) -> tuple[NDArray[np.float64], float] | None:
    """Gravity (3,) in the recorder's units, and the length of its unit [m]; None where nothing falls.

    Among all units, the one in which most windows fall by 9.81 m/s^2, in one direction: if another one was given, the
    checks of the tosses report it.
    """
    best, most = None, 2.0
    for metres in LENGTHS.values():
        size = GRAVITY / metres
        falls = []
        for part in parts:
            count, bend, smooth = part.fits(size)
            seen = size * (count * part.interval) ** 2 / 8 > 4 * part.noise
            near = np.abs(np.linalg.norm(bend, axis=1) / size - 1) < 0.15
            falls.append(bend[smooth & near] if seen else np.empty((0, 3)))
        fall = np.concatenate(falls)
        if not len(fall):
            continue
        middle = np.median(fall, axis=0)
        together = np.linalg.norm(fall - middle, axis=1) < CLOSE * size
        score = together.sum() if together.mean() > 0.5 else 0
        if score > most:
            best, most = (np.median(fall[together], axis=0), metres), score
    return best


def _reach(body: Body) -> float:
    """How much higher the tracked point can be in one contact than in another [m]."""
    nearest = -float(ConvexHull(body.vertices).equations[:, 3].max())
    return float(np.linalg.norm(body.vertices, axis=1).max()) - max(nearest, 0.0)


def _pieces(part: _Part, height: NDArray, reach: float) -> Iterator[tuple[int, int, bool]]:
    """Of each toss in a part its first frame, the one after its last, and whether it ends at rest.

    height: of the tracked point, shape (n,); reach: below which it can touch the floor
    """
    n, dt = len(height), part.interval
    smear = max(3, round(SMEAR / dt))
    low = height < reach
    held = ~part.free & ~low
    k = 0
    while True:
        flying = np.flatnonzero(part.free[k:] & ~part.still[k:])
        if not len(flying):
            return
        start = k + int(flying[0])
        start = 0 if start <= 2 else part.release(start)
        resting = np.flatnonzero(part.still[start:] & low[start:])
        end = start + int(resting[0]) if len(resting) else n
        hand = _first_run(held[start:end], smear)
        caught = hand is not None
        if caught:
            end = start + int(hand)
            while end > start and not part.free[end - 1] and height[end - 1] > height[max(end - 2, 0)]:
                end -= 1  # the hand lifts it
        k = max(end, start + 1)
        touched = bool(low[start:end].any())
        if touched and not caught:
            calm = end + int(np.argmin(np.append(part.still[end:], False)))
            k = max(k, calm)
            end = min(calm, max(end + max(8, round(0.15 / dt)), start + FEWEST + 5))
        if touched and end - start >= 5:
            yield part.first + start, part.first + end, len(resting) > 0 and not caught


def _first_run(flags: NDArray[np.bool_], count: int) -> int | None:
    """Where the first run of at least `count` flags starts, or None."""
    if len(flags) < count:
        return None
    runs = np.lib.stride_tricks.sliding_window_view(flags, count).all(axis=1)
    return int(np.argmax(runs)) if runs.any() else None


def plot_cuts(cuts: list[Cut], path: str | Path) -> None:
    """Draw the height of each recording over time, with the tosses marked, to a .png file; needs matplotlib.

    cuts = []
    recordings = stiction.recordings.read("session.csv", body, cuts=cuts)
    stiction.recordings.plot_cuts(cuts, "split.png")
    """
    require("A plot of a recording", "matplotlib")
    if not cuts:
        raise checks.InputError("There is nothing to plot: no recording was split.")
    path = Path(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if path.suffix != ".png":
        raise checks.InputError(f"The plot is a .png file, got {path}.")
    figure = Figure(figsize=(12, 3 * min(len(cuts), 20)), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(min(len(cuts), 20), squeeze=False)[:, 0]
    for axis, cut in zip(axes, cuts):
        axis.plot(cut.time, cut.height, color="0.5", linewidth=0.7)
        for k, (a, b) in enumerate(cut.pieces):
            axis.axvspan(cut.time[a], cut.time[b - 1], color=f"C{k % 2}", alpha=0.3)
        axis.set_title(f"{cut.name}: {len(cut.pieces)} tosses", loc="left")
        axis.set_ylabel("height [m]")
    axes[-1].set_xlabel("time [s]")
    figure.savefig(path)
