"""`stiction bench`."""

from typing import Annotated

import tyro

from stiction.basics.extras import require
from stiction.basics.names import known
from stiction.commands.arguments import OptionalFolder, explains, scale_of
from stiction.commands.loading import load
from stiction.learning.collect.options import OptionalFile

CASES = {
    "throw": "one thrown box, a step in flight, in contact and over whole throws",
    "batch": "many thrown boxes at once, with one thread and with two",
    "materials": "what laws of materials cost beside networks, by kind of patch and mode",
    "points": "a prism that lies and slides on 4 to 1,024 contact points",
    "chain": "a three-link chain that drags its last link over the ground",
    "quadruped": "a robot that trots on four feet with a law",
    "start": "import, a whole throw and a first step in MuJoCo, each from the start of a fresh process",
    "memory": "of processes with many bodies",
    "profile": "where the time of a batch step goes, beside the least that its networks could take",
}


@explains(CASES)
def bench(
    cases: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[CASE ...]", help_behavior_hint="(default: all)")
    ] = (),
    /,
    *,
    quick: bool = False,
    full: bool = False,
    repeat: int = 1,
    seed: int = 0,
    out: OptionalFolder = None,
    plot: OptionalFile = None,
) -> None:
    """Measure speed beside MuJoCo, DART and Bullet, those of them that are installed, in one run on one core.

    Cases:

    Args:
        cases: What to measure.
        quick: A short run, to see it work.
        full: A long run, for figures to rely on, with 100,000 bodies too.
        repeat: Runs of everything, whose least and greatest ratios are shown.
        seed: Seed of the throws.
        out: Write all figures to FOLDER/bench/results.json, and the tables to FOLDER/bench/tables.md.
        plot: Draw cost against contact points to this PNG file.
    """
    scale = scale_of(quick, full)
    cases = tuple(known("case", case, CASES) for case in cases)
    require("`stiction bench --plot`", *(["matplotlib"] if plot is not None else []))
    load("basics.files").check_writable(plot, None if out is None else out / "bench" / "results.json")
    load("studies.speed.run").run(scale, only=cases, repeat=repeat, seed=seed, out=out, plot=plot)
