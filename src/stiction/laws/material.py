"""Materials: friction at a point of contact as a function of slip direction, slip speed and load.

A material belongs to two surfaces that touch, not to a body: learned from throws of one part, it holds for parts of any
other shape, mass and inertia, and for other time steps. `material.on(body)` makes a contact law of it.

    mu(theta, v, N) = scale exp(D(theta) + S(ln v) + L(ln N)) + min(viscosity v / N, 10)

D is a Fourier series of the direction theta in which the body slips over the ground [rad], S and L are smooth curves of
the slip speed v [m/s], taken at the begin of a step, and of the load N of the point [N], an impulse divided by the time
step. The points of a patch then act together as physics has it: see core/friction/point_friction.hpp.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.laws.curves import NO_CURVE, Curve, Restitution, frozen
from stiction.laws.law import NativeLaw, checked_softness, checked_timestep

if TYPE_CHECKING:
    pass

SPEEDS, LOADS = (1e-6, 1e2), (1e-6, 1e5)  # [m/s], [N]: what exact curves cover
MOST_HARMONICS = 64
MOST_SWING = 46.0  # ln 1e20
MOST_PARTS = 1000  # in which an impact comes


@dataclass(frozen=True, eq=False)
class Material:
    """Friction between two surfaces, and how they bounce. Make one by `coulomb`, `anisotropic`, `stribeck` and others.

        ice = Material.stribeck(static=0.2, dynamic=0.05, speed=0.1)
        ice.friction(direction=0.0, speed=[0.01, 1.0], load=10.0)  # coefficients
        law = ice.on(body, timestep=0.001)

    scale: the coefficient where D, S and L are zero
    stretch: (x, y) factors of friction along the axes; of a round cone they make an ellipse, with friction of greatest
        dissipation, and no dependence on direction beside it
    cosines, sines: coefficients of D from the first harmonic on
    speed, load: S and L, or None
    viscosity: friction that grows with speed, whatever the load [N s / m]
    cone: "round": friction opposes slip; "box": the axes slip each by itself, as in DART's Dantzig solver
    limit: "actual": friction is limited by the normal impulse that the point carries; "frictionless": by the one that
        it would carry without friction, as in DART's Dantzig solver. By default the latter for a box, the former for
        a round cone.
    axes: in which directions are told: "world", or "body", by the body's x axis seen from above, or by its y axis where
        the x axis stands upright, within 6 degrees
    restitution: a Restitution, or a coefficient
    parts: in which the impulses of an impact come, in MuJoCo models: with several, friction follows the slip while an
        impact builds up; with one, it opposes the slip after it
    covariance: of (ln scale, cosines, sines, coefficients of speed, of load, viscosity), or None where it is not known
    info: what is known of its origin
    """

    scale: float = 0.5
    stretch: tuple[float, float] = (1.0, 1.0)
    cosines: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    sines: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    speed: Curve | None = None
    load: Curve | None = None
    viscosity: float = 0.0
    cone: str = "round"
    limit: str | None = None
    axes: str = "world"
    restitution: Restitution = field(default_factory=Restitution)
    parts: int = 1
    covariance: NDArray[np.float64] | None = None
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "scale", checks.non_negative("friction", self.scale))
        stretch = checks.vector("stretch", self.stretch, 2)
        set_(self, "stretch", tuple(checks.positive("stretch", part) for part in stretch.tolist()))
        for name in ("cosines", "sines"):
            set_(self, name, frozen(checks.array(name, getattr(self, name), (None,))))
        if self.cosines.shape != self.sines.shape or self.cosines.ndim != 1 or len(self.cosines) > MOST_HARMONICS:
            raise checks.InputError(
                f"Directions need as many cosines as sines, at most {MOST_HARMONICS} of each, got shapes "
                f"{self.cosines.shape} and {self.sines.shape}."
            )
        for name in ("speed", "load"):
            if not isinstance(getattr(self, name), Curve | None):
                raise checks.InputError(f"{name} must be a Curve or None, got {getattr(self, name)!r:.80}.")
        if self.swing + max(np.log(max(self.scale, 1e-300)), 0.0) > MOST_SWING:
            raise checks.InputError(
                "A coefficient of friction must stay below 1e20 whatever the slip and the load; this one is "
                f"{self.scale:.3g}, times up to exp({self.swing:.3g})."
            )
        set_(self, "viscosity", checks.non_negative("viscosity [N s / m]", self.viscosity))
        checks.choice("cone", self.cone, ("box", "round"))
        usual = "frictionless" if self.cone == "box" else "actual"
        set_(self, "limit", checks.choice("limit", self.limit or usual, ("actual", "frictionless")))
        checks.choice("axes", self.axes, ("world", "body"))
        set_(self, "parts", checks.count("parts", self.parts, 1, MOST_PARTS))
        if self.cone == "round" and self.stretch[0] != self.stretch[1] and len(self.cosines):
            raise checks.InputError("An elliptic cone cannot depend on direction in another way too.")
        if not isinstance(self.restitution, Restitution):
            set_(self, "restitution", Restitution(checks.scalar("restitution", self.restitution)))
        if self.covariance is not None:
            n = 2 + 2 * len(self.cosines) + sum(len(c.coefficients) for c in (self.speed, self.load) if c is not None)
            covariance = checks.array("covariance", self.covariance, (n, n)).reshape(-1, n)
            if len(covariance) != n:
                raise checks.InputError(f"covariance must have shape ({n}, {n}), got more of them.")
            set_(self, "covariance", frozen(covariance))

    # Analytic members of the family.

    @classmethod
    def coulomb(cls, friction: float = 0.5, **more: Any) -> "Material":
        """Coulomb's law, the same in all directions; the limit of a box is frictionless by default."""
        return cls(friction, **more)

    @classmethod
    def anisotropic(cls, friction: ArrayLike, *, cone: str = "round", **more: Any) -> "Material":
        """Coulomb's law with coefficients (mu_x, mu_y) along the axes: an ellipse or a box."""
        mu_x, mu_y = (checks.positive("friction", mu) for mu in checks.vector("friction", friction, 2))
        scale = float(np.sqrt(mu_x) * np.sqrt(mu_y))  # whose product may be too small for a number
        return cls.coulomb(scale, cone=cone, stretch=(mu_x / scale, mu_y / scale), **more)

    @classmethod
    def static_dynamic(cls, static: float, dynamic: float, *, speed: float = 0.01, **more: Any) -> "Material":
        """One coefficient at rest and another in motion; half the way between them at a slip of `speed` [m/s]."""
        half = checks.positive("speed [m/s]", speed)
        return cls.of(speed=lambda v: dynamic + (static - dynamic) / (1 + (v / half) ** 2), **more)

    @classmethod
    def stribeck(
        cls, static: float, dynamic: float, *, speed: float = 0.1, viscosity: float = 0.0, **more: Any
    ) -> "Material":
        """Friction that falls from `static` to `dynamic` around a slip of `speed` [m/s], with viscous friction."""
        falls = checks.positive("speed [m/s]", speed)
        return cls.of(
            speed=lambda v: dynamic + (static - dynamic) * np.exp(-((v / falls) ** 2)), viscosity=viscosity, **more
        )

    @classmethod
    def directional(
        cls, forward: float, sideways: float, backward: float, *, heading: float = 0.0, **more: Any
    ) -> "Material":
        """Scales: other friction along `heading` [rad] than against it and across it, smooth in between."""
        ahead, across, back = (np.log(checks.positive("friction", mu)) for mu in (forward, sideways, backward))
        first, second = (ahead - back) / 2, ((ahead + back) / 2 - across) / 2
        turns = np.array([1, 2]) * checks.scalar("heading [rad]", heading)
        parts = np.array([first, second])
        scale = float(np.exp((ahead + back) / 4 + across / 2))
        return cls(scale, cosines=parts * np.cos(turns), sines=parts * np.sin(turns), **more)

    @classmethod
    def viscous(cls, friction: float, viscosity: float, **more: Any) -> "Material":
        """Coulomb's law and a friction of `viscosity` [N s / m] times the slip speed at each point."""
        return cls(friction, viscosity=viscosity, **more)

    @classmethod
    def of(
        cls,
        friction: float = 1.0,
        *,
        direction: Callable[[float], float] | None = None,
        speed: Callable[[float], float] | None = None,
        load: Callable[[float], float] | None = None,
        **more: Any,
    ) -> "Material":
        """The product of a coefficient and positive functions of direction [rad], speed [m/s] and load [N]."""
        for name, function in (("direction", direction), ("speed", speed), ("load", load)):
            if function is not None and not callable(function):
                raise checks.InputError(f"{name} must be a function of one number, got {checks.shown(function)}.")
        if direction is not None:
            more["cosines"], more["sines"], factor = _harmonics(direction)
            friction = friction * factor
        if speed is not None:
            more["speed"] = Curve.of(speed, *SPEEDS)
        if load is not None:
            more["load"] = Curve.of(load, *LOADS)
        return cls(friction, **more)

    # What it is asked for.

    def on(self, body: Body, *, timestep: float = 0.002, softness: float = 0.0) -> "MaterialLaw":
        """The contact law of a body of this material on the ground.

        timestep: [s]; the law holds for any other, too
        softness: share of its own response by which a loaded point yields; 0 is rigid and exact
        """
        pass  # which builds on this module

        return MaterialLaw(self, body, timestep=timestep, softness=softness)

    def friction(
        self, direction: ArrayLike = 0.0, speed: ArrayLike = 0.3, load: ArrayLike = 10.0
    ) -> NDArray[np.float64]:
        """Coefficients of friction of a point that slips: size of friction over load.

        direction: of slip [rad]; speed: of slip [m/s]; load: [N], above zero; arrays of shapes that fit together
        """
        angle, v, n = _places(direction, speed, load)
        if self.cone == "box":
            along = [self._coefficient(np.where(np.cos(angle) > 0, 0.0, np.pi), v, n) * self.stretch[0]]
            along += [self._coefficient(np.where(np.sin(angle) > 0, 0.5, 1.5) * np.pi, v, n) * self.stretch[1]]
            slips = np.abs(np.cos(angle)) > 1e-12, np.abs(np.sin(angle)) > 1e-12
            return np.hypot(along[0] * slips[0], along[1] * slips[1])
        x, y = self.stretch[0] * np.cos(angle), self.stretch[1] * np.sin(angle)
        ellipse = np.hypot(self.stretch[0] * x, self.stretch[1] * y) / np.hypot(x, y)
        return ellipse * self._coefficient(angle, v, n)

    def _coefficient(self, angle: NDArray, speed: NDArray, load: NDArray) -> NDArray[np.float64]:
        flat = (np.ascontiguousarray(part.ravel(), dtype=np.float64) for part in (angle, speed, load))
        return np.asarray(self.native(*flat)).reshape(angle.shape)

    def uncertainty(self, direction: ArrayLike = 0.0, speed: ArrayLike = 0.3, load: ArrayLike = 10.0) -> NDArray:
        """Relative standard error of `friction`; not a number where the covariance is not known."""
        angle, v, n = _places(direction, speed, load)
        if self.covariance is None:
            return np.full(angle.shape, np.nan)
        rows = self.sensitivity(angle.ravel(), v.ravel(), n.ravel())
        variance = np.einsum("ij,jk,ik->i", rows, self.covariance, rows)
        return np.sqrt(np.maximum(variance, 0.0)).reshape(angle.shape)

    def sensitivity(self, direction: NDArray, speed: NDArray, load: NDArray) -> NDArray[np.float64]:
        """Relative change of the coefficient at points (n,) with each parameter (p,), as in `covariance`, (n, p)."""
        harmonics = np.arange(1, len(self.cosines) + 1) * direction[:, np.newaxis]
        columns = [np.ones((len(direction), 1)), np.cos(harmonics), np.sin(harmonics)]
        columns += [curve.basis(x) for curve, x in ((self.speed, speed), (self.load, load)) if curve is not None]
        whole = np.maximum(self._coefficient(direction, speed, load), 1e-300)[:, np.newaxis]
        viscous = (speed / load)[:, np.newaxis]
        is_capped = self.viscosity * viscous > _core.MOST_VISCOUS
        dry = 1 - np.minimum(self.viscosity * viscous, _core.MOST_VISCOUS) / whole
        return np.hstack([dry * np.hstack(columns), np.where(is_capped, 0.0, viscous / whole)])

    def with_info(self, **info: Any) -> "Material":
        """The same material with more told of its origin."""
        return replace(self, info={**self.info, **info})

    @property
    def depends_on(self) -> tuple[str, ...]:
        """What friction depends on: some of direction, speed, load."""
        directed = len(self.cosines) > 0 or self.stretch[0] != self.stretch[1]
        speed, load = self.speed is not None or self.viscosity > 0, self.load is not None or self.viscosity > 0
        return tuple(name for name, is_so in (("direction", directed), ("speed", speed), ("load", load)) if is_so)

    @property
    def swing(self) -> float:
        """What D + S + L does not exceed in size, whatever the slip and the load."""
        directions = sum(float(np.abs(part).sum()) for part in (self.cosines, self.sines))
        return directions + sum(curve.swing for curve in (self.speed, self.load) if curve is not None)

    @property
    def native(self) -> _core.FrictionMap:
        """The friction map as the native core has it."""
        return _core.FrictionMap(
            scale=self.scale,
            stretch_x=self.stretch[0],
            stretch_y=self.stretch[1],
            cosines=self.cosines.tolist(),
            sines=self.sines.tolist(),
            speed=NO_CURVE if self.speed is None else self.speed.native,
            load=NO_CURVE if self.load is None else self.load.native,
            viscosity=self.viscosity,
            round=self.cone == "round",
            frictionless_limit=self.limit == "frictionless",
        )

    def save(self, path: str | Path) -> None:
        """Write the material to a model file."""
        from stiction.laws.modelfile import save  # which knows all that can be saved, and so imports this module

        save(self, path)

    def __repr__(self) -> str:
        depends = f", depends on {', '.join(self.depends_on)}" if self.depends_on else ""
        bounce = f", restitution {self.restitution.e0:g}" if self.restitution.e0 else ""
        return f"Material(friction about {float(self.friction()):.3g}{depends}, {self.cone} cone{bounce})"


def _places(direction: ArrayLike, speed: ArrayLike, load: ArrayLike) -> list[NDArray[np.float64]]:
    """Directions, speeds and loads, checked and of one shape."""
    given = (("direction [rad]", direction), ("speed [m/s]", speed), ("load [N]", load))
    parts = [checks.array(name, part, ()) for name, part in given]
    try:
        angle, v, n = np.broadcast_arrays(*parts)
    except ValueError as error:
        shapes = ", ".join(str(part.shape) for part in parts)
        raise checks.InputError(
            f"direction, speed and load must have shapes that fit together, got {shapes}."
        ) from error
    if (v < 0).any() or (n <= 0).any():
        raise checks.InputError("speed must not be negative and load must be above zero.")
    return [angle, v, n]


def _harmonics(function: Callable[[float], float]) -> tuple[NDArray, NDArray, float]:
    """Fourier coefficients of ln function(angle) from the first harmonic on, as few as are needed, and the factor."""
    angles = np.arange(4 * MOST_HARMONICS) * (2 * np.pi / (4 * MOST_HARMONICS))
    values = checks.array("The function of direction", np.vectorize(function)(angles), (len(angles),))
    if (values <= 0).any():
        raise checks.InputError(f"The function of direction must be positive, got {values.min():g}.")
    series = np.fft.rfft(np.log(values)) / len(angles)
    parts = 2 * series[1 : MOST_HARMONICS + 1]
    count = int(np.flatnonzero(np.abs(parts) > 1e-10)[-1] + 1) if (np.abs(parts) > 1e-10).any() else 0
    return parts[:count].real, -parts[:count].imag, float(np.exp(series[0].real))


# The contact law of a body that is made of a material.


class MaterialLaw(NativeLaw):
    """A material's friction at the points of one body's contact patches, solved exactly.

    A patch of up to 8 vertices is solved at all of them, one of more vertices at 4 that stand for all, so that its cost
    does not grow with their number.

    softness: share of its own response by which a loaded point yields; 0 is rigid and exact
    timestep: [s]; any other will do as well
    """

    _is_reference = False  # solved at every vertex, a box by Dantzig's rule: CoulombLaw

    def __init__(self, material: Material, body: Body, *, timestep: float = 0.002, softness: float = 0.0) -> None:
        if not isinstance(body, Body):
            raise checks.InputError(f"A material is put on a stiction.Body, got {type(body).__name__}.")
        self.material = material
        self.body = body
        self.timestep = checked_timestep(timestep)
        self.softness = checked_softness(softness)
        self.bounces = material.restitution.e0 > 0
        self.rough_friction = _typical(material, body)
        self.rough_cone = material.cone

    @cached_property
    def native(self) -> _core.MaterialLaw:
        """The law as the native core asks it."""
        bounce = self.material.restitution
        mu_x, mu_y = self.rough_friction or (0.0, 0.0)
        return _core.MaterialLaw(
            map=self.material.native,
            e0=bounce.e0,
            fall=bounce.fall,
            threshold=bounce.threshold,
            body_axes=self.material.axes == "body",
            softness=self.softness,
            mu_x=mu_x,
            mu_y=mu_y,
            reference=self._is_reference,
        )

    def impulses(self, contacts: _core.Contacts, i: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The points of contact i relative to the centre of mass (m, 3) [m], and their impulses (m, 3) [N s]."""
        return self.native.impulses(contacts, i)

    @property
    def unsolved(self) -> int:
        """Contacts so far for which no solution was found; the best one seen was taken, under the guards."""
        return self.native.unsolved

    @property
    def info(self) -> dict[str, Any]:
        """What is known of the material's origin."""
        return self.material.info

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "native"}  # made anew where it is needed

    def __repr__(self) -> str:
        return f"MaterialLaw({self.body.shape}, {self.material!r})"


def _typical(material: Material, body: Body) -> tuple[float, float]:
    """Coefficients along x and y at a common slip, under a quarter of the body's weight."""
    mu_x, mu_y = material.friction([0.0, np.pi / 2], 0.3, 0.25 * 9.81 * body.mass).tolist()
    return mu_x, mu_y


# A material as a model file holds it: a description and tensors.


KIND = "material"
_CURVES = ("speed", "load")
_PLAIN = ("scale", "stretch", "viscosity", "cone", "limit", "axes")


def to_parts(material: Material) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """Description and tensors of a material."""
    bounce = material.restitution
    description: dict[str, Any] = {name: getattr(material, name) for name in _PLAIN}
    description |= {
        "kind": KIND,
        "restitution": [bounce.e0, bounce.fall, bounce.threshold],
        "parts": material.parts,
        "curves": {},
        "info": material.info,
    }
    tensors = {"cosines": material.cosines, "sines": material.sines}
    for name in _CURVES:
        curve: Curve | None = getattr(material, name)
        if curve is not None:
            description["curves"][name] = curve_to_parts(curve)
            tensors[name] = np.array(curve.coefficients)
    if material.covariance is not None:
        tensors["covariance"] = material.covariance
    return description, tensors


def curve_to_parts(curve: Curve) -> dict[str, Any]:
    """Description of a curve, whose coefficients are a tensor."""
    return {"begin": curve.begin, "step": curve.step, "seen": list(curve.seen)}


def curve_from_parts(description: dict[str, Any], coefficients: NDArray[Any]) -> Curve:
    """The curve with this description and these coefficients."""
    return Curve(description["begin"], description["step"], coefficients, tuple(description["seen"]))


def from_parts(description: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Material:
    """The material that `to_parts` described; whatever does not fit together is refused."""
    parts = {name: description.pop(name) for name in _PLAIN}
    curves = description.pop("curves")
    if set(curves) - set(_CURVES) or set(tensors) - {"cosines", "sines", "covariance", *curves}:
        raise checks.InputError(
            "A material has curves of speed and load, cosines, sines and a covariance, nothing else."
        )
    for name, of in curves.items():
        parts[name] = curve_from_parts(of, tensors[name])
    parts["restitution"] = Restitution(*description.pop("restitution"))
    parts["parts"] = description.pop("parts", 1)  # files of earlier versions know of none
    info = description.pop("info")
    if description or not isinstance(info, dict):
        raise checks.InputError(f"A material is not described by {', '.join(description) or 'such an info'}.")
    return Material(
        cosines=tensors["cosines"], sines=tensors["sines"], covariance=tensors.get("covariance"), info=info, **parts
    )
