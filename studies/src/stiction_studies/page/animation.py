"""Replays and scenes as animations that play anywhere: a panel for each run, seen by the same camera.

Where a scene has a truth, its outline is drawn in dark over all other runs.
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
from stiction.viewer.pieces import Piece
from stiction_studies.page import render
from stiction_studies.page import replay as replay_file
from stiction_studies.page.motions_shown import Motion, Scene
from stiction_studies.page.render import Camera, Hull
from stiction_studies.page.replay import Stage
from stiction_studies.page.scene import GREY, SceneStage
from stiction_studies.page.section import Replay

# A scene as a film: which moment each picture shows, where everything is then, and from where it is seen.


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


FORMATS = (".webp", ".gif")
PAUSE = 1.4  # [s] at the end
_SHARP = 2  # rays along each side of a pixel
_QUALITIES, _LARGEST = (70, 55, 40), 1_200_000  # of WebP, in percent: the first with which a file has so few bytes
_INK, _FAINT = colours.INK, (108, 117, 131)
_EDGE, _OUTLINE = 0.4, 0.9  # how dark edges and the outline of the truth are


def write(shown: Replay | Scene, path: Path) -> Path:
    """Write an animation, WebP or GIF by the name of `path`; returns it. The same scene gives the same bytes."""
    if path.suffix not in FORMATS:
        raise checks.InputError(f"An animation must be named {' or '.join(FORMATS)}, got {path.name!r}.")
    pictures = [Image.fromarray(frame) for frame in frames(shown)]
    if path.suffix == ".gif":
        content = _encoded(_with_one_palette(pictures), "GIF")
    else:
        content = b""
        for quality in _QUALITIES:
            content = _encoded(pictures, "WEBP", quality=quality, method=4)
            if len(content) <= _LARGEST:
                break
    files.write_whole(path, content)
    return path


def _encoded(pictures: list[Image.Image], kind: str, **options: int) -> bytes:
    """All pictures in one file that begins anew after a pause."""
    durations = [round(1000 / FPS)] * (len(pictures) - 1) + [round(1000 * PAUSE)]
    content = io.BytesIO()
    pictures[0].save(content, kind, save_all=True, append_images=pictures[1:], duration=durations, loop=0, **options)
    return content.getvalue()


def animate_kept(folder: Path) -> list[Path]:
    """Write an animation beside each replay that a study has kept in its folder, named after its title."""
    found = []
    for path in sorted(folder.glob("replay-*.npz")):
        shown = replay_file.read(path)
        name = re.sub("[^a-z0-9]+", "-", shown.title.lower()).strip("-")
        found.append(write(shown, folder / f"{name}{FORMATS[0]}"))
    return found


def frames(shown: Replay | Scene) -> Iterator[NDArray[np.uint8]]:
    """The pictures of an animation, each of shape (height, width, 3)."""
    film = Film(as_scene(shown))
    for number in range(film.count):
        yield picture(film, number)


def as_scene(shown: Replay | Scene) -> Scene:
    """A replay as a scene of one body; its first run is the truth."""
    if isinstance(shown, Scene):
        return shown
    stage = Stage.of(shown)
    piece = Piece(0, stage.solid.vertices, stage.solid.triangles)
    runs = {
        name: Motion(run.position[:, np.newaxis], run.quaternion[:, np.newaxis], run.timestep)
        for name, run in stage.runs.items()
    }
    x, y = stage.toward[:2].tolist()
    return Scene(shown.title, [piece], runs, shown.caption, (x, y), truth=next(iter(runs)))


def picture(film: Film, number: int) -> NDArray[np.uint8]:
    """One picture of all panels."""
    camera = film.camera(number, _SHARP)
    empty = render.ground(camera, _spacing(film.size), 2.2 * film.view.distance, drawn=film.scene.ground)
    placed = [film.placed(run, number) for run in range(len(film.names))]
    wide, high = film.view.size
    rows = -(-len(placed) // film.view.columns)
    whole = np.full((rows * (high + GAP) - GAP, WIDTH, 3), 255, np.uint8)
    for run, hulls in enumerate(placed):
        outline = [] if film.truth is None or film.truth == run else placed[film.truth]
        left, top = film.view.corner(run)
        whole[top : top + high, left : left + wide] = _panel(
            camera, empty, hulls, colours.of_runs(film.names)[run], outline
        )
    return _lettered(film, whole, number)


def _panel(
    camera: render.Camera,
    empty: tuple[render.Array, render.Array | None],
    hulls: list[render.Hull],
    color: Colour,
    outline: list[render.Hull],
) -> NDArray[np.uint8]:
    """One run, on a copy of the empty ground."""
    picture, points = empty[0].copy(), empty[1]
    if points is not None:
        render.shade_ground(picture, points, hulls, camera)
    layer = render.Layer.of(camera, hulls)
    render.paint(picture, layer, [GREY if hull.plain else color for hull in hulls])
    _draw(picture, layer.edges(), _EDGE)
    if outline:
        truth = render.Layer.of(camera, outline)
        # Of many pieces, inner edges and thick lines would hide what they are compared with.
        lines = binary_dilation(truth.edges()) if len(outline) == 1 else truth.edges(creases=False)
        _draw(picture, np.asarray(lines, bool), _OUTLINE)
    height, width = camera.size[1] // _SHARP, camera.size[0] // _SHARP
    mean = picture.reshape(height, _SHARP, width, _SHARP, 3).mean(axis=(1, 3))
    return np.clip(mean + 0.5, 0, 255).astype(np.uint8)


def _draw(picture: render.Array, lines: NDArray[np.bool_], strength: float) -> None:
    picture[lines] += strength * (np.array(_INK, np.float32) - picture[lines])


def _lettered(film: Film, whole: NDArray[np.uint8], number: int) -> NDArray[np.uint8]:
    """With the names of the runs, how far they are off, the time and how fast it runs."""
    image = Image.fromarray(whole)
    draw = ImageDraw.Draw(image)
    for run, name in enumerate(film.names):
        left, top = film.view.corner(run)
        left += 14
        draw.ellipse((left, top + 13, left + 9, top + 22), fill=colours.of_runs(film.names)[run])
        draw.text((left + 16, top + 18), name, _INK, _font(draw, name, film.view.size[0] - 40), anchor="lm")
        draw.text((left + 16, top + 37), _remark(film, run, number), _FAINT, _small(), anchor="lm")
    low = whole.shape[0] - BOTTOM // 2
    digits = 2 if film.duration < 10 else 1
    draw.text((14, low), f"{film.time(number):.{digits}f} s", _FAINT, _small(), anchor="lm")
    draw.text((WIDTH - 14, low), _speed(film.speed), _FAINT, _small(), anchor="rm")
    return np.asarray(image)


def _remark(film: Film, run: int, number: int) -> str:
    """How far a run is off the truth, or that it has ended."""
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
    """Of the grid [m]: 1, 2 or 5 times a power of ten, about the size of the bodies."""
    power = 10.0 ** np.floor(np.log10(size))
    return float(max(step * power for step in (1, 2, 5) if step * power <= size))


def _small() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(13)


def _font(draw: ImageDraw.ImageDraw, text: str, width: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The largest font in which the text is no wider than so many pixels."""
    size = 15
    while size > 9 and draw.textlength(text, font=ImageFont.load_default(size)) > width:
        size -= 1
    return ImageFont.load_default(size)


def _with_one_palette(pictures: list[Image.Image]) -> list[Image.Image]:
    """As GIF needs them: with one palette, and without dithering, which would flicker."""
    some = pictures[:: max(1, len(pictures) // 8)]
    sheet = Image.new("RGB", (some[0].width, some[0].height * len(some)))
    for k, one in enumerate(some):
        sheet.paste(one, (0, k * one.height))
    palette = sheet.quantize(128, method=Image.Quantize.MEDIANCUT)
    return [one.quantize(palette=palette, dither=Image.Dither.NONE) for one in pictures]
