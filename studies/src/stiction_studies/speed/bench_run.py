"""`stiction bench`: run the cases, print their tables, and write the results."""

import platform
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stiction.basics import checks, colours, files
from stiction.basics.environment import commit, versions
from stiction.basics.progress import bars
from stiction_studies.page.section import Table
from stiction_studies.speed import bench_robots, bench_throws, contact_points, core_costs, fresh_processes
from stiction_studies.speed.bench_case import SCALES, Case, Measured, Phase, Scale, Who, spread, table
from stiction_studies.speed.contact_points import MESH, SPHERES
from stiction_studies.study import markdown, print_tables
from stiction_studies.timing import waited

CASES: dict[str, Case] = {
    "throw": bench_throws.run_one,
    "batch": bench_throws.run_many,
    "materials": core_costs.run_materials,
    "points": contact_points.run,
    "chain": bench_robots.run_chain,
    "quadruped": bench_robots.run_quadruped,
    "start": fresh_processes.start,
    "memory": fresh_processes.memory,
    "profile": core_costs.run_profile,
}
Results = dict[str, Measured]  # by case


def run(
    scale: str = "usual",
    *,
    only: tuple[str, ...] = (),
    repeat: int = 1,
    seed: int = 0,
    out: Path | None = None,
    plot: Path | None = None,
) -> None:
    """Measure all cases, or `only` some, `repeat` times over; print tables.

    out: folder; figures go to out/bench/results.json, tables to out/bench/tables.md
    plot: PNG file for the cost against contact points
    """
    repeat, seed = checks.count("repeat", repeat, 1, 1000), checks.count("seed", seed, 0)
    names = [checks.choice("case", name, tuple(CASES)) for name in only] or list(CASES)
    if plot is not None and "points" not in names:
        raise checks.InputError("The plot shows the case points, which is not among those to run.")
    if plot is not None and plot.suffix != ".png":
        raise checks.InputError(f"The plot is a .png file, got {plot}.")
    start = time.perf_counter()
    runs = [measure(names, SCALES[checks.choice("scale", scale, tuple(SCALES))], seed) for _ in range(repeat)]
    tables = [table([run[name] for run in runs]) for name in names]
    aims = target_table(runs)
    tables += [aims] if aims.rows else []
    print_tables(tables)
    seconds = round(time.perf_counter() - start, 1)
    print(f"\n{seconds} s on {processor()}")
    if waited() > 0.05:
        print(f"Other processes took {100 * waited():.0f} % of the core: on a quiet machine figures are smaller.")
    if out is not None:
        folder = out / "bench"
        files.write_json(folder / "results.json", _content(runs, scale, seed, seconds))
        files.write_whole(folder / "tables.md", markdown(tables).encode())
        print(f"Wrote {folder / 'results.json'}, {folder / 'tables.md'}")
    if plot is not None:
        draw([run["points"] for run in runs], plot)
        print(f"Wrote {plot}")


def measure(names: list[str], size: Scale, seed: int) -> Results:
    """Return the figures of one run of the cases."""
    found: dict[str, Measured] = {}
    with bars(own_thread=False) as progress:  # a thread would take time from what is measured
        for name in names:
            found[name] = CASES[name](size, seed, lambda what, turns: progress(what, turns).advance)
    return found


def processor() -> str:
    """Return the name of the processor, as far as the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _content(runs: list[Results], scale: str, seed: int, seconds: float) -> dict:
    flags = {"quick": " --quick", "usual": "", "full": " --full"}[scale] + (f" --seed {seed}" if seed else "")
    return {
        "study": "bench",
        "title": "Speed",
        "command": f"stiction bench{flags} --repeat {len(runs)} --out DIR",
        "parameters": {"scale": scale, "seed": seed, "repeat": len(runs)},
        "commit": commit(),
        "versions": versions("numpy", "mujoco-core", "dartpy", "pybullet"),
        "processor": processor(),
        "duration_s": seconds,
        "core_shared_with_others": waited(),
        "targets": [
            {"what": target.text, "aim": target.aim, "measured": values, "reached": target.reached(values)}
            for target, values in measured_targets(runs)
        ],
        "runs": [{name: measured.to_dict() for name, measured in run.items()} for run in runs],
    }


# Targets: the speed that the project aims at, beside what was measured.


Figure = tuple[str, str]  # contestant, quantity


@dataclass(frozen=True)
class Target:
    """A target: one figure of a case, by choice over another one, must be at least, or at most, `limit`."""

    text: str
    at_least: bool
    limit: float
    case: str
    figure: Figure
    over: Figure | None = None

    @property
    def aim(self) -> str:
        """The limit in words."""
        return f"{'at least' if self.at_least else 'at most'} {self.limit:g}"

    def value(self, results: Results) -> float | None:
        """Return the value in a run; None where a figure was not measured."""
        figures = results[self.case].figures if self.case in results else {}
        terms = [self.figure, self.over] if self.over else [self.figure]
        found = [value for name, quantity in terms if (value := figures.get(name, {}).get(quantity)) is not None]
        return None if len(found) < len(terms) else found[0] / (found[1] if self.over else 1.0)

    def reached(self, values: list[float]) -> str:
        """Return whether all runs reach it, none, or some."""
        yes = [value >= self.limit if self.at_least else value <= self.limit for value in values]
        return "yes" if all(yes) else "in some runs" if any(yes) else "no"


def _targets() -> list[Target]:
    one, two = bench_throws.THREADS.values()
    few, many, start = "N = 4", "N = 1,024", fresh_processes
    contact, whole, batch = Phase.CONTACT, Phase.WHOLE, core_costs.WHOLE_BATCH
    ours, rolled, law, mujoco, mujoco_rolled = Who.STEPPED, Who.ROLLED, Who.LAW, Who.MUJOCO, Who.MUJOCO_ROLLED
    return [
        Target("Batch of throws: MuJoCo's rollout over ours", True, 6, "batch", (mujoco_rolled, one), (rolled, one)),
        Target("Batch of throws, ours: one thread over two", True, 1.9, "batch", (rolled, one), (rolled, two)),
        Target("Batch of throws: a material as DART over networks", False, 1.5, "materials",
               (core_costs.AS_DART, batch), (core_costs.LEARNED, batch)),
        Target("A contact step, a call a step: ours over mj_step", False, 0.33, "throw",
               (ours, contact), (mujoco, contact)),
        Target("One throw in one call: MuJoCo's rollout over ours", True, 3, "throw",
               (mujoco_rolled, whole), (rolled, whole)),
        Target("1,024 points over 4, ours, a call a step", False, 1.1, "points", (ours, many), (ours, few)),
        Target("1,024 points over 4, ours, one call", False, 1.1, "points", (rolled, many), (rolled, few)),
        Target("1,024 points: MuJoCo with every point over ours", True, 100, "points",
               (SPHERES[mujoco], many), (ours, many)),
        Target("1,024 points: ours over Bullet's mesh", False, 1, "points", (ours, many), (MESH[Who.BULLET], many)),
        Target("Chain in contact: ours over MuJoCo's own", False, 1.8, "chain", (law, contact), (mujoco, contact)),
        Target("Chain in contact: ours over DART", False, 0.75, "chain", (law, contact), (Who.DART, contact)),
        Target("Quadruped in contact: ours over MuJoCo's own", False, 3, "quadruped",
               (law, contact), (mujoco, contact)),
        Target("A throw with CoulombLaw, from the start of the process [s]", False, 0.5, "start",
               (start.ANALYTIC, "s")),
        Target("The same with a learned law [s]", False, 0.5, "start", (start.LEARNED, "s")),
        Target("A first contact step in MuJoCo [s]", False, 1, "start", (start.ROBOT, "s")),
        Target("import stiction [s]", False, 0.15, "start", (start.IMPORT, "s")),
    ]  # fmt: skip


def measured_targets(runs: list[Results]) -> list[tuple[Target, list[float]]]:
    """Return the targets that were measured, with the value of each run."""
    found = [(target, [v for run in runs if (v := target.value(run)) is not None]) for target in _targets()]
    return [(target, values) for target, values in found if values]


def target_table(runs: list[Results]) -> Table:
    """Return the targets beside what was measured."""
    rows = [[t.text, t.aim, spread(values), t.reached(values)] for t, values in measured_targets(runs)]
    note = f"Least to greatest of {len(runs)} runs." if len(runs) > 1 else "One run."
    return Table("Aims", ["", "Aim", "Measured", "Reached"], rows, note)


def draw(runs: list[Measured], path: Path) -> None:
    """Write a PNG of the cost of a step against the number of contact points: medians over the runs, log-log."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    numbers = [int(quantity.removeprefix("N = ").replace(",", "")) for quantity in runs[0].quantities]
    engines = {Who.MUJOCO: colours.MUJOCO, Who.DART: colours.TRUTH, Who.BULLET: colours.BULLET}
    shades = {names[engine]: colour for names in (SPHERES, MESH) for engine, colour in engines.items()}
    for name in runs[0].figures:
        cost = [_median(runs, name, quantity) for quantity in runs[0].quantities]
        style = "--" if name == Who.ROLLED or name in MESH.values() else "-"
        shade, width = (shades[name], 1.4) if name in shades else (colours.STICTION, 2.4)
        axes.plot(numbers, cost, f"{style}o", markersize=4, color=colours.as_hex(shade), linewidth=width, label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(numbers, [f"{n:,}" for n in numbers])
    axes.set_xlabel("contact points")
    axes.set_ylabel("time of a step [µs]")
    axes.grid(True, which="major", color="#e3e7ec")
    axes.legend(frameon=False, fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    with files.whole_file(path) as temporary:
        figure.savefig(temporary)


def _median(runs: list[Measured], name: str, quantity: str) -> float:
    found = [run.figures[name][quantity] for run in runs if quantity in run.figures[name]]
    return float(np.median(found)) if found else float("nan")
