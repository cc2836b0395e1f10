"""Materials and laws inside MuJoCo: scenes of contact, third-party robots, agreement with other computations of the
same contact, the law of a real cube, and many robots at once."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics.progress import bar
from stiction.viewer.pieces import pieces_of
from stiction_studies import figures
from stiction_studies.page.motions_shown import Motion, Scene
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.robots import (
    contact_families,
    cost_growth,
    cube_in_mujoco,
    facet_impacts,
    parallel_quadrupeds,
    point_agreement,
    third_party_hands,
    third_party_robots,
)
from stiction_studies.robots.scene_catalogue import FAMILIES, Build
from stiction_studies.robots.third_party_robots import FRICTION, INSTALL, ROBOTS, ThirdPartyRobot, Trial
from stiction_studies.study import Study, number, percent

SCALES = {"quick": (1.0, 1, 5), "usual": (10.0, 3, 100), "full": (10.0, 10, 300)}  # [s] and runs of a robot, tosses
MUJOCO, STICTION = "MuJoCo alone", "stiction"
_ENGINES = {MUJOCO: third_party_robots.by_mujoco, STICTION: third_party_robots.by_stiction}
Found = dict[str, dict[str, list[Trial]]]  # robot -> who drove -> runs
COLOURS = figures.run_colours((MUJOCO, STICTION))
_TEXT = [
    "Scenes that are built by the study: heaps, structures that stand, machines, a hand, a gripper, humanoids and a "
    "quadruped; and hands of gymnasium_robotics and gym_hil. MuJoCo finds the contact points; a Coulomb material acts "
    "at all of them, and MuJoCo alone runs the same scene with the same friction.",
    "Twelve robots of Gymnasium, dm_control and robosuite, unchanged, at their own time steps. One line puts a Coulomb "
    f"material (friction {FRICTION:g}) between the floor and everything that touches it: feet, and after a fall knees, "
    "hands and heads. MuJoCo finds the contact points and does everything else.",
    "Controls are smooth random signals in their range. Spot and GR1 have torque motors and no damping; they are "
    "driven by servos with random targets near the stance.",
    "Further below: the same solver against other computations of the same contact, on a free box, the paper's chain "
    "and a quadruped of our own; the law of a real cube inside MuJoCo; and many quadrupeds at once.",
]


def run(
    out: Path,
    *,
    scale: str = "usual",
    seed: int = 0,
    robots: Sequence[ThirdPartyRobot] = ROBOTS,
    families: dict[str, dict[str, Build]] = FAMILIES,
) -> None:
    """Run all scenes and all robots that are there, print the tables, write results and publish the section."""
    study = Study(out, "robots", scale, seed)
    there = [one for one in robots if one.path]
    missing = [one for one in robots if not one.path]
    left_out = [one.name for one in missing] + third_party_hands.missing()
    if left_out:
        print(f"{_left_out(left_out)} To have them: {INSTALL}")
    models = {one.name: one.load() for one in there}
    duration, n_runs, n_tosses = SCALES[scale]
    found = _drive_all(there, models, [1000 * seed + k for k in range(n_runs)], duration)
    scenes = contact_families.measure(scale, families)
    growth = cost_growth.measure(scale, seed)
    impacts = facet_impacts.measure(scale, seed)
    goals = [*contact_families.goals(scenes.figures), cost_growth.goal(growth)]
    same = point_agreement.compare(scale, seed)
    tosses = cube_in_mujoco.compare(n_tosses, seed=seed)
    many = parallel_quadrupeds.measure(scale, seed)
    figures_of = {one.name: _figures(one, models[one.name], found[one.name]) for one in there}
    content = {
        "seconds_a_run": duration,
        "runs": n_runs,
        "friction": FRICTION,
        "left_out": left_out,
        "robots": figures_of,
        "aims": (_targets(figures_of) if there else []) + _other_targets(tosses, many),
        "scenes": scenes.figures,
        "growth": growth,
        "facet_impacts": impacts,
        "goals": [vars(one) for one in goals],
        "agreement": same,
        "cube": [one.figures() for one in tosses],
        "parallel": many,
    }
    replays = scenes.replays + [_scene(one, models[one.name], found[one.name]) for one in there]
    replays.append(cube_in_mujoco.scene(tosses))
    aims = [[aim["aim"], aim["found"], "yes" if aim["met"] else "no"] for aim in content["aims"]]
    tables = [*contact_families.tables(scenes.figures), cost_growth.table(growth), facet_impacts.table(impacts)]
    tables.append(Table("Scenes: goals", ["", "Greatest", "Met"], [one.row() for one in goals]))
    if there:
        tables += [_cost_table(content), _safety_table(content), Table("Aims", ["", "Found", "Met"], aims)]
    title = "Scenes of contact, and third-party robots"
    tables += [*point_agreement.tables(same), cube_in_mujoco.table(tosses), parallel_quadrupeds.table(many)]
    section = Section(study.name, title, _TEXT, study.command, tables, [_cost_plot(content)], replays)
    study.finish(section, content, [*scenes.rows, *_rows(found)])


def _drive_all(there: list[ThirdPartyRobot], models: dict[str, Any], seeds: list[int], duration: float) -> Found:
    found: Found = {one.name: {name: [] for name in _ENGINES} for one in there}
    with bar("Driving", len(there) * len(seeds) * len(_ENGINES)) as progress:
        for one in there:
            progress.rename(f"Driving {one.name}")
            for seed in seeds:
                for name, drive in _ENGINES.items():
                    found[one.name][name].append(drive(one, models[one.name], seed, duration))
                    progress.advance()
    return found


def _other_targets(tosses: list[cube_in_mujoco.Followed], many: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the targets of the cube and of many robots at once, in the form of `_targets`."""
    error = max(one.figures()["mean_error"] for one in tosses if one.name == cube_in_mujoco.OURS)
    allowed = 0.05  # of the cube's width, in the mean over a toss and the median over tosses
    faster, wanted = parallel_quadrupeds.ratios(many).get(parallel_quadrupeds.STICTION, 0.0), parallel_quadrupeds.TARGET
    is_parallel = many["same_bits"] and faster >= wanted
    return [
        _target(f"the cube <= {percent(allowed)} of its width off its rollout", percent(error), error <= allowed),
        _target(f"two threads >= {wanted:g} x one, same bits", f"{faster:.2f}", is_parallel),
    ]


def _left_out(names: list[str]) -> str:
    return f"Left out, as their packages are not installed: {', '.join(names)}."


def _figures(one: ThirdPartyRobot, model: Any, runs: dict[str, list[Trial]]) -> dict[str, Any]:
    """Return the figures of one robot over all its runs."""
    about = {"package": one.package, "timestep_s": float(model.opt.timestep), "degrees_of_freedom": int(model.nv)}
    result: dict[str, Any] = about | {name: _engine(trials) for name, trials in runs.items()}
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
        "points_mean": _mean(points),
        "points_max": int(points.max(initial=0)),
        "microseconds_mean": _mean(taken),
        "microseconds_max": float(taken.max(initial=0.0)),
        "slowest_over_mean": float(taken.max(initial=0.0)) / max(_mean(taken), 1e-9),
        "unsolved": unsolved,
        "unsolved_share": unsolved / max(1, len(taken)),
        "depth_m": max(trial.depth for trial in trials),
        "broken_runs": sum(not trial.finite for trial in trials),
        "warnings": dict(sorted(sum((Counter(trial.warnings) for trial in trials), Counter()).items())),
        "failed": sorted({trial.failed for trial in trials if trial.failed}),
    }


def _mean(values: NDArray) -> float:
    return float(values.mean()) if len(values) else 0.0


def _targets(robots: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the targets, what was found, and whether they are met."""
    ours = {name: one[STICTION] for name, one in robots.items()}
    times = {name: one["times_mujoco"] or np.inf for name, one in robots.items()}
    slowest = {name: one["slowest_over_mean"] for name, one in ours.items()}
    unsolved = {name: one["unsolved_share"] for name, one in ours.items()}
    allowed, allowed_gr1 = 0.005, 0.01  # share of contact steps
    many = [name for name, share in unsolved.items() if share > (allowed_gr1 if name == "GR1" else allowed)]
    broken = [name for name, one in robots.items() if ours[name]["broken_runs"] > one[MUJOCO]["broken_runs"]]
    quick, wanted = sum(ratio <= 3 for ratio in times.values()), -(-2 * len(robots) // 3)
    costly, jerky, hardest = (max(one, key=one.__getitem__) for one in (times, slowest, unsolved))
    return [
        _target(f"mean contact step <= 3 x mj_step, on {wanted} of {len(robots)}", f"{quick}", quick >= wanted),
        _target("the same <= 5 x on all", f"{times[costly]:.2f} ({costly})", times[costly] <= 5),
        _target("slowest step <= 10 x the mean", f"{slowest[jerky]:.1f} ({jerky})", slowest[jerky] <= 10),
        _target(
            f"unsolved <= {percent(allowed)} (GR1: {percent(allowed_gr1)})",
            f"{percent(unsolved[hardest])} ({hardest})",
            not many,
        ),
        _target("no run breaks that MuJoCo's own does not", ", ".join(broken) or "none", not broken),
    ]


def _target(target: str, found: str, met: bool) -> dict[str, Any]:
    return {"aim": target, "found": found, "met": bool(met)}


def _cost_table(content: dict[str, Any]) -> Table:
    rows = []
    for name, one in content["robots"].items():
        alone, ours = one[MUJOCO], one[STICTION]
        size = [f"{1e3 * one['timestep_s']:g}", f"{one['degrees_of_freedom']}"]
        points = [f"{ours['points_mean']:.1f}", f"{ours['points_max']}"]
        times = [f"{each['microseconds_mean']:.1f}" for each in (alone, ours)]
        slowest = [f"{each['slowest_over_mean']:.1f}" for each in (alone, ours)]
        ratio = f"{one['times_mujoco']:.2f}" if one["times_mujoco"] else "none"
        rows.append([name, *size, *points, *times, ratio, *slowest])
    columns = ["", "Step [ms]", "DoFs", "Points", "Most", "mj_step [µs]", "stiction [µs]", "Ratio"]
    columns += ["mj_step, slowest / mean", "stiction, slowest / mean"]
    note = (
        f"Runs of {content['seconds_a_run']:g} s, for each robot: {content['runs']}. Points: contact points with a law "
        "in a step in which something touches the floor; times are of such steps. MuJoCo's are those of its own runs "
        f"with its own contact; friction is {content['friction']:g} in both. Models with RK4 are integrated by Euler's "
        "method in both. Each run is made twice, and the shorter time of every step counts."
    )
    note += f" {_left_out(content['left_out'])}" if content["left_out"] else ""
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
        "Unsolved: the solver did not converge within its limits; the step is taken under the guards. Deepest: "
        "greatest penetration of a contact point. Broken: numbers became NaN, MuJoCo reset its state, or a run ended "
        "early."
    )
    for name, one in content["robots"].items():
        note += "".join(f" {name}: {sentence}" for sentence in one[STICTION]["failed"])
    return Table("Robots of other packages: failures", columns, rows, note)


def _cost_plot(content: dict[str, Any]) -> Plot:
    plot = figures.figure("Time of a contact step", "", "mean [µs]", barmode="group")
    robots = content["robots"]
    for name, colour in COLOURS.items():
        mean = [one[name]["microseconds_mean"] for one in robots.values()]
        plot.add_bar(x=list(robots), y=mean, name=name, marker={"color": colour})
    return Plot(plot, "Mean over all steps in which something touches the floor.")


def _scene(one: ThirdPartyRobot, model: Any, runs: dict[str, list[Trial]]) -> Scene:
    motions: dict[str, Motion] = {name: trials[0].motion for name, trials in runs.items() if trials[0].motion}
    return Scene(f"{one.name} ({one.package})", pieces_of(model), motions, "Faint: its start.")


def _rows(found: Found) -> list[dict[str, Any]]:
    return [
        {"robot": robot, "run": name, "seed": k, "step": np.arange(len(trial.points)), "seconds": trial.seconds}
        | {"points": trial.points}
        for robot, runs in found.items()
        for name, trials in runs.items()
        for k, trial in enumerate(trials)
        if len(trial.points)  # none where the model was refused
    ]
