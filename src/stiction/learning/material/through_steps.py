"""From observed contacts to a material: its structure first, then its parameters through the native solver."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.laws.material import Material
from stiction.learning.material.choose import Choice, Chooser, Progress
from stiction.learning.material.errors import covariance
from stiction.learning.material.folds import FOLDS, held_out_throws
from stiction.learning.material.gauss_newton import minimise
from stiction.learning.material.held_out import judge, warning
from stiction.learning.material.observed import Observed, observe
from stiction.learning.material.patches import Patches, drawn_patches
from stiction.learning.material.ranges import seen_ranges
from stiction.learning.material.sliding_points import joined_points, sliding_points
from stiction.learning.material.structure import Model

_POINTS = 2000  # sliding points by which the structure is chosen
_FEWEST_POINTS = 60  # below which the structure is chosen by patches of all kinds
_FEW_THROWS = 64  # below which patches of all kinds are asked as well whether friction depends on more
_FEW_PATCHES, _PATCHES = 500, 2500  # by which the structure is chosen, and the parameters are found
_FEWEST_THROWS = 4  # with sliding contacts
_AS_GOOD = 0.02  # share of the held-out error that is only chance
_POINT_ITERATIONS, _PATCH_ITERATIONS, _ITERATIONS = 8, 4, 8


def learned_from_contacts(sets: list[Any], *, seed: int, held_out: float, progress: Progress) -> Material:
    """The material that explains the contacts of data sets best, with its info."""
    rng = np.random.default_rng(seed)
    parts = observe(sets)
    taught, held = _split(parts, held_out, rng)
    choice, basis = _choose(taught, rng, seed, progress)
    model, best = choice.best.model, choice.best
    few = drawn_patches(taught, _PATCHES, rng)
    test = drawn_patches(held, _PATCHES, rng)
    progress("parameters", 0.1)
    path = minimise(few, model, best.theta, smoothness=choice.smoothness, iterations=_ITERATIONS)
    stopped = _stopped(path, test, model)
    progress("parameters", 0.5)
    figures = judge(model.material(path[stopped]), held)
    every = drawn_patches(parts, _PATCHES, rng)
    theta = minimise(every, model, path[stopped], smoothness=choice.smoothness, iterations=stopped)[-1]
    progress("parameters", 1.0)
    own = covariance(every, model, theta, choice.smoothness)
    info = {**_about(sets, parts, seed), **choice.told(basis), "held_out": figures, "warning": warning(figures)}
    return replace(model.material(theta), covariance=model.covariance(own), info=info)


def _split(parts: list[Observed], share: float, rng: np.random.Generator) -> tuple[list[Observed], list[Observed]]:
    """Contacts to learn from and those of whole throws to hold out, at least one throw."""
    sliding = np.unique(np.concatenate([part.sliding().throw for part in parts]))
    if len(sliding) < _FEWEST_THROWS:
        raise checks.InputError(
            f"A material is learned from sliding contacts of at least {_FEWEST_THROWS} throws; only {len(sliding)} "
            f"throws have any."
        )
    held = held_out_throws(np.concatenate([part.throw for part in parts]), share, rng)
    if len(np.setdiff1d(sliding, held)) < _FEWEST_THROWS - 1:
        held = held[:1]  # so many are left to learn from, at least
    marks = [np.isin(part.throw, held) for part in parts]
    return [p[~m] for p, m in zip(parts, marks)], [p[m] for p, m in zip(parts, marks)]


def _choose(
    parts: list[Observed], rng: np.random.Generator, seed: int, progress: Progress
) -> tuple[Choice, dict[str, int | str]]:
    """The structure, by sliding points if there are enough of them, else by patches of all kinds; and by what."""
    ranges = seen_ranges(parts)
    points = joined_points([sliding_points(part) for part in parts])
    enough = len(points) >= _FEWEST_POINTS and len(np.unique(points.throw)) >= FOLDS
    if enough:
        problem = points.part(np.sort(rng.permutation(len(points))[:_POINTS]))
    else:
        problem = drawn_patches(parts, _FEW_PATCHES, rng)
    how = {"iterations": _POINT_ITERATIONS if enough else _PATCH_ITERATIONS, "slow": not enough}
    choice = Chooser(problem, ranges, **how, seed=seed, progress=progress).choose()
    if enough and len(np.unique(points.throw)) < _FEW_THROWS:
        patches = drawn_patches(parts, _FEW_PATCHES, rng)
        patch_how = {"iterations": _PATCH_ITERATIONS, "slow": True, "seed": seed, "progress": progress}
        choice = Chooser(patches, ranges, **patch_how).grow(choice)
    return choice, {"chosen_by": "sliding points" if enough else "all patches", "chosen_from": len(problem)}


def _stopped(path: list[NDArray[np.float64]], test: Patches, model: Model) -> int:
    """The last iteration after which parameters are as good as the best on the patches that were held out."""
    if not len(test):
        return len(path) - 1
    errors = [np.minimum(np.linalg.norm(test.residuals(model, theta), axis=1), 1.0).mean() for theta in path]
    return int(np.flatnonzero(np.array(errors) <= (1 + _AS_GOOD) * min(errors))[-1])


def _about(sets: list[Any], parts: list[Observed], seed: int) -> dict[str, Any]:
    """Where a material comes from."""
    one_plan = {"plan": sets[0].plan.to_dict()} if len(sets) == 1 and hasattr(sets[0], "plan") else {}
    return {
        **one_plan,
        "origin": "learned from contacts",
        "bodies": [part.body.shape for part in parts],
        "timesteps": [part.setting.timestep for part in parts],
        "data": [getattr(one, "fingerprint", None) for one in sets],
        "throws": sum(len(np.unique(part.throw)) for part in parts),
        "contacts": sum(len(part) for part in parts),
        "seed": seed,
    }
