"""From contact instances to a law: how to look at contacts first, then the approximators of each kind of patch."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize_scalar

from stiction.basics import checks
from stiction.basics.splits import drawn, held_out
from stiction.bodies.body import Body
from stiction.bodies.state import Kind, Mode
from stiction.laws.approximators import Approximator, Network
from stiction.laws.inputs import FOLDS, Inputs
from stiction.laws.learned import HIDDEN, KINDS, AugmentedLaw, StatisticalLaw, part_name
from stiction.laws.material import Material
from stiction.simulation.motion import Setting
from stiction.training import fitters as fit
from stiction.training.examples import Examples, Instances, make_examples, usable
from stiction.training.fitters import Checkpoint, FitOptions, fit_regressor, loss_of
from stiction.training.settings import Switches

# The Coulomb guess that suits the data: its cone and its coefficients, and with them the symmetry of the law.


MOST_INSTANCES = 1500
_ALIKE = 0.02  # coefficients that differ by less are one


def fit_guess(body: Body, instances: Instances, setting: Setting, seed: int = 0) -> tuple[Inputs, float]:
    """Inputs with the best guess for sliding contacts and the symmetry that it has, and its relative error."""
    sliding = np.flatnonzero(instances.mode == Mode.DYNAMIC)
    few = instances[drawn(sliding, MOST_INSTANCES, seed)]

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


# The choices in how a law looks at contacts, before the data have had their say.


# What a law is told of contacts, by what helps on held-out throws: symmetry about the vertical, loads and speeds.


_FEW = 8000  # sliding contacts that are looked at
_STEPS = 600
_FEWEST_POINTS = 50
_EXPLAINED = 0.7  # share of the variance of friction that its direction must leave at most, to matter
_BETTER = 0.9  # another symmetry must reach this share of the expected one's loss


def choose_fold(
    body: Body,
    instances: Instances,
    setting: Setting,
    inputs: Inputs,
    seed: int,
    progress: Callable[[float], None],
    material: Material | None = None,
) -> tuple[Inputs, dict[str, float]]:
    """`inputs` with the fold that predicts sliding friction best, and the held-out loss of each fold.

    The fold in `inputs` is what its guess of friction suggests; it stays unless another one is clearly better, since
    the more symmetric of two laws that fit alike needs fewer data.
    """
    few = _few(instances, seed)
    if inputs.fold in ("heading", "mirror-swap") and depends_on_direction(body, few, setting, inputs):
        inputs = replace(inputs, fold="none")
    losses = {}
    for number, fold in enumerate(FOLDS):
        losses[fold] = _loss(body, few, setting, replace(inputs, fold=fold), seed, material)
        progress((number + 1) / len(FOLDS))
    best = min(losses, key=lambda fold: losses[fold])
    if losses[best] < _BETTER * losses[inputs.fold]:
        inputs = replace(inputs, fold=best)
    return inputs, losses


def depends_on_direction(body: Body, instances: Instances, setting: Setting, inputs: Inputs) -> bool:
    """Whether friction at sliding points is clearly another one forwards than backwards, or along than across."""
    points = make_examples(body, instances, setting, replace(inputs, fold="none", guess=False))[Kind.POINT]
    if len(points.mode) < _FEWEST_POINTS:
        return False
    size = np.linalg.norm(points.y, axis=1)
    angle = np.arctan2(*points.x[:, 5:3:-1].T)  # of the slip
    waves = np.stack([np.ones_like(angle), *(f(k * angle) for k in (1, 2) for f in (np.cos, np.sin))], axis=1)
    left = size - waves @ np.linalg.lstsq(waves, size, rcond=None)[0]
    return bool(left.var() < _EXPLAINED * size.var())


def choose_absolute(
    body: Body, instances: Instances, setting: Setting, inputs: Inputs, seed: int, material: Material | None = None
) -> Inputs:
    """`inputs` with loads and speeds beside all that is free of units, if friction is predicted clearly better so."""
    few = _few(instances, seed)
    without, told = (replace(inputs, absolute=absolute) for absolute in (False, True))
    better = _BETTER * _loss(body, few, setting, without, seed, material)
    return told if _loss(body, few, setting, told, seed, material) < better else without


def _few(instances: Instances, seed: int) -> Instances:
    """Some of the sliding contacts."""
    sliding = np.flatnonzero(instances.mode == Mode.DYNAMIC)
    return instances[drawn(sliding, _FEW, seed)]


def _loss(
    body: Body, instances: Instances, setting: Setting, inputs: Inputs, seed: int, material: Material | None
) -> float:
    """Held-out loss of quickly trained regressors, over all kinds of patch."""
    total, number = 0.0, 0
    for examples in make_examples(body, instances, setting, inputs, material).values():
        held = held_out(examples.throw, 0.3, seed) if len(examples.throw) else np.zeros(0, dtype=np.bool_)
        if held.sum() < 50 or (~held).sum() < 50:
            continue
        options = FitOptions(hidden=(32, 32), steps=_STEPS, batch=256, seed=seed)
        network = fit_regressor(examples.x, examples.y, examples.load, held, options, lambda done: None)
        total += loss_of(network, examples.x[held], examples.y[held], examples.load[held]) * held.sum()
        number += int(held.sum())
    return float(total / max(number, 1))


FEWEST = 200  # examples below which nothing is trained
LAWS: dict[str, type[AugmentedLaw] | type[StatisticalLaw]] = {"augmented": AugmentedLaw, "statistical": StatisticalLaw}
APPROXIMATORS = ("network", "trees", "gp", "svm")
Progress = Callable[[str, float], None]
_DEFAULT = Switches()
_LEAST_SHARE = 0.3  # of a time budget that is left to the networks, however long the rest took


def train(
    body: Body,
    instances: Instances,
    setting: Setting,
    options: FitOptions | None = None,
    *,
    law: str = "augmented",
    approximator: str = "network",
    inputs: Inputs | Switches = _DEFAULT,
    material: Material | None = None,
    time_budget: float | None = None,
    held_share: float = 0.1,
    info: dict | None = None,
    progress: Progress = lambda part, done: None,
    checkpoint: Checkpoint | None = None,
) -> AugmentedLaw | StatisticalLaw:
    """Train a law, "augmented" or "statistical", on the contact instances of one body.

    approximator: "network"; or "trees" (gradient-boosted), "gp" (Gaussian process), "svm" (support vector machine)
    inputs: how contacts are described; of Switches, the guess of friction and the symmetry are found in the data
    material: whose friction is the guess of an augmented law, instead of a Coulomb law that is fitted to the data
    time_budget: for all of it [s]; networks are trained by the clock then, and depend on the machine
    held_share: share of the throws that are held out for early stopping
    progress: is told the part under way and its share done
    checkpoint: where finished approximators are kept, and found again
    """
    checks.choice("law", law, tuple(LAWS))
    checks.choice("approximator", approximator, APPROXIMATORS)
    instances = usable(body, instances, setting)
    if len(instances) < FEWEST:
        raise checks.InputError(f"A law needs at least {FEWEST} contact instances, got {len(instances)}.")
    options, began = options or FitOptions(), time.monotonic()
    found = {}
    if isinstance(inputs, Switches):
        inputs, found = find_inputs(body, instances, setting, inputs, options.seed, progress, material)
    examples = make_examples(body, instances, setting, inputs, material)
    if time_budget is not None:
        left = max(time_budget - (time.monotonic() - began), _LEAST_SHARE * time_budget)
        options = replace(options, seconds=left / (len(KINDS) * len(LAWS[law].ROLES)))
    parts, dropped = {}, []
    for kind in KINDS:
        how = replace(options, hidden=options.hidden or HIDDEN[kind])
        held = held_out(examples[kind].throw, held_share, options.seed)
        roles = []
        for role in LAWS[law].ROLES:
            name = part_name(kind, role)
            part = checkpoint.get(name) if checkpoint is not None else None
            if part is None:
                part = _fit_role(role, examples[kind], held, how, approximator, lambda d, n=name: progress(n, d))
                if checkpoint is not None:
                    checkpoint.put(name, part)
            progress(name, 1.0)
            roles.append(part)
            if law == "augmented" and not helps(role, part, examples[kind], held, material is not None):
                dropped.append(name)
        parts[kind] = tuple(roles)
    seen = {kind.name.lower(): len(examples[kind].mode) for kind in KINDS}
    about = {"instances": seen, "seed": options.seed, "approximator": approximator, **found, **(info or {})}
    how = {"timestep": setting.timestep, "info": about}
    if law == "augmented":
        return AugmentedLaw(body, parts, inputs, material=material, dropped=tuple(dropped), **how)
    return StatisticalLaw(body, parts, inputs, **how)


def find_inputs(
    body: Body,
    instances: Instances,
    setting: Setting,
    switches: Switches = _DEFAULT,
    seed: int = 0,
    progress: Progress = lambda part, done: None,
    material: Material | None = None,
) -> tuple[Inputs, dict]:
    """Inputs as switched, with the guess of friction and the symmetry that suit the data; what was measured for it."""
    s = switches
    if s.inputs == "state":
        plain = Inputs("state", "none", guess=False, scaled=s.scaled, rotation=s.rotation, centre=s.centre, slip=s.slip)
        return plain, {}
    inputs, found = Inputs(fold="mirror"), {}
    if material is not None:
        inputs = Inputs(fold="none" if "direction" in material.depends_on else "mirror", cone=material.cone)
    elif s.guess:
        progress("guess of friction", 0.0)
        inputs, found["guess_error"] = fit_guess(body, instances, setting, seed)
        progress("guess of friction", 1.0)
    inputs = replace(inputs, guess=s.guess, scaled=s.scaled)
    if s.fold != "auto":
        inputs = replace(inputs, fold=s.fold)
    else:
        inputs, found["fold_losses"] = choose_fold(
            body, instances, setting, inputs, seed, lambda done: progress("symmetry", done), material
        )
    if s.absolute == "auto":
        return choose_absolute(body, instances, setting, inputs, seed, material), found
    return replace(inputs, absolute=s.absolute == "yes"), found


def helps(role: str, part: Approximator, examples: Examples, held, has_mode: bool) -> bool:
    """Whether an approximator predicts held-out throws better than the guess that it corrects.

    has_mode: whether the guess says modes, too; if not, a classifier is needed
    """
    rows = held & ((examples.mode == Mode.DYNAMIC) if role == "regressor" else (examples.mode != Mode.NONE))
    if role == "classifier" and not has_mode:
        return True
    if not rows.any():
        return False
    answer = part.native(np.ascontiguousarray(examples.x[rows]))
    if role == "classifier":
        modes = np.array([Mode.STATIC, Mode.DYNAMIC, Mode.DETACH])[answer[:, :3].argmax(axis=1)]
        return (modes == examples.mode[rows]).mean() > (examples.guessed_mode[rows] == examples.mode[rows]).mean()
    y, load = examples.y[rows], examples.load[rows, np.newaxis]
    left = np.linalg.norm(load * (y - answer[:, : y.shape[1]]), axis=1).mean()
    return bool(left < np.linalg.norm(load * y, axis=1).mean())


def _fit_role(role, examples: Examples, held, options: FitOptions, approximator: str, report) -> Approximator:
    if role == "classifier":
        rows = np.ones(len(held), dtype=np.bool_)
    elif role == "regressor":
        rows = examples.mode == Mode.DYNAMIC
    else:
        rows = examples.mode != Mode.NONE
    if rows.sum() < FEWEST or not held[rows].any() or held[rows].all():
        return _untaught(role, examples)
    x, load, held = examples.x[rows], examples.load[rows], held[rows]
    label = np.select([examples.mode == Mode.STATIC, examples.mode == Mode.DYNAMIC], [0, 1], 2)[rows]
    y = (examples.y if role == "regressor" else examples.whole)[rows]
    if approximator != "network":
        from stiction.training import estimators  # scikit-learn only where it is asked for

        if role == "classifier":
            return estimators.fit_classifier(approximator, x[~held], label[~held], options.seed)
        return estimators.fit_regressor(approximator, x[~held], y[~held], options.seed)
    if role == "classifier":
        return fit.fit_classifier(x, label, held, options, report)
    return fit.fit_regressor(x, y, load, held, options, report)


def _untaught(role: str, examples: Examples) -> Network:
    """What stands for a role without data: every contact slides, with the guessed friction or none."""
    outputs = {"classifier": [0.0, 1.0, 0.0], "regressor": [0.0] * examples.y.shape[1]}
    bias = np.array(outputs.get(role, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), dtype=np.float32)
    n = examples.x.shape[1]
    return Network(np.zeros(n, np.float32), np.ones(n, np.float32), (np.zeros((n, len(bias)), np.float32),), (bias,))
