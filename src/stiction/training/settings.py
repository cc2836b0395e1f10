"""The choices in how a law looks at contacts, before the data have had their say."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Switches:
    """How contacts are described to what learns. The defaults work best; the others are there to be compared."""

    inputs: Literal["contact", "state"] = "contact"
    """The contact as it looks from its patch, or the body's state as in the paper."""
    fold: Literal["auto", "none", "mirror", "mirror-swap", "heading"] = "auto"
    """Symmetry of the law about the vertical; auto: the one that predicts held-out throws best."""
    guess: bool = True
    """Let the regressor correct a Coulomb guess of friction that is fitted to the data."""
    scaled: bool = True
    """Predict friction as a share of the normal impulse, not in units of the body's mass."""
    rotation: Literal["matrix", "quaternion", "euler", "axis"] = "matrix"
    """How the inputs "state" write the orientation."""
    centre: bool = True
    """With the inputs "state": the centre of the patch in the body frame."""
    slip: bool = True
    """With the inputs "state": the velocity of the patch's centre."""
    absolute: Literal["auto", "yes", "no"] = "auto"
    """Tell loads and slip speeds too, on which friction may depend; auto: if that predicts held-out throws better."""
