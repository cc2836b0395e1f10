"""Contact patches of all kinds: what a material's law makes of them, by the native solver, beside what was seen."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.bodies.body import Body
from stiction.bodies.state import Kind, Mode
from stiction.laws.material import Material
from stiction.learning.material.observed import Observed, joined
from stiction.learning.material.sliding_points import usual_coefficient
from stiction.learning.material.structure import Model

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
