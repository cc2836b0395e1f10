"""What all learned laws share: a body, networks for each kind of patch, and how contacts are described to them."""

from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stiction import checks
from stiction.bodies import Body
from stiction.laws.features import FOLDS, SIZE, Recipe, describe_all
from stiction.laws.networks import FARTHEST, Network, pack
from stiction.patch import Contacts
from stiction.state import Kind

KINDS = (Kind.POINT, Kind.LINE, Kind.SURFACE)
HIDDEN = {Kind.POINT: (48, 48), Kind.LINE: (64, 64), Kind.SURFACE: (64, 64)}  # units of the shipped networks


class LearnedLaw(ABC):
    """A contact law of one body on one ground that was learned from data.

    networks: for each kind, one network for each of ROLES
    fold: symmetry of the law about the vertical, one of features.FOLDS
    friction, cone: coefficients (mu_x, mu_y) and cone of the Coulomb guess among the features
    info: where the law comes from: data, seed, command
    """

    ROLES: ClassVar[tuple[str, ...]] = ()
    softness = 0.0  # what physics settles stays exact

    def __init__(
        self,
        body: Body,
        networks: dict[Kind, tuple[Network, ...]],
        *,
        fold: str = "mirror-swap",
        friction: tuple[float, float] = (0.5, 0.5),
        cone: str = "box",
        timestep: float = 0.002,
        info: dict[str, Any] | None = None,
    ) -> None:
        self.body = body
        self.networks = networks
        self.fold = checks.choice("fold", fold, FOLDS)
        mu_x, mu_y = checks.array("friction", friction, (2,))
        self.guess_friction = (float(mu_x), float(mu_y))
        self.cone = checks.choice("cone", cone, ("box", "round"))
        self.timestep = checks.positive("timestep [s]", timestep)
        self.info = dict(info or {})
        for kind in KINDS:
            for role, network in zip(self.ROLES, networks[kind], strict=True):
                wanted, got = (SIZE[kind], self.outputs(role, kind)), (network.sizes[0], network.sizes[-1])
                if got != wanted:
                    raise checks.InputError(
                        f"The {role} of a {kind.name.lower()} must have {wanted[0]} inputs and {wanted[1]} outputs, "
                        f"got {got[0]} and {got[1]}."
                    )

    @classmethod
    @abstractmethod
    def outputs(cls, role: str, kind: Kind) -> int:
        """Number of outputs of a network."""

    @classmethod
    def untrained(cls, body: Body, seed: int = 0):
        """A law with random weights and the shipped size: for benchmarks and safety tests."""
        rng = np.random.default_rng(seed)
        networks = {
            kind: tuple(Network.random([SIZE[kind], *HIDDEN[kind], cls.outputs(role, kind)], rng) for role in cls.ROLES)
            for kind in KINDS
        }
        return cls(body, networks, info={"untrained": seed})

    @cached_property
    def recipe(self) -> Recipe:
        """How contacts are described, in compiled form."""
        return Recipe(FOLDS.index(self.fold), np.array(self.guess_friction), self.cone == "round")

    @cached_property
    def packed(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """All networks in the order of KINDS, then of ROLES, for compiled code."""
        return pack([network for kind in KINDS for network in self.networks[kind]])

    def outside(self, contacts: Contacts) -> NDArray[np.bool_]:
        """Whether each contact (n,) lies outside of what the law was trained on: an input beyond the clipping range."""
        described = describe_all(contacts, self.recipe, self.body.mass)
        result = np.zeros(len(described), dtype=np.bool_)
        for kind in KINDS:
            chosen = described & (contacts.record.kind == kind)
            network = self.networks[kind][0]
            z = (contacts.record.memo[chosen, : SIZE[kind]] - network.mean) / network.scale
            result[chosen] = (np.abs(z) > FARTHEST).any(axis=1)
        return result

    def save(self, path: str | Path) -> None:
        """Write the law to a model file."""
        from stiction.laws.modelfile import save  # which knows all laws, and so imports this module

        save(self, path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.body.shape}, fold={self.fold!r}, cone={self.cone!r})"
