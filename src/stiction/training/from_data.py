"""From a data set to a law, with progress."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stiction.basics import checks
from stiction.basics.environment import versions
from stiction.basics.progress import parts
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.data.dataset import DataSet
from stiction.data.instances import Columns
from stiction.laws.approximators import MAX_LAYERS, MAX_WIDTH
from stiction.laws.learned import LearnedLaw
from stiction.laws.material import Material
from stiction.laws.modelfile import load, to_be_written
from stiction.training.examples import Instances
from stiction.training.fitters import Checkpoint
from stiction.training.settings import Switches

_DEFAULT = Switches()
_LARGEST_SEED = 2**32 - 1  # that scikit-learn takes


def train(
    data: DataSet | str | Path | Sequence[DataSet | str | Path],
    *,
    seed: int = 0,
    out: str | Path | None = None,
    law: str = "augmented",
    approximator: str = "network",
    switches: Switches = _DEFAULT,
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
    out: model file to write, .safetensors; the same call goes on where it was stopped. None: `law.save` writes one.
    law: "augmented", the law of the paper, or "statistical", its purely data-driven baseline
    approximator, switches: see learning.train.train
    material: a material, or its name or file, whose friction is the guess that the networks of an augmented law correct
    hidden: units of the networks' hidden layers; by default what suits each kind of patch
    steps: optimiser steps of each network
    time_budget: train for about this long instead [s]; the result then depends on the machine
    floor: errors below this share of the normal impulse count little
    most: instances of each kind that are used; more are thinned
    progress: show bars

        law = stiction.train(data, steps=200)
        law.save("box.safetensors")
    """
    how = {"law": law, "approximator": approximator, "switches": switches, "material": material, "hidden": hidden}
    how |= {"steps": steps, "time_budget": time_budget, "floor": floor, "most": most, "progress": progress}
    if out is None:
        return _train(data, None, seed=seed, **how)
    with to_be_written(out) as path:
        return _train(data, path, seed=seed, **how)


def _train(
    data: Any,
    out: Path | None,
    *,
    seed: int,
    law: str,
    approximator: str,
    switches: Switches,
    material: Material | str | Path | None,
    hidden: tuple[int, ...],
    steps: int,
    time_budget: float | None,
    floor: float,
    most: int,
    progress: bool,
) -> LearnedLaw:
    """As `train`; nobody else writes to `out`."""
    from stiction.training import training
    from stiction.training.fitters import FitOptions

    data = _only(data)
    if time_budget is not None:
        time_budget = checks.positive("time budget [s]", time_budget)
    floor, seed = checks.positive("floor", floor), checks.count("seed", seed, 0, _LARGEST_SEED)
    options = FitOptions(_units(hidden), steps=checks.count("steps", steps, 1), floor=floor, seed=seed)
    instances = read_instances(data, checks.count("most", most, 1), seed)
    info = {"plan": data.plan.to_dict(), "data": data.fingerprint, "steps": steps, "time_budget": time_budget}
    info["floor"] = floor
    if material is not None:
        material = _material(material, law)
        info["material"] = repr(material)
    how: dict[str, Any] = {"law": law, "approximator": approximator, "inputs": switches, "info": info}
    checkpoint = None
    if out is not None:
        what = {"law": law, "approximator": approximator, "switches": vars(switches), "options": vars(options)}
        what["material"] = None if material is None else _described(material)
        checkpoint = _checkpoint(out, {**info, **what, "most": most})
    with parts(shown=progress) as report:
        learned = training.train(
            data.body, instances, data.setting, options, time_budget=time_budget, progress=report,
            checkpoint=checkpoint, material=material, **how,
        )  # fmt: skip
    if out is not None and checkpoint is not None:
        learned.save(out)
        checkpoint.remove()
    return learned


def train_from(folder: str | Path, out: str | Path, **how: Any) -> LearnedLaw:
    """Train a law on the data set in `folder`, write it to `out` and say so; see `train`."""
    began = time.monotonic()
    learned = train(folder, out=out, **how)
    number = sum(learned.info["instances"].values())
    print(f"Trained on {number:,} contacts in {time.monotonic() - began:.0f} s{_about(learned)}. Wrote {out}.")
    return learned


def _material(material: Material | str | Path, law: str) -> Material:
    """The material that is meant, which only an augmented law can have."""
    if law != "augmented":
        raise checks.InputError(f"A material is the guess of an augmented law, and of no {law} one.")
    found = material if isinstance(material, Material) else load(material)
    if not isinstance(found, Material):
        raise checks.InputError(f"The guess must be a material, got {checks.shown(found)}.")
    return found


def _described(material: Material) -> dict[str, Any]:
    """All that decides what a material does, for JSON."""
    description, tensors = material.to_parts()
    return {**description, "tensors": {name: array.tolist() for name, array in tensors.items()}}


def _only(data: Any) -> DataSet:
    """The one data set that is meant."""
    if isinstance(data, list | tuple):
        if len(data) != 1:
            raise checks.InputError(f"Networks are trained on one data set, got {len(data)}.")
        data = data[0]
    return data if isinstance(data, DataSet) else DataSet(data)


def _checkpoint(out: Path, training: dict[str, Any]) -> Checkpoint:
    installed = versions("numpy", "torch", "scikit-learn")
    checkpoint = Checkpoint(out.with_name(out.name + ".training"), {**training, "versions": installed})
    if len(checkpoint):
        print(f"Going on with {len(checkpoint)} finished parts of this training.", file=sys.stderr)
    return checkpoint


def _about(law: LearnedLaw) -> str:
    """How the law looks at contacts, in a few words."""
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


def _units(hidden: tuple[int, ...]) -> tuple[int, ...]:
    if len(hidden) >= MAX_LAYERS:
        raise checks.InputError(f"--hidden must name at most {MAX_LAYERS - 1} layers, got {len(hidden)}.")
    return tuple(checks.count("hidden", units, 1, MAX_WIDTH) for units in hidden)


def read_instances(data: DataSet, most: int, seed: int) -> Instances:
    """The data set's contacts at the centre of mass, at most `most` of each kind."""
    rows = data.read(("throw", "position", "quaternion", "twist", "impulse", "mode", "kind"))
    rng = np.random.default_rng(seed)
    keep = np.zeros(len(rows["kind"]), dtype=np.bool_)
    for kind in np.unique(rows["kind"]):
        keep[rng.permutation(np.flatnonzero(rows["kind"] == kind))[:most]] = True
    return to_instances(data.body, {name: column[keep] for name, column in rows.items()})


def to_instances(body: Body, rows: Columns) -> Instances:
    """Columns of a data set, for learning."""
    position = rows["position"] + rotation_matrices(rows["quaternion"]) @ body.com
    same = {name: rows[name] for name in ("quaternion", "twist", "impulse", "mode")}
    return Instances(position, **same, throw=rows["throw"].astype(np.int64))
