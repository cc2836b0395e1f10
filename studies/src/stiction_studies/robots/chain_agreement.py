"""The paper's chain with a Coulomb material at MuJoCo's points, against Algorithm 2 with the exact law, and DART."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics.progress import bar
from stiction.laws.coulomb import CoulombLaw
from stiction.laws.material import Material
from stiction.mujoco.simulation import Simulation, mujoco
from stiction_studies.robots.attached import ATTACHED, EXACT, NO_GAP, POINTS, UNFORESEEN
from stiction_studies.robots.chain import MOVED, SPREAD, STEPS
from stiction_studies.robots.chain_model import CHAIN, FRICTION, LAST, LINK, TIMESTEP, random_start
from stiction_studies.robots.recorder import Record, one_step, run, safety
from stiction_studies.robots.swings import swing_in_dart, swing_in_mujoco

DART, MUJOCO = "DART, NSGS solver", "MuJoCo's own contact"
ELSEWHERE, HALF = f"{ATTACHED}, start moved by {MOVED:g} rad", f"{ATTACHED}, half the time step"
_MATERIAL = Material.coulomb(FRICTION)


def compare(swings: int, seed: int) -> dict[str, Any]:
    """Joint angles of swings from random starts against those of Algorithm 2 and of DART, and single steps."""
    rng = np.random.default_rng([seed, 5])
    starts = [np.zeros(3)] + [random_start(rng, SPREAD) for _ in range(swings - 1)]
    sims = {
        POINTS: _simulation(_MATERIAL),
        UNFORESEEN: _simulation(_MATERIAL, gap=NO_GAP),
        ATTACHED: _simulation(_law(TIMESTEP), tolerance=EXACT),
        HALF: _simulation(_law(TIMESTEP / 2), timestep=TIMESTEP / 2, tolerance=EXACT),
    }
    records: dict[str, list[Record]] = {name: [] for name in sims}
    angles: dict[str, list[NDArray]] = {name: [] for name in (*sims, ELSEWHERE, DART, MUJOCO)}
    with bar("Swinging", swings) as progress:
        for start in starts:
            for name, sim in sims.items():
                every = round(TIMESTEP / sim.model.opt.timestep)
                records[name].append(run(sim, start, every * STEPS))
                angles[name].append(records[name][-1].qpos[::every])
            angles[ELSEWHERE].append(run(sims[ATTACHED], start + MOVED, STEPS).qpos)
            angles[DART].append(swing_in_dart(start, STEPS).angle)
            angles[MUJOCO].append(swing_in_mujoco(start, STEPS).angle)
            progress.advance()
    return {
        "swings": swings,
        "duration_s": STEPS * TIMESTEP,
        "runs": {
            name: {other: _errors(all_, angles[other]) for other in (ATTACHED, DART) if other != name}
            for name, all_ in angles.items()
        },
        "one_step": one_step(sims[UNFORESEEN], records[ATTACHED]),
        "safety": safety(records[POINTS]),
    }


def _law(timestep: float) -> CoulombLaw:
    return CoulombLaw(LINK, FRICTION, cone="round", softness=0.0, timestep=timestep)


def _simulation(law: Any, *, timestep: float = TIMESTEP, **options: Any) -> Simulation:
    model = mujoco.MjModel.from_xml_string(CHAIN)
    model.opt.timestep = timestep
    return Simulation(model, laws={LAST: law}, **options)


def _errors(angles: list[NDArray], others: list[NDArray]) -> dict[str, float]:
    """Greatest error of any joint in each swing [rad], in the median and at most."""
    greatest = [np.abs(a - b).max() for a, b in zip(angles, others)]
    return {"median": float(np.median(greatest)), "greatest": float(np.max(greatest))}
