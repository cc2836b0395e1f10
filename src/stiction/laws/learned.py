"""What all learned laws share: a body, approximators for each kind of patch, and how contacts are described to them."""

from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import Kind
from stiction.laws.approximators import FARTHEST, Approximator, pack
from stiction.laws.features import SIZE, describe_all
from stiction.laws.frame import SCALE
from stiction.laws.inputs import Inputs
from stiction.laws.networks import Network
from stiction.patch import Contacts

KINDS = (Kind.POINT, Kind.LINE, Kind.SURFACE)
HIDDEN = {Kind.POINT: (48, 48), Kind.LINE: (64, 64), Kind.SURFACE: (64, 64)}  # units of the shipped networks


class LearnedLaw(ABC):
    """A contact law of one body on one ground that was learned from data.

    parts: for each kind of patch, one approximator for each of ROLES
    inputs: how contacts are described to them
    timestep: of the data [s]
    info: where the law comes from: data, seed, command
    """

    ROLES: ClassVar[tuple[str, ...]] = ()
    softness = 0.0  # what physics settles stays exact

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
        self.timestep = checks.positive("timestep [s]", timestep)
        self.info = dict(info or {})
        for kind in KINDS:
            for role, part in zip(self.ROLES, parts[kind], strict=True):
                wanted = (self.inputs.size(kind), self.outputs(role, kind))
                got = (part.sizes[0], part.sizes[-1])
                if got != wanted:
                    raise checks.InputError(
                        f"The {role} of a {kind.name.lower()} must have {wanted[0]} inputs and {wanted[1]} outputs, "
                        f"got {got[0]} and {got[1]}."
                    )

    @classmethod
    @abstractmethod
    def outputs(cls, role: str, kind: Kind) -> int:
        """Number of outputs of an approximator."""

    @classmethod
    def untrained(cls, body: Body, seed: int = 0):
        """A law with random weights and the shipped size: for benchmarks and safety tests."""
        rng = np.random.default_rng(seed)
        parts: dict[Kind, tuple[Approximator, ...]] = {
            kind: tuple(Network.random([SIZE[kind], *HIDDEN[kind], cls.outputs(role, kind)], rng) for role in cls.ROLES)
            for kind in KINDS
        }
        return cls(body, parts, info={"untrained": seed})

    @cached_property
    def packed(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """All approximators in the order of KINDS, then of ROLES, for compiled code."""
        return pack([part for kind in KINDS for part in self.parts[kind]])

    def outside(self, contacts: Contacts) -> NDArray[np.bool_]:
        """Whether each contact (n,) lies outside of what the law was trained on: an input beyond the clipping range."""
        describe_all(contacts, self.inputs.recipe, self.body.mass)
        described = np.flatnonzero(contacts.record["memo"][:, SCALE] > 0)
        result = np.zeros(len(contacts.record), dtype=np.bool_)
        for kind in KINDS:
            chosen = described[contacts.record["kind"][described] == kind]
            part = self.parts[kind][0]
            z = (contacts.record["memo"][chosen, : self.inputs.size(kind)] - part.mean) / part.scale
            result[chosen] = (np.abs(z) > FARTHEST).any(axis=1)
        return result

    def save(self, path: str | Path) -> None:
        """Write the law to a model file."""
        from stiction.laws.modelfile import save  # which knows all laws, and so imports this module

        save(self, path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.body.shape}, fold={self.inputs.fold!r}, cone={self.inputs.cone!r})"
