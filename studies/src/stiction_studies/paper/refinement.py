"""Friction without a guess, by two networks: the second is told what the first one's friction would leave over.

An alternative to the Coulomb guess, for the ablation: the response K of the patch is among its inputs, so that the
sliding velocity after the first answer can be told from them.
"""

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.state import Mode
from stiction.laws.approximators import FARTHEST, Network
from stiction.training.examples import Examples
from stiction.training.fitters import fit_regressor
from stiction.training.settings import FitOptions


def refined_error(training: Examples, held, fresh: Examples, options: FitOptions) -> float:
    """Mean size of the error in force on the sliding ones of `fresh`, relative to the mean size of friction."""
    rows = training.mode == Mode.DYNAMIC
    x, y, load = training.x[rows], training.y[rows], training.load[rows]
    first = fit_regressor(x, y, load, held[rows], options, lambda done: None)
    answer = predict(first, x)
    second = fit_regressor(with_effect(x, answer), y - answer, load, held[rows], options, lambda done: None)
    sliding = fresh.mode == Mode.DYNAMIC
    x, y, load = fresh.x[sliding], fresh.y[sliding], fresh.load[sliding]
    answer = predict(first, x)
    wrong = answer + predict(second, with_effect(x, answer)) - y
    return float((_force(wrong) * load).sum() / (_force(y) * load).sum())


def predict(network: Network, x) -> NDArray[np.float64]:
    """Outputs (n, k) of a network for many inputs (n, m)."""
    value = np.clip((x - network.mean) / network.scale, -FARTHEST, FARTHEST)
    for k, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        value = (np.maximum(value, 0) if k else value) @ weight + bias
    return value


def with_effect(x, answer) -> NDArray[np.float64]:
    """Inputs (n, m) with a first answer (n, d), and the sliding velocity that it leaves, in the form of the inputs."""
    d = answer.shape[1]
    squeezed = x[:, d : 2 * d]  # m u / N0, squeezed by a / (1 + |a|)
    slip = squeezed / np.maximum(1 - np.abs(squeezed), 1e-9)
    response = np.zeros((len(x), d, d))  # m K, of which the inputs hold the lower half
    response[:, *np.tril_indices(d)] = x[:, 6 * d : 6 * d + d * (d + 1) // 2]
    response += np.swapaxes(np.tril(response, -1), 1, 2)
    left = slip + np.einsum("nij,nj->ni", response, answer)
    return np.hstack([x, answer, left / (1 + np.abs(left))])


def _force(y) -> NDArray[np.float64]:
    return np.linalg.norm(y[:, :2], axis=1)
