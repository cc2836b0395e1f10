"""How contacts bounce: restitution as a function of the speed of approach."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks

MOST_FALL = 10.0  # power by which restitution falls with speed


@dataclass(frozen=True)
class Restitution:
    """How a contact bounces: e(v) = e0 (v / 0.5 m/s)^-fall (1 - threshold / v) for approach speeds v above a threshold.

    e0: coefficient at 0.5 m/s, 0 to 1; fall: power by which it falls with speed; threshold: [m/s]
    """

    e0: float = 0.0
    fall: float = 0.0
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= checks.scalar("restitution", self.e0) <= 1:
            raise checks.InputError(f"restitution must lie between 0 and 1, got {self.e0:g}.")
        if abs(checks.scalar("The fall of restitution", self.fall)) > MOST_FALL:
            raise checks.InputError(f"The fall of restitution must lie within {MOST_FALL:g}, got {self.fall:g}.")
        checks.non_negative("The threshold of restitution [m/s]", self.threshold)

    def __call__(self, speed: ArrayLike) -> NDArray[np.float64]:
        """Coefficients for approach speeds [m/s]."""
        v = np.asarray(speed, dtype=np.float64)
        safe = np.maximum(v, max(self.threshold, 1e-12))
        e = self.e0 * (safe / _core.RESTITUTION_SPEED) ** -self.fall * (1 - self.threshold / safe)
        return np.where(v > self.threshold, np.clip(e, 0.0, 1.0), 0.0)
