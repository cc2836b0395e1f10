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
from rich.status import Status
from sklearn.exceptions import ConvergenceWarning

from stiction.data.collecting import run_plan
from stiction.data.dataset import DataSet
from stiction.evaluation.single_steps import plan_of
from stiction.laws.learned import AugmentedLaw, StatisticalLaw
from stiction.laws.modelfile import load
from stiction.training.choose_inputs import find_inputs
from stiction.training.examples import Instances, TrainingData, read_instances
from stiction.training.settings import Switches, TrainSettings
from stiction.training.training import train_law
from stiction_studies import figures
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.paper.metrics import EvaluationSet
from stiction_studies.study import Study, number, percent

APPROXIMATORS = {"network": "networks", "trees": "trees", "gp": "Gaussian process", "svm": "SVM"}
TrainedLaw = AugmentedLaw | StatisticalLaw
GUESSES = {True: "with the guess", False: "without"}


@dataclass(frozen=True)
class Scale:
    """How much is done.

    throws: numbers of training throws; steps: optimiser steps of networks
    contacts: fresh contacts of each kind of patch; tests: fresh throws
    approximators: keys of APPROXIMATORS
    """

    throws: tuple[int, ...]
    steps: int
    contacts: int
    tests: int
    approximators: tuple[str, ...] = tuple(APPROXIMATORS)


SCALES = {
    "quick": Scale((10,), 300, 500, 4, ("network", "svm")),  # the others are slow even with few data
    "usual": Scale((10, 30, 100), 1500, 4000, 25),
    "full": Scale((10, 30, 100, 300), 2000, 10_000, 50),
}


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Train and evaluate all laws, print the table, write the results and publish the section."""
    study = Study(out, "efficiency", scale, seed)
    size = SCALES[scale]
    plan = replace(plan_of(load("box")), throws=max(size.throws))
    tests = EvaluationSet.drawn(plan, contacts=size.contacts, throws=size.tests, seed=seed)
    with TemporaryDirectory(prefix="stiction-") as folder:
        run_plan(plan, Path(folder) / "data")
        data = DataSet(Path(folder) / "data")
        instances = read_instances(data, 600_000, seed)
    rows = []
    with Console(stderr=True).status("") as status:
        for throws, name, guess, law in _train_all(data, instances, size, seed, status):
            status.update(f"Evaluating: {name}, {throws} throws")
            rows.append({"throws": throws, "approximator": name, "guess": guess} | evaluate(law, tests, seed))
    text = [
        "How many throws does a law need? Laws for the box are trained on the first 10, 30, 100, ... throws of one "
        "data set, and evaluated on contacts and throws of DART that none of them has seen. Classifier and regressor "
        "are networks, gradient-boosted trees, Gaussian processes or support vector machines.",
        "A law guesses friction with a rough Coulomb model, fitted to the data, and learns only the residual. DART "
        "obeys Coulomb's law, so that the guess alone is nearly right. Each approximator is also trained without it, "
        "and must then learn friction from scratch, as it would on a material that obeys another law.",
    ]
    plots = [
        _plot(rows, "position_share_mean", "Final position, mean error"),
        _plot(rows, "friction_error", "Friction, one-step error"),
    ]
    section = Section(study.name, "How much data", text, study.command, [_table(rows, size)], plots)
    study.finish(section, {"laws": rows}, rows)


def _train_all(
    data: DataSet, instances: Instances, size: Scale, seed: int, status: Status
) -> Iterator[tuple[int, str, bool, TrainedLaw]]:
    """Train and yield (training throws, approximator, whether with the guess, law), one law after the other."""
    for throws in size.throws:
        some = TrainingData(data.body, instances[np.flatnonzero(instances.throw < throws)], data.setting)
        for guess in GUESSES:
            status.update(f"Fitting the inputs: {throws} throws")
            inputs, _ = find_inputs(some, Switches(guess=guess), seed)
            for name in size.approximators:
                status.update(f"Training: {APPROXIMATORS[name]}, {throws} throws, {GUESSES[guess]}")
                started = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)  # few data
                    settings = TrainSettings(approximator=name, steps=size.steps, seed=seed)
                    law = train_law(some, settings, inputs=inputs)
                law.info["training_s"] = round(time.perf_counter() - started, 1)
                yield throws, name, guess, law


def evaluate(law: TrainedLaw, tests: EvaluationSet, seed: int) -> dict[str, float]:
    """Figures of one law: single contacts, means over the kinds of patch, and whole throws."""
    found = tests.evaluate(law, seed)
    kinds, throws = found["kinds"].values(), found["throws"]
    return {
        "instances": sum(law.info["instances"].values()),
        "training_s": law.info["training_s"],
        "friction_error": float(np.mean([f["friction_error"] for f in kinds if "friction_error" in f])),
        "impulse_error": float(np.mean([f["impulse_error"] for f in kinds])),
        "accuracy": float(np.mean([f["accuracy"] for f in kinds])),
        "position_share_mean": throws.get("mean", np.nan),
        "position_share_median": throws.get("median", np.nan),
        "right_face": throws["right_face"],
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
        f"face: {size.tests} fresh throws. Kernel machines are trained on a subset of large data, since their cost "
        "grows with its square or cube."
    )
    return Table("Error against the number of training throws", columns, cells, note)


def _plot(rows: list[dict[str, Any]], key: str, title: str) -> Plot:
    series = {}
    for name, colour in zip(APPROXIMATORS, figures.SERIES):
        for guess, dash in ((True, "solid"), (False, "dot")):
            some = [row for row in rows if row["approximator"] == name and row["guess"] == guess]
            if some:
                x, y = [row["throws"] for row in some], [100 * row[key] for row in some]
                series[f"{APPROXIMATORS[name]}, {GUESSES[guess]}"] = x, y, {"color": colour, "dash": dash}
    caption = "Solid: correcting the fitted Coulomb guess. Dotted: learning friction from scratch."
    return Plot(figures.against_throws(title, series, lowest=-3), caption)
