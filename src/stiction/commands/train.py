"""`stiction train`."""

from pathlib import Path
from typing import Annotated, Literal

import tyro

import stiction
from stiction.basics.extras import require
from stiction.commands.loading import load
from stiction.learning.collect.options import OptionalFile
from stiction.learning.train.switches import Switches

NEEDS = ("pyarrow", "torch", "sklearn")


def train(
    data: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DATA [DATA ...]")],
    /,
    *,
    out: Path,
    law: Literal["augmented", "statistical", "material"] = "augmented",
    approximator: Literal["network", "trees", "gp", "svm"] = "network",
    switches: Annotated[Switches, tyro.conf.arg(name="")] = Switches(),  # noqa: B008
    material: Annotated[str | None, tyro.conf.arg(metavar="MATERIAL", help_behavior_hint="(optional)")] = None,
    hidden: Annotated[tuple[int, ...], tyro.conf.arg(help_behavior_hint="(default: what suits the patch)")] = (),
    steps: int = 8000,
    floor: float = 1e-3,
    time_budget: Annotated[float | None, tyro.conf.arg(metavar="S", help_behavior_hint="(optional)")] = None,
    through: Literal["auto", "steps", "rollouts"] = "auto",
    body: Annotated[str | None, tyro.conf.arg(metavar="STR", help_behavior_hint="(optional)")] = None,
    mass: float = 1.0,
    seed: int = 0,
    json: OptionalFile = None,
) -> None:
    """Train a law on a data set. A training that was stopped goes on with the same command.

    A material is friction itself: it may learn from several bodies together, and serves any other. It is learned within
    a minute or a few; of the options below, only --out, --through, --body, --mass, --seed and --json are for it, all
    others are for networks.

    Args:
        data: Folder of the data set, made by `stiction collect` or `stiction import --instances`; of a material, one
            or many, or a folder of recordings, made by `stiction import`.
        out: Model file to write, .safetensors.
        law: "augmented", the law of the paper, "statistical", its purely data-driven baseline, or "material".
        approximator: Networks, gradient-boosted trees, Gaussian processes or support vector machines.
        switches: How contacts are described.
        material: Name or file of a material whose friction the networks of an augmented law correct.
        hidden: Units of the networks' hidden layers.
        steps: Optimiser steps of each network.
        floor: Errors of friction below this share of the normal impulse count little; lower it where errors add up.
        time_budget: Train for about this long instead [s]; the result then depends on the machine.
        through: Of a material: single "steps" with their impulses, which must be known well, or "rollouts", for poses
            that may be noisy; "auto": steps for data sets, rollouts for recordings.
        body: Of a material that is learned from recordings: the body that was tossed, as for `stiction import`.
        mass: Of this body [kg].
        seed: Seed of all that is drawn.
        json: Of a material: write what was chosen and measured to this file.
    """
    if law == "material":
        default = (("network", Switches()), None, (), 8000, 1e-3, None)
        if ((approximator, switches), material, hidden, steps, floor, time_budget) != default:
            raise stiction.InputError("A material has no networks: give it no options of theirs.")
        require("`stiction train --law material`", "pyarrow")
        load("basics.files").check_writable(json)
        own = None if body is None else load("learning.collect.presets").parse_body(body, mass)
        load("learning.material.command").run(data, out, through=through, body=own, seed=seed, json=json)
        return
    if through != "auto" or body is not None:
        raise stiction.InputError("--through and --body are for a material.")
    if len(data) != 1:
        raise stiction.InputError(f"--law {law} takes one data set, got {len(data)}; only a material takes many.")
    if json is not None:
        raise stiction.InputError("--json is for a material; `stiction evaluate` writes the figures of other laws.")
    require("`stiction train`", *NEEDS)
    load("learning.train.train")
    how = {"law": law, "approximator": approximator, "switches": switches, "hidden": hidden, "floor": floor}
    train_from = load("learning.train.from_data").train_from
    train_from(data[0], out, material=material, steps=steps, time_budget=time_budget, seed=seed, **how)
