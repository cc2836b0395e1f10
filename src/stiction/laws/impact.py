"""A contact law for real bodies: impacts bounce, and friction follows the slip while an impact builds up.

It is a model of its own beside `Material`: friction and restitution act on the patch as a whole, with spin, lag and
lever of its own, and the results for recorded tosses rest on that; a material acts at single points.

Algorithm 1 stays as it is. The law says how vertices bounce, always slides unless the body comes to rest, and its
regressor R is the friction of greatest dissipation of the patch as a whole: core/laws/impact.hpp.
"""

from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.laws import material as material_file
from stiction.laws.approximators import check_names
from stiction.laws.curves import MOST_FALL, NO_CURVE, Curve
from stiction.laws.law import NativeLaw, checked_info, checked_substeps, checked_timestep
from stiction.laws.material import Material

# What the parameters of an impact law leave, as a material has it: factors of its friction and of its restitution.


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


INCREMENTS, MOST_MEMORY = 8, 1000  # parts in which an impact builds up, and at most
LARGEST = 1e20  # of all parameters
_OF_RESIDUAL = "residual."  # how the tensors of a law's residual are named
_OF_NETWORK = ("residual.inner", "residual.outer")
# [m/s] at which restitution and friction are stated, and below which a slip counts as this one:
# core/contact/contact.hpp and core/laws/impact.cpp.
RESTITUTION_SPEED, SLIP_SPEED, SLOWEST_SLIP = 0.5, 0.3, 0.02
# How the bodies of a batch differ: a row for each, or one for all. Factors of friction and of restitution, then the
# turns of friction [rad] in its impacts, one after another.
_ALIKE = np.array([[1.0, 1.0, 0.0]])
_NOTHING_LEFT = Residual()


@dataclass(frozen=True)
class ImpactMaterial:
    """How body and ground touch.

    restitution, restitution_fall, restitution_threshold: e(v) = e0 (v / 0.5 m/s)^-fall (1 - threshold / v) for an
        approach speed v above the threshold [m/s], 0 below it
    restitution_lever: relative growth of restitution with the share of turning in the answer to a push: 0 below the
        centre of mass, towards 1 far from it
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
    restitution_lever: float = 0.0
    friction: float = 0.25
    friction_loaded: float = 0.2
    friction_load: float = 8.0
    friction_rise: float = 0.0
    spin: float = 0.85
    memory: int = INCREMENTS
    lag: float = 0.125

    def __post_init__(self) -> None:
        for entry in fields(self):
            if abs(checks.scalar(entry.name, getattr(self, entry.name))) > LARGEST:
                raise checks.InputError(f"{entry.name} must lie within {LARGEST:g}, got {getattr(self, entry.name):g}.")
        if not 0 <= self.restitution <= 1:
            raise checks.InputError(f"restitution must lie between 0 and 1, got {self.restitution:g}.")
        for name in ("restitution_threshold", "friction", "friction_loaded", "spin", "lag"):
            checks.non_negative(name, getattr(self, name))
        checks.positive("friction_load [N]", self.friction_load)
        if checks.count("memory", self.memory, 1) > MOST_MEMORY:
            raise checks.InputError(f"memory must be at most {MOST_MEMORY}, got {self.memory}.")
        if abs(self.restitution_fall) > MOST_FALL:
            raise checks.InputError(f"restitution_fall must lie within {MOST_FALL:g}, got {self.restitution_fall:g}.")

    def restitution_at(self, speed: ArrayLike, factor: ArrayLike = 1.0) -> NDArray[np.float64]:
        """Share of its approach speed [m/s] at which a corner leaves again, any shape; factor: of `restitution`."""
        v = np.maximum(np.asarray(speed, dtype=np.float64), 1e-9)
        e0 = np.minimum(self.restitution * np.asarray(factor), 1.0)
        found = e0 * (v / RESTITUTION_SPEED) ** -self.restitution_fall * (1 - self.restitution_threshold / v)
        return np.clip(found, 0.0, 1.0)

    def friction_at(self, speed: ArrayLike, force: ArrayLike) -> NDArray[np.float64]:
        """Coefficient of friction at this slip speed [m/s] under this normal force [N], shapes that go together."""
        slip = np.maximum(np.asarray(speed, dtype=np.float64), SLOWEST_SLIP)
        light = self.friction * (1 + self.friction_rise * np.log10(slip / SLIP_SPEED))
        share = 1 / (1 + np.asarray(force, dtype=np.float64) / self.friction_load)
        return np.maximum(0.0, self.friction_loaded + (light - self.friction_loaded) * share)


class ImpactLaw(NativeLaw):
    """The law of one body on one ground, with the parameters of `ImpactMaterial`.

    timestep: [s]
    substeps: equal parts of a time step, cut further where a corner reaches the ground
    gravity: [m/s^2], shape (3,), as it appears in the units of the recordings
    ground: height of the ground plane [m]
    spread: standard deviation of friction and restitution from throw to throw (relative) and of the direction of
        friction from impact to impact [rad]: what `rollout(..., samples=n)` draws from. Friction of a planar body
        cannot turn: its size differs from impact to impact instead (relative)
    drag: rate [1/s] at which the air, or plates that guide the body, slow it and its spin; in rollouts only
    residual: factors of friction and restitution for what the parameters leave, or None, see laws/impact.py
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
        drag: float = 0.0,
        residual: Residual | None = None,
        info: dict[str, Any] | None = None,
    ) -> None:
        self.body = body
        self.material = ImpactMaterial() if material is None else material
        self.bounces = self.material.restitution > 0
        self.timestep = checked_timestep(timestep)
        self.substeps = checked_substeps(substeps)
        x, y, z = checks.vector("gravity", gravity, 3).tolist()
        self.gravity = (x, y, z)
        self.ground = checks.scalar("ground [m]", ground)
        widths = checks.vector("spread", spread, 3)
        if (widths < 0).any():
            raise checks.InputError(f"spread must not be negative, got {widths.tolist()}.")
        self.spread = tuple(widths.tolist())
        self.drag = checks.non_negative("drag [1/s]", drag)
        if not isinstance(residual, Residual | None):
            raise checks.InputError(f"residual must be a Residual or None, got {checks.shown(residual)}.")
        self.residual = residual
        self.info = checked_info(info)
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
        how = {"memory": int(self.material.memory), "drag": self.drag, "each": each}
        return _core.ImpactLaw(**numbers, **how, **(self.residual or _NOTHING_LEFT).native)

    def friction_at(
        self, speed: ArrayLike, force: ArrayLike, direction: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Coefficient of friction at slip speeds [m/s] under normal forces [N], with the residual.

        direction: of slip [rad]; by default the mean over all directions
        """
        found = self.material.friction_at(speed, force)
        return found if self.residual is None else found * self.residual.friction_factor(speed, force, direction)

    def restitution_at(self, speed: ArrayLike) -> NDArray[np.float64]:
        """Share of its approach speed [m/s] at which a corner leaves again, with the residual."""
        factor = 1.0 if self.residual is None else self.residual.restitution_factor(speed)
        return self.material.restitution_at(speed, factor)

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

    def with_residual(self, residual: Residual | None) -> "ImpactLaw":
        """The same law with this residual, or without one."""
        return ImpactLaw(self.body, self.material, **{**self._options(), "residual": residual})

    def _options(self) -> dict[str, Any]:
        names = ("timestep", "substeps", "gravity", "ground", "spread", "drag", "residual", "info")
        return {name: getattr(self, name) for name in names}

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file holds: a description for JSON, and tensors."""
        same = {name: getattr(self, name) for name in ("timestep", "substeps", "ground", "info")}
        same |= {"drag": self.drag} if self.drag else {}
        description = {"kind": self.KIND, "body": self.body.to_dict(), "gravity": list(self.gravity), **same}
        description["material"] = asdict(self.material)
        tensors = {"spread": np.array(self.spread)}
        if self.residual is not None:
            description["residual"], own = self.residual.to_parts()
            tensors |= {_OF_RESIDUAL + name: array for name, array in own.items()}
        return description, tensors

    @classmethod
    def from_parts(cls, description: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> "ImpactLaw":
        """The law that `to_parts` described."""
        body, material = Body.from_dict(description.pop("body")), ImpactMaterial(**description.pop("material"))
        # Files of earlier versions have arrays for the weights of a network, which are empty in those that shipped.
        own = {name: array for name, array in tensors.items() if name not in _OF_NETWORK or array.size}
        about = description.pop("residual", None)
        if about is not None:
            parts = {name: own.pop(name) for name in list(own) if name.startswith(_OF_RESIDUAL)}
            parts = {name.removeprefix(_OF_RESIDUAL): array for name, array in parts.items()}
            description["residual"] = Residual.from_parts(about, parts)
        check_names("A law of impacts", own, ["spread"])
        return cls(body, material, spread=own["spread"], **description)

    def save(self, path: str | Path) -> None:
        """Write the law to a model file."""
        from stiction.laws.modelfile import save  # which knows all laws, and so imports this module

        save(self, path)

    def __repr__(self) -> str:
        m = self.material
        left = f", residual in {', '.join(self.residual.depends_on)}" if self.residual is not None else ""
        return f"ImpactLaw({self.body.shape}, friction={m.friction:.3g}, restitution={m.restitution:.3g}{left})"
