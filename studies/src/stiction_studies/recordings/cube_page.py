"""Tables and plots of the study of a tossed cube, and replays of recorded and predicted tosses."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.fit.toss_objective import Motions
from stiction.laws.impact import ImpactLaw
from stiction.recordings.tosses import Tosses
from stiction.simulation.rollout import rollout
from stiction.viewer.subject import posed, recorded_motion
from stiction_studies import figures
from stiction_studies.page.motions_shown import Scene, scene_of_throws
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.recordings import first_frames, forecast_comparison

FEW = 16  # tosses with which our law is compared with simulators that were fitted to all
OURS, RIVAL = "stiction's forecast", "MuJoCo, fitted to the same tosses"
_TEXT = [
    "A cube of acrylic was thrown by hand onto a wooden board and tracked by cameras. Our law and three simulators are "
    "fitted to the same recorded tosses by the same method, then forecast tosses that none of them has seen.",
    "raw: from the recorded first frame, whose velocities are differences of noisy poses, in some tosses of a cube "
    "that fingers still turn; flight: from the state that the data set fits to the free flight before the first "
    "touch. Errors are means over the whole toss, until the cube is at rest: position in % of the cube's width, "
    "rotation in degrees.",
]
_BODY_TOO = (
    "Position / rotation. Simulators: their contact parameters fitted; body too: centre of mass, inertia, size and the "
    "height of the ground as well. DART's default solver limits friction along each world axis separately."
)


def section(content: dict[str, Any], command: str, law: ImpactLaw, tosses: Tosses, starts: State, positions) -> Section:
    """Return the study's part of the page.

    positions: mean position error of each toss (n,), to choose what is replayed
    """
    shown = replays(law, tosses, starts, positions)
    return Section("tosses", "Real tosses of a cube", _TEXT, command, tables(content), plots(content), shown)


def tables(content: dict[str, Any]) -> list[Table]:
    """Return all tables, from the figures of the JSON file."""
    errors = ["fitted tosses", "raw", "flight"]
    share = content["coverage"]["validation"]
    found = [
        Table("Tosses that no model was fitted on", ["", *errors], _rows(content["models"]), _BODY_TOO),
        *_efficiency(content["efficiency"], content["models"]),
        first_frames.table(content["starts"]),
        first_frames.spins_table(content["spins"]),
        Table("Without one ingredient", ["", *errors], _rows(content["ablation"])),
        Table(
            "Final positions within the law's confidence regions",
            ["region", "tosses inside"],
            [[f"{100 * float(region):.0f} %", f"{100 * value:.1f} %"] for region, value in share.items()],
            "Validation tosses, from their flight.",
        ),
        _costs(content["costs"]),
    ]
    if content["networks"]:
        rows = [[row["model"], *_errors(row)] for row in content["networks"]]
        note = "Whole steps, four a frame, without cuts at impacts, as in the paper; its contact has no restitution."
        found.append(Table("From the law to the paper's networks", ["", "raw", "flight"], rows, note))
    return found


def _efficiency(rows: list[dict[str, Any]], models: list[dict[str, Any]]) -> list[Table]:
    """Return errors against the number of tosses, and few tosses against simulators fitted to many."""
    shown = [[str(row["tosses"]), str(row["draws"]), *_errors(row)] for row in rows]
    found = [Table("How many tosses it takes", ["fitted tosses", "draws", "raw", "flight"], shown)]
    peers = [row for row in models if not row["model"].startswith("stiction")]
    few = next((row for row in rows if row["tosses"] == FEW), None)
    if few is None or not peers:
        return found
    worst = {start: few[f"{start}_worst"] for start in ("raw", "fit")}
    best = {start: {what: min(row[start][what] for row in peers) for what in few[start]} for start in ("raw", "fit")}
    rows_of_few = [
        [f"stiction, {FEW} tosses, mean of the draws", *_errors(few)],
        [f"stiction, {FEW} tosses, worst draw in each figure", *_errors(worst)],
        [f"best simulator in each figure, {peers[0]['fitted_tosses']} tosses", *_errors(best)],
    ]
    return [*found, Table("Few tosses against simulators fitted to many", ["", "raw", "flight"], rows_of_few)]


def _costs(costs: dict[str, Any]) -> Table:
    batch = f"{costs['batch']} tosses of {costs['frames']} frames"
    rows = [
        ["one toss, stiction", f"{costs['one_toss_s'] * 1e3:.2f} ms"],
        [f"{batch}, stiction", f"{costs['batch_s']:.2f} s"],
    ]
    if "mujoco_batch_s" in costs:
        rows.append([f"{batch}, MuJoCo", f"{costs['mujoco_batch_s']:.2f} s"])
    note = "MuJoCo by its batched rollout, four steps a frame."
    return Table("Time of a forecast on one core", ["", "time"], rows, note)


def _rows(models: list[dict[str, Any]]) -> list[list[str]]:
    return [[row["model"], str(row["fitted_tosses"]), *_errors(row)] for row in models]


def _errors(row: dict[str, Any]) -> list[str]:
    return [f"{row[start]['position']:.1f} % / {row[start]['rotation']:.1f}°" for start in ("raw", "fit")]


def plots(content: dict[str, Any]) -> list[Plot]:
    """Return plots of the error against the number of tosses, with the simulators as single marks."""
    rows = content["efficiency"]
    peers = [row for row in content["models"] if not row["model"].startswith("stiction")]
    colours = figures.run_colours(["stiction", *(peer["model"] for peer in peers)])
    found = []
    for what, unit in (("position", "% of the width"), ("rotation", "degrees")):
        figure = figures.figure(f"Mean {what} error from the flight", "tosses fitted", f"error [{unit}]", height=360)
        x = [row["tosses"] for row in rows]
        line = {"color": colours["stiction"], "width": 2}
        figure.add_scatter(x=x, y=[row["fit"][what] for row in rows], mode="lines+markers", name="stiction", line=line)
        for peer in peers:
            at = [peer["fitted_tosses"]]
            marker = {"color": colours[peer["model"]], "size": 9, "symbol": "diamond"}
            figure.add_scatter(x=at, y=[peer["fit"][what]], mode="markers", name=peer["model"], marker=marker)
        ticks = sorted(set(x) | {peer["fitted_tosses"] for peer in peers})
        figure.update_xaxes(type="log", tickvals=ticks, ticktext=[str(tick) for tick in ticks])
        figure.update_yaxes(rangemode="tozero")
        found.append(Plot(figure, "Diamonds: the simulators, fitted to as many tosses as stated."))
    return found


def replays(law: ImpactLaw, tosses: Tosses, starts: State, positions) -> list[Scene]:
    """Return held-out tosses as recorded and as predicted: a good forecast, the median, and a poor one."""
    result = []
    for number, share in forecast_comparison.typical(positions, (0.1, 0.5, 0.95)):
        toss = tosses.tosses[number]
        runs = {
            "recorded": recorded_motion(toss, tosses.timestep),
            "stiction": rollout(law, starts[number], toss.steps),
        }
        caption = (
            f"The cube as tracked, and beside it as the law predicts it from its flight. Mean position error "
            f"{positions[number]:.1f} % of the width: {100 * share:.0f} % of the validation tosses are forecast better."
        )
        result.append(scene_of_throws(f"Toss {number + 1}", law.body, runs, caption))
    return result


def rivals(
    body: Body, tosses: Tosses, motions: tuple[Motions, Motions], errors: tuple[NDArray, NDArray], ground: float
) -> Scene:
    """Return the toss of `middle_toss`, as recorded and as forecast.

    motions: forecasts of all tosses, ours and the rival's; errors: mean position error of each [% of the width], (n,)
    ground: height of the ground [m]
    """
    number = middle_toss(*errors)
    toss, h = tosses.tosses[number], tosses.timestep
    runs = {"recorded": recorded_motion(toss, h)}
    for name, motion in zip((OURS, RIVAL), motions, strict=True):
        position, quaternion = motion[number]
        runs[name] = posed(position[: toss.steps + 1], quaternion[: toss.steps + 1], h)  # a forecast may go on
    on_ground = {name: replace(run, position=run.position - [0.0, 0.0, ground]) for name, run in runs.items()}
    return scene_of_throws("Real toss", body, on_ground, _caption(number, *errors))


def middle_toss(ours: NDArray[np.float64], rival: NDArray[np.float64]) -> int:
    """Return the median toss by how much smaller our error is than the rival's."""
    order = np.argsort(rival - ours, kind="stable")
    return int(order[(len(order) - 1) // 2])


def _caption(number: int, ours: NDArray[np.float64], rival: NDArray[np.float64]) -> str:
    return (
        "A recorded toss that no model was fitted on, and two forecasts from the state that is fitted to its free "
        "flight. The dark outline is the recorded cube. MuJoCo's contact and body are fitted. It is the median toss: "
        "our forecast is nearer than MuJoCo's by more in half of the tosses, and by less, or not, in the other half. "
        f"Position error here {ours[number]:.1f} % and {rival[number]:.1f} % of the width, over all tosses "
        f"{ours.mean():.1f} % and {rival.mean():.1f} %; ours is nearer in {(ours < rival).sum()} of {len(ours)}."
    )
