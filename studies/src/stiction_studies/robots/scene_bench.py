"""One line for each scene of contact: its cost beside `mj_step`, and how well it is solved.

python -m stiction_studies.robots.scene_bench heap-30 gripper --steps 500
"""

import argparse

import numpy as np

from stiction_studies.robots import scene_runs
from stiction_studies.robots.scene_catalogue import FAMILIES, SCENES, scene
from stiction_studies.timing import pinned

_COLUMNS = (
    "scene", "steps", "points", "most", "unsolved", "> 1e-8", "residual", "mj us", "our us", "ratio", "slow/mean", "mj slow",
    "newton", "creep", "energy", "pull", "cone", "depth",
)  # fmt: skip
_WIDTHS = (22, 6, 7, 5, 8, 7, 8, 8, 8, 7, 9, 8, 7, 8, 8, 8, 8, 8)


def row(name: str, steps: int | None, repeats: int, check: bool) -> list[str]:
    """Return the figures of a scene, as text."""
    one = scene(name)
    with pinned():
        timed = scene_runs.timed(one, steps, repeats)
    touched = max(1, timed.contact_steps)
    points = timed.ours.points[timed.ours.points > 0]
    newton = timed.newton_steps / touched
    cells = [f"{timed.ours.mean() * 1e6:.1f}", f"{timed.ratio:.2f}", f"{timed.ours.slowest():.1f}"]
    cells = [f"{timed.alone.mean() * 1e6:.1f}", *cells, f"{timed.alone.slowest():.1f}", f"{newton:.2f}"]
    residual, more, last = "-", "-", ["-"] * 5
    if check:
        course = scene_runs.followed(one, steps)
        found = course.violations
        assert found is not None
        values = np.array(found.residuals or [np.nan])
        residual, more = f"{values.max():.1e}", f"{100 * (values > scene_runs.SOLVED).mean():.2f}%"
        last = [f"{x:.1e}" for x in (course.creep, found.energy, found.pull, found.excess, found.depth)]
    mean = f"{points.mean():.1f}" if len(points) else "0"
    share = f"{100 * timed.unsolved / touched:.2f}%"
    head = [name, str(len(timed.ours.points)), mean, str(points.max(initial=0)), share]
    return [*head, more, residual, *cells, *last, timed.failed]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    choices = [*SCENES, *FAMILIES, "all"]
    parser.add_argument("scenes", nargs="*", default=["all"], metavar="SCENE", help=f"of {', '.join(choices)}")
    parser.add_argument("--steps", type=int, help="time steps; by default the whole run")
    parser.add_argument("--repeats", type=int, default=1, help="the least time of each step counts")
    parser.add_argument("--no-check", action="store_true", help="only times")
    given = parser.parse_args()
    names = [name for one in given.scenes for name in (SCENES if one == "all" else FAMILIES.get(one, [one]))]
    if unknown := [name for name in names if name not in SCENES]:
        parser.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(choices)}")
    print(_line(_COLUMNS))
    for name in names:
        print(_line(row(name, given.steps, given.repeats, not given.no_check)), flush=True)


def _line(cells: object) -> str:
    first, *rest = cells  # type: ignore[misc]
    return first.ljust(_WIDTHS[0]) + " ".join(cell.rjust(width) for cell, width in zip(rest, _WIDTHS[1:])) + (
        f"  {rest[-1]}" if len(rest) >= len(_WIDTHS) else ""
    )


if __name__ == "__main__":
    main()
