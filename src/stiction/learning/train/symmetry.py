"""The symmetry of a law about the vertical, chosen by what helps on throws that were held out."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from stiction.bodies.body import Body
from stiction.bodies.state import Mode
from stiction.laws.inputs import FOLDS, Inputs
from stiction.learning.train.examples import Instances, make_examples
from stiction.learning.train.fit import FitOptions, fit_regressor, held_out, loss_of
from stiction.simulation.motion import Setting

_FEW = 8000  # sliding contacts that are looked at
_STEPS = 600
_BETTER = 0.9  # another symmetry must reach this share of the expected one's loss


def choose_fold(
    body: Body,
    instances: Instances,
    setting: Setting,
    inputs: Inputs,
    seed: int,
    progress: Callable[[float], None],
) -> tuple[Inputs, dict[str, float]]:
    """`inputs` with the fold that predicts sliding friction best, and the held-out loss of each fold.

    The fold in `inputs` is what its guess of friction suggests; it stays unless another one is clearly better, since
    the more symmetric of two laws that fit alike needs fewer data.
    """
    sliding = np.flatnonzero(instances.mode == Mode.DYNAMIC)
    few = instances[np.sort(np.random.default_rng(seed).permutation(sliding)[:_FEW])]
    losses = {}
    for number, fold in enumerate(FOLDS):
        losses[fold] = _loss(body, few, setting, replace(inputs, fold=fold), seed)
        progress((number + 1) / len(FOLDS))
    best = min(losses, key=lambda fold: losses[fold])
    if losses[best] < _BETTER * losses[inputs.fold]:
        inputs = replace(inputs, fold=best)
    return inputs, losses


def _loss(body: Body, instances: Instances, setting: Setting, inputs: Inputs, seed: int) -> float:
    """Held-out loss of quickly trained regressors, over all kinds of patch."""
    total, number = 0.0, 0
    for examples in make_examples(body, instances, setting, inputs).values():
        held = held_out(examples.throw, 0.3, seed) if len(examples.throw) else np.zeros(0, dtype=np.bool_)
        if held.sum() < 50 or (~held).sum() < 50:
            continue
        options = FitOptions(hidden=(32, 32), steps=_STEPS, batch=256, seed=seed)
        network = fit_regressor(examples.x, examples.y, examples.load, held, options, lambda done: None)
        total += loss_of(network, examples.x[held], examples.y[held], examples.load[held]) * held.sum()
        number += int(held.sum())
    return float(total / max(number, 1))
