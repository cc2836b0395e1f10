"""One time step a call, for loops of one's own."""

from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.bodies.state import State
from stiction.compiled import announce_compilation
from stiction.contact import Law, WholeLaw
from stiction.finely import simulate_finely
from stiction.packed_step import PackedStep
from stiction.rollouts import contacts_for, raised, setting_of
from stiction.stepping import check_start, empty_record, simulate, to_motion, to_trajectory


class Stepper:
    """A body, or a batch of them, that moves by one time step with every `step()`: the same bits as in a rollout.

    Arguments are those of `rollout`.
    """

    def __init__(
        self,
        law: Law | WholeLaw,
        state: State,
        *,
        timestep: float | None = None,
        gravity: ArrayLike | None = None,
        substeps: int | None = None,
    ) -> None:
        self.law = law
        self._setting = setting_of(law, timestep, gravity, substeps)
        self._ground = getattr(law, "ground", 0.0)
        self._shape = state.batch_shape if isinstance(state, State) else ()
        number = int(np.prod(self._shape))
        self._record = empty_record(number, 1)
        announce_compilation()
        finely = self._setting.substeps > 0
        terms = law.chunk(slice(0, number)) if hasattr(law, "chunk") else getattr(law, "compiled", None)  # type: ignore
        self._motion = self._to_motion(state)
        contacts = contacts_for(law, self._setting, number)
        arguments = (
            law if terms is None else terms,
            self._setting,
            law.body.hull,
            contacts,
            self._motion,
            self._record,
        )
        self._step = partial(self._interpret, arguments) if terms is None else PackedStep(arguments, finely)

    def step(self) -> None:
        """Move on by one time step."""
        self._step()

    def _interpret(self, arguments: tuple) -> None:
        """A step with a law in plain Python."""
        for field in (self._record.impulse, self._record.mode, self._record.kind):
            field[:] = 0
        cast(Any, simulate_finely if self._setting.substeps else simulate).py_func(*arguments)

    @property
    def state(self) -> State:
        """The present state; set it to continue from another."""
        record = self._record._replace(
            position=self._motion.position[:, np.newaxis].copy(),
            quaternion=self._motion.quaternion[:, np.newaxis].copy(),
            twist=self._motion.twist[:, np.newaxis].copy(),
        )
        return raised(to_trajectory(self.law.body, record, self._shape, self._setting.timestep).state(), self._ground)

    @state.setter
    def state(self, state: State) -> None:
        for own, new in zip(self._motion, self._to_motion(state), strict=True):
            own[:] = new

    @property
    def impulse(self) -> NDArray[np.float64]:
        """Contact impulse of the last step about the centre of mass [N s, N m s], shape (..., 6)."""
        return self._record.impulse[:, 0].reshape(*self._shape, 6).copy()

    @property
    def mode(self) -> NDArray[np.int8]:
        """Mode of the last step, shape (...)."""
        return self._record.mode[:, 0].reshape(self._shape).copy()

    @property
    def kind(self) -> NDArray[np.int8]:
        """Kind of the patch in the last step, shape (...)."""
        return self._record.kind[:, 0].reshape(self._shape).copy()

    def _to_motion(self, state: State):
        start = raised(state, -self._ground)
        check_start(self.law.body, start)
        return to_motion(self.law.body, start.reshape(len(self._record.mode)))
