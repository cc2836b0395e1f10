"""Replays and scenes as animations that play anywhere: a panel for each run, seen by the same camera.

Where a scene has a truth, its outline is drawn in dark over all other runs.
"""

import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import binary_dilation

from stiction.basics import checks, colours, files
from stiction.basics.colours import Colour
from stiction.studies.page import render, replay_file
from stiction.studies.page.film import BOTTOM, FPS, GAP, WIDTH, Film
from stiction.studies.page.replay import Stage
from stiction.studies.page.scene import GREY
from stiction.studies.page.section import Motion, Piece, Replay, Scene

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
