"""Hands, humanoids, heaps and structures: how well each scene is solved, at what cost, and what moves that must not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stiction.basics.progress import bar
from stiction.viewer.pieces import pieces_of
from stiction_studies.page.motions_shown import Scene
from stiction_studies.page.section import Table
from stiction_studies.robots import scene_runs
from stiction_studies.robots.contact_scenes import ContactScene
from stiction_studies.robots.scene_catalogue import FAMILIES, HANDS, HUMANOIDS, QUADRUPEDS, Build
from stiction_studies.robots.scene_runs import SOLVED, Course
from stiction_studies.study import number, percent
from stiction_studies.timing import pinned

# Time steps of a run at most, and how often it is repeated for its times.
SCALES = {"quick": (300, 1), "usual": (None, 2), "full": (None, 5)}
_UNSOLVED = 0.001  # share of contact steps
_RATIOS = {QUADRUPEDS: 1.2, HUMANOIDS: 2.0, HANDS: 2.0, "heap-30": 3.0, "heap-100": 4.0}  # goals, over mj_step
_JERKY, _CREEP, _MOTION = 8.0, 1e-12, 0.1  # slowest step over the mean; [m]; relative
_ROUNDING = 1e-12  # energy [J], pull [N s] and friction beyond its limit (relative) that rounding may cause


Figures = dict[str, dict[str, Any]]  # of each scene


@dataclass(frozen=True)
class Measured:
    """All scenes: their figures by name, replays, and rows of rows.parquet."""

    figures: Figures
    replays: list[Scene]
    rows: list[dict[str, Any]]


def measure(scale: str, families: dict[str, dict[str, Build]] = FAMILIES) -> Measured:
    """Measure each scene."""
    steps, repeats = SCALES[scale]
    found = Measured({}, [], [])
    with bar("Scenes", sum(map(len, families.values()))) as progress:
        for family, scenes in families.items():
            for name, build in scenes.items():
                progress.rename(f"Scene {name}")
                found.figures[name] = {"family": family} | _measure(build(), steps, repeats, found)
                progress.advance()
    return found


def _measure(scene: ContactScene, steps: int | None, repeats: int, found: Measured) -> dict[str, Any]:
    """Return the figures of one scene, None for what does not apply; append its replay and rows."""
    with pinned():
        timed = scene_runs.timed(scene, steps, repeats)
    runs = {"stiction": scene_runs.followed(scene, steps), "MuJoCo alone": scene_runs.alone(scene, steps)}
    ours, alone = runs.values()
    figures = scene_runs.cost(timed) | scene_runs.safety(ours)
    figures |= {"mujoco_creep_m": scene_runs.known(alone.creep), "mujoco_depth_m": alone.depth}
    figures["rest_creep_m"] = figures["creep_m"] if scene.rests else None
    if steps is None:  # else its end is not that of the scene
        figures |= _outcome(scene, ours, alone)
    motions = {name: each.motion for name, each in runs.items() if each.motion}
    found.replays.append(Scene(scene.name, pieces_of(scene.model), motions))
    for name, times in {"MuJoCo alone": timed.alone, "stiction": timed.ours}.items():
        found.rows.append(
            {"robot": scene.name, "run": name, "seed": 0, "step": np.arange(len(times.points))}
            | {"seconds": times.seconds, "points": times.points}
        )
    return figures


def _outcome(scene: ContactScene, ours: Course, alone: Course) -> dict[str, Any]:
    """Return what a scene shows besides, where it is known."""
    known = scene.outcome
    if known is None:
        return {}
    values = [known.measure(each.model, each.data) for each in (ours, alone)]
    errors = [abs(value / known.wanted - 1.0) for value in values]
    names = ("reached", "mujoco_reached", "error", "mujoco_error")
    return {"outcome": known.name, "wanted": known.wanted} | dict(zip(names, values + errors))


# Tables.

_TIMES = ("mujoco_us", "stiction_us", "times_mujoco", "mujoco_slowest_over_mean", "slowest_over_mean")


def tables(found: Figures) -> list[Table]:
    """Return the tables of the scenes."""
    return [_cost_table(found), _safety_table(found), _outcome_table(found)]


def _cost_table(found: Figures) -> Table:
    rows = [
        [
            name,
            f"{one['points_mean']:.0f}",
            percent(one["unsolved_share"]),
            percent(one["residual_above_share"]),
            f"{one['residual_max']:.0e}",
            *(_or_none(one[key]) for key in _TIMES),
        ]
        for name, one in found.items()
    ]
    columns = [
        "",
        "Points",
        "Unsolved",
        f"Residual > {SOLVED:.0e}",
        "Greatest residual",
        "mj_step [µs]",
        "stiction [µs]",
    ]
    columns += ["Ratio", "mj_step, slowest / mean", "stiction, slowest / mean"]
    note = (
        "Time steps in which something presses. Unsolved: counted by the solver. Residual: computed from MuJoCo's "
        "contacts and velocities after the step, as a share of the greatest velocity of a contact point without "
        "contact. Times: of the processor, both engines in turn, each in its own motion."
    )
    return Table("Scenes: solved, and at what cost", columns, rows, note)


def _safety_table(found: Figures) -> Table:
    rows = [
        [
            name,
            *(_or_none(one[key]) for key in ("creep_m", "mujoco_creep_m", "energy_J", "pull_Ns", "excess_friction")),
            *(number(1e3 * one[key]) for key in ("depth_m", "mujoco_depth_m")),
        ]
        for name, one in found.items()
    ]
    columns = ["", "stiction: creep [m]", "MuJoCo: creep [m]", "Energy by contact [J]", "Pull [N s]", "Beyond the cone"]
    columns += ["stiction: deepest [mm]", "MuJoCo: deepest [mm]"]
    note = (
        "Creep: greatest distance that a body which is held, is stacked or stands moves relative to what holds it, "
        "once it has settled; feet of a robot that squats drift by the error with which its joints are integrated. "
        "Energy: greatest gain of mechanical energy by all contacts of a step, work of the belt excepted. Pull: "
        "greatest negative normal impulse. Beyond the cone: greatest friction over its limit, less one."
    )
    for name, one in found.items():
        note += f" {name} ended early: {one['failed']}" if one["failed"] else ""
    return Table("Scenes: what must not happen", columns, rows, note)


def _outcome_table(found: Figures) -> Table:
    rows = [
        [name, one["outcome"], *(number(one[key]) for key in ("wanted", "reached", "mujoco_reached"))]
        for name, one in found.items()
        if "outcome" in one
    ]
    note = "At the end of the run. The belt's box: v²/(2 µ g) of a sliding body."
    return Table("Scenes: motion that must occur", ["", "", "Expected", "stiction", "MuJoCo"], rows, note)


def _or_none(value: float | None) -> str:
    return "-" if value is None else number(value)


# Goals.


@dataclass(frozen=True)
class Goal:
    """A goal, what was found, and whether it is met."""

    goal: str
    found: str
    met: bool

    def row(self) -> list[str]:
        """Return a row of a table."""
        return [self.goal, self.found, "yes" if self.met else "no"]


def goals(found: Figures) -> list[Goal]:
    """Return the goals that the scenes in `found` can decide."""
    result = [
        _worst(found, "unsolved_share", f"unsolved steps <= {percent(_UNSOLVED)}", _UNSOLVED, percent),
        _worst(
            found, "residual_above_share", f"residual > {SOLVED:.0e} in <= {percent(_UNSOLVED)}", _UNSOLVED, percent
        ),
    ]
    for group, allowed in _RATIOS.items():
        chosen = {name: one for name, one in found.items() if group in (name, one["family"])}
        result.append(
            _worst(chosen, "times_mujoco", f"{group}: contact step <= {allowed:g} x mj_step", allowed, _digits)
        )
    result += [
        _worst(found, "slowest_over_mean", f"slowest step <= {_JERKY:g} x the mean", _JERKY, _digits),
        _worst(
            found, "rest_creep_m", f"what is held, stacked or stands at rest creeps <= {_CREEP:g} m", _CREEP, number
        ),
        _worst(found, "error", f"motion that must occur is right to {percent(_MOTION)}", _MOTION, percent),
        _worst(found, "energy_J", "contacts add no energy [J]", _ROUNDING, number),
        _worst(found, "pull_Ns", "no contact pulls [N s]", _ROUNDING, number),
        _worst(found, "excess_friction", "friction within its cone (relative)", _ROUNDING, number),
    ]
    return [one for one in result if one]


def _digits(value: float) -> str:
    return f"{value:.2f}"


def _worst(found: Figures, key: str, goal: str, allowed: float, text: Callable[[float], str]) -> Goal | None:
    """Return whether the greatest figure of all scenes is allowed; None if there is none."""
    values = {name: one[key] for name, one in found.items() if one.get(key) is not None}
    if not values:
        return None
    name = max(values, key=values.__getitem__)
    return Goal(goal, f"{text(values[name])} ({name})", values[name] <= allowed)
