"""Inputs and outputs of learned laws: the description of a contact and its variants."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from stiction import _core
from stiction.basics import checks
from stiction.bodies.state import Kind

KINDS = (Kind.POINT, Kind.LINE, Kind.SURFACE)
SIZE: dict[Kind, int] = dict(zip(KINDS, _core.FEATURES, strict=True))  # inputs in contact space
ABSOLUTE: dict[Kind, int] = dict(zip(KINDS, _core.ABSOLUTE_FEATURES, strict=True))  # loads and speeds in addition
OUTPUTS = {Kind.POINT: 2, Kind.LINE: 3, Kind.SURFACE: 3}  # friction components of a contact
WHOLE = 6  # components of the whole impulse, which a statistical law predicts
FOLDS = {  # symmetries of a friction law about the vertical
    "none": _core.Fold.NONE,
    "mirror": _core.Fold.MIRROR,
    "mirror-swap": _core.Fold.MIRROR_SWAP,
    "heading": _core.Fold.HEADING,
}
ROTATIONS = {  # representations of an orientation, and their sizes
    "matrix": (_core.Inputs.MATRIX, 9),
    "quaternion": (_core.Inputs.QUATERNION, 4),
    "euler": (_core.Inputs.EULER, 3),
    "axis": (_core.Inputs.AXIS_ANGLE, 3),
}
SPACES = ("contact", "state")


@dataclass(frozen=True)
class Inputs:
    """How contacts are described. The defaults work best; the others exist for comparison.

    space: "contact", relative to the patch, or "state", the body's state as in the paper
    fold: symmetry of the law about the vertical, one of FOLDS; contact space only
    friction, cone: coefficients (mu_x, mu_y) and cone of the Coulomb guess
    guess: whether the regressor corrects a guess of friction; contact space only
    scaled: whether friction is divided by the frictionless normal impulse, or by the body's mass
    rotation: how "state" writes the orientation, one of ROTATIONS
    centre, slip: the paper's two redundant features of "state": the patch's centre in the body frame, its velocity
    absolute: whether loads [N] and slip speeds [m/s] are included; all else is dimensionless; contact space only
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
    absolute: bool = False

    def __post_init__(self) -> None:
        checks.choice("inputs.space", self.space, SPACES)
        checks.choice("fold", self.fold, tuple(FOLDS))
        checks.choice("cone", self.cone, ("box", "round"))
        checks.choice("rotation", self.rotation, tuple(ROTATIONS))
        mu_x, mu_y = checks.array("friction", self.friction, (2,))
        object.__setattr__(self, "friction", (float(mu_x), float(mu_y)))
        for name in ("guess", "scaled", "centre", "slip", "absolute"):
            checks.flag(f"inputs.{name}", getattr(self, name))

    def size(self, kind: Kind) -> int:
        """Number of inputs that describe a contact."""
        if self.space == "contact":
            return SIZE[kind] + self.absolute * ABSOLUTE[kind]
        return ROTATIONS[self.rotation][1] + 7 + 3 * self.centre + 3 * self.slip

    def recipe(self, mass: float, material: _core.Law | None = None) -> _core.Recipe:
        """The description in the native core, for a body of this mass [kg].

        material: the law whose friction is the guess, instead of Coulomb's
        """
        return _core.Recipe(
            fold=FOLDS[self.fold],
            mu_x=self.friction[0],
            mu_y=self.friction[1],
            round=self.cone == "round",
            guess=self.guess,
            scaled=self.scaled,
            inputs=_core.Inputs.CONTACT if self.space == "contact" else ROTATIONS[self.rotation][0],
            centre=self.centre,
            slip=self.slip,
            mass=mass,
            absolute=self.absolute,
            material=material,
        )

    def to_dict(self) -> dict[str, Any]:
        """A description for JSON."""
        plain = {**asdict(self), "friction": list(self.friction)}
        return plain if self.absolute else {name: value for name, value in plain.items() if name != "absolute"}

    @classmethod
    def from_dict(cls, description: Any) -> "Inputs":
        """The inputs that `to_dict` described."""
        names = [part.name for part in fields(cls)]
        if not isinstance(description, Mapping) or set(description) | {"absolute"} != set(names):
            raise checks.InputError(f"The inputs of a law must have the fields {', '.join(names)}.")
        return cls(**description)
