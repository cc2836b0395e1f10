"""From observed contacts to a material: its structure first, then its parameters through the native solver."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks, splits
from stiction.bodies.state import Mode
from stiction.fit.friction_structure import Model
from stiction.fit.material_choice import FOLDS, Choice, Chooser, FrictionProblem, Progress
from stiction.fit.material_points import KINDS, Patches, SlidingPoints, drawn_patches, joined_points, sliding_points
from stiction.fit.observed import Observed, observe, seen_ranges
from stiction.laws.material import Material

# How good a material is on throws that it has not seen, and whether what is left is noise or something it lacks.


LARGE = 0.02  # held-out error of friction from which on it is looked at
_ENOUGH = 30  # sliding contacts of a kind below which its error says little
_ABOVE_NOISE = 1.5  # times the noise floor: more is not noise


def judge(material: Material, parts: list[Observed]) -> dict[str, Any]:
    """Figures of a material on observed contacts, by kind of patch and together.

    friction_error: mean size of the error over mean size of friction, where it slides; modes: share that is right;
    noise_floor: what of friction_error jumps from one step to the next, as noise does and what a map lacks does not
    """
    rows = [_Judged(material, part) for part in parts if len(part)]
    figures: dict[str, Any] = {}
    for name, kinds in {**{kind.name.lower(): (kind,) for kind in KINDS}, "all": KINDS}.items():
        figures[name] = _figures(rows, kinds)
    return {kind: figures[kind] for kind in ("point", "line", "surface", "all") if figures[kind]["contacts"]}


def warning(figures: dict[str, Any]) -> str | None:
    """A sentence if the error of some kind of patch is greater than noise explains."""
    wrong = {}
    for name, own in figures.items():
        error, floor = own.get("friction_error", 0.0), own.get("noise_floor") or 0.0
        if own.get("dynamic", 0) >= _ENOUGH and error > max(LARGE, _ABOVE_NOISE * floor):
            wrong[name] = error, floor
    if not wrong:
        return None
    name = "all" if "all" in wrong else max(wrong, key=lambda kind: wrong[kind][0])
    error, floor = wrong[name]
    where = "" if name == "all" else f" of {name} contacts"
    return (
        f"On throws that were held out, friction{where} is wrong by {error:.1%}, and noise explains only {floor:.1%}: "
        "this friction is not, or not only, a smooth function of slip direction, slip speed and load at rigid points."
    )


class _Judged:
    """One body's contacts, with friction (n, 2) as observed and as the material has it."""

    def __init__(self, material: Material, part: Observed) -> None:
        impulse, mode = material.on(part.body, timestep=part.setting.timestep).respond(part.contacts())
        self.kind, self.slides, self.right = part.kind, part.mode == Mode.DYNAMIC, part.mode == mode
        self.friction, self.error = part.impulse[:, :2], impulse[:, :2] - part.impulse[:, :2]
        follows = np.zeros(len(part), dtype=np.bool_)
        follows[1:] = (np.diff(part.throw) == 0) & (np.diff(part.step) == 1) & (part.step[:-1] >= 0)
        follows[1:] &= (np.diff(part.kind) == 0) & self.slides[1:] & self.slides[:-1]
        self.follows = follows


def _figures(rows: list[_Judged], kinds: tuple) -> dict[str, Any]:
    """Figures of the contacts of some kinds."""
    chosen = [np.isin(row.kind, kinds) for row in rows]
    number = sum(int(which.sum()) for which in chosen)
    result: dict[str, Any] = {"contacts": number}
    if not number:
        return result
    right = sum(int(row.right[which].sum()) for row, which in zip(rows, chosen))
    result["modes"] = round(right / number, 6)
    error, friction, jumps, steps = (
        np.concatenate([part(row, which) for row, which in zip(rows, chosen)])
        for part in (_error, _friction, _jumps, _shares)
    )
    result["dynamic"] = len(error)
    if len(error) and friction.mean() > 0:
        result["friction_error"] = round(float(error.mean() / friction.mean()), 7)
    if len(jumps) > 10:
        result["noise_floor"] = round(float(jumps.mean() / np.sqrt(2) / steps.mean()), 7)
    return result


def _error(row: _Judged, which: NDArray) -> NDArray[np.float64]:
    return np.linalg.norm(row.error[which & row.slides], axis=1)


def _friction(row: _Judged, which: NDArray) -> NDArray[np.float64]:
    return np.linalg.norm(row.friction[which & row.slides], axis=1)


def _jumps(row: _Judged, which: NDArray) -> NDArray[np.float64]:
    at = np.flatnonzero(which & row.follows)
    return np.linalg.norm(row.error[at] - row.error[at - 1], axis=1)


def _shares(row: _Judged, which: NDArray) -> NDArray[np.float64]:
    at = np.flatnonzero(which & row.follows)
    size = np.linalg.norm(row.friction, axis=1)
    return 0.5 * (size[at] + size[at - 1])


_POINTS = 2000  # sliding points by which the structure is chosen
_FEWEST_POINTS = 60  # below which the structure is chosen by patches of all kinds
_FEW_THROWS = 64  # below which patches of all kinds are asked as well whether friction depends on more
_FEW_PATCHES, _PATCHES = 500, 2500  # by which the structure is chosen, and the parameters are found
_FEWEST_THROWS = 4  # with sliding contacts
_AS_GOOD = 0.02  # share of the held-out error that is only chance
_ITERATIONS = 8


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
    path = FrictionProblem(few, model, choice.smoothness).fit(best.theta, _ITERATIONS)
    stopped = _stopped(path, test, model)
    progress("parameters", 0.5)
    figures = judge(model.material(path[stopped]), held)
    every = drawn_patches(parts, _PATCHES, rng)
    problem = FrictionProblem(every, model, choice.smoothness)
    theta = problem.fit(path[stopped], stopped)[-1]
    progress("parameters", 1.0)
    info = {**_about(sets, parts, seed), **choice.info(basis), "held_out": figures, "warning": warning(figures)}
    return replace(model.material(theta), covariance=model.covariance(problem.covariance(theta)), info=info)


def _split(parts: list[Observed], share: float, rng: np.random.Generator) -> tuple[list[Observed], list[Observed]]:
    """Contacts to learn from and those of whole throws to hold out, at least one throw."""
    sliding = np.unique(np.concatenate([part.sliding().throw for part in parts]))
    if len(sliding) < _FEWEST_THROWS:
        raise checks.InputError(
            f"A material is learned from sliding contacts of at least {_FEWEST_THROWS} throws; only {len(sliding)} "
            f"throws have any."
        )
    held = splits.held_out_groups(np.concatenate([part.throw for part in parts]), share, rng, n_kept=2)
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
        problem = points.part(splits.drawn(len(points), _POINTS, rng))
    else:
        problem = drawn_patches(parts, _FEW_PATCHES, rng)

    def chooser(some: SlidingPoints | Patches, slow: bool) -> Chooser:
        return Chooser(some, ranges, iterations=4 if slow else 8, slow=slow, seed=seed, progress=progress)

    choice = chooser(problem, not enough).choose()
    if enough and len(np.unique(points.throw)) < _FEW_THROWS:
        patches = drawn_patches(parts, _FEW_PATCHES, rng)
        choice = chooser(patches, True).grow(choice)
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
