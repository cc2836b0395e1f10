"""Rollouts: whole motions of one body or of a batch of any size, in threads, recorded as often as wanted."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.state import State, Trajectory
from stiction.laws.law import Law, as_law
from stiction.laws.modelfile import load
from stiction.simulation.motion import Motion, Setting, check_finite, check_start, shaped, to_motion

_AT_A_TIME = 2048  # bodies between two moves of the progress bar, for each thread


def rollout(
    law: Any,
    state: State,
    steps: int = 800,
    *,
    timestep: float | None = None,
    gravity: ArrayLike | None = None,
    substeps: int | None = None,
    samples: int | None = None,
    seed: int = 0,
    every: int = 1,
    threads: int | None = None,
    progress: bool = False,
    finite: bool = True,
) -> Trajectory:
    """Simulate `steps` time steps of the law's body from one state, or from each state of a batch.

    law: a Law, any object with its methods, or the name or path of a model file
    timestep: [s]; the law's own by default. A learned law holds for its own only.
    gravity: [m/s^2], shape (3,); tilt it to put the body on a slope; the law's own by default
    substeps: equal parts of a time step, cut further where a corner reaches the ground; 0: one step, never cut. By
        default the law's own.
    samples: draw as many motions from the law's uncertainty, as a new first axis of all arrays
    seed: of the samples
    every: keep one state in `every` only. A step of the trajectory is then as many time steps: its impulse is their
        sum, its mode and kind are those of the last. What is not kept takes no memory.
    threads: for a batch; all processors by default. The result has the same bits with any.
    progress: show a bar
    finite: refuse a motion that runs out of numbers
    """
    law = law_of(law)
    steps, every = checks.count("steps", steps, 0), checks.count("every", every, 1)
    if steps % every:
        raise checks.InputError(f"steps must be a multiple of every, got {steps} steps and every {every}.")
    setting = setting_of(law, timestep, gravity, substeps)
    start = start_of(law, state)
    if samples is not None:
        samples = checks.count("samples", samples, 1)
        start = _repeated(start, samples)
        law = law.drawn(int(np.prod(start.batch_shape)), checks.count("seed", seed, 0))
    threads = _processors() if threads is None else checks.count("threads", threads, 1)
    motion = to_motion(law.body, start.reshape(int(np.prod(start.batch_shape))))
    run = _simulate(law, setting, motion, steps, every, threads if law.is_native else 1, progress)
    # A law without physics may blow up, which is its user's to see.
    if finite and not law.whole:
        spin = run.angular_velocity
        check_finite(run.timestep, spin[:, 0], run.position, run.quaternion, run.velocity, spin)
    if law.ground != 0.0:
        run.position[..., 2] += law.ground
    return shaped(run, start.batch_shape)


def _simulate(
    law: Law, setting: Setting, motion: Motion, steps: int, every: int, threads: int, progress: bool
) -> Trajectory:
    """All motions (n,), in one call of the core; with a progress bar, in several."""
    body, n = law.body, len(motion.position)
    world = setting.timestep, setting.gravity, setting.substeps

    def run(bodies: slice) -> tuple[NDArray, ...]:
        some = Motion(*(part[bodies] for part in motion))
        how = {"steps": steps, "every": every, "threads": threads}
        return _core.rollout(law.native_for(bodies), body.hull, body.com, *some, *world, **how)

    if not progress:
        return Trajectory(*run(slice(None)), timestep=every * setting.timestep)
    from stiction.basics.progress import bar  # heavy, and only needed for the bar

    parts = []
    size = _AT_A_TIME * threads
    with bar("bodies", n) as shown:
        for begin in range(0, n, size):
            parts.append(run(slice(begin, begin + size)))
            shown.advance(len(parts[-1][0]))
    arrays = (np.concatenate(fields) for fields in zip(*parts)) if parts else run(slice(None))
    return Trajectory(*arrays, timestep=every * setting.timestep)


def law_of(law: Any) -> Law:
    """A law, or the one in a model file of this name or path."""
    return as_law(load(law) if isinstance(law, str | Path) else law)


def setting_of(law: Law, timestep: float | None, gravity: ArrayLike | None, substeps: int | None) -> Setting:
    """What stays the same during a motion: as given, or else as the law has it."""
    h = checks.positive("timestep [s]", law.timestep if timestep is None else timestep)
    if not law.any_timestep and abs(h - law.timestep) > 1e-9 * law.timestep:
        raise checks.InputError(
            f"This law was learned for steps of {law.timestep:g} s and holds for no other, got {h:g} s."
        )
    pull = checks.vector("gravity", law.gravity if gravity is None else gravity, 3)
    return Setting(h, pull, checks.count("substeps", law.substeps if substeps is None else substeps, 0))


def start_of(law: Law, state: State) -> State:
    """The states relative to a ground at z = 0, checked."""
    start = state.raised(-law.ground) if isinstance(state, State) and law.ground != 0.0 else state
    check_start(law.body, start)
    return start


def _repeated(state: State, samples: int) -> State:
    """The states, with the number of the draw as first axis."""
    shape = (samples, *state.batch_shape)
    parts = (state.position, state.quaternion, state.velocity, state.angular_velocity)
    return State(*(np.broadcast_to(part, (*shape, part.shape[-1])) for part in parts))


def _processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
