"""Materials: friction at a contact point as a function of slip direction, slip speed and load.

A material belongs to a pair of surfaces, not to a body: learned from throws of one part, it holds for parts of any
other shape, mass and inertia, and for other time steps. `material.on(body)` makes a contact law of it.

    mu(theta, v, N) = scale exp(D(theta) + S(ln v) + L(ln N)) + min(viscosity v / N, 10)

D is a Fourier series of the slip direction theta [rad], S and L are smooth curves of the slip speed v [m/s] at the
start of a step and of the load N of the point [N], its normal impulse divided by the time step. The impulses of all
points of a patch are solved together, with friction of greatest dissipation: see core/friction. A soft contact also
resists turning, by torques of up to `torsion` N about the normal and `rolling` N about the axes across it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.laws.curves import (
    MAX_HARMONICS,
    NO_CURVE,
    TEXTURES,
    Curve,
    Restitution,
    frozen,
    harmonics_of,
    texture_basis,
)
from stiction.laws.law import Saved

if TYPE_CHECKING:
    from stiction.laws.material_law import MaterialLaw

Cone = Literal["box", "round"]
Limit = Literal["actual", "frictionless"]
Axes = Literal["world", "body"]
Face = Literal["corners", "even"]
SPEEDS = (1e-6, 1e2)  # [m/s] range of the curves that are made of functions
_PLAIN = ("scale", "stretch", "viscosity", "cone", "limit", "axes")  # fields that a model file holds as they are
_SOFT = ("torsion", "rolling")  # fields that it holds if they are not None


@dataclass(frozen=True, eq=False)
class Material(Saved):
    """Friction and restitution of two surfaces. Make one by `coulomb`, `anisotropic`, `stribeck` and others.

        ice = Material.stribeck(static=0.2, dynamic=0.05, speed=0.1)
        ice.friction(direction=0.0, speed=[0.01, 1.0], load=10.0)  # coefficients
        law = ice.on(body, timestep=0.001)

    scale: the coefficient where D, S and L are zero
    stretch: (x, y) factors of friction along the axes; a round cone becomes an ellipse, with friction of greatest
        dissipation, and cannot depend on direction otherwise
    cosines, sines: coefficients of D from the first harmonic on
    speed, load: S and L, or None
    viscosity: viscous friction, independent of the load [N s / m]
    torsion, rolling: greatest torque about the normal, and about the axes across it, over the load [m]; None: in
        MuJoCo that of the geoms (condim 4 and 6), elsewhere none
    cone: "round": friction opposes slip; "box": each axis has its own limit, as in DART's Dantzig solver
    limit: "actual": friction is limited by the point's normal impulse; "frictionless": by its normal impulse without
        friction, as in DART's Dantzig solver. By default the latter for a box, the former for a round cone.
    axes: of directions: "world", or "body", by the body's x axis seen from above, or by its y axis if the x axis is
        vertical within 6 degrees
    texture: coefficients of a D that is fixed to the body, on all of its sides: a polynomial of the direction of slip
        in the axes of the body, see `texture_basis`; not in MuJoCo models
    restitution: a Restitution, or a coefficient
    parts: increments of an impact in MuJoCo models: with several, friction follows the slip during the impact; with
        one, it opposes the slip after it
    covariance: of (ln scale, cosines, sines, texture, coefficients of speed, of load, viscosity), or None if unknown
    face: in MuJoCo models: "corners": flat faces carry their load at the corners at which they are detected; "even": by
        a pressure that is linear over the face, with points inside
    info: what is known about its origin
    """

    scale: float = 0.5
    stretch: tuple[float, float] = (1.0, 1.0)
    cosines: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    sines: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    speed: Curve | None = None
    load: Curve | None = None
    viscosity: float = 0.0
    cone: Cone = "round"
    limit: Limit | None = None
    axes: Axes = "world"
    restitution: Restitution = field(default_factory=Restitution)
    parts: int = 1
    torsion: float | None = None
    rolling: float | None = None
    face: Face = "corners"
    texture: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    covariance: NDArray[np.float64] | None = None
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "scale", checks.non_negative("friction", self.scale))
        stretch = checks.vector("stretch", self.stretch, 2)
        set_(self, "stretch", tuple(checks.positive("stretch", part) for part in stretch.tolist()))
        for name in ("cosines", "sines", "texture"):
            set_(self, name, frozen(checks.array(name, getattr(self, name), (None,))))
        if self.cosines.shape != self.sines.shape or self.cosines.ndim != 1 or len(self.cosines) > MAX_HARMONICS:
            raise checks.InputError(
                f"Directions need as many cosines as sines, at most {MAX_HARMONICS} of each, got shapes "
                f"{self.cosines.shape} and {self.sines.shape}."
            )
        if self.texture.ndim != 1 or len(self.texture) not in TEXTURES:
            raise checks.InputError(
                f"A texture has {', '.join(map(str, TEXTURES))} coefficients, got shape {self.texture.shape}."
            )
        for name in ("speed", "load"):
            if not isinstance(getattr(self, name), Curve | None):
                raise checks.InputError(f"{name} must be a Curve or None, got {getattr(self, name)!r:.80}.")
        if self.swing + max(np.log(max(self.scale, 1e-300)), 0.0) > 46:  # ln 1e20
            raise checks.InputError(
                "A coefficient of friction must stay below 1e20 for any slip and load; this one is "
                f"{self.scale:.3g}, times up to exp({self.swing:.3g})."
            )
        set_(self, "viscosity", checks.non_negative("viscosity [N s / m]", self.viscosity))
        for name in ("torsion", "rolling"):
            if (coefficient := getattr(self, name)) is not None:
                set_(self, name, checks.non_negative(f"{name} [m]", coefficient))
        checks.choice("cone", self.cone, get_args(Cone))
        usual = "frictionless" if self.cone == "box" else "actual"
        set_(self, "limit", checks.choice("limit", self.limit or usual, get_args(Limit)))
        checks.choice("axes", self.axes, get_args(Axes))
        checks.choice("face", self.face, get_args(Face))
        set_(self, "parts", checks.count("parts", self.parts, 1, 1000))
        if self.cone == "round" and self.stretch[0] != self.stretch[1] and len(self.cosines):
            raise checks.InputError("An elliptic cone cannot also depend on direction by cosines and sines.")
        if len(self.texture) and (self.cone == "box" or self.stretch[0] != self.stretch[1] or len(self.cosines)):
            raise checks.InputError("A texture needs a round cone that does not depend on direction otherwise.")
        if not isinstance(self.restitution, Restitution):
            set_(self, "restitution", Restitution(checks.scalar("restitution", self.restitution)))
        if self.covariance is not None:
            n = (
                2
                + 2 * len(self.cosines)
                + len(self.texture)
                + sum(len(c.coefficients) for c in (self.speed, self.load) if c is not None)
            )
            covariance = checks.array("covariance", self.covariance, (n, n)).reshape(-1, n)
            if len(covariance) != n:
                raise checks.InputError(
                    f"covariance must have shape ({n}, {n}), got shape {np.shape(self.covariance)}."
                )
            set_(self, "covariance", frozen(covariance))

    @classmethod
    def coulomb(cls, friction: float = 0.5, **more: Any) -> "Material":
        """Coulomb's law, the same in all directions; more: any other fields of Material, here and below."""
        return cls(friction, **more)

    @classmethod
    def anisotropic(cls, friction: ArrayLike, *, cone: Cone = "round", **more: Any) -> "Material":
        """Coulomb's law with coefficients (mu_x, mu_y) along the axes: an ellipse or a box."""
        mu_x, mu_y = (checks.positive("friction", mu) for mu in checks.vector("friction", friction, 2))
        scale = float(np.sqrt(mu_x) * np.sqrt(mu_y))  # whose product might underflow
        return cls.coulomb(scale, cone=cone, stretch=(mu_x / scale, mu_y / scale), **more)

    @classmethod
    def static_dynamic(cls, static: float, dynamic: float, *, speed: float = 0.01, **more: Any) -> "Material":
        """One coefficient at rest and another in motion; halfway between them at a slip of `speed` [m/s]."""
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
        """Different friction along `heading` [rad], against it and across it, as of scales, smooth in between."""
        ahead, across, back = (np.log(checks.positive("friction", mu)) for mu in (forward, sideways, backward))
        first, second = (ahead - back) / 2, ((ahead + back) / 2 - across) / 2
        turns = np.array([1, 2]) * checks.scalar("heading [rad]", heading)
        parts = np.array([first, second])
        scale = float(np.exp((ahead + back) / 4 + across / 2))
        return cls(scale, cosines=parts * np.cos(turns), sines=parts * np.sin(turns), **more)

    @classmethod
    def viscous(cls, friction: float, viscosity: float, **more: Any) -> "Material":
        """Coulomb's law plus a friction force of `viscosity` [N s / m] times the slip speed at each point."""
        return cls(friction, viscosity=viscosity, **more)

    @classmethod
    def soft(cls, friction: float, torsion: float = 0.0, rolling: float = 0.0, **more: Any) -> "Material":
        """Coulomb's law at a soft point, as of a fingertip or a tyre, which also resists spinning and rolling.

        torsion, rolling: greatest torque about the normal, and about the axes across it, over the load [m], as in
            MuJoCo; torsion is about the coefficient of friction times two thirds of the radius of the area of contact
        """
        return cls(friction, torsion=torsion, rolling=rolling, **more)

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
            more["cosines"], more["sines"], factor = harmonics_of(direction)
            friction = friction * factor
        if speed is not None:
            more["speed"] = Curve.of(speed, *SPEEDS)
        if load is not None:
            more["load"] = Curve.of(load, 1e-6, 1e5)
        return cls(friction, **more)

    def on(self, body: Body, *, timestep: float = 0.002, softness: float = 0.0) -> "MaterialLaw":
        """The contact law of a body of this material on the ground.

        timestep: [s]; the law holds for any other as well
        softness: compliance of a loaded point relative to its inverse effective inertia; 0 is rigid and exact
        """
        from stiction.laws.material_law import MaterialLaw  # which builds on materials

        return MaterialLaw(self, body, timestep=timestep, softness=softness)

    def friction(
        self, direction: ArrayLike = 0.0, speed: ArrayLike = 0.3, load: ArrayLike = 10.0
    ) -> NDArray[np.float64]:
        """Coefficients of friction of a slipping point: friction force over load.

        direction: of slip [rad], in the x-y plane of a body that has a texture
        speed: of slip [m/s]; load: [N], above zero; the arrays are broadcast
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
        """Relative standard error of `friction`; NaN if the covariance is unknown."""
        angle, v, n = _places(direction, speed, load)
        if self.covariance is None:
            return np.full(angle.shape, np.nan)
        rows = self.sensitivity(angle.ravel(), v.ravel(), n.ravel())
        variance = np.einsum("ij,jk,ik->i", rows, self.covariance, rows)
        return np.sqrt(np.maximum(variance, 0.0)).reshape(angle.shape)

    def sensitivity(self, direction: NDArray, speed: NDArray, load: NDArray) -> NDArray[np.float64]:
        """Relative derivative of the coefficient at points (n,) by each parameter (p,) of `covariance`, (n, p)."""
        harmonics = np.arange(1, len(self.cosines) + 1) * direction[:, np.newaxis]
        flat = np.stack([np.cos(direction), np.sin(direction), np.zeros(len(direction))], axis=1)
        columns = [np.ones((len(direction), 1)), np.cos(harmonics), np.sin(harmonics)]
        columns.append(texture_basis(flat, len(self.texture)))
        columns += [curve.basis(x) for curve, x in ((self.speed, speed), (self.load, load)) if curve is not None]
        whole = np.maximum(self._coefficient(direction, speed, load), 1e-300)[:, np.newaxis]
        viscous = (speed / load)[:, np.newaxis]
        is_capped = self.viscosity * viscous > _core.MOST_VISCOUS
        dry = 1 - np.minimum(self.viscosity * viscous, _core.MOST_VISCOUS) / whole
        return np.hstack([dry * np.hstack(columns), np.where(is_capped, 0.0, viscous / whole)])

    def with_info(self, **info: Any) -> "Material":
        """The same material with more `info` about its origin."""
        return replace(self, info={**self.info, **info})

    @property
    def depends_on(self) -> tuple[str, ...]:
        """What friction depends on: some of direction, speed, load."""
        directed = len(self.cosines) > 0 or len(self.texture) > 0 or self.stretch[0] != self.stretch[1]
        speed, load = self.speed is not None or self.viscosity > 0, self.load is not None or self.viscosity > 0
        return tuple(name for name, is_so in (("direction", directed), ("speed", speed), ("load", load)) if is_so)

    @property
    def swing(self) -> float:
        """An upper bound of |D + S + L| for any slip and load."""
        directions = sum(float(np.abs(part).sum()) for part in (self.cosines, self.sines, self.texture))
        return directions + sum(curve.swing for curve in (self.speed, self.load) if curve is not None)

    @property
    def native(self) -> _core.FrictionMap:
        """The friction map in the native core."""
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
            torsion=-1.0 if self.torsion is None else self.torsion,
            rolling=-1.0 if self.rolling is None else self.rolling,
            texture=self.texture.tolist(),
        )

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
        """Description for JSON, and tensors, for a model file."""
        bounce = self.restitution
        description: dict[str, Any] = {name: getattr(self, name) for name in (*_PLAIN, "parts", "info")}
        course = [bounce.duration, bounce.lever, bounce.lag]  # not in files of earlier versions
        bounces = [bounce.e0, bounce.fall, bounce.threshold, *(course if any(course) else [])]
        description |= {"kind": "material", "restitution": bounces}
        description |= {name: getattr(self, name) for name in _SOFT if getattr(self, name) is not None}
        description |= {"face": self.face} if self.face != "corners" else {}
        curves = {name: curve for name, curve in (("speed", self.speed), ("load", self.load)) if curve is not None}
        description["curves"] = {name: curve.to_dict() for name, curve in curves.items()}
        tensors = {"cosines": self.cosines, "sines": self.sines}
        tensors |= {name: np.array(curve.coefficients) for name, curve in curves.items()}
        tensors |= {"texture": self.texture} if len(self.texture) else {}
        return description, tensors if self.covariance is None else {**tensors, "covariance": self.covariance}

    @classmethod
    def from_parts(cls, description: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> "Material":
        """The material that `to_parts` described."""
        rest = {name: value for name, value in description.items() if name != "kind"}
        parts = {name: rest.pop(name) for name in _PLAIN}
        curves = rest.pop("curves")
        if set(curves) - {"speed", "load"} or set(tensors) - {"cosines", "sines", "texture", "covariance", *curves}:
            raise checks.InputError(
                "A material may have curves of speed and load, cosines, sines, a texture and a covariance, got "
                f"{checks.shown(sorted({*curves, *tensors}))}."
            )
        parts |= {name: Curve.from_dict(curve, tensors[name]) for name, curve in curves.items()}
        parts["restitution"] = Restitution(*rest.pop("restitution"))
        parts["parts"] = rest.pop("parts", 1)  # missing in files of earlier versions
        parts |= {name: rest.pop(name) for name in _SOFT if name in rest}
        parts["face"] = rest.pop("face", "corners")
        info = rest.pop("info")
        if rest or not isinstance(info, dict):
            raise checks.InputError(f"A material's description has an unknown {', '.join(rest) or 'type of info'}.")
        return cls(
            cosines=tensors["cosines"], sines=tensors["sines"], texture=tensors.get("texture", np.empty(0)),
            covariance=tensors.get("covariance"), info=info, **parts,
        )  # fmt: skip

    def __repr__(self) -> str:
        depends = f", depends on {', '.join(self.depends_on)}" if self.depends_on else ""
        bounce = f", restitution {self.restitution.e0:g}" if self.restitution.e0 else ""
        soft = "".join(f", {name} {1e3 * value:g} mm" for name in _SOFT if (value := getattr(self, name)))
        return f"Material(friction about {float(self.friction()):.3g}{depends}, {self.cone} cone{bounce}{soft})"


def _places(direction: ArrayLike, speed: ArrayLike, load: ArrayLike) -> list[NDArray[np.float64]]:
    """Directions, speeds and loads, checked and broadcast."""
    given = (("direction [rad]", direction), ("speed [m/s]", speed), ("load [N]", load))
    parts = [checks.array(name, part, ()) for name, part in given]
    try:
        angle, v, n = np.broadcast_arrays(*parts)
    except ValueError as error:
        shapes = ", ".join(str(part.shape) for part in parts)
        raise checks.InputError(f"direction, speed and load must broadcast together, got {shapes}.") from error
    if (v < 0).any() or (n <= 0).any():
        raise checks.InputError(f"speed must be 0 or more and load above 0, got {v.min():g} m/s and {n.min():g} N.")
    return [angle, v, n]
