"""From noisy poses to a material: through short rollouts, since a single step drowns in the noise of its velocities."""

from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks, splits
from stiction.data.instances import contact_instances
from stiction.fit.friction_structure import FEW_SPLINES, Model, Structure
from stiction.fit.material_choice import FOLDS, Choice, Chooser, FrictionProblem, Progress, Ranges
from stiction.fit.observed import observe, seen_ranges
from stiction.fit.pose_windows import Windows
from stiction.laws.material import Material

_FEWEST_THROWS = FOLDS + 1  # one of them is held out
_CHOOSING, _FITTING = 160, 640  # windows by which the structure is chosen, and the parameters are found
_START_ROUNDS = 4  # by which the starts of windows are found
_ROUNDS = 3  # in which friction and starts are found in turn
_ITERATIONS = 4
_SMOOTHNESS = 1e-3
_FIRST_GUESS = 0.35
_LARGE = 1.5  # times the noise: more on held-out windows is not noise, ...
_FEW = 5.0  # ... and so much more on a single window


def learned_from_windows(windows: Windows, *, seed: int, held_out: float, progress: Progress) -> Material:
    """The material that explains windows of recorded motions best, with its info."""
    rng = np.random.default_rng(seed)
    throws = len(np.unique(windows.throw))
    if throws < _FEWEST_THROWS:
        raise checks.InputError(
            f"Through rollouts, a material needs at least {_FEWEST_THROWS} throws with contacts, got {throws}."
        )
    is_held = splits.held_out(windows.throw, held_out, rng, n_kept=2)
    few = _some(_telling(windows.part(~is_held), Material.coulomb(_FIRST_GUESS)), _CHOOSING, rng)
    choice = _chosen(few, seed, progress)
    model, best = choice.best.model, choice.best.theta
    taught = _some(_telling(windows.part(~is_held), model.material(best)), _FITTING, rng)
    _, theta = _alternated(taught, model, best, choice.smoothness)
    progress("parameters", 0.5)
    figures = _judged(windows.part(is_held), model.material(theta))
    every = _some(_telling(windows, model.material(theta)), _FITTING, rng)
    every, theta = _alternated(every, model, theta, choice.smoothness)
    own = model.covariance(FrictionProblem(every, model, choice.smoothness).covariance(theta))
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
        "warning": _warning(figures),
    }
    return replace(model.material(theta), covariance=own, info=info)


def _telling(windows: Windows, material: Material) -> Windows:
    """The windows in which friction shows."""
    told = windows.part(windows.refined(material, 1).telling)
    if len(np.unique(told.throw)) < FOLDS:
        raise checks.InputError(
            f"Friction shows in {len(np.unique(told.throw))} throws only, at least {FOLDS} are needed: throw the body "
            "more often, or faster, or track it better."
        )
    return told


def _some(windows: Windows, most: int, rng: np.random.Generator) -> Windows:
    return windows.part(splits.drawn(len(windows), most, rng))


def _alternated(
    windows: Windows, model: Model, theta: NDArray[np.float64] | None, smoothness: float
) -> tuple[Windows, NDArray[np.float64]]:
    """Windows with their starts, and the parameters, found in turn."""
    begin = Material.coulomb(_FIRST_GUESS) if theta is None else model.material(theta)
    found = windows.refined(begin, _START_ROUNDS)
    theta = model.start(found.typical()) if theta is None else theta
    for _ in range(_ROUNDS):
        theta = FrictionProblem(found, model, smoothness).fit(theta, _ITERATIONS)[-1]
        found = windows.refined(model.material(theta), _START_ROUNDS)
    return found, theta


class _Simulated:
    """Contacts of rollouts, as a data set gives them."""

    def __init__(self, windows: Windows, material: Material) -> None:
        self.body, self.setting = windows.body, windows.setting
        self.rows = contact_instances(self.body, windows.run(material, every=1), self.setting)

    def read(self, columns: tuple[str, ...]) -> dict[str, NDArray]:
        return {name: self.rows[name] for name in columns}


def _ranges(windows: Windows, material: Material) -> Ranges:
    """Ranges of ln speed and ln load that the windows have seen, as a simple material explains them."""
    return seen_ranges(observe([_Simulated(windows, material)]))


def _chosen(few: Windows, seed: int, progress: Progress) -> Choice:
    """Constant friction, then one dependence after another as held-out windows call for it, then the switches."""
    constant = Structure(splines=FEW_SPLINES)
    windows, theta = _alternated(few, Model(constant, (0.0, 1.0), (0.0, 1.0)), None, _SMOOTHNESS)
    progress("structure", 0.1)
    ranges = _ranges(windows, Material.coulomb(float(np.exp(theta[0]))))

    def chooser(some: Windows) -> Chooser:
        return Chooser(some, ranges, iterations=_ITERATIONS, slow=True, seed=seed, progress=progress)

    choice = chooser(windows).grow(chooser(windows).single(constant, theta))
    progress("structure", 0.5)
    rivals = []
    for structure in _switched(choice.best.structure):
        model = Model(structure, *ranges)
        own, found = _alternated(few, model, model.start(float(np.exp(theta[0]))), choice.smoothness)
        rivals.append(chooser(replace(own, scale=windows.scale)).single(structure, found).best)
    progress("structure", 1.0)
    return choice.against(rivals)


def _switched(structure: Structure) -> list[Structure]:
    """The same dependences with other switches."""
    axes = ("world", "body") if structure.direction else ("world",)
    every = product(("round", "box"), ("actual", "frictionless"), axes)
    made = [replace(structure, cone=cone, limit=limit, axes=own) for cone, limit, own in every]
    return [other for other in made if other != structure]


def _judged(windows: Windows, material: Material) -> dict[str, float]:
    """How well windows that were held out are explained: median pose error over the noise, where friction shows."""
    found = windows.refined(material, _START_ROUNDS)
    return {
        "windows": int(found.telling.sum()),
        "error_over_noise": round(found.misfit(material), 4),
        "position_noise": round(windows.noise.position, 7),
        "rotation_noise": round(windows.noise.rotation, 7),
    }


def _warning(figures: dict[str, float]) -> str | None:
    times = figures["error_over_noise"]
    if times < _LARGE + _FEW / max(figures["windows"], 1):
        return None
    return (
        f"On throws that were held out, poses are wrong by {times:.1f} times their noise: this contact is not, or not "
        "only, friction of slip direction, slip speed and load at rigid points that do not bounce."
    )
