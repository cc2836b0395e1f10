"""Training of a law from contact instances: inputs first, then the approximators of each kind of patch.

Finished approximators are kept in a checkpoint on disk, from which a killed training continues.
"""

import hashlib
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from stiction.basics import checks
from stiction.basics.files import whole_file
from stiction.basics.splits import held_out
from stiction.bodies.state import Mode
from stiction.laws.approximators import Approximator, Network, from_arrays
from stiction.laws.inputs import Inputs
from stiction.laws.learned import HIDDEN, KINDS, AugmentedLaw, StatisticalLaw, part_name
from stiction.training import fitters
from stiction.training.choose_inputs import Progress, find_inputs
from stiction.training.examples import Examples, TrainingData, usable
from stiction.training.settings import FitOptions, TrainSettings

MIN_INSTANCES = 200  # with fewer examples, no approximator is trained
LAWS: dict[str, type[AugmentedLaw] | type[StatisticalLaw]] = {"augmented": AugmentedLaw, "statistical": StatisticalLaw}


class Checkpoint:
    """Finished approximators of one training, by name.

    path: file beside the model file that will be written
    training: everything that decides the result; a file of another training is ignored and overwritten
    """

    def __init__(self, path: Path, training: dict[str, Any]) -> None:
        self._path = path
        self._key = hashlib.sha256(json.dumps(training, sort_keys=True).encode()).hexdigest()
        self._arrays = self._read()

    def _read(self) -> dict[str, np.ndarray]:
        try:
            with safe_open(self._path, framework="numpy") as file:
                if (file.metadata() or {}).get("training") != self._key:
                    return {}
                return {key: file.get_tensor(key) for key in file.keys()}
        except (OSError, SafetensorError, ValueError):  # missing, or cut off
            return {}

    def get(self, name: str) -> Approximator | None:
        """The approximator `name`, if it was finished."""
        arrays = {key.removeprefix(f"{name}."): a for key, a in self._arrays.items() if key.startswith(f"{name}.")}
        return from_arrays(arrays) if arrays else None

    def put(self, name: str, approximator: Approximator) -> None:
        """Store a finished approximator."""
        self._arrays |= {f"{name}.{key}": np.ascontiguousarray(a) for key, a in approximator.arrays().items()}
        with whole_file(self._path) as temporary:
            save_file(self._arrays, temporary, {"training": self._key})

    def __len__(self) -> int:
        """Number of finished approximators."""
        return len({key.rpartition(".")[0] for key in self._arrays})

    def remove(self) -> None:
        """Delete the file: the training is finished."""
        self._path.unlink(missing_ok=True)


def train_law(
    data: TrainingData,
    settings: TrainSettings | None = None,
    *,
    inputs: Inputs | None = None,
    info: dict[str, Any] | None = None,
    progress: Progress = lambda part, done: None,
    checkpoint: Checkpoint | None = None,
) -> AugmentedLaw | StatisticalLaw:
    """Train a law on the contact instances of one body.

    settings: its material is ignored, `data` has it
    inputs: how contacts are described; None: found in the data, as the switches in `settings` allow
    info: added to that of the law
    progress: called with the part under way and the share of it that is done
    checkpoint: where finished approximators are stored, and found again
    """
    settings = settings or TrainSettings()
    checks.choice("law", settings.law, tuple(LAWS))
    checks.choice("approximator", settings.approximator, ("network", "trees", "gp", "svm"))
    data = replace(data, instances=usable(data.body, data.instances, data.setting))
    if len(data.instances) < MIN_INSTANCES:
        raise checks.InputError(f"A law needs at least {MIN_INSTANCES} contact instances, got {len(data.instances)}.")
    start, found = time.monotonic(), {}
    if inputs is None:
        inputs, found = find_inputs(data, settings.switches, settings.seed, progress)
    examples, roles = data.examples(inputs), LAWS[settings.law].ROLES
    seconds = None
    if settings.time_budget is not None:  # at least 30 % of it for the networks, however long the inputs took
        left = max(settings.time_budget - (time.monotonic() - start), 0.3 * settings.time_budget)
        seconds = left / (len(KINDS) * len(roles))
    parts, dropped = {}, []
    for kind in KINDS:
        options = FitOptions(
            settings.hidden or HIDDEN[kind], settings.steps, seconds, floor=settings.floor, seed=settings.seed
        )
        held = held_out(examples[kind].throw, settings.held_share, settings.seed)
        fitted = []
        for role in roles:
            name = part_name(kind, role)
            part = checkpoint.get(name) if checkpoint is not None else None
            if part is None:
                part = _fit_role(
                    role, examples[kind], held, options, settings.approximator, lambda d, n=name: progress(n, d)
                )
                if checkpoint is not None:
                    checkpoint.put(name, part)
            progress(name, 1.0)
            fitted.append(part)
            if settings.law == "augmented" and not _helps(role, part, examples[kind], held, data.material is not None):
                dropped.append(name)
        parts[kind] = tuple(fitted)
    about = {
        "instances": {kind.name.lower(): len(examples[kind].mode) for kind in KINDS},
        "seed": settings.seed,
        "approximator": settings.approximator,
        **found,
        **(info or {}),
    }
    timestep = data.setting.timestep
    if settings.law == "augmented":
        return AugmentedLaw(
            data.body, parts, inputs, material=data.material, dropped=tuple(dropped), timestep=timestep, info=about
        )
    return StatisticalLaw(data.body, parts, inputs, timestep=timestep, info=about)


def _helps(role: str, part: Approximator, examples: Examples, held, has_mode: bool) -> bool:
    """Whether an approximator predicts held-out throws better than the guess that it corrects.

    has_mode: whether the guess has modes, too; if not, a classifier is needed
    """
    rows = held & ((examples.mode == Mode.DYNAMIC) if role == "regressor" else (examples.mode != Mode.NONE))
    if role == "classifier" and not has_mode:
        return True
    if not rows.any():
        return False
    answer = part.native(np.ascontiguousarray(examples.x[rows]))
    if role == "classifier":
        modes = np.array([Mode.STATIC, Mode.DYNAMIC, Mode.DETACH])[answer[:, :3].argmax(axis=1)]
        return (modes == examples.mode[rows]).mean() > (examples.guessed_mode[rows] == examples.mode[rows]).mean()
    y, load = examples.y[rows], examples.load[rows, np.newaxis]
    residual = np.linalg.norm(load * (y - answer[:, : y.shape[1]]), axis=1).mean()
    return bool(residual < np.linalg.norm(load * y, axis=1).mean())


def _fit_role(role, examples: Examples, held, options: FitOptions, approximator: str, report) -> Approximator:
    if role == "classifier":
        rows = np.ones(len(held), dtype=np.bool_)
    elif role == "regressor":
        rows = examples.mode == Mode.DYNAMIC
    else:
        rows = examples.mode != Mode.NONE
    if rows.sum() < MIN_INSTANCES or not held[rows].any() or held[rows].all():
        return _untrained(role, examples)
    x, load, held = examples.x[rows], examples.load[rows], held[rows]
    label = np.select([examples.mode == Mode.STATIC, examples.mode == Mode.DYNAMIC], [0, 1], 2)[rows]
    y = (examples.y if role == "regressor" else examples.whole)[rows]
    if approximator != "network":
        from stiction.training import estimators  # scikit-learn may not be installed

        if role == "classifier":
            return estimators.fit_classifier(approximator, x[~held], label[~held], options.seed)
        return estimators.fit_regressor(approximator, x[~held], y[~held], options.seed)
    if role == "classifier":
        return fitters.fit_classifier(x, label, held, options, report)
    return fitters.fit_regressor(x, y, load, held, options, report)


def _untrained(role: str, examples: Examples) -> Network:
    """A constant for a role without data: every contact slides, with the guessed friction or none."""
    outputs = {"classifier": [0.0, 1.0, 0.0], "regressor": [0.0] * examples.y.shape[1]}
    bias = np.array(outputs.get(role, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), dtype=np.float32)
    n = examples.x.shape[1]
    return Network(np.zeros(n, np.float32), np.ones(n, np.float32), (np.zeros((n, len(bias)), np.float32),), (bias,))
