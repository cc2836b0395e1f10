"""What the project aims at in speed, and what was measured: one row each."""

from collections.abc import Callable
from dataclasses import dataclass

from stiction_studies.page.section import Table
from stiction_studies.speed import batch, chain, materials, points, processes, quadruped, throw
from stiction_studies.speed.common import DART, MUJOCO, MUJOCO_ROLLED, ROLLED, STEPPED
from stiction_studies.speed.measured import Measured, spread

Results = dict[str, Measured]  # by case


@dataclass(frozen=True)
class Target:
    """An aim: the figure of a run must be at least, or at most, `limit`.

    figure: of one run; None where what it needs was not measured
    """

    text: str
    at_least: bool
    limit: float
    figure: Callable[[Results], float | None]

    @property
    def aim(self) -> str:
        return f"{'at least' if self.at_least else 'at most'} {self.limit:g}"

    def reached(self, values: list[float]) -> str:
        """Whether all runs reach it, none, or some."""
        yes = [value >= self.limit if self.at_least else value <= self.limit for value in values]
        return "yes" if all(yes) else "in some runs" if any(yes) else "no"


def _times_ours(case: str, contestant: str, quantity: str, ours: str | None = None):
    """A contestant's figure over ours."""
    return lambda results: results[case].ratio(contestant, quantity, ours) if case in results else None


def _ours_over(case: str, ours: str, contestant: str, quantity: str):
    """Our figure over a contestant's."""
    return lambda results: results[case].ratio(ours, quantity, contestant) if case in results else None


def _within(case: str, contestant: str, first: str, second: str):
    """One quantity of a contestant over another."""

    def figure(results: Results) -> float | None:
        figures = results[case].figures.get(contestant, {}) if case in results else {}
        return figures[first] / figures[second] if first in figures and second in figures else None

    return figure


def _seconds(contestant: str):
    def figure(results: Results) -> float | None:
        return results["start"].figures.get(contestant, {}).get("s") if "start" in results else None

    return figure


ONE, TWO = batch.THREADS[1], batch.THREADS[2]
FEW, MANY = "N = 4", "N = 1,024"
TARGETS = (
    Target("Batch of throws: MuJoCo's rollout over ours", True, 6, _times_ours("batch", MUJOCO_ROLLED, ONE)),
    Target("Batch of throws, ours: one thread over two", True, 1.9, _within("batch", ROLLED, ONE, TWO)),
    Target(
        "Batch of throws: a material as DART over networks", False, 1.5,
        _ours_over("materials", materials.DART, materials.NETWORKS, materials.BATCH),
    ),
    Target(
        "A contact step, a call a step: ours over mj_step", False, 0.33,
        _ours_over("throw", STEPPED, MUJOCO, throw.CONTACT),
    ),
    Target(
        "One throw in one call: MuJoCo's rollout over ours", True, 3,
        _times_ours("throw", MUJOCO_ROLLED, throw.WHOLE),
    ),
    Target("1,024 points over 4, ours, a call a step", False, 1.1, _within("points", STEPPED, MANY, FEW)),
    Target("1,024 points over 4, ours, one call", False, 1.1, _within("points", ROLLED, MANY, FEW)),
    Target(
        "1,024 points: MuJoCo with every point over ours", True, 100,
        _times_ours("points", points.SPHERES[MUJOCO], MANY),
    ),
    Target(
        "1,024 points: ours over Bullet's mesh", False, 1,
        _ours_over("points", STEPPED, points.MESH["Bullet"], MANY),
    ),
    Target(
        "Chain in contact: ours over MuJoCo's own", False, 1.8,
        _ours_over("chain", chain.LAW, MUJOCO, chain.CONTACT),
    ),
    Target("Chain in contact: ours over DART", False, 0.75, _ours_over("chain", chain.LAW, DART, chain.CONTACT)),
    Target(
        "Quadruped in contact: ours over MuJoCo's own", False, 3,
        _ours_over("quadruped", quadruped.LAW, MUJOCO, quadruped.CONTACT),
    ),
    Target("A throw with CoulombLaw, from the start of the process [s]", False, 0.5, _seconds(processes.ANALYTIC)),
    Target("The same with a learned law [s]", False, 0.5, _seconds(processes.LEARNED)),
    Target("A first contact step in MuJoCo [s]", False, 1, _seconds(processes.ROBOT)),
    Target("import stiction [s]", False, 0.15, _seconds(processes.IMPORT)),
)  # fmt: skip


def measured_targets(runs: list[Results]) -> list[tuple[Target, list[float]]]:
    """The targets that were measured, with the figure of each run."""
    found = [(target, [v for run in runs if (v := target.figure(run)) is not None]) for target in TARGETS]
    return [(target, values) for target, values in found if values]


def target_table(runs: list[Results]) -> Table:
    """Aims beside what was measured."""
    rows = [[t.text, t.aim, spread(values), t.reached(values)] for t, values in measured_targets(runs)]
    note = f"Least to greatest of {len(runs)} runs." if len(runs) > 1 else "Of one run."
    return Table("Aims", ["", "Aim", "Measured", "Reached"], rows, note)
