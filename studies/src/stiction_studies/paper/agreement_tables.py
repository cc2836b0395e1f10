"""Tables of the study `agreement`, from the same figures that go to its JSON file."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from stiction_studies.page.section import Table


def agreement_tables(cases: Sequence[dict[str, Any]], reasons: Mapping[str, str]) -> list[Table]:
    """One step from DART's contact states, and whole throws; `reasons` explains the names of the exceptions."""
    return [_one_step_table(cases, reasons), _free_run_table(cases)]


def _one_step_table(cases: Sequence[dict[str, Any]], reasons: Mapping[str, str]) -> Table:
    rows = []
    for case in cases:
        for step in case["one_step"]:
            error = step["velocity_error_m_per_s_or_rad_per_s"]
            found = [f"{count:,} {name}" for name, count in step["exceptions"].items() if count]
            rows.append(
                [
                    f"{case['name']}: {step['patch']}",
                    f"{step['states']:,}",
                    *(f"{error[name]:.1e}" for name in ("percent_50", "percent_99", "max")),
                    _percent(step["share_within"]),
                    ", ".join(found),
                ]
            )
    columns = ["Case and patch", "States", "Median", "99 %", "Max", "Within", "Exceptions"]
    title = "One step of ours from each contact state in DART: velocity error [m/s, rad/s]"
    return Table(title, columns, rows, _note(cases, reasons))


def _note(cases: Sequence[dict[str, Any]], reasons: Mapping[str, str]) -> str:
    """The limits, what the names of the exceptions that have occurred mean, and whether any is without a reason."""
    steps = [step for case in cases for step in case["one_step"]]
    limits = {step["patch"]: step["limit_m_per_s_or_rad_per_s"] for step in steps}
    parts = ["Within: " + ", ".join(f"{limit:.0e} for a {patch}" for patch, limit in limits.items()) + "."]
    seen = [name for name in reasons if any(step["exceptions"][name] for step in steps)]
    parts += [f"{name.capitalize()}: {reasons[name]}" for name in seen]
    left = sum(step["exceptions"]["unexplained"] for step in steps)
    return " ".join([*parts, f"Unexplained: {left:,}." if left else "Unexplained: none."])


def _free_run_table(cases: Sequence[dict[str, Any]]) -> Table:
    limit = cases[0]["free_run"]["limit_m"]
    rows = []
    for case in cases:
        free = case["free_run"]
        error = free["position_error_m"]
        figures = [f"{error[name]:.1e}" for name in ("percent_50", "percent_90", "percent_95", "max")]
        rows.append([case["name"], f"{free['throws']:,}", *figures, _percent(free["share_within"])])
    columns = ["Case", "Throws", "Median", "90 %", "95 %", "Max", "Within"]
    return Table(
        "Whole throws from the same start: error of the final position [m]", columns, rows, f"Within: {limit:.0e}."
    )


def _percent(share: float) -> str:
    """A share in percent, rounded down: 100 % means all."""
    return f"{math.floor(share * 1e4) / 1e2:.2f} %"
