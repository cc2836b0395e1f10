"""One time step a call, for loops of one's own."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.state import State
from stiction.simulation.motion import Motion, to_motion
from stiction.simulation.rollout import law_of, setting_of, start_of


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
