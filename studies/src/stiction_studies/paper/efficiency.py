"""Data efficiency: error against the number of training throws, for networks, boosted trees, Gaussian processes and
support vector machines, with the fitted Coulomb guess of friction that they correct, and without it."""

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning

from stiction.bodies.state import State
from stiction.bodies.trajectory import Trajectory
from stiction.data.collecting import run_plan
from stiction.data.dataset import DataSet
from stiction.data.plan import Plan
from stiction.evaluation.single_steps import Fresh, evaluate, fresh_contacts, plan_of
from stiction.laws.modelfile import load
from stiction.simulation.rollout import rollout
from stiction.training.choose_inputs import find_inputs
from stiction.training.examples import Instances, TrainingData, read_instances
from stiction.training.settings import Switches, TrainSettings
from stiction.training.training import train_law
from stiction_studies import figures
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.paper import metrics
from stiction_studies.paper.motions import STEPS, fresh_starts, throw_truth
from stiction_studies.study import Study, number, percent

APPROXIMATORS = {"network": "networks", "trees": "trees", "gp": "Gaussian process", "svm": "SVM"}
GUESSES = {True: "with the guess", False: "without"}
_WHOLE = 600_000  # instances of each kind that are read at most


@dataclass(frozen=True)
class Scale:
    """How much is done.

    throws: numbers of training throws; steps: of the optimiser, of networks
    contacts: fresh contacts of each kind; tests: fresh throws
    approximators: of APPROXIMATORS
    """

    throws: tuple[int, ...]
    steps: int
    contacts: int
    tests: int
    approximators: tuple[str, ...] = tuple(APPROXIMATORS)


SCALES = {
    "quick": Scale((10,), 300, 500, 4, ("network", "svm")),  # the others take their time even with few data
    "usual": Scale((10, 30, 100), 1500, 4000, 25),
    "full": Scale((10, 30, 100, 300), 2000, 10_000, 50),
}
_TEXT = [
    "How many throws does a law need? Laws for the box are trained on the first 10, 30, 100, ... throws of one data "
    "set, and judged on contacts and throws of DART that none of them has seen. What approximates the classifier and "
    "the regressor can be exchanged: networks, gradient-boosted trees, Gaussian processes, support vector machines.",
    "A law guesses friction with a rough Coulomb model, fitted to the data, and only learns what the guess lacks. DART "
    "obeys Coulomb's law, so that the guess alone is nearly right. Each approximator is also trained without it, and "
    "must learn friction from scratch then, as it would on a material that obeys another law.",
]


@dataclass(frozen=True)
class Exam:
    """What laws are judged on: fresh contacts by kind, and throws of the ground truth from fresh starts."""

    plan: Plan
    contacts: dict[Any, Fresh]
    start: State
    truth: Trajectory


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Train and judge all laws, print the table, write results and publish the section."""
    study = Study(out, "efficiency", scale, seed)
    size = SCALES[scale]
    plan = replace(plan_of(load("box")), throws=max(size.throws))
    start = fresh_starts(plan, size.tests, seed)
    exam = Exam(plan, fresh_contacts(plan, size.contacts, seed), start, throw_truth(plan, start))
    with TemporaryDirectory(prefix="stiction-") as folder:
        run_plan(plan, Path(folder) / "data")
        data = DataSet(Path(folder) / "data")
        instances = read_instances(data, _WHOLE, seed)
    rows = []
    with Console(stderr=True).status("") as status:
        for number_of_throws, name, guess, law in _laws(plan, data, instances, size, seed, status):
            status.update(f"Judging: {name}, {number_of_throws} throws")
            rows.append({"throws": number_of_throws, "approximator": name, "guess": guess} | judge(law, exam))
    wanted = (("position_share_mean", "Final position, mean error"), ("friction_error", "Friction, one-step error"))
    plots = [_picture(rows, key, title) for key, title in wanted]
    section = Section(study.name, "How much data", _TEXT, study.command, [_table(rows, size)], plots)
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    study.finish(section, {"laws": rows}, columns, "torch", "scikit-learn", "dartpy")


def _laws(plan: Plan, data: DataSet, instances: Instances, size: Scale, seed: int, status) -> Iterator[tuple]:
    """(training throws, approximator, whether with the guess, law) of all laws, each trained when it is asked for."""
    for throws in size.throws:
        some = TrainingData(data.body, instances[np.flatnonzero(instances.throw < throws)], data.setting)
        for guess in GUESSES:
            status.update(f"Looking at the data: {throws} throws")
            inputs, _ = find_inputs(some, Switches(guess=guess), seed)
            for name in size.approximators:
                status.update(f"Training: {APPROXIMATORS[name]}, {throws} throws, {GUESSES[guess]}")
                began = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)  # few data: what is found is judged below
                    settings = TrainSettings(approximator=name, steps=size.steps, seed=seed)
                    law = train_law(some, settings, inputs=inputs)
                law.info["training_s"] = round(time.perf_counter() - began, 1)
                yield throws, name, guess, law


def judge(law, exam: Exam) -> dict[str, float]:
    """Figures of one law: single contacts, means over the kinds of patch, and whole throws."""
    found = [evaluate(law, fresh) for fresh in exam.contacts.values()]
    slid = [f["friction_error"] for f in found if "friction_error" in f]  # a kind that never slides has none
    run = rollout(law, exam.start, STEPS, gravity=exam.plan.gravity)
    error = np.linalg.norm(run.position[:, -1] - exam.truth.position[:, -1], axis=1)
    distance = metrics.distances(exam.truth).mean()
    right = metrics.faces_down(law.body, run.quaternion[:, -1])
    return {
        "instances": sum(law.info["instances"].values()),
        "training_s": law.info["training_s"],
        "friction_error": float(np.mean(slid)),
        "impulse_error": float(np.mean([f["impulse_error"] for f in found])),
        "accuracy": float(np.mean([f["accuracy"] for f in found])),
        "position_share_mean": float(error.mean() / distance),
        "position_share_median": float(np.median(error) / distance),
        "right_face": float(np.mean(right == metrics.faces_down(law.body, exam.truth.quaternion[:, -1]))),
    }


def _table(rows: list[dict[str, Any]], size: Scale) -> Table:
    cells = [
        [
            f"{row['throws']:,} throws, {APPROXIMATORS[row['approximator']]}, {GUESSES[row['guess']]}",
            percent(row["friction_error"]),
            f"{100 * row['accuracy']:.2f} %",
            percent(row["position_share_mean"]),
            percent(row["position_share_median"]),
            f"{100 * row['right_face']:.0f} %",
            f"{number(row['training_s'])} s",
        ]
        for row in rows
    ]
    columns = ["", "Friction", "Right mode", "Position, mean", "Position, median", "Right face", "Training"]
    note = (
        f"Friction and mode: {size.contacts:,} fresh contacts of each kind of patch, mean over the kinds. Position and "
        f"face: {size.tests} fresh throws. Kernel machines are trained on a share of large data, since their cost "
        "grows with the square or the cube of it."
    )
    return Table("Error against the number of training throws", columns, cells, note)


def _picture(rows: list[dict[str, Any]], key: str, title: str) -> Plot:
    figure = figures.figure(title, "training throws", "error [%]")
    for name, colour in zip(APPROXIMATORS, figures.SERIES):
        for guess, dash in ((True, "solid"), (False, "dot")):
            mine = [row for row in rows if row["approximator"] == name and row["guess"] == guess]
            if not mine:
                continue
            figure.add_scatter(
                x=[row["throws"] for row in mine],
                y=[100 * row[key] for row in mine],
                mode="lines+markers",
                name=f"{APPROXIMATORS[name]}, {GUESSES[guess]}",
                line={"color": colour, "dash": dash, "width": 2},
            )
    figure.update_xaxes(**figures.log_axis(1, 3))
    figure.update_yaxes(**figures.log_axis(-3, 2))
    figure.update_layout(xaxis_range=[0.9, np.log10(max(row["throws"] for row in rows)) + 0.1])
    return Plot(figure, "Solid: correcting the fitted Coulomb guess. Dotted: learning friction from scratch.")
