"""Restitution from the rebounds of single points: how fast they leave the ground, by how fast they came.

A point that approaches the ground at v leaves it at u = max(0, e(v) v - h g), as laws with restitution have it: what
gravity adds in a step counts neither before the rebound nor after it. The parameters of e are those of `Restitution`,
as many of them as held-out throws call for.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction.basics.splits import fold_of
from stiction.bodies.state import Kind
from stiction.fit.material_points import Observed, velocity_at
from stiction.laws.curves import Restitution

LEAST_APPROACH = 0.1  # [m/s] of an impact
_LEAST_IMPACTS = 30
_LEAST_BOUNCE = 0.02  # median ratio of the speeds after and before below which there is no restitution
_START, _LOWEST, _HIGHEST = (0.3, 0.0, 0.0), (0.0, -2.0, 0.0), (1.0, 3.0, 0.5)


@dataclass(frozen=True)
class Impacts:
    """Impacts of single points, n of them: speeds before and after [m/s], what gravity adds [m/s], throw; all (n,)."""

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    fall: NDArray[np.float64]
    throw: NDArray[np.int64]

    def errors(self, e: Restitution, which: NDArray | slice = slice(None)) -> NDArray[np.float64]:
        """Return the errors of the speeds after some of the impacts."""
        v = self.before[which]
        return np.maximum(e(v) * v - self.fall[which], 0.0) - self.after[which]


def impacts_of(parts: list[Observed]) -> Impacts:
    """Return the impacts of single points among observed contacts."""
    found = []
    for part in (one[one.kind == Kind.POINT] for one in parts):
        centre = part.contacts().record["centre"]
        before, after = (velocity_at(twist, centre)[:, 2] for twist in (part.twist, part.after))
        hits = (-before > LEAST_APPROACH) & (part.impulse[:, 2] > 0)
        fall = np.full(len(part), max(0.0, -part.setting.timestep * float(part.setting.gravity[2])))
        found.append((-before[hits], after[hits], fall[hits], part.throw[hits]))
    return Impacts(*(np.concatenate(column) for column in zip(*found)))


def learned_restitution(impacts: Impacts, seed: int, most_parameters: int = 3) -> Restitution:
    """Return the restitution that explains the rebounds, with as few parameters as held-out throws call for."""
    if len(impacts.before) < _LEAST_IMPACTS or len(np.unique(impacts.throw)) < 4:
        return Restitution()
    if np.median((impacts.after + impacts.fall) / impacts.before) < _LEAST_BOUNCE:
        return Restitution()
    fold, errors = fold_of(impacts.throw, 2, seed), []
    for n_parameters in range(1, most_parameters + 1):
        halves = [impacts.errors(_fitted(impacts, fold != k, n_parameters), fold == k) for k in range(2)]
        errors.append(float(np.abs(np.concatenate(halves)).mean()))
    enough = next(k for k, error in enumerate(errors) if error <= 1.03 * min(errors) + 1e-4)
    return _fitted(impacts, np.ones(len(fold), dtype=np.bool_), enough + 1)


def _fitted(impacts: Impacts, which: NDArray[np.bool_], n_parameters: int) -> Restitution:
    """Return the restitution with this many parameters that explains some impacts best, robustly."""
    from scipy.optimize import least_squares  # slow to import

    bounds = _LOWEST[:n_parameters], _HIGHEST[:n_parameters]
    width = max(float(np.median(np.abs(impacts.after[which]))) * 0.1, 1e-3)
    solved = least_squares(
        lambda x: impacts.errors(Restitution(*x), which), _START[:n_parameters], bounds=bounds, loss="soft_l1",
        f_scale=width,
    )  # fmt: skip
    return Restitution(*(float(x) for x in solved.x))
