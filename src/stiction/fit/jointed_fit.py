"""The fit of a jointed part and its contact: its parameters, its model of tosses, errors and regions of forecasts.

The contact is a material, or anything else that a `Build` moves the part with.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics.splits import folds
from stiction.fit.forecast import REGIONS, calibrated_scale, dense_regions_hold, ellipses_hold
from stiction.fit.gauss_newton import Parameter, Residuals, named
from stiction.fit.jointed_part import POSE, JointedPart
from stiction.fit.jointed_recording import JointedToss, rest_heights
from stiction.fit.jointed_starts import SUBSTEPS, Roll, Starts, differences, frames_of, roll_with
from stiction.fit.toss_objective import Progress, Stage, TossModel, Values, fit, frames_seen, horizon, in_windows
from stiction.laws.curves import Restitution
from stiction.laws.impact import INCREMENTS, RESTITUTION_SPEED, SLIP_SPEED
from stiction.laws.material import Material


def part_parameters(part: JointedPart, gravity: float) -> list[Parameter]:
    """Return masses, shape, joints and ground of a part that was measured by hand. gravity: of its flights [m/s^2]"""
    size = part.length
    found = []
    for number, link in enumerate(part.links):
        found += [Parameter(f"{link.name}.com_{axis}", "m", 0.0, 0.03 * size, 0.003 * size) for axis in "xyz"]
        found += [Parameter(f"{link.name}.shift_{axis}", "m", 0.0, 0.01 * size, 0.003 * size) for axis in "xyz"]
        found.append(Parameter(f"{link.name}.inertia", "", 1.0, 0.2, 0.02, 0.3, 3.0))
        found += [Parameter(f"{link.name}.inertia_{axis}", "", 1.0, 0.1, 0.02, 0.6, 1.6) for axis in "yz"]
        if number:
            found.append(Parameter(f"{link.name}.mass", "", 1.0, 0.1, 0.02, 0.2, 5.0))
    # Torques of a joint are of the order of the torque of gravity on a link.
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
    """Return the parameters of a material: friction, its change with slip and load, and restitution."""
    return [
        Parameter("friction", "", 0.2, 0.1, 0.01, 0.01, 2.0),
        Parameter("friction_rise", "", 0.0, 0.1, 0.03, -0.6, 1.0),
        Parameter("friction_fall", "", 0.0, 0.1, 0.03, -0.5, 0.5),
        Parameter("restitution", "", 0.35, 0.1, 0.015, 0.0, 1.0),
        Parameter("restitution_fall", "", 0.1, 0.2, 0.04, -0.5, 1.5),
        Parameter("restitution_threshold", "m/s", 0.02, 0.02, 0.006, 0.0, 0.2),
    ]


def build_material(values: Mapping[str, float]) -> Material:
    """Return the material with these parameters.

    friction: coefficient at a slip of SLIP_SPEED under 10 N; it grows by the share friction_rise with each factor of
    ten in slip, and falls with the power friction_fall of the load
    restitution: at RESTITUTION_SPEED, threshold included
    """
    rise, fall = values.get("friction_rise", 0.0), values.get("friction_fall", 0.0)

    def speed(v: float) -> float:
        return np.maximum(1 + rise * np.log10(np.clip(v, 0.02, 10.0) / SLIP_SPEED), 0.1)

    def load(n: float) -> float:
        return (np.clip(n, 0.1, 1e4) / 10.0) ** -fall

    threshold = values.get("restitution_threshold", 0.0)
    kept = 1 - threshold / RESTITUTION_SPEED
    e0 = min(1.0, max(0.0, values.get("restitution", 0.0)) / kept)
    bounce = Restitution(e0, values.get("restitution_fall", 0.0), threshold)
    return Material.of(
        values["friction"],
        speed=speed if rise else None,
        load=load if fall else None,
        restitution=bounce,
        parts=INCREMENTS,
    )


# Short windows only: small errors of an impact grow quickly, and whole tosses add little. The wide loss of the last
# stage gives weight to tosses with poor forecasts as well: results are evaluated by means over all of them.
STAGES = (
    Stage((6, 12), 8.0, 8, 160),
    Stage((8, 16), 30.0, 6),
)
# From parameters and a time step to the model and the way to move it.
Build = Callable[[Mapping[str, float], float], tuple[Any, Roll]]


def with_material(part: JointedPart) -> Build:
    """Return how to build a part with a material at MuJoCo's contact points."""
    links = tuple(link.name for link in part.links)

    def build(values: Mapping[str, float], timestep: float) -> tuple[Any, Roll]:
        return part.model(values, timestep), roll_with(build_material(values), links)

    return build


def jointed_model(part: JointedPart, build: Build) -> TossModel[Starts, list[NDArray]]:
    """Return the model that predicts tosses from the starts that their flights indicate for the same parameters.

    Where the height of the ground is known only from where a toss comes to rest, it is that of this part at rest there.
    """

    def predict(values: Values, starts: Starts, steps: NDArray[np.int64]) -> list[NDArray]:
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

    return TossModel(predict, part.length, _compare, STAGES)


def _compare(starts: Starts, motions: list[NDArray], windows: Sequence[int | None], width: float) -> Residuals:
    frames = frames_seen(starts, windows)
    at = np.concatenate([motion[toss.frame[:n]] for motion, toss, n in zip(motions, starts.tosses, frames)])
    recorded = np.concatenate([toss.qpos[:n] for toss, n in zip(starts.tosses, frames)])
    return in_windows(starts, differences(starts.part, at, recorded), windows)


def predicted(starts: Starts, build: Build, values: Mapping[str, float]) -> list[NDArray[np.float64]]:
    """Return the motions of whole tosses."""
    return jointed_model(starts.part, build).predict(values, starts, horizon(starts, (None,)))


AFTER_TOUCH = 16  # frames of the short horizon


@dataclass(frozen=True)
class Judged:
    """Errors of each toss (n,), averaged over its time.

    position: of the base [% of the part's length]; rotation: of the base [degrees]; joints: mean over the joints
    [degrees, or % of the length for slides]
    """

    position: NDArray[np.float64]
    rotation: NDArray[np.float64]
    joints: NDArray[np.float64]

    def figures(self) -> dict[str, dict[str, float]]:
        """Return mean and median over the tosses."""
        errors = vars(self).items()
        return {name: {"mean": float(np.mean(rows)), "median": float(np.median(rows))} for name, rows in errors}


def judge(starts: Starts, build: Build, values: Mapping[str, float]) -> dict[str, Judged]:
    """Return the errors of forecasts, over both horizons of `motion_errors`."""
    return motion_errors(starts.part, starts.tosses, predicted(starts, build, values))


def motion_errors(
    part: JointedPart, tosses: Sequence[JointedToss], motions: Sequence[NDArray[np.float64]]
) -> dict[str, Judged]:
    """Return errors over the first 16 frames from the touch on ("touch"), and over whole tosses ("whole").

    motions: qpos of each toss by frame, (frames, nq)
    """
    rows = {"touch": [], "whole": []}
    for toss, motion in zip(tosses, motions, strict=True):
        d = np.nan_to_num(differences(part, motion[toss.frame], toss.qpos), nan=1e3)
        joints = np.where(part.hinges, (d[:, 6:] + 180) % 360 - 180, d[:, 6:])  # without whole turns of a hinge
        joint = np.abs(joints).mean(axis=1) if part.joints else np.zeros(len(d))
        errors = np.column_stack([np.linalg.norm(d[:, :3], axis=1), np.linalg.norm(d[:, 3:6], axis=1), joint])
        after = (toss.frame >= toss.touch) & (toss.frame < toss.touch + AFTER_TOUCH)
        rows["touch"].append(errors[after].mean(axis=0))
        rows["whole"].append(errors.mean(axis=0))
    return {name: Judged(*np.array(found).T) for name, found in rows.items()}


# Regions of the ends of tosses. A sample of a forecast has its own friction, restitution, ground and start; one scale
# of their spreads is calibrated (forecast.py).


SCALES = (0.1, 0.4, 1.0, 1.8, 3.0)  # from a part that repeats as well as it is tracked to one that chance moves
USUAL = {"friction": 0.3, "restitution": 0.2}  # relative, from toss to toss, at a scale of 1
Forecast = tuple[Starts, dict[str, float]]  # tosses, and parameters by name


@dataclass(frozen=True)
class Sampling:
    """How samples of a forecast are drawn.

    scale: of all spreads; spreads: of the logarithms of parameters at a scale of 1; samples: their number
    """

    scale: float
    samples: int = 32
    seed: int = 0
    spreads: Mapping[str, float] = field(default_factory=lambda: USUAL)


def forecasts_without(
    starts: Starts, build: Build, parameters: Sequence[Parameter], values: NDArray[np.float64], n_tosses: int, seed: int
) -> list[Forecast]:
    """Return some of the tosses, `n_tosses` at most, in two folds, each with parameters fitted to the other fold.

    values: (p,) fitted to all tosses. One step of Gauss-Newton from there leads to the fit without a fold, to first
    order.
    """
    if len(starts) < 8:  # half of them would be too few
        return [(starts, named(parameters, values))]
    once = (replace(STAGES[-1], iterations=1),)
    found = []
    for fold in folds(len(starts), 2, seed):
        others = starts[np.setdiff1d(np.arange(len(starts)), fold)]
        refitted = fit(jointed_model(starts.part, build), parameters, others, values=values, stages=once, errors=False)
        found.append((starts[np.sort(fold[: n_tosses // 2])], named(parameters, refitted.values)))
    return found


def sampled(
    starts: Starts, build: Build, values: Mapping[str, float], sampling: Sampling
) -> Iterator[list[NDArray[np.float64]]]:
    """Yield the motions of all tosses, one sample after the other."""
    rng, length, scale = np.random.default_rng(sampling.seed), starts.part.length, sampling.scale
    for _ in range(sampling.samples):
        drawn = dict(values)
        for name, spread in sampling.spreads.items():
            drawn[name] = values[name] * float(np.exp(scale * spread * rng.standard_normal()))
        if "restitution" in drawn:
            drawn["restitution"] = min(drawn["restitution"], 0.95)
        drawn["ground"] = values.get("ground", 0.0) + scale * 0.01 * length * float(rng.standard_normal())
        yield predicted(starts.shaken(scale * 0.5, rng), build, drawn)


def ends(starts: Starts, build: Build, values: Mapping[str, float], sampling: Sampling) -> NDArray[np.float64]:
    """Return where samples of each toss end: x, y of the base [m], then the joints, shape (samples, n, 2 + joints)."""
    kept = [0, 1, *range(POSE, POSE + len(starts.part.joints))]
    last = horizon(starts, (None,)).tolist()
    runs = sampled(starts, build, values, sampling)
    return np.array([[motion[n][kept] for motion, n in zip(motions, last)] for motions in runs])


def tosses_held(starts: Starts, samples: NDArray[np.float64]) -> dict[str, list[list[bool]]]:
    """Return whether each toss ends in the regions of all levels, of the base's position and of the joints."""
    held: dict[str, list[list[bool]]] = {"position": []} | ({"joints": []} if starts.part.joints else {})
    width = np.where(starts.part.hinges, 0.8, 0.2 * starts.part.length)
    turns = np.where(starts.part.hinges, 2 * np.pi, 0.0)
    for k, toss in enumerate(starts.tosses):
        actual = toss.qpos[-1]
        held["position"].append(ellipses_hold(samples[:, k, :2], actual[:2], REGIONS))
        if starts.part.joints:
            held["joints"].append(dense_regions_hold(samples[:, k, 2:], actual[POSE:], REGIONS, width, turns))
    return held


def shares_held(held: Mapping[str, list[list[bool]]]) -> dict[str, dict[float, float]]:
    """Return the share of the tosses in each region, by level."""
    return {name: dict(zip(REGIONS, np.mean(rows, axis=0).tolist())) for name, rows in held.items()}


def calibrated_spread(
    forecasts: Sequence[Forecast],
    build: Build,
    *,
    samples: int = Sampling.samples // 2,
    seed: int = 0,
    progress: Progress = lambda done, total: None,
) -> tuple[float, dict[float, dict[str, dict[float, float]]]]:
    """Return the scale at which regions hold as many of these tosses as they should, and the shares at each scale."""
    tried = {}
    for number, scale in enumerate(SCALES):
        sampling = Sampling(scale, samples, seed)
        found = [tosses_held(some, ends(some, build, values, sampling)) for some, values in forecasts]
        tried[scale] = shares_held({name: [row for held in found for row in held[name]] for name in found[0]})
        progress(number + 1, len(SCALES))
    shares = np.array([[share for levels in tried[scale].values() for share in levels.values()] for scale in SCALES])
    levels, n_tosses = REGIONS * len(tried[SCALES[0]]), sum(len(some) for some, _ in forecasts)
    return calibrated_scale(SCALES, shares, levels, n_tosses, n_grid=201)[0], tried
