"""Bodies that touch the ground by laws learned for them: Algorithm 2 inside MuJoCo's steps."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.laws.law import Law
from stiction.mujoco import body_fit, mjcf
from stiction.mujoco.body_contact import BodyContact
from stiction.mujoco.ground import Ground, find_ground
from stiction.mujoco.link_step import ContactStep, check_timestep

NOTHING = np.zeros((0, 8))


@dataclass(frozen=True)
class LinkPlan:
    """How the bodies' laws are asked: see `Simulation`.

    fits: how each law's body lies in its body of the model
    """

    fits: list[body_fit.Fit]
    ground: Ground
    method: str
    tolerance: float

    @classmethod
    def of(
        cls,
        model: Any,
        laws: Mapping[Hashable, Law],
        *,
        method: str,
        tolerance: float,
        fit: float,
        covers: Callable[[int, int], bool] | None = None,
    ) -> "LinkPlan":
        """The plan for these laws. covers: whether a material holds between two geoms, so that these laws do not"""
        check_keys(laws)
        fits = [body_fit.fit(model, key, law.body, fit) for key, law in laws.items()]
        check_timestep(model.opt.timestep, laws)
        return cls(fits, find_ground(model, [one.body for one in fits], covers), method, tolerance)

    def prepare(self, model: Any) -> None:
        """Change the model so that MuJoCo leaves these contacts to the laws, where that can be told beforehand."""
        if self.ground.is_one_plane:  # else each step looks which plane is touched
            geoms = {g for one in self.fits for g in mjcf.contact_geoms(model, one.body)}
            mjcf.leave_out(model, geoms, self.ground.planes[0].geoms)

    def begin(self, model: Any, data: Any, laws: dict[Hashable, Law]) -> "LinkContacts":
        """Make what the native core needs, on a model that is prepared."""
        return LinkContacts(model, data, laws, self)


def check_keys(laws: Iterable[Hashable]) -> None:
    """Refuse laws learned for one body that have a pair as their key."""
    for key in laws:
        if isinstance(key, tuple):
            raise checks.InputError(
                f"The law of {key!r} was learned for one body on the ground: its key must be that body, not a pair."
            )


class LinkContacts:
    """The bodies with laws of a simulation, and what a step does with their contacts."""

    def __init__(
        self,
        model: Any,
        data: Any,
        laws: dict[Hashable, Law],
        plan: LinkPlan,
        make_step: Callable[..., ContactStep] = ContactStep,
    ) -> None:
        self._model, self._data, self._laws = model, data, laws
        self.step_part = self._step = make_step(
            model, data, list(laws.values()), plan.fits, plan.ground, method=plan.method, tolerance=plan.tolerance
        )
        self.links = self._step.links
        self._notes = self._step.core.notes
        self._keys = tuple(laws)
        self._setting = self._settings()
        self.contacts = {key: BodyContact(note) for key, note in zip(laws, self._notes)}

    def steps(self, count: int, before: int) -> None:
        """Time steps. before: how many the simulation has made, for messages"""
        for k in range(count):
            if not self._step.is_finite():
                mjcf.raise_lost_numbers(self._model, self._data, before + k)
            self._one()

    def _one(self) -> None:
        setting = self._settings()
        if setting != self._setting:
            mjcf.check_model(self._model)
            check_timestep(self._model.opt.timestep, self._laws)
            self._setting = setting
        self._step.step()

    def _settings(self) -> tuple[float, int, int]:
        option = self._model.opt
        return option.timestep, option.integrator, option.enableflags

    def want_forces(self) -> None:
        """Find MuJoCo's forces on bodies (`cfrc_ext` and others) in each step, ours included."""
        self._step.forces_wanted = True

    def forget(self) -> None:
        """Set all counts to zero."""
        self._step.core.forget()

    @property
    def memory(self) -> NDArray[np.float64]:
        """Nothing: the next step depends on MuJoCo's state alone."""
        return NOTHING

    @memory.setter
    def memory(self, rows: NDArray[np.float64]) -> None:
        if len(rows):
            raise checks.InputError("This state is of a simulation with materials, this one has laws of bodies.")

    @property
    def counts(self) -> NDArray:
        """All counts, for a copy."""
        return self._notes.copy()

    @counts.setter
    def counts(self, notes: NDArray) -> None:
        self._notes[:] = notes

    @property
    def unsolved(self) -> int:
        """Steps so far in which no mode of some body was consistent, at most."""
        return max((contact.unsolved for contact in self.contacts.values()), default=0)

    @property
    def uncovered(self) -> dict[Hashable, int]:
        """Of each body: steps in which it touched something that its law does not cover."""
        return {key: contact.uncovered for key, contact in self.contacts.items()}

    def patch(self, key: Hashable) -> NDArray[np.float64]:
        """Contact points of a body at the beginning of the last step, world axes [m], (k, 3); none if it was free."""
        if not self.contacts[key].kind:
            return np.zeros((0, 3))
        return self._step.core.points(self._keys.index(key))
