"""`stiction import` and `stiction identify`: from recorded tosses to a law."""

from typing import Annotated

import tyro

from stiction.basics.extras import require
from stiction.commands.loading import load
from stiction.learning.identify.options import IdentifyOptions
from stiction.learning.recordings.options import ImportOptions


def import_(options: Annotated[ImportOptions, tyro.conf.arg(name="")]) -> None:
    """Read recorded poses of tosses, check them against mechanics, and keep them in SI units and our axes.

    With --instances, read single contacts instead, and keep them as a data set to train on.
    """
    require("`stiction import`", "pyarrow")
    load("learning.recordings.read")
    load("learning.recordings.options").run_import(options)


def identify(options: Annotated[IdentifyOptions, tyro.conf.arg(name="")]) -> None:
    """Fit a body, or a part with joints (--mjcf), and its contact law to recorded tosses."""
    require("`stiction identify`", "pyarrow")
    load("basics.files").check_writable(options.json, options.plot)
    if options.mjcf is not None:
        require("`stiction identify --mjcf`", "mujoco")
        figures = load("learning.jointed.command").run(options)
    else:
        load("learning.identify.from_recordings")
        figures = load("learning.identify.options").run_identify(options)
    if options.json is not None:
        from stiction.basics.files import write_json
        from stiction.basics.versions import versions

        write_json(options.json, {**figures, "versions": versions("numpy", "scipy")})
        print(f"Wrote {options.json}")
