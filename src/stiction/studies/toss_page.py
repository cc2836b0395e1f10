"""Tables of the study of tosses, for the terminal and for the page, and replays of real against predicted."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable

from stiction.laws.impact import ImpactLaw
from stiction.learn.tosses import Tosses
from stiction.report.section import Replay, Section, Table
from stiction.state import State, Trajectory
from stiction.stepping import rollout

REPLAYS = 3


def tables(content: dict[str, Any]) -> list[Table]:
    """All tables, from the figures that go to the JSON file."""
    start = "raw: from the recorded first frame; fit: from the state fitted to the flight"
    note = f"Mean over the toss of the position error [% of the width] and of the rotation error [degrees]; {start}."
    share = content["coverage"]["validation"]
    regions = [[f"{float(region):.0%}", f"{value:.1%}"] for region, value in share.items()]
    return [
        Table(
            "Tosses that no model was fitted on", ["model", "fitted to", "raw", "fit"], _rows(content["models"]), note
        ),
        Table(
            "How many tosses it takes",
            ["tosses", "raw", "fit"],
            [[str(row["tosses"]), *_errors(row)] for row in content["efficiency"]],
        ),
        Table("Without one ingredient", ["law", "fitted to", "raw", "fit"], _rows(content["ablation"])),
        Table("Final positions within the law's own regions", ["region", "tosses inside"], regions),
    ]


def _rows(models: list[dict[str, Any]]) -> list[list[str]]:
    return [[row["model"], f"{row['fitted_tosses']} tosses", *_errors(row)] for row in models]


def _errors(row: dict[str, Any]) -> list[str]:
    return [f"{row[start]['position']:.1f} % / {row[start]['rotation']:.1f}°" for start in ("raw", "fit")]


def print_tables(content: dict[str, Any]) -> None:
    """Print all tables."""
    console = Console(highlight=False)
    for table in tables(content):
        shown = RichTable(title=table.title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
        for k, column in enumerate(table.columns):
            shown.add_column(column, justify="left" if k == 0 else "right")
        for row in table.rows:
            shown.add_row(*row)
        console.print(shown)
        if table.note:
            console.print(table.note, markup=False)


def publish_page(out: Path, content: dict[str, Any], law: ImpactLaw, tosses: Tosses, starts: State) -> None:
    """Put the study's section on the page, where the page can be made."""
    try:
        from stiction.report.page import publish  # type: ignore[import-not-found]
    except ImportError:
        return
    publish(
        out,
        Section(
            name="tosses",
            title="Real tosses of a cube",
            text=[
                "Our law and three simulators are fitted to the same recorded tosses by the same method, then predict "
                "tosses that none of them has seen."
            ],
            command="stiction reproduce tosses --data PATH --out OUT",
            tables=tables(content),
            replays=replays(law, tosses, starts),
        ),
    )


def replays(law: ImpactLaw, tosses: Tosses, starts: State) -> list[Replay]:
    """The first held-out tosses as recorded and as predicted."""
    result = []
    for number, toss in enumerate(tosses.tosses[:REPLAYS]):
        run = rollout(law, starts[number], toss.steps)
        runs = {"recorded": recorded(toss, tosses.timestep), "predicted": run}
        result.append(Replay(f"Toss {number + 1}", law.body, runs, "The cube as tracked, and as the law predicts it."))
    return result


def recorded(toss, timestep: float) -> Trajectory:
    """A recorded toss as a trajectory; frames that are missing repeat the one before."""
    n = toss.steps + 1
    at = np.searchsorted(toss.frame, np.arange(n), side="right") - 1
    still = np.zeros((n, 3))
    return Trajectory(
        toss.position[at],
        toss.quaternion[at],
        still,
        still,
        np.zeros((n - 1, 6)),
        np.zeros(n - 1, np.int8),
        np.zeros(n - 1, np.int8),
        timestep,
    )
