"""What all learned laws share: a body, approximators for each kind of patch, and how contacts are described to them."""

from abc import abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import Kind
from stiction.laws.approximators import Approximator
from stiction.laws.fitting import freeze
from stiction.laws.inputs import SIZE, Inputs
from stiction.laws.law import NativeLaw, checked_info, checked_timestep
from stiction.laws.networks import Network

KINDS = (Kind.POINT, Kind.LINE, Kind.SURFACE)
HIDDEN = {Kind.POINT: (48, 48), Kind.LINE: (64, 64), Kind.SURFACE: (64, 64)}  # units of the shipped networks


class LearnedLaw(NativeLaw):
    """A contact law of one body on one ground that was learned from data.

    parts: for each kind of patch, one approximator for each of ROLES
    inputs: how contacts are described to them
    timestep: of the data [s]
    info: where the law comes from: data, seed, command
    """

    ROLES: ClassVar[tuple[str, ...]] = ()
    any_timestep = False

    def __init__(
        self,
        body: Body,
        parts: dict[Kind, tuple[Approximator, ...]],
        inputs: Inputs | None = None,
        *,
        timestep: float = 0.002,
        info: dict[str, Any] | None = None,
    ) -> None:
        self.body = body
        self.parts = parts
        self.inputs = inputs or Inputs()
        self._timestep = checked_timestep(timestep)
        self.info = checked_info(info)
        self.rough_friction, self.rough_cone = self.inputs.friction, self.inputs.cone
        for kind in KINDS:
            for role, part in zip(self.ROLES, parts[kind], strict=True):
                wanted = (self.inputs.size(kind), self.outputs(role, kind))
                got = (part.sizes[0], part.sizes[-1])
                if got != wanted:
                    raise checks.InputError(
                        f"The {role} of a {kind.name.lower()} must have {wanted[0]} inputs and {wanted[1]} outputs, "
                        f"got {got[0]} and {got[1]}."
                    )

    @property
    def timestep(self) -> float:
        """The length of a step that the law was learned for [s]; it holds for no other."""
        return self._timestep

    @classmethod
    @abstractmethod
    def outputs(cls, role: str, kind: Kind) -> int:
        """Number of outputs of an approximator."""

    @classmethod
    def untrained(cls, body: Body, seed: int = 0):
        """A law with random weights and the shipped size: for benchmarks and safety tests."""
        rng = np.random.default_rng(checks.count("seed", seed, 0))
        parts: dict[Kind, tuple[Approximator, ...]] = {
            kind: tuple(Network.random([SIZE[kind], *HIDDEN[kind], cls.outputs(role, kind)], rng) for role in cls.ROLES)
            for kind in KINDS
        }
        return cls(body, parts, info={"untrained": seed})

    @cached_property
    def native(self) -> _core.Law:
        """The law as the native core asks it. It holds copies of all numbers, which may not be changed afterwards."""
        for part in (part for parts in self.parts.values() for part in parts):
            freeze(part.arrays())
        return self._to_native(self.recipe, *zip(*self._natives))

    @property
    def recipe(self) -> _core.Recipe:
        """How contacts are described to the approximators."""
        return self.inputs.recipe(self.body.mass)

    @property
    def _natives(self) -> list[list[_core.Approximator]]:
        """The approximators of each kind of patch, in the order of ROLES."""
        return [[part.native for part in self.parts[kind]] for kind in KINDS]

    @abstractmethod
    def _to_native(self, recipe: _core.Recipe, *by_role: tuple[_core.Approximator, ...]) -> _core.Law:
        """The law from its recipe and, for each role, the approximators of the kinds of patches."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "native"}  # made anew where it is needed

    def save(self, path: str | Path) -> None:
        """Write the law to a model file."""
        from stiction.laws.modelfile import save  # which knows all laws, and so imports this module

        save(self, path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.body.shape}, fold={self.inputs.fold!r}, cone={self.inputs.cone!r})"
