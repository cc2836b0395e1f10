"""Identification: the body as it really is, and its contact law, from recorded tosses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_vectors
from stiction.bodies.state import State
from stiction.fit.gauss_newton import Parameter, Residuals, Solution, minimise
from stiction.laws.impact import RESTITUTION_SPEED, ImpactLaw, ImpactMaterial
from stiction.recordings.flight_estimate import shaped
from stiction.recordings.tosses import Tosses
from stiction.simulation.rollout import rollout

TURN = 1.0  # weight of a degree of rotation against a percent of the body's width
ALIKE = 1.1  # tosses whose lengths differ by less than this factor are simulated together
RIDGE = 0.2  # pull towards the start, against the loss of one toss
SUBSTEPS = 4  # of a frame; impacts cut further

Motions = list[tuple[NDArray[np.float64], NDArray[np.float64]]]  # position and quaternion of each toss, by frame
Predict = Callable[[dict[str, float], Tosses, NDArray[np.int64]], Motions]


@dataclass(frozen=True)
class Stage:
    """A part of the fit: windows that end so many frames after the first touch (None: with the toss).

    width: of the loss, beyond which a miss counts less and less
    most: tosses that take part, the first ones of a seeded draw; None: all
    later: parameters that still wait at their start
    """

    windows: tuple[int | None, ...]
    width: float
    iterations: int
    most: int | None = None
    later: tuple[str, ...] = ()


# Short windows first: whole tosses from a cold start end in a poor minimum. Few tosses find the valley, all its floor.
# The height of the ground and the size of the body do nearly the same: the size goes first.
STAGES = (
    Stage((12, 25), 5.0, 8, 128, ("ground",)),
    Stage((25, None), 10.0, 4, 96, ("ground",)),
    Stage((25, None), 20.0, 8),
)


def width_of(body: Body) -> float:
    """Length [m] in percent of which position errors are stated: the mean extent of the body."""
    extent = np.ptp(body.vertices, axis=0)
    return float((extent[[0, 2]] if body.planar else extent).mean()) + 2 * body.rounding


def body_parameters(body: Body, com: ArrayLike | None = None, errors: ArrayLike = np.inf) -> list[Parameter]:
    """What is not known exactly of a body that someone has measured and weighed.

    com: where to look for the centre of mass first [m], shape (3,)
    errors: standard errors [m] of what flights tell of it, which then weighs as much as they allow; inf: a guess
    """
    size = width_of(body)
    places = zip("xyz", body.com if com is None else np.asarray(com), np.broadcast_to(errors, 3))
    return [
        *(
            Parameter(f"com_{axis}", "m", float(at), 0.05 * size, 0.002 * size, error=float(error))
            for axis, at, error in places
        ),
        Parameter("inertia", "", 1.0, 0.2, 0.01, 0.3, 3.0),
        Parameter("inertia_y", "", 1.0, 0.1, 0.01, 0.6, 1.6),
        Parameter("inertia_z", "", 1.0, 0.1, 0.01, 0.6, 1.6),
        Parameter("size", "", 1.0, 0.03, 0.001, 0.8, 1.2),
        Parameter("rounding", "m", 0.01 * size, 0.01 * size, 0.002 * size, 0.0, 0.2 * size),
        Parameter("ground", "m", 0.0, 0.005 * size, 0.001 * size),
    ]


def law_parameters() -> list[Parameter]:
    """What is not known of the contact.

    `restitution` is what a corner keeps that arrives at RESTITUTION_SPEED, threshold and all: with the material's own
    number, which knows nothing of the threshold, a fit cannot tell one from the other.
    """
    return [
        Parameter("restitution", "", 0.2, 0.1, 0.01, 0.0, 1.0),
        Parameter("restitution_fall", "", 0.0, 0.2, 0.02, -0.5, 1.0),
        Parameter("restitution_threshold", "m/s", 0.03, 0.02, 0.004, 0.001, 0.2),
        Parameter("restitution_lever", "", 0.0, 0.3, 0.03, -1.0, 3.0),
        Parameter("friction", "", 0.25, 0.1, 0.005, 0.0, 2.0),
        Parameter("friction_loaded", "", 0.2, 0.1, 0.005, 0.0, 2.0),
        Parameter("friction_load", "N", 8.0, 5.0, 0.8, 0.1, 1e3),
        Parameter("friction_rise", "", 0.05, 0.1, 0.02, -0.5, 1.0),
        Parameter("spin", "", 0.85, 0.3, 0.05, 0.0, 3.0),
        Parameter("lag", "", 0.125, 0.1, 0.02, 0.0, 1.0),
    ]


def fitted_body(body: Body, values: dict[str, float]) -> Body:
    """The body with parameters as fitted; what `values` leaves out stays as it was."""
    com = [values.get(f"com_{axis}", float(body.com[k])) for k, axis in enumerate("xyz")]
    return body.reshaped(
        scale=values.get("size", 1.0),
        rounding=max(0.0, values.get("rounding", body.rounding)),
        com=com,
        inertia=values.get("inertia", 1.0) * shaped(body.inertia, values),
    )


def build_material(values: dict[str, float], **options) -> ImpactMaterial:
    """How body and ground touch, with parameters as fitted; what `values` leaves out is as usual."""
    given = {p.name: values[p.name] for p in law_parameters() if p.name in values}
    if "restitution" in given:
        kept = 1 - given.get("restitution_threshold", ImpactMaterial.restitution_threshold) / RESTITUTION_SPEED
        given["restitution"] = min(1.0, given["restitution"] / kept)
    return ImpactMaterial(**given, **options)


def build_law(body: Body, values: dict[str, float], timestep: float, **options) -> ImpactLaw:
    """The law with parameters as fitted."""
    return ImpactLaw(
        fitted_body(body, values),
        build_material(values, **options),
        timestep=timestep,
        substeps=SUBSTEPS,
        gravity=(values.get("gravity_x", 0.0), 0.0, -values.get("gravity", 9.81)),
        ground=values.get("ground", 0.0),
        drag=values.get("drag", 0.0),
    )


def predictor(body: Body, gravity: float, **options) -> Predict:
    """Predict tosses with our law; gravity [m/s^2]."""

    def predict(values: dict[str, float], tosses: Tosses, steps: NDArray[np.int64]) -> Motions:
        law = build_law(body, {"gravity": gravity, **values}, tosses.timestep, **options)
        return roll_law(law, tosses.states(law.body, law.gravity, law.drag), steps)

    return predict


def roll_law(law, states: State, steps: NDArray[np.int64]) -> Motions:
    """Motions of the states (n,), each for its own number of steps (n,)."""
    motions: Motions = [(np.empty(0), np.empty(0))] * len(steps)
    for group in groups_alike(steps):
        run = rollout(law, states[group], int(steps[group].max()), finite=False)
        for k, i in enumerate(group.tolist()):
            motions[i] = run.position[k], run.quaternion[k]
    return motions


def groups_alike(steps: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Numbers of the tosses, in groups of similar length."""
    groups: list[list[int]] = []
    shortest = 0
    for i in np.argsort(steps, kind="stable").tolist():
        if not groups or steps[i] > ALIKE * shortest:
            groups.append([])
            shortest = max(1, int(steps[i]))
        groups[-1].append(i)
    return [np.array(group) for group in groups]


def residuals(tosses: Tosses, motions: Motions, windows: Sequence[int | None], width: float) -> Residuals:
    """Residuals of all windows: position in percent of `width`, rotation in degrees, weighted."""
    seen = frames_seen(tosses, windows)
    # All frames of all tosses at once: numpy's calls cost more than their work on one toss.
    at = [toss.frame[:n] for toss, n in zip(tosses.tosses, seen)]
    dp = np.concatenate([motion[0][k] for motion, k in zip(motions, at, strict=True)])
    dp -= np.concatenate([toss.position[:n] for toss, n in zip(tosses.tosses, seen)])
    turn = rotation_vectors(
        np.concatenate([motion[1][k] for motion, k in zip(motions, at)]),
        np.concatenate([toss.quaternion[:n] for toss, n in zip(tosses.tosses, seen)]),
    )
    return in_windows(tosses, np.hstack([dp * (100 / width), np.degrees(turn) * TURN]), windows)


def frames_seen(tosses, windows: Sequence[int | None]) -> list[int]:
    """How many frames of each toss are in the longest of the windows."""
    return [toss.frames_until(last) for toss, last in zip(tosses.tosses, horizon(tosses, windows).tolist())]


def in_windows(tosses, rows: NDArray[np.float64], windows: Sequence[int | None]) -> Residuals:
    """Residuals of all frames that are seen, toss after toss, (n, k), as those of each toss in each window."""
    rows = np.nan_to_num(rows, nan=1e3, posinf=1e3, neginf=-1e3)
    whole = np.split(rows, np.cumsum(frames_seen(tosses, windows))[:-1])
    return [
        rows[: toss.frames_until(last)]
        for window in windows
        for toss, rows, last in zip(tosses.tosses, whole, last_frames(tosses, window).tolist())
    ]


def last_frames(tosses, window: int | None) -> NDArray[np.int64]:
    """The frame (n,) of each toss that is `window` frames after the first touch, or its last one."""
    return np.array([t.steps if window is None else min(t.touch + window, t.steps) for t in tosses.tosses])


def horizon(tosses, windows: Sequence[int | None]) -> NDArray[np.int64]:
    """Steps (n,) that each toss must be simulated for."""
    return np.max([last_frames(tosses, window) for window in windows], axis=0)


def fit(
    predict: Callable[[dict[str, float], Any, NDArray[np.int64]], Any],
    parameters: Sequence[Parameter],
    tosses: Any,
    width: float,
    *,
    compare: Callable[[Any, Any, Sequence[int | None], float], Residuals] = residuals,
    stages: Sequence[Stage] = STAGES,
    values: NDArray[np.float64] | None = None,
    errors: bool = True,
    progress: Callable[[str, int, int], None] = lambda stage, done, most: None,
) -> Solution:
    """Fit any simulator to tosses, stage after stage.

    tosses: of a body, or anything like them that `predict` and `compare` know
    width: length [m] in percent of which position errors count
    compare: from tosses, what `predict` gave, windows and width to residuals
    values: where to begin, if not at the parameters' starts, shape (p,)
    errors: also find the standard errors
    progress: called with the stage's name, the simulations done and the most there can be
    """
    values = np.array([p.start for p in parameters]) if values is None else values.copy()
    names = [p.name for p in parameters]
    losses: list[float] = []
    solution = None
    order = np.random.default_rng(0).permutation(len(tosses))
    for number, stage in enumerate(stages):
        some = tosses if stage.most is None else tosses[np.sort(order[: stage.most])]
        steps = horizon(some, stage.windows)

        known = dict(zip(names, values.tolist()))
        free = np.array([p.name not in stage.later for p in parameters])
        moving = [p for p, moves in zip(parameters, free) if moves]

        def simulate(x, stage=stage, steps=steps, some=some, known=known, moving=moving) -> Residuals:
            trial = known | dict(zip((p.name for p in moving), x.tolist()))
            return compare(some, predict(trial, some, steps), stage.windows, width)

        done = [0]
        most = (stage.iterations + 1) * (len(moving) + 1) + 1

        def advance(done=done, most=most, number=number) -> None:
            done[0] += 1
            progress(f"Stage {number + 1} of {len(stages)}", min(done[0], most), most)

        solution = minimise(
            simulate,
            moving,
            values[free],
            width=stage.width,
            iterations=stage.iterations,
            ridge=RIDGE,
            errors=errors and number == len(stages) - 1,
            windows=len(stage.windows),
            progress=advance,
        )
        progress(f"Stage {number + 1} of {len(stages)}", most, most)
        values[free] = solution.values
        losses += solution.losses
    assert solution is not None
    covariance, told = np.full((len(values),) * 2, np.inf), np.zeros(len(values))
    covariance[np.ix_(free, free)], told[free] = solution.covariance, solution.told
    return Solution(values, covariance, told, losses)
