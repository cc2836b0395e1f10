"""Random throws: ranges of the initial state, and states drawn from them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import State

Range = tuple[float, float]


@dataclass(frozen=True)
class ThrowRanges:
    """Ranges of uniform draws, each (lowest, highest); the orientation is always uniform over all rotations.

    The defaults land a body within 0.6 s at up to 5 m/s, so that a throw of 800 steps of 2 ms holds impacts, sliding,
    rolling and rest. A law is only valid on the range of its data: widen these for a body that will move faster.
    """

    height: Range = (0.01, 1.0)
    """Height of the body's lowest point above the ground [m]."""
    horizontal: Range = (-3.0, 3.0)
    """Velocity of the centre of mass along x, and along y [m/s]."""
    vertical: Range = (-3.0, 1.0)
    """Velocity of the centre of mass along z [m/s]."""
    spin: Range = (-8.0, 8.0)
    """Angular velocity about each of the world axes [rad/s]."""

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _checked_range(field.name, getattr(self, field.name)))
        if self.height[0] < 0:
            raise checks.InputError(f"The range of height must not reach below the ground, got {self.height}.")

    def to_dict(self) -> dict[str, Any]:
        """A description for JSON."""
        return {name: list(limits) for name, limits in asdict(self).items()}

    @classmethod
    def of(cls, given: "ThrowRanges | Mapping[str, Range] | None") -> "ThrowRanges":
        """The ranges given by name; the others have their defaults."""
        if isinstance(given, ThrowRanges):
            return given
        if given is not None and not isinstance(given, Mapping):
            raise checks.InputError(f"The ranges of throws must be a dict by name, got {checks.shown(given)}.")
        for name in given or {}:
            checks.choice("A range of throws", name, tuple(field.name for field in fields(cls)))
        return cls(**(given or {}))

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> "ThrowRanges":
        """The ranges that `to_dict` described."""
        names = {field.name for field in fields(cls)}
        if not isinstance(description, dict) or set(description) != names:
            raise checks.InputError(f"Throw ranges must have the fields {', '.join(sorted(names))}.")
        return cls(**description)


def generator(seed: int, throw: int) -> np.random.Generator:
    """The random stream of one throw, independent of the shard or worker that runs it."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(throw,)))


def draw(body: Body, ranges: ThrowRanges, rng: np.random.Generator, *, in_plane: bool = False) -> State:
    """One throw over the origin; a planar body is thrown in its plane, with as many random draws.

    in_plane: throw any body as a planar one, in a vertical plane of any heading, with its y axis level and across it
    """
    return _thrown(body, ranges, [rng], np.array([in_plane]))[0]


def draw_each(
    body: Body, ranges: ThrowRanges, sources: Sequence[np.random.Generator], in_plane: NDArray[np.bool_]
) -> State:
    """One throw from each source of random numbers, as one batch (n,); in_plane: as for `draw`, shape (n,)."""
    # Stacked like single throws: quaternions are normalised once more, which may change the last bit.
    return stacked([_thrown(body, ranges, sources, in_plane)])


def drawn(body: Body, ranges: ThrowRanges, seed: int, throws: Sequence[int]) -> State:
    """The throws with these numbers, as one batch (n,)."""
    chunks = (throws[k : k + 1000] for k in range(0, len(throws), 1000))  # whose vertices fit into memory together
    return stacked([_thrown(body, ranges, [generator(seed, throw) for throw in chunk]) for chunk in chunks])


def stacked(states: list[State]) -> State:
    """Single states and batches (n,) as one batch."""
    parts = ("position", "quaternion", "velocity", "angular_velocity")
    return State(*(np.concatenate([np.atleast_2d(getattr(state, part)) for state in states]) for part in parts))


def _thrown(
    body: Body, ranges: ThrowRanges, sources: Sequence[np.random.Generator], in_plane: NDArray[np.bool_] | None = None
) -> State:
    """One throw from each source (n,); the bits do not depend on how many are drawn together."""
    flat = np.full(len(sources), body.planar) if in_plane is None or body.planar else in_plane
    headed = flat & (not body.planar)
    quaternion = np.array([rng.standard_normal(4) for rng in sources])
    share = np.array([rng.random(7) for rng in sources])
    low, high = np.array([ranges.horizontal] * 2 + [ranges.vertical] + [ranges.spin] * 3 + [ranges.height]).T
    velocity, spin, height = np.split(low + (high - low) * share, (3, 6), axis=1)
    # (w, y) of a normal quaternion has a uniform direction, and so has the angle about y.
    for part, across in ((quaternion, (1, 3)), (velocity, (1,)), (spin, (0, 2))):
        for axis in across:
            part[flat, axis] = 0.0
    quaternion /= np.sqrt(quaternion[:, np.newaxis] @ quaternion[:, :, np.newaxis])[:, 0]
    for k in np.flatnonzero(headed).tolist():
        heading = sources[k].uniform(-np.pi, np.pi)
        quaternion[k], velocity[k], spin[k] = _headed(heading, quaternion[k], velocity[k], spin[k])
    R = rotation_matrices(quaternion)
    lowest = (body.vertices @ R[:, 2, :, np.newaxis]).min(axis=1) - body.rounding
    position = np.concatenate([np.zeros((len(sources), 2)), height - lowest], axis=1)
    return State(position, quaternion, velocity - np.cross(spin, R @ body.com), spin)


def _headed(heading: float, quaternion, velocity, spin):
    """A throw in the x-z plane, rotated about the vertical by `heading` [rad]."""
    c, s = np.cos(heading / 2), np.sin(heading / 2)
    w, y = quaternion[0], quaternion[2]
    x_axis, y_axis = np.array([np.cos(heading), np.sin(heading), 0.0]), np.array([-np.sin(heading), np.cos(heading), 0])
    up = np.array([0.0, 0.0, velocity[2]])
    return np.array([c * w, -s * y, c * y, s * w]), velocity[0] * x_axis + up, spin[1] * y_axis


def _checked_range(name: str, value: Any) -> Range:
    try:
        low, high = value
    except (TypeError, ValueError) as error:
        raise checks.InputError(f"The range of {name} must be two numbers, got {checks.shown(value)}.") from error
    low, high = (checks.between(f"The range of {name}", limit, -1e9, 1e9) for limit in (low, high))
    if low > high:
        raise checks.InputError(f"The range of {name} must have its lower limit first, got {low:g} to {high:g}.")
    return low, high
