"""Our stepping with CoulombLaw against DART: one step from DART's own contact states, and whole throws.

DART is the ground truth of the paper. Here the law is known, so any difference between the two comes from the stepping,
the contact patch, the guards or DART's own solver.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import dart
from stiction._core import DETACH_IMPULSE, TOUCH
from stiction.basics.progress import bar
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import Kind, State
from stiction.bodies.trajectory import Trajectory
from stiction.laws.coulomb import DART_SOFTNESS, CoulombCone, CoulombLaw
from stiction.simulation.rollout import rollout
from stiction_studies import figures
from stiction_studies.page.motions_shown import Scene, scene_of_throws
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.study import Study

THROWS = {"quick": 8, "usual": 100, "full": 200}  # of each case
STEPS, TIMESTEP = 800, 0.002  # [s]
LIMITS = {Kind.POINT: 1e-9, Kind.LINE: 1e-9, Kind.SURFACE: 1e-5}  # of a step's velocity error [m/s, rad/s]
FREE_LIMIT = 1e-4  # of the final position's error [m]


@dataclass(frozen=True)
class Case:
    """One body and law, here and in DART.

    inexact: patch kinds for which DART's solver is not exact, or does not agree with ours in every digit
    effort: rough duration of a throw relative to the others, for the progress bar
    """

    name: str
    body: Body
    friction: float
    solver: dart.Solver = "dantzig"
    cone: CoulombCone = "dart"
    inexact: tuple[Kind, ...] = ()
    effort: float = 1.0


_BOX = Body.box((0.2, 0.3, 0.4), mass=1.0)
CASES = (
    Case("box", _BOX, 1.0),
    Case("pentagon prism", Body.prism(5, radius=0.2, height=0.2, mass=1.0), 0.7),
    # A planar body on a line is at rest: it is stopped exactly here but not in DART.
    Case("planar rectangle", Body.rectangle((0.2, 0.4), mass=1.0), 0.7, inexact=(Kind.LINE,)),
    Case("box, round cone", _BOX, 0.6, "nsgs", "round", inexact=tuple(LIMITS), effort=2.0),
)

# Reasons for which a step may differ from DART's, in the order in which they are tested.
REASONS = {
    "no normal": "DART applies friction without any normal impulse; the guard of Algorithm 1 forbids it.",
    "unseen": f"A vertex is less than {TOUCH:g} m above the ground: part of our patch, not yet of DART's.",
    "solver": "DART's NSGS stops at a tolerance and its cone is softened differently; DART lets a planar body at rest "
    "creep.",
}


@dataclass(frozen=True)
class Comparison:
    """One throw in DART and here.

    truth, ours: the two trajectories from the same start
    kind: of each contact state of `truth`, shape (n,)
    error: greatest difference of the six velocity components [m/s, rad/s] after one step of ours from it, shape (n,)
    reason: index of the first of REASONS that holds for it, or -1, shape (n,)
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
    """Draw the start of a throw: any orientation, at 0.4 to 1 m height, velocity and spin normal with
    standard deviations of 1.5 m/s and 4 rad/s."""
    height = rng.uniform(0.4, 1.0)
    turn, velocity, spin = rng.normal(size=4), rng.normal(0, 1.5, 3), rng.normal(0, 4.0, 3)
    if planar:
        turn[[1, 3]] = velocity[1] = spin[0] = spin[2] = 0.0
    return State((0.0, 0.0, height), turn / np.linalg.norm(turn), velocity, spin)


def compare(case: Case, start: State) -> Comparison:
    """Throw in DART from `start`; then one step of ours from each of DART's contact states, and the whole throw."""
    truth = dart.throw(case.body, start, STEPS, friction=case.friction, solver=case.solver, timestep=TIMESTEP)
    touching = np.flatnonzero(truth.kind)
    before, wanted = truth.states()[touching], truth.states()[touching + 1]
    law = CoulombLaw(case.body, case.friction, cone=case.cone, softness=DART_SOFTNESS, timestep=TIMESTEP)
    got = rollout(law, before, 1, substeps=0).state()
    error = np.hstack([got.velocity - wanted.velocity, got.angular_velocity - wanted.angular_velocity])
    reason = _reasons(case, before, truth.impulse[touching], truth.kind[touching])
    ours = rollout(law, start, STEPS, substeps=0)
    return Comparison(truth, ours, truth.kind[touching], np.abs(error).max(axis=1), reason)


def _reasons(case: Case, before: State, impulse: NDArray, kind: NDArray) -> NDArray[np.int64]:
    """Index of the first of REASONS that holds for each contact state, -1 where none does, shape (n,)."""
    heights = before.position[:, 2:] + rotation_matrices(before.quaternion)[:, 2] @ case.body.vertices.T
    holds = {
        "no normal": (impulse[:, 2] < DETACH_IMPULSE) & (np.hypot(*impulse.T[:2]) > DETACH_IMPULSE),
        "unseen": ((heights > 0) & (heights <= TOUCH)).any(axis=1),
        "solver": np.isin(kind, case.inexact),
    }
    table = np.stack([holds[name] for name in REASONS])
    return np.where(table.any(axis=0), table.argmax(axis=0), -1)


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Compare all cases, print two tables, write the results and publish the section."""
    study = Study(out, "agreement", scale, seed)
    found = _compare_all(THROWS[scale], seed)
    cases = [_summary(case, found[case.name]) for case in CASES]
    content = {"throws": THROWS[scale], "steps": STEPS, "timestep_s": TIMESTEP, "reasons": REASONS, "cases": cases}
    text = [
        "Here nothing is learned: the law is Coulomb's, which is also DART's, so that any difference between the two "
        "comes from the stepping, the contact patch, the guards or DART's own solver. One step is made from each of "
        "DART's own contact states, and whole throws are simulated from the same start.",
    ]
    tables = [_one_step_table(cases), _whole_throw_table(cases)]
    box = found[CASES[0].name]
    plots, replays = [_distance_plot(box)], [_replay(CASES[0].body, box)]
    section = Section(study.name, "The physics, without learning", text, study.command, tables, plots, replays)
    parts = [
        {"case": name, "throw": np.arange(len(those)), "position_error": np.array([c.distance[-1] for c in those])}
        for name, those in found.items()
    ]
    study.finish(section, content, parts)


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


def _one_step_table(cases: Sequence[dict[str, Any]]) -> Table:
    rows = []
    for case in cases:
        for step in case["one_step"]:
            error = step["velocity_error_m_per_s_or_rad_per_s"]
            found = [f"{count:,} {name}" for name, count in step["exceptions"].items() if count]
            rows.append(
                [
                    f"{case['name']}: {step['patch']}",
                    f"{step['states']:,}",
                    *(f"{error[name]:.1e}" for name in ("percent_50", "percent_99", "max")),
                    _percent(step["share_within"]),
                    ", ".join(found),
                ]
            )
    columns = ["Case and patch", "States", "Median", "99 %", "Max", "Within", "Exceptions"]
    title = "One step of ours from each contact state in DART: velocity error [m/s, rad/s]"
    return Table(title, columns, rows, _note(cases))


def _note(cases: Sequence[dict[str, Any]]) -> str:
    """The limits, the reasons of the exceptions that have occurred, and how many exceptions have none."""
    steps = [step for case in cases for step in case["one_step"]]
    limits = {step["patch"]: step["limit_m_per_s_or_rad_per_s"] for step in steps}
    parts = ["Within: " + ", ".join(f"{limit:.0e} for a {patch}" for patch, limit in limits.items()) + "."]
    seen = [name for name in REASONS if any(step["exceptions"][name] for step in steps)]
    parts += [f"{name.capitalize()}: {REASONS[name]}" for name in seen]
    unexplained = sum(step["exceptions"]["unexplained"] for step in steps)
    return " ".join([*parts, f"Unexplained: {unexplained:,}." if unexplained else "Unexplained: none."])


def _whole_throw_table(cases: Sequence[dict[str, Any]]) -> Table:
    limit = cases[0]["free_run"]["limit_m"]
    rows = []
    for case in cases:
        free = case["free_run"]
        error = free["position_error_m"]
        figures = [f"{error[name]:.1e}" for name in ("percent_50", "percent_90", "percent_95", "max")]
        rows.append([case["name"], f"{free['throws']:,}", *figures, _percent(free["share_within"])])
    columns = ["Case", "Throws", "Median", "90 %", "95 %", "Max", "Within"]
    return Table(
        "Whole throws from the same start: error of the final position [m]", columns, rows, f"Within: {limit:.0e}."
    )


def _percent(share: float) -> str:
    """A share in percent, rounded down: 100 % means all."""
    return f"{math.floor(share * 1e4) / 1e2:.2f} %"


def _distance_plot(found: Sequence[Comparison]) -> Plot:
    """Distance between the two positions over time in all throws."""
    within = sum(comparison.distance[-1] <= FREE_LIMIT for comparison in found)
    figure = figures.figure("Box: distance between DART's position and ours", "time [s]", "distance [m]")
    for k, comparison in enumerate(found, 1):
        distance = np.maximum(comparison.distance[::8], 1e-17)
        line = {"color": figures.COLOURS["stiction"], "width": 1}
        time = comparison.truth.time[::8]
        figure.add_scatter(
            x=time, y=distance, mode="lines", name=f"throw {k}", line=line, opacity=0.5, showlegend=False
        )
    figure.add_hline(y=FREE_LIMIT, line={"color": figures.COLOURS["truth"], "dash": "dash"})
    figure.update_yaxes(**figures.log_axis(-17, 0, 4))
    return Plot(figure, f"Dashed: {1000 * FREE_LIMIT:g} mm; {within} of {len(found)} throws end below it.")


def _replay(body: Body, found: Sequence[Comparison]) -> Scene:
    """The throw that travels closest to 2 m: far enough to see impacts and sliding."""
    one = min(found, key=lambda c: abs(np.linalg.norm((c.truth.position[-1] - c.truth.position[0])[:2]) - 2.0))
    return scene_of_throws("Box, the analytic Coulomb law", body, {"DART": one.truth, "stiction": one.ours})
