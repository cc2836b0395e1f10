"""A plan of a collection: everything that decides the bytes of a data set."""

import hashlib
import json
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from stiction.basics import checks
from stiction.basics.environment import version_of
from stiction.bodies.body import Body
from stiction.bodies.throws import ThrowRanges
from stiction.data.ground_truth import Truth, truth_from_dict
from stiction.laws.law import GRAVITY, checked_gravity, checked_timestep


@dataclass(frozen=True, eq=False)
class Plan:
    """The throws of one body in one ground truth, and which of their contacts are stored.

    throws, steps, seed: number of throws, time steps of each, and seed of all that is drawn
    requeries: contact states of each throw that are simulated again for one step, with jittered velocities
    jitter_share, jitter_speed: standard deviation of the jitter: this share of the patch's speed plus this speed [m/s]
    keep_static_surface: share of the static contacts on a surface that is stored. They take most of a body's time on
        the ground and are nearly alike. For a planar body: on a line.
    in_plane: share of the throws that move in a vertical plane across the body's y axis, as a link on hinges along it
        does; their jitter stays in the plane and is 4 times as wide
    shard_throws: throws in one file; part of the layout, not of the throws themselves
    timestep: [s]
    gravity: [m/s^2], shape (3,)
    """

    body: Body
    truth: Truth
    throws: int
    steps: int = 800
    seed: int = 0
    ranges: ThrowRanges = field(default_factory=ThrowRanges)
    requeries: int = 30
    jitter_share: float = 0.15
    jitter_speed: float = 0.01
    keep_static_surface: float = 0.2
    in_plane: float = 0.0
    shard_throws: int = 50
    timestep: float = 0.002
    gravity: tuple[float, float, float] = GRAVITY

    def __post_init__(self) -> None:
        for name, least in (("throws", 1), ("steps", 1), ("seed", 0), ("requeries", 0), ("shard_throws", 1)):
            object.__setattr__(self, name, checks.count(name, getattr(self, name), least))
        for name, bits in (("throws", 31), ("steps", 15)):  # as they are stored
            if getattr(self, name) >= 2**bits:
                raise checks.InputError(f"{name} must be at most {2**bits - 1}, got {getattr(self, name)}.")
        for name in ("jitter_share", "jitter_speed", "keep_static_surface", "in_plane"):
            object.__setattr__(self, name, checks.non_negative(name, getattr(self, name)))
        for name in ("keep_static_surface", "in_plane"):
            if getattr(self, name) > 1:
                raise checks.InputError(f"{name} must lie between 0 and 1, got {getattr(self, name):g}.")
        object.__setattr__(self, "timestep", checked_timestep(self.timestep))
        object.__setattr__(self, "gravity", tuple(checked_gravity(self.gravity).tolist()))

    @property
    def shards(self) -> int:
        """Number of files."""
        return -(-self.throws // self.shard_throws)

    def shard(self, number: int) -> range:
        """The throws in shard `number`."""
        start = number * self.shard_throws
        return range(start, min(start + self.shard_throws, self.throws))

    def to_dict(self) -> dict[str, Any]:
        """A plain description that JSON can hold and `from_dict` reads back exactly."""
        plain = {part.name: getattr(self, part.name) for part in fields(self)}
        parts = {name: plain[name].to_dict() for name in ("body", "truth", "ranges")}
        if not self.in_plane:
            del plain["in_plane"]  # older data sets do not have it
        return {**plain, **parts, "gravity": list(self.gravity)}

    @classmethod
    def from_dict(cls, description: Any) -> "Plan":
        """The plan that `to_dict` described."""
        names = [part.name for part in fields(cls)]
        if not isinstance(description, dict) or set(description) | {"in_plane"} != set(names):
            raise checks.InputError(f"The plan of a data set must have the fields {', '.join(names)}.")
        parts = dict(description)
        try:
            parts["body"] = Body.from_dict(parts["body"])
            parts["truth"] = truth_from_dict(parts["truth"])
            parts["ranges"] = ThrowRanges.from_dict(parts["ranges"])
            return cls(**parts)
        except (TypeError, ValueError, OverflowError) as error:
            if isinstance(error, checks.InputError):
                raise
            raise checks.InputError(f"The plan of a data set cannot be read: {error}.") from error

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the description: equal for equal plans."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def packages(self) -> dict[str, str]:
        """Versions of the packages that decide the bytes."""
        return {name: version_of(name) for name in (*self.truth.packages(), "pyarrow")}
