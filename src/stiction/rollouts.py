"""Rollouts: whole motions of one body or of a batch of any size, in chunks and threads, recorded as often as wanted."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike

from stiction import timing
from stiction.basics import checks
from stiction.bodies.state import State, Trajectory
from stiction.compiled import announce_compilation
from stiction.contact import Law, WholeLaw
from stiction.finely import simulate_finely
from stiction.patch import TOUCH, Contacts, new_contacts
from stiction.stepping import (
    GRAVITY,
    Record,
    Setting,
    check_finite,
    check_start,
    empty_record,
    simulate,
    to_motion,
    to_trajectory,
)

CHUNK = 256  # bodies stepped together, at most: enough to fill the processor, few enough for its cache
_FEWEST = 64  # in a chunk of several threads, of which each is to have _SHARES chunks: one may be slower than others
_SHARES = 4


def rollout(
    law: Law | WholeLaw,
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

    timestep: [s]; the law's own by default
    gravity: [m/s^2], shape (3,); tilt it to put the body on a slope; by default the law's own, or GRAVITY
    substeps: equal parts of a time step, cut further where a corner reaches the ground; 0: one step, never cut. By
        default the law's own, or 0.
    samples: draw as many motions from the law's uncertainty, as a new first axis of all arrays
    seed: of the samples
    every: keep each so-manieth state only. A step of the trajectory is then as many time steps: its impulse is their
        sum, its mode and kind are those of the last. What is not kept takes no memory.
    threads: for a batch; all processors by default. The result has the same bits with any.
    progress: show a bar
    finite: refuse a motion that runs out of numbers
    """
    steps, every = checks.count("steps", steps, 0), checks.count("every", every, 1)
    if steps % every:
        raise checks.InputError(f"steps must be a multiple of every, got {steps} steps and every {every}.")
    setting = setting_of(law, timestep, gravity, substeps)
    if samples is not None:
        law, state = _drawn(law, state, checks.count("samples", samples, 1), seed)
    threads = _processors() if threads is None else checks.count("threads", threads, 1)
    ground = getattr(law, "ground", 0.0)  # [m] height of the plane; ours is z = 0
    start = raised(state, -ground)
    check_start(law.body, start)
    flat = start.reshape(int(np.prod(state.batch_shape)))
    record = empty_record(len(flat.position), steps // every)
    announce_compilation()

    def run(chunk: slice) -> int:
        part = Record(*(field[chunk] for field in record))
        whole = part if every == 1 else empty_record(len(part.mode), steps)
        _simulate(law, chunk, setting, flat[chunk], whole)
        if every > 1:
            _thin_out(whole, every, part)
        return len(part.mode)

    with _bar(progress, len(flat.position)) as advance:
        _run_chunks(run, len(flat.position), threads if getattr(law, "compiled", None) is not None else 1, advance)
    timestep = every * setting.timestep
    # A law without physics may blow up, which is its user's to see.
    if finite and not hasattr(law, "respond") and not _ends_finite(record):
        check_finite(record, timestep)
    if ground != 0.0:
        record.position[..., 2] += ground
    return to_trajectory(law.body, record, state.batch_shape, timestep)


def _run_chunks(run: Callable[[slice], int], bodies: int, threads: int, advance: Callable[[int], object]) -> None:
    """Have all chunks of the bodies run, in as many threads, and tell how many bodies each has done."""
    size = CHUNK if threads == 1 else min(CHUNK, max(_FEWEST, -(-bodies // (_SHARES * threads))))
    chunks = [slice(begin, begin + size) for begin in range(0, bodies, size)]
    if threads == 1 or len(chunks) < 2:
        for chunk in chunks:
            advance(run(chunk))
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in pool.map(run, chunks):
            advance(done)


def setting_of(law, timestep: float | None, gravity: ArrayLike | None, substeps: int | None) -> Setting:
    """What stays the same during a rollout: as given, or else as the law has it."""
    h = checks.positive("timestep [s]", law.timestep if timestep is None else timestep)
    pull: ArrayLike = getattr(law, "gravity", GRAVITY) if gravity is None else gravity
    substeps = checks.count("substeps", getattr(law, "substeps", 0) if substeps is None else substeps, 0)
    return Setting(h, checks.array("gravity", pull, (3,)), substeps)


def contacts_for(law, setting: Setting, number: int) -> Contacts:
    """Room for the contacts of `number` bodies."""
    return new_contacts(law.body.hull, number, timing.TOUCH if setting.substeps else TOUCH)


def raised(state: State, height: float) -> State:
    """The same states, `height` [m] further up."""
    if height == 0.0 or not isinstance(state, State):
        return state
    return state.raised(height)


def _simulate(law, chunk: slice, setting: Setting, state: State, record: Record) -> None:
    """Step some bodies of a batch through all steps of `record`."""
    motion = to_motion(law.body, state)
    contacts = contacts_for(law, setting, len(motion.position))
    step = simulate_finely if setting.substeps else simulate
    terms = law.chunk(chunk) if hasattr(law, "chunk") else getattr(law, "compiled", None)
    if terms is None:
        step.py_func(law, setting, law.body.hull, contacts, motion, record)
    else:
        step(terms, setting, law.body.hull, contacts, motion, record)


def _ends_finite(record: Record) -> bool:
    """Whether the last states are finite, and so all are: what is no number stays none in every later step."""
    return bool(np.isfinite(sum(part[:, -1].sum() for part in record[:3])))


def _thin_out(whole: Record, every: int, part: Record) -> None:
    """Write each so-manieth state of `whole`, and what happened in between, into `part`."""
    for name in ("position", "quaternion", "twist"):
        getattr(part, name)[:] = getattr(whole, name)[:, ::every]
    n, kept = part.mode.shape
    part.impulse[:] = whole.impulse.reshape(n, kept, every, 6).sum(axis=2)
    part.mode[:], part.kind[:] = whole.mode[:, every - 1 :: every], whole.kind[:, every - 1 :: every]


def _drawn(law, state: State, samples: int, seed: int):
    """Laws drawn from the law's uncertainty, as one, and the states for them, the number of the draw as first axis."""
    if not hasattr(law, "drawn"):
        raise checks.InputError(f"{law!r} does not know its own uncertainty, so that no samples can be drawn from it.")
    shape = (samples, *state.batch_shape)
    parts = (state.position, state.quaternion, state.velocity, state.angular_velocity)
    repeated = State(*(np.broadcast_to(part, (*shape, part.shape[-1])) for part in parts))
    return law.drawn(int(np.prod(shape)), checks.count("seed", seed, 0)), repeated


def _processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _bar(shown: bool, total: int) -> Iterator:
    """A progress bar over bodies, as a function that advances it."""
    if not shown:
        yield lambda done: None
        return
    from stiction.basics.progress import bar

    with bar("bodies", total, kept=True) as bodies:
        yield bodies.advance
