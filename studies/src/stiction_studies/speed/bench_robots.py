"""Articulated bodies: a step inside MuJoCo with our law, with MuJoCo's own contact, and, of the chain, in DART."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.laws.modelfile import load
from stiction.viewer.quadruped import FEET, STANCE, Gait, model_text, strength_at, targets
from stiction_studies.engines.worlds import World
from stiction_studies.robots.chain_model import CHAIN, FRICTION, LAST, LINK, PIN, TIMESTEP, draw_starts
from stiction_studies.speed import bench_case
from stiction_studies.speed.bench_case import LawWorld, Measured, Phase, Progress, Scale, Who
from stiction_studies.timing import timed_steps


def run_chain(size: Scale, seed: int, progress: Progress) -> Measured:
    """Time swings of the paper's three-link chain."""
    starts = draw_starts(size.swings, seed)
    engines, notes = bench_case.peers(Who.MUJOCO, Who.DART)
    worlds: dict[str, World] = {}
    if Who.MUJOCO in engines:
        from stiction_studies.engines.mujoco_engine import posed

        worlds[Who.LAW] = LawWorld(CHAIN, (LAST,), load("link"), starts)
        worlds[Who.MUJOCO] = posed(CHAIN, starts)
    if Who.DART in engines:
        from stiction_studies.engines.dart_engine import chain

        worlds[Who.DART] = chain(LINK, starts, PIN, FRICTION, TIMESTEP)
    count = len(starts), size.swing_steps
    times = {name: partial(bench_case.step_all, world, *count) for name, world in worlds.items()}
    touching = {name: partial(bench_case.in_contact, world, *count) for name, world in worlds.items()}
    note = f"Swings to the ground, dragging the last link; {len(starts)} of {size.swing_steps} steps, a call a step."
    least = bench_case.time_in_turn("Three-link chain", times, size.repeats, progress)
    return _measured("Three-link chain", [Phase.CONTACT, Phase.FREE], least, touching, [note, *notes])


def run_quadruped(size: Scale, seed: int, progress: Progress) -> Measured:
    """Time a second of standing and trotting; nothing is random."""
    engines, notes = bench_case.peers(Who.MUJOCO)
    worlds: dict[str, World] = {}
    stand = 0.2  # [s] before it walks
    if engines:
        from stiction_studies.engines.mujoco_engine import posed

        sole = 0.05  # [m] height of an ankle above the ground
        start = np.concatenate([[0.0, 0.0, STANCE + sole, 1.0, 0.0, 0.0, 0.0], targets(0.0, Gait(), 0.0)])[np.newaxis]
        worlds = {Who.LAW: LawWorld(model_text(), FEET, load("foot"), start), Who.MUJOCO: posed(model_text(), start)}
    walks = {name: partial(_walk, world, size.swing_steps, stand) for name, world in worlds.items()}
    times = {name: lambda walk=walk: walk()[0] for name, walk in walks.items()}
    touching = {name: lambda walk=walk: walk()[1] > 0 for name, walk in walks.items()}
    note = f"A quadruped stands for {stand:g} s, then trots; {size.swing_steps} steps, a call a step."
    least = bench_case.time_in_turn("Quadruped", times, size.repeats, progress)
    return _measured("Quadruped", [Phase.CONTACT], least, touching, [note, *notes])


def _measured(
    title: str,
    phases: list[str],
    least: dict[str, NDArray[np.float64]],
    touching: dict[str, Callable[[], NDArray[np.bool_]]],
    notes: list[str],
) -> Measured:
    """Return the mean time of a step in contact and clear of the ground; `touching` returns which step is which."""
    contact = {name: found() for name, found in touching.items()}
    figures = {
        name: bench_case.microseconds(
            least[name], {phase: found if phase == Phase.CONTACT else ~found for phase in phases}
        )
        for name, found in contact.items()
    }
    shares = {"contact_share": {name: float(found.mean()) for name, found in contact.items()}}
    return Measured(title, "µs a step", phases, figures, {Who.MUJOCO: Who.LAW, Who.DART: Who.LAW}, notes, shares)


def _walk(world: Any, steps: int, stand: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the times of the steps [s] and the feet or points in contact in each, both (steps,)."""
    world.put(0)
    data, gait = world.data, Gait()
    times, touching = np.empty(steps), np.empty(steps, dtype=np.int64)
    for t in range(steps):
        now = float(data.time)
        data.ctrl[:] = targets(now, gait, strength_at(now, stand, np.inf))
        times[t : t + 1] = timed_steps(world.step, 1)
        touching[t] = world.n_contacts()
    return times, touching
