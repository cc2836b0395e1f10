"""Documents from results: all tables on one page, and single tables in marked places of other pages."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stiction.basics import checks, files
from stiction_studies.catalogue import ORDER

_TITLE = re.compile(r"^\*\*(.+)\*\*$", re.MULTILINE)
_PLACE = re.compile(r"(<!-- table ([\w-]+): (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
_HEAD = """# Results

Every figure of this page was written by the command above it, at the commit that is named; none was typed in.
`stiction results DIR --out docs/results.md` writes the page from the results in DIR. Seeds are 0 unless a command
states otherwise.
"""


@dataclass(frozen=True)
class StudyResults:
    """The results of a study in its folder.

    figures: the content of results.json
    tables: the tables as Markdown, by title, each with its note
    """

    name: str
    figures: dict[str, Any]
    tables: dict[str, str]

    @property
    def command(self) -> str:
        """The command that wrote it."""
        return self.figures.get("command") or f"stiction reproduce {self.name}"


def read(folder: Path) -> list[StudyResults]:
    """The results in the folder, in the order of the page; raises if there are none."""
    found = [_read_one(folder / name) for name in (*ORDER, "bench") if (folder / name / "tables.md").exists()]
    if not found:
        raise checks.InputError(f"There are no results in {folder}: run `stiction reproduce all --out {folder}` first.")
    return found


def write(folder: Path, out: Path, *, pages: tuple[Path, ...] = ()) -> None:
    """Write all tables of `folder` to the Markdown file `out`, and fill the marked places of `pages`.

    A place is marked by <!-- table STUDY: TITLE --> and <!-- end -->; the table comes between, without its note.
    """
    found = read(folder)
    tables = {one.name: one.tables for one in found}
    texts = {page: filled(page, tables) for page in pages}  # written only if all succeed
    for page, text in texts.items():
        files.write_whole(page, text.encode())
    files.write_whole(out, "\n".join([_HEAD, _overview(found), *map(_section, found)]).encode())


def _read_one(folder: Path) -> StudyResults:
    text = files.read_bytes(folder / "tables.md").decode()
    parts = _TITLE.split(text)[1:]
    tables = {title: body.strip() for title, body in zip(parts[::2], parts[1::2])}
    return StudyResults(folder.name, json.loads(files.read_bytes(folder / "results.json")), tables)


def _overview(found: list[StudyResults]) -> str:
    rows = ["| | command | commit | minutes |", "|---|---|---|---:|"]
    for one in found:
        minutes = one.figures.get("duration_s", 0.0) / 60
        link = f"[{_title(one)}](#{one.name})"
        rows.append(f"| {link} | `{_short(one.command)}` | {one.figures.get('commit') or '-'} | {minutes:.1f} |")
    return "\n".join(rows)


def _section(one: StudyResults) -> str:
    tables = "\n\n".join(f"**{title}**\n\n{table}" for title, table in one.tables.items())
    return f'\n## {_title(one)} <a id="{one.name}"></a>\n\n`{_short(one.command)}`\n\n{tables}'


def _title(one: StudyResults) -> str:
    return one.figures.get("title") or one.name.capitalize()


def _short(command: str) -> str:
    """The command without local paths."""
    return re.sub(r" --out \S+", " --out DIR", re.sub(r" --data \S*/(\w+)", r" --data \1", command))


def filled(page: Path, tables: dict[str, dict[str, str]], *, others: bool = False) -> str:
    """The text of a page with its marked places filled.

    tables: as Markdown, by study and title
    others: leave places of studies that are not in `tables` unchanged
    """

    def fill(place: re.Match) -> str:
        start, study, title, end = place.groups()
        if others and study not in tables:
            return place[0]
        if title not in tables.get(study, {}):
            raise checks.InputError(f"{page} needs the table {title!r} of {study}, which is not among the results.")
        rows = [line for line in tables[study][title].splitlines() if line.startswith("|")]
        return "\n".join([start.rstrip("\n"), *rows, end])

    return _PLACE.sub(fill, files.read_bytes(page).decode())
