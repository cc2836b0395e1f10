"""Contact points: what a step costs while a prism lies on N corners, sliding and at rest."""

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
from stiction.simulation.rollout import rollout
from stiction_studies.engines.stage import Stage
from stiction_studies.speed import common
from stiction_studies.speed.common import BULLET, DART, MUJOCO, ROLLED, STEPPED, Begin, Scale
from stiction_studies.speed.measured import Measured
from stiction_studies.speed.ours import StepperStage
from stiction_studies.timing import Run, least_times, pinned, timed, timed_steps

RADIUS, HEIGHT, MASS = 0.2, 0.1, 1.0  # of the prism [m, kg]
STEPS, FEWEST = 100, 10  # timed after each start; of slow simulators fewer
ROLLOUT = 800  # steps of a rollout in one call
FRICTION = 0.5  # of the peers, as in the guess of our untrained law
_GROWTH = 64  # times that four times the points may cost, at worst: a cubic solver
SPHERES = {MUJOCO: "MuJoCo, spheres", DART: "DART, spheres", BULLET: "Bullet, spheres"}
MESH = {MUJOCO: "MuJoCo, mesh", DART: "DART, mesh", BULLET: "Bullet, mesh"}
Build = Callable[[Body], Stage]


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


def run(size: Scale, seed: int, begin: Begin) -> Measured:
    """Time all contestants on all numbers of points that they can do in time, in turn."""
    peers, notes = common.installed()
    builders = _builders(peers)
    names = [STEPPED, ROLLED, *builders]
    advance = begin("Contact points", len(size.points) * len(names) * (size.repeats + 1))
    with pinned():
        entries, stages = _entries(builders, size, seed)
        runs = {f"{entry.name}/{entry.n}": _thrifty(entry.run, size.limit) for entry in entries}
        least = least_times(runs, size.repeats, advance)
    for stage in stages:
        stage.close()
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
        "points", "N contact points", "µs a step", [_quantity(n) for n in size.points], figures,
        {name: STEPPED for name in builders}, notes, {"parts": parts},
    )  # fmt: skip


def _quantity(n: int) -> str:
    return f"N = {n:,}"


def starts() -> State:
    """Flat on the ground: sliding and spinning, then at rest, (2,)."""
    still = np.zeros(3)
    return State(
        [0.0, 0.0, HEIGHT / 2],
        velocity=np.array([[1.0, 0.3, 0.0], still]),
        angular_velocity=np.array([[0.0, 0.0, 2.0], still]),
    )


def _builders(peers: dict[str, Any]) -> dict[str, Build]:
    """Worlds of the peers: with every point kept, and with what each makes of a convex mesh."""

    def builder(build: Callable) -> Build:
        def place(body: Body) -> Stage:
            return build(body, common.motion(body, starts()), FRICTION, common.setting())

        return place

    found = {}
    for name, module in peers.items():
        found[SPHERES[name]] = builder(module.spheres)
        found[MESH[name]] = builder(module.mesh)
    return found


def _entries(builders: dict[str, Build], size: Scale, seed: int) -> tuple[list[_Entry], list[Stage]]:
    """All that is to be timed, and the worlds that it happens in; who would be too slow on n points is left out."""
    entries, stages = [], []
    last: dict[str, float] = {}  # time of a step on the points before [s]
    both = starts()
    for n in size.points:
        body = Body.prism(n, RADIUS, HEIGHT, MASS)
        law = AugmentedLaw.untrained(body, seed)
        entries.append(_Entry(ROLLED, n, partial(_roll_both, law, both), np.ones((2, 1), dtype=np.int64), ROLLOUT))
        built: dict[str, Stage] = {STEPPED: StepperStage(law, both)}
        built |= {
            name: build(body) for name, build in builders.items() if last.get(name, 0.0) * _GROWTH * FEWEST < size.limit
        }
        for name, stage in built.items():
            steps, last[name] = _affordable(stage, size)
            counts = np.array([stage.counts(i, steps) for i in range(2)])
            entries.append(_Entry(name, n, partial(_time_both, stage, steps), counts, steps))
        stages += built.values()
    return entries, stages


def _roll_both(law: AugmentedLaw, both: State) -> NDArray[np.float64]:
    """Mean time of a step in a rollout from each start [s], (2, 1)."""
    return np.array([[timed(lambda i=i: rollout(law, both[i], ROLLOUT)) / ROLLOUT] for i in range(2)])


def _thrifty(run: Run, limit: float) -> Run:
    """The same, until it has taken more than the limit [s]; from then on its last times again."""
    spent, last = 0.0, np.empty(0)

    def turn() -> NDArray[np.float64]:
        nonlocal spent, last
        if spent <= limit:
            began = time.perf_counter()
            last = run()
            spent += time.perf_counter() - began
        return last

    return turn


def _affordable(stage: Stage, size: Scale) -> tuple[int, float]:
    """Steps that can be timed within the limit, with warming up and counting, and about the time of one [s]."""
    stage.put(0)
    cost = max(float(timed_steps(stage.step, 3).min()), 1e-9)
    return int(np.clip(size.limit / (2 * (size.repeats + 2)) / cost, FEWEST, STEPS)), cost


def _time_both(stage: Stage, steps: int) -> NDArray[np.float64]:
    """Times of the steps from both starts [s], (2, steps)."""
    times = np.empty((2, steps))
    for i in range(2):
        stage.put(i)
        times[i] = timed_steps(stage.step, steps)
    return times


def _figures(times: NDArray[np.float64], entry: _Entry) -> dict[str, Any]:
    """Means over the steps in contact, with spheres in contact with all: a body that hops is not what is asked about.

    The mean of both starts [us], sliding and resting, points kept, and steps timed; empty if it never was in contact.
    """
    fewest = entry.n if entry.name in SPHERES.values() else 1
    chosen = entry.counts >= fewest
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
    """How many of the points the peers keep."""
    sentences = []
    for name, found in parts.items():
        if name in (STEPPED, ROLLED) or not found:
            continue
        counts = {int(n): part["points_kept"] for n, part in found.items()}
        if all(kept == n for n, kept in counts.items()):
            sentences.append(f"{name}: keeps every point.")
        else:
            sentences.append(f"{name}: keeps " + ", ".join(f"{kept:g} of {n}" for n, kept in counts.items()) + ".")
    return sentences
