"""Simulation of one body or a batch: whole motions (rollout) and single steps (Stepper)."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.basics.environment import check_memory
from stiction.bodies.state import State
from stiction.bodies.trajectory import Trajectory
from stiction.laws.law import Law, LawLike, as_law, checked_gravity, checked_substeps, checked_timestep
from stiction.simulation.motion import Motion, Setting, check_finite, check_start, shaped, to_motion

MAX_STEPS = 2**31 - 1  # of one call
_BODIES_PER_UPDATE = 2048  # of the progress bar, per thread


def rollout(
    law: LawLike | str | Path,
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
    timestep: [s]; by default that of the law. A learned law holds only for the one it was trained with. Steps in which
        a body falls from rest as far as half its size are refused.
    gravity: [m/s^2], shape (3,); tilt it to put the body on a slope; by default that of the law
    substeps: equal parts of a time step, cut further where a corner reaches the ground, so that nothing sinks into it;
        0: whole steps, as in the paper and in DART. By default those of the law: 0 for learned networks, for laws in
        Python and for `CoulombLaw(cone="dart")`, 1 for Coulomb's law and materials, 4 for identified laws.
    samples: number of motions to draw from the law's uncertainty, as a new first axis of all arrays
    seed: of the samples
    every: keep only one state in `every`. A step of the trajectory is then `every` time steps: its impulse is their
        sum, its mode and kind are those of the last. States that are not kept take no memory.
    threads: for a batch; by default all processors. The result does not depend on it, to the bit.
    progress: show a progress bar
    finite: raise an InputError if the motion becomes infinite or NaN

        run = rollout("box", State([0, 0, 0.6], velocity=[2, 0, 0]))
        run.state().position  # where it ends
        slope = rollout(law, state, 2000, gravity=[3, 0, -9.3])
    """
    law = law_of(law)
    steps, every = checks.count("steps", steps, 0, MAX_STEPS), checks.count("every", every, 1, MAX_STEPS)
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
    threads = processors() if threads is None else checks.count("threads", threads, 1, 1024)
    motion = to_motion(law.body, start.reshape(int(np.prod(start.batch_shape))))
    _check_memory(len(motion.position), steps, every, progress)
    run = _simulate(law, setting, motion, steps, every, threads if law.is_native else 1, progress)
    # A law without physics may diverge; its user should see it.
    if finite and not law.whole:
        check_finite(setting.timestep, run.position, run.quaternion, run.velocity, run.angular_velocity)
    if law.ground != 0.0:
        run.position[..., 2] += law.ground
    return shaped(run, start.batch_shape)


def _check_memory(bodies: int, steps: int, every: int, progress: bool) -> None:
    """Refuse motions that would not fit into memory."""
    kept, state_bytes, step_bytes = steps // every, 8 * 13, 8 * 6 + 2
    needed = bodies * ((kept + 1) * state_bytes + kept * step_bytes) * (2 if progress else 1)  # parts and their sum
    remedy = "simulate fewer at a time, or keep fewer states with every="
    check_memory(f"{checks.shown(bodies)} motions of {kept} kept steps", needed, remedy)


def _simulate(
    law: Law, setting: Setting, motion: Motion, steps: int, every: int, threads: int, progress: bool
) -> Trajectory:
    """All motions (n,), in one call of the core, or in several with a progress bar."""
    body, n = law.body, len(motion.position)
    world = setting.timestep, setting.gravity, setting.substeps

    def run(bodies: slice) -> tuple[NDArray, ...]:
        native, some = law.native_for(bodies), Motion(*(part[bodies] for part in motion))
        return _core.rollout(native, body.hull, body.com, *some, *world, steps=steps, every=every, threads=threads)

    if not progress:
        return Trajectory(*run(slice(None)), timestep=every * setting.timestep)
    from stiction.basics.progress import bar  # slow to import

    parts, size = [], _BODIES_PER_UPDATE * threads
    with bar("bodies", n) as shown:
        for start in range(0, n, size):
            parts.append(run(slice(start, start + size)))
            shown.advance(len(parts[-1][0]))
    arrays = (np.concatenate(fields) for fields in zip(*parts)) if parts else run(slice(None))
    return Trajectory(*arrays, timestep=every * setting.timestep)


def law_of(law: LawLike | str | Path) -> Law:
    """`law` as a checked Law, loaded if it is the name or path of a model file."""
    if isinstance(law, str | Path):
        from stiction.laws.modelfile import load  # which imports all types of laws

        law = load(law)
    return as_law(law)


def setting_of(law: Law, timestep: float | None, gravity: ArrayLike | None, substeps: int | None) -> Setting:
    """The setting of a motion; what is not given is taken from the law."""
    pull = checked_gravity(law.gravity if gravity is None else gravity)
    parts = checked_substeps(law.substeps if substeps is None else substeps)
    h = checked_timestep(law.timestep if timestep is None else timestep, law.body, pull, parts)
    if not law.any_timestep and abs(h - law.timestep) > 1e-9 * law.timestep:
        raise checks.InputError(
            f"This law was learned for time steps of {law.timestep:g} s and holds only for these, got {h:g} s."
        )
    return Setting(h, pull, parts)


def start_of(law: Law, state: State) -> State:
    """The states relative to a ground at z = 0, checked."""
    start = state.raised(-law.ground) if isinstance(state, State) and law.ground != 0.0 else state
    check_start(law.body, start)
    return start


def _repeated(state: State, samples: int) -> State:
    """The states repeated along a new first axis."""
    shape = (samples, *state.batch_shape)
    parts = (state.position, state.quaternion, state.velocity, state.angular_velocity)
    return State(*(np.broadcast_to(part, (*shape, part.shape[-1])) for part in parts))


def processors() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Stepper:
    """A simulation of one body or a batch that advances by one time step per `step()`, bit for bit as a rollout.

    The arguments are those of `rollout`. Use it in one thread at a time: a step within another one, which only a law in
    Python could start, raises an error.

        stepper = Stepper("box", state)
        while stepper.state.position[2] > 0.25:
            stepper.step()
        print(stepper.mode, stepper.impulse)
    """

    def __init__(
        self,
        law: LawLike | str | Path,
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
        if type(self) is Stepper:  # skips one Python call
            self.step = self._native.step

    def __repr__(self) -> str:
        batch = f", batch {self._shape}" if self._shape else ""
        return f"Stepper({self.law!r}{batch}, steps of {self._setting.timestep:g} s)"

    def step(self) -> None:
        """Advance by one time step."""
        self._native.step()

    @property
    def state(self) -> State:
        """The current state; assign to it to continue from another one."""
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
