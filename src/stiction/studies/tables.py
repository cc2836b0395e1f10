"""Tables that studies print, from the same figures that go to their JSON files."""

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text


def print_agreement(cases: Sequence[dict[str, Any]], reasons: Mapping[str, str]) -> None:
    """Print the figures of the study `agreement`; `reasons` explains the names of its exceptions."""
    # A file or a pipe has no width of its own; rich would take 80 columns and break the lines.
    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    console.print(_one_step_table(cases))
    console.print(_notes(cases, reasons))
    console.print(_free_run_table(cases))


def _one_step_table(cases: Sequence[dict[str, Any]]) -> Table:
    limits = {step["patch"]: step["limit_m_per_s_or_rad_per_s"] for case in cases for step in case["one_step"]}
    table = _table(
        "One step of ours from each contact state in DART: velocity error [m/s, rad/s]",
        "within: " + ", ".join(f"{limit:.0e} for a {patch}" for patch, limit in limits.items()),
    )
    table.add_column("case and patch", no_wrap=True)
    for header in ("states", "median", "99 %", "max", "within"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("exceptions")
    for case in cases:
        table.add_row(case["name"])
        for step in case["one_step"]:
            error = step["velocity_error_m_per_s_or_rad_per_s"]
            table.add_row(
                f"  {step['patch']}",
                f"{step['states']:,}",
                *(f"{error[name]:.1e}" for name in ("percent_50", "percent_99", "max")),
                _percent(step["share_within"]),
                ", ".join(_exception(name, count) for name, count in step["exceptions"].items() if count),
            )
        table.add_section()
    return table


def _exception(name: str, count: int) -> str:
    return f"[bold red]{count:,} {name}[/]" if name == "unexplained" else f"{count:,} {name}"


def _notes(cases: Sequence[dict[str, Any]], reasons: Mapping[str, str]) -> Table:
    """What the names of the exceptions that have occurred mean, and whether any is left without a reason."""
    steps = [step for case in cases for step in case["one_step"]]
    notes = Table.grid(padding=(0, 2))
    for name, text in reasons.items():
        if any(step["exceptions"][name] for step in steps):
            notes.add_row(f" [dim]{name}[/]", f"[dim]{text}[/]")
    left = sum(step["exceptions"]["unexplained"] for step in steps)
    notes.add_row(" unexplained", f"[bold red]{left:,}[/]" if left else "none")
    return notes


def _free_run_table(cases: Sequence[dict[str, Any]]) -> Table:
    limit = cases[0]["free_run"]["limit_m"]
    table = _table("Whole throws from the same start: error of the final position [m]", f"within: {limit:.0e}")
    table.add_column("case", no_wrap=True)
    for header in ("throws", "median", "90 %", "95 %", "max", "within"):
        table.add_column(header, justify="right", no_wrap=True)
    for case in cases:
        free = case["free_run"]
        error = free["position_error_m"]
        table.add_row(
            case["name"],
            f"{free['throws']:,}",
            *(f"{error[name]:.1e}" for name in ("percent_50", "percent_90", "percent_95", "max")),
            _percent(free["share_within"]),
        )
    return table


def _table(title: str, subtitle: str) -> Table:
    text = Text.assemble((f"\n{title}\n", "bold"), subtitle)  # not a str, in which rich would take [m] for markup
    return Table(title=text, title_justify="left", title_style="", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))


def _percent(share: float) -> str:
    """A share in percent, rounded down: 100 % means all."""
    return f"{math.floor(share * 1e4) / 1e2:.2f} %"
