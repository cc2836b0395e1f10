"""A contact law for real bodies: impacts bounce, and friction follows the slip while an impact builds up.

Algorithm 1 stays as it is. The law says how vertices bounce, always slides unless the body comes to rest, and its
regressor R is the friction of greatest dissipation of the patch as a whole: core/laws/impact.hpp.
"""

from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.laws.law import NativeLaw
from stiction.laws.residual import checked_weights

INCREMENTS = 8  # parts in which an impact builds up
# How the bodies of a batch differ: a row for each, or one for all. Factors of friction and of restitution, then the
# turns of friction [rad] in its impacts, one after another.
_ALIKE = np.array([[1.0, 1.0, 0.0]])


@dataclass(frozen=True)
class ImpactMaterial:
    """How body and ground touch.

    restitution, restitution_fall, restitution_threshold: e(v) = e0 (v / 0.5 m/s)^-fall (1 - threshold / v) for an
        approach speed v above the threshold [m/s], 0 below it
    friction, friction_loaded: coefficient without load at a slip of 0.3 m/s, and under infinite load
    friction_load: force [N] at which the coefficient has come half the way from one to the other
    friction_rise: relative growth of `friction` with each factor of ten in slip speed
    spin: radius of friction against spinning, relative to the patch's radius
    memory: parts in which an impact builds up, friction following the slip; 1: none
    lag: share of an impact by which friction follows the slip late
    """

    restitution: float = 0.2
    restitution_fall: float = 0.0
    restitution_threshold: float = 0.03
    friction: float = 0.25
    friction_loaded: float = 0.2
    friction_load: float = 8.0
    friction_rise: float = 0.0
    spin: float = 0.85
    memory: int = INCREMENTS
    lag: float = 0.125

    def __post_init__(self) -> None:
        for field in fields(self):
            checks.scalar(field.name, getattr(self, field.name))
        if not 0 <= self.restitution <= 1:
            raise checks.InputError(f"restitution must lie between 0 and 1, got {self.restitution:g}.")
        for name in ("restitution_threshold", "friction", "friction_loaded", "spin", "lag"):
            checks.non_negative(name, getattr(self, name))
        checks.positive("friction_load [N]", self.friction_load)
        checks.count("memory", self.memory, 1)


class ImpactLaw(NativeLaw):
    """The law of one body on one ground, with the parameters of `ImpactMaterial`.

    timestep: [s]
    substeps: equal parts of a time step, cut further where a corner reaches the ground
    gravity: [m/s^2], shape (3,), as it appears in the units of the recordings
    ground: height of the ground plane [m]
    spread: standard deviation of friction and restitution from throw to throw (relative) and of the direction of
        friction from impact to impact [rad]: what `rollout(..., samples=n)` draws from
    residual: weights (inner, outer) of a small network for what the parameters leave, see laws/residual.py
    info: where the law comes from
    """

    KIND = "impact"  # its name in model files

    def __init__(
        self,
        body: Body,
        material: ImpactMaterial | None = None,
        *,
        timestep: float = 0.002,
        substeps: int = 4,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        ground: float = 0.0,
        spread: ArrayLike = (0.0, 0.0, 0.0),
        residual: tuple[ArrayLike, ArrayLike] | None = None,
        info: dict[str, Any] | None = None,
    ) -> None:
        self.body = body
        self.material = ImpactMaterial() if material is None else material
        self.bounces = self.material.restitution > 0
        self.timestep = checks.positive("timestep [s]", timestep)
        self.substeps = checks.count("substeps", substeps, 0)
        x, y, z = checks.array("gravity", gravity, (3,)).reshape(-1).tolist()
        self.gravity = (x, y, z)
        self.ground = checks.scalar("ground [m]", ground)
        widths = checks.array("spread", spread, (3,))
        if (widths < 0).any():
            raise checks.InputError(f"spread must not be negative, got {widths.tolist()}.")
        self.spread = tuple(widths.tolist())
        self.residual = checked_weights(residual)
        self.info = dict(info or {})
        self._each = _ALIKE

    @property
    def native(self) -> _core.ImpactLaw:
        """The law as the native core asks it."""
        return self.native_for(slice(None))

    def native_for(self, bodies: slice) -> _core.ImpactLaw:
        """The same for some bodies of a batch."""
        each = self._each if len(self._each) == 1 else self._each[bodies]
        each = each if len(each) > 0 else _ALIKE  # nobody is there to differ
        numbers = {name: float(value) for name, value in vars(self.material).items() if name != "memory"}
        inner, outer = self.residual
        return _core.ImpactLaw(**numbers, memory=int(self.material.memory), each=each, inner=inner, outer=outer)

    def drawn(self, number: int, seed: int) -> "ImpactLaw":
        """Laws for `number` bodies, drawn from this law's uncertainty."""
        rng = np.random.default_rng(seed)
        friction, restitution, turn = self.spread
        factors = np.exp(rng.standard_normal((number, 2)) * [friction, restitution])
        law = self.with_material()
        law._each = np.hstack([factors, turn * rng.standard_normal((number, 32))])
        return law

    def with_material(self, **changes: float) -> "ImpactLaw":
        """The same law with some parameters of its material changed."""
        return ImpactLaw(self.body, replace(self.material, **changes), **self._options())

    def with_spread(self, spread: ArrayLike) -> "ImpactLaw":
        """The same law with another uncertainty."""
        return ImpactLaw(self.body, self.material, **{**self._options(), "spread": spread})

    def with_residual(self, inner: ArrayLike, outer: ArrayLike) -> "ImpactLaw":
        """The same law with this residual network."""
        return ImpactLaw(self.body, self.material, **{**self._options(), "residual": (inner, outer)})

    def _options(self) -> dict[str, Any]:
        names = ("timestep", "substeps", "gravity", "ground", "spread", "residual", "info")
        return {name: getattr(self, name) for name in names}

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file holds: a description for JSON, and tensors."""
        same = {name: getattr(self, name) for name in ("timestep", "substeps", "ground", "info")}
        description = {"kind": self.KIND, "body": self.body.to_dict(), "gravity": list(self.gravity), **same}
        return {**description, "material": asdict(self.material)}, {
            "spread": np.array(self.spread),
            "residual.inner": self.residual[0],
            "residual.outer": self.residual[1],
        }

    @classmethod
    def from_parts(cls, description: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> "ImpactLaw":
        """The law that `to_parts` described."""
        body, material = Body.from_dict(description.pop("body")), ImpactMaterial(**description.pop("material"))
        residual = tensors["residual.inner"], tensors["residual.outer"]
        return cls(body, material, spread=tensors["spread"], residual=residual, **description)

    def save(self, path: str | Path) -> None:
        """Write the law to a model file."""
        from stiction.laws.modelfile import save  # which knows all laws, and so imports this module

        save(self, path)

    def __repr__(self) -> str:
        m = self.material
        return f"ImpactLaw({self.body.shape}, friction={m.friction:.3g}, restitution={m.restitution:.3g})"
