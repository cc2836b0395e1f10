"""What each choice in learning a law is worth: change one at a time, train, and ask fresh contacts of DART.

The paper claims that the rotation matrix is the best way to write the orientation, and that two redundant features
help. Both are about the body's state as input; the shipped laws look at the contact instead.
"""

import time
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from stiction.basics.splits import held_out
from stiction.data.collecting import run_plan
from stiction.data.ground_truth import GroundTruth
from stiction.data.plan import Plan
from stiction.data.presets import parse_body, preset
from stiction.evaluation.single_steps import evaluate, fresh_contacts
from stiction.laws.inputs import Inputs
from stiction.laws.learned import HIDDEN, KINDS
from stiction.simulation.motion import Setting
from stiction.training.choose_inputs import find_inputs
from stiction.training.examples import Instances, TrainingData, read_instances
from stiction.training.settings import FitOptions, TrainSettings
from stiction.training.training import train_law
from stiction_studies import figures
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.paper.refinement import refined_error
from stiction_studies.study import Study, kept

_HELD = 0.1  # share of the throws that are held out
_MOST = 600_000


@dataclass(frozen=True)
class Scale:
    """How much is done: training throws, optimiser steps of a network, fresh contacts of each kind.

    seeds: trainings of the variations that the paper makes claims about; of the others there is one
    """

    throws: int
    steps: int
    contacts: int
    seeds: int = 1


SCALES = {"quick": Scale(40, 150, 500), "usual": Scale(300, 1500, 5000), "full": Scale(600, 2000, 10_000, 3)}


@dataclass(frozen=True)
class Variation:
    """One way to learn a law.

    changes: to Inputs; friction "rough" stands for a guess that is off by a fifth
    share: of the training throws
    refine: a second network instead of the guess
    """

    group: str
    name: str
    changes: tuple[tuple[str, Any], ...] = ()
    hidden: tuple[int, ...] = ()
    share: float = 1.0
    approximator: str = "network"
    law: str = "augmented"
    refine: bool = False


def _vary(group: str, name: str, changes: dict[str, Any] | None = None, **rest: Any) -> Variation:
    return Variation(group, name, tuple((changes or {}).items()), **rest)


_STATE: dict[str, Any] = {"space": "state", "fold": "none", "guess": False, "scaled": False}
_NO_GUESS = {"guess": False}
_ROTATIONS = {"rotation matrix": "matrix", "quaternion": "quaternion", "Euler angles": "euler", "axis-angle": "axis"}
_REDUNDANT = {
    "with both": (True, True),
    "without the patch's centre": (False, True),
    "without its velocity": (True, False),
    "without both": (False, False),
}
_SIZES = {"16 x 16": (16, 16), "32 x 32": (32, 32), "128 x 128": (128, 128)}
_NAMES = {"network": "networks", "trees": "boosted trees", "gp": "Gaussian processes", "svm": "support vector machines"}

GROUPS = {
    "rotation": "The body's state as input: how the orientation is written",
    "redundant": "The body's state as input: the paper's two redundant features",
    "ladder": "From the state to the shipped design, one step at a time",
    "fold": "Symmetry folding, without a guess",
    "size": "Size of the networks",
    "data": "Training throws",
    "approximator": "What approximates",
    "baseline": "Purely data-driven baseline, whole impulse",
}
CLAIMS = ("rotation", "redundant")  # groups that the paper makes claims about
VARIATIONS = (
    *(_vary("rotation", name, _STATE | {"rotation": how}) for name, how in _ROTATIONS.items()),
    *(_vary("redundant", name, _STATE | {"centre": a, "slip": b}) for name, (a, b) in _REDUNDANT.items()),
    _vary("ladder", "state", _STATE),
    _vary("ladder", "state, friction / normal impulse", _STATE | {"scaled": True}),
    _vary("ladder", "contact space", {"fold": "none", "guess": False, "scaled": False}),
    _vary("ladder", "+ friction / normal impulse", {"fold": "none", "guess": False}),
    _vary("ladder", "+ symmetry folding", _NO_GUESS),
    _vary("ladder", "+ refinement by a second network", _NO_GUESS, refine=True),
    _vary("ladder", "+ rough guess instead, 20 % off", {"friction": "rough"}),
    _vary("ladder", "+ fitted guess: as shipped"),
    *(_vary("fold", fold, _NO_GUESS | {"fold": fold}) for fold in ("none", "mirror", "mirror-swap", "heading")),
    *(_vary("size", name, _NO_GUESS, hidden=size) for name, size in _SIZES.items()),
    *(_vary("data", f"{share:.0%} of them", _NO_GUESS, share=share) for share in (0.1, 0.3)),
    *(_vary("data", f"{share:.0%} of them, with guess", share=share) for share in (0.1, 0.3)),
    *(_vary("approximator", f"{name}", _NO_GUESS, approximator=how) for how, name in _NAMES.items()),
    *(_vary("approximator", f"{name}, with guess", approximator=how) for how, name in list(_NAMES.items())[1:]),
    _vary("baseline", "state", _STATE, law="statistical"),
    _vary("baseline", "contact space", law="statistical"),
)


@dataclass(frozen=True)
class Material:
    """What all variations are trained and judged on."""

    plan: Plan
    instances: Instances
    fresh: Instances
    contacts: dict
    inputs: Inputs
    setting: Setting


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Train and judge all variations, those that are not in the folder yet; print, write and publish."""
    study = Study(out, "ablation", scale, seed)
    size = SCALES[scale]
    usual = preset("box")
    plan = Plan(parse_body("box", usual.mass), GroundTruth("dantzig", (usual.friction,)), size.throws, seed=seed)
    with Console(stderr=True).status("Preparing") as status:
        material = _prepare(plan, study.folder, size, seed)
        rows = []
        for number, variation in enumerate(VARIATIONS):
            status.update(f"{number + 1} of {len(VARIATIONS)}: {variation.group}, {variation.name}")
            seeds = size.seeds if variation.group in CLAIMS else 1
            runs = [_judged(study.folder, variation, material, size, seed + k) for k in range(seeds)]
            rows.append(_summary(variation, runs))
    section = Section(study.name, "What each choice is worth", _text(rows, size), study.command, *_shown(rows, size))
    columns = {key: [row[key] for row in rows] for key in rows[0] if key != "runs"}
    study.finish(section, {"variations": rows}, columns, "torch", "scikit-learn", "dartpy")


def _prepare(plan: Plan, folder: Path, size: Scale, seed: int) -> Material:
    data = run_plan(plan, folder / "data")
    instances = read_instances(data, _MOST, seed)
    fresh = fresh_contacts(plan, size.contacts, seed)
    inputs, _ = find_inputs(TrainingData(plan.body, instances, data.setting), seed=seed)
    contacts = {kind: fresh[kind] for kind in KINDS}
    return Material(plan, instances, _instances(contacts), contacts, inputs, data.setting)


def _instances(contacts: dict) -> Instances:
    parts = [fresh.instances for fresh in contacts.values()]
    return Instances(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])})


def _judged(folder: Path, variation: Variation, material: Material, size: Scale, seed: int) -> dict[str, Any]:
    """Figures of one training, from the folder if they are there."""
    how = {key: value for key, value in asdict(variation).items() if key not in ("group", "name")}

    def measure() -> dict[str, Any]:
        began = time.monotonic()
        found = _measure(variation, material, size, seed)
        return found | {"duration_s": round(time.monotonic() - began, 1)}

    return kept(folder / "variations", [how, asdict(size), seed, material.plan.fingerprint], measure)


def _measure(variation: Variation, material: Material, size: Scale, seed: int) -> dict[str, Any]:
    inputs = _inputs(variation, material.inputs)
    throws = np.flatnonzero(material.instances.throw < variation.share * material.plan.throws)
    instances = material.instances[throws]
    seen, fresh = (TrainingData(material.plan.body, rows, material.setting) for rows in (instances, material.fresh))
    if variation.refine:
        training, unseen = seen.examples(inputs), fresh.examples(inputs)
        errors = {}
        for kind in KINDS:
            held = held_out(training[kind].throw, _HELD, seed)
            options = FitOptions(HIDDEN[kind], steps=size.steps, seed=seed)
            errors[kind.name.lower()] = {"friction_error": refined_error(training[kind], held, unseen[kind], options)}
        return errors
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # estimators that stop early are judged by what they have found
        settings = TrainSettings(
            variation.law,
            variation.approximator,
            hidden=variation.hidden,
            steps=size.steps,
            held_share=_HELD,
            seed=seed,
        )
        law = train_law(seen, settings, inputs=inputs)
    return {kind.name.lower(): evaluate(law, material.contacts[kind]) for kind in KINDS}


def _inputs(variation: Variation, found: Inputs) -> Inputs:
    changes: dict[str, Any] = dict(variation.changes)
    if changes.get("friction") == "rough":
        changes["friction"] = tuple(0.8 * mu for mu in found.friction)
    return replace(found, **changes)


def _summary(variation: Variation, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over the seeds, and the spread of the mean friction error between them."""
    row: dict[str, Any] = {"group": variation.group, "name": variation.name}
    for kind in ("point", "line", "surface"):
        for key in ("accuracy", "friction_error", "impulse_error"):
            values = [run[kind][key] for run in runs if key in run[kind]]
            row[f"{kind}_{key}"] = float(np.mean(values)) if values else None
    means = [np.mean([run[kind]["friction_error"] for kind in ("point", "line", "surface")]) for run in runs]
    row["friction_error"], row["spread"] = float(np.mean(means)), float(np.ptp(means))
    row["duration_s"] = float(np.mean([run["duration_s"] for run in runs]))
    return row | {"runs": runs}


def _shown(rows: list[dict[str, Any]], size: Scale) -> tuple[list[Table], list[Plot]]:
    tables = []
    for group, title in GROUPS.items():
        cells = [[row["name"], *_cells(row)] for row in rows if row["group"] == group]
        columns = ["", "Friction: point", "line", "surface", "Right mode: point", "line", "surface", "Training"]
        tables.append(Table(title, columns, cells))
    seeds = f"; means over {size.seeds} seeds in the first two tables" if size.seeds > 1 else ""
    tables[-1] = replace(
        tables[-1],
        note=f"{size.throws:,} training throws of the box in DART, {size.steps:,} optimiser steps a network, "
        f"{size.contacts:,} fresh contacts of each kind{seeds}. Friction: mean size of the error where the contact "
        "slides / mean size of friction. Where nothing else is said: contact space, networks, no guess.",
    )
    return tables, [_picture(rows)]


def _cells(row: dict[str, Any]) -> list[str]:
    kinds = ("point", "line", "surface")
    errors = [f"{100 * row[f'{kind}_friction_error']:.3g} %" for kind in kinds]
    modes = [row[f"{kind}_accuracy"] for kind in kinds]
    shares = [f"{100 * mode:.2f} %" if mode is not None else "-" for mode in modes]
    return [*errors, *shares, f"{row['duration_s']:.0f} s"]


def _picture(rows: list[dict[str, Any]]) -> Plot:
    names = [f"{row['group']}: {row['name']}" for row in rows]
    picture = figures.figure("Friction error of each variation", "error [%]", "", height=60 + 22 * len(rows))
    for kind, colour in zip(("point", "line", "surface"), figures.SERIES):
        values = [100 * row[f"{kind}_friction_error"] for row in rows]
        picture.add_scatter(x=values, y=names, mode="markers", name=kind, marker={"color": colour, "size": 9})
    picture.update_xaxes(**figures.log_axis(-5, 3))
    picture.update_yaxes(autorange="reversed", tickfont={"size": 10})
    return Plot(picture, "Each row is one way to learn a law; further left is better.")


def _text(rows: list[dict[str, Any]], size: Scale) -> list[str]:
    """What was found, from the figures."""
    found = {(row["group"], row["name"]): row for row in rows}
    matrix = found["rotation", "rotation matrix"]
    others = [found["rotation", name] for name in _ROTATIONS if name != "rotation matrix"]
    rotation = _verdict(matrix, others)
    both = found["redundant", "with both"]
    velocity = _verdict(both, [found["redundant", "without its velocity"]])
    centre = _verdict(both, [found["redundant", "without the patch's centre"]])
    state, shipped = found["ladder", "state"], found["ladder", "+ fitted guess: as shipped"]
    return [
        "One choice at a time is changed in how the box's law is learned; each variation is trained on the same throws "
        "and judged on the same fresh contacts of DART. Without the fitted Coulomb guess, unless it is named: with it, "
        "DART's friction leaves next to nothing to learn, and the choices could not be told apart.",
        f"The paper's claim that the rotation matrix is the best way to write the orientation: {rotation}. Its claim "
        f"that two redundant features help: of the velocity at the patch {velocity}; of the patch's centre {centre}. "
        "(Mean friction error over points, lines and surfaces.)",
        f"From the state as input to the shipped design, the mean friction error falls from "
        f"{100 * state['friction_error']:.3g} % to {100 * shipped['friction_error']:.3g} %.",
    ]


def _verdict(claimed: dict[str, Any], others: list[dict[str, Any]]) -> str:
    best = min(others, key=lambda row: row["friction_error"])
    mine, its = 100 * claimed["friction_error"], 100 * best["friction_error"]
    spread = 100 * max(claimed["spread"], best["spread"])
    figures_ = f"{mine:.3g} % against {its:.3g} % ({best['name']})"
    if abs(mine - its) <= spread:
        return f"neither confirmed nor refuted, {figures_}, which is within the spread of seeds of {spread:.2g} %"
    return f"{'confirmed' if mine < its else 'not confirmed'}, {figures_}"
