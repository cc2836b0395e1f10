"""What a learned law is told about a contact, and in which units it answers: one description with its switches."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from stiction.basics import checks
from stiction.bodies.state import Kind
from stiction.laws import plain
from stiction.laws.features import FOLDS, SIZE, Recipe

ROTATIONS = {"matrix": plain.MATRIX, "quaternion": plain.QUATERNION, "euler": plain.EULER, "axis": plain.AXIS_ANGLE}
SPACES = ("contact", "state")


@dataclass(frozen=True)
class Inputs:
    """How contacts are described. The defaults are the design that works best; the others are there to be compared.

    space: "contact", as the contact looks from its patch, or "state", the body's state as in the paper
    fold: symmetry of the law about the vertical, one of features.FOLDS; contact space only
    friction, cone: coefficients (mu_x, mu_y) and cone of the Coulomb guess
    guess: whether the regressor corrects the guess of friction, or has none; contact space only
    scaled: whether friction is divided by the frictionless normal impulse, or by the body's mass
    rotation: how "state" writes the orientation, one of ROTATIONS
    centre, slip: the paper's two redundant features of "state": the patch's centre in the body frame, its velocity
    """

    space: str = "contact"
    fold: str = "mirror-swap"
    friction: tuple[float, float] = (0.5, 0.5)
    cone: str = "box"
    guess: bool = True
    scaled: bool = True
    rotation: str = "matrix"
    centre: bool = True
    slip: bool = True

    def __post_init__(self) -> None:
        checks.choice("inputs.space", self.space, SPACES)
        checks.choice("fold", self.fold, FOLDS)
        checks.choice("cone", self.cone, ("box", "round"))
        checks.choice("rotation", self.rotation, tuple(ROTATIONS))
        mu_x, mu_y = checks.array("friction", self.friction, (2,))
        object.__setattr__(self, "friction", (float(mu_x), float(mu_y)))
        for name in ("guess", "scaled", "centre", "slip"):
            if not isinstance(getattr(self, name), bool):
                raise checks.InputError(f"inputs.{name} must be true or false, got {getattr(self, name)!r:.40}.")

    def size(self, kind: Kind) -> int:
        """How many numbers describe a contact."""
        if self.space == "contact":
            return SIZE[kind]
        return plain.ROTATION_SIZE[ROTATIONS[self.rotation]] + 7 + 3 * self.centre + 3 * self.slip

    @cached_property
    def recipe(self) -> Recipe:
        """The description as compiled code sees it."""
        return Recipe(
            fold=FOLDS.index(self.fold),
            friction=np.array(self.friction),
            round=self.cone == "round",
            guess=self.guess,
            scaled=self.scaled,
            rotation=0 if self.space == "contact" else ROTATIONS[self.rotation],
            centre=self.centre,
            slip=self.slip,
        )

    def to_dict(self) -> dict[str, Any]:
        """A plain description that JSON can hold."""
        return {**asdict(self), "friction": list(self.friction)}

    @classmethod
    def from_dict(cls, description: Any) -> "Inputs":
        """What `to_dict` described."""
        names = [part.name for part in fields(cls)]
        if not isinstance(description, Mapping) or set(description) != set(names):
            raise checks.InputError(f"The inputs of a law must have the fields {', '.join(names)}.")
        return cls(**description)
