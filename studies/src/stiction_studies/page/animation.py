"""Replays as animations in WebP files: a panel for each run, all seen by the same camera.

Where a scene has a ground truth, its outline is drawn over all other runs.
"""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import binary_dilation, gaussian_filter1d

from stiction.basics import checks, colours, files
from stiction.basics.colours import Colour
from stiction.bodies.rotations import rotation_matrices
from stiction_studies.page import raycast
from stiction_studies.page.camera import Array, Camera, camera_axes
from stiction_studies.page.motions_shown import Motion, Scene
from stiction_studies.page.poster import GREY
from stiction_studies.page.raycast import Hull
from stiction_studies.page.replay import Stage
from stiction_studies.page.section import read_replay

WIDTH, GAP, BOTTOM = 800, 2, 28  # of a picture, between panels, below the panels for the time [px]
FPS = 25
_RAYS = 2  # along each side of a pixel


@dataclass(frozen=True)
class View:
    """The camera relative to the point it follows, and the arrangement of the panels.

    axes: columns right, up and back; offset: of the camera [m]; scale: focal length [px]; size: of a panel [px]
    """

    axes: NDArray[np.float64]
    offset: NDArray[np.float64]
    scale: float
    size: tuple[int, int]
    columns: int

    @property
    def distance(self) -> float:
        """Distance of the camera from the point it follows [m]."""
        return float(np.linalg.norm(self.offset))

    def corner(self, panel: int) -> tuple[int, int]:
        """Left and top of a panel [px]."""
        row, column = divmod(panel, self.columns)
        return column * (self.size[0] + GAP), row * (self.size[1] + GAP)


class Film:
    """A scene as a sequence of pictures: the time that each shows, the poses of all pieces, and the camera."""

    def __init__(self, scene: Scene) -> None:
        stage = Stage.of(scene)
        self.scene, self.names = scene, list(stage.runs)
        self._toward, self._runs = stage.toward, list(stage.runs.values())
        self._hulls = [Hull.of(piece) for piece in scene.pieces]
        interval = self._runs[0].interval
        self._last = round(stage.duration / interval)  # frame of the longest run
        speed = shown_speed(interval * self._last)
        self._step = speed / FPS / interval  # frames of the runs, from picture to picture
        self.speed = speed * scene.speed  # relative to real time
        self.duration = interval * self._last * scene.speed
        self.count = int(np.ceil(self._last / self._step - 1e-9)) + 1

    @property
    def truth(self) -> int | None:
        """Index of the run that is the ground truth, if there is one."""
        return self.names.index(self.scene.truth) if self.scene.truth else None

    def time(self, number: int) -> float:
        """Time that a picture shows [s]."""
        return min(number * self.speed / FPS, self.duration)

    def placed(self, run: int, number: int) -> list[Hull]:
        """All pieces of a run on a picture, in world axes."""
        position, quaternion = between(self._runs[run], number * self._step)
        turn = rotation_matrices(np.ascontiguousarray(quaternion))
        return [hull.placed(position[hull.body], turn[hull.body]) for hull in self._hulls]

    def error(self, run: int, number: int) -> float:
        """Greatest distance of a body from its position in the ground truth [m]."""
        assert self.truth is not None
        position, truth = (between(self._runs[k], number * self._step)[0] for k in (run, self.truth))
        return float(np.linalg.norm(position - truth, axis=1).max())

    def ended(self, run: int, number: int) -> float | None:
        """Time at which a run ended [s], if it did so before this picture and before others; else None."""
        last = len(self._runs[run].position) - 1
        return self.speed / FPS / self._step * last if last < min(self._last, number * self._step) else None

    def camera(self, number: int) -> Camera:
        """The camera of the panels of a picture."""
        view = self.view
        size = view.size[0] * _RAYS, view.size[1] * _RAYS
        return Camera(self._followed[number] + view.offset, view.axes, view.scale * _RAYS, size)

    @cached_property
    def size(self) -> float:
        """Extent of all bodies together at the start [m]."""
        corners = np.concatenate([hull.corners for hull in self.placed(0, 0)])
        return float(np.ptp(corners, axis=0).max())

    @cached_property
    def view(self) -> View:
        """The arrangement that shows the bodies largest; one row of panels unless another is 30 % better."""
        count = len(self._runs)
        views = [self._fitted(columns) for columns in range(count, 0, -1) if count % columns == 0]
        scales = [view.scale / view.distance for view in views]
        best = int(np.argmax(scales))
        return views[best] if scales[best] > 1.3 * scales[0] else views[0]

    @cached_property
    def _followed(self) -> NDArray[np.float64]:
        """Point on the ground that the camera follows, (pictures, 3): the smoothed centre of all runs; one fixed point
        where they do not go far."""
        middle = np.zeros((self.count, 3))
        for number in range(self.count):
            runs = [self.placed(k, number) for k in range(len(self._runs))]
            corners = [np.concatenate([hull.corners[:, :2] for hull in hulls]) for hulls in runs]
            middle[number, :2] = np.mean([(c.min(axis=0) + c.max(axis=0)) / 2 for c in corners], axis=0)
        slow = gaussian_filter1d(middle, 0.18 * self.count, axis=0, mode="nearest")
        if np.linalg.norm(np.ptp(slow, axis=0)) > 1.5 * self.size:
            return slow
        return np.tile((middle.min(axis=0) + middle.max(axis=0)) / 2, (self.count, 1))

    @cached_property
    def _axes(self) -> NDArray[np.float64]:
        return camera_axes(np.append(self._toward[:2], 0.42))

    @cached_property
    def _seen(self) -> NDArray[np.float64]:
        """Corners of all pieces in 40 pictures, along the camera's axes from the point it follows, (n, 3)."""
        numbers = np.unique(np.linspace(0, self.count - 1, 40).astype(int)).tolist()
        corners = [
            hull.corners - self._followed[number]
            for number in numbers
            for run in range(len(self._runs))
            for hull in self.placed(run, number)
        ]
        return np.concatenate(corners) @ self._axes

    def _fitted(self, columns: int) -> View:
        """The view that shows everything in panels that are as high as necessary."""
        seen, rows = self._seen, min(len(self._runs) // columns, 3)
        # Smallest and greatest height of a panel, and height of its title [px]; in several rows of wide panels titles
        # are beside the bodies.
        low, high, top = {1: (300, 460, 46), 2: (180, 290, 24), 3: (150, 200, 24)}[rows]
        filled, bottom = 0.88, BOTTOM if rows == 1 else BOTTOM // 2  # share of a panel's width; [px]
        wide = (WIDTH - GAP * (columns - 1)) // columns
        x, y = ((seen[:, k].min() + seen[:, k].max()) / 2 for k in (0, 1))
        wanted = filled * wide * np.ptp(seen[:, 1]) / np.ptp(seen[:, 0]) + top + bottom
        high = int(np.clip(wanted, low, high)) // 2 * 2
        half = np.tan(np.radians(13.0)) / max(wide, high)  # of a pixel at distance 1; field of view 26 degrees
        far_x = np.abs(seen[:, 0] - x) / (half * filled * wide) + seen[:, 2]
        far_y = np.abs(seen[:, 1] - y) / (half * (high - top - bottom)) + seen[:, 2]
        far = max(far_x.max(), far_y.max())
        above = (top - bottom) * half * far  # the title needs more space than the time
        return View(self._axes, self._axes @ np.array([x, y + above, far]), 1 / (2 * half), (wide, high), columns)


def shown_speed(length: float) -> float:
    """Speed at which a motion of this length [s] is shown, so that it takes about 2.8 to 9 s."""
    if length > 9.0:
        return float(np.ceil(length / 9.0))
    return max((speed for speed in (0.05, 0.1, 0.125, 0.2, 0.25, 0.5, 1.0) if length / speed >= 2.8), default=0.05)


def between(run: Motion, frame: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Positions (bodies, 3) and quaternions (bodies, 4), interpolated between frames; the last ones after the end."""
    last = len(run.position) - 1
    before = min(int(frame), last)
    after, share = min(before + 1, last), min(frame, float(last)) - before
    position = (1 - share) * run.position[before] + share * run.position[after]
    a, b = run.quaternion[before], run.quaternion[after]
    b = np.where((a * b).sum(axis=1, keepdims=True) < 0, -b, b)  # the shorter rotation
    turn = (1 - share) * a + share * b
    return position, turn / np.linalg.norm(turn, axis=1, keepdims=True)


def write(shown: Scene, path: Path) -> Path:
    """Write an animation as a WebP file and return `path`. The bytes are deterministic."""
    if path.suffix != ".webp":
        raise checks.InputError(f"An animation must be named .webp, got {path.name!r}.")
    pictures = [Image.fromarray(frame) for frame in frames(shown)]
    durations = [round(1000 / FPS)] * (len(pictures) - 1) + [1400]  # [ms]: it repeats after a pause
    for quality in (70, 55, 40):  # percent: the first with which the file is small enough for a repository
        content = io.BytesIO()
        pictures[0].save(
            content, "WEBP", save_all=True, append_images=pictures[1:], duration=durations, loop=0, quality=quality,
            method=4,
        )  # fmt: skip
        files.write_whole(path, content.getvalue())
        if content.tell() <= 1_200_000:
            break
    return path


def animate_kept(folder: Path) -> list[Path]:
    """Write an animation beside each replay in the folder of a study, named after its title; return their paths."""
    found = []
    for path in sorted(folder.glob("replay-*.npz")):
        shown = read_replay(path)
        name = re.sub("[^a-z0-9]+", "-", shown.title.lower()).strip("-")
        found.append(write(shown, folder / f"{name}.webp"))
    return found


def frames(shown: Scene) -> Iterator[NDArray[np.uint8]]:
    """The pictures of an animation, each of shape (height, width, 3)."""
    film = Film(shown)
    for number in range(film.count):
        yield picture(film, number)


def picture(film: Film, number: int) -> NDArray[np.uint8]:
    """One picture of all panels."""
    camera = film.camera(number)
    empty = raycast.ground(camera, _spacing(film.size), 2.2 * film.view.distance, drawn=film.scene.ground)
    placed = [film.placed(run, number) for run in range(len(film.names))]
    wide, high = film.view.size
    rows = -(-len(placed) // film.view.columns)
    whole = np.full((rows * (high + GAP) - GAP, WIDTH, 3), 255, np.uint8)
    for run, (hulls, color) in enumerate(zip(placed, colours.of_runs(film.names))):
        outline = [] if film.truth is None or film.truth == run else placed[film.truth]
        left, top = film.view.corner(run)
        whole[top : top + high, left : left + wide] = _panel(camera, empty, hulls, color, outline)
    return _lettered(film, whole, number)


def _panel(
    camera: Camera, empty: tuple[Array, Array | None], hulls: list[Hull], color: Colour, outline: list[Hull]
) -> NDArray[np.uint8]:
    """One run, on a copy of the empty ground."""
    picture, points = empty[0].copy(), empty[1]
    if points is not None:
        raycast.shade_ground(picture, points, hulls, camera)
    layer = raycast.Layer(camera, hulls)
    raycast.paint(picture, layer, [GREY if hull.plain else color for hull in hulls])
    ink, edges = np.array(colours.INK, np.float32), layer.edges()
    picture[edges] += 0.4 * (ink - picture[edges])
    if outline:
        truth = raycast.Layer(camera, outline)
        # With many pieces, inner edges and thick lines would hide the run below.
        lines = np.asarray(binary_dilation(truth.edges()) if len(outline) == 1 else truth.edges(creases=False), bool)
        picture[lines] += 0.9 * (ink - picture[lines])
    height, width = camera.size[1] // _RAYS, camera.size[0] // _RAYS
    mean = picture.reshape(height, _RAYS, width, _RAYS, 3).mean(axis=(1, 3))
    return np.clip(mean + 0.5, 0, 255).astype(np.uint8)


def _lettered(film: Film, whole: NDArray[np.uint8], number: int) -> NDArray[np.uint8]:
    """Add the names of the runs, their errors, the time and the speed."""
    image = Image.fromarray(whole)
    draw, small, faint = ImageDraw.Draw(image), ImageFont.load_default(13), (108, 117, 131)
    for run, name in enumerate(film.names):
        left, top = film.view.corner(run)
        left += 14
        draw.ellipse((left, top + 13, left + 9, top + 22), fill=colours.of_runs(film.names)[run])
        draw.text((left + 16, top + 18), name, colours.INK, _font(draw, name, film.view.size[0] - 40), anchor="lm")
        draw.text((left + 16, top + 37), _remark(film, run, number), faint, small, anchor="lm")
    low = whole.shape[0] - BOTTOM // 2
    digits = 2 if film.duration < 10 else 1
    draw.text((14, low), f"{film.time(number):.{digits}f} s", faint, small, anchor="lm")
    draw.text((WIDTH - 14, low), _speed(film.speed), faint, small, anchor="rm")
    return np.asarray(image)


def _remark(film: Film, run: int, number: int) -> str:
    """The error of a run, or the time at which it ended."""
    ended = film.ended(run, number)
    if ended is not None:
        return f"ended at {ended:.1f} s"
    if film.truth is None or film.truth == run:
        return ""
    error = film.error(run, number)
    return f"{1e3 * error:.0f} mm off" if error < 10 else f"{error:.0f} m off"


def _speed(speed: float) -> str:
    if abs(speed - 1) < 1e-3:
        return "real time"
    return f"{speed:.3g} times as fast" if speed > 1 else f"{1 / speed:.3g} times slower"


def _spacing(size: float) -> float:
    """Spacing of the grid [m]: 1, 2 or 5 times a power of ten, about the size of the bodies."""
    power = 10.0 ** np.floor(np.log10(size))
    return float(max(step * power for step in (1, 2, 5) if step * power <= size))


def _font(draw: ImageDraw.ImageDraw, text: str, width: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The largest font in which the text is at most `width` pixels wide."""
    size = 15
    while size > 9 and draw.textlength(text, font=ImageFont.load_default(size)) > width:
        size -= 1
    return ImageFont.load_default(size)
