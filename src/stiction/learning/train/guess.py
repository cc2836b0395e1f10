"""The Coulomb guess that suits the data: its cone and its coefficients, and with them the symmetry of the law."""

import numpy as np
from scipy.optimize import minimize_scalar

from stiction.bodies.body import Body
from stiction.bodies.state import Mode
from stiction.laws.inputs import Inputs
from stiction.learning.train.examples import Instances, make_examples
from stiction.simulation.motion import Setting

MOST_INSTANCES = 1500
_ALIKE = 0.02  # coefficients that differ by less are one


def fit_guess(body: Body, instances: Instances, setting: Setting, seed: int = 0) -> tuple[Inputs, float]:
    """Inputs with the best guess for sliding contacts and the symmetry that it has, and its relative error."""
    sliding = np.flatnonzero(instances.mode == Mode.DYNAMIC)
    chosen = np.random.default_rng(seed).permutation(sliding)[:MOST_INSTANCES]
    few = instances[np.sort(chosen)]

    def error(mu_x: float, mu_y: float, cone: str) -> float:
        return guess_error(body, few, setting, Inputs(fold="none", friction=(mu_x, mu_y), cone=cone))

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
    if abs(mu_x - mu_y) <= _ALIKE * (mu_x + mu_y):
        mu_x = mu_y = 0.5 * (mu_x + mu_y)
        fold = "heading" if cone == "round" else "mirror-swap"
    return Inputs(fold=fold, friction=(mu_x, mu_y), cone=cone), least


def guess_error(body: Body, instances: Instances, setting: Setting, inputs: Inputs) -> float:
    """Mean size of the guess's error in force, relative to the mean size of friction."""
    wrong = whole = 0.0
    for examples in make_examples(body, instances, setting, inputs).values():
        force = examples.y[:, :2]
        wrong += float((np.linalg.norm(force, axis=1) * examples.load).sum())
        whole += float((np.linalg.norm(force + examples.guess[:, :2], axis=1) * examples.load).sum())
    return wrong / max(whole, 1e-300)
