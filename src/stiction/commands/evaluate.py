"""`stiction evaluate`."""

from typing import Annotated

import tyro

from stiction.basics.extras import require
from stiction.commands.loading import load
from stiction.learning.collect.options import OptionalFile


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
    load("basics.files").check_writable(json)
    load("studies.evaluate").run(law, contacts=contacts, truth=truth, data=data, seed=seed, json=json)
