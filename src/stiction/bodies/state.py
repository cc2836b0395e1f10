"""States of bodies, and the names of contact modes and patch kinds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics import checks

if TYPE_CHECKING:
    from stiction.bodies.body import Body
    from stiction.bodies.throws import Range, ThrowRanges

UNIT_TOLERANCE = 1e-6  # allowed deviation of a given quaternion's length from 1; it is normalised


class Mode(IntEnum):
    """Mode of the contact patch in a step (the paper's classes); NONE: no contact."""

    NONE = 0
    STATIC = 1
    DYNAMIC = 2
    DETACH = 3


class Kind(IntEnum):
    """Dimension of the contact patch; NONE: no contact."""

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

    `State.from_euler` takes angles instead of a quaternion, `State.random` draws throws. `state[3]` is one of a batch.

        state = State(position=[0, 0, 0.6], velocity=[2, 0, 0], angular_velocity=[1, 2, 3])
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
            object.__setattr__(self, name, np.array(np.broadcast_to(part, (*batch, part.shape[-1])), order="C"))

    @classmethod
    def exactly(cls, position: NDArray, quaternion: NDArray, velocity: NDArray, angular_velocity: NDArray) -> "State":
        """States from arrays that are known to be valid: exact copies, without checks or normalisation."""
        state = object.__new__(cls)
        parts = (position, quaternion, velocity, angular_velocity)
        for name, part in zip(cls.__dataclass_fields__, parts, strict=True):
            object.__setattr__(state, name, np.array(part, order="C"))
        return state

    @classmethod
    def from_euler(
        cls,
        position: ArrayLike,
        angles: ArrayLike,
        *,
        degrees: bool = True,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
    ) -> "State":
        """Return states whose orientation is given by Euler angles, as for `stiction simulate --turn`.

        angles: rotations about the world's x, then y, then z, shape (..., 3); in radians if `degrees` is False
        position, velocity, angular_velocity: as in State

            state = State.from_euler([0, 0, 0.6], [30, 20, 0], velocity=[1.5, 0, 0])
        """
        turns = checks.array("angles (about x, y, z)", angles, (3,))
        checks.flag("degrees", degrees)
        half = 0.5 * (np.radians(turns) if degrees else turns)
        (cx, cy, cz), (sx, sy, sz) = np.moveaxis(np.cos(half), -1, 0), np.moveaxis(np.sin(half), -1, 0)
        quaternion = [
            cx * cy * cz + sx * sy * sz,
            sx * cy * cz - cx * sy * sz,
            cx * sy * cz + sx * cy * sz,
            cx * cy * sz - sx * sy * cz,
        ]
        return cls(position, np.stack(quaternion, axis=-1), velocity, angular_velocity)

    @classmethod
    def random(
        cls,
        body: "Body",
        number: int | None = None,
        *,
        seed: int = 0,
        ranges: "ThrowRanges | Mapping[str, Range] | None" = None,
    ) -> "State":
        """Return random throws of `body`, those that `stiction collect` draws with the same seed.

        number: throws, the only leading axis; None: the first of them, without leading axes
        ranges: by name, each (lowest, highest): height of the lowest point above the ground [m], horizontal and
            vertical velocity of the centre of mass [m/s], spin about each axis [rad/s]. By default height (0.01, 1),
            horizontal (-3, 3), vertical (-3, 1) and spin (-8, 8). The orientation is uniform over all rotations.

            states = State.random(body, 1000, seed=1, ranges={"height": (0.1, 0.3)})
        """
        from stiction.bodies.body import Body
        from stiction.bodies.throws import ThrowRanges, drawn  # which imports this module

        if not isinstance(body, Body):
            raise checks.InputError(f"body must be a stiction.Body, got {type(body).__name__}.")
        count = 1 if number is None else checks.count("number", number, 1, 10_000_000)
        states = drawn(body, ThrowRanges.of(ranges), checks.count("seed", seed, 0), range(count))
        return states[0] if number is None else states

    def __repr__(self) -> str:
        if self.batch_shape:
            return f"State(batch {self.batch_shape})"
        parts = {"position": "m", "velocity": "m/s", "angular_velocity": "rad/s"}
        shown = (f"{name}={_short(getattr(self, name))} {unit}" for name, unit in parts.items())
        return f"State({', '.join(shown)}, quaternion={_short(self.quaternion)})"

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the leading axes; () for one body."""
        return self.position.shape[:-1]

    def __getitem__(self, index) -> "State":
        """The states at `index` of the leading axes."""
        np.broadcast_to(0, self.batch_shape)[index]  # raises an IndexError if there are no such axes
        return self._with(lambda part: part[index])

    def reshape(self, *batch_shape: int) -> "State":
        """The same states with other leading axes."""
        try:
            return self._with(lambda part: part.reshape(*batch_shape, part.shape[-1]))
        except (TypeError, ValueError, OverflowError) as error:
            raise checks.InputError(
                f"States with leading axes {self.batch_shape} cannot be reshaped to {checks.shown(batch_shape)}."
            ) from error

    def raised(self, height: float) -> "State":
        """The same states, moved up by `height` [m]."""
        state = self._with(lambda part: part)
        state.position[..., 2] += checks.scalar("height [m]", height)
        return state

    def _with(self, change: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> "State":
        """All arrays changed and copied. They were checked before; again would take longer than simulating a throw."""
        return State.exactly(*map(change, (self.position, self.quaternion, self.velocity, self.angular_velocity)))


def _short(vector: NDArray[np.float64]) -> str:
    """A vector in few digits."""
    return f"[{', '.join(f'{value:.4g}' for value in vector)}]"


def _unit(quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):  # an overflow is not of length 1
        length = np.linalg.norm(quaternion, axis=-1, keepdims=True)
    worst = np.abs(length - 1).max(initial=0.0)
    if worst > UNIT_TOLERANCE:
        bad = float(length.flat[np.abs(length - 1).argmax()])
        raise checks.InputError(
            f"State.quaternion (w, x, y, z) must have length 1 within {UNIT_TOLERANCE:g}, got length {bad:.9g}."
        )
    return np.asarray(quaternion / length, dtype=np.float64)
