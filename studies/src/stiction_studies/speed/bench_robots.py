"""Articulated bodies: a step inside MuJoCo with our law, with MuJoCo's own contact, and, of the chain, in DART."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.laws.modelfile import load
from stiction.viewer.quadruped import FEET, STANCE, Gait, model_text, strength_at, targets
from stiction_studies.engines.worlds import World
from stiction_studies.robots.chain_model import CHAIN, FRICTION, LAST, LINK, PIN, TIMESTEP, draw_starts
from stiction_studies.speed import bench_worlds
from stiction_studies.speed.bench_results import Measured
from stiction_studies.speed.bench_worlds import CONTACT, DART, FREE, LAW, MUJOCO, LawWorld, Progress, Scale
from stiction_studies.timing import timed_steps


def run_chain(size: Scale, seed: int, progress: Progress) -> Measured:
    """Time swings of the paper's three-link chain."""
    starts = draw_starts(size.swings, seed)
    engines, notes = bench_worlds.peers(MUJOCO, DART)
    worlds: dict[str, World] = {}
    if MUJOCO in engines:
        from stiction_studies.engines.mujoco_engine import posed

        worlds[LAW] = LawWorld(CHAIN, (LAST,), load("link"), starts)
        worlds[MUJOCO] = posed(CHAIN, starts)
    if DART in engines:
        from stiction_studies.engines.dart_engine import chain

        worlds[DART] = chain(LINK, starts, PIN, FRICTION, TIMESTEP)
    count = len(starts), size.swing_steps
    runs = {name: lambda world=world: bench_worlds.step_all(world, *count) for name, world in worlds.items()}
    least = bench_worlds.time_in_turn("Three-link chain", runs, size.repeats, progress)
    figures, shares = {}, {}
    for name, world in worlds.items():
        touching = bench_worlds.in_contact(world, *count)
        figures[name] = bench_worlds.microseconds(least[name], {CONTACT: touching, FREE: ~touching})
        shares[name] = float(touching.mean())
    notes = [
        f"Swings to the ground, dragging the last link; {len(starts)} of {size.swing_steps} steps, a call a step.",
        *notes,
    ]
    return Measured(
        "Three-link chain", "µs a step", [CONTACT, FREE], figures,
        {MUJOCO: LAW, DART: LAW}, notes, {"contact_share": shares},
    )  # fmt: skip


def run_quadruped(size: Scale, seed: int, progress: Progress) -> Measured:
    """Time a second of standing and trotting; nothing is random."""
    engines, notes = bench_worlds.peers(MUJOCO)
    worlds: dict[str, World] = {}
    stand = 0.2  # [s] before it walks
    if engines:
        from stiction_studies.engines.mujoco_engine import posed

        sole = 0.05  # [m] height of an ankle above the ground
        start = np.concatenate([[0.0, 0.0, STANCE + sole, 1.0, 0.0, 0.0, 0.0], targets(0.0, Gait(), 0.0)])[np.newaxis]
        worlds = {LAW: LawWorld(model_text(), FEET, load("foot"), start), MUJOCO: posed(model_text(), start)}
    runs = {name: lambda world=world: _walk(world, size.swing_steps, stand)[0] for name, world in worlds.items()}
    least = bench_worlds.time_in_turn("Quadruped", runs, size.repeats, progress)
    figures, shares = {}, {}
    for name, world in worlds.items():
        touching = _walk(world, size.swing_steps, stand)[1] > 0
        figures[name] = bench_worlds.microseconds(least[name], {CONTACT: touching})
        shares[name] = float(touching.mean())
    notes = [f"A quadruped stands for {stand:g} s, then trots; {size.swing_steps} steps, a call a step.", *notes]
    return Measured("Quadruped", "µs a step", [CONTACT], figures, {MUJOCO: LAW}, notes, {"contact_share": shares})


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
