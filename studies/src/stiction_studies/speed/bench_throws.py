"""A thrown box: time of a step in flight, in contact and over whole throws, for one body and for many at once."""

from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.state import State
from stiction.bodies.trajectory import Trajectory
from stiction.laws.learned import AugmentedLaw
from stiction.laws.modelfile import load
from stiction.simulation.motion import to_motion
from stiction.simulation.rollout import rollout
from stiction_studies.engines.worlds import World
from stiction_studies.speed import bench_case
from stiction_studies.speed.bench_case import SETTING, Measured, Phase, Progress, Scale, StepperWorld, Who
from stiction_studies.timing import Run, cores, timed, times_in_threads

THREADS = {1: "1 thread", 2: "2 threads"}


def run_one(size: Scale, seed: int, progress: Progress) -> Measured:
    """Time whole throws of one body, a call a step and in one call."""
    law = cast(AugmentedLaw, load("box"))
    states = State.random(law.body, size.throws, seed=seed)
    engines, notes = bench_case.peers(Who.MUJOCO, Who.DART, Who.BULLET)
    worlds: dict[str, World] = {Who.STEPPED: StepperWorld(law, states)}
    for name, engine in engines.items():
        worlds[name] = engine.box(law.body, to_motion(law.body, states), bench_case.friction_of(law), SETTING)
    runs: dict[str, Run] = {
        name: partial(bench_case.step_all, world, size.throws, size.steps) for name, world in worlds.items()
    }
    runs[Who.ROLLED] = lambda: np.array(
        [timed(lambda i=i: rollout(law, states[i], size.steps)) for i in range(size.throws)]
    )
    if Who.MUJOCO in worlds:
        runs[Who.MUJOCO_ROLLED] = partial(_roll_all, worlds[Who.MUJOCO], size)
    least = bench_case.time_in_turn("Thrown box", runs, size.repeats, progress)
    touching = {name: bench_case.in_contact(world, size.throws, size.steps) for name, world in worlds.items()}
    for world in worlds.values():
        world.close()
    figures = {}
    for name in (Who.STEPPED, Who.ROLLED, Who.MUJOCO, Who.MUJOCO_ROLLED, Who.DART, Who.BULLET):
        if name in touching:
            phases = {Phase.FLIGHT: ~touching[name], Phase.CONTACT: touching[name], Phase.WHOLE: slice(None)}
            figures[name] = bench_case.microseconds(least[name], phases)
        elif name in least:
            figures[name] = bench_case.microseconds(least[name] / size.steps, {Phase.WHOLE: slice(None)})
    notes.insert(
        0, f"{size.throws} random throws of {size.steps} steps of {SETTING.timestep:g} s, each time the least."
    )
    return Measured(
        "Thrown box, one body", "µs a step", [Phase.FLIGHT, Phase.CONTACT, Phase.WHOLE], figures,
        {Who.MUJOCO: Who.STEPPED, Who.MUJOCO_ROLLED: Who.ROLLED, Who.DART: Who.STEPPED, Who.BULLET: Who.STEPPED}, notes,
        {"contact_share": {name: float(found.mean()) for name, found in touching.items()}},
    )  # fmt: skip


def _roll_all(world, size: Scale) -> NDArray[np.float64]:
    """Return the times of whole throws by MuJoCo's rollout [s], (throws,)."""
    return np.array([timed(lambda i=i: world.roll(slice(i, i + 1), size.steps)) for i in range(size.throws)])


def run_many(size: Scale, seed: int, progress: Progress) -> Measured:
    """Time batches of whole throws with one thread and with two; all states are recorded, by both simulators."""
    law = load("box")
    states = State.random(law.body, size.batch, seed=seed)
    engines, notes = bench_case.peers(Who.MUJOCO)  # the others have no batches
    works: dict[str, Callable[[int], object]] = {Who.ROLLED: lambda k: rollout(law, states, size.steps, threads=k)}
    world = None
    if Who.MUJOCO in engines:
        start = to_motion(law.body, states)
        world = engines[Who.MUJOCO].box(law.body, start, bench_case.friction_of(law), SETTING)
        works[Who.MUJOCO_ROLLED] = lambda k: world.roll(slice(None), size.steps, k)  # pyright: ignore
    if cores() == 1:
        notes.append("There is one core only, so that two threads were left out.")
    least = times_in_threads(works, size.rounds, partial(progress, f"{size.batch:,} throws at once"))
    if world is not None:
        world.close()
    steps = size.batch * size.steps
    figures = {name: {THREADS[k]: 1e6 * seconds / steps for k, seconds in least[name].items()} for name in works}
    repeats = repeated_share(rollout(law, states, size.steps))
    notes = [
        f"{size.batch:,} throws of {size.steps} steps in one call.",
        f"Ours repeats the steps of a body at rest that keeps all bits: {100 * repeats:.3g} % of the body steps.",
        *notes,
    ]
    return Measured(
        "Many thrown boxes", "µs a body and step", list(THREADS.values()), figures,
        {Who.MUJOCO_ROLLED: Who.ROLLED}, notes, {"repeated_share": repeats},
    )  # fmt: skip


def repeated_share(run: Trajectory) -> float:
    """Return the share of body steps after one that has changed no bit: the core may repeat them unseen."""
    parts = run.position, run.quaternion, run.velocity, run.angular_velocity
    same = np.logical_and.reduce([(part[:, 1:] == part[:, :-1]).all(axis=-1) for part in parts])
    return float(same[:, :-1].sum() / same.size)
