"""One line for each scene of contact: its cost beside `mj_step`, and how well it is solved.

python -m stiction_studies.robots.scene_bench heap-30 gripper --steps 500
"""

import argparse

from stiction_studies.robots import scene_runs
from stiction_studies.robots.scene_catalogue import FAMILIES, SCENES, scene
from stiction_studies.timing import pinned

_COLUMNS = {
    "points": ("points_mean", ".1f"),
    "most": ("points_max", "d"),
    "unsolved": ("unsolved_share", ".2%"),
    ">1e-8": ("residual_above_share", ".2%"),
    "residual": ("residual_max", ".0e"),
    "mj us": ("mujoco_us", ".1f"),
    "our us": ("stiction_us", ".1f"),
    "ratio": ("times_mujoco", ".2f"),
    "slow/mean": ("slowest_over_mean", ".1f"),
    "mj slow": ("mujoco_slowest_over_mean", ".1f"),
    "newton": ("newton_steps", ".2f"),
    "creep": ("creep_m", ".0e"),
    "energy": ("energy_J", ".0e"),
    "pull": ("pull_Ns", ".0e"),
    "cone": ("excess_friction", ".0e"),
    "depth": ("depth_m", ".0e"),
}


def row(name: str, steps: int | None, repeats: int, check: bool) -> list[str]:
    """Return the figures of a scene, as text."""
    one = scene(name)
    with pinned():
        found = scene_runs.cost(scene_runs.timed(one, steps, repeats))
    if check:
        found |= scene_runs.safety(scene_runs.followed(one, steps))
    cells = [(found.get(key), form) for key, form in _COLUMNS.values()]
    return [name, *("-" if value is None else format(value, form) for value, form in cells), found.get("failed", "")]


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
    print(_line(["scene", *_COLUMNS, ""]))
    for name in names:
        print(_line(row(name, given.steps, given.repeats, not given.no_check)), flush=True)


def _line(cells: list[str]) -> str:
    name, *figures = cells
    return name.ljust(22) + "".join(f" {cell:>{max(7, len(column))}}" for column, cell in zip([*_COLUMNS, ""], figures))


if __name__ == "__main__":
    main()
