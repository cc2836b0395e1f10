"""Bodies that touch the ground by laws of their own, and pairs that touch by materials, in one simulation."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks
from stiction.laws.law import Law
from stiction.laws.material import Material
from stiction.mujoco.ground import fixed_ground
from stiction.mujoco.link_contacts import LinkContacts, LinkPlan, check_keys
from stiction.mujoco.mixed_step import MixedStep
from stiction.mujoco.pairs import pairs_of
from stiction.mujoco.point_contacts import PointContacts, PointPlan

_OF_LINK = -1.0  # what stands before a link's impulse in the memory


@dataclass(frozen=True)
class MixedPlan:
    """How the laws of bodies and the materials of pairs act, each by its own plan."""

    links: LinkPlan
    points: PointPlan

    @classmethod
    def of(
        cls,
        model: Any,
        laws: Mapping[Hashable, Any],
        *,
        classes: Mapping[str, set[int]],
        of_points: Mapping[str, Any],
        of_links: Mapping[str, Any],
    ) -> "MixedPlan":
        """The plan for these laws; the model is prepared for it."""
        materials, own = parted(laws)
        check_keys(own)
        ground = frozenset(fixed_ground(model))
        pairs = pairs_of(model, list(laws), classes, {key: ground for key in own})
        links = LinkPlan.of(model, own, covers=pairs.covers, **of_links)
        points = PointPlan.of(model, materials, pairs=pairs, **of_points)
        links.prepare(model)
        return cls(links, points)

    def begin(self, model: Any, data: Any, laws: dict[Hashable, Any]) -> "MixedContacts":
        """Make what the native core needs, on a model that is prepared."""
        return MixedContacts(model, data, laws, self)


def parted(laws: Mapping[Hashable, Any]) -> tuple[dict[Hashable, Material], dict[Hashable, Law]]:
    """The materials, and the laws of bodies."""
    materials = {key: law for key, law in laws.items() if isinstance(law, Material)}
    return materials, {key: law for key, law in laws.items() if key not in materials}


class MixedContacts:
    """The bodies with laws and the pairs with materials of a simulation, and what a step does with their contacts."""

    def __init__(self, model: Any, data: Any, laws: dict[Hashable, Any], plan: MixedPlan) -> None:
        materials, own = parted(laws)
        self._points = PointContacts(model, data, materials, plan.points)
        make_step = partial(MixedStep, points=self._points.core, tell=self._tell)
        self._links = LinkContacts(model, data, own, plan.links, make_step)
        self._step: Any = self._links.step_part
        self._own = {model.body(one.body).name or one.body for one in plan.links.fits}
        both = self._points.contacts | self._links.contacts
        self.contacts = {key: both[key] for key in laws}
        self._steps = self._unsolved = 0

    def _tell(self, outcome: _core.Outcome) -> None:
        self._points.tell(outcome, self._steps)

    def steps(self, count: int, before: int) -> None:
        """Time steps. before: how many the simulation has made, for messages"""
        for k in range(count):
            self._steps = before + k
            unsolved = self._points.core.unsolved, self._links.unsolved
            self._links.steps(1, before + k)
            is_solved = self._step.is_solved and unsolved == (self._points.core.unsolved, self._links.unsolved)
            self._unsolved += not is_solved
        self._points.warn(but=self._own)

    def want_forces(self) -> None:
        """Find MuJoCo's forces on bodies (`cfrc_ext` and others) in each step, ours included."""
        self._points.want_forces()

    def forget(self) -> None:
        """Set all counts to zero, and begin without memory."""
        self._points.forget()
        self._links.forget()
        self._unsolved = 0

    @property
    def memory(self) -> NDArray[np.float64]:
        """What the next step must know of the last (n, 8): impulses of bodies with laws, then of points."""
        impulses = self._step.core.last
        marks = np.stack([np.full(len(impulses), _OF_LINK), np.arange(float(len(impulses)))], axis=1)
        return np.concatenate([np.hstack([marks, impulses]), self._points.memory])

    @memory.setter
    def memory(self, rows: NDArray[np.float64]) -> None:
        impulses = self._step.core.last
        own, others = rows[: len(impulses)], rows[len(impulses) :]
        if len(own) < len(impulses) or (own[:, 0] != _OF_LINK).any() or (others[:, 0] == _OF_LINK).any():
            raise checks.InputError("This state is of a simulation with other laws.")
        self._points.memory = others
        impulses[:] = own[:, 2:]

    @property
    def counts(self) -> tuple[NDArray, NDArray, int]:
        """All counts, for a copy."""
        return self._points.counts, self._links.counts, self._unsolved

    @counts.setter
    def counts(self, numbers: tuple[NDArray, NDArray, int]) -> None:
        self._points.counts, self._links.counts, self._unsolved = numbers

    @property
    def unsolved(self) -> int:
        """Steps so far in which points, bodies or both together were not solved for."""
        return self._unsolved

    @property
    def uncovered(self) -> dict[Hashable, int]:
        """Of each body with a law: steps in which it touched something that no law covers."""
        others = {name: count for name, count in self._points.uncovered.items() if name not in self._own}
        return self._links.uncovered | others

    def patch(self, key: Hashable) -> NDArray[np.float64]:
        """Contact points of a key in the last step, world axes [m], (k, 3)."""
        part = self._points if key in self._points.contacts else self._links
        return part.patch(key)
