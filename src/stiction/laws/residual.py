"""A small network for what the parameters of an impact law leave: corrections of friction and restitution.

Inputs describe the contact relative to the direction of its slip, so that turning the world turns nothing else.
Mirrored across the slip, a contact must do the mirror image: the network is asked about both, and what must be even
(friction, restitution) is their mean, what must be odd (the direction of friction) half their difference.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics import checks
from stiction.compiled import lean

INPUTS = 10
ODD = 7  # inputs from here on change their sign in the mirror
OUTPUTS = 3  # change of log friction, turn of friction [rad], change of log restitution
LARGEST = 0.5  # the network's answers stay within this: it corrects, it does not decide


def checked_weights(weights: tuple[ArrayLike, ArrayLike] | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights (units, INPUTS + 1) and (OUTPUTS, units); no units: no network."""
    if weights is None:
        return np.zeros((0, INPUTS + 1)), np.zeros((OUTPUTS, 0))
    inner = checks.array("residual inner weights", weights[0], (None, INPUTS + 1))
    outer = checks.array("residual outer weights", weights[1], (OUTPUTS, None))
    if inner.ndim != 2 or outer.shape != (OUTPUTS, len(inner)):
        raise checks.InputError(f"A residual network of {len(inner)} units needs outer weights (3, {len(inner)}).")
    return np.ascontiguousarray(inner), np.ascontiguousarray(outer)


def random_inner(units: int, seed: int) -> NDArray[np.float64]:
    """Inner weights and biases that are drawn once and stay."""
    return np.random.default_rng(seed).normal(0, 0.7, (units, INPUTS + 1))


@lean
def describe_slip(c, P, approach, x):
    """Write the inputs (INPUTS,) of a contact with normal impulse P; each is of order one."""
    N = P[0]
    px, py, z = -P[2] / N, P[1] / N, c.centre[2]
    v = c.velocity
    sx, sy = v[0] + z * v[4] - py * v[5], v[1] - z * v[3] + px * v[5]
    s = np.sqrt(sx * sx + sy * sy)
    ex, ey = (sx / s, sy / s) if s > 1e-9 else (1.0, 0.0)
    half = 0.5 * c.diameter
    mass = 1.0 / c.inverse_inertia[0, 0] if c.inverse_inertia[0, 0] > 0 else 1.0
    x[0] = np.log10(max(s, 0.01) / 0.3)
    x[1] = np.log10(N / mass / 0.1 + 1e-3)
    x[2] = (ex * px + ey * py) / half
    x[3] = -z / half - 0.8
    x[4] = c.radius / half
    x[5] = np.log10(max(approach, 0.003) / 0.1)
    x[6] = (ex * v[4] - ey * v[3]) * half / 0.5  # rolling on in the direction of the slip
    x[7] = (ex * py - ey * px) / half
    x[8] = (ex * v[3] + ey * v[4]) * half / 0.5
    x[9] = v[5] * half / 0.5


@lean
def residual(law, c, P, approach, x, out):
    """Write the corrections (OUTPUTS,) of a contact to `out`, even and odd in the mirror as they must be.

    x: room for the inputs
    """
    for m in range(OUTPUTS):
        out[m] = 0.0
    describe_slip(c, P, approach, x)
    for side in range(2):
        for u in range(len(law.inner)):
            a = law.inner[u, INPUTS]
            for k in range(INPUTS):
                a += law.inner[u, k] * min(3.0, max(-3.0, x[k]))
            a = np.tanh(a)
            for m in range(OUTPUTS):
                sign = -1.0 if (m == 1 and side == 1) else 1.0
                out[m] += 0.5 * sign * law.outer[m, u] * a
        for k in range(ODD, INPUTS):
            x[k] = -x[k]
    for m in range(OUTPUTS):
        out[m] = min(LARGEST, max(-LARGEST, out[m]))
