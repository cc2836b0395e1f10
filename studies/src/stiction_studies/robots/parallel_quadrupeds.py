"""Many quadrupeds at once, in one thread and in two: `stiction.mujoco.rollout` beside MuJoCo's own."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics.progress import bars
from stiction.mujoco.rollouts import rollout
from stiction.mujoco.simulation import mujoco
from stiction.viewer.quadruped import STANCE, Gait, model_text, strength_at, targets
from stiction_studies.engines.mujoco_engine import MujocoWorld
from stiction_studies.page.section import Table
from stiction_studies.study import number
from stiction_studies.timing import cores, times_in_threads

SCALES = {"quick": (16, 100, 2), "usual": (64, 500, 5), "full": (256, 500, 10)}  # robots, steps, repeats
THREADS = (1, 2)
STICTION, MUJOCO = "stiction.mujoco.rollout", "mujoco.rollout"
TARGET = 1.8  # speed of two threads over that of one


def measure(scale: str, seed: int) -> dict[str, Any]:
    """Return times of a robot's step, and whether two threads give the same bits as one."""
    robots, steps, repeats = SCALES[scale]
    start, control = draw(robots, steps, seed)
    model, world = _model(), MujocoWorld(model_text(), start)
    datas = [mujoco.MjData(model) for _ in THREADS]
    works: dict[str, Callable[[int], Any]] = {
        STICTION: lambda k: rollout(model, datas[:k], start, control, laws={"geom:ground": 0.8})[0],
        MUJOCO: lambda k: world.roll(slice(None), steps, k, control=control),
    }
    with bars() as progress:
        least = times_in_threads(works, repeats, lambda turns: progress("Many quadrupeds", turns).advance)
    world.close()
    one, two = (works[STICTION](k) for k in THREADS)
    return {
        "robots": robots,
        "steps": steps,
        "cores": cores(),
        "microseconds": {
            name: {str(k): 1e6 * seconds / (robots * steps) for k, seconds in times.items()}
            for name, times in least.items()
        },
        "same_bits": bool(np.array_equal(one, two)),
    }


def draw(robots: int, steps: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return perturbed starts (robots, nstate) and servo targets (robots, steps, 12): a trot after 0.2 s, perturbed."""
    model, rng = _model(), np.random.default_rng([seed, 17])
    data, gait, h = mujoco.MjData(model), Gait(), model.opt.timestep
    data.qpos[2], data.qpos[7:] = STANCE + 0.05, targets(0.0, gait, 0.0)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.empty((robots, mujoco.mj_stateSize(model, kind)))
    for row in start:
        data.qvel[:] = rng.uniform(-0.1, 0.1, model.nv)  # [m/s, rad/s]
        mujoco.mj_getState(model, data, row, kind)
    trot = np.array([targets(h * t, gait, strength_at(h * t, 0.2, np.inf)) for t in range(steps)])
    return start, trot + rng.uniform(-0.1, 0.1, (robots, 1, model.nu))  # [rad]


def ratios(found: dict[str, Any]) -> dict[str, float]:
    """Return the speed-up of two threads, of each that was run with both."""
    return {name: times["1"] / times["2"] for name, times in found["microseconds"].items() if "2" in times}


def table(found: dict[str, Any]) -> Table:
    """Return the figures as a table."""
    times, gained = found["microseconds"], ratios(found)
    rows = []
    for name, own in times.items():
        cells = [f"{own[str(k)]:.1f}" if str(k) in own else "-" for k in THREADS]
        over = [f"{own[str(k)] / times[MUJOCO][str(k)]:.2f}" if str(k) in own else "-" for k in THREADS]
        rows.append([name, *cells, number(gained[name]) if name in gained else "-", *over])
    columns = ["", "1 thread [µs]", "2 threads [µs]", "Two over one", "1 thread / MuJoCo's", "2 threads / MuJoCo's"]
    same = "the same bits" if found["same_bits"] else "other bits, which is a bug"
    note = (
        f"{found['robots']} quadrupeds, each with its own perturbation, {found['steps']} steps in one call, "
        f"on {found['cores']} cores: time of a robot's step, the least of several repeats. Two threads give {same}."
    )
    return Table("Many quadrupeds at once", columns, rows, note)


def _model() -> Any:
    return mujoco.MjModel.from_xml_string(model_text())
