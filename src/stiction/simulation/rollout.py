"""Rollouts: whole motions of one body or of a batch of any size, in threads, recorded as often as wanted."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.basics.environment import check_memory
from stiction.bodies.state import State, Trajectory
from stiction.laws.law import Law, as_law, checked_gravity, checked_substeps, checked_timestep
from stiction.simulation.motion import Motion, Setting, check_finite, check_start, shaped, to_motion

_AT_A_TIME = 2048  # bodies between two moves of the progress bar, for each thread
MOST_STEPS = 2**31 - 1  # of one call
_MOST_THREADS = 1024
_OF_STATE, _OF_STEP = 8 * 13, 8 * 6 + 2  # bytes of a trajectory


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

        run = rollout("box", State([0, 0, 0.6], velocity=[2, 0, 0]))
        run.state().position  # where it ends
        slope = rollout(law, state, 2000, gravity=[3, 0, -9.3])
    """
    law = law_of(law)
    steps, every = checks.count("steps", steps, 0, MOST_STEPS), checks.count("every", every, 1, MOST_STEPS)
    if steps % every:
        raise checks.InputError(f"steps must be a multiple of every, got {steps} steps and every {every}.")
    for name, flag in (("progress", progress), ("finite", finite)):
        checks.flag(name, flag)
    setting = setting_of(law, timestep, gravity, substeps)
    start = start_of(law, state)
    if samples is not None:
        samples = checks.count("samples", samples, 1)
        _check_memory(samples * int(np.prod(start.batch_shape)), steps, every, progress)
        start = _repeated(start, samples)
        law = law.drawn(int(np.prod(start.batch_shape)), checks.count("seed", seed, 0))
    threads = _processors() if threads is None else checks.count("threads", threads, 1, _MOST_THREADS)
    motion = to_motion(law.body, start.reshape(int(np.prod(start.batch_shape))))
    _check_memory(len(motion.position), steps, every, progress)
    run = _simulate(law, setting, motion, steps, every, threads if law.is_native else 1, progress)
    # A law without physics may blow up, which is its user's to see.
    if finite and not law.whole:
        check_finite(setting.timestep, run.position, run.quaternion, run.velocity, run.angular_velocity)
    if law.ground != 0.0:
        run.position[..., 2] += law.ground
    return shaped(run, start.batch_shape)


def _check_memory(bodies: int, steps: int, every: int, progress: bool) -> None:
    """Refuse motions that would not fit into memory, before they are tried."""
    kept = steps // every
    needed = bodies * ((kept + 1) * _OF_STATE + kept * _OF_STEP) * (2 if progress else 1)  # parts, then all of them
    remedy = "simulate fewer at a time, or keep fewer states with every="
    check_memory(f"{checks.shown(bodies)} motions of {kept} kept steps", needed, remedy)


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
    if isinstance(law, str | Path):
        from stiction.laws.modelfile import load  # which imports every type of law

        law = load(law)
    return as_law(law)


def setting_of(law: Law, timestep: float | None, gravity: ArrayLike | None, substeps: int | None) -> Setting:
    """What stays the same during a motion: as given, or else as the law has it."""
    h = checked_timestep(law.timestep if timestep is None else timestep)
    if not law.any_timestep and abs(h - law.timestep) > 1e-9 * law.timestep:
        raise checks.InputError(
            f"This law was learned for steps of {law.timestep:g} s and holds for no other, got {h:g} s."
        )
    pull = checked_gravity(law.gravity if gravity is None else gravity)
    return Setting(h, pull, checked_substeps(law.substeps if substeps is None else substeps))


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


# One time step a call, for loops of one's own.


class Stepper:
    """A body, or a batch of them, that moves by one time step with every `step()`: the same bits as in a rollout.

    Arguments are those of `rollout`. It belongs to one thread at a time: a step that begins in the middle of another,
    which only a law in Python lets happen, is refused.

        stepper = Stepper("box", state)
        while stepper.state.position[2] > 0.25:
            stepper.step()
        print(stepper.mode, stepper.impulse)
    """

    def __init__(
        self,
        law: Any,
        state: State,
        *,
        timestep: float | None = None,
        gravity: ArrayLike | None = None,
        substeps: int | None = None,
    ) -> None:
        self.law = law_of(law)
        self._setting = setting_of(self.law, timestep, gravity, substeps)
        self._shape = state.batch_shape if isinstance(state, State) else ()
        self._start(self._to_motion(state))

    def _start(self, motion: Motion) -> None:
        law, (h, gravity, substeps) = self.law, self._setting
        self._native = _core.Stepper(law.native, law.body.hull, *motion, h, gravity, substeps)
        if type(self) is Stepper:  # without a function of Python in between
            self.step = self._native.step

    def __repr__(self) -> str:
        batch = f", batch {self._shape}" if self._shape else ""
        return f"Stepper({self.law!r}{batch}, steps of {self._setting.timestep:g} s)"

    def step(self) -> None:
        """Move on by one time step."""
        self._native.step()

    @property
    def state(self) -> State:
        """The present state; set it to continue from another."""
        motion = Motion(*self._native.state())
        position, velocity, spin = _core.to_body_frame(self.law.body.com, *motion)
        state = State.exactly(position, motion.quaternion, velocity, spin).reshape(*self._shape)
        return state.raised(self.law.ground) if self.law.ground != 0.0 else state

    @state.setter
    def state(self, state: State) -> None:
        self._native.set(*self._to_motion(state))

    @property
    def impulse(self) -> NDArray[np.float64]:
        """Contact impulse of the last step about the centre of mass [N s, N m s], shape (..., 6)."""
        return self._native.impulse().reshape(*self._shape, 6)

    @property
    def mode(self) -> NDArray[np.int8]:
        """Mode of the last step, shape (...)."""
        return self._native.mode().reshape(self._shape)

    @property
    def kind(self) -> NDArray[np.int8]:
        """Kind of the patch in the last step, shape (...)."""
        return self._native.kind().reshape(self._shape)

    def _to_motion(self, state: State) -> Motion:
        if isinstance(state, State) and state.batch_shape != self._shape:
            raise checks.InputError(
                f"This Stepper moves bodies with leading axes {self._shape}, got states with {state.batch_shape}."
            )
        return to_motion(self.law.body, start_of(self.law, state).reshape(int(np.prod(self._shape))))

    def __getstate__(self) -> dict[str, Any]:
        native = self._native
        parts = {"law": self.law, "setting": self._setting, "shape": self._shape, "motion": Motion(*native.state())}
        return {**parts, "last": (native.impulse(), native.mode(), native.kind(), native.impacts())}

    def __setstate__(self, parts: dict[str, Any]) -> None:
        self.law, self._setting, self._shape = parts["law"], parts["setting"], parts["shape"]
        self._start(parts["motion"])
        self._native.remember(*parts["last"])
