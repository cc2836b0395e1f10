"""The page: each study's section is kept in a folder of its own, and all that are there make one index.html.

The page opens from disk, without a server or a network: plotly and viser's player are inside, compressed, and unpacked
by the browser when a plot comes into view or a replay is started.
"""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from stiction.basics import checks, colours, files
from stiction.basics.environment import versions
from stiction.bodies.state import Mode
from stiction.viewer.pieces import Scene
from stiction_studies.catalogue import ORDER
from stiction_studies.page import replay as replay_file
from stiction_studies.page.section import Picture, Plot, Replay, Section, Table

_FORMAT = 1
_UNIT = 0.001  # [s] of the strips that show contact modes over time
RECORDING_GOES_HERE = "RECORDING-GOES-HERE"
_HERE = Path(__file__).parent
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_NUMERIC = re.compile(r"[-+−±<>≤≥~≈]?\s*\d|[-–—]?$|none$|n/a$|nan$|inf", re.IGNORECASE)


def publish(out: Path, section: Section) -> Path:
    """Keep the section in `out`/<its name> and make `out`/index.html anew of all sections there; the page's path.

    section.json holds what the page shows, replay-1.npz and so on the motions of its replays.
    """
    if not _NAME.fullmatch(section.name):
        raise checks.InputError(
            f"A section's name must be lower-case letters, digits and dashes, got {section.name!r}."
        )
    folder = out / section.name
    content = _content(section)  # all that can fail comes before the first file
    for number, replay in enumerate(section.replays, 1):
        with files.whole_file(folder / f"replay-{number}.npz") as temporary:
            np.savez_compressed(temporary, **replay_file.arrays(replay))
    _write(folder / "section.json", json.dumps(content, allow_nan=False, ensure_ascii=False))
    _forget(folder, len(section.replays))
    return build(out)


def build(out: Path) -> Path:
    """Make `out`/index.html of the sections that are there; its path."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    sections = _sections(out)
    templates = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters["code"] = _with_code
    page = templates.get_template("page.html").render(
        sections=sections,
        css=_asset("page.css"),
        scripts=[_asset("page.js"), _asset("player.js")],
        diagram=_asset("diagram.svg"),
        plotly=_packed(_plotly()) if any(section["plots"] for section in sections) else "",
        player=_packed(_player()) if any(section["replays"] for section in sections) else "",
        modes={Mode(mode).name.lower(): colours.as_hex(colour) for mode, colour in colours.MODES.items()},
        series=[colours.as_hex(colour) for colour in colours.SERIES],
        recording_goes_here=RECORDING_GOES_HERE,
        versions=versions(),
    )
    path = out / "index.html"
    _write(path, page)
    return path


def _content(section: Section) -> dict[str, Any]:
    """What the page shows of a section, ready for JSON."""
    return {
        "format": _FORMAT,
        "name": section.name,
        "title": section.title,
        "text": list(section.text),
        "command": section.command,
        "tables": [_table(table) for table in section.tables],
        "plots": [_plot(plot) for plot in section.plots],
        "pictures": [_picture(picture) for picture in section.pictures],
        "replays": [_scene(one) if isinstance(one, Scene) else _replay(one) for one in section.replays],
    }


def _table(table: Table) -> dict[str, Any]:
    for row in table.rows:
        if len(row) != len(table.columns):
            raise checks.InputError(
                f"Each row of the table {table.title!r} must have {len(table.columns)} cells, got {len(row)}: "
                f"{checks.shown(row)}."
            )
    columns = list(zip(*table.rows)) or [()] * len(table.columns)
    numeric = [i > 0 and all(_NUMERIC.match(cell) for cell in column) for i, column in enumerate(columns)]
    return {"title": table.title, "columns": table.columns, "rows": table.rows, "note": table.note, "numeric": numeric}


def _plot(plot: Plot) -> dict[str, Any]:
    from plotly.io import to_json

    figure = json.loads(str(to_json(plot.figure)))
    figure["layout"].pop("template", None)  # the page has its own, light and dark
    return {"figure": {"data": figure["data"], "layout": figure["layout"]}, "caption": plot.caption}


def _picture(picture: Picture) -> dict[str, Any]:
    return {"png": base64.b64encode(picture.png).decode(), "alt": picture.alt, "caption": picture.caption}


def _replay(replay: Replay) -> dict[str, Any]:
    from stiction_studies.page.poster import mode_spans, poster
    from stiction_studies.page.replay import Stage, record

    for name, run in replay.runs.items():
        if run.mode.ndim != 1:
            raise checks.InputError(
                f"A replay shows one throw, got a batch of shape {run.mode.shape[:-1]} for {name!r}: take run[i]."
            )
    if not replay.runs:
        raise checks.InputError(f"The replay {replay.title!r} has no runs.")
    stage = Stage.of(replay)
    strips = [
        {"name": name, "spans": mode_spans(run.mode, run.timestep / _UNIT)}
        for name, run in stage.runs.items()
        if run.kind.any()  # what was recorded, or made by others, may not know its contacts
    ]
    return _played(replay, poster(stage), record(replay), stage.duration, stage.frame) | {
        "outlined": len(replay.runs) > 1,
        "strips": strips,
    }


def _scene(scene: Scene) -> dict[str, Any]:
    from stiction_studies.page.scene import SceneStage, record, scene_poster

    if not scene.runs or not scene.pieces:
        raise checks.InputError(f"The scene {scene.title!r} needs runs and pieces to draw.")
    stage = SceneStage.of(scene)
    return _played(scene, scene_poster(stage), record(scene), stage.duration, stage.interval) | {
        "outlined": False,
        "strips": stage.strips(_UNIT),
        "speed": scene.speed,
    }


def _legend(replay: Replay | Scene) -> list[dict[str, Any]]:
    """Names and colours of the runs."""
    shades = map(colours.as_hex, colours.of_runs(replay.runs))
    return [{"name": name, "color": colour} for name, colour in zip(replay.runs, shades)]


def _played(replay: Replay | Scene, poster: str, recording: bytes, duration: float, frame: float) -> dict[str, Any]:
    """What the page needs to play it; duration and time between two frames as they are shown [s]."""
    return {
        "title": replay.title,
        "caption": replay.caption,
        "duration": round(duration, 6),
        "frame": round(frame, 6),
        "steps": round(duration / _UNIT, 3),
        "runs": _legend(replay),
        "poster": poster,
        "recording": base64.b64encode(recording).decode(),
    }


def _forget(folder: Path, count: int) -> None:
    """Remove the replays of an earlier, longer section."""
    for path in folder.glob("replay-*.npz"):
        number = path.stem.removeprefix("replay-")
        if number.isdigit() and int(number) > count:
            path.unlink()


def _sections(out: Path) -> list[dict[str, Any]]:
    """All sections in `out`, in the order of the story; others after it, by name."""
    found = []
    for path in sorted(out.glob("*/section.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            known = content["format"] == _FORMAT
        except (ValueError, KeyError, TypeError) as error:
            raise checks.InputError(f"{path} is not a section of a page; remove it or run its study again.") from error
        if not known:
            raise checks.InputError(f"{path} has format {content['format']!r:.20}; run its study again.")
        found.append(content)
    place = {name: number for number, name in enumerate(ORDER)}
    return sorted(found, key=lambda content: (place.get(content["name"], len(ORDER)), content["name"]))


def _with_code(text: str):
    """Plain text as HTML, with what stands between backticks as code."""
    from markupsafe import Markup, escape

    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    wrapped = (Markup("<code>{}</code>").format(part) if i % 2 else escape(part) for i, part in enumerate(parts))
    return Markup("").join(wrapped)


def _asset(name: str):
    from markupsafe import Markup

    return Markup((_HERE / name).read_text(encoding="utf-8"))


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def _player() -> str:
    """viser's player, one HTML file with everything inside: of an empty recording, whose place is marked."""
    from stiction.viewer.window import quiet_server

    with quiet_server() as server:
        empty = base64.b64encode(server.get_scene_serializer().serialize()).decode()
        page = server.get_scene_serializer().as_html()
    if page.count(empty) != 1:
        raise RuntimeError(
            "viser's player does not hold its recording as one piece of text: another version is needed."
        )
    return page.replace(empty, RECORDING_GOES_HERE)


def _packed(text: str) -> str:
    """gzip in base64; the same bytes each time."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode()


def _write(path: Path, text: str) -> None:
    with files.whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
