"""Results of the fuzz tests as a table, for the terminal and for a page."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fuzz.counts import Counts
from fuzz.kinds import KINDS
from stiction.basics import files
from stiction_studies import results

TITLE = "What was tried"
_HEAD = ("", "tried", "refused", "accepted", "failures", "greatest violation", "slowest [s]", "memory [MB]")


def rows_of(found: dict[str, Counts]) -> list[tuple[str, ...]]:
    """The table's rows, without its head."""
    rows = []
    for name, counts in found.items():
        kind = KINDS[name]
        violation = "-" if counts.violation is None else f"{counts.violation:.1e}"
        numbers = [counts.done, counts.refused, counts.accepted]
        times = f"{counts.slowest:.2f}", f"{counts.memory / 1e6:.0f}"
        rows.append((kind.what, *(f"{kind.size * n:,}" for n in numbers), str(counts.failed), violation, *times))
    return rows


def show(found: dict[str, Counts]) -> None:
    """Print the table, and the failures below it."""
    console = Console(width=140)
    table = Table(*_HEAD[:1], title=TITLE)
    for name in _HEAD[1:]:
        table.add_column(escape(name), justify="right")
    for row in rows_of(found):
        table.add_row(*row)
    console.print(table)
    for name, counts in found.items():
        for failure in counts.failures:
            console.print(f"{name}, {failure}", markup=False, highlight=False)


def write(found: dict[str, Counts], page: Path) -> None:
    """Fill in the table that `page` marks by <!-- table fuzz: What was tried -->."""
    lines = [_HEAD, ("---", *["---:"] * (len(_HEAD) - 1)), *rows_of(found)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    files.write_whole(page, results.filled(page, {"fuzz": {TITLE: table}}, others=True).encode())
