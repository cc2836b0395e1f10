"""The part of the errors on a jointed part that no law of friction and restitution can predict.

Three measurements. The error from the start alone: the same model from starts within the noise of the flight. The best
friction and restitution of each toss, chosen by its first frames, and how much of their variance the first impact
explains on tosses left out. And the mean of many samples, the best forecast where motions diverge.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics.splits import folds
from stiction.fit import jointed_fit
from stiction.fit.jointed_fit import AFTER_TOUCH, USUAL, Judged, Sampling, motion_errors
from stiction.fit.jointed_flight import Prepared
from stiction.fit.jointed_part import POSE
from stiction.fit.jointed_starts import SUBSTEPS, Starts, differences
from stiction.fit.toss_objective import horizon
from stiction.mujoco.mjcf import mujoco
from stiction_studies.page.section import Table
from stiction_studies.recordings.jointed_models import UNITS, Fitted

CHOICE_FRAMES = 10  # frames from the touch on, by which friction and restitution of one toss are chosen


@dataclass(frozen=True)
class Chance:
    """Mean errors soon after the touch, by what is known; shares of variance that the first impact explains."""

    errors: dict[str, dict[str, float]]
    explained: dict[str, float]

    def table(self) -> Table:
        """Return the figures as a table."""
        rows = [
            [name, *(f"{row[what]:.1f}{unit}" for what, unit in UNITS.items())] for name, row in self.errors.items()
        ]
        shares = " and ".join(
            f"{100 * share:.0f} % of the variance of {name}" for name, share in self.explained.items()
        )
        note = (
            f"Mean errors over {AFTER_TOUCH} frames from the first touch on. Friction and restitution of each toss are "
            f"chosen by its first {CHOICE_FRAMES} frames after the touch, as no forecast can. Start alone: our model "
            "against itself, from starts within the noise of the flight. Speeds, slip, inertia and timing of the first "
            f"impact explain {shares}, in logarithms, on tosses left out: the rest differs from impact to impact."
        )
        return Table("Errors that cannot be predicted", ["", *UNITS], rows, note)


def measure(ready: Prepared, model: Fitted, seed: int) -> Chance:
    """Return the measurements with our model of the part."""
    held = ready.held_out
    one = motion_errors(held.part, held.tosses, jointed_fit.predicted(held, model.build, model.values))
    _, lowest = best_parameters(held, model)
    errors = {
        "one material for all tosses": _means(one["touch"]),
        "own friction and restitution of each toss": {what: float(e.mean()) for what, e in lowest.items()},
        "start alone": _means(start_floor(held, model, seed)),
    }
    chosen, _ = best_parameters(ready.fitted, model)
    before = ready.fitted.flown(_flying(ready.fitted, model)).states
    impacts = first_impacts(ready.part.model(model.values, held.timestep / SUBSTEPS), before)
    return Chance(errors, {name: explained(impacts, np.log(numbers), seed) for name, numbers in chosen.items()})


def start_floor(starts: Starts, model: Fitted, seed: int) -> Judged:
    """Return errors of the model's motions from starts within the noise of the flight, against those from the best."""
    steps, rng = horizon(starts, (None,)), np.random.default_rng(seed)
    predict = jointed_fit.jointed_model(starts.part, model.build).predict
    best = predict(model.values, starts, steps)
    tosses = [replace(toss, qpos=motion[toss.frame]) for toss, motion in zip(starts.tosses, best)]
    noise = float(np.median(starts.stray(_flying(starts, model)))) / np.sqrt(
        POSE - 1 + len(starts.part.joints)
    )  # of one number
    found = [
        motion_errors(starts.part, tosses, predict(model.values, starts.shaken(noise, rng), steps))["touch"]
        for _ in range(4)
    ]
    return Judged(*(np.mean([getattr(each, what) for each in found], axis=0) for what in UNITS))


def best_parameters(starts: Starts, model: Fitted) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """Return factors (n,) of restitution and friction that fit each toss best, and errors with them after the touch."""
    steps = horizon(starts, (AFTER_TOUCH,))
    predict = jointed_fit.jointed_model(starts.part, model.build).predict
    # Factors of 1 are among them.
    factors = list(product(np.exp(np.linspace(-1.2, 0.6, 7)), np.exp(np.linspace(-1.2, 1.2, 7))))
    counts = [toss.frames_until(last) for toss, last in zip(starts.tosses, steps.tolist())]
    short = [replace(toss, frame=toss.frame[:n], qpos=toss.qpos[:n]) for toss, n in zip(starts.tosses, counts)]
    losses, errors = [], []
    for e, mu in factors:
        changed = {"restitution": min(0.95, e * model.values["restitution"]), "friction": mu * model.values["friction"]}
        motions = predict({**model.values, **changed}, starts, steps)
        losses.append([_loss(starts, k, motion) for k, motion in enumerate(motions)])
        found = motion_errors(starts.part, short, motions)["touch"]
        errors.append([getattr(found, what) for what in UNITS])
    best, toss = np.argmin(losses, axis=0), np.arange(len(starts))
    numbers = np.array(factors)[best]
    lowest = np.array(errors)[best, :, toss]
    return {"restitution": numbers[:, 0], "friction": numbers[:, 1]}, dict(zip(UNITS, lowest.T))


def explained(impacts: NDArray[np.float64], numbers: NDArray[np.float64], seed: int) -> float:
    """Return the share of the variance of numbers (n,) that a ridge regression on impacts (n, k) explains, by folds."""
    z = np.clip((impacts - np.median(impacts, axis=0)) / impacts.std(axis=0), -2.5, 2.5)
    z = np.hstack([z, z**2])
    z -= z.mean(axis=0)
    y = numbers - numbers.mean()
    residual, ridge = np.empty(len(y)), 20.0
    for out in folds(len(y), 5, seed):
        rest = np.setdiff1d(np.arange(len(y)), out)
        weights = np.linalg.solve(z[rest].T @ z[rest] + ridge * np.eye(z.shape[1]), z[rest].T @ y[rest])
        residual[out] = y[out] - z[out] @ weights
    return max(0.0, 1 - float((residual**2).sum() / max((y**2).sum(), 1e-12)))


def middle_errors(
    starts: Starts, model: Fitted, scale: float, seed: int, spreads: Mapping[str, float] = USUAL
) -> dict[str, Judged]:
    """Return errors of the mean of many samples: mean position, rotation and joints in each frame."""
    places, turns, joints, sampling = 0.0, 0.0, 0.0, Sampling(scale, seed=seed, spreads=spreads)
    frames = horizon(starts, (None,)) + 1
    for motions in jointed_fit.sampled(starts, model.build, model.values, sampling):
        qpos = np.concatenate([motion[:n] for motion, n in zip(motions, frames.tolist())])
        places = places + np.nan_to_num(qpos[:, :3]) / sampling.samples
        turns = turns + Rotation.from_quat(np.nan_to_num(qpos[:, 3:POSE], nan=0.5), scalar_first=True).as_matrix()
        joints = joints + np.exp(1j * np.nan_to_num(qpos[:, POSE:])) / sampling.samples
    u, _, vt = np.linalg.svd(turns)
    u[..., -1] *= np.linalg.det(u @ vt)[..., np.newaxis]
    quaternion = Rotation.from_matrix(u @ vt).as_quat(scalar_first=True)
    middle = np.hstack([places, quaternion, np.angle(joints)])
    return motion_errors(starts.part, starts.tosses, np.split(middle, np.cumsum(frames)[:-1]))


def _flying(starts: Starts, model: Fitted) -> Any:
    """Return the MjModel of the part without contact."""
    return starts.part.model(model.values, starts.timestep / SUBSTEPS, contact=False)


def _loss(starts: Starts, k: int, motion: NDArray[np.float64]) -> float:
    toss = starts.tosses[k]
    seen = (toss.frame >= toss.touch) & (toss.frame < toss.touch + CHOICE_FRAMES)
    d = np.nan_to_num(differences(starts.part, motion[toss.frame[seen]], toss.qpos[seen]), nan=1e3)
    return float(np.log1p((d**2).sum(axis=1) / 8.0**2).mean())


def _means(found: Judged) -> dict[str, float]:
    return {what: float(np.mean(getattr(found, what))) for what in UNITS}


def first_impacts(model: Any, states: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers that describe the first impact (n, 7) from states (n, nq + nv) shortly before it.

    Normal and slip speed [m/s] of the corner that arrives first; logarithm of the inverse effective mass along the
    normal; its coupling into the direction of slip; time until the next corner arrives, at most 0.03 s; whether the
    corner is on the base; norm of the joint velocities.
    """
    return np.array([_impact(model, state) for state in states])


def _impact(model: Any, state: NDArray[np.float64]) -> list[float]:
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = state[: model.nq], state[model.nq :]
    mujoco.mj_forward(model, data)
    balls = np.flatnonzero((model.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE) & (model.geom_contype != 0))
    jacobians = np.zeros((len(balls), 3, model.nv))
    for jacobian, ball in zip(jacobians, balls.tolist()):
        mujoco.mj_jac(model, data, jacobian, None, data.geom_xpos[ball], model.geom_bodyid[ball])
    velocity = jacobians @ data.qvel
    height = data.geom_xpos[balls, 2] - model.geom_size[balls, 0]
    arrival = np.where(velocity[:, 2] < 0, height / np.maximum(-velocity[:, 2], 1e-3), np.inf)
    first, second = np.argsort(arrival)[:2]
    response = np.zeros((3, model.nv))
    mujoco.mj_solveM(model, data, response, jacobians[first].copy())
    inverse = jacobians[first] @ response.T
    slip = float(np.linalg.norm(velocity[first, :2]))
    along = velocity[first, :2] / max(slip, 1e-9)
    return [
        float(-velocity[first, 2]),
        slip,
        float(np.log(inverse[2, 2])),
        float(inverse[2, :2] @ along / inverse[2, 2]),
        float(min(arrival[second] - arrival[first], 0.03)),
        float(model.geom_bodyid[balls[first]] == model.jnt_bodyid[0]),
        float(np.linalg.norm(data.qvel[6:])),
    ]
