"""A free box thrown inside MuJoCo with a Coulomb material, against the material's own rollout and DART."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import dart
from stiction.basics.progress import bar
from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.bodies.throws import stacked
from stiction.laws.law import GRAVITY
from stiction.laws.material import Material
from stiction.mujoco.simulation import Simulation
from stiction.simulation.rollout import rollout
from stiction_studies.paper import metrics
from stiction_studies.paper.dart_agreement import random_throw
from stiction_studies.robots import free_body
from stiction_studies.robots.attached import ATTACHED, EXACT, NO_GAP, POINTS, UNFORESEEN
from stiction_studies.robots.recorder import Record, one_step, run, safety

BODY, FRICTION = Body.box((0.2, 0.3, 0.4), mass=1.0), 0.5
STEPS, TIMESTEP = 800, 0.002  # [s]
MATERIAL = Material.coulomb(FRICTION)
MOVES = (1e-4, 1e-3)  # of the start, for the chaos floor [m, rad, m/s, rad/s]
ROLLOUT, DART, HALF = "stiction.rollout", "DART, NSGS solver", "stiction.rollout, half the time step"


def compare(throws: int, seed: int) -> dict[str, Any]:
    """Final positions of random throws against those of the rollout and of DART, and single steps."""
    rng = np.random.default_rng([seed, 17])
    start = stacked([random_throw(rng) for _ in range(throws)])
    law = MATERIAL.on(BODY, timestep=TIMESTEP)
    foreseen, unforeseen = _throw(MATERIAL, start), _throw(MATERIAL, start, gap=NO_GAP)
    attached = _throw(law, start, tolerance=EXACT)
    ours = rollout(law, start, STEPS)
    truth = dart.throw(BODY, start, STEPS, friction=FRICTION, solver="nsgs", timestep=TIMESTEP)
    ends = {
        POINTS: _ends(foreseen),
        UNFORESEEN: _ends(unforeseen),
        ATTACHED: _ends(attached),
        ROLLOUT: ours.position[:, -1],
        DART: truth.position[:, -1],
        HALF: _rolled(start, TIMESTEP / 2),
        **{
            f"{ROLLOUT}, start moved by {size:g}": _rolled(metrics.perturbed(BODY, start, size, seed + k), TIMESTEP)
            for k, size in enumerate(MOVES)
        },
    }
    distance = float(metrics.distances(ours).mean())
    return {
        "throws": throws,
        "distance_m": distance,
        "runs": {
            name: {other: _shares(end, ends[other], distance) for other in (ROLLOUT, DART) if other != name}
            for name, end in ends.items()
        },
        "one_step": one_step(_simulation(MATERIAL, gap=NO_GAP), attached),
        "safety": safety(foreseen),
        "rollout_depth_m": float(metrics.penetrations(BODY, ours).max()),
    }


def _simulation(law: Any, **options: Any) -> Simulation:
    return free_body.simulation(BODY, law, TIMESTEP, GRAVITY, **options)


def _throw(law: Any, start: State, **options: Any) -> list[Record]:
    sim, records = _simulation(law, **options), []
    with bar("Throwing", len(start.position)) as progress:
        for qpos, qvel in zip(*free_body.joints(BODY, start)):
            records.append(run(sim, qpos, STEPS, qvel=qvel))
            progress.advance()
    return records


def _ends(records: list[Record]) -> NDArray[np.float64]:
    return np.array([record.qpos[-1, :3] for record in records])


def _rolled(start: State, timestep: float) -> NDArray[np.float64]:
    steps = round(STEPS * TIMESTEP / timestep)
    return rollout(MATERIAL.on(BODY, timestep=timestep), start, steps).position[:, -1]


def _shares(end: NDArray, other: NDArray, distance: float) -> dict[str, float]:
    error = np.linalg.norm(end - other, axis=1) / distance
    return {"median": float(np.median(error)), "mean": float(error.mean())}
