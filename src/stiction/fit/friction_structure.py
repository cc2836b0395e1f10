"""Which form a friction map has, and a material as a list of numbers that can be fitted."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction.laws.curves import Curve
from stiction.laws.material import Material

SPLINES, FEW_SPLINES = 24, 12  # coefficients of a curve; of a rough one
HARMONICS = 4  # of direction; a box has four directions, for which two harmonics do
_MOST_LOG = 7.0  # of a coefficient: a fit that runs away stays among numbers
_STRETCH = 2.0  # greatest logarithm of the stretch along an axis

Range = tuple[float, float]


@dataclass(frozen=True)
class Structure:
    """The form of a friction map: its switches, and what friction depends on.

    cone, limit, axes: as in Material
    stretch: an elliptic cone; direction: a Fourier series of the direction instead
    splines: coefficients of a curve
    """

    cone: str = "round"
    limit: str = "actual"
    axes: str = "world"
    direction: bool = False
    stretch: bool = False
    speed: bool = False
    load: bool = False
    viscosity: bool = False
    splines: int = SPLINES

    @property
    def harmonics(self) -> int:
        """Number of harmonics of direction."""
        return 0 if not self.direction else HARMONICS if self.cone == "round" else 2

    @property
    def complexity(self) -> int:
        """Number of parameters: of two structures that do as well, the one with fewer is taken."""
        curves = self.splines * (self.speed + self.load)
        return 1 + 2 * self.harmonics + curves + self.viscosity + self.stretch

    @property
    def depends_on(self) -> str:
        """What friction depends on, in words."""
        named = {"direction": self.direction, "ellipse": self.stretch, "speed": self.speed, "load": self.load}
        names = [name for name, is_so in {**named, "viscosity": self.viscosity}.items() if is_so]
        return " + ".join(names) or "constant"

    @property
    def switches(self) -> str:
        """Cone, limit and axes, in words."""
        directed = self.direction or self.stretch or self.cone == "box"
        return f"{self.cone} cone, {self.limit} limit" + (f", {self.axes} axes" if directed else "")


@dataclass(frozen=True)
class Model:
    """A structure with the ranges of its curves: from parameters (p,) to a material, and back to its covariance.

    The parameters are ln scale, cosines, sines, coefficients of speed and of load, viscosity, ln stretch: those of them
    that the structure has.
    speeds, loads: ranges of ln speed and ln load that were seen
    """

    structure: Structure
    speeds: Range
    loads: Range

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.structure.complexity

    def start(self, friction: float) -> NDArray[np.float64]:
        """Parameters of the same friction everywhere."""
        theta = np.zeros(self.size)
        theta[0] = np.log(friction)
        return theta

    def material(self, theta: NDArray[np.float64]) -> Material:
        """The material with these parameters."""
        s, n = self.structure, self.structure.harmonics
        parts = np.split(theta, np.cumsum([1, n, n, s.splines * s.speed, s.splines * s.load, int(s.viscosity)]))
        scale, cosines, sines, speed, load, viscosity, stretch = parts
        more = float(np.exp(stretch[0])) if s.stretch else 1.0
        return Material(
            float(np.exp(scale[0])),
            (more, 1 / more),
            cosines,
            sines,
            Curve.over(self.speeds, speed) if s.speed else None,
            Curve.over(self.loads, load) if s.load else None,
            float(viscosity[0]) if s.viscosity else 0.0,
            s.cone,
            s.limit,
            s.axes,
        )

    def bounded(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """The nearest parameters that are allowed."""
        s, result = self.structure, np.clip(theta, -_MOST_LOG, _MOST_LOG)
        if s.stretch:
            result[-1] = np.clip(theta[-1], -_STRETCH, _STRETCH)
        if s.viscosity:
            at = self.size - 1 - s.stretch
            result[at] = max(theta[at], 0.0)
        return result

    def roughness(self) -> NDArray[np.float64]:
        """The matrix P (p, p) for which theta P theta is how much the curves bend; stretch and viscosity are free."""
        s, n, splines = self.structure, self.structure.harmonics, self.structure.splines
        P = np.zeros((self.size, self.size))
        bend = np.diff(np.eye(splines), 2, axis=0)
        at = 1
        for _ in range(2):  # cosines, then sines
            P[at : at + n, at : at + n] = np.diag(np.arange(1.0, n + 1) ** 4)
            at += n
        for there in (s.speed, s.load):
            if there:
                P[at : at + splines, at : at + splines] = bend.T @ bend
                at += splines
        return P

    def covariance(self, own: NDArray[np.float64]) -> NDArray[np.float64]:
        """Covariance of the parameters in the order of Material.covariance, from that of the model's own (p, p)."""
        s = self.structure
        shared = own[: self.size - s.stretch, : self.size - s.stretch]  # that of the ellipse has no place there
        return shared if s.viscosity else np.pad(shared, (0, 1))
