"""The form of a residual that is learned: few numbers for what a law leaves, part by part."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction.laws.curves import Curve
from stiction.laws.impact import SLOWEST_SLIP, ImpactLaw
from stiction.laws.material import Material
from stiction.laws.residual import Residual
from stiction.learning.identify.gauss_newton import Parameter

HARMONICS = 2
KNOTS = 5  # coefficients of a curve
SLIPS = (SLOWEST_SLIP, 2.0)  # [m/s] that the curve of slip speed covers
LOADS = (0.3, 100.0)  # weights of the body that the curve of load covers, light touches to hard impacts
APPROACHES = (0.03, 3.0)  # [m/s] that the curve of restitution covers
SCALE, STEP, MOST = 0.1, 0.05, 0.5  # of logarithms of factors: likely size, finite difference, bound


@dataclass(frozen=True)
class Form:
    """Which parts a residual has, some of PARTS; loads: [N] that it covers."""

    parts: tuple[str, ...]
    loads: tuple[float, float]

    @classmethod
    def of(cls, law: ImpactLaw, parts: Sequence[str]) -> "Form":
        """The form for a law's body with these parts, but for restitution where nothing bounces."""
        weight = law.body.mass * -law.gravity[2]
        shown = [name for name in parts if name != "restitution" or law.bounces]
        return cls(tuple(shown), (LOADS[0] * weight, LOADS[1] * weight))

    @property
    def names(self) -> list[str]:
        """Of its numbers: of direction first cosines, then sines; of curves the coefficients."""
        return [f"{part}.{k}" for part in self.parts for k in range(_SIZES[part])]

    @property
    def parameters(self) -> list[Parameter]:
        """Of its numbers, which are zero where nothing is left."""
        return [Parameter(name, "", 0.0, SCALE, STEP, -MOST, MOST) for name in self.names]

    def residual(self, values: NDArray[np.float64]) -> Residual:
        """The residual with these numbers (p,)."""
        cut = np.split(values, np.cumsum([_SIZES[part] for part in self.parts])[:-1])
        own = dict(zip(self.parts, cut))
        cosines, sines = own.get("direction", np.empty(0)).reshape(2, -1)
        speed, load = _curve(SLIPS, own.get("speed")), _curve(self.loads, own.get("load"))
        factor = Material(1.0, cosines=cosines, sines=sines, speed=speed, load=load)
        return Residual(factor, _curve(APPROACHES, own.get("restitution")))


def _curve(limits: tuple[float, float], coefficients: NDArray[np.float64] | None) -> Curve | None:
    return None if coefficients is None else Curve.over((np.log(limits[0]), np.log(limits[1])), coefficients)


_SIZES = {"direction": 2 * HARMONICS, "speed": KNOTS, "load": KNOTS, "restitution": KNOTS}
PARTS = tuple(_SIZES)
