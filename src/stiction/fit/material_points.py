"""Contact patches of all kinds: what a material's law makes of them, by the native solver, beside what was seen."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.bodies.body import Body
from stiction.bodies.state import Kind, Mode
from stiction.fit.friction_structure import Model, Structure
from stiction.fit.observed import Observed, joined
from stiction.laws.material import Material

# Sliding contacts of a single point, where friction shows at once: its size over the load is the coefficient.


_LEAST_COEFFICIENT = 0.2  # of the usual coefficient: friction below it is not measured in shares of itself
_NONE = 1e-6  # share of the usual coefficient below which a point has no friction: a guard of the physics took it
_STUCK = 1e-4  # slip, in shares of the speed that the impulse can change, below which a point holds but yields a little
_TURN = 1e-5  # finite difference of ln stretch


@dataclass(frozen=True)
class SlidingPoints:
    """Single points that slide, n of them.

    friction: impulse (n, 2) [N s]; slip: velocity after the step (n, 2) [m/s]; speed: of slip at its begin (n,) [m/s]
    stuck: speed of slip after the step up to which a point holds, but for what simulators let it yield (n,) [m/s]
    normal, frictionless: normal impulses (n,), the actual one and the one that there would be without friction [N s]
    size: of friction, that errors are measured in (n,) [N s]
    axis: the body's x axis seen from above, (n, 2); timestep: (n,) [s]; throw: (n,)
    """

    friction: NDArray[np.float64]
    slip: NDArray[np.float64]
    speed: NDArray[np.float64]
    stuck: NDArray[np.float64]
    normal: NDArray[np.float64]
    frictionless: NDArray[np.float64]
    size: NDArray[np.float64]
    axis: NDArray[np.float64]
    timestep: NDArray[np.float64]
    throw: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.speed)

    def part(self, which: NDArray) -> "SlidingPoints":
        """Some of the points, by index or by mask."""
        return replace(self, **{name: value[which] for name, value in vars(self).items()})

    def typical(self) -> float:
        """The median coefficient."""
        return usual_coefficient(np.linalg.norm(self.friction, axis=1) / self.normal)

    def loads(self, structure: Structure) -> NDArray[np.float64]:
        """Normal impulses that limit friction (n,) [N s]."""
        return self.normal if structure.limit == "actual" else self.frictionless

    def residuals(self, model: Model, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Error of friction over its size, (n, 2), where normal impulse and direction of slip are as observed."""
        material, observed, error = model.material(theta), self._in_axes(self.friction, model.structure), 0.0
        slips = np.zeros((len(self), 2), dtype=np.bool_)
        for angle, along in self._pushes(model.structure, material):
            error = error + self._coefficients(material, angle, model.structure)[:, np.newaxis] * along
            slips |= (along != 0) | (model.structure.cone == "round")
        return np.where(slips, error - observed, 0.0) / self.size[:, np.newaxis]

    def jacobian(self, model: Model, theta: NDArray[np.float64], residuals: NDArray) -> NDArray[np.float64]:
        """Derivatives (n, 2, p) of the residuals with the parameters."""
        structure, material = model.structure, model.material(theta)
        J = np.zeros((len(self), 2, model.size))
        own = model.size - structure.stretch
        for angle, along in self._pushes(structure, material):
            mu = self._coefficients(material, angle, structure) / self.size
            slopes = material.sensitivity(angle, self.speed, self.loads(structure) / self.timestep)[:, :own]
            J[..., :own] += (mu[:, np.newaxis] * along)[..., np.newaxis] * slopes[:, np.newaxis]
        if structure.stretch:
            moved = theta.copy()
            moved[-1] += _TURN
            J[..., -1] = (self.residuals(model, moved) - residuals) / _TURN
        return J

    def _coefficients(self, material: Material, angle: NDArray, structure: Structure) -> NDArray[np.float64]:
        return np.asarray(material.native(angle, self.speed, self.loads(structure) / self.timestep))

    def _pushes(self, structure: Structure, material: Material) -> list[tuple[NDArray, NDArray]]:
        """Directions of slip (n,) [rad], with friction (n, 2) for a coefficient of one there; they add up."""
        load, slip = self.loads(structure)[:, np.newaxis], self._in_axes(self.slip, structure)
        if structure.cone == "round":
            stretched = slip * material.stretch
            size = np.linalg.norm(stretched, axis=1, keepdims=True)
            return [(np.arctan2(slip[:, 1], slip[:, 0]), -load * material.stretch * stretched / size)]
        slides = np.abs(slip) > self.stuck[:, np.newaxis]
        push = np.where(slides, -load * np.sign(slip), 0.0)
        along_x, along_y = np.where(slip[:, 0] < 0, np.pi, 0.0), np.where(slip[:, 1] < 0, 1.5, 0.5) * np.pi
        return [(along_x, push * (1.0, 0.0)), (along_y, push * (0.0, 1.0))]

    def _in_axes(self, vectors: NDArray, structure: Structure) -> NDArray[np.float64]:
        """Vectors (n, 2) of the world in the axes of the structure."""
        if structure.axes == "world":
            return vectors
        (x, y), (a, b) = vectors.T, self.axis.T
        return np.stack([a * x + b * y, a * y - b * x], axis=1)


def sliding_points(observed: Observed) -> SlidingPoints:
    """The sliding points among observed contacts."""
    part = observed[observed.kind == Kind.POINT].sliding()
    contacts = part.contacts()
    record: Any = contacts.record
    part = part[record.index]
    arm = record.centre
    before, free, after = (_velocity(twist, arm) for twist in (record.before, record.velocity, part.after))
    push = np.hstack([np.tile((0.0, 0.0, 1.0), (len(arm), 1)), np.cross(arm, (0.0, 0.0, 1.0))])
    response = np.einsum("ni,nij,nj->n", push, contacts.inverse_inertia, push)
    points = SlidingPoints(
        friction=part.impulse[:, :2],
        slip=after[:, :2],
        speed=np.linalg.norm(before[:, :2], axis=1),
        stuck=_STUCK * response * np.linalg.norm(part.impulse[:, :3], axis=1),
        normal=part.impulse[:, 2],
        frictionless=-free[:, 2] / response,
        size=np.linalg.norm(part.impulse[:, :2], axis=1),
        axis=_level_axis(record.rotation),
        timestep=np.full(len(arm), part.setting.timestep),
        throw=part.throw,
    )
    slips = np.linalg.norm(points.slip, axis=1) > points.stuck
    return points.part(slips & (points.normal > 0) & (points.frictionless > 0))


def _velocity(twist: NDArray[np.float64], arm: NDArray[np.float64]) -> NDArray[np.float64]:
    """Velocity (n, 3) of the points at `arm` (n, 3)."""
    return twist[:, :3] + np.cross(twist[:, 3:], arm).astype(np.float64)


def joined_points(parts: list[SlidingPoints]) -> SlidingPoints:
    """Points of several bodies together, without those that have no friction."""
    points = SlidingPoints(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in vars(parts[0])})
    usual = points.typical() * points.normal if len(points) else points.normal
    points = replace(points, size=np.hypot(points.size, _LEAST_COEFFICIENT * usual))
    return points.part(np.linalg.norm(points.friction, axis=1) >= _NONE * usual)


def usual_coefficient(coefficients: NDArray[np.float64]) -> float:
    """Their median, within what is fitted: hardly any friction is some, too."""
    return float(np.clip(np.median(coefficients), 1e-3, 1e3))


def _level_axis(rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    """The body's x axis seen from above, (n, 2), for rotations (n, 3, 3); its y axis where x stands upright."""
    x = rotation[:, :2, 0]
    axis = np.where((x**2).sum(axis=1, keepdims=True) < 0.01, rotation[:, :2, 1], x)
    return axis / np.linalg.norm(axis, axis=1, keepdims=True)


KINDS = (Kind.POINT, Kind.LINE, Kind.SURFACE)
_LEAST_SHARE = 0.05  # of the normal impulse: friction below it is not measured in shares of itself
_STEP = 1e-4  # of finite differences
_STATIC = 0.15  # share of static patches among those that are drawn
_CLIP = 99.0  # percentile at which derivatives are cut off: a contact that changes its mode is no slope


@dataclass(frozen=True)
class _Group:
    """Contacts of one body in one setting, with the friction (n, 3) that was observed, in units of `size` (n, 1)."""

    body: Body
    observed: Observed
    contacts: _core.Contacts
    friction: NDArray[np.float64]
    size: NDArray[np.float64]
    radius: NDArray[np.float64]

    @classmethod
    def of(cls, observed: Observed) -> "_Group":
        contacts = observed.contacts()
        record: Any = contacts.record
        p = observed.impulse
        size = np.hypot(np.linalg.norm(p[:, :2], axis=1), _LEAST_SHARE * np.abs(p[:, 2]))[:, np.newaxis]
        radius = np.hypot(record.radius, 0.1 * record.diameter)
        empty = cls(observed.body, observed, contacts, np.empty(0), np.maximum(size, 1e-300), radius)
        return cls(observed.body, observed, contacts, empty.scaled(p), empty.size, radius)

    def scaled(self, impulse: NDArray[np.float64]) -> NDArray[np.float64]:
        """Friction (n, 3) of impulses (n, 6) at the patches' centres over `size`, its torque also over the radius."""
        centre, (x, y), m = self.contacts.record["centre"], impulse[:, :2].T, impulse[:, 5]
        torque = (m - centre[:, 0] * y + centre[:, 1] * x) / self.radius
        return np.stack([x, y, torque], axis=1) / self.size

    def residuals(self, material: Material) -> NDArray[np.float64]:
        law = material.on(self.body, timestep=self.observed.setting.timestep)
        return self.scaled(law.respond(self.contacts)[0]) - self.friction


class Patches:
    """Observed contacts of one or many bodies, of all kinds of patches."""

    def __init__(self, parts: list[Observed]) -> None:
        self.parts = _joined([part for part in parts if len(part)])
        self._groups = [_Group.of(part) for part in self.parts]
        self.throw, self.kind, self.mode = (
            np.concatenate([getattr(part, name) for part in self.parts] or [np.empty(0, dtype=np.int64)])
            for name in ("throw", "kind", "mode")
        )

    def __len__(self) -> int:
        return len(self.throw)

    def part(self, which: NDArray[np.bool_]) -> "Patches":
        """Some of the patches, by mask."""
        return Patches([part[mask] for part, mask in zip(self.parts, _cut(which, self.parts))])

    def typical(self) -> float:
        """The median share of friction in the normal impulse, where it slides."""
        p = np.concatenate([part.impulse[part.mode == Mode.DYNAMIC] for part in self.parts])
        p = p[p[:, 2] > 0]
        return usual_coefficient(np.linalg.norm(p[:, :2], axis=1) / p[:, 2])

    def residuals(self, model: Model, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Error of friction, a torque too, over its size, (n, 3)."""
        material = model.material(theta)
        return np.concatenate([group.residuals(material) for group in self._groups])

    def jacobian(self, model: Model, theta: NDArray[np.float64], residuals: NDArray) -> NDArray[np.float64]:
        """Derivatives (n, 3, p) of the residuals with the parameters, by finite differences."""
        J = np.empty((*residuals.shape, len(theta)))
        for k in range(len(theta)):
            moved = theta.copy()
            moved[k] += _STEP
            J[..., k] = (self.residuals(model, moved) - residuals) / _STEP
            size = np.linalg.norm(J[..., k], axis=1)
            most = np.percentile(size[size > 0], _CLIP) if (size > 0).any() else 1.0
            J[..., k] *= np.minimum(1.0, most / np.maximum(size, 1e-300))[:, np.newaxis]
        return J


def _joined(parts: list[Observed]) -> list[Observed]:
    """The same contacts with one part for each body and setting, so that they are solved together."""
    found: dict[tuple[int, int], list[Observed]] = {}
    for part in parts:
        found.setdefault((id(part.body), id(part.setting)), []).append(part)
    return [joined(same) for same in found.values()]


def drawn_patches(parts: list[Observed], most: int, rng: np.random.Generator) -> Patches:
    """At most `most` patches: as many of each kind that slide, and static ones in which friction is great."""
    chosen = []
    for kind in KINDS:
        of_kind = [part[part.kind == kind] for part in parts]
        chosen += _some([part.sliding() for part in of_kind], round(most * (1 - _STATIC) / len(KINDS)), rng)
        chosen += _near_slip(of_kind, round(most * _STATIC / len(KINDS)), rng)
    return Patches(chosen)


def _some(parts: list[Observed], most: int, rng: np.random.Generator) -> list[Observed]:
    """At most `most` of the contacts, any."""
    total = sum(len(part) for part in parts)
    keep = np.zeros(total, dtype=np.bool_)
    keep[rng.permutation(total)[:most]] = True
    return [part[mask] for part, mask in zip(parts, _cut(keep, parts))]


def _near_slip(parts: list[Observed], most: int, rng: np.random.Generator) -> list[Observed]:
    """At most `most` static contacts: of four times as many, those with the greatest share of friction."""
    some = _some([part[(part.mode == Mode.STATIC) & (part.impulse[:, 2] > 0)] for part in parts], 4 * most, rng)
    impulse = np.concatenate([part.impulse for part in some])
    share = np.linalg.norm(impulse[:, :2], axis=1) / impulse[:, 2]
    keep = np.zeros(len(share), dtype=np.bool_)
    keep[np.argsort(-share, kind="stable")[:most]] = True
    return [part[mask] for part, mask in zip(some, _cut(keep, some))]


def _cut(values: NDArray, parts: list[Observed]) -> list[NDArray]:
    """Values of all contacts, cut into those of each part."""
    return np.split(values, np.cumsum([len(part) for part in parts])[:-1])
