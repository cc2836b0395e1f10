"""The commands of the studies: `stiction reproduce`, `bench`, `demo` and `results`."""

import shlex
import webbrowser
from pathlib import Path
from typing import Annotated

import tyro

from stiction.basics.environment import require
from stiction.basics.errors import InputError, known
from stiction.commands.arguments import OptionalFolder, explains, lines, scale_of
from stiction.commands.learning import COLLECT_NEEDS, TRAIN_NEEDS, collect, evaluate, train
from stiction.commands.options import OptionalFile
from stiction_studies.catalogue import ABOUT, ALL, STUDIES
from stiction_studies.reproduce import run, run_all


@explains(ABOUT)
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
        out: Folder for the results; made if missing. Materials and ablation reuse the figures that are already there.
        quick: A small run, to check that it works.
        full: A large run, for reliable figures.
        seed: Seed of all random numbers.
        law: For trajectories: a model file to evaluate instead of the shipped laws.
        data: For tosses: folders or files of recordings.
        animate: Also write each replay of the study as an animation, OUT/NAME/<its title>.webp.
        json: Also write the figures of the study to this file; they are in OUT/NAME/results.json in any case.
    """
    if not name and out is None:
        print(f"{lines(ABOUT)}\n\nRun one with `stiction reproduce STUDY --out FOLDER`; see --help.")
        return
    known("study", name, ABOUT)
    if out is None:
        raise InputError(f"`reproduce {name}` needs a folder for its results: give --out FOLDER.")
    scale = scale_of(quick, full)
    if law is not None and name != "trajectories":
        raise InputError(f"--law belongs to the study trajectories, not to {name}.")
    if data and name not in ("tosses", ALL):
        raise InputError(f"--data belongs to the study tosses, not to {name}.")
    if name == ALL:
        if json is not None:
            raise InputError("--json takes the figures of one study; `all` writes those of each study to OUT.")
        if animate:
            raise InputError("--animate draws the replays of one study; name one instead of `all`.")
        run_all(out, scale, seed, data)
        return
    from stiction.basics.files import check_writable, write_whole

    check_writable(json)
    run(name, out, scale, seed, law=law, data=data, animate=animate)
    if json is not None:
        write_whole(json, (out / name / "results.json").read_bytes())
        print(f"Wrote {json}")


CASES = {
    "throw": "one thrown box, a step in flight, in contact and over whole throws",
    "batch": "many thrown boxes at once, with one thread and with two",
    "materials": "what laws of materials cost beside networks, by kind of patch and mode",
    "points": "a prism at rest and sliding on 4 to 1,024 contact points",
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
    from stiction.basics.files import check_writable
    from stiction.basics.progress import status

    check_writable(plot, None if out is None else out / "bench" / "results.json")
    with status("Loading"):
        from stiction_studies.speed.bench_run import run as run_bench

    run_bench(scale, only=cases, repeat=repeat, seed=seed, out=out, plot=plot)


def demo(*, out: Path = Path("build/demo"), quick: bool = False, open: bool = False) -> None:
    """Identify a part from a tracker's take and grasp it; then learn the law of a box thrown in DART, as in the paper.

    Each step is a command of its own, which is printed; all take about two minutes, and write one page.

    Args:
        out: Folder for all results; made if missing.
        quick: Fewer throws and less training; the law is worse.
        open: Open the page in the browser at the end.
    """
    of_studies = STUDIES["take"].needs + STUDIES["trajectories"].needs
    require("`stiction demo`", "dartpy", *COLLECT_NEEDS, *TRAIN_NEEDS, *of_studies)
    throws, seconds = ("100", "10") if quick else ("300", "30")
    data, law = str(out / "data"), str(out / "box.safetensors")
    steps = {
        "From a tracker's take to a grasp": (reproduce, ["take", "--out", str(out)]),
        "The paper's experiment: throw a box": (collect, ["box", "--throws", throws, "--out", data]),
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
        folder: The folder given to `stiction reproduce` and `stiction bench` by --out.
        out: Markdown file to write.
        pages: Other Markdown files: between <!-- table STUDY: TITLE --> and <!-- end --> they get that table.
    """
    from stiction_studies.results import write

    write(folder, out, pages=pages)
    print("Wrote " + ", ".join(map(str, (out, *pages))))
