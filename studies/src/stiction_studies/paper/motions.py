"""Whole motions of a law and of its baseline against the ground truth: shared by `trajectories` and `nsgs`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from stiction.bodies.state import State
from stiction.bodies.throws import drawn
from stiction.bodies.trajectory import Trajectory
from stiction.data.plan import Plan
from stiction.evaluation.single_steps import FRESH, plan_of
from stiction.laws.modelfile import load, load_law
from stiction.simulation.motion import MAX_START_DEPTH, Setting
from stiction.simulation.rollout import rollout
from stiction_studies.page.section import Replay
from stiction_studies.paper import metrics

STEPS = 800
OURS, BASELINE = "stiction", "PDD"
MOVES = (1e-6, 1e-4, 1e-3)  # of the start, for the chaos floor [m, rad, m/s, rad/s]
# Steps after a throw until the body must lie still, and those in which it is watched. What an impact has driven in by
# a centimetre, stepping raises at 1 mm/s, here as in DART, and that must be over.
_SETTLE, _REST = 6000, 5000


@dataclass(frozen=True)
class Case:
    """A body with its law and baseline.

    title: of the body, as shown
    law, baseline: names of laws
    truth: of the ground truth, as shown
    replays: throws to be watched
    """

    title: str
    law: str
    baseline: str
    truth: str = "DART"
    replays: int = 1


@dataclass(frozen=True)
class Found:
    """What became of the throws of a case.

    plan: of the law's training data: body, ground truth, ranges of the throws
    truth: the motions of the ground truth (n,); runs: those of the others by name, from the same starts
    figures: per-throw figures by run, see metrics.compare; drift: metres in 10 s after rest by run, of the first throws
    """

    case: Case
    plan: Plan
    truth: Trajectory
    runs: dict[str, Trajectory]
    figures: dict[str, dict[str, NDArray[np.float64]]]
    drift: dict[str, NDArray[np.float64]]


def setting_of(plan: Plan) -> Setting:
    """Time step and gravity of a plan."""
    return Setting(plan.timestep, np.array(plan.gravity))


def fresh_starts(plan: Plan, number: int, seed: int) -> State:
    """Starts (number,) of throws like those of the plan, that no training has seen; start i is the same for any
    number."""
    return drawn(plan.body, plan.ranges, plan.seed + seed + FRESH, range(number))


def throw_truth(plan: Plan, start: State, steps: int = STEPS) -> Trajectory:
    """The motions of the ground truth."""
    return plan.truth.throw(plan.body, start, steps, timestep=plan.timestep, gravity=plan.gravity)


def follow(case: Case, throws: int, watched: int, seed: int) -> Found:
    """Throw in the ground truth, with the law, with the baseline, and in the ground truth from moved starts.

    watched: how many of the throws are followed to see whether the body drifts at rest
    """
    laws = {OURS: load_law(case.law), BASELINE: load(case.baseline)}
    plan = plan_of(laws[OURS])
    start = fresh_starts(plan, throws, seed)
    with Console(stderr=True).status(f"Throwing: {case.title}") as status:
        truth = throw_truth(plan, start)
        runs = {name: rollout(law, start, STEPS, gravity=plan.gravity) for name, law in laws.items()}
        for k, size in enumerate(MOVES):
            status.update(f"Throwing: {case.title}, from starts moved by {size:g}")
            moved = metrics.perturbed(plan.body, start, size, seed + k)
            runs[floor_name(case, size)] = throw_truth(plan, moved)
        status.update(f"Watching at rest: {case.title}")
        setting = setting_of(plan)
        figures = {name: metrics.compare(plan.body, truth, run, setting) for name, run in runs.items()}
        figures[case.truth] = metrics.compare(plan.body, truth, truth, setting)
        steps = _SETTLE + _REST
        drift = {
            name: _drift(plan, runs[name][:watched], lambda s, law=law: rollout(law, s, steps, gravity=plan.gravity))
            for name, law in laws.items()
        }
        drift[case.truth] = _drift(plan, truth[:watched], lambda s: throw_truth(plan, s, steps))
    return Found(case, plan, truth, runs, figures, drift)


def floor_name(case: Case, size: float) -> str:
    """How the run of the ground truth from starts moved by `size` is called."""
    return f"{case.truth} ± {size:.0e}".replace("e-0", "e-")


def _drift(plan: Plan, run: Trajectory, go_on: Callable[[State], Trajectory]) -> NDArray[np.float64]:
    """Metres that bodies move along the ground in 10 s, from 12 s after the end of `run` on, shape (n,); nan for those
    that are lost, or have sunk too deep to go on from."""
    lowest = metrics.vertex_heights(plan.body, run)[:, -1].min(axis=1)
    sound = ~metrics.lost_throws(run) & (lowest >= -MAX_START_DEPTH * plan.body.diameter)
    found = np.full(len(run.mode), np.nan)
    if sound.any():
        later = go_on(run[sound].state()).position[:, _SETTLE:, :2]
        found[sound] = np.linalg.norm(later[:, -1] - later[:, 0], axis=1)
    return np.where(np.isfinite(found), found, np.nan)


def replays(found: Found) -> list[Replay]:
    """The throws to be watched: those that travel farthest of the first dozen, for there is most to see."""
    case = found.case
    order = np.argsort(-metrics.distances(found.truth)[:12], kind="stable")[: case.replays]
    titles = [f"{case.title}, throw {k + 1}" for k in order]
    shown = (OURS, BASELINE)
    return [
        Replay(title, found.plan.body, {case.truth: found.truth[k], **{name: found.runs[name][k] for name in shown}})
        for title, k in zip(titles, order)
    ]


def summary(found: Found, seed: int) -> dict[str, Any]:
    """The figures of a case, ready for JSON."""
    size = metrics.sizes(found.truth)
    runs = {}
    for name, figures in found.figures.items():
        runs[name] = metrics.summarise(figures, size, seed)
        if name in found.drift:
            runs[name]["drift_10_s_m"] = _drift_summary(found.drift[name])
    return {
        "body": found.case.title,
        "law": found.case.law,
        "baseline": found.case.baseline,
        "truth": found.plan.truth.to_dict(),
        "throws": len(found.truth.mode),
        "steps": STEPS,
        "timestep_s": found.plan.timestep,
        "truth_means": {
            "distance_m": size["distance"],
            "angle_turned_degrees": size["orientation"],
            "first_impulse_N_s": size["impulse"],
        },
        "runs": runs,
    }


def _drift_summary(drift: NDArray[np.float64]) -> dict[str, Any]:
    kept = drift[np.isfinite(drift)]
    middle, most = (float(np.median(kept)), float(kept.max())) if len(kept) else (None, None)
    return {"throws": len(drift), "lost": len(drift) - len(kept), "median": middle, "max": most}


def rows(found: Sequence[Found]) -> list[dict[str, Any]]:
    """One part of the Parquet file for each body and run: its per-throw figures."""
    parts = []
    for one in found:
        travelled = metrics.distances(one.truth)
        for name, figures in one.figures.items():
            throw = np.arange(len(travelled))
            parts.append({"body": one.case.title, "run": name, "throw": throw, "truth_distance": travelled, **figures})
    return parts
