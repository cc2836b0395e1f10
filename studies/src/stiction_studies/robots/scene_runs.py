"""Runs of a scene of contact: its time beside MuJoCo alone, what contact must never do, and what creeps."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics.checks import InputError
from stiction.mujoco.simulation import mujoco
from stiction_studies.page.motions_shown import Frames, Motion
from stiction_studies.robots.contact_check import ContactCheck, Violations
from stiction_studies.robots.contact_scenes import ContactScene
from stiction_studies.timing import quiet

SOLVED = 1e-8  # relative residual of a solved step
_UNKNOWN = float("nan")
_FRAME = 0.05  # [s] between two frames of a replay


@dataclass(frozen=True)
class Times:
    """Processor time of each step [s], and in which of them something presses; both (steps,)."""

    seconds: NDArray[np.float64]
    points: NDArray[np.int64]

    def mean(self) -> float:
        """Mean time of a step with contact [s]; NaN if there is none."""
        taken = self.seconds[self.points > 0]
        return float(taken.mean()) if len(taken) else _UNKNOWN

    def slowest(self) -> float:
        """Slowest step with contact over the mean of such steps."""
        taken = self.seconds[self.points > 0]
        return float(taken.max()) / self.mean() if len(taken) else _UNKNOWN


@dataclass(frozen=True)
class Timed:
    """Both engines side by side; counts are those of `Simulation`."""

    ours: Times
    alone: Times
    unsolved: int
    newton_steps: int
    failed: str = ""

    @property
    def ratio(self) -> float:
        """Mean contact step of `Simulation` over that of MuJoCo alone."""
        return self.ours.mean() / self.alone.mean()

    @property
    def contact_steps(self) -> int:
        """Steps of `Simulation` in which something presses."""
        return int((self.ours.points > 0).sum())


def timed(scene: ContactScene, steps: int | None = None, repeats: int = 1) -> Timed:
    """Step a scene with both engines in turn; of each step the least time of all repeats counts."""
    with without_warnings():
        runs = [_timed_once(scene, steps or scene.steps) for _ in range(repeats)]
    first = runs[0]
    for each in runs[1:]:
        for mine, its in ((first.ours, each.ours), (first.alone, each.alone)):
            np.minimum(mine.seconds, its.seconds, out=mine.seconds)
    return first


def _timed_once(scene: ContactScene, steps: int) -> Timed:
    sim, (model, data) = scene.simulation(), scene.alone()
    drives = scene.control(sim.model, sim.data), scene.control(model, data)
    times, points = np.zeros((2, steps)), np.zeros((2, steps), dtype=np.int64)
    now, failed = time.thread_time_ns, ""
    with quiet():
        for t in range(steps):
            for drive in drives:
                drive(t)
            start = now()
            mujoco.mj_step(model, data)
            middle = now()
            try:
                sim.step()
            except InputError as error:
                failed = str(error)
                break
            times[:, t] = now() - middle, middle - start
            points[:, t] = len(sim.core.points()[0]), data.ncon
    ours, alone = (Times(1e-9 * one, number) for one, number in zip(times, points))
    return Timed(ours, alone, sim.unsolved, int(getattr(sim.core, "newton_steps", 0)), failed)


@dataclass(frozen=True)
class Course:
    """What a run of a scene did.

    creep: greatest distance that anything held moved [m]; NaN if nothing is held
    data: at the end
    violations: of the laws of contact; only of `Simulation`
    failed: why the run ended early; empty if it did not
    """

    creep: float
    depth: float
    data: Any
    model: Any
    violations: Violations | None = None
    failed: str = ""
    motion: Motion | None = None


def followed(scene: ContactScene, steps: int | None = None) -> Course:
    """Run a scene by `Simulation` and check every step."""
    with without_warnings():
        sim = scene.simulation()
        check = ContactCheck(sim, scene.friction)

        def step() -> None:
            check.before()
            sim.step()
            check.after()

        return _run(scene, sim.model, sim.data, step, steps or scene.steps, check.found)


def alone(scene: ContactScene, steps: int | None = None) -> Course:
    """Run a scene by MuJoCo alone."""
    model, data = scene.alone()
    return _run(scene, model, data, lambda: mujoco.mj_step(model, data), steps or scene.steps)


def _run(
    scene: ContactScene,
    model: Any,
    data: Any,
    step: Callable[[], None],
    steps: int,
    violations: Violations | None = None,
) -> Course:
    drive, h = scene.control(model, data), model.opt.timestep
    settled, stride = round(scene.settled / h), max(1, round(_FRAME / h))
    reference: NDArray[np.float64] | None = None
    creep, depth, failed, frames = _UNKNOWN, 0.0, "", Frames()
    pairs = np.array(scene.held, dtype=int).reshape(-1, 2)
    for t in range(steps):
        drive(t)
        try:
            step()
        except InputError as error:
            failed = str(error)
            break
        depth = max(depth, -float(data.contact.dist.min(initial=0.0)))
        if len(pairs) and t >= settled:  # positions are those at the start of the step
            place = _places(data, pairs)
            reference = place if reference is None else reference
            creep = float(np.nanmax([creep, np.linalg.norm(place - reference, axis=1).max()]))
        if t % stride == 0:
            frames.take(data)
    return Course(creep, depth, data, model, violations, failed, frames.motion(stride * h) if frames else None)


def _places(data: Any, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the centre of mass of each first body in the frame of the second, (pairs, 3)."""
    first, second = pairs.T
    return np.einsum("kji,kj->ki", data.xmat[second].reshape(-1, 3, 3), data.xipos[first] - data.xpos[second])


@contextmanager
def without_warnings() -> Iterator[None]:
    """Silence warnings: tables have counts. Once for a whole run, as it takes as long as a small step."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# Figures.


def cost(timed: Timed) -> dict[str, Any]:
    """Return points, unsolved steps and times; None for what does not apply."""
    points, steps = timed.ours.points[timed.ours.points > 0], max(1, timed.contact_steps)
    times = {
        "mujoco_us": 1e6 * timed.alone.mean(),
        "stiction_us": 1e6 * timed.ours.mean(),
        "times_mujoco": timed.ratio,
        "slowest_over_mean": timed.ours.slowest(),
        "mujoco_slowest_over_mean": timed.alone.slowest(),
    }
    return {name: known(value) for name, value in times.items()} | {
        "contact_steps": timed.contact_steps,
        "points_mean": float(points.mean()) if len(points) else 0.0,
        "points_max": int(points.max(initial=0)),
        "unsolved_share": timed.unsolved / steps,
        "newton_steps": timed.newton_steps / steps,
    }


def safety(ours: Course) -> dict[str, Any]:
    """Return what a run of `Simulation` did that it must not; None for what does not apply."""
    found = ours.violations
    assert found is not None
    residuals = np.array(found.residuals or [0.0])
    return {
        "residual_max": float(residuals.max()),
        "residual_above_share": float((residuals > SOLVED).mean()),
        "creep_m": known(ours.creep),
        "energy_J": found.energy,
        "pull_Ns": found.pull,
        "excess_friction": found.excess,
        "depth_m": ours.depth,
        "failed": ours.failed,
    }


def known(value: float) -> float | None:
    """Return the value, None for NaN."""
    return None if np.isnan(value) else value
