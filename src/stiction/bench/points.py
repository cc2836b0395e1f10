"""Contact points: what a step costs while a prism lies on N corners, sliding and at rest."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bench import common
from stiction.bench.common import BULLET, DART, MUJOCO, ROLLED, STEPPED, Begin, Scale
from stiction.bench.measured import Measured
from stiction.bench.ours import StepperStage
from stiction.bench.timing import Run, least_times, pinned, timed, timed_steps
from stiction.bodies import Body
from stiction.engines.stage import Stage
from stiction.laws.augmented import AugmentedLaw
from stiction.rollouts import rollout
from stiction.state import State

RADIUS, HEIGHT, MASS = 0.2, 0.1, 1.0  # of the prism [m, kg]
STEPS, FEWEST = 100, 10  # timed after each start; of slow simulators fewer
ROLLOUT = 800  # steps of a rollout in one call
_GROWTH = 64  # times that four times the points may cost, at worst: a cubic solver
SPHERES = {MUJOCO: "MuJoCo, spheres", DART: "DART, spheres", BULLET: "Bullet, spheres"}
MESH = {MUJOCO: "MuJoCo, mesh", DART: "DART, mesh", BULLET: "Bullet, mesh"}
Build = Callable[[Body], Stage]


def run(size: Scale, seed: int, begin: Begin) -> Measured:
    """Time all contestants on all numbers of points that they can do in time."""
    peers, notes = common.installed()
    builders = _builders(peers)
    names = [STEPPED, ROLLED, *builders]
    figures: dict[str, dict[str, float]] = {name: {} for name in names}
    parts: dict[str, dict[str, Any]] = {name: {} for name in names}
    last: dict[str, float] = {}
    advance = begin("Contact points", len(size.points))
    with pinned():
        for n in size.points:
            able = {name: b for name, b in builders.items() if last.get(name, 0.0) * _GROWTH * FEWEST < size.limit}
            for name, part in _on(n, able, size, seed).items():
                figures[name][_quantity(n)] = part["us"]
                parts[name][str(n)] = part
                last[name] = 1e-6 * part["us"]
            advance()
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
            return build(body, common.motion(body, starts()), common.FRICTION, common.setting())

        return place

    found = {}
    for name, module in peers.items():
        found[SPHERES[name]] = builder(module.spheres)
        found[MESH[name]] = builder(module.mesh)
    return found


def _on(n: int, builders: dict[str, Build], size: Scale, seed: int) -> dict[str, dict[str, Any]]:
    """Figures of all contestants on n points: the mean [us], sliding and resting, points kept, steps timed."""
    body = Body.prism(n, RADIUS, HEIGHT, MASS)
    law = AugmentedLaw.untrained(body, seed)
    both = starts()
    stages: dict[str, Stage] = {STEPPED: StepperStage(law, both)}
    stages |= {name: build(body) for name, build in builders.items()}
    steps = {name: _affordable(stage, size) for name, stage in stages.items()}
    counts = {name: np.array([stage.counts(i, steps[name]) for i in range(2)]) for name, stage in stages.items()}
    runs: dict[str, Run] = {name: partial(_time_both, stage, steps[name]) for name, stage in stages.items()}
    runs[ROLLED] = lambda: np.array([[timed(lambda i=i: rollout(law, both[i], ROLLOUT)) / ROLLOUT] for i in range(2)])
    steps[ROLLED], counts[ROLLED] = ROLLOUT, np.ones((2, 1), dtype=np.int64)
    least = least_times({name: _thrifty(run, size.limit) for name, run in runs.items()}, size.repeats, lambda: None)
    for stage in stages.values():
        stage.close()
    fewest = {name: n if name in SPHERES.values() else 1 for name in least}
    found = {name: _figures(least[name], counts[name], fewest[name], steps[name]) for name in least}
    return {name: part for name, part in found.items() if part}


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


def _affordable(stage: Stage, size: Scale) -> int:
    """Steps that can be timed within the limit, with warming up and counting."""
    stage.put(0)
    times = timed_steps(stage.step, 3)
    turns = 2 * (size.repeats + 2)
    return int(np.clip(size.limit / turns / max(float(times.min()), 1e-9), FEWEST, STEPS))


def _time_both(stage: Stage, steps: int) -> NDArray[np.float64]:
    """Times of the steps from both starts [s], (2, steps)."""
    times = np.empty((2, steps))
    for i in range(2):
        stage.put(i)
        times[i] = timed_steps(stage.step, steps)
    return times


def _figures(times: NDArray[np.float64], counts: NDArray[np.int64], fewest: int, steps: int) -> dict[str, Any]:
    """Means over the steps with at least `fewest` contact points: a body that hops is not what is asked about."""
    found = {
        f"{phase}_us": 1e6 * float(np.mean(t[c >= fewest]))
        for phase, t, c in zip(("sliding", "resting"), times, counts)
        if (c >= fewest).any()
    }
    if not found:
        return {}
    kept = float(np.median(counts[counts >= fewest]))
    return {"us": float(np.mean(list(found.values()))), **found, "points_kept": kept, "steps": steps}


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
