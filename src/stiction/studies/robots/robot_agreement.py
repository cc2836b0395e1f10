"""The quadruped with a Coulomb material on its ground, against Algorithm 2 with the exact law on its feet."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.laws.coulomb import CoulombLaw
from stiction.laws.material import Material
from stiction.mujoco.mjcf import body_of
from stiction.mujoco.simulation import Simulation, mujoco
from stiction.studies.robots.attached import ATTACHED, NO_GAP, POINTS, UNFORESEEN
from stiction.studies.robots.recorder import Record, Recorder, one_step, safety
from stiction.studies.robots.robot import creep, drive
from stiction.studies.robots.walking import FEET, model_text

FRICTION, GROUND = 0.8, "geom:ground"
LIFT = 1e-4  # [m] by which a start is raised, to show how far the same walk parts from itself
ELSEWHERE, MUJOCO = f"{ATTACHED}, start raised by {1e3 * LIFT:g} mm", "MuJoCo's own contact"


def compare(stand: float, walk: float) -> dict[str, Any]:
    """Where the trunk is after standing and after walking, how far feet creep, and single steps; nothing is drawn."""
    material = {GROUND: Material.coulomb(FRICTION)}
    law = CoulombLaw(body_of(_model(), FEET[0]), FRICTION, cone="round", softness=0.0, timestep=_timestep())
    feet = dict.fromkeys(FEET, law)
    sims = {
        POINTS: Simulation(_model(), laws=material),
        UNFORESEEN: Simulation(_model(), laws=material, gap=NO_GAP),
        ATTACHED: Simulation(_model(), laws=feet),
        ELSEWHERE: Simulation(_model(), laws=feet),
    }
    records, walks = {}, {}
    for name, sim in sims.items():
        walks[name], records[name] = _walk_with_laws(sim, stand, walk, LIFT if name == ELSEWHERE else 0.0)
    walks[MUJOCO] = _walk_alone(stand, walk)
    return {
        "stand_s": stand,
        "walk_s": walk,
        "runs": {
            name: _figures(motion, walks[ATTACHED], stand, walk) | _unsolved(records.get(name))
            for name, motion in walks.items()
        },
        "one_step": one_step(Simulation(_model(), laws=material, gap=NO_GAP), [records[ATTACHED]]),
        "safety": safety([records[POINTS]]),
    }


Walk = tuple[NDArray[np.float64], NDArray[np.float64]]  # trunk (steps, 3), feet (steps, 4, 3) [m]


def _model() -> Any:
    return mujoco.MjModel.from_xml_string(model_text())


def _timestep() -> float:
    return float(_model().opt.timestep)


def _walk_with_laws(sim: Simulation, stand: float, walk: float, lift: float) -> tuple[Walk, Record]:
    recorder = Recorder(sim)
    return _walk(sim.model, sim.data, recorder.step, stand, walk, lift), recorder.record()


def _walk_alone(stand: float, walk: float) -> Walk:
    model = _model()
    data = mujoco.MjData(model)
    return _walk(model, data, lambda: mujoco.mj_step(model, data), stand, walk, 0.0)


def _walk(model: Any, data: Any, step: Callable[[], None], stand: float, walk: float, lift: float) -> Walk:
    steps = round((2 * stand + walk) / model.opt.timestep)
    (trunk, feet), _ = drive(model, data, step, lambda t: None, stand, walk, steps, lift=lift)
    return trunk[:, :3], feet


def _figures(motion: Walk, other: Walk, stand: float, walk: float) -> dict[str, Any]:
    apart = np.linalg.norm(motion[0] - other[0], axis=1)
    h = (2 * stand + walk) / len(apart)
    before, after = creep(motion[1], stand, walk)
    return {
        "apart_after_standing_m": float(apart[round(stand / h) - 1]),
        "apart_after_walking_m": float(apart[round((stand + walk) / h) - 1]),
        "distance_m": float(np.linalg.norm(motion[0][-1, :2] - motion[0][0, :2])),
        "creep_before_m": before,
        "creep_after_m": after,
    }


def _unsolved(record: Record | None) -> dict[str, Any]:
    """Of MuJoCo's own contact there is none to tell."""
    return {} if record is None else {"unsolved_share": record.unsolved.sum() / max(1, int(record.touching.sum()))}
