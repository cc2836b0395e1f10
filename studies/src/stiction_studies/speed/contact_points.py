"""Contact points: what a step costs while a prism rests on N corners, sliding and at rest."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.laws.learned import AugmentedLaw
from stiction.simulation.motion import to_motion
from stiction.simulation.rollout import rollout
from stiction_studies.engines.worlds import Engine, World
from stiction_studies.speed import bench_case
from stiction_studies.speed.bench_case import SETTING, Measured, Progress, Scale, StepperWorld, Who
from stiction_studies.timing import Run, least_times, pinned, timed, timed_steps

HEIGHT = 0.1  # of the prism [m]
MAX_STEPS, MIN_STEPS = 100, 10  # timed after each start; fewer for slow simulators
ROLLOUT = 800  # steps of a rollout in one call
SPHERES = {Who.MUJOCO: "MuJoCo, spheres", Who.DART: "DART, spheres", Who.BULLET: "Bullet, spheres"}
MESH = {Who.MUJOCO: "MuJoCo, mesh", Who.DART: "DART, mesh", Who.BULLET: "Bullet, mesh"}
Build = Callable[[Body], World]


@dataclass(frozen=True)
class _Entry:
    """A contestant on n points.

    run: times its steps from both starts [s], (2, steps)
    counts: contact points of these steps, or 1 where only contact is known
    """

    name: str
    n: int
    run: Run
    counts: NDArray[np.int64]
    steps: int


def run(size: Scale, seed: int, progress: Progress) -> Measured:
    """Time all contestants on all numbers of points that they can do in time, in turn."""
    engines, notes = bench_case.peers(Who.MUJOCO, Who.DART, Who.BULLET)
    builders = _builders(engines)
    names = [Who.STEPPED, Who.ROLLED, *builders]
    advance = progress("Contact points", len(size.points) * len(names) * (size.repeats + 1))
    with pinned():
        entries, worlds = _entries(builders, size, seed)
        runs = {f"{entry.name}/{entry.n}": _with_limit(entry.run, size.limit) for entry in entries}
        least = least_times(runs, size.repeats, advance)
    for world in worlds:
        world.close()
    figures: dict[str, dict[str, float]] = {name: {} for name in names}
    parts: dict[str, dict[str, Any]] = {name: {} for name in names}
    for entry in entries:
        part = _figures(least[f"{entry.name}/{entry.n}"], entry)
        if part:
            figures[entry.name][_quantity(entry.n)] = part["us"]
            parts[entry.name][str(entry.n)] = part
    notes = [
        "A prism on a face of N corners, mean of a start that slides and one at rest, each step a Python call, ours "
        "also as rollouts in one call; our law is untrained, of the shipped size.",
        "Spheres: one in each corner; steps in which some of them have left the ground do not count.",
        *_kept(parts),
        "–: would take too long here.",
        *notes,
    ]
    return Measured(
        "N contact points", "µs a step", [_quantity(n) for n in size.points], figures,
        {name: Who.STEPPED for name in builders}, notes, {"parts": parts},
    )  # fmt: skip


def _quantity(n: int) -> str:
    return f"N = {n:,}"


def starts() -> State:
    """Return starts flat on the ground: sliding and spinning, then at rest, (2,)."""
    still = np.zeros(3)
    return State(
        [0.0, 0.0, HEIGHT / 2],
        velocity=np.array([[1.0, 0.3, 0.0], still]),
        angular_velocity=np.array([[0.0, 0.0, 2.0], still]),
    )


def _builders(engines: dict[str, Engine]) -> dict[str, Build]:
    """Return the worlds of the peers: with every point kept, and with what each makes of a convex mesh."""
    found: dict[str, Build] = {}
    for name, engine in engines.items():
        for label, build in ((SPHERES[name], engine.spheres), (MESH[name], engine.mesh)):
            # Friction as in the initial guess of our untrained law.
            found[label] = lambda body, build=build: build(body, to_motion(body, starts()), 0.5, SETTING)
    return found


def _entries(builders: dict[str, Build], size: Scale, seed: int) -> tuple[list[_Entry], list[World]]:
    """Return all that is to be timed, and its worlds; a contestant that would be too slow on n points is left out."""
    entries, worlds = [], []
    growth = 64  # of the cost with four times the points, at most: a cubic solver
    last: dict[str, float] = {}  # time of a step on the points before [s]
    both = starts()
    for n in size.points:
        body = Body.prism(n, 0.2, HEIGHT, 1.0)
        law = AugmentedLaw.untrained(body, seed)
        entries.append(_Entry(Who.ROLLED, n, partial(_roll_both, law, both), np.ones((2, 1), dtype=np.int64), ROLLOUT))
        built: dict[str, World] = {Who.STEPPED: StepperWorld(law, both)}
        built |= {
            name: build(body)
            for name, build in builders.items()
            if last.get(name, 0.0) * growth * MIN_STEPS < size.limit
        }
        for name, world in built.items():
            steps, last[name] = _affordable(world, size)
            counts = np.array([world.counts(i, steps) for i in range(2)])
            entries.append(_Entry(name, n, partial(bench_case.step_all, world, 2, steps), counts, steps))
        worlds += built.values()
    return entries, worlds


def _roll_both(law: AugmentedLaw, both: State) -> NDArray[np.float64]:
    """Return the mean time of a step in a rollout from each start [s], (2, 1)."""
    return np.array([[timed(lambda i=i: rollout(law, both[i], ROLLOUT)) / ROLLOUT] for i in range(2)])


def _with_limit(run: Run, limit: float) -> Run:
    """Return the same run, which returns its last times again once it has taken more than the limit [s]."""
    spent, last = 0.0, np.empty(0)

    def turn() -> NDArray[np.float64]:
        nonlocal spent, last
        if spent <= limit:
            start = time.perf_counter()
            last = run()
            spent += time.perf_counter() - start
        return last

    return turn


def _affordable(world: World, size: Scale) -> tuple[int, float]:
    """Return how many steps can be timed within the limit, with warm-up and counting, and the time of one [s]."""
    world.put(0)
    cost = max(float(timed_steps(world.step, 3).min()), 1e-9)
    return int(np.clip(size.limit / (2 * (size.repeats + 2)) / cost, MIN_STEPS, MAX_STEPS)), cost


def _figures(times: NDArray[np.float64], entry: _Entry) -> dict[str, Any]:
    """Return means over the steps in contact, with spheres over those in which all of them touch.

    The mean of both starts [us], sliding and resting, points kept, and steps timed; empty if it never was in contact.
    """
    chosen = entry.counts >= (entry.n if entry.name in SPHERES.values() else 1)
    found = {
        f"{phase}_us": 1e6 * float(np.mean(t[c]))
        for phase, t, c in zip(("sliding", "resting"), times, chosen)
        if c.any()
    }
    if not found:
        return {}
    kept = float(np.median(entry.counts[chosen]))
    return {"us": float(np.mean(list(found.values()))), **found, "points_kept": kept, "steps": entry.steps}


def _kept(parts: dict[str, dict[str, Any]]) -> list[str]:
    """Return a sentence for each peer: how many of the points it keeps."""
    sentences = []
    for name, found in parts.items():
        if name in (Who.STEPPED, Who.ROLLED) or not found:
            continue
        counts = {int(n): part["points_kept"] for n, part in found.items()}
        if all(kept == n for n, kept in counts.items()):
            sentences.append(f"{name}: keeps every point.")
        else:
            sentences.append(f"{name}: keeps " + ", ".join(f"{kept:g} of {n}" for n, kept in counts.items()) + ".")
    return sentences
