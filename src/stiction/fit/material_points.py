"""Observed contacts from which a material is learned: single sliding points, and patches of all kinds.

At a sliding point friction is observed directly: its size over the load is the coefficient. The friction of a patch is
compared with that of a material's law by the native solver.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks
from stiction.basics.splits import drawn
from stiction.bodies.body import Body
from stiction.bodies.state import Kind, Mode, State
from stiction.fit.friction_structure import Model, Range, Structure
from stiction.laws.curves import texture_basis
from stiction.laws.material import Material
from stiction.simulation.motion import Motion, Setting, contacts_at, to_motion

_COLUMNS = ("position", "quaternion", "twist", "impulse", "after", "mode", "kind", "throw", "step")


@dataclass(frozen=True)
class Observed:
    """Contacts of one body in one setting, n of them, at its centre of mass.

    twist, after: before and after the step, (n, 6); impulse: (n, 6)
    mode, kind, throw, step: (n,); throws of different data sets have different numbers; step -1: of no trajectory
    """

    body: Body
    setting: Setting
    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    twist: NDArray[np.float64]
    impulse: NDArray[np.float64]
    after: NDArray[np.float64]
    mode: NDArray[np.int64]
    kind: NDArray[np.int64]
    throw: NDArray[np.int64]
    step: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.mode)

    def __getitem__(self, which: NDArray) -> "Observed":
        """Return some of the contacts, by index or by mask."""
        return replace(self, **{name: getattr(self, name)[which] for name in _COLUMNS})

    def sliding(self) -> "Observed":
        """Return those that slide under at least a hundredth of the weight; others hardly change the motion."""
        weight = self.body.mass * float(np.linalg.norm(self.setting.gravity)) * self.setting.timestep
        return self[(self.mode == Mode.DYNAMIC) & (self.impulse[:, 2] > 1e-2 * weight)]

    def contacts(self) -> _core.Contacts:
        """Return all contacts as laws take them."""
        return contacts_at(self.body, Motion(self.position, self.quaternion, self.twist), self.setting)


def opened(data: Any) -> list[Any]:
    """Return one or many data sets as a list, each opened if it is the path of its folder."""
    sets = []
    for one in data if isinstance(data, Sequence) and not isinstance(data, str | Path) else [data]:
        if isinstance(one, str | Path):
            from stiction.data.dataset import DataSet  # needs pyarrow, which opened data do not

            one = DataSet(one)
        if not all(hasattr(one, name) for name in ("body", "setting", "read")):
            raise checks.InputError(f"A material is learned from data sets or their folders, got {checks.shown(one)}.")
        sets.append(one)
    if not sets:
        raise checks.InputError("A material is learned from at least one data set, got none.")
    return sets


def observe(sets: Sequence[Any]) -> list[Observed]:
    """Return the contacts of data sets that touch at their recorded poses; too few of them are refused."""
    parts, first = [], 0
    for one in sets:
        part = _read(one, first)
        first = int(part.throw.max(initial=first - 1)) + 1
        parts.append(part)
    throws = len(np.unique(np.concatenate([part.throw for part in parts])))
    if throws < 4:
        raise checks.InputError(f"A material needs at least 4 throws with contacts, got {throws}.")
    sliding = sum(len(part.sliding()) for part in parts)
    if sliding < 40:
        raise checks.InputError(
            f"A material needs at least 40 sliding contacts, got {sliding}: throw the body more often, or faster."
        )
    return parts


def _read(data: Any, first: int) -> Observed:
    """Return the contacts of one data set; its throws are numbered from `first` on."""
    rows = data.read(_COLUMNS)
    motion = to_motion(data.body, State(rows["position"], rows["quaternion"]))
    numbers: dict[str, Any] = {name: np.asarray(rows[name], np.float64) for name in ("twist", "impulse", "after")}
    numbers |= {name: np.asarray(rows[name], np.int64) for name in ("mode", "kind", "throw", "step")}
    numbers["throw"] = numbers["throw"] + first
    part = Observed(data.body, data.setting, motion.position, motion.quaternion, **numbers)
    record: Any = part.contacts().record
    return part[record.index]


def seen_ranges(parts: list[Observed]) -> tuple[Range, Range]:
    """Return the ranges of ln slip speed [m/s] and of ln load [N] of sliding contacts.

    Beyond them, friction stays constant. The points of a patch share its load. Speeds below 1 mm/s count as that.
    """
    speeds, loads = [], []
    for sliding in (part.sliding() for part in parts):
        record: Any = sliding.contacts().record
        speeds.append(np.linalg.norm(velocity_at(record.before, record.centre)[:, :2], axis=1))
        load = sliding.impulse[:, 2] / sliding.setting.timestep
        loads.append(load / [_core.material_points(int(n)) for n in record.count])
    return _range(np.maximum(np.concatenate(speeds), 1e-3)), _range(np.concatenate(loads))


def _range(values: NDArray[np.float64]) -> Range:
    """Return the range of the logarithms without the three extreme ones, or 1 %, at either end, and a margin of 0.2."""
    logs = np.log(values[values > 0])
    share = min(3 / max(len(logs), 1), 1e-2)
    low, high = np.quantile(logs, (share, 1 - share))
    margin = max(0.2, 0.5 * (0.5 - (high - low)))  # curves need some width
    return float(low - margin), float(high + margin)


@dataclass(frozen=True)
class SlidingPoints:
    """Single points that slide, n of them.

    friction: impulse (n, 2) [N s]; slip: velocity after the step (n, 2) [m/s]; speed: of slip before it (n,) [m/s]
    stuck: speed of slip after the step up to which a point sticks, but for the simulator's compliance (n,) [m/s]
    normal, frictionless: normal impulses (n,), the actual one and that of frictionless contact [N s]
    size: of friction, the unit of errors (n,) [N s]
    axis: the body's x axis seen from above, (n, 2); body_slip: direction of slip in the axes of the body (n, 3)
    timestep: (n,) [s]; throw: (n,)
    """

    friction: NDArray[np.float64]
    slip: NDArray[np.float64]
    speed: NDArray[np.float64]
    stuck: NDArray[np.float64]
    normal: NDArray[np.float64]
    frictionless: NDArray[np.float64]
    size: NDArray[np.float64]
    axis: NDArray[np.float64]
    body_slip: NDArray[np.float64]
    timestep: NDArray[np.float64]
    throw: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.speed)

    def part(self, which: NDArray) -> "SlidingPoints":
        """Return some of the points, by index or by mask."""
        return replace(self, **{name: value[which] for name, value in vars(self).items()})

    @property
    def typical(self) -> float:
        """Median coefficient of friction."""
        return _usual_coefficient(np.linalg.norm(self.friction, axis=1) / self.normal)

    def loads(self, structure: Structure) -> NDArray[np.float64]:
        """Return the normal impulses that limit friction (n,) [N s]."""
        return self.normal if structure.limit == "actual" else self.frictionless

    def residuals(self, model: Model, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the error of friction over its size (n, 2), for the observed normal impulse and direction of slip."""
        material, observed, error = model.material(theta), self._in_axes(self.friction, model.structure), 0.0
        slips = np.zeros((len(self), 2), dtype=np.bool_)
        for angle, along in self._pushes(model.structure, material):
            error = error + self._coefficients(material, angle, model.structure)[:, np.newaxis] * along
            slips |= (along != 0) | (model.structure.cone == "round")
        return np.where(slips, error - observed, 0.0) / self.size[:, np.newaxis]

    def jacobian(self, model: Model, theta: NDArray[np.float64], residuals: NDArray) -> NDArray[np.float64]:
        """Return the derivatives (n, 2, p) of the residuals with respect to the parameters."""
        structure, material = model.structure, model.material(theta)
        J = np.zeros((len(self), 2, model.size))
        n_shared = model.size - structure.stretch
        for angle, along in self._pushes(structure, material):
            mu = self._coefficients(material, angle, structure) / self.size
            slopes = self._plain(material).sensitivity(angle, self.speed, self.loads(structure) / self.timestep)
            if structure.texture:
                texture = slopes[:, :1] * texture_basis(self.body_slip, len(material.texture))
                slopes = np.hstack([slopes[:, :1], texture, slopes[:, 1:]])
            slopes = slopes[:, :n_shared]
            J[..., :n_shared] += (mu[:, np.newaxis] * along)[..., np.newaxis] * slopes[:, np.newaxis]
        if structure.stretch:
            moved = theta.copy()
            moved[-1] += 1e-5
            J[..., -1] = (self.residuals(model, moved) - residuals) / 1e-5
        return J

    def _coefficients(self, material: Material, angle: NDArray, structure: Structure) -> NDArray[np.float64]:
        plain = self._plain(material)
        mu = np.asarray(plain.native(angle, self.speed, self.loads(structure) / self.timestep))
        if not structure.texture:
            return mu
        viscous = np.minimum(material.viscosity * self.speed * self.timestep / self.loads(structure), 10.0)
        factor = np.exp(texture_basis(self.body_slip, len(material.texture)) @ material.texture)
        return (mu - viscous) * factor + viscous

    @staticmethod
    def _plain(material: Material) -> Material:
        """Return the material without its texture, which points have by their own axes."""
        return replace(material, texture=np.empty(0)) if len(material.texture) else material

    def _pushes(self, structure: Structure, material: Material) -> list[tuple[NDArray, NDArray]]:
        """Return directions of slip (n,) [rad], with friction (n, 2) for a coefficient of one there; they add up."""
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
        """Return vectors (n, 2) of the world in the axes of the structure."""
        if structure.axes == "world":
            return vectors
        (x, y), (a, b) = vectors.T, self.axis.T
        return np.stack([a * x + b * y, a * y - b * x], axis=1)


def sliding_points(parts: list[Observed]) -> SlidingPoints:
    """Return the sliding points among the observed contacts of several bodies, without those that have no friction."""
    found = [_sliding_points(part) for part in parts]
    points = SlidingPoints(**{name: np.concatenate([getattr(p, name) for p in found]) for name in vars(found[0])})
    usual = points.typical * points.normal if len(points) else points.normal
    # Both friction and load are noisy: an error over their geometric mean is as likely to be positive as negative.
    # Errors of small friction are not relative to it; where there is none at all, a guard of the physics removed it.
    points = replace(points, size=np.hypot(np.sqrt(points.size * usual), 0.2 * usual))
    return points.part(np.linalg.norm(points.friction, axis=1) >= 1e-6 * usual)


def _sliding_points(observed: Observed) -> SlidingPoints:
    part = observed[observed.kind == Kind.POINT].sliding()
    contacts = part.contacts()
    record: Any = contacts.record
    part, arm = part[record.index], record.centre
    before, free, after = (velocity_at(twist, arm) for twist in (record.before, record.velocity, part.after))
    push = np.hstack([np.tile((0.0, 0.0, 1.0), (len(arm), 1)), np.cross(arm, (0.0, 0.0, 1.0))])
    inverse_mass = np.einsum("ni,nij,nj->n", push, contacts.inverse_inertia, push)  # at the point
    x = record.rotation[:, :2, 0]
    axis = np.where((x**2).sum(axis=1, keepdims=True) < 0.01, record.rotation[:, :2, 1], x)  # y where x is vertical
    points = SlidingPoints(
        friction=part.impulse[:, :2],
        slip=after[:, :2],
        speed=np.linalg.norm(before[:, :2], axis=1),
        stuck=1e-4 * inverse_mass * np.linalg.norm(part.impulse[:, :3], axis=1),
        normal=part.impulse[:, 2],
        frictionless=-free[:, 2] / inverse_mass,
        size=np.linalg.norm(part.impulse[:, :2], axis=1),
        axis=axis / np.linalg.norm(axis, axis=1, keepdims=True),
        body_slip=np.einsum("nij,ni->nj", record.rotation[:, :2], _unit(after[:, :2])),
        timestep=np.full(len(arm), part.setting.timestep),
        throw=part.throw,
    )
    slips = np.linalg.norm(points.slip, axis=1) > points.stuck
    return points.part(slips & (points.normal > 0) & (points.frictionless > 0))


def velocity_at(twist: NDArray[np.float64], arm: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the velocity (n, 3) of the points at `arm` (n, 3)."""
    return twist[:, :3] + np.cross(twist[:, 3:], arm).astype(np.float64)


def torque_at(impulse: NDArray[np.float64], arm: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the torque (n, 3) of impulses (n, 6) about the points at `arm` (n, 3): zero if they are hard."""
    return impulse[:, 3:] - np.cross(arm, impulse[:, :3]).astype(np.float64)


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)


def _usual_coefficient(coefficients: NDArray[np.float64]) -> float:
    """Return their median, within the bounds of the fit."""
    return float(np.clip(np.median(coefficients), 1e-3, 1e3))


KINDS = (Kind.POINT, Kind.LINE, Kind.SURFACE)


class _Group:
    """Contacts of one body in one setting, with the observed friction (n, 3) in units of `size` (n, 1)."""

    def __init__(self, observed: Observed) -> None:
        self.observed, self.contacts = observed, observed.contacts()
        record: Any = self.contacts.record
        p, load = observed.impulse, np.abs(observed.impulse[:, 2])
        # Not by the friction that was seen: its noise would make small values of it count more, and friction too low.
        usual = _usual_coefficient(np.linalg.norm(p[:, :2], axis=1) / np.maximum(load, 1e-300)) if len(p) else 0.0
        size = (np.hypot(usual, 0.05) * load)[:, np.newaxis]
        self.size, self.radius = np.maximum(size, 1e-300), np.hypot(record.radius, 0.1 * record.diameter)
        self.friction = self.scaled(p)

    def scaled(self, impulse: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return friction (n, 3) of impulses (n, 6) at the patches' centres over `size`, its torque over the radius."""
        centre, (x, y), m = self.contacts.record["centre"], impulse[:, :2].T, impulse[:, 5]
        torque = (m - centre[:, 0] * y + centre[:, 1] * x) / self.radius
        return np.stack([x, y, torque], axis=1) / self.size

    def residuals(self, material: Material) -> NDArray[np.float64]:
        law = material.on(self.observed.body, timestep=self.observed.setting.timestep)
        return self.scaled(law.respond(self.contacts)[0]) - self.friction


class Patches:
    """Observed contacts of one or many bodies, of all kinds of patches."""

    def __init__(self, parts: list[Observed]) -> None:
        same: dict[tuple[int, int], list[Observed]] = {}  # of one body and setting, which are solved together
        for part in parts:
            if len(part):
                same.setdefault((id(part.body), id(part.setting)), []).append(part)
        self.parts = [
            replace(some[0], **{name: np.concatenate([getattr(part, name) for part in some]) for name in _COLUMNS})
            for some in same.values()
        ]
        self._groups = [_Group(part) for part in self.parts]
        self.throw = np.concatenate([part.throw for part in self.parts] or [np.empty(0, dtype=np.int64)])

    def __len__(self) -> int:
        return len(self.throw)

    def part(self, which: NDArray[np.bool_]) -> "Patches":
        """Return some of the patches, by mask."""
        return Patches([part[mask] for part, mask in zip(self.parts, _cut(which, self.parts))])

    @property
    def typical(self) -> float:
        """Median ratio of friction to the normal impulse, where it slides."""
        p = np.concatenate([part.impulse[part.mode == Mode.DYNAMIC] for part in self.parts])
        p = p[p[:, 2] > 0]
        return _usual_coefficient(np.linalg.norm(p[:, :2], axis=1) / p[:, 2])

    def residuals(self, model: Model, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the error of friction, torque included, over its size, (n, 3)."""
        material = model.material(theta)
        return np.concatenate([group.residuals(material) for group in self._groups])

    def jacobian(self, model: Model, theta: NDArray[np.float64], residuals: NDArray) -> NDArray[np.float64]:
        """Return the derivatives (n, 3, p) of the residuals by finite differences, without those of mode changes."""
        J = np.empty((*residuals.shape, len(theta)))
        for k in range(len(theta)):
            moved = theta.copy()
            moved[k] += 1e-4
            J[..., k] = (self.residuals(model, moved) - residuals) / 1e-4
            size = np.linalg.norm(J[..., k], axis=1)
            limit = np.percentile(size[size > 0], 99.0) if (size > 0).any() else 1.0
            J[..., k] *= np.minimum(1.0, limit / np.maximum(size, 1e-300))[:, np.newaxis]
        return J


def drawn_patches(parts: list[Observed], n_patches: int, rng: np.random.Generator) -> Patches:
    """Draw at most this many patches: equally many sliding ones of each kind, and 15 % static ones near slip."""
    chosen = []
    for kind in KINDS:
        of_kind = [part[part.kind == kind] for part in parts]
        chosen += _some([part.sliding() for part in of_kind], round(n_patches * (1 - 0.15) / len(KINDS)), rng)
        chosen += _near_slip(of_kind, round(n_patches * 0.15 / len(KINDS)), rng)
    return Patches(chosen)


def _some(parts: list[Observed], n_contacts: int, rng: np.random.Generator) -> list[Observed]:
    keep = np.zeros(sum(len(part) for part in parts), dtype=np.bool_)
    keep[drawn(len(keep), n_contacts, rng)] = True
    return [part[mask] for part, mask in zip(parts, _cut(keep, parts))]


def _near_slip(parts: list[Observed], n_contacts: int, rng: np.random.Generator) -> list[Observed]:
    """Return static contacts: of four times as many, those with the greatest ratio of friction to load."""
    some = _some([p[(p.mode == Mode.STATIC) & (p.impulse[:, 2] > 0)] for p in parts], 4 * n_contacts, rng)
    impulse = np.concatenate([part.impulse for part in some])
    share = np.linalg.norm(impulse[:, :2], axis=1) / impulse[:, 2]
    keep = np.zeros(len(share), dtype=np.bool_)
    keep[np.argsort(-share, kind="stable")[:n_contacts]] = True
    return [part[mask] for part, mask in zip(some, _cut(keep, some))]


def _cut(values: NDArray, parts: list[Observed]) -> list[NDArray]:
    """Return values of all contacts, cut into those of each part."""
    return np.split(values, np.cumsum([len(part) for part in parts])[:-1])
