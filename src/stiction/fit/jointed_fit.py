"""Fit a jointed part and its contact to whole motions: with a material of ours, or any other contact."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.fit.gauss_newton import Parameter, Residuals, Solution
from stiction.fit.jointed_part import JointedPart
from stiction.fit.jointed_recording import JointedToss, rest_heights
from stiction.fit.jointed_starts import SUBSTEPS, Roll, Starts, differences, frames_of, roll_with
from stiction.fit.toss_objective import Stage, fit, frames_seen, horizon, in_windows
from stiction.laws.curves import Restitution
from stiction.laws.material import SPEEDS, Material

# What is not known of a jointed part and of its contact, and a material of the numbers that were found.


_SLIP = 0.3  # [m/s] at which `friction` is stated
_LEAST = 0.1  # share of friction that any slip and load leave
PARTS = 8  # in which an impact builds up
RESTITUTION_SPEED = 0.5  # [m/s] at which `restitution` is stated


def part_parameters(part: JointedPart, gravity: float) -> list[Parameter]:
    """Masses, shape, joints and ground of a part that someone has measured. gravity: [m/s^2] that its flights show"""
    size = part.length
    found = []
    for number, link in enumerate(part.links):
        found += [Parameter(f"{link.name}.com_{axis}", "m", 0.0, 0.03 * size, 0.003 * size) for axis in "xyz"]
        found += [Parameter(f"{link.name}.shift_{axis}", "m", 0.0, 0.01 * size, 0.003 * size) for axis in "xyz"]
        found.append(Parameter(f"{link.name}.inertia", "", 1.0, 0.2, 0.02, 0.3, 3.0))
        found += [Parameter(f"{link.name}.inertia_{axis}", "", 1.0, 0.1, 0.02, 0.6, 1.6) for axis in "yz"]
        if number:
            found.append(Parameter(f"{link.name}.mass", "", 1.0, 0.1, 0.02, 0.2, 5.0))
    # What gravity does to a whole link, over its length, is the measure of what a joint may do.
    torque = part.links[0].mass * 9.81 * size
    for name in part.joints:
        found.append(Parameter(f"{name}.damping", "N m s", 1e-3 * torque, 1e-3 * torque, 2e-4 * torque, 0.0, torque))
        found.append(Parameter(f"{name}.friction", "N m", 0.01 * torque, 0.01 * torque, 2e-3 * torque, 0.0, torque))
    return [
        *found,
        Parameter("size", "", 1.0, 0.02, 0.002, 0.8, 1.2),
        Parameter("rounding", "m", 0.02 * size, 0.02 * size, 0.004 * size, 1e-4, 0.15 * size),
        Parameter("ground", "m", 0.0, 0.005 * size, 0.002 * size),
        Parameter("gravity", "m/s^2", gravity, 0.1, 0.05, 7.0, 12.0),
    ]


def contact_parameters() -> list[Parameter]:
    """Of a material: friction, how it changes with slip and load, and how it bounces."""
    return [
        Parameter("friction", "", 0.2, 0.1, 0.01, 0.01, 2.0),
        Parameter("friction_rise", "", 0.0, 0.1, 0.03, -0.6, 1.0),
        Parameter("friction_fall", "", 0.0, 0.1, 0.03, -0.5, 0.5),
        Parameter("restitution", "", 0.35, 0.1, 0.015, 0.0, 1.0),
        Parameter("restitution_fall", "", 0.1, 0.2, 0.04, -0.5, 1.5),
        Parameter("restitution_threshold", "m/s", 0.02, 0.02, 0.006, 0.0, 0.2),
    ]


def build_material(values: Mapping[str, float]) -> Material:
    """The material with numbers as fitted.

    friction: coefficient of a slip of 0.3 m/s under 10 N; it grows by the share friction_rise with each factor of ten
    in slip, and falls with the power friction_fall of the load
    restitution: at 0.5 m/s, threshold and all
    """
    more = {}
    if rise := values.get("friction_rise", 0.0):
        more["speed"] = lambda v: np.maximum(1 + rise * np.log10(np.clip(v, 0.02, 10.0) / _SLIP), _LEAST)
    if fall := values.get("friction_fall", 0.0):
        more["load"] = lambda n: (np.clip(n, 0.1, 1e4) / 10.0) ** -fall
    threshold = values.get("restitution_threshold", 0.0)
    kept = 1 - threshold / RESTITUTION_SPEED
    e0 = min(1.0, max(0.0, values.get("restitution", 0.0)) / kept)
    bounce = Restitution(e0, values.get("restitution_fall", 0.0), threshold)
    return Material.of(values["friction"], restitution=bounce, parts=PARTS, **more)


assert SPEEDS[0] < 0.02  # the curve covers the slips at which it is held


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


# Forecasts of tosses with numbers that were fitted without them.


FOLDS = 2
_FEWEST = 8  # tosses: of fewer, a half tells too little
Forecast = tuple[Starts, dict[str, float]]  # tosses, and numbers by name


def forecasts_without(
    starts: Starts,
    build: Build,
    parameters: Sequence[Parameter],
    values: NDArray[np.float64],
    *,
    most: int,
    seed: int = 0,
) -> list[Forecast]:
    """Some of the tosses, `most` at most, each with the numbers of a fit to other ones.

    values: (p,) fitted to all tosses. From there, one step of Gauss-Newton leads to the fit without a fold, to first
    order.
    """
    if len(starts) < _FEWEST:
        return [(starts, {p.name: float(v) for p, v in zip(parameters, values)})]
    last = STAGES[-1]
    once = Stage(last.windows, last.width, 1)
    order = np.random.default_rng(seed).permutation(len(starts))
    found = []
    for k in range(FOLDS):
        fold = order[k::FOLDS]
        others = starts[np.setdiff1d(order, fold)]
        moved = fit_jointed(others, build, parameters, values=values, stages=(once,), errors=False).values
        some = starts[np.sort(fold[: most // FOLDS])]
        found.append((some, {p.name: float(v) for p, v in zip(parameters, moved)}))
    return found


# How far forecasts of a jointed part are from recorded motions, over two horizons.


AFTER_TOUCH = 16  # frames of the short horizon


@dataclass(frozen=True)
class Judged:
    """Errors of each toss (n,), means over its time.

    position: of the base [% of the part's length]; rotation: of the base [degrees]; joints: mean over the joints
    [degrees, or % of the length for slides]
    """

    position: NDArray[np.float64]
    rotation: NDArray[np.float64]
    joints: NDArray[np.float64]

    def figures(self) -> dict[str, dict[str, float]]:
        """Mean and median over the tosses."""
        return {
            name: {"mean": float(np.mean(rows)), "median": float(np.median(rows))} for name, rows in vars(self).items()
        }


def judge(starts: Starts, build: Build, values: Mapping[str, float]) -> dict[str, Judged]:
    """Errors of forecasts; see `motion_errors`."""
    motions = predictor(starts.part, build)(values, starts, horizon(starts, (None,)))
    return motion_errors(starts.part, starts.tosses, motions)


def motion_errors(
    part: JointedPart, tosses: Sequence[JointedToss], motions: Sequence[NDArray[np.float64]]
) -> dict[str, Judged]:
    """Errors over the first 16 frames from the touch on ("touch"), and from the start to the end ("whole").

    motions: qpos of each toss by frame, (frames, nq)
    """
    rows = {"touch": [], "whole": []}
    for toss, motion in zip(tosses, motions, strict=True):
        d = np.nan_to_num(differences(part, motion[toss.frame], toss.qpos), nan=1e3)
        errors = np.stack([
            np.linalg.norm(d[:, :3], axis=1), np.linalg.norm(d[:, 3:6], axis=1), _joints(part, d[:, 6:])
        ], axis=1)  # fmt: skip
        after = (toss.frame >= toss.touch) & (toss.frame < toss.touch + AFTER_TOUCH)
        rows["touch"].append(errors[after].mean(axis=0))
        rows["whole"].append(errors.mean(axis=0))
    return {name: Judged(*np.array(found).T) for name, found in rows.items()}


def _joints(part: JointedPart, off: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over the joints; a hinge that is off by a whole turn is right."""
    if not part.joints:
        return np.zeros(len(off))
    return np.abs(np.where(part.hinges, (off + 180) % 360 - 180, off)).mean(axis=1)
