"""Fit a jointed part and its contact to whole motions: with a material of ours, or any other contact."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.learning.identify.gauss_newton import Parameter, Residuals, Solution
from stiction.learning.identify.identify import Stage, fit, frames_seen, in_windows
from stiction.learning.jointed.distances import differences
from stiction.learning.jointed.parameters import build_material
from stiction.learning.jointed.part import JointedPart
from stiction.learning.jointed.places import rest_heights
from stiction.learning.jointed.rolling import SUBSTEPS, Roll, frames_of, roll_with
from stiction.learning.jointed.starts import Starts

# Short windows only: an impact that is off by a little is off by much later, and whole tosses say little more. The wide
# loss in the end lets tosses count that are forecast badly, too: what is judged is a mean over all of them.
STAGES = (
    Stage((6, 12), 8.0, 8, 160),
    Stage((8, 16), 30.0, 6),
)
# From numbers and a time step, the model to move and how to move it.
Build = Callable[[Mapping[str, float], float], tuple[Any, Roll]]


def with_material(part: JointedPart) -> Build:
    """Contact by our material, at MuJoCo's points."""
    links = tuple(link.name for link in part.links)

    def build(values: Mapping[str, float], timestep: float) -> tuple[Any, Roll]:
        return part.model(values, timestep), roll_with(build_material(values), links)

    return build


def predictor(part: JointedPart, build: Build):
    """Predict tosses from the starts that their flights tell with the same numbers.

    Where the ground is known only from where a toss comes to rest, it is where this part would rest there.
    """

    def predict(values: Mapping[str, float], starts: Starts, steps: NDArray[np.int64]) -> list[NDArray]:
        timestep = starts.timestep / SUBSTEPS
        model, roll = build(values, timestep)
        flown = starts.flown(part.model(values, timestep, contact=False))
        lowered = rest_heights(model, starts.tosses)
        states = flown.states.copy()
        states[:, 2] -= lowered
        motions = frames_of(roll, model, states, np.maximum(steps - flown.last, 1))
        for motion, height in zip(motions, lowered):
            motion[:, 2] += height
        return [np.concatenate([before[:-1], motion]) for before, motion in zip(flown.qpos, motions)]

    return predict


def compare(starts: Starts, motions: Sequence[NDArray], windows: Sequence[int | None], width: float) -> Residuals:
    """Residuals of motions in all windows; `width` is the part's own length."""
    frames = frames_seen(starts, windows)
    at = np.concatenate([motion[toss.frame[:n]] for motion, toss, n in zip(motions, starts.tosses, frames)])
    recorded = np.concatenate([toss.qpos[:n] for toss, n in zip(starts.tosses, frames)])
    return in_windows(starts, differences(starts.part, at, recorded), windows)


def fit_jointed(
    starts: Starts,
    build: Build,
    parameters: Sequence[Parameter],
    *,
    stages: Sequence[Stage] = STAGES,
    **options: Any,
) -> Solution:
    """Find the parameters with which `build` moves like the tosses; options as of `identify.fit`."""
    part = starts.part
    return fit(predictor(part, build), parameters, starts, part.length, compare=compare, stages=stages, **options)
