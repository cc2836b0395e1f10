"""How the cost of a step grows with the number of points: separate stacks and walls of boxes, at rest and moving."""

import dataclasses
from typing import Any

import numpy as np

from stiction.basics.progress import bar
from stiction_studies.page.section import Table
from stiction_studies.robots import scene_runs
from stiction_studies.robots.contact_families import Goal
from stiction_studies.robots.contact_scenes import ContactScene
from stiction_studies.robots.pile_scenes import grid, wall
from stiction_studies.study import percent
from stiction_studies.timing import pinned

_STACKS, _WALLS = "separate stacks of two boxes", "wall of boxes"
_SIZES = {"quick": ((1, 4, 8), (2, 3, 4)), "usual": ((1, 8, 32, 128), (2, 4, 8, 16))}  # stacks; layers of the wall
_STEPS = 10
_SHOVE = 0.1  # [m/s, rad/s]
_LINEAR = 1.15  # greatest exponent


def measure(scale: str, seed: int) -> list[dict[str, Any]]:
    """Return the figures of each size: of scenes at rest, whose first step finds the load, and moving."""
    size = "quick" if scale == "quick" else "usual"
    stacks, layers = _SIZES[size]
    scenes = [(_STACKS, grid(count, 2)) for count in stacks] + [(_WALLS, wall(count)) for count in layers]
    found = []
    with bar("Growth of cost", 2 * len(scenes)) as progress:
        for name, scene in scenes:
            for state, one in (("at rest", scene), ("moving", _moving(scene, seed))):
                found.append({"scene": f"{name}, {state}"} | _figures(one, _STEPS))
                progress.advance()
    return sorted(found, key=lambda one: (one["scene"], one["points"]))


def _moving(scene: ContactScene, seed: int) -> ContactScene:
    """Return the scene with all bodies shoved in random directions."""
    rng = np.random.default_rng([seed, 29])
    return dataclasses.replace(scene, qvel=rng.uniform(-_SHOVE, _SHOVE, scene.model.nv))


def _figures(scene: ContactScene, steps: int) -> dict[str, Any]:
    with pinned():
        timed = scene_runs.timed(scene, steps)
    return {
        "points": float(timed.ours.points.mean()),
        "stiction_us": 1e6 * float(timed.ours.seconds[1:].mean()),
        "mujoco_us": 1e6 * float(timed.alone.seconds[1:].mean()),
        "unsolved_share": timed.unsolved / steps,
    }


def exponents(found: list[dict[str, Any]]) -> dict[str, float]:
    """Return the exponent with which the time grows with the points, of each sort of scene, from its larger half."""
    result = {}
    for name in dict.fromkeys(one["scene"] for one in found):
        points, times = np.log([(one["points"], one["stiction_us"]) for one in found if one["scene"] == name]).T
        half = len(points) // 2
        result[name] = float((times[-1] - times[half - 1]) / (points[-1] - points[half - 1]))
    return result


def table(found: list[dict[str, Any]]) -> Table:
    """Return the figures as a table."""
    rows = [
        [
            one["scene"],
            f"{one['points']:.0f}",
            f"{one['mujoco_us']:.0f}",
            f"{one['stiction_us']:.0f}",
            f"{one['stiction_us'] / one['mujoco_us']:.2f}",
            f"{one['stiction_us'] / one['points']:.2f}",
            percent(one["unsolved_share"]),
        ]
        for one in found
    ]
    columns = ["", "Points", "mj_step [µs]", "stiction [µs]", "Ratio", "stiction, a point [µs]", "Unsolved"]
    grown = "; ".join(f"{name}: {value:.2f}" for name, value in exponents(found).items())
    note = f"Mean of the steps after the first. Exponent of the growth with points, over the larger sizes: {grown}."
    return Table("Cost of a step by the number of points", columns, rows, note)


def goal(found: list[dict[str, Any]]) -> Goal:
    """Return whether the cost grows linearly."""
    grown = exponents(found)
    name = max(grown, key=grown.__getitem__)
    return Goal(f"cost grows as points^{_LINEAR:g} or less", f"{grown[name]:.2f} ({name})", grown[name] <= _LINEAR)
