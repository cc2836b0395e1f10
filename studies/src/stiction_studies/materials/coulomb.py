"""The best that Coulomb's law can do on a data set."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from stiction.basics.splits import drawn
from stiction.bodies.state import Mode
from stiction.data.dataset import DataSet
from stiction.evaluation.single_steps import Fresh, friction_error
from stiction.laws.coulomb import CoulombLaw
from stiction.training.examples import Instances, contacts_of, read_instances

_MOST = 1000  # sliding contacts that are looked at
_LEAST, _GREATEST = 0.02, 3.0  # coefficients


def best_coulomb(data: DataSet, seed: int) -> tuple[CoulombLaw, dict[str, Any]]:
    """The CoulombLaw with the least error of friction on held-out throws, and what was found.

    Both cones are tried, each with one coefficient and with one along each axis; coefficients are fitted to three
    quarters of the throws and compared on the others, then fitted once more to all of them.
    """
    instances = _sliding(data, seed)
    held = instances.throw % 4 == 3
    parts = [instances, instances[np.flatnonzero(~held)], instances[np.flatnonzero(held)]]
    if not all(len(part) for part in parts):
        parts = [instances] * 3
    every, fitting, judging = (Fresh(contacts_of(data.body, part, data.setting), part) for part in parts)

    def error(mu: tuple[float, float], cone: str, fresh: Fresh) -> float:
        return friction_error(_law(data, mu, cone), fresh)

    found = []
    for cone in ("round", "box"):
        for fit in (_one, _two):
            mu = fit(lambda mu, c=cone: error(mu, c, fitting))
            found.append((error(mu, cone, judging), cone, fit))
    least, cone, fit = min(found, key=lambda one: one[0])
    mu = fit(lambda mu: error(mu, cone, every))
    return _law(data, mu, cone), {"cone": cone, "friction": list(mu), "held_out_error": least}


def _sliding(data: DataSet, seed: int) -> Instances:
    instances = read_instances(data, 600_000, seed)
    sliding = np.flatnonzero(instances.mode == Mode.DYNAMIC)
    return instances[drawn(sliding, _MOST, seed)]


def _law(data: DataSet, mu: tuple[float, float], cone: str) -> CoulombLaw:
    return CoulombLaw(data.body, mu, cone=cone, softness=0.0, timestep=data.plan.timestep)


def _best(objective: Callable[[float], float]) -> float:
    found = minimize_scalar(objective, bounds=(_LEAST, _GREATEST), method="bounded", options={"xatol": 1e-3})
    return float(found["x"])  # type: ignore[index]


def _one(objective: Callable[[tuple[float, float]], float]) -> tuple[float, float]:
    mu = _best(lambda mu: objective((mu, mu)))
    return mu, mu


def _two(objective: Callable[[tuple[float, float]], float]) -> tuple[float, float]:
    mu_x, mu_y = _one(objective)
    for _ in range(2):
        mu_x = _best(lambda mu, y=mu_y: objective((mu, y)))
        mu_y = _best(lambda mu, x=mu_x: objective((x, mu)))
    return mu_x, mu_y
