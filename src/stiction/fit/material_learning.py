"""From contacts or poses to a material: its structure first, then its parameters, then its errors on held-out throws.

From contacts, the friction of single steps is compared. From noisy poses, short rollouts are, since a single step is
lost in the noise of its velocities; the starts of the rollouts are refined in turn with the parameters.
"""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks, splits
from stiction.bodies.state import Mode
from stiction.data.instances import contact_instances
from stiction.fit.friction_structure import FEW_SPLINES, Model, Structure
from stiction.fit.material_choice import FOLDS, Choice, Chooser, FrictionProblem, Progress, Ranges, capped_errors
from stiction.fit.material_points import (
    KINDS,
    Observed,
    Patches,
    SlidingPoints,
    drawn_patches,
    observe,
    seen_ranges,
    sliding_points,
)
from stiction.fit.pose_windows import Windows
from stiction.laws.material import Material

N_PATCHES = 2500  # by which parameters are found


def learned_from_contacts(sets: list[Any], *, seed: int, held_out: float, progress: Progress) -> Material:
    """Return the material that explains the contacts of data sets best, with its info."""
    rng = np.random.default_rng(seed)
    parts = observe(sets)
    fitted, held = _split(parts, held_out, rng)
    choice, basis = _choose(fitted, rng, seed, progress)
    model = choice.best.model
    few = drawn_patches(fitted, N_PATCHES, rng)
    test = drawn_patches(held, N_PATCHES, rng)
    progress("parameters", 0.1)
    path = FrictionProblem(few, model, choice.smoothness).fit(choice.best.theta, iterations=8)
    stopped = _stopped(path, test, model)
    progress("parameters", 0.5)
    figures = contact_errors(model.material(path[stopped]), held)
    problem = FrictionProblem(drawn_patches(parts, N_PATCHES, rng), model, choice.smoothness)
    theta = problem.fit(path[stopped], iterations=stopped)[-1]
    progress("parameters", 1.0)
    info = {
        **({"plan": sets[0].plan.to_dict()} if len(sets) == 1 and hasattr(sets[0], "plan") else {}),
        "origin": "learned from contacts",
        "bodies": [part.body.shape for part in parts],
        "timesteps": [part.setting.timestep for part in parts],
        "data": [getattr(one, "fingerprint", None) for one in sets],
        "throws": sum(len(np.unique(part.throw)) for part in parts),
        "contacts": sum(len(part) for part in parts),
        "seed": seed,
        **choice.info(basis),
        "held_out": figures,
        "warning": contact_warning(figures),
    }
    return replace(model.material(theta), covariance=model.covariance(problem.covariance(theta)), info=info)


def _split(parts: list[Observed], share: float, rng: np.random.Generator) -> tuple[list[Observed], list[Observed]]:
    """Return contacts to learn from and those of whole throws to hold out, at least one throw."""
    sliding = np.unique(np.concatenate([part.sliding().throw for part in parts]))
    if len(sliding) < 4:
        raise checks.InputError(
            f"A material is learned from sliding contacts of at least 4 throws; only {len(sliding)} throws have any."
        )
    held = splits.held_out_groups(np.concatenate([part.throw for part in parts]), share, rng, n_kept=2)
    if len(np.setdiff1d(sliding, held)) < 3:
        held = held[:1]
    marks = [np.isin(part.throw, held) for part in parts]
    return [p[~m] for p, m in zip(parts, marks)], [p[m] for p, m in zip(parts, marks)]


def _choose(
    parts: list[Observed], rng: np.random.Generator, seed: int, progress: Progress
) -> tuple[Choice, dict[str, int | str]]:
    """Return the structure, by sliding points if there are enough of them, else by all patches, and its basis."""
    ranges, points = seen_ranges(parts), sliding_points(parts)
    throws = len(np.unique(points.throw))
    enough = len(points) >= 60 and throws >= FOLDS
    problem = points.part(splits.drawn(len(points), 2000, rng)) if enough else drawn_patches(parts, 500, rng)

    def chooser(some: SlidingPoints | Patches, slow: bool) -> Chooser:
        return Chooser(some, ranges, iterations=4 if slow else 8, slow=slow, seed=seed, progress=progress)

    choice = chooser(problem, not enough).choose()
    if enough and throws < 64:  # points of few throws may not show all that friction depends on
        choice = chooser(drawn_patches(parts, 500, rng), True).grow(choice)
    return choice, {"chosen_by": "sliding points" if enough else "all patches", "chosen_from": len(problem)}


def _stopped(path: list[NDArray[np.float64]], test: Patches, model: Model) -> int:
    """Return the last iteration whose held-out error is within 2 % of the least one."""
    if not len(test):
        return len(path) - 1
    errors = [capped_errors(test.residuals(model, theta)).mean() for theta in path]
    return int(np.flatnonzero(np.array(errors) <= (1 + 0.02) * min(errors))[-1])


def contact_errors(material: Material, parts: list[Observed]) -> dict[str, Any]:
    """Return the errors of a material on observed contacts, by kind of patch and together.

    friction_error: mean error over mean friction, where it slides; modes: share of correct ones;
    noise_floor: the part of friction_error that jumps from step to step, as noise does, unlike a missing dependence
    """
    rows = [_Compared(material, part) for part in parts if len(part)]
    names = {**{kind.name.lower(): (kind,) for kind in KINDS}, "all": KINDS}
    figures = {name: _errors_of(rows, kinds) for name, kinds in names.items()}
    return {name: row for name, row in figures.items() if row["contacts"]}


def contact_warning(figures: dict[str, Any]) -> str | None:
    """Return a sentence if the error for some kind of patch is above 2 % and above 1.5 times the noise floor."""
    wrong = {}
    for name, row in figures.items():
        error, floor = row.get("friction_error", 0.0), row.get("noise_floor") or 0.0
        if row.get("dynamic", 0) >= 30 and error > max(0.02, 1.5 * floor):
            wrong[name] = error, floor
    if not wrong:
        return None
    name = "all" if "all" in wrong else max(wrong, key=lambda kind: wrong[kind][0])
    error, floor = wrong[name]
    where = "" if name == "all" else f" of {name} contacts"
    return (
        f"On held-out throws, the error of friction{where} is {error:.1%}, and noise explains only {floor:.1%}: this "
        "friction is not, or not only, a smooth function of slip direction, slip speed and load at rigid points."
    )


class _Compared:
    """One body's contacts: friction (n, 2) and its errors; follows: which contacts continue the one before."""

    def __init__(self, material: Material, part: Observed) -> None:
        impulse, mode = material.on(part.body, timestep=part.setting.timestep).respond(part.contacts())
        self.kind, self.slides, self.correct = part.kind, part.mode == Mode.DYNAMIC, part.mode == mode
        self.friction, self.error = part.impulse[:, :2], impulse[:, :2] - part.impulse[:, :2]
        follows = np.zeros(len(part), dtype=np.bool_)
        follows[1:] = (np.diff(part.throw) == 0) & (np.diff(part.step) == 1) & (part.step[:-1] >= 0)
        follows[1:] &= (np.diff(part.kind) == 0) & self.slides[1:] & self.slides[:-1]
        self.follows = follows

    def sizes(self, kinds: tuple) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Return sizes of errors and of friction where it slides, of jumps of the error, and of friction there."""
        which, size = np.isin(self.kind, kinds), np.linalg.norm(self.friction, axis=1)
        at, slides = np.flatnonzero(which & self.follows), which & self.slides
        jumps = np.linalg.norm(self.error[at] - self.error[at - 1], axis=1)
        return np.linalg.norm(self.error[slides], axis=1), size[slides], jumps, 0.5 * (size[at] + size[at - 1])


def _errors_of(rows: list[_Compared], kinds: tuple) -> dict[str, Any]:
    correct = np.concatenate([row.correct[np.isin(row.kind, kinds)] for row in rows] or [np.empty(0)])
    result: dict[str, Any] = {"contacts": len(correct)}
    if not len(correct):
        return result
    result["modes"] = round(int(correct.sum()) / len(correct), 6)
    error, friction, jumps, steps = (np.concatenate(part) for part in zip(*(row.sizes(kinds) for row in rows)))
    result["dynamic"] = len(error)
    if len(error) and friction.mean() > 0:
        result["friction_error"] = round(float(error.mean() / friction.mean()), 7)
    if len(jumps) > 10:
        result["noise_floor"] = round(float(jumps.mean() / np.sqrt(2) / steps.mean()), 7)
    return result


N_WINDOWS = 640  # by which parameters are found
START_ROUNDS = 4  # in which the starts of windows are refined
FIRST_GUESS = 0.35


def learned_from_windows(windows: Windows, *, seed: int, held_out: float, progress: Progress) -> Material:
    """Return the material that explains windows of recorded motions best, with its info."""
    rng = np.random.default_rng(seed)
    throws = len(np.unique(windows.throw))
    if throws < FOLDS + 1:
        raise checks.InputError(
            f"Through rollouts, a material needs at least {FOLDS + 1} throws with contacts, got {throws}."
        )
    is_held = splits.held_out(windows.throw, held_out, rng, n_kept=2)
    few = _informative(windows.part(~is_held), Material.coulomb(FIRST_GUESS), 160, rng)
    choice = _chosen(few, seed, progress)
    model, best = choice.best.model, choice.best.theta
    fitted = _informative(windows.part(~is_held), model.material(best), N_WINDOWS, rng)
    _, theta = _alternated(fitted, model, best, choice.smoothness)
    progress("parameters", 0.5)
    figures = _window_errors(windows.part(is_held), model.material(theta))
    every = _informative(windows, model.material(theta), N_WINDOWS, rng)
    every, theta = _alternated(every, model, theta, choice.smoothness)
    covariance = model.covariance(FrictionProblem(every, model, choice.smoothness).covariance(theta))
    progress("parameters", 1.0)
    info = {
        "origin": "learned from poses",
        "bodies": [windows.body.shape],
        "timesteps": [windows.setting.timestep * windows.every],
        "throws": throws,
        "windows": len(windows),
        "seed": seed,
        **choice.info({"chosen_by": "rollouts", "chosen_from": len(few)}),
        "held_out": {"rollouts": figures},
        "warning": _window_warning(figures),
    }
    return replace(model.material(theta), covariance=covariance, info=info)


def _informative(windows: Windows, material: Material, n_windows: int, rng: np.random.Generator) -> Windows:
    """Draw some of the windows in which friction has an effect."""
    found = windows.part(windows.refined(material, 1).informative)
    throws = len(np.unique(found.throw))
    if throws < FOLDS:
        raise checks.InputError(
            f"Friction has a visible effect in only {throws} throws, at least {FOLDS} are needed: throw the body more "
            "often, or faster, or track it better."
        )
    return found.part(splits.drawn(len(found), n_windows, rng))


def _alternated(
    windows: Windows, model: Model, theta: NDArray[np.float64] | None, smoothness: float
) -> tuple[Windows, NDArray[np.float64]]:
    """Return windows with refined starts, and the parameters, found in turn."""
    first = Material.coulomb(FIRST_GUESS) if theta is None else model.material(theta)
    found = windows.refined(first, START_ROUNDS)
    theta = model.start(found.typical) if theta is None else theta
    for _ in range(3):
        theta = FrictionProblem(found, model, smoothness).fit(theta, iterations=4)[-1]
        found = windows.refined(model.material(theta), START_ROUNDS)
    return found, theta


def _chosen(few: Windows, seed: int, progress: Progress) -> Choice:
    """Choose constant friction first, then one dependence after another as windows call for it, then the switches."""
    constant = Structure(splines=FEW_SPLINES)
    windows, theta = _alternated(few, Model(constant, (0.0, 1.0), (0.0, 1.0)), None, smoothness=1e-3)
    friction = float(np.exp(theta[0]))
    progress("structure", 0.1)
    run = windows.run(Material.coulomb(friction), every=1)
    rows = contact_instances(windows.body, run, windows.setting)
    simulated = SimpleNamespace(body=windows.body, setting=windows.setting, read=lambda columns: rows)  # a data set
    ranges: Ranges = seen_ranges(observe([simulated]))

    def chooser(some: Windows) -> Chooser:
        return Chooser(some, ranges, iterations=4, slow=True, seed=seed, progress=progress)

    choice = chooser(windows).grow(chooser(windows).single(constant, theta))
    progress("structure", 0.5)
    rivals, best = [], choice.best.structure
    axes = ("world", "body") if best.direction else ("world",)
    for cone, limit, some_axes in product(("round", "box"), ("actual", "frictionless"), axes):
        structure = replace(best, cone=cone, limit=limit, axes=some_axes)
        if structure != best:
            model = Model(structure, *ranges)
            refined, found = _alternated(few, model, model.start(friction), choice.smoothness)
            rivals.append(chooser(replace(refined, scale=windows.scale)).single(structure, found).best)
    progress("structure", 1.0)
    return choice.against(rivals)


def _window_errors(windows: Windows, material: Material) -> dict[str, float]:
    """Return the median pose error of held-out windows over the noise, where friction has an effect."""
    found = windows.refined(material, START_ROUNDS)
    return {
        "windows": int(found.informative.sum()),
        "error_over_noise": round(found.misfit(material), 4),
        "position_noise": round(windows.noise.position, 7),
        "rotation_noise": round(windows.noise.rotation, 7),
    }


def _window_warning(figures: dict[str, float]) -> str | None:
    """Return a sentence if errors are clearly above the noise; single windows may have larger ones by chance."""
    times = figures["error_over_noise"]
    if times < 1.5 + 5.0 / max(figures["windows"], 1):
        return None
    return (
        f"On held-out throws, errors of poses are {times:.1f} times their noise: this contact is not, or not only, "
        "friction of slip direction, slip speed and load at rigid points that do not bounce."
    )
