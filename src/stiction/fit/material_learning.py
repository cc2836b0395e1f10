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
from stiction.data.instances import contact_instances
from stiction.fit.contact_restitution import impacts_of, learned_restitution
from stiction.fit.friction_structure import FEW_SPLINES, Model, Structure
from stiction.fit.material_check import Comparison, Forecasts, best_constant, contact_errors, contact_warning
from stiction.fit.material_choice import (
    FOLDS,
    SMOOTHNESS,
    Candidate,
    Choice,
    Chooser,
    FrictionProblem,
    Progress,
    Ranges,
    capped_errors,
)
from stiction.fit.material_points import (
    Observed,
    Patches,
    SlidingPoints,
    drawn_patches,
    observe,
    seen_ranges,
    sliding_points,
)
from stiction.fit.material_residual import causes_of
from stiction.fit.pose_windows import Windows
from stiction.fit.soft_points import with_torques
from stiction.laws.curves import Restitution
from stiction.laws.material import Material

N_PATCHES = 2500  # by which parameters are found


def learned_from_contacts(sets: list[Any], *, seed: int, held_out: float, progress: Progress) -> Material:
    """Return the material that explains the contacts of data sets best, with its info.

    If the best Coulomb law forecasts whole throws better, it is returned instead.
    """
    rng = np.random.default_rng(seed)
    parts = observe(sets)
    fitted, held = _split(parts, held_out, rng)
    ranges: Ranges = (*seen_ranges(fitted), learned_restitution(impacts_of(fitted), seed))
    choice, basis = _choose(fitted, ranges, rng, seed, progress)
    choice = with_torques(choice, fitted, seed)
    model = choice.best.model
    few = drawn_patches(fitted, N_PATCHES, rng)
    test = drawn_patches(held, N_PATCHES, rng)
    progress("parameters", 0.1)
    path = FrictionProblem(few, model, choice.smoothness).fit(choice.best.theta, iterations=8)
    stopped = _stopped(path, test, model)
    progress("parameters", 0.5)
    found = model.material(path[stopped])
    coulomb, friction = coulomb_of(fitted, seed)
    compared = _compared(found, coulomb.material(friction), fitted, held)
    kept = coulomb.material(friction) if compared.loses else found
    figures, causes = contact_errors(kept, held), causes_of(kept, parts, seed)
    if compared.loses:
        errors = capped_errors(FrictionProblem(few, coulomb, 0.0).residuals(friction))
        choice = replace(choice, best=Candidate(coulomb, friction, errors, few.throw), smoothness=SMOOTHNESS[0])
        model, theta = coulomb_of(parts, seed)
        covariance = None  # whole throws gave the coefficient: errors of contacts do not show how certain it is
    else:
        model = replace(model, restitution=learned_restitution(impacts_of(parts), seed))
        problem = FrictionProblem(drawn_patches(parts, N_PATCHES, rng), model, choice.smoothness)
        theta = problem.fit(path[stopped], iterations=stopped)[-1]
        covariance = model.covariance(problem.covariance(theta))
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
        "forecast": compared.to_dict(),
        "residual": causes,
        "warning": contact_warning(figures, compared, causes),
    }
    return replace(model.material(theta), covariance=covariance, info=info)


def coulomb_of(parts: list[Observed], seed: int) -> tuple[Model, NDArray[np.float64]]:
    """Return the Coulomb law that forecasts throws best, with one coefficient of restitution if points rebound."""
    patches = drawn_patches(parts, N_PATCHES, np.random.default_rng(seed))
    restitution = learned_restitution(impacts_of(parts), seed, most_parameters=1)
    return best_constant(patches, parts, (*seen_ranges(parts), restitution))


def _compared(material: Material, coulomb: Material, fitted: list[Observed], held: list[Observed]) -> Comparison:
    """Compare forecasts by a material and by a Coulomb law: those of held-out throws, and of all."""
    unseen, every = ([Forecasts.of(law, parts) for law in (material, coulomb)] for parts in (held, [*held, *fitted]))
    return Comparison(unseen[0], unseen[1], Comparison(every[0], every[1]))


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
    parts: list[Observed], ranges: Ranges, rng: np.random.Generator, seed: int, progress: Progress
) -> tuple[Choice, dict[str, int | str]]:
    """Return the structure, by sliding points if there are enough of them, else by all patches, and its basis."""
    points = sliding_points(parts)
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
    ranges: Ranges = (*seen_ranges(observe([simulated])), Restitution())

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
