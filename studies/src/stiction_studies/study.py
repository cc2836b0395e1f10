"""The output of every study: tables on the terminal, files of results, and a section of the page."""

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
_PACKAGES = ("numpy", "scipy", "torch", "scikit-learn", "mujoco-core", "pybullet", "dartpy")
_PACKAGES += ("gymnasium", "dm_control", "robosuite", "gymnasium-robotics", "gym-hil")  # whose versions are recorded


class Study:
    """A study in progress: validates its parameters, measures its duration, and writes all results at the end."""

    def __init__(
        self, out: Path, name: str, scale: str, seed: int, *, data: Path | None = None, by: str | None = None
    ) -> None:
        """by: name of the study that runs it, if it is another one"""
        self.out, self.name, self.data, self.by = out, name, data, by or name
        self.scale = checks.choice("scale", scale, SCALES)
        self.seed = checks.count("seed", seed, 0)
        files.make_folder(self.folder)  # fail now rather than at the end
        self._started = time.perf_counter()

    @property
    def folder(self) -> Path:
        """Folder of the results."""
        return self.out / self.name

    @property
    def command(self) -> str:
        """The command that reproduces this section of the page."""
        flag = {"quick": " --quick", "usual": "", "full": " --full"}[self.scale]
        seed = f" --seed {self.seed}" if self.seed else ""
        data = "" if self.data is None else f" --data {self.data}"
        return f"stiction reproduce {self.by}{flag}{data}{seed} --out {self.out}"

    def finish(self, section: Section, content: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        """Print the tables, write results.json, rows.parquet and tables.md, and publish the section.

        content: figures for results.json
        rows: parts of rows.parquet, see `joined`
        """
        from stiction_studies.page.page import publish

        duration = round(time.perf_counter() - self._started, 1)
        head = {
            "study": self.name,
            "title": section.title,
            "command": self.command,
            "commit": commit(),
            "parameters": {"scale": self.scale, "seed": self.seed},
            "versions": versions(*_PACKAGES),
            "duration_s": duration,
        }
        files.write_json(self.folder / "results.json", head | content)
        _write_rows(self.folder / "rows.parquet", joined(rows))
        files.write_whole(self.folder / "tables.md", markdown(section.tables).encode())
        print_tables(section.tables)
        with status("Writing the page"):
            page = publish(self.out, section)
        wrote = ", ".join(str(self.folder / name) for name in ("results.json", "rows.parquet", "tables.md"))
        print(f"\n{duration} s; wrote {wrote}, {page}")


def _write_rows(path: Path, columns: Mapping[str, NDArray]) -> None:
    """Write columns of equal length as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with files.whole_file(path) as temporary:
        pq.write_table(pa.table({name: pa.array(column) for name, column in columns.items()}), temporary)


def joined(parts: list[dict[str, Any]]) -> dict[str, NDArray]:
    """Concatenate columns: all parts have the same names, with arrays of one length or single values."""
    columns = {}
    for name in parts[0]:
        length = [max(np.size(value) for value in part.values()) for part in parts]
        columns[name] = np.concatenate(
            [np.broadcast_to(np.asarray(part[name]), (n,)) for part, n in zip(parts, length, strict=True)]
        )
    return columns


def print_tables(tables: list[Table]) -> None:
    """Print the tables of a section on the terminal."""
    # For a file or a pipe rich would assume 80 columns and break the lines.
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    for table in tables:
        printed = Printed(title=Text(f"\n{table.title}", "bold"), title_justify="left", box=box.SIMPLE_HEAD)
        for k, column in enumerate(table.columns):
            sentences = any(len(row[k]) > 40 for row in table.rows)
            printed.add_column(escape(column), justify="left" if k == 0 or sentences else "right")
        for row in table.rows:
            printed.add_row(*(escape(cell) for cell in row))
        console.print(printed)
        if table.note:
            console.print(Text(table.note, "dim"))


def markdown(tables: list[Table]) -> str:
    """The tables as Markdown."""
    parts = []
    for one in tables:
        lines = ["| " + " | ".join(row) + " |" for row in [one.columns, *one.rows]]
        lines.insert(1, "|---" + "|---:" * (len(one.columns) - 1) + "|")
        parts.append("\n".join([f"**{one.title}**", "", *lines, *(["", one.note] if one.note else [])]))
    return "\n\n".join(parts) + "\n"


def kept(folder: Path, key: Any, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Figures cached in the folder, or measured and stored there.

    key: everything on which the figures depend, ready for JSON
    """
    name = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
    path = folder / f"{name}.json"
    if path.exists():
        return json.loads(path.read_text())
    found = measure()
    files.write_json(path, found)
    return found


def number(value: float) -> str:
    """A number for a table, with three significant digits."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.1e}".replace("e-0", "e-")


def percent(share: float) -> str:
    """A share in percent, with three significant digits."""
    return f"{number(100 * share)} %"


def bootstrap_interval(
    values: NDArray[np.float64], seed: int, statistic: Callable[..., NDArray[np.float64]] = np.mean
) -> tuple[float, float]:
    """95 % interval of the mean of `values` (n,), or of another statistic: percentiles over seeded resamples."""
    rng = np.random.default_rng(seed)
    found = statistic(values[rng.integers(len(values), size=(2000, len(values)))], axis=1)
    low, high = np.percentile(found, (2.5, 97.5))
    return float(low), float(high)
