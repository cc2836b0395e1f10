"""A recorded toss beside the forecasts of our law and of a simulator, chosen by a rule that favours neither."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.fit.toss_objective import Motions
from stiction.recordings.tosses import Tosses
from stiction.viewer.subject import posed, recorded_motion
from stiction_studies.page.section import Replay

OURS, RIVAL = "stiction's forecast", "MuJoCo, fitted to the same tosses"


def rivals(
    body: Body, tosses: Tosses, motions: tuple[Motions, Motions], errors: tuple[NDArray, NDArray], ground: float
) -> Replay:
    """The toss of `middle_toss`, as it was recorded and as it was forecast.

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
    return Replay("Real toss", body, on_ground, _caption(number, *errors))


def middle_toss(ours: NDArray[np.float64], rival: NDArray[np.float64]) -> int:
    """The toss in the middle, when all are sorted by how much nearer our forecast is than the rival's."""
    order = np.argsort(rival - ours, kind="stable")
    return int(order[(len(order) - 1) // 2])


def _caption(number: int, ours: NDArray[np.float64], rival: NDArray[np.float64]) -> str:
    return (
        "A recorded toss that no model was fitted on, and two forecasts from the state that is fitted to its free "
        "flight. The dark outline is the recorded cube. Of MuJoCo, contact and body are fitted. It is the median toss: "
        "our forecast is nearer than MuJoCo's by more in half of the tosses, and by less, or not, in the other half. "
        f"Position error here {ours[number]:.1f} % and {rival[number]:.1f} % of the width, over all tosses "
        f"{ours.mean():.1f} % and {rival.mean():.1f} %; ours is nearer in {(ours < rival).sum()} of {len(ours)}."
    )
