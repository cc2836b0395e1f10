"""Throughput: many throws in one call, with one thread and with two."""

import os
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np

from stiction.laws.modelfile import load
from stiction.simulation.rollout import rollout
from stiction.studies.speed import common
from stiction.studies.speed.common import MUJOCO, MUJOCO_ROLLED, ROLLED, Begin, Scale
from stiction.studies.speed.measured import Measured
from stiction.studies.speed.timing import Run, least_times, pinned, timed

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
    threads = [k for k in THREADS if k <= _cores()]
    if len(threads) == 1:
        notes.append("There is one core only, so that two threads were left out.")
    runs = {f"{name}, {THREADS[k]}": _turn(work, k) for name, work in works.items() for k in threads}
    advance = begin(f"{size.batch:,} throws at once", len(runs) * (size.rounds + 1))
    least = least_times(runs, size.rounds, advance)
    if stage is not None:
        stage.close()
    steps = size.batch * size.steps
    figures = {
        name: {THREADS[k]: 1e6 * float(least[f"{name}, {THREADS[k]}"][0]) / steps for k in threads} for name in works
    }
    notes = [f"{size.batch:,} throws of {size.steps} steps in one call.", *notes]
    return Measured(
        "batch", "Many thrown boxes", "µs a body and step", list(THREADS.values()), figures,
        {MUJOCO_ROLLED: ROLLED}, notes,
    )  # fmt: skip


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _turn(work: Callable[[int], object], threads: int) -> Run:
    """One batch; a single thread stays on one core."""

    def turn():
        with pinned() if threads == 1 else nullcontext():
            return np.array([timed(lambda: work(threads))])

    return turn
