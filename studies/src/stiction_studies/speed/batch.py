"""Throughput: many throws in one call, with one thread and with two."""

from collections.abc import Callable

import numpy as np

from stiction.bodies.trajectory import Trajectory
from stiction.laws.modelfile import load
from stiction.simulation.rollout import rollout
from stiction_studies.speed import common
from stiction_studies.speed.common import MUJOCO, MUJOCO_ROLLED, ROLLED, Begin, Scale
from stiction_studies.speed.measured import Measured
from stiction_studies.timing import cores, in_threads, least_times

THREADS = {1: "1 thread", 2: "2 threads"}


def run(size: Scale, seed: int, begin: Begin) -> Measured:
    """Time batches of whole throws; all states are recorded, by ours and by MuJoCo's rollout."""
    law = load("box")
    states = common.throws(law.body, size.batch, seed)
    peers, notes = common.installed()
    notes = [note for note in notes if note.startswith("MuJoCo")]  # the others have no batches
    works: dict[str, Callable[[int], object]] = {ROLLED: lambda k: rollout(law, states, size.steps, threads=k)}
    stage = None
    if MUJOCO in peers:
        motion = common.motion(law.body, states)
        stage = peers[MUJOCO].box(law.body, motion, common.friction_of(law), common.setting())
        works[MUJOCO_ROLLED] = lambda k: stage.roll(slice(None), size.steps, k)
    threads = [k for k in THREADS if k <= cores()]
    if len(threads) == 1:
        notes.append("There is one core only, so that two threads were left out.")
    runs = {f"{name}, {THREADS[k]}": in_threads(work, k) for name, work in works.items() for k in threads}
    advance = begin(f"{size.batch:,} throws at once", len(runs) * (size.rounds + 1))
    least = least_times(runs, size.rounds, advance)
    if stage is not None:
        stage.close()
    steps = size.batch * size.steps
    figures = {
        name: {THREADS[k]: 1e6 * float(least[f"{name}, {THREADS[k]}"][0]) / steps for k in threads} for name in works
    }
    repeats = repeated_share(rollout(law, states, size.steps))
    notes = [
        f"{size.batch:,} throws of {size.steps} steps in one call.",
        f"Ours repeats the steps of a body at rest that keeps all bits: {100 * repeats:.3g} % of the body steps.",
        *notes,
    ]
    return Measured(
        "batch", "Many thrown boxes", "µs a body and step", list(THREADS.values()), figures,
        {MUJOCO_ROLLED: ROLLED}, notes, {"repeated_share": repeats},
    )  # fmt: skip


def repeated_share(run: Trajectory) -> float:
    """Share of the body steps after one that has changed nothing at all: the core may repeat them without a look."""
    parts = run.position, run.quaternion, run.velocity, run.angular_velocity
    same = np.logical_and.reduce([(part[:, 1:] == part[:, :-1]).all(axis=-1) for part in parts])
    return float(same[:, :-1].sum() / same.size)
