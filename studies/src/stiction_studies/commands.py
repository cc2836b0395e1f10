"""The commands that the studies add to `stiction`: reproduce, bench, demo, results."""

import shlex
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

import tyro

from stiction.basics.environment import require
from stiction.basics.errors import InputError, known
from stiction.commands.arguments import OptionalFolder, explains, lines, loading, scale_of
from stiction.commands.learning import COLLECT_NEEDS, TRAIN_NEEDS, collect, evaluate, train
from stiction.commands.options import OptionalFile
from stiction_studies import listed
from stiction_studies.listed import STUDIES


@dataclass(frozen=True)
class ReproduceOptions:
    """What to run, and where to write the results."""

    name: Annotated[
        str, tyro.conf.Positional, tyro.conf.arg(metavar="[STUDY]", help_behavior_hint="(default: list them)")
    ] = ""
    """Study to run."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="(required with a study)")] = None
    """Folder for the results; made if missing. Parts of materials and ablation that are there are not run again."""
    quick: bool = False
    """A small run, to see it work."""
    full: bool = False
    """A large run, for figures to rely on."""
    seed: int = 0
    """Seed of all random draws."""
    law: OptionalFile = None
    """For trajectories: a model file to be judged instead of the shipped laws."""
    data: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="PATH [PATH ...]")] = ()
    """For tosses: folders or files of recordings."""
    animate: bool = False
    """Also write each replay of the study as an animation, OUT/NAME/<its title>.webp."""
    json: OptionalFile = None
    """Also write the figures of the study to this file; they are in OUT/NAME/results.json in any case."""


@explains(listed.ABOUT)
def reproduce(options: Annotated[ReproduceOptions, tyro.conf.arg(name="")]) -> None:
    """Run a study: measure, print its tables, write its results and its part of the page OUT/index.html.

    Studies:
    """
    name, out, json = options.name, options.out, options.json
    if not name and out is None:
        print(f"{lines(listed.ABOUT)}\n\nRun one with `stiction reproduce STUDY --out FOLDER`; see also --help.")
        return
    known("study", name, listed.ABOUT)
    if out is None:
        raise InputError(f"`reproduce {name}` needs a folder for its results: give --out FOLDER.")
    scale = scale_of(options.quick, options.full)
    if options.law is not None and name != "trajectories":
        raise InputError(f"--law belongs to the study trajectories, not to {name}.")
    if options.data and name not in ("tosses", listed.ALL):
        raise InputError(f"--data is for the study tosses, not for {name}.")
    if name == listed.ALL:
        if json is not None:
            raise InputError("--json takes the figures of one study; `all` leaves those of each in OUT.")
        if options.animate:
            raise InputError("--animate draws the replays of one study; name one instead of `all`.")
        listed.run_all(out, scale, options.seed, options.data)
        return
    from stiction.basics.files import check_writable, write_whole

    check_writable(json)
    study = cast(listed.StudyName, name)
    listed.run(study, out, scale, options.seed, law=options.law, data=options.data, animate=options.animate)
    if json is not None:
        write_whole(json, (out / name / "results.json").read_bytes())
        print(f"Wrote {json}")


CASES = {
    "throw": "one thrown box, a step in flight, in contact and over whole throws",
    "batch": "many thrown boxes at once, with one thread and with two",
    "materials": "the cost of laws of materials beside networks, by kind of patch and mode",
    "points": "a prism that rests and slides on 4 to 1,024 contact points",
    "chain": "a three-link chain that drags its last link over the ground",
    "quadruped": "a robot that trots on four feet with a law",
    "start": "import, a whole throw and a first step in MuJoCo, each from the start of a fresh process",
    "memory": "memory of processes with many bodies",
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
    with loading():
        from stiction.basics.files import check_writable
        from stiction_studies.speed.run import run
    check_writable(plot, None if out is None else out / "bench" / "results.json")
    run(scale, only=cases, repeat=repeat, seed=seed, out=out, plot=plot)


def demo(*, out: Path = Path("build/demo"), quick: bool = False, open: bool = False) -> None:
    """Throw a box in DART, learn its law, measure it, and show it on a page: the whole story, in about two minutes.

    Each stage is a command, which is printed.

    Args:
        out: Folder for all files; made if missing.
        quick: Fewer throws and less training; the law is worse.
        open: Open the page in the browser in the end.
    """
    require("`stiction demo`", "dartpy", *COLLECT_NEEDS, *TRAIN_NEEDS, *STUDIES["trajectories"].needs)
    throws, seconds = ("100", "10") if quick else ("300", "60")
    data, law = str(out / "data"), str(out / "box.safetensors")
    steps = {
        "Throw a box": (collect, ["box", "--throws", throws, "--out", data]),
        "Learn its law": (train, [data, "--out", law, "--time-budget", seconds]),
        "Measure it on fresh contacts": (evaluate, [law, "--contacts", "10000"]),
        "Compare whole throws with DART": (
            reproduce, ["trajectories", "--quick", "--law", law, "--out", str(out)],
        ),
    }  # fmt: skip
    for number, (what, (command, arguments)) in enumerate(steps.items(), 1):
        shown = shlex.join(["stiction", command.__name__, *arguments])
        print(f"\n── {what} ({number} of {len(steps)}): {shown}", flush=True)
        tyro.cli(command, args=arguments)
    page = out / "index.html"
    print(f"\nOpen {page} in a browser.")
    if open:
        webbrowser.open(page.resolve().as_uri())


def results(
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")],
    /,
    *,
    out: Path,
    pages: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE ...", help_behavior_hint="(optional)")] = (),
) -> None:
    """Write the tables of all studies in a folder to one Markdown page, with their commands and commits.

    Args:
        folder: The folder that `stiction reproduce` and `stiction bench` wrote their results to.
        out: Markdown file to write.
        pages: Other Markdown files: between <!-- table STUDY: TITLE --> and <!-- end --> they get that table.
    """
    with loading():
        from stiction_studies.results import write
    write(folder, out, pages=pages)
    print("Wrote " + ", ".join(map(str, (out, *pages))))
