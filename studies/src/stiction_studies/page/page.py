"""The page: each study's section is stored in a folder of its own, and index.html shows all sections that are there.

The page opens from disk, without a server or a network: it contains plotly and viser's player, compressed, which the
browser unpacks when a plot comes into view or a replay is started.
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
from stiction_studies.catalogue import ORDER
from stiction_studies.page.motions_shown import Scene
from stiction_studies.page.section import Plot, Section, Table, replay_arrays

_FORMAT = 1
_HERE = Path(__file__).parent
_NUMERIC = re.compile(r"[-+−±<>≤≥~≈]?\s*\d|[-–—]?$|none$|n/a$|nan$|inf", re.IGNORECASE)
PLACEHOLDER = "RECORDING-GOES-HERE"  # for the recording in viser's player


def publish(out: Path, section: Section) -> Path:
    """Store the section in `out`/<its name>, write `out`/index.html of all sections there, and return its path.

    section.json holds what the page shows, replay-1.npz and so on the motions of its replays.
    """
    if not re.fullmatch(r"[a-z][a-z0-9-]*", section.name):
        raise checks.InputError(
            f"A section's name must be lower-case letters, digits and dashes, got {section.name!r}."
        )
    folder = out / section.name
    content = _content(section)  # validated before the first file is written
    for number, replay in enumerate(section.replays, 1):
        with files.whole_file(folder / f"replay-{number}.npz") as temporary:
            np.savez_compressed(temporary, **replay_arrays(replay))
    files.write_whole(folder / "section.json", json.dumps(content, allow_nan=False, ensure_ascii=False).encode())
    for path in folder.glob("replay-*.npz"):  # of an earlier section with more replays
        number = path.stem.removeprefix("replay-")
        if number.isdigit() and int(number) > len(section.replays):
            path.unlink()
    return build(out)


def build(out: Path) -> Path:
    """Write `out`/index.html of the sections that are there, and return its path."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

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
        plotly=_packed(get_plotlyjs()) if any(section["plots"] for section in sections) else "",
        player=_packed(_player()) if any(section["replays"] for section in sections) else "",
        modes={Mode(mode).name.lower(): colours.as_hex(colour) for mode, colour in colours.MODES.items()},
        series=[colours.as_hex(colour) for colour in colours.SERIES],
        recording_goes_here=PLACEHOLDER,
        versions=versions(),
    )
    path = out / "index.html"
    files.write_whole(path, page.encode())
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
        "pictures": [
            {"png": base64.b64encode(one.png).decode(), "alt": one.alt, "caption": one.caption}
            for one in section.pictures
        ],
        "replays": [_replay(one) for one in section.replays],
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
    figure["layout"].pop("template", None)  # the page has one for light and one for dark
    return {"figure": {"data": figure["data"], "layout": figure["layout"]}, "caption": plot.caption}


def _replay(shown: Scene) -> dict[str, Any]:
    """Poster, recording, legend and contact modes of a replay; durations as they are shown [s]."""
    from stiction_studies.page.replay import Stage

    if not shown.runs or not shown.pieces:
        raise checks.InputError(f"The scene {shown.title!r} needs runs and pieces to draw.")
    stage = Stage.of(shown)
    unit = 0.001  # [s] of the strips that show contact modes over time
    run_colours = map(colours.as_hex, colours.of_runs(shown.runs))
    return {
        "title": shown.title,
        "caption": shown.caption,
        "duration": round(stage.duration, 6),
        "frame": round(stage.interval, 6),
        "steps": round(stage.duration / unit, 3),
        "runs": [{"name": name, "color": colour} for name, colour in zip(shown.runs, run_colours)],
        "poster": stage.poster(),
        "recording": base64.b64encode(stage.record()).decode(),
        "strips": stage.strips(unit),
        "outlined": stage.outlined is not None and len(shown.runs) > 1,
        "speed": shown.speed,
    }


def _sections(out: Path) -> list[dict[str, Any]]:
    """All sections in `out`, in the order of the catalogue; others follow by name."""
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
    """Plain text as HTML, with text between backticks as code."""
    from markupsafe import Markup, escape

    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    wrapped = (Markup("<code>{}</code>").format(part) if i % 2 else escape(part) for i, part in enumerate(parts))
    return Markup("").join(wrapped)


def _asset(name: str):
    from markupsafe import Markup

    return Markup((_HERE / name).read_text(encoding="utf-8"))


def _player() -> str:
    """viser's player as one self-contained HTML file, with PLACEHOLDER for the recording."""
    from stiction_studies.page.replay import quiet_server

    with quiet_server() as server:
        empty = base64.b64encode(server.get_scene_serializer().serialize()).decode()
        page = server.get_scene_serializer().as_html()
    if page.count(empty) != 1:
        raise RuntimeError(
            "viser's player does not contain its recording as one string: another version of viser is needed."
        )
    return page.replace(empty, PLACEHOLDER)


def _packed(text: str) -> str:
    """gzip in base64, deterministic."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode()
