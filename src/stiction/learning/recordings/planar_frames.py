"""Planar recordings: frames that the tracker lost, rows that it got wrong, and turns by a symmetry of the body.

A tracker that loses the body in a blur may leave the row out, and without time stamps nobody sees that: the rows that
follow are simply too early. Motion shows it. Between two rows the body can move no farther than its speed allows, and
before and after an impact it flies steadily: from both flights follows how many frames the step between them took. A
row from which neither flight can be reached is wrong, and is left out. Where the body can only be reached if it had
been turned by one of its symmetries, the tracker took one side for another: the turn is taken back from there on.

All lengths here are those of (x, z, k angle), k the radius of gyration, so that speed is that of the whole energy.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.bodies.rotations import angles_in_plane, turns_in_plane
from stiction.learning.recordings.poses import FEWEST, Clean, Refused

FASTER = 1.15  # a step this many times longer than the one before it is no motion of one frame
NOISE = 0.007  # of the body's width: how far a row may be off
CLOSE = 0.025  # of the body's width: a step is explained if what is left of it is less
SYMMETRIC = 0.013  # the same for a step that needs the body turned by a symmetry
MOST_LOST = 16  # frames in one step
MOST_WRONG = 4  # rows, one after another
MOST_GUESSED = 4  # frames of a step with more than one impact in it, of which speed alone tells the least number
PARTS = 4  # of a frame, in which the time of an impact is searched


@dataclass(frozen=True)
class _Step:
    """From one row to another that is to be kept.

    rows: how many further; frames: how long it takes; turn: that the tracker added, in symmetries of the body
    """

    rows: int
    frames: int
    turn: int = 0


def mended(toss: Clean, body: Body, interval: float, gravity: NDArray[np.float64]) -> Clean:
    """The toss with lost frames counted, wrong rows left out and symmetric turns taken back; cut where all fails.

    gravity: (3,) [m/s^2], as the recorder sees it
    """
    return _Mending(toss, body, interval, gravity).result()


class _Mending:
    def __init__(self, toss: Clean, body: Body, interval: float, gravity: NDArray[np.float64]) -> None:
        self.toss = toss
        self.radius = float(np.sqrt(body.inertia[1, 1] / body.mass))
        self.width = float(np.ptp(body.vertices, axis=0)[[0, 2]].mean())
        self.symmetry = _symmetry(body)
        self.whole = round(2 * np.pi / self.symmetry)  # symmetries in a whole turn, which changes nothing
        self.fall = interval**2 * np.array([gravity[0], gravity[2], 0.0])  # a frame
        angle = angles_in_plane(toss.quaternion)
        self.angle = angle
        self.path = np.stack([toss.position[:, 0], toss.position[:, 2], self.radius * angle], axis=1)
        self.given = np.diff(toss.frame)  # frames from row to row, as far as they are known
        self.doubtful = self._doubtful()

    def _doubtful(self) -> NDArray[np.bool_]:
        """Steps (n,) that may be too long for their frames; of all others nobody need look closer."""
        velocity = np.diff(self.path, axis=0) / self.given[:, np.newaxis]
        speed, ahead = np.linalg.norm(velocity, axis=1), np.median(sliding_window_view(velocity, 3, axis=0), axis=2)
        doubtful = np.zeros(len(speed), dtype=bool)
        k = np.arange(2, len(ahead) - 1)
        doubtful[k] = speed[k] > self._fastest(velocity[k - 1], speed[k - 1], speed[k - 1], ahead[k + 1])
        return doubtful

    def _fastest(self, last: NDArray, last_speed, usual_speed, ahead: NDArray):
        """A frame, for steps that come after `last` (..., 3) and before `ahead` (..., 3)."""
        noise = NOISE * self.width
        fastest = FASTER * np.maximum(usual_speed, last_speed) + noise
        return np.where(self._steady(last, last_speed, ahead), np.minimum(fastest, 1.5 * last_speed + noise), fastest)

    def _steady(self, last: NDArray, last_speed, ahead: NDArray):
        """Whether velocities (..., 3) before and after a step are nearly the same: nothing happened between them."""
        return np.linalg.norm(last - ahead, axis=-1) < FASTER * NOISE * self.width + 0.15 * last_speed

    def result(self) -> Clean:
        """Row after row."""
        rows, frames, turns, ended = [0], [0], [0], False
        while rows[-1] < len(self.path) - 1:
            step = self._step(rows, frames, turns)
            if step is None:
                ended = True
                break
            rows.append(rows[-1] + step.rows)
            frames.append(frames[-1] + step.frames)
            turns.append(turns[-1] + step.turn)
        if len(rows) < FEWEST:
            raise Refused(f"{self.toss.name} cannot be followed from row {rows[-1]} on: the body jumps.")
        notes = dict(self.toss.notes)
        last = rows[-1] + 1
        found = {
            "wrong": last - len(rows),
            "after a jump": len(self.path) - last if ended else 0,
        }
        notes |= {name: number for name, number in found.items() if number}
        lost = frames[-1] - int(self.toss.frame[rows[-1]] - self.toss.frame[0])
        turned = int(np.count_nonzero(np.diff(turns) % self.whole))
        mended = {"Frames that were lost": lost, "Turns by a symmetry": turned}
        at = np.array(rows)
        quaternion = turns_in_plane(self.angle[at] - self.symmetry * np.array(turns))
        return replace(
            self.toss,
            frame=np.array(frames),
            position=self.toss.position[at],
            quaternion=quaternion,
            recorded=None if self.toss.recorded is None else self.toss.recorded[at],
            notes=notes,
            mended={name: number for name, number in mended.items() if number},
        )

    def _step(self, rows: list[int], frames: list[int], turns: list[int]) -> _Step | None:
        """The step from the last of the rows that were kept; None if nothing explains one."""
        k, path = rows[-1], self.path
        plain = _Step(1, int(self.given[k]))
        if not self.doubtful[k] and all(further == 1 for further in np.diff(frames[-4:])):
            return plain
        ahead = self._velocity(k + 1)
        if len(rows) < 3 or ahead is None:
            return plain
        recent = path[rows[-4:]] - self._turned(turns[-4:])
        before = np.diff(recent, axis=0) / np.diff(frames[-4:])[:, np.newaxis]
        speeds = np.linalg.norm(before, axis=1)
        fastest = float(self._fastest(before[-1], speeds[-1], np.median(speeds), ahead))
        if np.linalg.norm(path[k + 1] - path[k]) <= fastest * plain.frames:
            return plain
        return self._explained(k, (np.median(before, axis=0), before[-1]), fastest)

    def _turned(self, turns: list[int]) -> NDArray[np.float64]:
        return np.outer(turns, [0.0, 0.0, self.radius * self.symmetry])

    def _velocity(self, k: int) -> NDArray[np.float64] | None:
        """A frame, after row k: the middle one of the next steps."""
        moves = np.diff(self.path[k : k + 4], axis=0) / self.given[k : k + 3, np.newaxis]
        return np.median(moves, axis=0) if len(moves) >= 2 else None

    def _explained(self, k: int, before: tuple[NDArray, NDArray], fastest: float) -> _Step | None:
        """The simplest explanation of a step that is too long."""
        whole, half = self.whole, self.whole // 2
        for turns, close in (([0, -whole, whole], CLOSE), ([*range(-half, 0), *range(1, half + 1)], SYMMETRIC)):
            for wrong in range(MOST_WRONG + 1):
                after = self._velocity(k + 1 + wrong)
                if after is None or not turns:
                    break
                found = min(self._flights(k, wrong, v, after, turn) for v in before for turn in turns)
                if found[0] < close * self.width:
                    return _Step(wrong + 1, *found[1:])
        usual = before[0]
        for wrong in range(MOST_WRONG + 1):
            after = self._velocity(k + 1 + wrong)
            if after is None or self._steady(usual, np.linalg.norm(usual), after):
                continue
            if frames := self._least(k, wrong, usual, after, fastest):
                return _Step(wrong + 1, frames)
        return None

    def _flights(self, k: int, wrong: int, before, after, turn: int) -> tuple[float, int, int]:
        """What two flights with one impact between them leave of a step, how long they take, and the turn."""
        step = self.path[k + 1 + wrong] - self.path[k] - self._turned([turn])[0]
        known = int(self.given[k : k + 1 + wrong].sum())
        frames, first = _times(known, known if self.toss.stamped else max(known, MOST_LOST))
        second = frames - first
        moved = np.outer(first, before) + np.outer(second, after) + np.outer(0.5 * (first**2 - second**2), self.fall)
        left = np.linalg.norm(step - moved, axis=1)
        best = int(left.argmin())
        return float(left[best]), int(frames[best]), turn

    def _least(self, k: int, wrong: int, before, after, fastest: float) -> int:
        """The least number of frames for a step with several impacts in it, 0 if it is too great."""
        step = self.path[k + 1 + wrong] - self.path[k]
        known = int(self.given[k : k + 1 + wrong].sum())
        if self.toss.stamped:
            return known if np.linalg.norm(step) <= fastest * known else 0
        for frames in range(known, MOST_GUESSED + wrong + 1):
            _, times = _times(frames, frames)
            first, last = (part.ravel() for part in np.meshgrid(times, times))
            left = np.linalg.norm(step - np.outer(first, before) - np.outer(last, after), axis=1)
            if ((first + last <= frames) & (left <= fastest * (frames - first - last))).any():
                return frames
        return 0


@lru_cache
def _times(least: int, most: int) -> tuple[NDArray, NDArray]:
    """All lengths of a step [frames] with all times of an impact in it."""
    pairs = [(frames, t / PARTS) for frames in range(least, most + 1) for t in range(frames * PARTS + 1)]
    frames, first = np.array(pairs, dtype=np.float64).T
    return frames, first


def _symmetry(body: Body) -> float:
    """The least turn in its plane [rad] that leaves a body as it is."""
    corners = body.vertices[:, [0, 2]] - body.vertices[:, [0, 2]].mean(axis=0)
    for parts in (4, 2):
        turn = 2 * np.pi / parts
        c, s = np.cos(turn), np.sin(turn)
        away = np.linalg.norm((corners @ [[c, s], [-s, c]])[:, np.newaxis] - corners, axis=2).min(axis=1)
        if away.max() < 0.01 * np.ptp(corners, axis=0).max():
            return turn
    return 2 * np.pi
