"""Our stepping with CoulombLaw against DART: one step from DART's own contact states, and whole throws.

DART is the ground truth of the paper. Here the law is known, so whatever lies between the two comes from the stepping,
the contact patch, the guards or DART's own solver.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import dart
from stiction._core import DETACH_IMPULSE, TOUCH
from stiction.basics import files
from stiction.basics.progress import bar
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import Kind, State
from stiction.bodies.trajectory import Trajectory
from stiction.laws.coulomb import CoulombLaw
from stiction.simulation.rollout import rollout
from stiction_studies.page.section import Section
from stiction_studies.paper import agreement_picture
from stiction_studies.paper.agreement_tables import agreement_tables
from stiction_studies.study import Study, joined

THROWS = {"quick": 8, "usual": 100, "full": 200}  # of each case
STEPS, TIMESTEP = 800, 0.002  # [s]
LIMITS = {Kind.POINT: 1e-9, Kind.LINE: 1e-9, Kind.SURFACE: 1e-5}  # of a step's velocity error [m/s, rad/s]
FREE_LIMIT = 1e-4  # of the final position's error [m]
_HEIGHT = (0.4, 1.0)  # [m]
_SPEED, _SPIN = 1.5, 4.0  # standard deviation of each component [m/s, rad/s]


@dataclass(frozen=True)
class Case:
    """One body and law, here and in DART.

    inexact: patch kinds for which DART's solver is not exact, or not the same as ours in every digit
    effort: rough duration of a throw relative to the others, for the progress bar
    """

    name: str
    body: Body
    friction: float
    solver: str = "dantzig"
    cone: str = "box"
    inexact: tuple[Kind, ...] = ()
    effort: float = 1.0

    @property
    def law(self) -> CoulombLaw:
        """The same law here."""
        return CoulombLaw(self.body, self.friction, cone=self.cone, timestep=TIMESTEP)


_BOX = Body.box((0.2, 0.3, 0.4), mass=1.0)
CASES = (
    Case("box", _BOX, 1.0),
    Case("pentagon prism", Body.prism(5, radius=0.2, height=0.2, mass=1.0), 0.7),
    # For a planar body a line at rest is a body at rest, which is stopped exactly here but not in DART.
    Case("planar rectangle", Body.rectangle((0.2, 0.4), mass=1.0), 0.7, inexact=(Kind.LINE,)),
    Case("box, round cone", _BOX, 0.6, "nsgs", "round", inexact=tuple(LIMITS), effort=2.0),
)

# Why a step may differ from DART's, in the order in which the reasons are tried.
REASONS = {
    "no normal": "DART applies friction without any normal impulse; the guard of Algorithm 1 forbids it.",
    "unseen": f"A vertex lies less than {TOUCH:g} m above the ground: part of our patch, not yet of DART's.",
    "solver": "DART's NSGS stops at a tolerance and its cone yields otherwise; DART lets a planar body at rest creep.",
}

_TEXT = [
    "Here nothing is learned: the law is Coulomb's, which is also DART's, so that whatever lies between the two comes "
    "from the stepping, the contact patch, the guards or DART's own solver. One step is made from each of DART's own "
    "contact states, and whole throws are followed from the same start.",
]


@dataclass(frozen=True)
class Comparison:
    """One throw in DART and here.

    truth, ours: the two trajectories from the same start
    kind: of each contact state of `truth`, shape (n,)
    error: greatest difference of the six velocity components [m/s, rad/s] after one step of ours from it, shape (n,)
    reason: number of the first of REASONS that holds for it, or -1, shape (n,)
    """

    truth: Trajectory
    ours: Trajectory
    kind: NDArray[np.int8]
    error: NDArray[np.float64]
    reason: NDArray[np.int64]

    @property
    def distance(self) -> NDArray[np.float64]:
        """Distance between the two positions [m], shape (STEPS + 1,)."""
        return np.linalg.norm(self.ours.position - self.truth.position, axis=-1)


def random_throw(rng: np.random.Generator, *, planar: bool = False) -> State:
    """Draw the start of a throw: any orientation, at 0.4 to 1 m height, velocity and spin normally distributed."""
    height = rng.uniform(*_HEIGHT)
    turn, velocity, spin = rng.normal(size=4), rng.normal(0, _SPEED, 3), rng.normal(0, _SPIN, 3)
    if planar:
        turn[[1, 3]] = velocity[1] = spin[0] = spin[2] = 0.0
    return State((0.0, 0.0, height), turn / np.linalg.norm(turn), velocity, spin)


def compare(case: Case, start: State) -> Comparison:
    """Throw in DART from `start`; then ours: one step from each of DART's contact states, and the whole throw."""
    truth = dart.throw(case.body, start, STEPS, friction=case.friction, solver=case.solver, timestep=TIMESTEP)
    touching = np.flatnonzero(truth.kind)
    before, wanted = truth.states()[touching], truth.states()[touching + 1]
    got = rollout(case.law, before, 1).state()
    error = np.hstack([got.velocity - wanted.velocity, got.angular_velocity - wanted.angular_velocity])
    reason = _reasons(case, before, truth.impulse[touching], truth.kind[touching])
    ours = rollout(case.law, start, STEPS)
    return Comparison(truth, ours, truth.kind[touching], np.abs(error).max(axis=1), reason)


def _reasons(case: Case, before: State, impulse: NDArray, kind: NDArray) -> NDArray[np.int64]:
    """Number of the first of REASONS that holds for each contact state, -1 where none does, shape (n,)."""
    heights = before.position[:, 2:] + rotation_matrices(before.quaternion)[:, 2] @ case.body.vertices.T
    holds = {
        "no normal": (impulse[:, 2] < DETACH_IMPULSE) & (np.hypot(*impulse.T[:2]) > DETACH_IMPULSE),
        "unseen": ((heights > 0) & (heights <= TOUCH)).any(axis=1),
        "solver": np.isin(kind, case.inexact),
    }
    table = np.stack([holds[name] for name in REASONS])
    return np.where(table.any(axis=0), table.argmax(axis=0), -1)


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Compare all cases, print two tables, write results and a picture to `out`/agreement, and publish the section."""
    study = Study(out, "agreement", scale, seed)
    throws = THROWS[scale]
    found = _compare_all(throws, seed)
    cases = [_summary(case, found[case.name]) for case in CASES]
    content = {
        "throws": throws,
        "steps": STEPS,
        "timestep_s": TIMESTEP,
        "reasons": REASONS,
        "cases": cases,
    }
    _draw(study.folder / "trajectories.png", found[CASES[0].name])
    tables = agreement_tables(cases, REASONS)
    section = Section(study.name, "The physics, without learning", _TEXT, study.command, tables)
    parts = [
        {"case": name, "throw": np.arange(len(those)), "position_error": np.array([c.distance[-1] for c in those])}
        for name, those in found.items()
    ]
    study.finish(section, content, joined(parts), "dartpy")


def _draw(path: Path, found: Sequence[Comparison]) -> None:
    """The picture of the first case."""
    size = " × ".join(f"{length:g}" for length in CASES[0].body.size)
    title = f"A box of {size} m, thrown in DART and with stiction's CoulombLaw from the same starts"
    pairs = [(comparison.truth, comparison.ours) for comparison in found]
    with files.whole_file(path) as temporary:
        agreement_picture.draw_agreement(temporary, CASES[0].body, pairs, title=title, limit=FREE_LIMIT)


def _compare_all(throws: int, seed: int) -> dict[str, list[Comparison]]:
    """The comparisons of each case by its name, with a progress bar; throw i is the same whatever `throws` is."""
    found: dict[str, list[Comparison]] = {}
    with bar("Throwing", throws * sum(case.effort for case in CASES)) as progress:
        for number, case in enumerate(CASES):
            progress.rename(f"Throwing: {case.name}")
            rng = np.random.default_rng([seed, number])
            found[case.name] = []
            for _ in range(throws):
                found[case.name].append(compare(case, random_throw(rng, planar=case.body.planar)))
                progress.advance(case.effort)
    return found


def _summary(case: Case, found: Sequence[Comparison]) -> dict[str, Any]:
    """The figures of one case, ready for JSON."""
    kind, error, reason = (np.concatenate([getattr(c, name) for c in found]) for name in ("kind", "error", "reason"))
    final = np.array([c.distance[-1] for c in found])
    return {
        "name": case.name,
        "shape": case.body.shape,
        "size_m": list(case.body.size),
        "mass_kg": case.body.mass,
        "friction": case.friction,
        "dart_solver": case.solver,
        "cone": case.cone,
        "one_step": [_step_summary(k, error[kind == k], reason[kind == k]) for k in LIMITS if np.any(kind == k)],
        "free_run": {
            "throws": len(found),
            "position_error_m": _quantiles(final, (50, 90, 95)),
            "limit_m": FREE_LIMIT,
            "share_within": float(np.mean(final <= FREE_LIMIT)),
        },
    }


def _step_summary(kind: Kind, error: NDArray, reason: NDArray) -> dict[str, Any]:
    outside = error > LIMITS[kind]
    exceptions = {name: int(np.sum(outside & (reason == i))) for i, name in enumerate(REASONS)}
    return {
        "patch": kind.name.lower(),
        "states": len(error),
        "velocity_error_m_per_s_or_rad_per_s": _quantiles(error, (50, 99)),
        "limit_m_per_s_or_rad_per_s": LIMITS[kind],
        "share_within": float(np.mean(~outside)),
        "exceptions": {**exceptions, "unexplained": int(np.sum(outside & (reason < 0)))},
    }


def _quantiles(values: NDArray, percents: Sequence[int]) -> dict[str, float]:
    return {f"percent_{q}": float(np.percentile(values, q)) for q in percents} | {"max": float(values.max())}
