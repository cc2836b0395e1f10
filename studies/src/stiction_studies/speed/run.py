"""`stiction bench`: run the cases, print their tables, and write what was asked for."""

import platform
import time
from pathlib import Path

from stiction.basics import checks, files
from stiction.basics.environment import commit, versions
from stiction.basics.progress import bars
from stiction_studies.speed import batch, chain, materials, points, processes, profile, quadruped, throw
from stiction_studies.speed.common import SCALES, Case, Scale
from stiction_studies.speed.measured import Measured, table
from stiction_studies.speed.targets import Results, measured_targets, target_table
from stiction_studies.study import markdown, print_tables
from stiction_studies.timing import waited

CASES: dict[str, Case] = {
    "throw": throw.run,
    "batch": batch.run,
    "materials": materials.run,
    "points": points.run,
    "chain": chain.run,
    "quadruped": quadruped.run,
    "start": processes.start,
    "memory": processes.memory,
    "profile": profile.run,
}
_MOST_RUNS = 1000
BUSY = 0.05  # share of the time that others may take of the core
_PACKAGES = ("numpy", "mujoco-core", "dartpy", "pybullet")


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
    repeat, seed = checks.count("repeat", repeat, 1, _MOST_RUNS), checks.count("seed", seed, 0)
    names = [checks.choice("case", name, tuple(CASES)) for name in only] or list(CASES)
    if plot is not None and "points" not in names:
        raise checks.InputError("The plot shows the case points, which is not among those to run.")
    if plot is not None and plot.suffix != ".png":
        raise checks.InputError(f"The plot is a .png file, got {plot}.")
    began = time.perf_counter()
    runs = [measure(names, SCALES[checks.choice("scale", scale, tuple(SCALES))], seed) for _ in range(repeat)]
    tables = [table([run[name] for run in runs]) for name in names]
    aims = target_table(runs)
    tables += [aims] if aims.rows else []
    print_tables(tables)
    seconds = round(time.perf_counter() - began, 1)
    print(f"\n{seconds} s on {processor()}")
    if waited() > BUSY:
        print(f"Other processes took {100 * waited():.0f} % of the core: on a quiet machine figures are smaller.")
    if out is not None:
        folder = out / "bench"
        files.write_json(folder / "results.json", _content(runs, scale, seed, seconds))
        files.write_whole(folder / "tables.md", markdown(tables).encode())
        print(f"Wrote {folder / 'results.json'}, {folder / 'tables.md'}")
    if plot is not None:
        from stiction_studies.speed.plot import draw

        draw([run["points"] for run in runs], plot)
        print(f"Wrote {plot}")


def measure(names: list[str], size: Scale, seed: int) -> Results:
    """One run of the cases."""
    found: dict[str, Measured] = {}
    with bars(own_thread=False) as begin:  # a thread would take time from what is measured
        for name in names:
            found[name] = CASES[name](size, seed, lambda what, turns: begin(what, turns).advance)
    return found


def processor() -> str:
    """The name of the processor, as far as the system tells."""
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
        "versions": versions(*_PACKAGES),
        "processor": processor(),
        "duration_s": seconds,
        "core_shared_with_others": waited(),
        "targets": [
            {"what": target.text, "aim": target.aim, "measured": values, "reached": target.reached(values)}
            for target, values in measured_targets(runs)
        ],
        "runs": [{name: measured.to_dict() for name, measured in run.items()} for run in runs],
    }
