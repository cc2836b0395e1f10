"""A small network for what the parameters of an impact law leave: corrections of friction and restitution.

Inputs describe the contact relative to the direction of its slip, so that turning the world turns nothing else.
Mirrored across the slip, a contact must do the mirror image: the network is asked about both, and what must be even
(friction, restitution) is their mean, what must be odd (the direction of friction) half their difference.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks

INPUTS = _core.RESIDUAL_INPUTS  # listed where they are made, in core/laws/residual.hpp
OUTPUTS = _core.RESIDUAL_OUTPUTS  # change of log friction, turn of friction [rad], change of log restitution
MOST_UNITS = 4096


def checked_weights(weights: tuple[ArrayLike, ArrayLike] | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights (units, INPUTS + 1) and (OUTPUTS, units); no units: no network."""
    if weights is None:
        return np.zeros((0, INPUTS + 1)), np.zeros((OUTPUTS, 0))
    inner = checks.array("residual inner weights", weights[0], (None, INPUTS + 1))
    outer = checks.array("residual outer weights", weights[1], (OUTPUTS, None))
    if len(inner) > MOST_UNITS:
        raise checks.InputError(f"A residual network may have {MOST_UNITS} units, got {len(inner)}.")
    if inner.ndim != 2 or outer.shape != (OUTPUTS, len(inner)):
        raise checks.InputError(f"A residual network of {len(inner)} units needs outer weights (3, {len(inner)}).")
    return np.ascontiguousarray(inner), np.ascontiguousarray(outer)


def random_inner(units: int, seed: int) -> NDArray[np.float64]:
    """Inner weights and biases that are drawn once and stay."""
    return np.random.default_rng(seed).normal(0, 0.7, (units, INPUTS + 1))
