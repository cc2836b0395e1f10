"""How a law describes contacts: the Coulomb guess, the symmetry, and loads and speeds, as they suit the data."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from stiction.basics.splits import held_out
from stiction.bodies.state import Kind
from stiction.laws.inputs import FOLDS, Inputs
from stiction.training.examples import TrainingData
from stiction.training.fitters import fit_regressor, loss_of
from stiction.training.settings import FitOptions, Switches

Progress = Callable[[str, float], None]  # name of a part of the training, and the share of it that is done
BETTER = 0.9  # more symmetric or simpler inputs are replaced only by ones with this share of their held-out loss
SLIDING = 8000  # sliding contacts by which inputs are compared


def find_inputs(
    data: TrainingData,
    switches: Switches | None = None,
    seed: int = 0,
    progress: Progress = lambda part, done: None,
) -> tuple[Inputs, dict[str, Any]]:
    """Inputs as switched, with the guess of friction and the symmetry that suit the data, and what was measured."""
    s = switches or Switches()
    if s.inputs == "state":
        plain = Inputs("state", "none", guess=False, scaled=s.scaled, rotation=s.rotation, centre=s.centre, slip=s.slip)
        return plain, {}
    inputs, found = Inputs(fold="mirror"), {}
    if data.material is not None:
        fold = "none" if "direction" in data.material.depends_on else "mirror"
        inputs = Inputs(fold=fold, cone=data.material.cone)
    elif s.guess:
        progress("guess of friction", 0.0)
        inputs, found["guess_error"] = fit_guess(data, seed)
        progress("guess of friction", 1.0)
    inputs = replace(inputs, guess=s.guess, scaled=s.scaled)
    if s.fold != "auto":
        inputs = replace(inputs, fold=s.fold)
    else:
        inputs, found["fold_losses"] = _choose_fold(data, inputs, seed, lambda done: progress("symmetry", done))
    if s.absolute == "auto":
        return _choose_absolute(data, inputs, seed), found
    return replace(inputs, absolute=s.absolute == "yes"), found


def fit_guess(data: TrainingData, seed: int = 0) -> tuple[Inputs, float]:
    """Inputs with the best Coulomb guess for sliding contacts and the symmetry that it has, and its relative error."""
    few = replace(data.sliding(1500, seed), material=None)

    def error(mu_x: float, mu_y: float, cone: str) -> float:
        return _guess_error(few, Inputs(fold="none", friction=(mu_x, mu_y), cone=cone))

    def best(objective) -> float:
        result = minimize_scalar(objective, bounds=(0.02, 3.0), method="bounded", options={"xatol": 1e-4})
        return float(result["x"])  # type: ignore[index]

    results = []
    for cone in ("box", "round"):
        mu_x = mu_y = best(lambda mu, c=cone: error(mu, mu, c))
        for _ in range(2):
            mu_x = best(lambda mu, y=mu_y, c=cone: error(mu, y, c))
            mu_y = best(lambda mu, x=mu_x, c=cone: error(x, mu, c))
        results.append((error(mu_x, mu_y, cone), mu_x, mu_y, cone))
    least, mu_x, mu_y, cone = min(results)
    fold = "mirror"
    if abs(mu_x - mu_y) <= 0.02 * (mu_x + mu_y):  # within the accuracy of the fit, one coefficient
        mu_x = mu_y = 0.5 * (mu_x + mu_y)
        fold = "heading" if cone == "round" else "mirror-swap"
    return Inputs(fold=fold, friction=(mu_x, mu_y), cone=cone), least


def _guess_error(data: TrainingData, inputs: Inputs) -> float:
    """Mean size of the guess's error in force, relative to the mean size of friction."""
    wrong = whole = 0.0
    for examples in data.examples(inputs).values():
        force = examples.y[:, :2]
        wrong += float((np.linalg.norm(force, axis=1) * examples.load).sum())
        whole += float((np.linalg.norm(force + examples.guess[:, :2], axis=1) * examples.load).sum())
    return wrong / max(whole, 1e-300)


def _choose_fold(
    data: TrainingData, inputs: Inputs, seed: int, progress: Callable[[float], None]
) -> tuple[Inputs, dict[str, float]]:
    """`inputs` with the fold that predicts sliding friction best, and the held-out loss of each fold.

    The fold in `inputs`, which its guess of friction suggests, stays unless another one is clearly better: of two laws
    that fit equally well, the more symmetric one needs fewer data.
    """
    few = data.sliding(SLIDING, seed)
    if inputs.fold in ("heading", "mirror-swap") and _depends_on_direction(few, inputs):
        inputs = replace(inputs, fold="none")
    losses = {}
    for number, fold in enumerate(FOLDS):
        losses[fold] = _held_out_loss(few, replace(inputs, fold=fold), seed)
        progress((number + 1) / len(FOLDS))
    best = min(losses, key=lambda fold: losses[fold])
    if losses[best] < BETTER * losses[inputs.fold]:
        inputs = replace(inputs, fold=best)
    return inputs, losses


def _depends_on_direction(data: TrainingData, inputs: Inputs) -> bool:
    """Whether friction at sliding points clearly depends on the direction of slip."""
    plain = replace(inputs, fold="none", guess=False)
    points = replace(data, material=None).examples(plain)[Kind.POINT]
    if len(points.mode) < 50:
        return False
    size = np.linalg.norm(points.y, axis=1)
    angle = np.arctan2(*points.x[:, 5:3:-1].T)  # of the slip
    waves = np.stack([np.ones_like(angle), *(f(k * angle) for k in (1, 2) for f in (np.cos, np.sin))], axis=1)
    residual = size - waves @ np.linalg.lstsq(waves, size, rcond=None)[0]
    return bool(residual.var() < 0.7 * size.var())


def _choose_absolute(data: TrainingData, inputs: Inputs, seed: int) -> Inputs:
    """`inputs` with loads and speeds beside the dimensionless features, if friction is predicted clearly better so."""
    few = data.sliding(SLIDING, seed)
    without, absolute = (replace(inputs, absolute=value) for value in (False, True))
    better = BETTER * _held_out_loss(few, without, seed)
    return absolute if _held_out_loss(few, absolute, seed) < better else without


def _held_out_loss(data: TrainingData, inputs: Inputs, seed: int) -> float:
    """Held-out loss of quickly trained regressors, over all kinds of patch."""
    total, number = 0.0, 0
    for examples in data.examples(inputs).values():
        held = held_out(examples.throw, 0.3, seed) if len(examples.throw) else np.zeros(0, dtype=np.bool_)
        if held.sum() < 50 or (~held).sum() < 50:
            continue
        options = FitOptions(hidden=(32, 32), steps=600, batch=256, seed=seed)
        network = fit_regressor(examples.x, examples.y, examples.load, held, options, lambda done: None)
        total += loss_of(network, examples.x[held], examples.y[held], examples.load[held]) * held.sum()
        number += int(held.sum())
    return float(total / max(number, 1))
