"""`stiction demo`."""

import shlex
import webbrowser
from pathlib import Path

import tyro

from stiction.basics.extras import require
from stiction.commands import collect, evaluate, reproduce, train
from stiction.studies.listed import STUDIES


def demo(*, out: Path = Path("build/demo"), quick: bool = False, open: bool = False) -> None:
    """Throw a box in DART, learn its law, measure it, and tell it on a page: the whole story, in about two minutes.

    Each step is a command of its own, which is shown.

    Args:
        out: Folder for all that is made; made if missing.
        quick: Fewer throws and less training; the law is worse.
        open: Open the page in the browser in the end.
    """
    require("`stiction demo`", "dartpy", *collect.NEEDS, *train.NEEDS, *STUDIES["trajectories"].needs)
    throws, seconds = ("100", "10") if quick else ("300", "60")
    data, law = str(out / "data"), str(out / "box.safetensors")
    steps = {
        "Throw a box": (collect.collect, ["box", "--throws", throws, "--out", data]),
        "Learn its law": (train.train, [data, "--out", law, "--time-budget", seconds]),
        "Measure it on fresh contacts": (evaluate.evaluate, [law, "--contacts", "10000"]),
        "Compare whole throws with DART": (
            reproduce.reproduce, ["trajectories", "--quick", "--law", law, "--out", str(out)],
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
