"""The objective of all fits to recorded tosses: windows, residuals, stages, and the parameters of a body and its law.

A `TossModel` predicts the motions of tosses from the states that their free flights indicate, and compares them with
the recording. `fit` minimises the loss of its residuals (gauss_newton.py), stage after stage. Free bodies, planar
bodies, jointed parts and other simulators are models of this kind.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics.splits import drawn
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_vectors
from stiction.bodies.state import State
from stiction.fit.direct_measurements import MODEL_ERRORS, Direct
from stiction.fit.gauss_newton import Parameter, Residuals, Solution, TossFit, named, toss_losses
from stiction.laws.impact import IMPACT_SPEED, INCREMENTS, RESTITUTION_SPEED, ImpactLaw, ImpactMaterial
from stiction.recordings.flight_estimate import shaped
from stiction.recordings.tosses import Tosses
from stiction.simulation.rollout import rollout

SUBSTEPS = 4  # of a frame; impacts cut further

Motions = list[tuple[NDArray[np.float64], NDArray[np.float64]]]  # position and quaternion of each toss, by frame
Values = Mapping[str, float]  # parameters by name
Progress = Callable[[int, int], None]  # simulations done, and at most
T = TypeVar("T")  # of tosses
M = TypeVar("M")  # of motions


@dataclass(frozen=True)
class Stage:
    """A stage of the fit.

    windows: ends of the windows that are compared, in frames after the first touch; None: the end of the toss
    width: of the loss, beyond which a miss counts less and less
    max_tosses: that take part, drawn with a fixed seed; None: all
    later: parameters that still stay at their start
    """

    windows: tuple[int | None, ...]
    width: float
    iterations: int
    max_tosses: int | None = None
    later: tuple[str, ...] = ()


# Short windows first: whole tosses from a cold start end in a poor minimum. Few tosses suffice to get near the minimum.
# The height of the ground and the size of the body have nearly the same effect: the size is fitted first.
STAGES = (
    Stage((12, 25), 5.0, 8, 128, ("ground",)),
    Stage((25, None), 10.0, 4, 96, ("ground",)),
    Stage((25, None), 20.0, 8),
)


def width_of(body: Body) -> float:
    """Return the mean extent of the body [m], in percent of which position errors are stated."""
    extent = np.ptp(body.vertices, axis=0)
    return float((extent[[0, 2]] if body.planar else extent).mean()) + 2 * body.rounding


def body_parameters(body: Body, com: ArrayLike | None = None, errors: ArrayLike = np.inf) -> list[Parameter]:
    """Return the parameters of a body that was measured by hand.

    com: first estimate of the centre of mass [m], shape (3,)
    errors: its standard errors [m] where flights measure it, which set its weight; inf: a guess
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


def law_parameters(direct: Direct | None = None) -> list[Parameter]:
    """Return the parameters of the contact; direct: slides set the start and weight of friction.

    Rebounds do not set the restitution: the law applies it to slaps and late impacts, too, for which another one
    forecasts better.

    `restitution` is that of a corner which arrives at IMPACT_SPEED, threshold included: it and the threshold would not
    be separately observable as ImpactMaterial has them. For the same reason, `friction` and `friction_rise` are
    those of a body that slides under its own weight, where ImpactMaterial has those without load.
    """
    friction, rise = (0.25, np.inf), (0.05, np.inf)
    if direct is not None and direct.sliding is not None:
        sliding, model_error = direct.sliding, MODEL_ERRORS.slides[direct.is_soft]
        friction = sliding.friction, float(np.hypot(sliding.errors[0], model_error * sliding.friction))
        rise = (sliding.rise, sliding.errors[1]) if sliding.errors[1] < 0.3 else rise
    return [
        Parameter("restitution", "", 0.2, 0.1, 0.01, 0.0, 1.0),
        Parameter("restitution_fall", "", 0.0, 0.2, 0.02, -0.5, 1.0),
        Parameter("restitution_threshold", "m/s", 0.03, 0.02, 0.004, 0.001, 0.2),
        Parameter("restitution_lever", "", 0.0, 0.3, 0.03, -1.0, 3.0),
        Parameter("friction", "", friction[0], 0.1, 0.005, 0.0, 2.0, error=friction[1]),
        Parameter("friction_loaded", "", 0.2, 0.1, 0.005, 0.0, 2.0),
        Parameter("friction_load", "N", 8.0, 5.0, 0.8, 0.1, 1e3),
        Parameter("friction_rise", "", rise[0], 0.1, 0.02, -0.5, 2.0, error=rise[1]),
        Parameter("spin", "", 0.85, 0.3, 0.05, 0.0, 3.0),
        Parameter("lag", "", 0.125, 0.1, 0.02, 0.0, 1.0),
    ]


def fitted_body(body: Body, values: Values) -> Body:
    """Return the body with these parameters; others stay as they were."""
    com = [values.get(f"com_{axis}", float(body.com[k])) for k, axis in enumerate("xyz")]
    return body.reshaped(
        scale=values.get("size", 1.0),
        rounding=max(0.0, values.get("rounding", body.rounding)),
        com=com,
        inertia=values.get("inertia", 1.0) * shaped(body.inertia, dict(values)),
    )


def build_material(values: Values, weight: float, memory: int = INCREMENTS) -> ImpactMaterial:
    """Return the contact with these parameters; others have their defaults.

    weight: of the body [N]; memory: sub-impacts of an impact
    """
    given = {p.name: values[p.name] for p in law_parameters() if p.name in values}
    if "friction" in given:
        sliding, rise = given["friction"], given.get("friction_rise", ImpactMaterial.friction_rise)
        loaded = given.get("friction_loaded", ImpactMaterial.friction_loaded)
        loading = 1 + weight / given.get("friction_load", ImpactMaterial.friction_load)
        given["friction"] = max(0.0, loaded + (sliding - loaded) * loading)
        given["friction_rise"] = rise * sliding * loading / max(given["friction"], 0.2 * sliding, 1e-3)
    if "restitution" in given:
        kept = 1 - given.get("restitution_threshold", ImpactMaterial.restitution_threshold) / IMPACT_SPEED
        faster = (IMPACT_SPEED / RESTITUTION_SPEED) ** given.get("restitution_fall", ImpactMaterial.restitution_fall)
        given["restitution"] = min(1.0, given["restitution"] * faster / kept)
    return ImpactMaterial(**given, memory=memory)


def build_law(body: Body, values: Values, timestep: float, memory: int = INCREMENTS) -> ImpactLaw:
    """Return the law with these parameters."""
    return ImpactLaw(
        fitted_body(body, values),
        build_material(values, body.mass * values.get("gravity", 9.81), memory),
        timestep=timestep,
        substeps=SUBSTEPS,
        gravity=(values.get("gravity_x", 0.0), 0.0, -values.get("gravity", 9.81)),
        ground=values.get("ground", 0.0),
        drag=values.get("drag", 0.0),
    )


def roll_law(law, states: State, steps: NDArray[np.int64]) -> Motions:
    """Return the motions from states (n,), each for its number of steps (n,)."""
    motions: Motions = [(np.empty(0), np.empty(0))] * len(steps)
    for group in groups_alike(steps):
        run = rollout(law, states[group], int(steps[group].max()), finite=False)
        for k, i in enumerate(group.tolist()):
            motions[i] = run.position[k], run.quaternion[k]
    return motions


def groups_alike(steps: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the numbers of the tosses in groups of similar length, each of which is simulated together."""
    groups: list[list[int]] = []
    shortest = 0
    for i in np.argsort(steps, kind="stable").tolist():
        if not groups or steps[i] > 1.1 * shortest:
            groups.append([])
            shortest = max(1, int(steps[i]))
        groups[-1].append(i)
    return [np.array(group) for group in groups]


def residuals(tosses: Tosses, motions: Motions, windows: Sequence[int | None], width: float) -> Residuals:
    """Return the residuals of all windows: position in percent of `width`, rotation in degrees."""
    seen = frames_seen(tosses, windows)
    # All frames of all tosses at once: numpy's calls cost more than their work on one toss.
    at = [toss.frame[:n] for toss, n in zip(tosses.tosses, seen)]
    dp = np.concatenate([motion[0][k] for motion, k in zip(motions, at, strict=True)])
    dp -= np.concatenate([toss.position[:n] for toss, n in zip(tosses.tosses, seen)])
    turn = rotation_vectors(
        np.concatenate([motion[1][k] for motion, k in zip(motions, at)]),
        np.concatenate([toss.quaternion[:n] for toss, n in zip(tosses.tosses, seen)]),
    )
    return in_windows(tosses, np.hstack([dp * (100 / width), np.degrees(turn)]), windows)


def frames_seen(tosses, windows: Sequence[int | None]) -> list[int]:
    """Return the number of frames of each toss in the longest of the windows."""
    return [toss.frames_until(last) for toss, last in zip(tosses.tosses, horizon(tosses, windows).tolist())]


def in_windows(tosses, rows: NDArray[np.float64], windows: Sequence[int | None]) -> Residuals:
    """Return residuals of all frames in the longest window (n, k), toss after toss, as those of each window."""
    rows = np.nan_to_num(rows, nan=1e3, posinf=1e3, neginf=-1e3)
    whole = np.split(rows, np.cumsum(frames_seen(tosses, windows))[:-1])
    return [
        rows[: toss.frames_until(last)]
        for window in windows
        for toss, rows, last in zip(tosses.tosses, whole, last_frames(tosses, window).tolist())
    ]


def last_frames(tosses, window: int | None) -> NDArray[np.int64]:
    """Return the frame (n,) of each toss that is `window` frames after the first touch, or its last one."""
    return np.array([t.steps if window is None else min(t.touch + window, t.steps) for t in tosses.tosses])


def horizon(tosses, windows: Sequence[int | None]) -> NDArray[np.int64]:
    """Return the number of steps (n,) to simulate of each toss."""
    return np.max([last_frames(tosses, window) for window in windows], axis=0)


@dataclass(frozen=True)
class TossModel(Generic[T, M]):
    """A simulator of tosses.

    predict: from parameters, tosses and numbers of steps (n,) to motions
    width: length [m] in percent of which position errors count
    compare: from tosses, motions, windows and `width` to residuals
    stages: of its fit
    """

    predict: Callable[[Values, T, NDArray[np.int64]], M]
    width: float
    compare: Callable[[T, M, Sequence[int | None], float], Residuals] = residuals  # type: ignore[assignment]
    stages: Sequence[Stage] = STAGES

    def residuals(self, values: Values, tosses: T, windows: Sequence[int | None]) -> Residuals:
        """Simulate tosses and return their residuals in all windows."""
        motions = self.predict(values, tosses, horizon(tosses, windows))
        return self.compare(tosses, motions, windows, self.width)

    def losses(self, values: Values, tosses: T, stage: Stage) -> NDArray[np.float64]:
        """Return the loss of each toss (n,) as that stage of the fit counts it."""
        return toss_losses(self.residuals(values, tosses, stage.windows), stage.width, len(stage.windows))


def law_model(body: Body, known: Values, memory: int = INCREMENTS) -> TossModel[Tosses, Motions]:
    """Return the model of a body with an impact law. known: parameters that are not fitted"""

    def predict(values: Values, tosses: Tosses, steps: NDArray[np.int64]) -> Motions:
        law = build_law(body, {**known, **values}, tosses.timestep, memory)
        return roll_law(law, tosses.states(law.body, law.gravity, law.drag), steps)

    return TossModel(predict, width_of(body))


def fit(
    model: TossModel,
    parameters: Sequence[Parameter],
    tosses: Any,
    *,
    stages: Sequence[Stage] | None = None,
    values: NDArray[np.float64] | None = None,
    errors: bool = True,
    progress: Progress = lambda done, total: None,
) -> Solution:
    """Fit a model to tosses, stage after stage.

    tosses: as the model takes them; stages: by default those of the model
    values: where to start, if not at the parameters' starts, shape (p,)
    errors: whether to find the standard errors
    """
    values = np.array([p.start for p in parameters]) if values is None else values.copy()
    losses: list[float] = []
    stages = model.stages if stages is None else stages
    solution, free = None, np.ones(len(values), dtype=bool)
    for number, stage in enumerate(stages):
        some = tosses if stage.max_tosses is None else tosses[drawn(len(tosses), stage.max_tosses, 0)]
        known = named(parameters, values)
        free = np.array([p.name not in stage.later for p in parameters])
        moving = [p for p, moves in zip(parameters, free) if moves]

        n_most = (stage.iterations + 1) * (len(moving) + 1) + 1  # simulations, at most; all stages weigh the same
        end, total = (number + 1) * n_most, len(stages) * n_most
        done = iter(range(number * n_most, end))

        def simulate(x, stage=stage, some=some, known=known, moving=moving, counts=(done, end, total)) -> Residuals:
            progress(next(counts[0], counts[1]), counts[2])
            return model.residuals(known | named(moving, x), some, stage.windows)

        last = errors and number == len(stages) - 1
        options = TossFit(stage.width, stage.iterations, ridge=0.2, errors=last, windows=len(stage.windows))
        solution = options.solve(simulate, moving, values[free])
        progress(end, total)
        values[free] = solution.values
        losses += solution.losses
    assert solution is not None
    covariance, observed = np.full((len(values),) * 2, np.inf), np.zeros(len(values))
    covariance[np.ix_(free, free)], observed[free] = solution.covariance, solution.observed
    return Solution(values, covariance, observed, losses)
