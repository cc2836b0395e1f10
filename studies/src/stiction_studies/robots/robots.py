"""Materials and laws inside MuJoCo: robots that nobody here made, agreement with what computes the same contact in
another way, the law of a real cube, and many robots at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics.checks import InputError
from stiction.basics.progress import bar
from stiction.viewer.pieces import pieces_of
from stiction_studies import figures
from stiction_studies.page.motions_shown import Motion, Scene
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.robots import agreement, cube, parallel
from stiction_studies.robots.strangers import INSTALL, STRANGERS, Stranger
from stiction_studies.robots.trials import FRICTION, Trial, by_mujoco, by_stiction
from stiction_studies.study import Study, joined, number, percent

DURATION = {"quick": 1.0, "usual": 10.0, "full": 10.0}  # [s] of a run
SEEDS = {"quick": 1, "usual": 3, "full": 10}  # runs of each robot
TOSSES = {"quick": 5, "usual": 100, "full": 300}  # of the cube
MUJOCO, STICTION = "MuJoCo alone", "stiction"
_ENGINES = {MUJOCO: by_mujoco, STICTION: by_stiction}
Found = dict[str, dict[str, list[Trial]]]  # robot -> who drove -> runs
COLOURS = figures.run_colours((MUJOCO, STICTION))
# Aims:
OFTEN, ALWAYS = 3.0, 5.0  # mean time of a contact step over that of mj_step, on two robots of three and on all
SLOWEST = 10.0  # time of the slowest contact step over the mean
UNSOLVED, UNSOLVED_GR1 = 0.005, 0.01  # share of contact steps
ASTRAY = 0.05  # of the cube's width, in the mean over a toss and the median over tosses
_TEXT = [
    "Twelve robots of Gymnasium, dm_control and robosuite, as these packages bring them, at their own time steps. One "
    f"line puts a Coulomb material (friction {FRICTION:g}) between the floor and everything that meets it: feet, and "
    "after a fall knees, hands and heads. MuJoCo finds the contact points and does everything else.",
    "Controls wander at random through their range. Spot and GR1 have bare torques as motors and no damping; servos "
    "whose targets wander about the stance drive them.",
    "Further below: the same solver against what computes the same contact in another way, on a free box, the paper's "
    "chain and a quadruped of our own; the law of a real cube inside MuJoCo; and many quadrupeds at once.",
]


def run(out: Path, *, scale: str = "usual", seed: int = 0, strangers: Sequence[Stranger] = STRANGERS) -> None:
    """Drive all robots that are there, print the tables, write results and publish the section."""
    study = Study(out, "robots", scale, seed)
    there = [one for one in strangers if one.path]
    missing = [one for one in strangers if not one.path]
    if not there:
        raise InputError(f"None of the robots' packages is installed: {INSTALL}")
    if missing:
        print(f"{_left_out(missing)} To have them: {INSTALL}")
    models = {one.name: one.load() for one in there}
    found = _drive_all(there, models, [1000 * seed + k for k in range(SEEDS[scale])], DURATION[scale])
    others = _others(scale, seed)
    robots = {one.name: _about(one, models[one.name]) | _figures(found[one.name]) for one in there}
    content = {
        "seconds_a_run": DURATION[scale],
        "runs": SEEDS[scale],
        "friction": FRICTION,
        "left_out": [one.name for one in missing],
        "robots": robots,
        "aims": _aims(robots) + others.aims,
        **others.content,
    }
    scenes = [_scene(one, models[one.name], found[one.name]) for one in there] + others.scenes
    tables = [_cost_table(content, missing), _safety_table(content), _aims_table(content), *others.tables]
    title = "Robots that nobody here made"
    section = Section(study.name, title, _TEXT, study.command, tables, [_cost_plot(content)], scenes)
    study.finish(
        section, content, joined(_rows(found)), "mujoco-core", "dartpy", *dict.fromkeys(one.package for one in there)
    )


def _drive_all(there: list[Stranger], models: dict[str, Any], seeds: list[int], duration: float) -> Found:
    found: Found = {one.name: {name: [] for name in _ENGINES} for one in there}
    with bar("Driving", len(there) * len(seeds) * len(_ENGINES)) as progress:
        for one in there:
            progress.rename(f"Driving {one.name}")
            for seed in seeds:
                for name, drive in _ENGINES.items():
                    found[one.name][name].append(drive(one, models[one.name], seed, duration))
                    progress.advance()
    return found


@dataclass(frozen=True)
class _Others:
    """What the study tells besides the robots of other packages."""

    content: dict[str, Any]
    tables: list[Table]
    scenes: list[Scene]
    aims: list[dict[str, Any]]


def _others(scale: str, seed: int) -> _Others:
    same = agreement.compare(scale, seed)
    tosses = cube.compare(TOSSES[scale], seed=seed)
    many = parallel.measure(scale, seed)
    figures = [one.figures() for one in tosses]
    astray = max(one["mean_error"] for one in figures if one["name"] == cube.OURS)
    faster = parallel.ratios(many).get(parallel.STICTION, 0.0)
    return _Others(
        {"agreement": same, "cube": figures, "parallel": many},
        [*agreement.tables(same), cube.table(tosses), parallel.table(many)],
        [cube.scene(tosses)],
        [
            _aim(f"the cube <= {percent(ASTRAY)} of its width from its own rollout", percent(astray), astray <= ASTRAY),
            _aim(f"two threads >= {parallel.AIM:g} x one, same bits", f"{faster:.2f}", _is_parallel(many, faster)),
        ],
    )


def _is_parallel(many: dict[str, Any], faster: float) -> bool:
    return many["same_bits"] and faster >= parallel.AIM


def _left_out(missing: list[Stranger]) -> str:
    return f"Left out, as their packages are not installed: {', '.join(one.name for one in missing)}."


def _about(one: Stranger, model: Any) -> dict[str, Any]:
    return {"package": one.package, "timestep_s": float(model.opt.timestep), "degrees_of_freedom": int(model.nv)}


def _figures(runs: dict[str, list[Trial]]) -> dict[str, Any]:
    """The figures of one robot, of all its runs together."""
    result: dict[str, Any] = {name: _engine(trials) for name, trials in runs.items()}
    alone, ours = result[MUJOCO], result[STICTION]
    touched = alone["contact_steps"] and ours["contact_steps"]
    result["times_mujoco"] = ours["microseconds_mean"] / alone["microseconds_mean"] if touched else None
    return result


def _engine(trials: list[Trial]) -> dict[str, Any]:
    taken = 1e6 * np.concatenate([trial.seconds[trial.touching] for trial in trials])
    points = np.concatenate([trial.points[trial.touching] for trial in trials])
    unsolved = sum(trial.unsolved for trial in trials)
    return {
        "contact_steps": len(taken),
        "points_mean": _of(points, np.mean),
        "points_max": int(_of(points, np.max)),
        "microseconds_mean": _of(taken, np.mean),
        "microseconds_max": _of(taken, np.max),
        "slowest_over_mean": _of(taken, np.max) / max(_of(taken, np.mean), 1e-9),
        "unsolved": unsolved,
        "unsolved_share": unsolved / max(1, len(taken)),
        "depth_m": max(trial.depth for trial in trials),
        "broken_runs": sum(not trial.finite for trial in trials),
        "warnings": _summed(trials),
        "failed": sorted({trial.failed for trial in trials if trial.failed}),
    }


def _of(values: NDArray, what: Any) -> float:
    return float(what(values)) if len(values) else 0.0


def _summed(trials: list[Trial]) -> dict[str, int]:
    names = sorted({name for trial in trials for name in trial.warnings})
    return {name: sum(trial.warnings.get(name, 0) for trial in trials) for name in names}


def _aims(robots: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """What was aimed at, what was found, and whether that is enough."""
    ours = {name: one[STICTION] for name, one in robots.items()}
    times = {name: one["times_mujoco"] or np.inf for name, one in robots.items()}
    slowest = {name: one["slowest_over_mean"] for name, one in ours.items()}
    unsolved = {name: one["unsolved_share"] for name, one in ours.items()}
    many = [name for name, share in unsolved.items() if share > (UNSOLVED_GR1 if name == "GR1" else UNSOLVED)]
    broken = [name for name, one in robots.items() if ours[name]["broken_runs"] > one[MUJOCO]["broken_runs"]]
    quick, wanted = sum(ratio <= OFTEN for ratio in times.values()), -(-2 * len(robots) // 3)
    costly, jerky, hardest = (max(one, key=one.__getitem__) for one in (times, slowest, unsolved))
    return [
        _aim(f"mean contact step <= {OFTEN:g} x mj_step, on {wanted} of {len(robots)}", f"{quick}", quick >= wanted),
        _aim(f"the same <= {ALWAYS:g} x on all", f"{times[costly]:.2f} ({costly})", times[costly] <= ALWAYS),
        _aim(f"slowest step <= {SLOWEST:g} x the mean", f"{slowest[jerky]:.1f} ({jerky})", slowest[jerky] <= SLOWEST),
        _aim(
            f"unsolved <= {percent(UNSOLVED)} (GR1: {percent(UNSOLVED_GR1)})",
            f"{percent(unsolved[hardest])} ({hardest})",
            not many,
        ),
        _aim("no run breaks that MuJoCo's own does not", ", ".join(broken) or "none", not broken),
    ]


def _aim(aim: str, found: str, met: bool) -> dict[str, Any]:
    return {"aim": aim, "found": found, "met": bool(met)}


def _cost_table(content: dict[str, Any], missing: list[Stranger]) -> Table:
    rows = []
    for name, one in content["robots"].items():
        alone, ours = one[MUJOCO], one[STICTION]
        size = [f"{1e3 * one['timestep_s']:g}", f"{one['degrees_of_freedom']}"]
        points = [f"{ours['points_mean']:.1f}", f"{ours['points_max']}"]
        times = [f"{each['microseconds_mean']:.1f}" for each in (alone, ours)]
        slowest = [f"{each['slowest_over_mean']:.1f}" for each in (alone, ours)]
        ratio = f"{one['times_mujoco']:.2f}" if one["times_mujoco"] else "none"
        rows.append([name, *size, *points, *times, ratio, *slowest])
    columns = ["", "Step [ms]", "Freedoms", "Points", "Most", "mj_step [µs]", "stiction [µs]", "Ratio"]
    columns += ["mj_step, slowest / mean", "stiction, slowest / mean"]
    note = (
        f"Runs of {content['seconds_a_run']:g} s, for each robot: {content['runs']}. Points: with a law, in a step in "
        "which something touches the floor; times are of such steps. MuJoCo's are those of its own runs, in which it "
        f"solves the same contacts in its own way; friction is {content['friction']:g} in both. Models that ask for "
        "RK4 take Euler's method in both. Each run is made twice, and of every step the shorter time counts."
    )
    note += f" {_left_out(missing)}" if missing else ""
    return Table("Robots of other packages: time of a contact step", columns, rows, note)


def _safety_table(content: dict[str, Any]) -> Table:
    rows = []
    for name, one in content["robots"].items():
        alone, ours = one[MUJOCO], one[STICTION]
        unsolved = [f"{ours['contact_steps']:,}", f"{ours['unsolved']:,}", percent(ours["unsolved_share"])]
        depth = [number(1e3 * each["depth_m"]) for each in (alone, ours)]
        rows.append([name, *unsolved, *depth, *(f"{each['broken_runs']}" for each in (alone, ours))])
    columns = ["", "Contact steps", "Unsolved", "Share", "MuJoCo: deepest [mm]", "stiction: deepest [mm]"]
    columns += ["MuJoCo: broken runs", "stiction: broken runs"]
    note = (
        "Unsolved: no impulses were found in time that fulfil all points' laws; the step is taken under the guards. "
        "Deepest: greatest distance of a contact point below the floor. Broken: numbers were lost, MuJoCo began anew, "
        "or a run ended early."
    )
    for name, one in content["robots"].items():
        note += "".join(f" {name}: {sentence}" for sentence in one[STICTION]["failed"])
    return Table("Robots of other packages: what goes wrong", columns, rows, note)


def _aims_table(content: dict[str, Any]) -> Table:
    rows = [[aim["aim"], aim["found"], "yes" if aim["met"] else "no"] for aim in content["aims"]]
    return Table("Aims", ["", "Found", "Met"], rows)


def _cost_plot(content: dict[str, Any]) -> Plot:
    plot = figures.figure("Time of a contact step", "", "mean [µs]", barmode="group")
    robots = content["robots"]
    for name, colour in COLOURS.items():
        mean = [one[name]["microseconds_mean"] for one in robots.values()]
        plot.add_bar(x=list(robots), y=mean, name=name, marker={"color": colour})
    return Plot(plot, "Mean over all steps in which something touches the floor.")


def _scene(one: Stranger, model: Any, runs: dict[str, list[Trial]]) -> Scene:
    motions: dict[str, Motion] = {name: trials[0].motion for name, trials in runs.items() if trials[0].motion}
    return Scene(f"{one.name} ({one.package})", pieces_of(model), motions, "Faint: how it began.")


def _rows(found: Found) -> list[dict[str, Any]]:
    return [
        {"robot": robot, "run": name, "seed": k, "step": np.arange(len(trial.points)), "seconds": trial.seconds}
        | {"points": trial.points}
        for robot, runs in found.items()
        for name, trials in runs.items()
        for k, trial in enumerate(trials)
        if len(trial.points)  # none where the model was refused
    ]
