"""Settings of training, without heavy imports, so that the help of the command is quick."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from stiction.laws.material import Material


@dataclass(frozen=True)
class Switches:
    """How contacts are described to the approximators. The defaults work best; the others are for comparisons."""

    inputs: Literal["contact", "state"] = "contact"
    """The contact as seen from its patch, or the body's state as in the paper."""
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
    """Also loads and slip speeds, on which friction may depend; auto: if that predicts held-out throws better."""


@dataclass(frozen=True)
class TrainSettings:
    """All that decides what is trained; the keyword arguments of `stiction.train`."""

    law: str = "augmented"
    """"augmented", the law of the paper, or "statistical", its purely data-driven baseline."""
    approximator: str = "network"
    """"network", "trees" (gradient-boosted), "gp" (Gaussian process) or "svm" (support vector machine)."""
    switches: Switches = Switches()
    material: "Material | str | Path | None" = None
    """Material, or its name or file, whose friction the networks of an augmented law correct."""
    hidden: tuple[int, ...] = ()
    """Units of the networks' hidden layers; empty: the size that suits each kind of patch."""
    steps: int = 8000
    """Optimiser steps of each network."""
    time_budget: float | None = None
    """Train for about this long instead [s]; the result then depends on the machine."""
    floor: float = 1e-3
    """Errors of friction below this share of the normal impulse count little."""
    most: int = 600_000
    """Instances of each kind of patch that are used; more are thinned."""
    held_share: float = 0.1
    """Share of the throws that are held out for early stopping."""
    seed: int = 0


@dataclass(frozen=True)
class FitOptions:
    """Settings of the optimiser of one network."""

    hidden: tuple[int, ...] = ()
    steps: int = 8000
    seconds: float | None = None
    """Let the schedule follow the clock instead of `steps`."""
    batch: int = 1024
    rate: float = 3e-3
    """Learning rate after the warm-up."""
    patience: int = 12
    """Checks without a better held-out loss after which training stops."""
    floor: float = 1e-3
    seed: int = 0
