"""`stiction collect`."""

from typing import Annotated

import tyro

from stiction.basics.extras import require
from stiction.commands.loading import load
from stiction.learning.collect.options import CollectOptions

NEEDS = ("pyarrow", "joblib")


def collect(options: Annotated[CollectOptions, tyro.conf.arg(name="")]) -> None:
    """Throw a body many times in a ground truth and keep its contacts, to train a law on."""
    by_dart = options.law is None and options.truth in load("learning.collect.truth").DART
    by_ray = options.executor == "ray"
    require("`stiction collect`", *NEEDS, *(["dartpy"] if by_dart else []), *(["ray"] if by_ray else []))
    load("learning.collect.carry_out")
    load("learning.collect.options").run(options)
