"""The Coulomb guess that suits the data: its cone and its coefficients, and with them the symmetry of the law."""

import numpy as np
from scipy.optimize import minimize_scalar

from stiction.bodies import Body
from stiction.laws.features import FOLDS, Recipe
from stiction.learn.examples import Instances, make_examples
from stiction.state import Mode
from stiction.stepping import Setting

MOST_INSTANCES = 1500
_ALIKE = 0.02  # coefficients that differ by less are one


def fit_guess(body: Body, instances: Instances, setting: Setting, seed: int = 0) -> tuple[Recipe, float]:
    """The recipe with the best guess for sliding contacts, and its relative error."""
    sliding = np.flatnonzero(instances.mode == Mode.DYNAMIC)
    chosen = np.random.default_rng(seed).permutation(sliding)[:MOST_INSTANCES]
    few = instances[np.sort(chosen)]

    def error(mu_x: float, mu_y: float, is_round: bool) -> float:
        return guess_error(body, few, setting, Recipe(0, np.array([mu_x, mu_y]), is_round))

    def best(objective) -> float:
        result = minimize_scalar(objective, bounds=(0.02, 3.0), method="bounded", options={"xatol": 1e-4})
        return float(result["x"])  # type: ignore[index]

    results = []
    for is_round in (False, True):
        mu_x = mu_y = best(lambda mu, r=is_round: error(mu, mu, r))
        for _ in range(2):
            mu_x = best(lambda mu, y=mu_y, r=is_round: error(mu, y, r))
            mu_y = best(lambda mu, x=mu_x, r=is_round: error(x, mu, r))
        results.append((error(mu_x, mu_y, is_round), mu_x, mu_y, is_round))
    least, mu_x, mu_y, is_round = min(results)
    fold = "mirror"
    if abs(mu_x - mu_y) <= _ALIKE * (mu_x + mu_y):
        mu_x = mu_y = 0.5 * (mu_x + mu_y)
        fold = "heading" if is_round else "mirror-swap"
    return Recipe(FOLDS.index(fold), np.array([mu_x, mu_y]), is_round), least


def guess_error(body: Body, instances: Instances, setting: Setting, recipe: Recipe) -> float:
    """Mean size of the guess's error in force, relative to the mean size of friction."""
    wrong = whole = 0.0
    for examples in make_examples(body, instances, setting, recipe).values():
        force = examples.y[:, :2]
        wrong += float((np.linalg.norm(force, axis=1) * examples.load).sum())
        whole += float((np.linalg.norm(force + examples.guess[:, :2], axis=1) * examples.load).sum())
    return wrong / max(whole, 1e-300)
