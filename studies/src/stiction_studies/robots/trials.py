"""A robot of another package driven for some seconds, by MuJoCo alone and with a material on all that meets its floor.

Each step is timed. What the operating system adds is taken out by driving twice: both runs are the same to the last
bit, and of every step the shorter time counts.
"""

import copy
import time as clock
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics.checks import InputError
from stiction.laws.material import Material
from stiction.mujoco.simulation import Simulation, mujoco
from stiction_studies.page.motions_shown import Frames, Motion
from stiction_studies.robots.strangers import FLOOR, Stranger

FRICTION = 0.8
FRAME = 0.02  # [s] between two frames of a replay
SHOWN = 4.0  # [s] of a replay
_KEY = f"geom:{FLOOR}"


@dataclass
class Trial:
    """One run.

    seconds: that each step took, shape (steps,)
    points: at the floor in each step, shape (steps,)
    depth: greatest distance of a point below the floor [m]
    unsolved: steps in which the point solver found no solution
    warnings: MuJoCo's, by name, how often
    failed: why the run ended early; empty if it did not
    end: qpos after the last step
    motion: of all bodies, in the first seconds
    """

    seconds: NDArray[np.float64]
    points: NDArray[np.int64]
    depth: float = 0.0
    unsolved: int = 0
    warnings: dict[str, int] = field(default_factory=dict)
    failed: str = ""
    end: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    motion: Motion | None = None

    @property
    def touching(self) -> NDArray[np.bool_]:
        """The steps in which something touches the floor, shape (steps,)."""
        return self.points > 0

    @property
    def finite(self) -> bool:
        """No number was lost, and MuJoCo did not begin anew because of one."""
        return not self.failed and not any(name.startswith("bad") for name in self.warnings)


@dataclass(frozen=True)
class _Engine:
    """What makes the steps: `points` counts those at the floor in the last step, `unsolved` such steps so far."""

    model: Any
    data: Any
    step: Callable[[], None]
    points: Callable[[], int]
    unsolved: Callable[[], int]


def by_mujoco(stranger: Stranger, model: Any, seed: int, duration: float) -> Trial:
    """`duration` seconds by MuJoCo alone, with Euler's method where the model asks for RK4, as stiction does."""
    model = _with_equal_friction(model)
    if model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    floor = model.geom(FLOOR).id

    def engine() -> _Engine:
        data = mujoco.MjData(model)

        def points() -> int:
            return int(((data.contact.geom == floor).any(axis=1) & (data.contact.efc_address >= 0)).sum())

        return _Engine(model, data, lambda: mujoco.mj_step(model, data), points, lambda: 0)

    return _twice(stranger, engine, seed, duration)


def by_stiction(stranger: Stranger, model: Any, seed: int, duration: float) -> Trial:
    """`duration` seconds with a Coulomb material between the floor and everything that meets it.

    A model that is refused is a run without steps, which tells why.
    """

    def engine() -> _Engine:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that RK4 becomes Euler is said in the table's note
            sim = Simulation(_with_equal_friction(model), laws={_KEY: Material.coulomb(FRICTION)})
        return _Engine(sim.model, sim.data, sim.step, lambda: len(sim.contacts[_KEY].points), lambda: sim.unsolved)

    return _twice(stranger, engine, seed, duration)


def _with_equal_friction(model: Any) -> Any:
    """A copy of the model in which MuJoCo's own contacts slide with the friction that the material has."""
    model = copy.copy(model)
    model.geom_friction[:, 0] = FRICTION
    model.pair_friction[:, :2] = FRICTION
    return model


def _twice(stranger: Stranger, engine: Callable[[], _Engine], seed: int, duration: float) -> Trial:
    """The same run two times, with the shorter time of each step."""
    try:
        first, second = (_drive(stranger, engine(), seed, duration) for _ in range(2))
    except InputError as error:
        return Trial(np.zeros(0), np.zeros(0, dtype=np.int64), failed=str(error))
    if not np.array_equal(first.end, second.end, equal_nan=True):
        second.failed = second.failed or "The same run, repeated, ended elsewhere."
    second.seconds = np.minimum(first.seconds, second.seconds)
    return second


def _drive(stranger: Stranger, engine: _Engine, seed: int, duration: float) -> Trial:
    model, data = engine.model, engine.data
    data.qpos[:] = stranger.start(model)
    mujoco.mj_forward(model, data)
    steps, h = round(duration / model.opt.timestep), model.opt.timestep
    drive = stranger.drive(model, data, seed)
    floor, stride = model.geom(FLOOR).id, max(1, round(FRAME / h))
    trial = Trial(np.zeros(steps), np.zeros(steps, dtype=np.int64))
    frames = Frames()
    for t in range(steps):
        drive(t)
        began = clock.perf_counter()
        try:
            engine.step()
        except InputError as error:
            trial.failed = str(error)
            break
        trial.seconds[t] = clock.perf_counter() - began
        trial.points[t] = engine.points()
        at_floor = (data.contact.geom == floor).any(axis=1)
        trial.depth = max(trial.depth, -data.contact.dist[at_floor].min(initial=0.0))
        if t % stride == 0 and t * h < SHOWN:
            frames.take(data)
    trial.unsolved = engine.unsolved()
    trial.warnings = {_name(k): int(w.number) for k, w in enumerate(data.warning) if w.number}
    trial.end = data.qpos.copy()
    if frames:
        trial.motion = frames.motion(stride * h, model.geom_pos[floor])
    return trial


def _name(warning: int) -> str:
    return mujoco.mjtWarning(warning).name.removeprefix("mjWARN_").lower()
