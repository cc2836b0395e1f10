"""MuJoCo with contact laws of ours: chosen bodies or pairs touch by their laws, everything else stays MuJoCo's.

A step is MuJoCo's own, split where it may be: positions and velocities, then what the velocities would become without
the contacts that have laws, these contacts, and the rest of the step with their impulses as applied forces.
"""

import copy
from collections.abc import Hashable, Mapping
from numbers import Real
from pathlib import Path
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.laws.law import Law, as_law
from stiction.laws.material import Material
from stiction.laws.modelfile import load
from stiction.mujoco import body_fit, mjcf
from stiction.mujoco.link_contacts import LinkPlan
from stiction.mujoco.links import TOLERANCE
from stiction.mujoco.mixed_contacts import MixedPlan
from stiction.mujoco.pairs import pairs_of
from stiction.mujoco.point_contacts import PointPlan

try:
    import mujoco as compiled_module
except ImportError as error:
    raise ImportError(needs("stiction.mujoco", "mujoco")) from error


mujoco = cast(Any, compiled_module)  # its names are known at run time only
_STATE = mujoco.mjtState.mjSTATE_INTEGRATION
_REMEMBERED = 8  # numbers of one impulse in the memory of a simulation


class Simulation:
    """A MuJoCo simulation in which chosen contacts follow laws.

    laws: what touches how. A key is a body (name or number), a geom, a MuJoCo material or, where an MjSpec is given, a
        default class, or a pair of these; "*" is anything, and a single key K means (K, "*"). "body:NAME", "geom:NAME",
        "material:NAME" and "class:NAME" say which is meant. A value is
        - a Material, or a number (Coulomb's coefficient): contacts are MuJoCo's own points, between geoms of any kind,
          and all of them are solved at once and exactly. The most special key that fits a pair wins, of equals the
          first. Directions of slip are those of the first of the pair over the second.
        - a law learned for that body, or the name or path of one: it stands on the ground by Algorithm 2. The ground is
          every plane that is fixed to the world, at any angle and height, and every face of a box that is. A body that
          touches two of them at once stands by its law on the one that looks up more (or, of two that do so alike, on
          the one it lies deeper in), if that carries all of its corners below it. A law is asked in the axes of the
          plane: z along its normal, x the world's x projected on the plane. A law that bounces does so here, too. One
          that cuts its own steps where corners arrive, as `cube` does, takes any time step, in equal parts that are no
          longer than its own: MuJoCo makes as many shorter steps. Gravity and the ground's height are the model's.
        Both go together: they are solved for in turn within a step until each fits the other. A key with a law counts
        as the body with its ground, so that a more special key with a material, such as ("foot", "ramp"), takes the
        ramp from the law of "foot".
    model: an MjModel, or an MjSpec, which is compiled. It is changed: contacts with materials are listed a little
        before they touch (`geom_gap`), and bodies with laws of their own are left out of MuJoCo's contacts with the
        ground.
    data: an MjData of that model; a new one by default
    softness: share of its own response by which a loaded point with a material yields; 0 is rigid and exact
    gap: [m] at which contacts with materials are foreseen; by default 20 mm, or what 5 m/s cover in a step
    method: of Algorithm 2: "modes" (fast) or "powell" (the paper's)
    tolerance: of Algorithm 2's friction impulse, relative
    fit: greatest relative difference in shape, mass, centre of mass and inertia between a body and its law's

    What no law covers stays MuJoCo's own contact. Where a body with a law is part of such a contact, that is said once
    by a warning and counted: see `uncovered`.
    """

    def __init__(
        self,
        model: Any,
        data: Any = None,
        *,
        laws: Mapping[Any, Any],
        softness: float = 0.0,
        gap: float | None = None,
        method: str = "modes",
        tolerance: float = TOLERANCE,
        fit: float = body_fit.TOLERANCE,
    ) -> None:
        model, classes = mjcf.compiled(model)
        if data is not None:
            mjcf.check_data(model, data)
        mjcf.prepare(model)
        known = known_laws(laws)
        of_points, of_links = {"softness": softness, "gap": gap}, {"method": method, "tolerance": tolerance, "fit": fit}
        if all(isinstance(law, Material) for law in known.values()):
            plan = PointPlan.of(model, known, pairs=pairs_of(model, list(known), classes), **of_points)
        elif not any(isinstance(law, Material) for law in known.values()):
            plan = LinkPlan.of(model, known, **of_links)
            plan.prepare(model)
        else:
            plan = MixedPlan.of(model, known, classes=classes, of_points=of_points, of_links=of_links)
        self._begin(model, mujoco.MjData(model) if data is None else data, known, plan)

    def _begin(self, model: Any, data: Any, laws: dict[Hashable, Any], plan: PointPlan | LinkPlan | MixedPlan) -> None:
        """Make what the native core needs for a model that is prepared."""
        self._model, self._data, self._laws, self._plan = model, data, laws, plan
        self.contact_part: Any = plan.begin(model, data, laws)
        self.names = tuple(laws)
        self.contacts: dict[Any, Any] = Contacts(self.contact_part.contacts)
        self.steps = 0
        self._free = Lock()  # held while a step is taken

    def __repr__(self) -> str:
        laws = ", ".join(map(repr, self.names[:3])) + (", ..." if len(self.names) > 3 else "")
        return f"Simulation(laws for {laws}; {self.steps} steps of {self._model.opt.timestep:g} s)"

    def __getstate__(self) -> dict[str, Any]:
        """All that a copy or a pickle needs; the native core is made anew from it."""
        return {
            "model": self._model,
            "data": self._data,
            "laws": self._laws,
            "plan": self._plan,
            "steps": self.steps,
            "counts": self.contact_part.counts,
            "memory": self.contact_part.memory,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._begin(state["model"], state["data"], state["laws"], state["plan"])
        self.steps = state["steps"]
        self.contact_part.counts, self.contact_part.memory = state["counts"], state["memory"]

    def __copy__(self) -> "Simulation":
        """As a deep copy: two simulations cannot step the same data."""
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Simulation":
        """A simulation that goes on by itself; the laws, which no step changes, are shared."""
        state = self.__getstate__()
        shared = {"laws": state.pop("laws")}
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        twin.__setstate__(copy.deepcopy(state, memo) | shared)
        return twin

    @property
    def model(self) -> Any:
        """The MjModel."""
        return self._model

    @property
    def data(self) -> Any:
        """The MjData: what it holds may be changed between steps, not the object itself."""
        return self._data

    @property
    def unsolved(self) -> int:
        """Steps so far without an exact solution: the guards decided, or what nearly solves a pile was taken."""
        return self.contact_part.unsolved

    @property
    def uncovered(self) -> dict[Any, int]:
        """Of each body with a law: steps in which it touched something that its law does not cover, so that MuJoCo's
        own contact acted there; said once by a warning."""
        return self.contact_part.uncovered

    def step(self, nstep: int = 1) -> None:
        """Advance by one time step, or by several."""
        if nstep != 1:
            nstep = checks.count("nstep", nstep, 0)
        if not self._free.acquire(blocking=False):
            raise checks.InputError(
                "A Simulation is in the middle of a step, of another thread or asked by its own law: give each thread "
                "a Simulation of its own."
            )
        try:
            self.contact_part.steps(nstep, self.steps)
        finally:
            self._free.release()
        self.steps += nstep

    def reset(self, qpos: ArrayLike | None = None, qvel: ArrayLike | None = None) -> None:
        """Begin anew, from the model's own start or the given one; all counts return to zero."""
        mujoco.mj_resetData(self.model, self.data)
        if qpos is not None:
            self.data.qpos[:] = checks.array("qpos", qpos, (self.model.nq,))
        if qvel is not None:
            self.data.qvel[:] = checks.array("qvel", qvel, (self.model.nv,))
        mujoco.mj_forward(self.model, self.data)
        self.forget()

    def forget(self) -> None:
        """Set all counts to zero, and let the next step begin without the impulses of the last."""
        self.steps = 0
        self.contact_part.forget()

    def save(self) -> NDArray[np.float64]:
        """All that the next steps depend on, as numbers."""
        state = np.empty(mujoco.mj_stateSize(self.model, _STATE))
        mujoco.mj_getState(self.model, self.data, state, _STATE)
        return np.concatenate([state, self.contact_part.memory.ravel()])

    def restore(self, state: NDArray[np.float64]) -> None:
        """Go on from what `save` gave, bit for bit."""
        size = mujoco.mj_stateSize(self.model, _STATE)
        numbers = checks.array("state", state, (None,))
        if len(numbers) < size or (len(numbers) - size) % _REMEMBERED:
            raise checks.InputError(f"state must be what `save` gave: {size} numbers or more, got {len(numbers)}.")
        self.contact_part.memory = numbers[size:].reshape(-1, _REMEMBERED)
        mujoco.mj_setState(self.model, self.data, np.ascontiguousarray(numbers[:size]), _STATE)

    def patch(self, key: Any) -> NDArray[np.float64]:
        """Contact points of a key of `laws` in the last step, world axes [m], (k, 3); none where it did not touch."""
        self.contacts[key]  # or say which keys there are
        return self.contact_part.patch(key)


class UnknownKeyError(checks.InputError, KeyError):
    """There is no law with this key."""

    __str__ = ValueError.__str__  # the sentence as it is


class Contacts(dict[Any, Any]):
    """What became of the contacts, by the keys of `laws`."""

    def __missing__(self, key: Any) -> Any:
        known = ", ".join(repr(name) for name in self)
        raise UnknownKeyError(f"laws has no key {key!r:.80}: its keys are {known:.300}.")


def known_laws(laws: Mapping[Any, Any]) -> dict[Hashable, Any]:
    """The laws and materials that are meant; what was one object stays one."""
    if not isinstance(laws, Mapping):
        raise checks.InputError(
            f'laws must tell the law of each name, such as {{"foot": 0.8}}, got {checks.shown(laws)}.'
        )
    if not laws:
        raise checks.InputError("laws must name at least one body, got none.")
    adapted = {id(value): _law(value) for value in laws.values()}
    return {key: adapted[id(value)] for key, value in laws.items()}


def _law(value: Any) -> Law | Material:
    if isinstance(value, Real) and not isinstance(value, bool):
        return Material.coulomb(checks.non_negative("friction", value))  # type: ignore[arg-type]
    if isinstance(value, str | Path):
        value = load(value)
    return value if isinstance(value, Material) else as_law(value)
