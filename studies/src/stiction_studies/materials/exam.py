"""What laws are judged on: fresh contacts and whole throws of a ground truth, which no training has seen."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.bodies.state import Kind, State
from stiction.bodies.trajectory import Trajectory
from stiction.data.ground_truth import to_truth
from stiction.data.plan import Plan
from stiction.evaluation.single_steps import Fresh, evaluate, fresh_contacts
from stiction.laws.law import GRAVITY, NativeLaw
from stiction.simulation.rollout import rollout
from stiction_studies.materials.places import Place
from stiction_studies.paper import metrics
from stiction_studies.paper.motions import fresh_starts, throw_truth

MOVES = (1e-6, 1e-4)  # of the start, for the chaos floor [m, rad, m/s, rad/s]
KINDS = ("point", "line", "surface")


@dataclass(frozen=True)
class Exam:
    """Contacts by kind, and motions of the ground truth from starts (n,)."""

    plan: Plan
    contacts: dict[Kind, Fresh]
    start: State
    truth: Trajectory


def plan_for(place: Place, truth: Any, seed: int, friction: float | None = None) -> Plan:
    """The plan of throws at a place.

    truth: as for `stiction.collect`
    friction: of a ground truth that has a name
    """
    how = {"timestep": place.timestep, "gravity": GRAVITY}
    return Plan(
        place.body, to_truth(truth, place.body, friction=friction, **how), 1, place.steps, seed, timestep=place.timestep
    )


def make_exam(plan: Plan, *, contacts: int, throws: int, seed: int) -> Exam:
    """Ask the ground truth about so many contacts of each kind, and about so many whole throws."""
    start = fresh_starts(plan, throws, seed)
    return Exam(plan, fresh_contacts(plan, contacts, seed), start, throw_truth(plan, start, plan.steps))


def judge(law: NativeLaw, exam: Exam, seed: int) -> dict[str, Any]:
    """Figures of a law, ready for JSON: single contacts by kind, and whole throws."""
    kinds = {}
    for kind, fresh in exam.contacts.items():
        found = evaluate(law, fresh)
        wanted = ("contacts", "dynamic", "accuracy", "friction_error", "spin_error", "impulse_error")
        kinds[kind.name.lower()] = {name: found[name] for name in wanted if name in found}
    how = {"timestep": exam.plan.timestep, "gravity": exam.plan.gravity, "finite": False}
    run = rollout(law, exam.start, exam.plan.steps, **how)
    return {"kinds": kinds, "throws": compare(exam.plan.body, exam.truth, run, seed)}


def chaos_floor(exam: Exam, seed: int) -> dict[str, Any]:
    """How far the ground truth ends from itself when its start is moved a little: no law can be asked for more."""
    floors = {}
    for k, size in enumerate(MOVES):
        moved = metrics.perturbed(exam.plan.body, exam.start, size, seed + k)
        floors[f"{size:g}"] = compare(exam.plan.body, exam.truth, throw_truth(exam.plan, moved, exam.plan.steps), seed)
    return floors


def compare(body: Body, truth: Trajectory, run: Trajectory, seed: int) -> dict[str, Any]:
    """Errors of the final position as shares of the mean distance, and how often the right face ends below.

    A throw that runs out of numbers is counted as lost; it has no error and lies on no face.
    """
    lost = metrics.lost_throws(run)
    share = np.linalg.norm(run.position[:, -1] - truth.position[:, -1], axis=1) / metrics.distances(truth).mean()
    faces = (metrics.faces_down(body, part.quaternion[:, -1]) for part in (run, truth))
    right = np.equal(*faces) & ~lost
    figures: dict[str, Any] = {"number": len(lost), "lost": int(lost.sum()), "right_face": float(right.mean())}
    return figures | _position(share[~lost], seed)


def _position(share: NDArray[np.float64], seed: int) -> dict[str, Any]:
    if not len(share):
        return {}
    return {
        "mean": float(share.mean()),
        "mean_95": list(metrics.bootstrap_interval(share, seed)),
        "median": float(np.median(share)),
        "median_95": list(metrics.bootstrap_interval(share, seed, np.median)),
    }
