"""`stiction.train`: from a data set to a law, with progress and checkpoints."""

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from stiction.basics import checks
from stiction.basics.environment import versions
from stiction.basics.progress import parts
from stiction.data.dataset import DataSet
from stiction.laws.approximators import MAX_LAYERS, MAX_WIDTH
from stiction.laws.learned import LearnedLaw
from stiction.laws.material import Material
from stiction.laws.modelfile import load, to_be_written
from stiction.training.settings import Switches, TrainSettings


def train(
    data: DataSet | str | Path | Sequence[DataSet | str | Path],
    *,
    seed: int = 0,
    out: str | Path | None = None,
    law: str = "augmented",
    approximator: str = "network",
    switches: Switches = TrainSettings.switches,
    material: Material | str | Path | None = None,
    hidden: tuple[int, ...] = (),
    steps: int = 8000,
    time_budget: float | None = None,
    floor: float = 1e-3,
    most: int = 600_000,
    progress: bool = True,
) -> LearnedLaw:
    """Train the networks of the paper on a data set, and return the law.

    data: a data set, or its folder
    out: model file to write, .safetensors; the same call continues where it was stopped. None: `law.save` writes one.
    law: "augmented", the law of the paper, or "statistical", its purely data-driven baseline
    approximator: "network"; or "trees" (gradient-boosted), "gp" (Gaussian process), "svm" (support vector machine)
    switches: how contacts are described; the guess of friction and the symmetry are found in the data
    material: a material, or its name or file, whose friction is the guess that the networks of an augmented law correct
    hidden: units of the networks' hidden layers; by default the size that suits each kind of patch
    steps: optimiser steps of each network
    time_budget: train for about this long instead [s]; the result then depends on the machine
    floor: errors below this share of the normal impulse count little
    most: instances of each kind that are used; more are thinned
    progress: show bars

        law = stiction.train(data, steps=200)
        law.save("box.safetensors")
    """
    settings = TrainSettings(
        law, approximator, switches, material, hidden, steps, time_budget, floor, most, seed=seed
    )  # fmt: skip
    if out is None:
        return _train(data, None, settings, progress)
    with to_be_written(out) as path:
        return _train(data, path, settings, progress)


def train_from(folder: str | Path, out: str | Path, settings: TrainSettings | None = None) -> LearnedLaw:
    """Train a law on the data set in `folder`, write it to `out` and print a summary."""
    start = time.monotonic()
    with to_be_written(out) as path:
        law = _train(folder, path, settings or TrainSettings(), True)
    number = sum(law.info["instances"].values())
    print(f"Trained on {number:,} contacts in {time.monotonic() - start:.0f} s{_summary(law)}. Wrote {out}.")
    return law


def _train(data: Any, out: Path | None, settings: TrainSettings, progress: bool) -> LearnedLaw:
    """As `train`; the caller has locked `out`."""
    from stiction.training.examples import TrainingData, read_instances
    from stiction.training.training import Checkpoint, train_law  # torch is slow to import

    data, settings = _only(data), _checked(settings)
    instances = read_instances(data, settings.most, settings.seed)
    info = {"plan": data.plan.to_dict(), "data": data.fingerprint}
    info |= {name: getattr(settings, name) for name in ("steps", "time_budget", "floor")}
    material = settings.material
    assert material is None or isinstance(material, Material)
    if material is not None:
        info["material"] = repr(material)
    checkpoint = None
    if out is not None:
        decides = asdict(replace(settings, material=None)) | {"info": info}
        decides["guess"] = None if material is None else _described(material)
        decides["versions"] = versions("numpy", "torch", "scikit-learn")
        checkpoint = Checkpoint(out.with_name(out.name + ".training"), decides)
        if len(checkpoint):
            print(f"Continuing with {len(checkpoint)} finished parts of this training.", file=sys.stderr)
    with parts(shown=progress) as report:
        law = train_law(
            TrainingData(data.body, instances, data.setting, material),
            settings,
            info=info,
            progress=report,
            checkpoint=checkpoint,
        )
    if out is not None and checkpoint is not None:
        law.save(out)
        checkpoint.remove()
    return law


def _checked(given: TrainSettings) -> TrainSettings:
    """Settings with valid numbers, and with the material itself instead of its name."""
    if len(given.hidden) >= MAX_LAYERS:
        raise checks.InputError(f"--hidden must name at most {MAX_LAYERS - 1} layers, got {len(given.hidden)}.")
    budget = given.time_budget
    return replace(
        given,
        material=None if given.material is None else _material(given.material, given.law),
        hidden=tuple(checks.count("hidden", units, 1, MAX_WIDTH) for units in given.hidden),
        steps=checks.count("steps", given.steps, 1),
        time_budget=None if budget is None else checks.positive("time budget [s]", budget),
        floor=checks.positive("floor", given.floor),
        most=checks.count("most", given.most, 1),
        seed=checks.count("seed", given.seed, 0, 2**32 - 1),  # the largest that scikit-learn takes
    )


def _material(material: Material | str | Path, law: str) -> Material:
    """The material itself, from a name or path too; only an augmented law can have one."""
    if law != "augmented":
        raise checks.InputError(f"Only an augmented law can correct a material, got the law {law}.")
    found = material if isinstance(material, Material) else load(material)
    if not isinstance(found, Material):
        raise checks.InputError(f"The guess must be a material, got {checks.shown(found)}.")
    return found


def _described(material: Material) -> dict[str, Any]:
    """All parameters of a material, for JSON."""
    description, tensors = material.to_parts()
    return {**description, "tensors": {name: array.tolist() for name, array in tensors.items()}}


def _only(data: Any) -> DataSet:
    """The only data set, opened."""
    if isinstance(data, list | tuple):
        if len(data) != 1:
            raise checks.InputError(f"Networks are trained on one data set, got {len(data)}.")
        data = data[0]
    return data if isinstance(data, DataSet) else DataSet(data)


def _summary(law: LearnedLaw) -> str:
    """How the law describes contacts, in a few words."""
    inputs = law.inputs
    if getattr(law, "material", None) is not None:
        dropped = ", ".join(getattr(law, "dropped", ())) or "none"
        return f" (guess: the material; symmetry: {inputs.fold}; dropped: {dropped})"
    if inputs.space == "state":
        return " (inputs: the state)"
    if not inputs.guess:
        return f" (symmetry: {inputs.fold})"
    mu = ", ".join(f"{value:.3g}" for value in inputs.friction)
    error = law.info["guess_error"]
    return f" (guess: {inputs.cone} cone, friction {mu}, error {error:.2%}; symmetry: {inputs.fold})"
