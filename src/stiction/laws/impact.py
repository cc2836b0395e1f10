"""A contact law for real bodies: impacts with restitution, and friction that follows the slip during an impact.

It plugs into Algorithm 1: its classifier C is DYNAMIC unless the body comes to rest, and its regressor R is the
friction of greatest dissipation of the patch as a whole: core/laws/impact.hpp. It stays beside `Material`, which acts
at single points, because friction, spin and restitution of the whole patch are what forecasts of real tosses rest on.
"""

from dataclasses import KW_ONLY, asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.laws.approximators import check_names, taken
from stiction.laws.curves import NO_CURVE, Curve, Restitution
from stiction.laws.law import GRAVITY, NativeLaw, Saved, checked_info, checked_substeps, checked_timestep
from stiction.laws.material import Material


@dataclass(frozen=True, eq=False)
class Residual:
    """Learned correction factors of friction and restitution.

    friction: a material in world axes whose coefficient is the factor: `Material(1.0, speed=..., load=...)`
    restitution: the logarithm of the factor as a curve of the approach speed [m/s], or None
    """

    friction: Material = field(default_factory=lambda: Material(1.0))
    restitution: Curve | None = None

    def __post_init__(self) -> None:
        m, bounce = self.friction, self.restitution
        if not isinstance(m, Material) or not isinstance(bounce, Curve | None):
            raise checks.InputError(f"A residual is a Material and a Curve or None, got {m!r:.80} and {bounce!r:.80}.")
        if m.axes != "world" or m.viscosity or m.cone != "round" or m.limit != "actual" or m.stretch != (1.0, 1.0):
            raise checks.InputError(
                "The friction of a residual may have a scale, directions in world axes and curves only."
            )
        swings = [abs(np.log(max(m.scale, 1e-300))) + m.swing, 0.0 if bounce is None else bounce.swing]
        if max(swings) > np.log(100):
            raise checks.InputError(
                "A residual may change friction and restitution by a factor of up to 100, this one by up to "
                f"exp({max(swings):.3g})."
            )

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The corrections: some of direction, speed, load (of friction) and restitution."""
        return (*self.friction.depends_on, *(() if self.restitution is None else ("restitution",)))

    def friction_factor(
        self, speed: ArrayLike, force: ArrayLike, direction: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Factors at slip speeds [m/s], forces [N] and directions [rad], by default averaged over all directions."""
        if direction is not None or len(self.friction.cosines) == 0:
            return self.friction.friction(0.0 if direction is None else direction, speed, force)
        around = np.arange(64) * (2 * np.pi / 64)
        places = np.broadcast_arrays(np.asarray(speed, dtype=np.float64), np.asarray(force, dtype=np.float64))
        return self.friction.friction(around, *(place[..., np.newaxis] for place in places)).mean(axis=-1)

    def restitution_factor(self, speed: ArrayLike) -> NDArray[np.float64]:
        """Factors at approach speeds [m/s]."""
        at = np.asarray(speed, dtype=np.float64)
        return np.ones(at.shape) if self.restitution is None else np.exp(self.restitution(at))

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Description for JSON, and tensors, for a model file."""
        description, tensors = self.friction.to_parts()
        found = {"friction": description}
        tensors = {f"friction.{name}": array for name, array in tensors.items()}
        if self.restitution is not None:
            found["restitution"] = self.restitution.to_dict()
            tensors["restitution"] = np.array(self.restitution.coefficients)
        return found, tensors

    @classmethod
    def from_parts(cls, description: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> "Residual":
        """The residual that `to_parts` described."""
        if set(description) - {"friction", "restitution"}:
            raise checks.InputError(
                f"A residual's description may have friction and restitution, got {checks.shown(sorted(description))}."
            )
        parts = {name.removeprefix("friction."): array for name, array in tensors.items() if name != "restitution"}
        material = Material.from_parts(description["friction"], parts)
        if "restitution" not in description:
            check_names("A residual without restitution", tensors, [f"friction.{name}" for name in parts])
            return cls(material)
        return cls(material, Curve.from_dict(description["restitution"], tensors["restitution"]))


INCREMENTS = 8  # default number of increments of an impact
# [m/s] reference speeds of the parameters of restitution and friction, and lower limit of the slip in the coefficient
# of friction, as in core/laws/impact.cpp
RESTITUTION_SPEED, SLIP_SPEED, SLOWEST_SLIP = _core.RESTITUTION_SPEED, 0.3, 0.02
IMPACT_SPEED = 1.0  # [m/s] at which the restitution of a law is reported
IMPACT_TIME = 1.7e-3  # [s] over which the normal impulse of an impact acts, as in core/laws/impact.cpp
# Variation of the bodies of a batch, a row for each, or one for all: factors of friction and restitution, then the
# rotations of friction [rad] in successive impacts.
_NO_VARIATION = np.array([[1.0, 1.0, 0.0]])


@dataclass(frozen=True)
class ImpactMaterial:
    """Parameters of friction and restitution between a body and the ground.

    restitution, restitution_fall, restitution_threshold: e(v) = e0 (v / 0.5 m/s)^-fall (1 - threshold / v) for an
        approach speed v above the threshold [m/s], 0 below it
    restitution_lever: relative growth of restitution with the rotational share of the inverse effective inertia, which
        is 0 below the centre of mass and tends to 1 far from it
    friction, friction_loaded: coefficient without load at a slip of 0.3 m/s, and under infinite load
    friction_load: force [N] at which the coefficient is halfway between the two
    friction_rise: relative growth of `friction` per factor of ten in slip speed
    spin: effective radius of torsional friction, relative to the patch's radius
    memory: increments of an impact, in each of which friction follows the slip; 1: no increments
    lag: delay of friction behind the slip, as a share of an impact
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
            checks.between(entry.name, getattr(self, entry.name), -1e20, 1e20)
        checks.between("restitution", self.restitution, 0, 1)
        for name in ("restitution_threshold", "friction", "friction_loaded", "spin", "lag"):
            checks.non_negative(name, getattr(self, name))
        checks.positive("friction_load [N]", self.friction_load)
        checks.count("memory", self.memory, 1, 1000)
        checks.between("restitution_fall", self.restitution_fall, -10, 10)

    def restitution_at(self, speed: ArrayLike, factor: ArrayLike = 1.0) -> NDArray[np.float64]:
        """Coefficients of restitution at approach speeds [m/s] of any shape; factor: of `restitution`."""
        v = np.maximum(np.asarray(speed, dtype=np.float64), 1e-9)
        e0 = np.minimum(self.restitution * np.asarray(factor), 1.0)
        found = e0 * (v / RESTITUTION_SPEED) ** -self.restitution_fall * (1 - self.restitution_threshold / v)
        return np.clip(found, 0.0, 1.0)

    def friction_at(self, speed: ArrayLike, force: ArrayLike) -> NDArray[np.float64]:
        """Coefficients of friction at slip speeds [m/s] under normal forces [N], which are broadcast."""
        slip = np.maximum(np.asarray(speed, dtype=np.float64), SLOWEST_SLIP)
        light = self.friction * (1 + self.friction_rise * np.log10(slip / SLIP_SPEED))
        share = 1 / (1 + np.asarray(force, dtype=np.float64) / self.friction_load)
        return np.maximum(0.0, self.friction_loaded + (light - self.friction_loaded) * share)


@dataclass(eq=False, repr=False)
class ImpactLaw(Saved, NativeLaw):
    """The law of one body on one ground, with the parameters of `ImpactMaterial`.

    timestep: [s]
    substeps: equal parts of a time step, cut further where a corner reaches the ground
    gravity: [m/s^2], shape (3,), as measured in the recordings
    ground: height of the ground plane [m]
    spread: standard deviation of friction and restitution from throw to throw (relative) and of the direction of
        friction from impact to impact [rad], from which `rollout(..., samples=n)` draws. Friction of a planar body has
        no direction: its magnitude varies from impact to impact instead (relative)
    drag: damping rate [1/s] of velocity and spin by the air or by guiding plates; in rollouts only
    residual: learned correction factors of friction and restitution, or None
    point_material: the same contact as a material, as fitted to the recordings, or None: see `as_material`
    info: what is known about the law's origin
    """

    body: Body
    material: ImpactMaterial = field(default_factory=ImpactMaterial)
    _: KW_ONLY
    timestep: float = 0.002
    substeps: int = 4
    gravity: Any = GRAVITY
    ground: float = 0.0
    spread: Any = (0.0, 0.0, 0.0)
    drag: float = 0.0
    residual: Residual | None = None
    point_material: Material | None = None
    info: Any = None
    KIND = "impact"  # its name in model files
    _variation = _NO_VARIATION

    def __post_init__(self) -> None:
        self.bounces = self.material.restitution > 0
        self.timestep = checked_timestep(self.timestep)
        self.substeps = checked_substeps(self.substeps)
        self.gravity = tuple(checks.vector("gravity", self.gravity, 3).tolist())
        self.ground = checks.scalar("ground [m]", self.ground)
        self.spread = tuple(checks.vector("spread", self.spread, 3).tolist())
        if min(self.spread) < 0:
            raise checks.InputError(f"spread must not be negative, got {list(self.spread)}.")
        self.drag = checks.non_negative("drag [1/s]", self.drag)
        if not isinstance(self.residual, Residual | None):
            raise checks.InputError(f"residual must be a Residual or None, got {checks.shown(self.residual)}.")
        if not isinstance(self.point_material, Material | None):
            raise checks.InputError(
                f"point_material must be a Material or None, got {checks.shown(self.point_material)}."
            )
        self.info = checked_info(self.info)

    @property
    def native(self) -> _core.ImpactLaw:
        """The law in the native core."""
        return self.native_for(slice(None))

    def native_for(self, bodies: slice) -> _core.ImpactLaw:
        """The same for some bodies of a batch."""
        each = self._variation if len(self._variation) == 1 else self._variation[bodies]
        residual = self.residual or Residual()
        return _core.ImpactLaw(
            **vars(self.material),
            drag=self.drag,
            each=each if len(each) > 0 else _NO_VARIATION,  # of an empty batch
            friction_factor=residual.friction.native,
            restitution_factor=NO_CURVE if residual.restitution is None else residual.restitution.native,
        )

    def friction_at(
        self, speed: ArrayLike, force: ArrayLike, direction: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Coefficients of friction at slip speeds [m/s] under normal forces [N], with the residual.

        direction: of slip [rad]; by default the mean over all directions
        """
        found = self.material.friction_at(speed, force)
        return found if self.residual is None else found * self.residual.friction_factor(speed, force, direction)

    def restitution_at(self, speed: ArrayLike) -> NDArray[np.float64]:
        """Coefficients of restitution at approach speeds [m/s], with the residual."""
        factor = 1.0 if self.residual is None else self.residual.restitution_factor(speed)
        return self.material.restitution_at(speed, factor)

    def drawn(self, number: int, seed: int) -> "ImpactLaw":
        """The laws of `number` bodies, drawn from this law's uncertainty."""
        rng = np.random.default_rng(seed)
        friction, restitution, turn = self.spread
        factors = np.exp(rng.standard_normal((number, 2)) * [friction, restitution])
        law = self.with_material()
        law._variation = np.hstack([factors, turn * rng.standard_normal((number, 32))])
        return law

    def with_material(self, **changes: float) -> "ImpactLaw":
        """The same law with some parameters of its material changed."""
        kept = None if changes else self.point_material
        return replace(self, material=replace(self.material, **changes), point_material=kept)

    def with_spread(self, spread: ArrayLike) -> "ImpactLaw":
        """The same law with another uncertainty."""
        return replace(self, spread=spread)

    def with_residual(self, residual: Residual | None) -> "ImpactLaw":
        """The same law with this residual, or without one."""
        return replace(self, residual=residual, point_material=None)

    def as_material(self) -> Material:
        """The same contact as a material, for any geom, pair, body and time step of MuJoCo models.

        The material that was fitted to the recordings, or else the law's own friction and restitution at each contact
        point. The material has no torsional friction of a patch. The coefficient depends on speed as it does under the
        body's weight, and on load as it does at a slip of 0.3 m/s.

            sim = stiction.mujoco.Simulation(model, laws={("part", "floor"): stiction.load("cube").as_material()})
        """
        return self.point_material or _converted(self)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Description for JSON, and tensors, for a model file."""
        same = {name: getattr(self, name) for name in ("timestep", "substeps", "ground", "info")}
        same |= {"drag": self.drag} if self.drag else {}
        description = {"kind": self.KIND, "body": self.body.to_dict(), "gravity": list(self.gravity), **same}
        description["material"] = asdict(self.material)
        tensors = {"spread": np.array(self.spread)}
        if self.residual is not None:
            description["residual"], parts = self.residual.to_parts()
            tensors |= {f"residual.{name}": array for name, array in parts.items()}
        if self.point_material is not None:
            description["point_material"], parts = self.point_material.to_parts()
            tensors |= {f"point_material.{name}": array for name, array in parts.items()}
        return description, tensors

    @classmethod
    def from_parts(cls, description: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> "ImpactLaw":
        """The law that `to_parts` described."""
        body, material = Body.from_dict(description.pop("body")), ImpactMaterial(**description.pop("material"))
        # Files of earlier versions have arrays for the weights of a network, which are empty in those that shipped.
        old = ("residual.inner", "residual.outer")
        rest = {name: array for name, array in tensors.items() if name not in old or array.size}
        if description.get("residual") is not None:
            description["residual"] = Residual.from_parts(description["residual"], taken(rest, "residual."))
        if description.get("point_material") is not None:
            parts = taken(rest, "point_material.")
            description["point_material"] = Material.from_parts(description["point_material"], parts)
        check_names("An impact law", rest, ["spread"])
        return cls(body, material, spread=rest["spread"], **description)

    def __repr__(self) -> str:
        friction = float(self.friction_at(SLIP_SPEED, self.body.mass * float(np.linalg.norm(self.gravity))))
        left = f", residual in {', '.join(self.residual.depends_on)}" if self.residual is not None else ""
        bounce = float(self.restitution_at(IMPACT_SPEED))
        return f"ImpactLaw({self.body.shape}, friction={friction:.3f}, restitution={bounce:.3f}{left})"


def _converted(law: ImpactLaw) -> Material:
    """The law's friction and restitution as those of single points."""
    residual = law.residual or Residual()
    weight = law.body.mass * float(np.linalg.norm(law.gravity))
    factor = replace(residual.friction, cosines=np.empty(0), sines=np.empty(0))

    def friction(speed: ArrayLike, load: ArrayLike) -> NDArray[np.float64]:
        return np.maximum(law.material.friction_at(speed, load) * factor.friction(0.0, speed, load), 1e-6)

    usual = float(friction(SLIP_SPEED, weight))
    e0 = law.material.restitution * float(residual.restitution_factor(IMPACT_SPEED))
    return Material(
        usual,
        cosines=residual.friction.cosines,
        sines=residual.friction.sines,
        # Knots far enough apart that a covariance of their coefficients stays small.
        speed=Curve.of(lambda v: friction(v, weight) / usual, SLOWEST_SLIP, 20.0, spacing=0.35),
        load=Curve.of(lambda n: friction(SLIP_SPEED, n) / usual, 1e-3, 1e5, spacing=0.5),
        restitution=Restitution(
            min(e0, 1.0),
            law.material.restitution_fall,
            law.material.restitution_threshold,
            IMPACT_TIME,
            float(np.clip(law.material.restitution_lever, -1.0, 10.0)),
            min(law.material.lag, 1.0),
        ),
        parts=law.material.memory,
        info={"source": "converted from an impact law, not fitted"},
    )
