"""What moves: a body's state and its trajectory; the names of contact modes and patch kinds."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics import checks

UNIT_TOLERANCE = 1e-6  # how far a given quaternion's length may be from 1; closer ones are normalised


class Mode(IntEnum):
    """What becomes of the contact patch in a step (the paper's classes); NONE: nothing touches."""

    NONE = 0
    STATIC = 1
    DYNAMIC = 2
    DETACH = 3


class Kind(IntEnum):
    """Dimension of the contact patch; NONE: nothing touches."""

    NONE = 0
    POINT = 1
    LINE = 2
    SURFACE = 3


@dataclass(frozen=True, init=False)
class State:
    """Pose and velocity of one body or of a batch: the leading axes `...` of all four arrays are broadcast.

    position: origin of the body frame [m], world axes, shape (..., 3)
    quaternion: body to world, (w, x, y, z), shape (..., 4)
    velocity: velocity of that origin [m/s], world axes, shape (..., 3)
    angular_velocity: [rad/s], world axes, shape (..., 3)
    """

    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    velocity: NDArray[np.float64]
    angular_velocity: NDArray[np.float64]

    def __init__(
        self,
        position: ArrayLike,
        quaternion: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        parts = {
            "position": checks.array("State.position", position, (3,)),
            "quaternion": _unit(checks.array("State.quaternion (w, x, y, z)", quaternion, (4,))),
            "velocity": checks.array("State.velocity", velocity, (3,)),
            "angular_velocity": checks.array("State.angular_velocity", angular_velocity, (3,)),
        }
        try:
            batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts.values()))
        except ValueError as error:
            shapes = ", ".join(f"{name} {part.shape}" for name, part in parts.items())
            raise checks.InputError(f"The leading axes of a State must broadcast together, got {shapes}.") from error
        for name, part in parts.items():
            object.__setattr__(self, name, np.array(np.broadcast_to(part, (*batch, part.shape[-1]))))

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the leading axes; () for one body."""
        return self.position.shape[:-1]

    def __getitem__(self, index) -> "State":
        """The states at `index` of the leading axes."""
        return self._with(lambda part: part[index])

    def reshape(self, *batch_shape: int) -> "State":
        """The same states with other leading axes."""
        return self._with(lambda part: part.reshape(*batch_shape, part.shape[-1]))

    def raised(self, height: float) -> "State":
        """The same states, `height` [m] further up."""
        state = self._with(lambda part: part)
        state.position[..., 2] += height
        return state

    def _with(self, change: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> "State":
        """All parts changed and copied. They were checked before: again would take longer than to simulate a throw."""
        state = object.__new__(State)
        for name in ("position", "quaternion", "velocity", "angular_velocity"):
            object.__setattr__(state, name, np.array(change(getattr(self, name))))
        return state


def _unit(quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    length = np.linalg.norm(quaternion, axis=-1, keepdims=True)
    worst = np.abs(length - 1).max(initial=0.0)
    if worst > UNIT_TOLERANCE:
        bad = float(length.flat[np.abs(length - 1).argmax()])
        raise checks.InputError(
            f"State.quaternion (w, x, y, z) must have length 1 within {UNIT_TOLERANCE:g}, got length {bad:.9g}."
        )
    return np.asarray(quaternion / length, dtype=np.float64)


@dataclass(frozen=True)
class Trajectory:
    """A recorded motion of `steps` time steps, of one body or of a batch (`...`).

    position, velocity, angular_velocity: shape (..., steps + 1, 3); quaternion: (..., steps + 1, 4); as in State
    impulse: contact impulse (p_x, p_y, p_z [N s], m_x, m_y, m_z [N m s]) about the centre of mass in world axes,
        shape (..., steps, 6)
    mode, kind: values of Mode and Kind, shape (..., steps); NONE in flight
    timestep: [s]
    """

    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    velocity: NDArray[np.float64]
    angular_velocity: NDArray[np.float64]
    impulse: NDArray[np.float64]
    mode: NDArray[np.int8]
    kind: NDArray[np.int8]
    timestep: float

    def __repr__(self) -> str:
        batch = f"batch {self.mode.shape[:-1]}, " if self.mode.ndim > 1 else ""
        return f"Trajectory({batch}{self.steps} steps of {self.timestep:g} s)"

    @property
    def steps(self) -> int:
        """Number of time steps."""
        return self.mode.shape[-1]

    @property
    def time(self) -> NDArray[np.float64]:
        """Times of the recorded states [s], shape (steps + 1,)."""
        return self.timestep * np.arange(self.steps + 1, dtype=np.float64)

    def state(self, step: int = -1) -> State:
        """The state after `step` steps; the final one by default."""
        return State(
            self.position[..., step, :],
            self.quaternion[..., step, :],
            self.velocity[..., step, :],
            self.angular_velocity[..., step, :],
        )

    def states(self) -> State:
        """All states, the step as the last leading axis."""
        return State(self.position, self.quaternion, self.velocity, self.angular_velocity)

    def __getitem__(self, index) -> "Trajectory":
        """The trajectories at `index` of the leading axes."""
        arrays = {name: value[index] for name, value in vars(self).items() if name != "timestep"}
        return Trajectory(**arrays, timestep=self.timestep)
