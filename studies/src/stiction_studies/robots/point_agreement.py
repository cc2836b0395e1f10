"""Materials at MuJoCo's contact points against other computations of the same contact: rollouts, Algorithm 2 and DART.

Three cases: a free box, the paper's chain and a quadruped.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import dart
from stiction.basics.progress import bar
from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.bodies.throws import stacked
from stiction.laws.coulomb import CoulombLaw
from stiction.laws.law import GRAVITY
from stiction.laws.material import Material
from stiction.mujoco.mjcf import body_of
from stiction.mujoco.simulation import Simulation, mujoco
from stiction.simulation.motion import Setting
from stiction.simulation.rollout import rollout
from stiction.viewer.quadruped import FEET, model_text
from stiction_studies.page.section import Table
from stiction_studies.paper import metrics
from stiction_studies.paper.dart_agreement import random_throw
from stiction_studies.robots import chain_model, step_recorder
from stiction_studies.robots.chain_model import CHAIN, LAST, LINK, MOVED, draw_starts, swing_in_dart, swing_in_mujoco
from stiction_studies.robots.robot import Walk, creep, drive
from stiction_studies.robots.step_recorder import NAME, NO_GAP, Record, one_step, safety
from stiction_studies.study import number, percent

POINTS, UNPREDICTED = "material, MuJoCo's points", "the same, contacts not predicted"
ATTACHED = "law of the body, Algorithm 2"
ROLLOUT, DART, MUJOCO = "stiction.rollout", "DART, NSGS solver", "MuJoCo's own contact"
HALF, MOVED_START = "half the time step", f"{ATTACHED}, start moved by {MOVED:g} rad"
EXACT = 1e-6  # tolerance of Algorithm 2 for a law whose answers are exact
LIFT = 1e-4  # [m] by which a start is raised, to measure how fast the same walk diverges from itself
RAISED = f"{ATTACHED}, start raised by {1e3 * LIFT:g} mm"
BODY, BOX_FRICTION, FEET_FRICTION = Body.box((0.2, 0.3, 0.4), mass=1.0), 0.5, 0.8
STEPS, TIMESTEP = 800, 0.002  # of a throw [s]


def compare(scale: str, seed: int) -> dict[str, Any]:
    """Return all figures."""
    throws, swings = {"quick": (5, 2), "usual": (50, 20), "full": (200, 100)}[scale]
    stand, walk = {"quick": (0.4, 0.2), "usual": (5.0, 4.0), "full": (10.0, 10.0)}[scale]  # [s]
    return {
        "box": compare_box(throws, seed),
        "chain": compare_chain(swings, seed),
        "quadruped": compare_quadruped(stand, walk),
    }


def tables(found: dict[str, Any]) -> list[Table]:
    """Return the figures as tables."""
    return [
        _box_table(found["box"]),
        _chain_table(found["chain"]),
        _quadruped_table(found["quadruped"]),
        _steps_table(found),
    ]


# A free box thrown inside MuJoCo, against the material's own rollout and DART.


def compare_box(throws: int, seed: int) -> dict[str, Any]:
    """Return final positions of random throws against those of the rollout and of DART, and single steps."""
    rng, material = np.random.default_rng([seed, 17]), Material.coulomb(BOX_FRICTION)
    start = stacked([random_throw(rng) for _ in range(throws)])
    law = material.on(BODY, timestep=TIMESTEP)
    sims = [Simulation(_box(), laws={NAME: material}, gap=gap) for gap in (None, NO_GAP)]
    predicted, unpredicted = (_throw(sim, start) for sim in sims)
    attached = _throw(Simulation(_box(), laws={NAME: law}, tolerance=EXACT), start)
    ours = rollout(law, start, STEPS, substeps=0)  # whole steps, as in MuJoCo
    truth = dart.throw(BODY, start, STEPS, friction=BOX_FRICTION, solver="nsgs", timestep=TIMESTEP)
    moved = {size: metrics.perturbed(BODY, start, size, seed + k) for k, size in enumerate((1e-4, 1e-3))}
    half = rollout(material.on(BODY, timestep=TIMESTEP / 2), start, 2 * STEPS, substeps=0)
    ends = {
        POINTS: _ends(predicted),
        UNPREDICTED: _ends(unpredicted),
        ATTACHED: _ends(attached),
        ROLLOUT: ours.position[:, -1],
        DART: truth.position[:, -1],
        f"{ROLLOUT}, {HALF}": half.position[:, -1],
        **{
            f"{ROLLOUT}, start moved by {size:g}": rollout(law, other, STEPS, substeps=0).position[:, -1]
            for size, other in moved.items()
        },
    }
    distance = float(metrics.distances(ours).mean())

    def shares(name: str, other: str) -> dict[str, float]:
        error = np.linalg.norm(ends[name] - ends[other], axis=1) / distance
        return {"median": float(np.median(error)), "mean": float(error.mean())}

    return {
        "throws": throws,
        "distance_m": distance,
        "runs": {name: {other: shares(name, other) for other in (ROLLOUT, DART) if other != name} for name in ends},
        "one_step": one_step(Simulation(_box(), laws={NAME: material}, gap=NO_GAP), attached),
        "safety": safety(predicted),
        "rollout_depth_m": float(metrics.penetrations(BODY, ours).max()),
    }


def _box() -> Any:
    return step_recorder.box_model(BODY, Setting(TIMESTEP, np.array(GRAVITY)))


def _throw(sim: Simulation, start: State) -> list[Record]:
    records = []
    with bar("Throwing", len(start.position)) as progress:
        for qpos, qvel in zip(*step_recorder.joints(BODY, start)):
            records.append(step_recorder.run(sim, qpos, STEPS, qvel=qvel))
            progress.advance()
    return records


def _ends(records: list[Record]) -> NDArray[np.float64]:
    return np.array([record.qpos[-1, :3] for record in records])


# The paper's chain, against Algorithm 2 with the exact law, and DART.


def compare_chain(swings: int, seed: int) -> dict[str, Any]:
    """Return joint angles of swings from random starts against those of Algorithm 2 and of DART, and single steps."""
    h, steps, material = chain_model.TIMESTEP, chain_model.STEPS, {LAST: Material.coulomb(chain_model.FRICTION)}
    halved = f"{ATTACHED}, {HALF}"
    sims = {
        POINTS: Simulation(_chain(h), laws=material),
        UNPREDICTED: Simulation(_chain(h), laws=material, gap=NO_GAP),
        ATTACHED: Simulation(_chain(h), laws={LAST: _coulomb(LINK, chain_model.FRICTION, h)}, tolerance=EXACT),
        halved: Simulation(_chain(h / 2), laws={LAST: _coulomb(LINK, chain_model.FRICTION, h / 2)}, tolerance=EXACT),
    }
    records: dict[str, list[Record]] = {name: [] for name in sims}
    angles: dict[str, list[NDArray]] = {name: [] for name in (*sims, MOVED_START, DART, MUJOCO)}
    with bar("Swinging", swings) as progress:
        for start in draw_starts(swings, seed):
            for name, sim in sims.items():
                every = round(h / sim.model.opt.timestep)
                records[name].append(step_recorder.run(sim, start, every * steps))
                angles[name].append(records[name][-1].qpos[::every])
            angles[MOVED_START].append(step_recorder.run(sims[ATTACHED], start + MOVED, steps).qpos)
            angles[DART].append(swing_in_dart(start, steps).angle)
            angles[MUJOCO].append(swing_in_mujoco(start, steps).angle)
            progress.advance()

    def errors(name: str, other: str) -> dict[str, float]:
        greatest = [np.abs(a - b).max() for a, b in zip(angles[name], angles[other])]  # [rad]
        return {"median": float(np.median(greatest)), "greatest": float(np.max(greatest))}

    return {
        "swings": swings,
        "duration_s": steps * h,
        "runs": {name: {other: errors(name, other) for other in (ATTACHED, DART) if other != name} for name in angles},
        "one_step": one_step(sims[UNPREDICTED], records[ATTACHED]),
        "safety": safety(records[POINTS]),
    }


def _coulomb(body: Body, friction: float, timestep: float) -> CoulombLaw:
    return CoulombLaw(body, friction, cone="round", softness=0.0, timestep=timestep)


def _chain(timestep: float) -> Any:
    model = mujoco.MjModel.from_xml_string(CHAIN)
    model.opt.timestep = timestep
    return model


# The quadruped with a material on its ground, against Algorithm 2 with the exact law on its feet.


def compare_quadruped(stand: float, walk: float) -> dict[str, Any]:
    """Return where the trunk is after standing and walking, how far feet creep, and single steps; nothing is random."""
    model = mujoco.MjModel.from_xml_string(model_text())
    material = {"geom:ground": Material.coulomb(FEET_FRICTION)}
    feet = dict.fromkeys(FEET, _coulomb(body_of(model, FEET[0]), FEET_FRICTION, float(model.opt.timestep)))

    def simulation(laws: dict[str, Any], gap: float | None = None) -> Simulation:
        return Simulation(mujoco.MjModel.from_xml_string(model_text()), laws=laws, gap=gap)

    sims = {
        POINTS: simulation(material),
        UNPREDICTED: simulation(material, NO_GAP),
        ATTACHED: simulation(feet),
        RAISED: simulation(feet),
    }
    records, walks, plan = {}, {}, Walk(stand, walk)
    for name, sim in sims.items():
        recorder = step_recorder.Recorder(sim)
        walks[name] = drive(sim.model, sim.data, recorder.step, plan, lift=LIFT if name == RAISED else 0.0)
        records[name] = recorder.record()
    data = mujoco.MjData(model)
    walks[MUJOCO] = drive(model, data, lambda: mujoco.mj_step(model, data), plan)
    runs = {}
    for name, (trunk, feet_at, _seconds) in walks.items():
        apart = np.linalg.norm((trunk - walks[ATTACHED][0])[:, :3], axis=1)
        h = plan.duration / len(apart)
        before, after = creep(feet_at, plan)
        runs[name] = {
            "apart_after_standing_m": float(apart[round(stand / h) - 1]),
            "apart_after_walking_m": float(apart[round((stand + walk) / h) - 1]),
            "distance_m": float(np.linalg.norm(trunk[-1, :2] - trunk[0, :2])),
            "creep_before_m": before,
            "creep_after_m": after,
        }
        if name in records:
            unsolved, touching = records[name].unsolved.sum(), int(records[name].touching.sum())
            runs[name]["unsolved_share"] = unsolved / max(1, touching)
    return {
        "stand_s": stand,
        "walk_s": walk,
        "runs": runs,
        "one_step": one_step(simulation(material, NO_GAP), [records[ATTACHED]]),
        "safety": safety([records[POINTS]]),
    }


# Tables.


def _against(runs: dict[str, Any], others: tuple[str, str], what: tuple[str, str], write: Any) -> list[list[str]]:
    """Return a row for each run: two figures against each of two others."""
    return [
        [name, *(write(errors[other][one]) if other in errors else "-" for other in others for one in what)]
        for name, errors in runs.items()
    ]


def _box_table(found: dict[str, Any]) -> Table:
    rows = _against(found["runs"], (ROLLOUT, DART), ("median", "mean"), percent)
    columns = ["", "To rollout, median", "Mean", "To DART, median", "Mean"]
    note = (
        f"{found['throws']} random throws of a box, friction {BOX_FRICTION:g}, {STEPS} steps of {1e3 * TIMESTEP:g} ms: "
        "distance between the final positions, as a share of the mean distance thrown, "
        f"{found['distance_m']:.2f} m. Single steps agree (see below). Whole motions diverge because contacts at "
        "MuJoCo's points are predicted: a point may close its gap within a step, where a rollout and DART let it "
        "penetrate first, so that impacts come up to a step earlier and are spread over two; and penetration is "
        "recovered up to 100 times faster. The last rows show how far throws diverge with half the time step, or from "
        "a start that is moved a little."
    )
    return Table("Agreement: a free box", columns, rows, note)


def _chain_table(found: dict[str, Any]) -> Table:
    rows = _against(found["runs"], (ATTACHED, DART), ("median", "greatest"), number)
    columns = ["", "To Algorithm 2, median [rad]", "Greatest [rad]", "To DART, median [rad]", "Greatest [rad]"]
    note = (
        f"{found['swings']} swings of {found['duration_s']:g} s of the paper's chain, the first from level: greatest "
        "difference of any joint's angle at any time, median and greatest over the swings."
    )
    return Table("Agreement: the chain", columns, rows, note)


def _quadruped_table(found: dict[str, Any]) -> Table:
    lengths = ("apart_after_standing_m", "apart_after_walking_m", "distance_m", "creep_before_m", "creep_after_m")
    rows = []
    for name, one in found["runs"].items():
        share = percent(one["unsolved_share"]) if "unsolved_share" in one else "-"
        rows.append([name, *(number(one[length]) for length in lengths), share])
    columns = ["", "Apart after standing [m]", "After walking [m]", "Way [m]"]
    columns += ["Creep before [m]", "Creep after [m]", "Unsolved"]
    stand, walk = found["stand_s"], found["walk_s"]
    note = (
        f"{stand:g} s standing, {walk:g} s trotting, {stand:g} s standing. Apart: distance of the trunk to that of "
        "Algorithm 2. Creep: greatest distance that a foot moves along the ground while the robot stands, after "
        f"{Walk(stand, walk).settling:g} s. Unsolved: share of the contact steps."
    )
    return Table("Agreement: the quadruped", columns, rows, note)


def _steps_table(found: dict[str, Any]) -> Table:
    rows = []
    for key, name in {"box": "free box", "chain": "chain", "quadruped": "quadruped"}.items():
        one, safe = found[key]["one_step"], found[key]["safety"]
        errors = [number(one[f"percent_{q}"]) if "percent_50" in one else "-" for q in (50, 90, 99)]
        counts = [f"{safe['unsolved']:,} of {safe['contact_steps']:,}"]
        limits = [number(safe["energy_gain_J"]), number(1e3 * safe["depth_m"])]
        rows.append([name, f"{one['steps'] - one['unsolved']:,} of {one['steps']:,}", *errors, *counts, *limits])
    columns = ["", "Single steps", "Error, median", "90 %", "99 %", "Unsolved", "Energy gain [J]", "Deepest [mm]"]
    note = (
        "Single steps: from each state in contact of Algorithm 2's motions one step with the material instead, "
        "without predicted contacts and without warm start, where both find a solution; error: greatest difference of "
        "any joint's velocity after it [m/s, rad/s]. Algorithm 2's tolerance is 0.5 % for the quadruped, else 1e-6. "
        "The other columns are of the material's own motions with default settings: steps without a solution, the "
        "greatest energy that contact added in any step, and the deepest point. In the rollouts of the box the "
        f"greatest penetration is {number(1e3 * found['box']['rollout_depth_m'])} mm."
    )
    return Table("Agreement: single steps, energy and penetration", columns, rows, note)
