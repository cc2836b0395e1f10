"""The structure of a friction map, and a material as a vector of parameters that can be fitted."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stiction.laws.curves import TEXTURES, Curve, Restitution
from stiction.laws.material import Axes, Cone, Limit, Material

SPLINES, FEW_SPLINES = 24, 12  # coefficients of a curve; of a rough one
TEXTURE = TEXTURES[-1]  # coefficients of a texture

Range = tuple[float, float]


@dataclass(frozen=True)
class Structure:
    """The structure of a friction map: its switches, and what friction depends on.

    cone, limit, axes: as in Material
    stretch: an elliptic cone; direction: a Fourier series of the direction instead; sharp: of more harmonics
    texture: a texture that is fixed to the body
    splines: coefficients of a curve
    torsion, rolling: as in Material: observed directly, see soft_points.py
    """

    cone: Cone = "round"
    limit: Limit = "actual"
    axes: Axes = "world"
    direction: bool = False
    sharp: bool = False
    texture: bool = False
    stretch: bool = False
    speed: bool = False
    load: bool = False
    viscosity: bool = False
    splines: int = SPLINES
    torsion: float | None = None
    rolling: float | None = None

    @property
    def harmonics(self) -> int:
        """Number of harmonics of direction; two suffice for the four directions of a box."""
        return 0 if not self.direction else 2 if self.cone == "box" else 16 if self.sharp else 4

    @property
    def complexity(self) -> int:
        """Number of parameters: among equally good structures, the one with fewest is chosen."""
        curves = self.splines * (self.speed + self.load)
        return 1 + 2 * self.harmonics + TEXTURE * self.texture + curves + self.viscosity + self.stretch

    @property
    def depends_on(self) -> str:
        """What friction depends on, as text."""
        direction = "sharp direction" if self.sharp else "direction"
        named = {direction: self.direction, "ellipse": self.stretch, "speed": self.speed, "load": self.load}
        more = {"texture of the body": self.texture, "viscosity": self.viscosity}
        names = [name for name, is_so in (named | more).items() if is_so]
        names += [name for name in ("torsion", "rolling") if getattr(self, name) is not None]
        return " + ".join(names) or "constant"

    @property
    def switches(self) -> str:
        """Cone, limit and axes, as text."""
        directed = self.direction or self.stretch or self.cone == "box"
        return f"{self.cone} cone, {self.limit} limit" + (f", {self.axes} axes" if directed else "")


@dataclass(frozen=True)
class Model:
    """A structure with the ranges of its curves: from parameters (p,) to a material, and to its covariance.

    The parameters are ln scale, cosines, sines, texture, coefficients of speed and of load, viscosity and ln stretch,
    as far as the structure has them.
    speeds, loads: ranges of ln speed and ln load in the data
    restitution: is learned beforehand, since rebounds show it without friction
    """

    structure: Structure
    speeds: Range
    loads: Range
    restitution: Restitution = field(default_factory=Restitution)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.structure.complexity

    def start(self, friction: float) -> NDArray[np.float64]:
        """Return the parameters of constant friction."""
        theta = np.zeros(self.size)
        theta[0] = np.log(friction)
        return theta

    def material(self, theta: NDArray[np.float64]) -> Material:
        """Return the material with these parameters."""
        s, n = self.structure, self.structure.harmonics
        sizes = [1, n, n, TEXTURE * s.texture, s.splines * s.speed, s.splines * s.load, int(s.viscosity)]
        scale, cosines, sines, texture, speed, load, viscosity, stretch = np.split(theta, np.cumsum(sizes))
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
            self.restitution,
            texture=texture,
            torsion=s.torsion,
            rolling=s.rolling,
        )

    def bounded(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the nearest parameters within the bounds, which keep a diverging fit finite."""
        s, result = self.structure, np.clip(theta, -7.0, 7.0)
        turns = result[1 : 1 + 2 * s.harmonics + TEXTURE * s.texture]
        turns *= min(1.0, 20.0 / max(float(np.abs(turns).sum()), 1e-300))
        if s.stretch:
            result[-1] = np.clip(theta[-1], -2.0, 2.0)
        if s.viscosity:
            at = self.size - 1 - s.stretch
            result[at] = max(theta[at], 0.0)
        return result

    def roughness(self) -> NDArray[np.float64]:
        """Return P (p, p), for which theta P theta is the roughness of the curves; stretch and viscosity are free."""
        s, n, splines = self.structure, self.structure.harmonics, self.structure.splines
        P = np.zeros((self.size, self.size))
        bend = np.diff(np.eye(splines), 2, axis=0)
        at = 1
        for _ in range(2):  # cosines, then sines
            P[at : at + n, at : at + n] = np.diag(np.arange(1.0, n + 1) ** 4)
            at += n
        if s.texture:
            degree = np.repeat(np.arange(1.0, len(TEXTURES)), np.diff(TEXTURES))
            P[at : at + TEXTURE, at : at + TEXTURE] = np.diag(degree**4)
            at += TEXTURE
        for there in (s.speed, s.load):
            if there:
                P[at : at + splines, at : at + splines] = bend.T @ bend
                at += splines
        return P

    def covariance(self, covariance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the covariance in the order of Material.covariance, from that of the model's parameters (p, p)."""
        s = self.structure
        shared = covariance[: self.size - s.stretch, : self.size - s.stretch]  # which has no ellipse
        return shared if s.viscosity else np.pad(shared, (0, 1))
