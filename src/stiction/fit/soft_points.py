"""Torsional and rolling friction of soft points, from the torques that contacts at single points show.

The impulses of a hard point have no torque about it. With torsion a and rolling b, the torque about the normal is
-a n sign(w_z) while the point spins at w_z, and that across it -b n w_xy / |w_xy| while it rolls, n: normal impulse.
So a and b are medians of ratios that are observed directly, and each is kept where it explains held-out throws better.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics.splits import fold_of
from stiction.bodies.state import Kind
from stiction.fit.gauss_newton import clustered_mean
from stiction.fit.material_choice import FOLDS, Choice
from stiction.fit.material_points import Observed, torque_at

MIN_POINTS = 40
MIN_GAIN = 0.005  # share of the torque, noise included, that a coefficient must explain in held-out throws


@dataclass(frozen=True)
class _Turning:
    """Points that turn: torques over the normal impulse along and across their turning, (n, 2) [m]; throw: (n,)."""

    ratio: NDArray[np.float64]
    throw: NDArray[np.int64]

    def coefficient(self, seed: int) -> float | None:
        """Return the coefficient [m], or None where it does not explain held-out throws better than none."""
        if len(self.throw) < MIN_POINTS or len(np.unique(self.throw)) < FOLDS:
            return None
        fold, gain = fold_of(self.throw, FOLDS, seed), np.zeros(len(self.throw))
        for k in range(FOLDS):
            held = fold == k
            if held.any() and not held.all():
                fitted = max(0.0, float(np.median(self.ratio[~held, 0])))
                without = np.linalg.norm(self.ratio[held], axis=1)
                gain[held] = without - np.linalg.norm(self.ratio[held] - (fitted, 0.0), axis=1)
        mean, error = clustered_mean(gain, self.throw)
        torque = float(np.linalg.norm(self.ratio, axis=1).mean())
        found = float(np.median(self.ratio[:, 0]))
        return found if found > 0.0 and mean > max(3.0 * error, MIN_GAIN * torque) else None


def _torques(part: Observed) -> tuple[NDArray, NDArray, NDArray, NDArray, float]:
    """Return torques over the normal impulses (n, 3) [m], turning before and after (n, 3), throws, and the diameter."""
    weight = part.body.mass * float(np.linalg.norm(part.setting.gravity)) * part.setting.timestep
    points = part[(part.kind == Kind.POINT) & (part.impulse[:, 2] > 1e-2 * weight)]
    record: Any = points.contacts().record
    points = points[record.index]
    ratio = torque_at(points.impulse, record.centre) / points.impulse[:, 2:3]
    return ratio, record.before[:, 3:], points.after[:, 3:], points.throw, part.body.diameter


def _turning(parts: list[Observed], axes: slice) -> _Turning:
    """Return the points that turn about these axes after the step as well: others may hold less than they could."""
    ratios, throws = [], []
    for ratio, before, after, throw, diameter in map(_torques, parts):
        torque, first, last = ratio[:, axes], before[:, axes], after[:, axes]
        size = np.linalg.norm(last, axis=1)
        usual = float(np.median(np.linalg.norm(first, axis=1))) if len(first) else 0.0
        turns = (size > 0.2 * usual) & (np.einsum("nk,nk->n", first, last) > 0)
        along = -np.einsum("nk,nk->n", torque, last) / np.maximum(size, 1e-300)
        across = np.sqrt(np.maximum((torque**2).sum(axis=1) - along**2, 0.0))
        ratio = np.stack([along, across], axis=1)[turns]
        is_rounding = np.abs(ratio).max(axis=1, initial=0.0) < 1e-9 * diameter
        ratios.append(np.where(is_rounding[:, np.newaxis], 0.0, ratio))
        throws.append(throw[turns])
    return _Turning(np.concatenate(ratios), np.concatenate(throws))


def with_torques(choice: Choice, parts: list[Observed], seed: int) -> Choice:
    """Return the same choice, with torsion and rolling where the torques at single points call for them."""
    torsion = _turning(parts, slice(2, 3)).coefficient(seed)
    rolling = _turning(parts, slice(0, 2)).coefficient(seed)
    if torsion is None and rolling is None:
        return choice
    structure = replace(choice.best.structure, torsion=torsion, rolling=rolling)
    return replace(choice, best=replace(choice.best, model=replace(choice.best.model, structure=structure)))
