"""What a law is told of contacts, by what helps on held-out throws: symmetry about the vertical, loads and speeds."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from stiction.bodies.body import Body
from stiction.bodies.state import Kind, Mode
from stiction.laws.inputs import FOLDS, Inputs
from stiction.laws.material import Material
from stiction.learning.train.examples import Instances, make_examples
from stiction.learning.train.fit import FitOptions, fit_regressor, held_out, loss_of
from stiction.simulation.motion import Setting

_FEW = 8000  # sliding contacts that are looked at
_STEPS = 600
_FEWEST_POINTS = 50
_EXPLAINED = 0.7  # share of the variance of friction that its direction must leave at most, to matter
_BETTER = 0.9  # another symmetry must reach this share of the expected one's loss


def choose_fold(
    body: Body,
    instances: Instances,
    setting: Setting,
    inputs: Inputs,
    seed: int,
    progress: Callable[[float], None],
    material: Material | None = None,
) -> tuple[Inputs, dict[str, float]]:
    """`inputs` with the fold that predicts sliding friction best, and the held-out loss of each fold.

    The fold in `inputs` is what its guess of friction suggests; it stays unless another one is clearly better, since
    the more symmetric of two laws that fit alike needs fewer data.
    """
    few = _few(instances, seed)
    if inputs.fold in ("heading", "mirror-swap") and depends_on_direction(body, few, setting, inputs):
        inputs = replace(inputs, fold="none")
    losses = {}
    for number, fold in enumerate(FOLDS):
        losses[fold] = _loss(body, few, setting, replace(inputs, fold=fold), seed, material)
        progress((number + 1) / len(FOLDS))
    best = min(losses, key=lambda fold: losses[fold])
    if losses[best] < _BETTER * losses[inputs.fold]:
        inputs = replace(inputs, fold=best)
    return inputs, losses


def depends_on_direction(body: Body, instances: Instances, setting: Setting, inputs: Inputs) -> bool:
    """Whether friction at sliding points is clearly another one forwards than backwards, or along than across."""
    points = make_examples(body, instances, setting, replace(inputs, fold="none", guess=False))[Kind.POINT]
    if len(points.mode) < _FEWEST_POINTS:
        return False
    size = np.linalg.norm(points.y, axis=1)
    angle = np.arctan2(*points.x[:, 5:3:-1].T)  # of the slip
    waves = np.stack([np.ones_like(angle), *(f(k * angle) for k in (1, 2) for f in (np.cos, np.sin))], axis=1)
    left = size - waves @ np.linalg.lstsq(waves, size, rcond=None)[0]
    return bool(left.var() < _EXPLAINED * size.var())


def choose_absolute(
    body: Body, instances: Instances, setting: Setting, inputs: Inputs, seed: int, material: Material | None = None
) -> Inputs:
    """`inputs` with loads and speeds beside all that is free of units, if friction is predicted clearly better so."""
    few = _few(instances, seed)
    without, told = (replace(inputs, absolute=absolute) for absolute in (False, True))
    better = _BETTER * _loss(body, few, setting, without, seed, material)
    return told if _loss(body, few, setting, told, seed, material) < better else without


def _few(instances: Instances, seed: int) -> Instances:
    """Some of the sliding contacts."""
    sliding = np.flatnonzero(instances.mode == Mode.DYNAMIC)
    return instances[np.sort(np.random.default_rng(seed).permutation(sliding)[:_FEW])]


def _loss(
    body: Body, instances: Instances, setting: Setting, inputs: Inputs, seed: int, material: Material | None
) -> float:
    """Held-out loss of quickly trained regressors, over all kinds of patch."""
    total, number = 0.0, 0
    for examples in make_examples(body, instances, setting, inputs, material).values():
        held = held_out(examples.throw, 0.3, seed) if len(examples.throw) else np.zeros(0, dtype=np.bool_)
        if held.sum() < 50 or (~held).sum() < 50:
            continue
        options = FitOptions(hidden=(32, 32), steps=_STEPS, batch=256, seed=seed)
        network = fit_regressor(examples.x, examples.y, examples.load, held, options, lambda done: None)
        total += loss_of(network, examples.x[held], examples.y[held], examples.load[held]) * held.sum()
        number += int(held.sum())
    return float(total / max(number, 1))
