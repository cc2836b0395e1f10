"""`stiction reproduce`."""

import shlex
import webbrowser
from pathlib import Path
from typing import Annotated, Any, cast

import tyro

import stiction
from stiction.basics.checks import known
from stiction.basics.environment import require
from stiction.commands.arguments import OptionalFolder, explains, lines, load, scale_of
from stiction.commands.learning import COLLECT_NEEDS, TRAIN_NEEDS, collect, evaluate, train
from stiction.commands.options import OptionalFile
from stiction_studies import listed
from stiction_studies.listed import STUDIES


@explains(listed.ABOUT)
def reproduce(
    name: Annotated[
        str, tyro.conf.Positional, tyro.conf.arg(metavar="[STUDY]", help_behavior_hint="(default: list them)")
    ] = "",
    /,
    *,
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="(required with a study)")] = None,
    quick: bool = False,
    full: bool = False,
    seed: int = 0,
    law: OptionalFile = None,
    data: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="PATH [PATH ...]")] = (),
    animate: bool = False,
    json: OptionalFile = None,
) -> None:
    """Run a study: measure, print its tables, write its results and its part of the page OUT/index.html.

    Studies:

    Args:
        name: Study to run.
        out: Folder for the results; made if missing. What materials and ablation find there is not measured again.
        quick: A small run, to see it work.
        full: A large run, for figures to rely on.
        seed: Seed of all that is drawn.
        law: For trajectories: a model file to be judged instead of the shipped laws.
        data: For tosses: folders or files of recordings.
        animate: Write each replay of the study as an animation too, OUT/NAME/<its title>.webp.
        json: Write the figures of the study to this file too; they are in OUT/NAME/results.json in any case.
    """
    if not name and out is None:
        print(f"{lines(listed.ABOUT)}\n\nRun one with `stiction reproduce STUDY --out FOLDER`; --help says more.")
        return
    known("study", name, listed.ABOUT)
    if out is None:
        raise stiction.InputError(f"`reproduce {name}` needs a folder for its results: give --out FOLDER.")
    scale = scale_of(quick, full)
    if law is not None and name != "trajectories":
        raise stiction.InputError(f"--law belongs to the study trajectories, not to {name}.")
    if data and name not in ("tosses", listed.ALL):
        raise stiction.InputError(f"The study {name} works on no recordings; --data is for tosses.")
    if name == listed.ALL:
        if json is not None:
            raise stiction.InputError("--json takes the figures of one study; `all` leaves those of each in OUT.")
        if animate:
            raise stiction.InputError("--animate draws the replays of one study; name one instead of `all`.")
        listed.run_all(out, scale, seed, data)
        return
    from stiction.basics.files import check_writable, write_whole

    check_writable(json)
    options: dict[str, Any] = {"law": law, "data": data or None, "animate": animate or None}
    study = cast(listed.StudyName, name)
    listed.run(study, out, scale, seed, **{key: value for key, value in options.items() if value is not None})
    if json is not None:
        write_whole(json, (out / name / "results.json").read_bytes())
        print(f"Wrote {json}")


# `stiction bench`.


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
    load("stiction.basics.files").check_writable(plot, None if out is None else out / "bench" / "results.json")
    load("stiction_studies.speed.bench_run").run(scale, only=cases, repeat=repeat, seed=seed, out=out, plot=plot)


# `stiction demo`.


def demo(*, out: Path = Path("build/demo"), quick: bool = False, open: bool = False) -> None:
    """Throw a box in DART, learn its law, measure it, and tell it on a page: the whole story, in about two minutes.

    Each step is a command of its own, which is shown.

    Args:
        out: Folder for all that is made; made if missing.
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


# `stiction results`.


def results(
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")],
    /,
    *,
    out: Path,
    pages: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE ...", help_behavior_hint="(optional)")] = (),
) -> None:
    """Write the tables of all studies in a folder to one Markdown page, with their commands and commits.

    Args:
        folder: Where `stiction reproduce` and `stiction bench` were told to put their results.
        out: Markdown file to write.
        pages: Other Markdown files: between <!-- table STUDY: TITLE --> and <!-- end --> they get that table.
    """
    load("stiction_studies.results").write(folder, out, pages=pages)
    print("Wrote " + ", ".join(map(str, (out, *pages))))
