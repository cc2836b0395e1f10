"""From contact instances to a law: the guess of friction first, then the networks of each kind of patch."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from stiction import checks
from stiction.bodies import Body
from stiction.laws.augmented import AugmentedLaw
from stiction.laws.features import FOLDS, SIZE
from stiction.laws.learned import HIDDEN, KINDS
from stiction.laws.networks import Network
from stiction.laws.statistical import StatisticalLaw
from stiction.learn.examples import Examples, Instances, make_examples
from stiction.learn.fit import FitOptions, fit_classifier, fit_regressor, held_out
from stiction.learn.guess import fit_guess
from stiction.state import Mode
from stiction.stepping import Setting

FEWEST = 200  # examples below which a network is not trained
LAWS: dict[str, type[AugmentedLaw] | type[StatisticalLaw]] = {"augmented": AugmentedLaw, "statistical": StatisticalLaw}
Progress = Callable[[str, float], None]


def train(
    body: Body,
    instances: Instances,
    setting: Setting,
    options: FitOptions | None = None,
    *,
    law: str = "augmented",
    held_share: float = 0.1,
    info: dict | None = None,
    progress: Progress = lambda part, done: None,
) -> AugmentedLaw | StatisticalLaw:
    """Train a law, "augmented" or "statistical", on the contact instances of one body.

    held_share: share of the throws that are held out for early stopping
    progress: is told the part under way and its share done
    """
    checks.choice("law", law, tuple(LAWS))
    if len(instances) < FEWEST:
        raise checks.InputError(f"A law needs at least {FEWEST} contact instances, got {len(instances)}.")
    options = options or FitOptions()
    progress("guess of friction", 0.0)
    recipe, error = fit_guess(body, instances, setting, options.seed)
    progress("guess of friction", 1.0)
    examples = make_examples(body, instances, setting, recipe)
    networks = {}
    for kind in KINDS:
        fit = replace(options, hidden=HIDDEN[kind])
        held = held_out(examples[kind].throw, held_share, options.seed)
        networks[kind] = tuple(_fit_role(role, examples[kind], held, fit, progress) for role in LAWS[law].ROLES)
    seen = {kind.name.lower(): len(examples[kind].mode) for kind in KINDS}
    return LAWS[law](
        body,
        networks,
        fold=FOLDS[recipe.fold],
        friction=(float(recipe.friction[0]), float(recipe.friction[1])),
        cone="round" if recipe.round else "box",
        timestep=setting.timestep,
        info={"instances": seen, "guess_error": error, "seed": options.seed, **(info or {})},
    )


def _fit_role(role: str, examples: Examples, held, options: FitOptions, progress: Progress) -> Network:
    def report(done: float) -> None:
        progress(f"{examples.kind.name.lower()} {role}", done)

    if role == "classifier":
        rows = np.ones(len(held), dtype=np.bool_)
    elif role == "regressor":
        rows = examples.mode == Mode.DYNAMIC
    else:
        rows = examples.mode != Mode.NONE
    if rows.sum() < FEWEST or not held[rows].any() or held[rows].all():
        return _untaught(role, examples)
    if role == "classifier":
        label = np.select([examples.mode == Mode.STATIC, examples.mode == Mode.DYNAMIC], [0, 1], 2)
        return fit_classifier(examples.x, label, held, options, report)
    target = examples.y if role == "regressor" else examples.whole
    return fit_regressor(examples.x[rows], target[rows], examples.load[rows], held[rows], options, report)


def _untaught(role: str, examples: Examples) -> Network:
    """The network of a role for which there is no data: every contact slides, with the guessed friction or none."""
    outputs = {"classifier": [0.0, 1.0, 0.0], "regressor": [0.0] * examples.y.shape[1]}
    bias = np.array(outputs.get(role, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), dtype=np.float32)
    n = SIZE[examples.kind]
    return Network(np.zeros(n, np.float32), np.ones(n, np.float32), (np.zeros((n, len(bias)), np.float32),), (bias,))
