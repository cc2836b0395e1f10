"""What every study leaves behind: tables on the terminal, files of results, and its part of the page."""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Printed
from rich.text import Text

from stiction.basics import checks, files
from stiction.basics.environment import commit, versions
from stiction.basics.progress import status
from stiction_studies.page.section import Section, Table

SCALES = ("quick", "usual", "full")


class Study:
    """A study under way: checks what was asked for, keeps the time, and writes everything in the end."""

    def __init__(
        self, out: Path, name: str, scale: str, seed: int, *, data: Path | None = None, by: str | None = None
    ) -> None:
        """by: the study that runs it, if that has another name"""
        self.out, self.name, self.data, self.by = out, name, data, by or name
        self.scale = checks.choice("scale", scale, SCALES)
        self.seed = checks.count("seed", seed, 0)
        files.make_folder(self.folder)  # one that cannot be made is better known now than in the end
        self._began = time.perf_counter()

    @property
    def folder(self) -> Path:
        """Where the raw results go."""
        return self.out / self.name

    @property
    def command(self) -> str:
        """What makes this part of the page again."""
        flag = {"quick": " --quick", "usual": "", "full": " --full"}[self.scale]
        seed = f" --seed {self.seed}" if self.seed else ""
        data = "" if self.data is None else f" --data {self.data}"
        return f"stiction reproduce {self.by}{flag}{data}{seed} --out {self.out}"

    def finish(
        self, section: Section, content: dict[str, Any], rows: Mapping[str, NDArray | list], *packages: str
    ) -> None:
        """Print the tables, write results.json, rows.parquet and tables.md, and publish the section.

        content: figures for results.json
        rows: columns of equal length for rows.parquet
        packages: those whose versions matter
        """
        from stiction_studies.page.page import publish

        duration = round(time.perf_counter() - self._began, 1)
        head = {
            "study": self.name,
            "title": section.title,
            "command": self.command,
            "commit": commit(),
            "parameters": {"scale": self.scale, "seed": self.seed},
            "versions": versions("numpy", *packages),
            "duration_s": duration,
        }
        files.write_json(self.folder / "results.json", head | content)
        write_rows(self.folder / "rows.parquet", rows)
        files.write_whole(self.folder / "tables.md", markdown(section.tables).encode())
        print_tables(section.tables)
        with status("Writing the page"):
            page = publish(self.out, section)
        wrote = ", ".join(str(self.folder / name) for name in ("results.json", "rows.parquet", "tables.md"))
        print(f"\n{duration} s; wrote {wrote}, {page}")


def write_rows(path: Path, columns: Mapping[str, NDArray | list]) -> None:
    """Write columns of equal length as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with files.whole_file(path) as temporary:
        pq.write_table(pa.table({name: pa.array(column) for name, column in columns.items()}), temporary)


def joined(parts: list[dict[str, Any]]) -> dict[str, NDArray]:
    """Columns one below the other: each part has the same names, and arrays of one length or single values."""
    columns = {}
    for name in parts[0]:
        length = [max(np.size(value) for value in part.values()) for part in parts]
        columns[name] = np.concatenate(
            [np.broadcast_to(np.asarray(part[name]), (n,)) for part, n in zip(parts, length, strict=True)]
        )
    return columns


def print_tables(tables: list[Table]) -> None:
    """Print the tables of a section on the terminal."""
    # A file or a pipe has no width of its own; rich would take 80 columns and break the lines.
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    for table in tables:
        printed = Printed(title=Text(f"\n{table.title}", "bold"), title_justify="left", box=box.SIMPLE_HEAD)
        for k, column in enumerate(table.columns):
            printed.add_column(escape(column), justify="right" if k else "left")
        for row in table.rows:
            printed.add_row(*(escape(cell) for cell in row))
        console.print(printed)
        if table.note:
            console.print(Text(table.note, "dim"))


def markdown(tables: list[Table]) -> str:
    """The tables as Markdown, for documents."""
    parts = []
    for one in tables:
        lines = ["| " + " | ".join(row) + " |" for row in [one.columns, *one.rows]]
        lines.insert(1, "|---" + "|---:" * (len(one.columns) - 1) + "|")
        parts.append("\n".join([f"**{one.title}**", "", *lines, *(["", one.note] if one.note else [])]))
    return "\n\n".join(parts) + "\n"


# Results that are kept: what was measured once is not measured again.


def kept(folder: Path, what: Any, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The figures of `what` from the folder, or measured and put there.

    what: all that decides the figures, as JSON has it
    """
    name = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]
    path = folder / f"{name}.json"
    if path.exists():
        return json.loads(path.read_text())
    found = measure()
    files.write_json(path, found)
    return found


# How numbers are written in the tables of studies.


def number(value: float) -> str:
    """Three digits that count, without a long row of zeros."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.1e}".replace("e-0", "e-")


def percent(share: float) -> str:
    """A share in percent, three digits that count."""
    return f"{number(100 * share)} %"
