"""The value of each choice in learning a law: change one at a time, train, and evaluate on fresh contacts of DART.

The paper claims that the rotation matrix is the best encoding of the orientation, and that two redundant features help.
Both are about the body's state as input; the shipped laws describe the contact instead.
"""

import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from stiction.basics.splits import held_out
from stiction.bodies.state import Kind, Mode
from stiction.data.collecting import run_plan
from stiction.data.collection_plan import Plan
from stiction.data.ground_truth import GroundTruth
from stiction.data.presets import parse_body, preset
from stiction.evaluation.single_steps import Fresh, evaluate, fresh_contacts
from stiction.laws.approximators import FARTHEST, Network
from stiction.laws.inputs import Inputs
from stiction.laws.learned import HIDDEN, KINDS
from stiction.simulation.motion import Setting
from stiction.training.choose_inputs import find_inputs
from stiction.training.examples import Examples, Instances, TrainingData, read_instances
from stiction.training.fitters import fit_regressor
from stiction.training.settings import FitOptions, TrainSettings
from stiction.training.training import train_law
from stiction_studies import figures
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.study import Study, kept

PATCHES = ("point", "line", "surface")
HELD_OUT = 0.1  # share of the throws


@dataclass(frozen=True)
class Scale:
    """How much is done: training throws, optimiser steps of a network, fresh contacts of each kind of patch.

    seeds: trainings of the variations that the paper makes claims about; the others are trained once
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
    changes: Mapping[str, Any] = field(default_factory=dict)
    hidden: tuple[int, ...] = ()
    share: float = 1.0
    approximator: str = "network"
    law: str = "augmented"
    refine: bool = False

    @property
    def key(self) -> dict[str, Any]:
        """Everything that decides the figures, ready for JSON."""
        fields = {name: value for name, value in vars(self).items() if name not in ("group", "name")}
        return fields | {"changes": list(self.changes.items())}


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
    *(Variation("rotation", name, _STATE | {"rotation": key}) for name, key in _ROTATIONS.items()),
    *(Variation("redundant", name, _STATE | {"centre": a, "slip": b}) for name, (a, b) in _REDUNDANT.items()),
    Variation("ladder", "state", _STATE),
    Variation("ladder", "state, friction / normal impulse", _STATE | {"scaled": True}),
    Variation("ladder", "contact space", {"fold": "none", "guess": False, "scaled": False}),
    Variation("ladder", "+ friction / normal impulse", {"fold": "none", "guess": False}),
    Variation("ladder", "+ symmetry folding", _NO_GUESS),
    Variation("ladder", "+ refinement by a second network", _NO_GUESS, refine=True),
    Variation("ladder", "+ rough guess instead, 20 % off", {"friction": "rough"}),
    Variation("ladder", "+ fitted guess: as shipped"),
    *(Variation("fold", fold, _NO_GUESS | {"fold": fold}) for fold in ("none", "mirror", "mirror-swap", "heading")),
    *(Variation("size", name, _NO_GUESS, hidden=size) for name, size in _SIZES.items()),
    *(Variation("data", f"{share:.0%} of them", _NO_GUESS, share=share) for share in (0.1, 0.3)),
    *(Variation("data", f"{share:.0%} of them, with guess", share=share) for share in (0.1, 0.3)),
    *(Variation("approximator", name, _NO_GUESS, approximator=key) for key, name in _NAMES.items()),
    *(Variation("approximator", f"{name}, with guess", approximator=key) for key, name in list(_NAMES.items())[1:]),
    Variation("baseline", "state", _STATE, law="statistical"),
    Variation("baseline", "contact space", law="statistical"),
)


@dataclass(frozen=True)
class Data:
    """The training data and the fresh contacts that all variations share."""

    plan: Plan
    instances: Instances
    fresh: dict[Kind, Fresh]
    inputs: Inputs
    setting: Setting


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Train and evaluate all variations that are not in the folder yet; print, write and publish."""
    study = Study(out, "ablation", scale, seed)
    size = SCALES[scale]
    usual = preset("box")
    plan = Plan(parse_body("box", usual.mass), GroundTruth("dantzig", (usual.friction,)), size.throws, seed=seed)
    with Console(stderr=True).status("Preparing") as status:
        collected = run_plan(plan, study.folder / "data")
        instances = read_instances(collected, 600_000, seed)
        fresh = fresh_contacts(plan, size.contacts, seed)
        inputs, _ = find_inputs(TrainingData(plan.body, instances, collected.setting), seed=seed)
        data = Data(plan, instances, {kind: fresh[kind] for kind in KINDS}, inputs, collected.setting)
        rows = []
        for number, variation in enumerate(VARIATIONS, 1):
            status.update(f"{number} of {len(VARIATIONS)}: {variation.group}, {variation.name}")
            seeds = range(seed, seed + (size.seeds if variation.group in CLAIMS else 1))
            runs = [
                kept(
                    study.folder / "variations",
                    [variation.key, asdict(size), one, plan.fingerprint],
                    lambda v=variation, s=one: _measure(v, data, size, s),
                )
                for one in seeds
            ]
            rows.append(_summary(variation, runs))
    tables, plots = _tables(rows, size), [_plot(rows)]
    section = Section(study.name, "What each choice is worth", _text(rows), study.command, tables, plots)
    figures_only = [{key: value for key, value in row.items() if key != "runs"} for row in rows]
    study.finish(section, {"variations": rows}, figures_only)


def _measure(variation: Variation, data: Data, size: Scale, seed: int) -> dict[str, Any]:
    """Train one variation and evaluate it on the fresh contacts, by kind of patch."""
    started = time.monotonic()
    inputs = varied_inputs(variation, data.inputs)
    instances = data.instances[np.flatnonzero(data.instances.throw < variation.share * data.plan.throws)]
    seen = TrainingData(data.plan.body, instances, data.setting)
    if variation.refine:
        training = seen.examples(inputs)
        parts = [fresh.instances for fresh in data.fresh.values()]
        joint = Instances(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])})
        fresh = replace(seen, instances=joint).examples(inputs)
        found: dict[str, Any] = {}
        for kind in KINDS:
            held = held_out(training[kind].throw, HELD_OUT, seed)
            options = FitOptions(HIDDEN[kind], steps=size.steps, seed=seed)
            error = _refined_error(training[kind], held, fresh[kind], options)
            found[kind.name.lower()] = {"friction_error": error}
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # estimators that stop early are evaluated as they are
            settings = TrainSettings(
                variation.law, variation.approximator, hidden=variation.hidden, steps=size.steps, held_share=HELD_OUT,
                seed=seed,
            )  # fmt: skip
            law = train_law(seen, settings, inputs=inputs)
        found = {kind.name.lower(): evaluate(law, data.fresh[kind]) for kind in KINDS}
    return found | {"duration_s": round(time.monotonic() - started, 1)}


def varied_inputs(variation: Variation, found: Inputs) -> Inputs:
    """The fitted inputs with the changes of a variation."""
    changes: dict[str, Any] = dict(variation.changes)
    if changes.get("friction") == "rough":
        changes["friction"] = tuple(0.8 * mu for mu in found.friction)
    return replace(found, **changes)


# An alternative to the Coulomb guess: a second network corrects the friction of the first one. The Delassus operator K
# of the patch is among the inputs, so that the slip velocity after the first friction impulse follows from them.


def _refined_error(training: Examples, held: NDArray, fresh: Examples, options: FitOptions) -> float:
    """Mean size of the force error on the sliding contacts of `fresh`, relative to the mean size of friction."""
    rows = training.mode == Mode.DYNAMIC
    x, y, load = training.x[rows], training.y[rows], training.load[rows]
    first = fit_regressor(x, y, load, held[rows], options, lambda done: None)
    answer = _predict(first, x)
    second = fit_regressor(with_effect(x, answer), y - answer, load, held[rows], options, lambda done: None)
    sliding = fresh.mode == Mode.DYNAMIC
    x, y, load = fresh.x[sliding], fresh.y[sliding], fresh.load[sliding]
    answer = _predict(first, x)
    error = answer + _predict(second, with_effect(x, answer)) - y
    size, true_size = (np.linalg.norm(values[:, :2], axis=1) * load for values in (error, y))
    return float(size.sum() / true_size.sum())


def _predict(network: Network, x: NDArray) -> NDArray[np.floating]:
    """Outputs (n, k) of a network for inputs (n, m)."""
    value = np.clip((x - network.mean) / network.scale, -FARTHEST, FARTHEST)
    for k, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        value = (np.maximum(value, 0) if k else value) @ weight + bias
    return value


def with_effect(x: NDArray, answer: NDArray) -> NDArray[np.float64]:
    """Inputs (n, m) with a first friction impulse (n, d) and the slip velocity after it, scaled as the inputs are."""
    d = answer.shape[1]
    squeezed = x[:, d : 2 * d]  # m u / N0, squeezed by a / (1 + |a|)
    slip = squeezed / np.maximum(1 - np.abs(squeezed), 1e-9)
    delassus = np.zeros((len(x), d, d))  # m K, whose lower triangle is among the inputs
    delassus[:, *np.tril_indices(d)] = x[:, 6 * d : 6 * d + d * (d + 1) // 2]
    delassus += np.swapaxes(np.tril(delassus, -1), 1, 2)
    after = slip + np.einsum("nij,nj->ni", delassus, answer)
    return np.hstack([x, answer, after / (1 + np.abs(after))])


def _summary(variation: Variation, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over the seeds, and the spread of the mean friction error between them."""
    row: dict[str, Any] = {"group": variation.group, "name": variation.name}
    for kind in PATCHES:
        for key in ("accuracy", "friction_error", "impulse_error"):
            values = [run[kind][key] for run in runs if key in run[kind]]
            row[f"{kind}_{key}"] = float(np.mean(values)) if values else None
    means = [np.mean([run[kind]["friction_error"] for kind in PATCHES]) for run in runs]
    row["friction_error"], row["spread"] = float(np.mean(means)), float(np.ptp(means))
    row["duration_s"] = float(np.mean([run["duration_s"] for run in runs]))
    return row | {"runs": runs}


def _tables(rows: list[dict[str, Any]], size: Scale) -> list[Table]:
    columns = ["", "Friction: point", "line", "surface", "Right mode: point", "line", "surface", "Training"]
    tables = [
        Table(title, columns, [[row["name"], *_cells(row)] for row in rows if row["group"] == group])
        for group, title in GROUPS.items()
    ]
    seeds = f"; means over {size.seeds} seeds in the first two tables" if size.seeds > 1 else ""
    note = (
        f"{size.throws:,} training throws of the box in DART, {size.steps:,} optimiser steps a network, "
        f"{size.contacts:,} fresh contacts of each kind of patch{seeds}. Friction: mean size of the error over mean "
        "size of friction of sliding contacts. Unless stated otherwise: contact space, networks, no guess."
    )
    return [*tables[:-1], replace(tables[-1], note=note)]


def _cells(row: dict[str, Any]) -> list[str]:
    errors = [f"{100 * row[f'{kind}_friction_error']:.3g} %" for kind in PATCHES]
    modes = [row[f"{kind}_accuracy"] for kind in PATCHES]
    shares = [f"{100 * mode:.2f} %" if mode is not None else "-" for mode in modes]
    return [*errors, *shares, f"{row['duration_s']:.0f} s"]


def _plot(rows: list[dict[str, Any]]) -> Plot:
    names = [f"{row['group']}: {row['name']}" for row in rows]
    picture = figures.figure("Friction error of each variation", "error [%]", "", height=60 + 22 * len(rows))
    for kind, colour in zip(PATCHES, figures.SERIES):
        values = [100 * row[f"{kind}_friction_error"] for row in rows]
        picture.add_scatter(x=values, y=names, mode="markers", name=kind, marker={"color": colour, "size": 9})
    picture.update_xaxes(**figures.log_axis(-5, 3))
    picture.update_yaxes(autorange="reversed", tickfont={"size": 10})
    return Plot(picture, "Each row is one way to learn a law; further left is better.")


def _text(rows: list[dict[str, Any]]) -> list[str]:
    """The findings, from the figures."""
    found = {(row["group"], row["name"]): row for row in rows}
    others = [found["rotation", name] for name in _ROTATIONS if name != "rotation matrix"]
    rotation = verdict(found["rotation", "rotation matrix"], others)
    both = found["redundant", "with both"]
    velocity = verdict(both, [found["redundant", "without its velocity"]])
    centre = verdict(both, [found["redundant", "without the patch's centre"]])
    state, shipped = found["ladder", "state"], found["ladder", "+ fitted guess: as shipped"]
    return [
        "One choice at a time is changed in how the box's law is learned; each variation is trained on the same throws "
        "and evaluated on the same fresh contacts of DART. Without the fitted Coulomb guess, unless it is named: with "
        "it, DART's friction leaves next to nothing to learn, and the choices could not be distinguished.",
        f"The paper's claim that the rotation matrix is the best encoding of the orientation: {rotation}. Its claim "
        f"that two redundant features help: for the velocity at the patch {velocity}; for the patch's centre {centre}. "
        "(Mean friction error over points, lines and surfaces.)",
        f"From the state as input to the shipped design, the mean friction error falls from "
        f"{100 * state['friction_error']:.3g} % to {100 * shipped['friction_error']:.3g} %.",
    ]


def verdict(claimed: dict[str, Any], others: list[dict[str, Any]]) -> str:
    """Whether the claimed choice has a smaller error than the best of the others, beyond the spread of seeds."""
    best = min(others, key=lambda row: row["friction_error"])
    ours, theirs = 100 * claimed["friction_error"], 100 * best["friction_error"]
    spread = 100 * max(claimed["spread"], best["spread"])
    compared = f"{ours:.3g} % against {theirs:.3g} % ({best['name']})"
    if abs(ours - theirs) <= spread:
        return f"neither confirmed nor refuted, {compared}, which is within the spread of seeds of {spread:.2g} %"
    return f"{'confirmed' if ours < theirs else 'not confirmed'}, {compared}"
