"""A scene as a film: which moment each picture shows, where everything is then, and from where it is seen."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from stiction.bodies.rotations import rotation_matrices
from stiction.studies.page.render import Camera, Hull
from stiction.studies.page.scene import SceneStage
from stiction.studies.page.section import Motion, Scene

WIDTH, FPS, GAP = 800, 25, 2  # of a picture [px], pictures a second, between panels [px]
BOTTOM = 28  # of a picture [px], for the time
_HEIGHT = {1: (300, 460), 2: (180, 290), 3: (150, 200)}  # of a panel [px], least and greatest, by the number of rows
_TITLE = {1: 46, 2: 24, 3: 24}  # [px] above all bodies; in rows of wide panels, titles stand beside them
_BETTER = 1.3  # several rows of panels must show things so much larger than one row
_FILLED = 0.88  # share of a panel's width
_SHORTEST, _LONGEST = 2.8, 9.0  # [s] a film lasts; it is shown slower or faster for that
_SPEEDS = (0.05, 0.1, 0.125, 0.2, 0.25, 0.5, 1.0)
_FIELD, _RISE = np.radians(26.0), 0.42  # of the view, over the longer side of a panel; how steeply it looks down
_SMOOTH = 0.18  # share of the film over which the way of the camera is averaged
_FAR = 1.5  # the camera follows what goes farther than this many times its size


@dataclass(frozen=True)
class View:
    """Where the camera stands, relative to what it follows, and how panels are laid out.

    axes: columns right, up and back; offset: of the camera [m]; scale: see Camera; size: of a panel [px]
    """

    axes: NDArray[np.float64]
    offset: NDArray[np.float64]
    scale: float
    size: tuple[int, int]
    columns: int

    @property
    def distance(self) -> float:
        """Of the camera [m]."""
        return float(np.linalg.norm(self.offset))

    def corner(self, panel: int) -> tuple[int, int]:
        """Left and top of a panel [px]."""
        row, column = divmod(panel, self.columns)
        return column * (self.size[0] + GAP), row * (self.size[1] + GAP)


class Film:
    """A scene that is about to be drawn."""

    def __init__(self, scene: Scene) -> None:
        stage = SceneStage.of(scene)
        self.scene, self.names = scene, list(stage.runs)
        self._toward, self._runs = stage.toward, list(stage.runs.values())
        self._hulls = [Hull.of(piece) for piece in scene.pieces]
        interval, self._frames = self._runs[0].interval, stage.frames
        length = interval * (stage.frames - 1)
        speed = shown_speed(length)
        self._step = speed / FPS / interval  # frames of the runs, from picture to picture
        self.speed = speed * scene.speed  # than it happened
        self.duration = length * scene.speed
        self.count = int(np.ceil((stage.frames - 1) / self._step - 1e-9)) + 1

    @property
    def truth(self) -> int | None:
        """Number of the run that is the truth, if there is one."""
        return self.names.index(self.scene.truth) if self.scene.truth else None

    def time(self, number: int) -> float:
        """That a picture shows [s]."""
        return min(number * self.speed / FPS, self.duration)

    def placed(self, run: int, number: int) -> list[Hull]:
        """All pieces of a run on a picture."""
        position, quaternion = between(self._runs[run], number * self._step)
        turn = rotation_matrices(np.ascontiguousarray(quaternion))
        return [hull.placed(position[hull.body], turn[hull.body]) for hull in self._hulls]

    def error(self, run: int, number: int) -> float:
        """How far the body that is farthest off is from where it is in the truth [m]."""
        assert self.truth is not None
        there, truth = (between(self._runs[k], number * self._step)[0] for k in (run, self.truth))
        return float(np.linalg.norm(there - truth, axis=1).max())

    def ended(self, run: int, number: int) -> float | None:
        """When a run ended [s], if it did so before this picture and before others."""
        own, longest = (frames - 1 for frames in (len(self._runs[run].position), self._frames))
        return self.speed / FPS / self._step * own if own < min(longest, number * self._step) else None

    def camera(self, number: int, sharp: int) -> Camera:
        """For a panel of a picture, with `sharp` rays along each side of a pixel."""
        view = self.view
        size = view.size[0] * sharp, view.size[1] * sharp
        return Camera(self._followed[number] + view.offset, view.axes, view.scale * sharp, size)

    @cached_property
    def size(self) -> float:
        """How large the bodies are, all together, at the start [m]."""
        corners = np.concatenate([hull.corners for hull in self.placed(0, 0)])
        return float(np.ptp(corners, axis=0).max())

    @cached_property
    def view(self) -> View:
        """The layout that shows things largest; one row of panels, if others are hardly better."""
        count = len(self._runs)
        views = [self._fitted(columns) for columns in range(count, 0, -1) if count % columns == 0]
        scales = [view.scale / view.distance for view in views]
        best = int(np.argmax(scales))
        return views[best] if scales[best] > _BETTER * scales[0] else views[0]

    @cached_property
    def _followed(self) -> NDArray[np.float64]:
        """What the camera follows along the ground, (pictures, 3): the middle of all runs, smoothly; one place where
        they do not go far."""
        middle = np.zeros((self.count, 3))
        for number in range(self.count):
            middle[number, :2] = np.mean([_middle(self.placed(k, number)) for k in range(len(self._runs))], axis=0)
        slow = gaussian_filter1d(middle, _SMOOTH * self.count, axis=0, mode="nearest")
        if np.linalg.norm(np.ptp(slow, axis=0)) > _FAR * self.size:
            return slow
        return np.tile((middle.min(axis=0) + middle.max(axis=0)) / 2, (self.count, 1))

    @cached_property
    def _axes(self) -> NDArray[np.float64]:
        back = np.append(self._toward[:2], _RISE)
        back /= np.linalg.norm(back)
        right = np.array([-back[1], back[0], 0.0]) / np.hypot(back[0], back[1])
        return np.stack([right, np.cross(back, right), back], axis=1)

    @cached_property
    def _seen(self) -> NDArray[np.float64]:
        """Corners of all pieces at some moments, along the camera's axes from what it follows, (n, 3)."""
        numbers = np.unique(np.linspace(0, self.count - 1, 40).astype(int)).tolist()
        corners = [
            hull.corners - self._followed[number]
            for number in numbers
            for run in range(len(self._runs))
            for hull in self.placed(run, number)
        ]
        return np.concatenate(corners) @ self._axes

    def _fitted(self, columns: int) -> View:
        """Everything is in view, in panels that are as high as that needs."""
        seen, rows = self._seen, min(len(self._runs) // columns, 3)
        top, bottom = _TITLE[rows], BOTTOM if rows == 1 else BOTTOM // 2
        wide = (WIDTH - GAP * (columns - 1)) // columns
        x, y = ((seen[:, k].min() + seen[:, k].max()) / 2 for k in (0, 1))
        wanted = _FILLED * wide * np.ptp(seen[:, 1]) / np.ptp(seen[:, 0]) + top + bottom
        high = int(np.clip(wanted, *_HEIGHT[rows])) // 2 * 2
        half = np.tan(_FIELD / 2) / max(wide, high)  # half of a pixel, at distance 1
        far_x = np.abs(seen[:, 0] - x) / (half * _FILLED * wide) + seen[:, 2]
        far_y = np.abs(seen[:, 1] - y) / (half * (high - top - bottom)) + seen[:, 2]
        far = max(far_x.max(), far_y.max())
        above = (top - bottom) * half * far  # the title takes more than the time: look at a point above the middle
        return View(self._axes, self._axes @ np.array([x, y + above, far]), 1 / (2 * half), (wide, high), columns)


def shown_speed(length: float) -> float:
    """How many times as fast as it lasts [s] something is shown."""
    if length > _LONGEST:
        return float(np.ceil(length / _LONGEST))
    return max((speed for speed in _SPEEDS if length / speed >= _SHORTEST), default=_SPEEDS[0])


def between(run: Motion, frame: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Positions (bodies, 3) and quaternions (bodies, 4) between two frames of a run; at its last one after its end."""
    last = len(run.position) - 1
    before = min(int(frame), last)
    after, share = min(before + 1, last), min(frame, float(last)) - before
    position = (1 - share) * run.position[before] + share * run.position[after]
    a, b = run.quaternion[before], run.quaternion[after]
    b = np.where((a * b).sum(axis=1, keepdims=True) < 0, -b, b)  # the short way round
    turn = (1 - share) * a + share * b
    return position, turn / np.linalg.norm(turn, axis=1, keepdims=True)


def _middle(hulls: list[Hull]) -> NDArray[np.float64]:
    corners = np.concatenate([hull.corners[:, :2] for hull in hulls])
    return (corners.min(axis=0) + corners.max(axis=0)) / 2
