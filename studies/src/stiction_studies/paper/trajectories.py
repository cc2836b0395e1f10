"""Whole throws of a law and of its purely data-driven baseline against the ground truth.

`trajectories` throws box, pentagon prism and planar rectangle in DART with its Dantzig solver; `nsgs` throws the box
with DART's NSGS solver. Besides the paper's metrics (final distance, final orientation, first collision impulse) they
report the final position, the face that ends below, drift at rest, penetration and energy, and how far the ground truth
is from itself when the start is perturbed a little: a lower bound on the error of any law.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from stiction.basics import checks
from stiction.bodies.state import State
from stiction.bodies.trajectory import Trajectory
from stiction.data.collection_plan import Plan
from stiction.evaluation.single_steps import plan_of
from stiction.laws.modelfile import load, load_law
from stiction.simulation.motion import MAX_START_DEPTH, Setting
from stiction.simulation.rollout import rollout
from stiction_studies import figures
from stiction_studies.page.motions_shown import Scene, scene_of_throws
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.paper import metrics
from stiction_studies.paper.metrics import STEPS, fresh_starts, throw_truth
from stiction_studies.study import Study, number, percent

OURS, BASELINE = "stiction", "PDD"
PERTURBATIONS = (1e-6, 1e-4, 1e-3)  # of the start [m, rad, m/s, rad/s]
# Time steps after a throw until drift is measured, and during which it is. Penetration recovery pushes out a body that
# an impact has driven in by a centimetre at 1 mm/s, here as in DART, and must be over before.
SETTLING_STEPS, DRIFT_STEPS = 6000, 5000


@dataclass(frozen=True)
class Scale:
    """How much is done: throws of each body, and how many of them are followed until rest to measure drift."""

    throws: int
    at_rest: int


SCALES = {"quick": Scale(8, 2), "usual": Scale(100, 10), "full": Scale(200, 30)}


@dataclass(frozen=True)
class Case:
    """A body with its law and baseline.

    title: name of the body as shown
    law, baseline: names of laws
    truth: name of the ground truth as shown
    n_replays: throws shown as replays
    """

    title: str
    law: str
    baseline: str
    truth: str = "DART"
    n_replays: int = 1


CASES = (
    Case("Box", "box", "box-pdd", n_replays=2),
    Case("Pentagon prism", "prism", "prism-pdd"),
    Case("Rectangle (2D)", "rectangle", "rectangle-pdd"),
)


@dataclass(frozen=True)
class CaseRuns:
    """The simulated throws of a case.

    plan: of the law's training data: body, ground truth, ranges of the throws
    truth: the motions of the ground truth (n,); runs: those of the others by name, from the same starts
    figures: per-throw figures by run, see metrics.compare
    drift: metres in 10 s after rest by run, of the first throws
    """

    case: Case
    plan: Plan
    truth: Trajectory
    runs: dict[str, Trajectory]
    figures: dict[str, dict[str, NDArray[np.float64]]]
    drift: dict[str, NDArray[np.float64]]


def run(out: Path, *, scale: str = "usual", seed: int = 0, law: Path | None = None) -> None:
    """Throw all bodies, print the tables, write the results and publish the section.

    law: a model file to evaluate instead of the shipped laws, beside the baseline of the same body
    """
    text = [
        "Bodies are thrown with random height, orientation, velocity and spin, and simulated for 800 steps of 2 ms: "
        "impacts, rolling, sliding, rest. The ground truth is DART, as in the paper. The law was trained on other "
        "throws of the same distribution; so was PDD, the purely data-driven baseline, which gets the same inputs and "
        "half as much data again but no physics: it predicts the impulse directly.",
        "A throw is a chain of impacts, and each one amplifies small differences. The grey lines show by how much: "
        "they are DART itself with its start perturbed by a millionth, a ten-thousandth and a thousandth.",
    ]
    cases = CASES if law is None else (_user_case(law),)
    _run_cases(Study(out, "trajectories", scale, seed), cases, "Whole throws", text)


def run_nsgs(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """The same with DART's NSGS solver as ground truth: a round friction cone with coupled normal impulses."""
    text = [
        "Beyond the paper: the same throws of the box with another ground truth. DART's NSGS solver has a round "
        "friction cone, where the paper's Dantzig solver has a box along the world axes, and couples friction and "
        "normal impulses. The method is not given which of the two it learns from.",
        "NSGS iterates to a tolerance and starts each step from the solution of the step before, so that its impulse "
        "is not quite a function of the state: a law of the state alone cannot follow it to the last digit.",
    ]
    case = Case("Box, NSGS", "box-nsgs", "box-nsgs-pdd", truth="NSGS")
    _run_cases(Study(out, "nsgs", scale, seed), (case,), "Another ground truth: NSGS", text)


def _user_case(law: Path) -> Case:
    body = load_law(law).body
    for case in CASES:
        if body.same_as(load(case.baseline).body):
            return replace(case, title=f"{case.title}, {law.name}", law=str(law))
    bodies = ", ".join(case.title for case in CASES)
    raise checks.InputError(
        f"--law must be a law of a body with a shipped baseline ({bodies}), got one of {body.shape}."
    )


def _run_cases(study: Study, cases: tuple[Case, ...], title: str, text: list[str]) -> None:
    found = [simulate_case(case, SCALES[study.scale], study.seed) for case in cases]
    summaries = [_summary(one, study.seed) for one in found]
    tables = [_overview_table(summaries, [case.truth for case in cases])]
    tables += [_details_table(summary, case.truth) for summary, case in zip(summaries, cases)]
    plots = [_error_plot(one) for one in found] + [_divergence_plot(found[0])]
    replays = [replay for one in found for replay in _replays(one)]
    section = Section(study.name, title, text, study.command, tables, plots, replays)
    parts = [
        {"body": one.case.title, "run": name, "throw": np.arange(len(one.truth.mode))}
        | {"truth_distance": metrics.distances(one.truth), **compared}
        for one in found
        for name, compared in one.figures.items()
    ]
    study.finish(section, {"cases": summaries}, parts)


def perturbed_truths(plan: Plan, truth: str, start: State, seed: int) -> dict[str, Trajectory]:
    """Throws of the ground truth from starts perturbed by each of PERTURBATIONS, by the name that is shown."""
    names = [_perturbed_name(truth, size) for size in PERTURBATIONS]
    return dict(zip(names, metrics.perturbed_throws(plan, start, PERTURBATIONS, STEPS, seed)))


def _perturbed_name(truth: str, size: float) -> str:
    return f"{truth} ± {size:.0e}".replace("e-0", "e-")


def simulate_case(case: Case, scale: Scale, seed: int) -> CaseRuns:
    """Throw with the ground truth, the law, the baseline, and the ground truth from perturbed starts."""
    laws = {OURS: load_law(case.law), BASELINE: load(case.baseline)}
    plan = plan_of(laws[OURS])
    start = fresh_starts(plan, scale.throws, seed)
    with Console(stderr=True).status(f"Throwing: {case.title}") as status:
        truth = throw_truth(plan, start)
        runs = {name: rollout(law, start, STEPS, gravity=plan.gravity) for name, law in laws.items()}
        runs |= perturbed_truths(plan, case.truth, start, seed)
        status.update(f"Measuring drift at rest: {case.title}")
        setting = Setting(plan.timestep, np.array(plan.gravity))
        compared = {**runs, case.truth: truth}
        found = {name: metrics.compare(plan.body, truth, run, setting) for name, run in compared.items()}
        steps = SETTLING_STEPS + DRIFT_STEPS
        drift = {
            name: drifts(
                plan, runs[name][: scale.at_rest], lambda s, law=law: rollout(law, s, steps, gravity=plan.gravity)
            )
            for name, law in laws.items()
        }
        drift[case.truth] = drifts(plan, truth[: scale.at_rest], lambda s: throw_truth(plan, s, steps))
    return CaseRuns(case, plan, truth, runs, found, drift)


def drifts(plan: Plan, run: Trajectory, resume: Callable[[State], Trajectory]) -> NDArray[np.float64]:
    """Distance moved along the ground [m] in 10 s, from 12 s after the end of `run` on, shape (n,).

    NaN for throws that diverged, or have sunk too deep to be resumed.
    """
    lowest = metrics.vertex_heights(plan.body, run)[:, -1].min(axis=1)
    valid = ~metrics.lost_throws(run) & (lowest >= -MAX_START_DEPTH * plan.body.diameter)
    found = np.full(len(run.mode), np.nan)
    if valid.any():
        later = resume(run[valid].state()).position[:, SETTLING_STEPS:, :2]
        found[valid] = np.linalg.norm(later[:, -1] - later[:, 0], axis=1)
    return np.where(np.isfinite(found), found, np.nan)


def _replays(found: CaseRuns) -> list[Scene]:
    """The throws that travel farthest of the first dozen."""
    case = found.case
    order = np.argsort(-metrics.distances(found.truth)[:12], kind="stable")[: case.n_replays]
    return [
        scene_of_throws(
            f"{case.title}, throw {k + 1}",
            found.plan.body,
            {case.truth: found.truth[k], **{name: found.runs[name][k] for name in (OURS, BASELINE)}},
        )
        for k in order
    ]


def _summary(found: CaseRuns, seed: int) -> dict[str, Any]:
    """The figures of a case, ready for JSON."""
    size = metrics.sizes(found.truth)
    runs = {name: metrics.summarise(compared, size, seed) for name, compared in found.figures.items()}
    for name, drift in found.drift.items():
        runs[name]["drift_10_s_m"] = drift_summary(drift)
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


def drift_summary(drift: NDArray[np.float64]) -> dict[str, Any]:
    """Number of throws, how many of them diverged, and median and greatest drift of the others [m]."""
    finite = drift[np.isfinite(drift)]
    middle, greatest = (float(np.median(finite)), float(finite.max())) if len(finite) else (None, None)
    return {"throws": len(drift), "lost": len(drift) - len(finite), "median": middle, "max": greatest}


def _overview_table(summaries: Sequence[dict[str, Any]], truths: Sequence[str]) -> Table:
    """One row a body and run."""
    rows = []
    for summary, truth in zip(summaries, truths):
        for name in [name for name in summary["runs"] if name != truth]:
            run, cells = summary["runs"][name], ["diverged"] * 5
            if "position" in run:
                cells = [
                    percent(run["position"]["share_mean"]),
                    percent(run["position"]["share_median"]),
                    f"{number(run['orientation']['median'])}°",
                    percent(run["impulse"]["share_mean"]),
                    f"{100 * run['right_face']:.1f} %",
                ]
            rows.append([f"{summary['body']}: {name}", *cells])
    columns = ["", "Position, mean", "Position, median", "Orientation, median", "First impulse, mean", "Right face"]
    note = (
        "Position errors as shares of the mean distance, impulse errors as shares of the mean first impulse of the "
        "ground truth. ± 1e-6: the ground truth against itself with position [m], orientation [rad], velocity [m/s] "
        "and spin [rad/s] of the start each perturbed by that much."
    )
    return Table("Errors at the end of a throw", columns, rows, note)


def _details_table(summary: dict[str, Any], truth: str) -> Table:
    """All figures of one body: a row a figure, a column a run."""
    runs = {name: run for name, run in summary["runs"].items() if name != truth and "position" in run}
    means = summary["truth_means"]
    of_truth: dict[str, float] = dict(zip(metrics.ERRORS, (*means.values(), means["distance_m"])))
    shown = {
        "distance": ("Distance", "mm", 1e3),
        "orientation": ("Orientation", "°", 1.0),
        "impulse": ("First impulse", "mN s", 1e3),
        "position": ("Position", "mm", 1e3),
    }
    rows = []
    for key, (name, unit, factor) in shown.items():
        found = [run[key] for run in runs.values()]
        of_runs = [number(factor * one["mean"]) for one in found]
        rows.append([f"{name}, mean error [{unit}]", number(factor * of_truth[key]), *of_runs])
        limits = [" to ".join(number(factor * limit) for limit in one["interval_95"]) for one in found]
        rows.append(["… 95 % interval", "", *limits])
        rows.append(["… relative", "", *(percent(one["share_mean"]) for one in found)])
        rows.append(["… median", "", *(number(factor * one["median"]) for one in found)])
    everyone = [summary["runs"][truth], *runs.values()]
    rows.append(["Right face", *(f"{100 * run['right_face']:.1f} %" for run in everyone)])
    rows.append(["Drift in 10 s at rest [mm]", *(_drift_cell(run) for run in everyone)])
    rows.append(["Penetration [mm]", *(number(1e3 * run["greatest_penetration_m"]) for run in everyone)])
    rows.append(["Energy gained [J]", *(number(run["greatest_energy_gain_J"]) for run in everyone)])
    note = (
        f"{summary['throws']} throws of {summary['steps']} steps of {1000 * summary['timestep_s']:g} ms. Errors of the "
        "final horizontal distance, orientation and position and of the first collision's impulse. Column of the "
        "ground truth: its means; for the orientation, the mean angle turned. Drift, penetration and energy gained by "
        "contact in a step are the greatest of all throws. Drift is measured along the ground from 12 s after the "
        "throw on, when penetration recovery is over. Penetration depends on the time step: a vertex at 5 m/s is up "
        "to 10 mm deep when contact is first detected."
    )
    diverged = [f"{name} {run['lost']}" for name, run in summary["runs"].items() if run["lost"]]
    if diverged:
        note += f" Diverged, with states that are not finite: {', '.join(diverged)}."
    return Table(f"{summary['body']}: all figures", ["", f"{truth}, mean", *runs], rows, note)


def _drift_cell(run: dict[str, Any]) -> str:
    drift = run.get("drift_10_s_m")
    if drift is None:
        return ""
    if drift["max"] is None:
        return "diverged"
    return number(1e3 * drift["max"]) + (f" ({drift['lost']} diverged)" if drift["lost"] else "")


def _error_plot(found: CaseRuns) -> Plot:
    """Share of the throws whose final position error is below x."""
    shares = np.arange(1, len(found.truth.mode) + 1) / len(found.truth.mode)
    figure = figures.figure(f"{found.case.title}: error of the final position", "error [m]", "share of throws [%]")
    for name in found.runs:
        error = np.sort(np.maximum(np.nan_to_num(found.figures[name]["position"], nan=np.inf), 1e-9))
        finite = np.isfinite(error)
        figure.add_scatter(x=error[finite], y=100 * shares[finite], mode="lines", name=name, line=_line(found, name))
    figure.update_xaxes(**figures.log_axis(-9, 1, 2))
    figure.update_yaxes(range=[0, 101])
    caption = (
        f"Further left is better. Grey: {found.case.truth} against itself with the start perturbed; a curve to the "
        "left of a grey line is closer to the ground truth than the ground truth is to itself after that perturbation."
    )
    return Plot(figure, caption)


def _divergence_plot(found: CaseRuns) -> Plot:
    """Median and 90th percentile of the distance between the positions over time."""
    title = f"{found.case.title}: distance from {found.case.truth} over time"
    figure = figures.figure(title, "time [s]", "distance [m]")
    every = slice(None, None, 8)  # a smaller page
    for name, run in found.runs.items():
        gap = np.linalg.norm(run.position - found.truth.position, axis=2)[:, every]
        gap = np.maximum(np.nan_to_num(gap, nan=np.inf), 1e-9)
        for share, dash in ((50, "solid"), (90, "dot")):
            values = np.percentile(gap, share, axis=0, method="lower")
            finite = np.isfinite(values)
            figure.add_scatter(
                x=found.truth.time[every][finite], y=values[finite], mode="lines", name=name, showlegend=share == 50,
                legendgroup=name, line={**_line(found, name), "dash": dash},
            )  # fmt: skip
    figure.update_yaxes(**figures.log_axis(-9, 1, 2))
    return Plot(figure, "Solid: median over the throws. Dotted: 90th percentile.")


def _line(found: CaseRuns, name: str) -> dict[str, Any]:
    names = [_perturbed_name(found.case.truth, size) for size in PERTURBATIONS]
    greys = dict(zip(names, ("#c9ced6", "#a3abb6", "#6f7884")))
    if name in greys:
        return {"color": greys[name], "width": 1.5}
    return {"color": figures.COLOURS[{OURS: "stiction", BASELINE: "PDD"}[name]], "width": 2.5}
