"""What the parameters of an impact law leave, as a material has it: factors of its friction and of its restitution.

    factor of friction = exp(D(theta) + S(ln v) + L(ln N)),    factor of restitution = exp(R(ln u))

theta, v: direction [rad] and speed [m/s] of the slip, N: load of the patch [N], u: speed of its fastest corner towards
the ground [m/s]. D, S and L are those of a `Material`, and the core reads them with the same code.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics import checks
from stiction.laws import material_file
from stiction.laws.curves import NO_CURVE, Curve
from stiction.laws.fitting import check_names
from stiction.laws.material import Material

MOST_FACTOR = 100.0  # a residual corrects a law, it does not decide
_NAMES = ("friction", "restitution")


@dataclass(frozen=True, eq=False)
class Residual:
    """Factors of friction and restitution, by what a material's may depend on.

    friction: a material whose coefficient is the factor, in world axes: `Material(1.0, speed=..., load=...)`
    restitution: a curve of the factor's logarithm by the approach speed [m/s], or None
    """

    friction: Material = field(default_factory=lambda: Material(1.0))
    restitution: Curve | None = None

    def __post_init__(self) -> None:
        m, bounce = self.friction, self.restitution
        if not isinstance(m, Material) or not isinstance(bounce, Curve | None):
            raise checks.InputError(f"A residual is a Material and a Curve or None, got {m!r:.80} and {bounce!r:.80}.")
        if m.axes != "world" or m.viscosity or m.cone != "round" or m.limit != "actual" or m.stretch != (1.0, 1.0):
            raise checks.InputError(
                "The friction of a residual has a scale, directions in world axes and curves, no more."
            )
        swings = [abs(np.log(max(m.scale, 1e-300))) + m.swing, 0.0 if bounce is None else bounce.swing]
        if max(swings) > np.log(MOST_FACTOR):
            raise checks.InputError(
                f"A residual may change friction and restitution by a factor of {MOST_FACTOR:g} at most, this one by "
                f"up to exp({max(swings):.3g})."
            )

    @property
    def depends_on(self) -> tuple[str, ...]:
        """What it changes, and by what: some of direction, speed, load (of friction) and restitution."""
        return (*self.friction.depends_on, *(() if self.restitution is None else ("restitution",)))

    def friction_factor(
        self, speed: ArrayLike, force: ArrayLike, direction: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """At slip speeds [m/s] under forces [N], towards directions [rad], by default in the mean over all of them."""
        if direction is not None or len(self.friction.cosines) == 0:
            return self.friction.friction(0.0 if direction is None else direction, speed, force)
        around = np.arange(64) * (2 * np.pi / 64)
        places = np.broadcast_arrays(np.asarray(speed, dtype=np.float64), np.asarray(force, dtype=np.float64))
        return self.friction.friction(around, *(place[..., np.newaxis] for place in places)).mean(axis=-1)

    def restitution_factor(self, speed: ArrayLike) -> NDArray[np.float64]:
        """At approach speeds [m/s]."""
        at = np.asarray(speed, dtype=np.float64)
        return np.ones(at.shape) if self.restitution is None else np.exp(self.restitution(at))

    @property
    def native(self) -> dict[str, Any]:
        """As the native core's law of impacts takes it."""
        bounce = NO_CURVE if self.restitution is None else self.restitution.native
        return {"friction_factor": self.friction.native, "restitution_factor": bounce}

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file holds: a description for JSON, and tensors."""
        description, tensors = material_file.to_parts(self.friction)
        found = {"friction": description}
        tensors = {f"friction.{name}": array for name, array in tensors.items()}
        if self.restitution is not None:
            found["restitution"] = material_file.curve_to_parts(self.restitution)
            tensors["restitution"] = np.array(self.restitution.coefficients)
        return found, tensors

    @classmethod
    def from_parts(cls, description: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> "Residual":
        """The residual that `to_parts` described; whatever does not fit together is refused."""
        if set(description) - set(_NAMES):
            raise checks.InputError("A residual is described by friction and restitution, nothing else.")
        own = {name.removeprefix("friction."): array for name, array in tensors.items() if name != "restitution"}
        description["friction"].pop("kind")
        material = material_file.from_parts(description["friction"], own)
        if "restitution" not in description:
            check_names("A residual without restitution", tensors, [f"friction.{name}" for name in own])
            return cls(material)
        return cls(material, material_file.curve_from_parts(description["restitution"], tensors["restitution"]))
