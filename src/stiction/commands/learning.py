"""`stiction train`."""

from pathlib import Path
from typing import Annotated, Literal

import tyro

import stiction
from stiction.basics.environment import require
from stiction.commands.arguments import load
from stiction.commands.options import CollectOptions, IdentifyOptions, ImportOptions, OptionalFile
from stiction.training.settings import Switches

TRAIN_NEEDS = ("pyarrow", "torch", "sklearn")


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
        load("stiction.basics.files").check_writable(json)
        own = None if body is None else load("stiction.data.presets").parse_body(body, mass)
        load("stiction.fit.train_material").run(data, out, through=through, body=own, seed=seed, json=json)
        return
    if through != "auto" or body is not None:
        raise stiction.InputError("--through and --body are for a material.")
    if len(data) != 1:
        raise stiction.InputError(f"--law {law} takes one data set, got {len(data)}; only a material takes many.")
    if json is not None:
        raise stiction.InputError("--json is for a material; `stiction evaluate` writes the figures of other laws.")
    require("`stiction train`", *TRAIN_NEEDS)
    load("stiction.training.training")
    how = {"law": law, "approximator": approximator, "switches": switches, "hidden": hidden, "floor": floor}
    train_from = load("stiction.training.from_data").train_from
    train_from(data[0], out, material=material, steps=steps, time_budget=time_budget, seed=seed, **how)


# `stiction collect`.


COLLECT_NEEDS = ("pyarrow", "joblib")


def collect(options: Annotated[CollectOptions, tyro.conf.arg(name="")]) -> None:
    """Throw a body many times in a ground truth and keep its contacts, to train a law on."""
    by_dart = options.law is None and options.truth in load("stiction.data.ground_truth").DART
    by_ray = options.executor == "ray"
    require("`stiction collect`", *COLLECT_NEEDS, *(["dartpy"] if by_dart else []), *(["ray"] if by_ray else []))
    load("stiction.data.collecting")
    load("stiction.commands.options").run(options)


# `stiction evaluate`.


def evaluate(
    law: Annotated[str, tyro.conf.Positional],
    /,
    *,
    contacts: int = 40_000,
    truth: Annotated[str | None, tyro.conf.arg(metavar="MODULE:OBJECT", help_behavior_hint="(optional)")] = None,
    data: OptionalFile = None,
    seed: int = 0,
    json: OptionalFile = None,
) -> None:
    """Measure a law on fresh single contacts from its ground truth, or an identified one on recorded tosses.

    Args:
        law: Name of a shipped law, or path of a model file.
        contacts: Contacts of each kind of patch.
        truth: Ground truth to ask, where it was an object of your own, which no file holds.
        data: Recordings to forecast, of a law that was identified.
        seed: Seed of the fresh throws.
        json: Write the figures to this file.
    """
    require("`stiction evaluate`", "pyarrow")
    load("stiction.basics.files").check_writable(json)
    load("stiction.evaluation.evaluate").run(law, contacts=contacts, truth=truth, data=data, seed=seed, json=json)


# `stiction import` and `stiction identify`: from recorded tosses to a law.


def import_(options: Annotated[ImportOptions, tyro.conf.arg(name="")]) -> None:
    """Read recorded poses of tosses, check them against mechanics, and keep them in SI units and our axes.

    With --instances, read single contacts instead, and keep them as a data set to train on.
    """
    require("`stiction import`", "pyarrow")
    load("stiction.recordings.importing")
    load("stiction.commands.options").run_import(options)


def identify(options: Annotated[IdentifyOptions, tyro.conf.arg(name="")]) -> None:
    """Fit a body, or a part with joints (--mjcf), and its contact law to recorded tosses."""
    require("`stiction identify`", "pyarrow")
    load("stiction.basics.files").check_writable(options.json, options.plot)
    if options.mjcf is not None:
        require("`stiction identify --mjcf`", "mujoco")
    load("stiction.fit.identify")
    figures = load("stiction.commands.options").run_identify(options)
    if options.json is not None:
        from stiction.basics.environment import versions
        from stiction.basics.files import write_json

        write_json(options.json, {**figures, "versions": versions("numpy", "scipy")})
        print(f"Wrote {options.json}")
