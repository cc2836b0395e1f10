"""MuJoCo with contact laws: chosen bodies or pairs touch by their laws, everything else stays MuJoCo's.

A step is MuJoCo's own, divided into stages; core/mujoco/step.cpp shows them in one function.
"""

import copy
import warnings
from collections.abc import Hashable, Mapping
from numbers import Real
from pathlib import Path
from threading import Lock
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.laws.law import as_law
from stiction.laws.material import Material
from stiction.laws.modelfile import load
from stiction.mujoco import body_fit, mjcf
from stiction.mujoco.links import TOLERANCE, Method
from stiction.mujoco.mjcf import mujoco
from stiction.mujoco.nominal_bodies import is_identified, with_identified
from stiction.mujoco.pairs import warn_of_unsolved
from stiction.mujoco.plan import Options, Plan, check_timestep, divided, plan_of
from stiction.mujoco.report import RunReport, report_of
from stiction.mujoco.smooth_meshes import SMOOTH_ANGLE

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION
_REMEMBERED = 8  # numbers in a row of the memory of a simulation
_REFUSALS = {
    _core.Outcome.RESET: "MuJoCo found a bad number in its accelerations, and reset its data unless its flag autoreset "
    "is off: the forces or the time step ({timestep:g} s) are too great for this model.",
    _core.Outcome.UNSUPPORTED_INTEGRATOR: "The integrator was changed to one whose step cannot be divided: use Euler, "
    "implicit or implicitfast.",
    _core.Outcome.BAD_TIMESTEP: "The time step must be above zero, got {timestep:g} s.",
    _core.Outcome.SLEEP: "Sleeping bodies do not evaluate their law: switch the flag sleep off.",
    _core.Outcome.BAD_CONTROL: "MuJoCo found a control that is not finite, and took a step without controls.",
}


class SimulationOptions(TypedDict, total=False):
    """The options of `Simulation`, which explains them, for functions that pass them on."""

    softness: float
    gap: float | None
    smooth: float
    method: Method
    tolerance: float
    fit: float


class Simulation:
    """A MuJoCo simulation in which chosen contacts follow laws.

    laws: the law of each contact. A key is a body (name or number), a geom, a MuJoCo material or, where an MjSpec is
        given, a default class, or a pair of these; "*" is anything, and a single key K means (K, "*"). "body:NAME",
        "geom:NAME", "material:NAME" and "class:NAME" distinguish them. A value is
        - a Material, or a number (Coulomb's coefficient): contacts are MuJoCo's own points, between geoms of any kind,
          and all of them are solved at once and exactly. The most specific key that fits a pair wins, of equals the
          first. A pair may be given in either order; directions of slip are those of its first over its second.
        - a law learned for that body, or the name or path of one: it stands on the ground by Algorithm 2. The ground is
          every plane that is fixed to the world, at any angle and height, and every face of a box that is. A body that
          touches two of them at once stands by its law on the more level one (of two equally level ones, on the one
          that it penetrates deeper), if that carries all of its corners below it. A law is evaluated in the axes of the
          plane: z along its normal, x the world's x projected on the plane. A law that bounces does so here, too. One
          that divides its own steps where corners arrive, as `cube` does, takes any time step: MuJoCo makes several
          equal sub-steps that are no longer than the law's. Gravity and the ground's height are the model's.
        - a result of `stiction.identify`: a body of the same shape gets the mass properties that were identified, for
          which the model must be an MjSpec or the body compiled with simple="false", and the law; any other key, such
          as a pair, gets the material. A warning says what was changed. An impact law with the key of a pair or geom is
          used as its material, too.
        Both can be combined: they are solved for in turn within a step until each fits the other. A key with a law
        counts as the body with its ground, so that a more specific key with a material, such as ("foot", "ramp"), takes
        the ramp from the law of "foot".
    model: an MjModel, or an MjSpec, which is compiled. It is changed: contacts with materials are listed a little
        before they touch (`geom_gap`), and contacts of bodies that have learned laws with the ground are excluded from
        MuJoCo's.
    data: an MjData of that model; a new one by default
    softness: share of its inverse effective inertia by which a loaded point with a material yields; 0 is rigid
    gap: [m] at which contacts with materials are listed; by default 20 mm, or what 5 m/s cover in a step
    smooth: [degrees] dihedral angle below which edges of meshes stand for a smooth surface, on which neighbouring
        points are one contact; 0: all edges are sharp
    method: of Algorithm 2: "modes" (fast) or "powell" (the paper's)
    tolerance: of Algorithm 2's friction impulse, relative
    fit: greatest relative difference in shape, mass, centre of mass and inertia between a body and its law's

    Contacts that no law covers stay MuJoCo's own. Where a body with a law is part of such a contact, a warning is given
    once, and the steps are counted: see `uncovered`.
    """

    def __init__(
        self,
        model: Any,
        data: Any = None,
        *,
        laws: Mapping[Any, Any],
        softness: float = 0.0,
        gap: float | None = None,
        smooth: float = SMOOTH_ANGLE,
        method: Method = "modes",
        tolerance: float = TOLERANCE,
        fit: float = body_fit.TOLERANCE,
    ) -> None:
        spec = model if isinstance(model, mujoco.MjSpec) else None
        model, classes = mjcf.compiled(model)
        model, known = with_identified(model, spec, known_laws(laws), classes, fit)
        if data is not None:
            mjcf.check_data(model, data)
        mjcf.prepare(model)
        options = Options(softness, gap, smooth, method, tolerance, fit)
        plan = plan_of(model, known, classes, options)
        self._start(model, mujoco.MjData(model) if data is None else data, known, plan)

    def _start(self, model: Any, data: Any, laws: dict[Hashable, Any], plan: Plan) -> None:
        """Make the native step, on a model that is prepared."""
        self._model, self._data, self._laws, self._plan = model, data, laws, plan
        core, contacts = plan.start(model, data, laws)
        self.core: Any = core  # its arrays have no types
        self.contacts: dict[Any, Any] = contacts
        self.steps = 0
        self._learned = divided(laws)[1]
        self._body_of = {key: model.body(one.body).name or one.body for key, one in zip(self._learned, plan.fits)}
        self._checked = self._settings()
        self._warned: set[Hashable] = set()  # bodies
        self._n_uncovered = 0  # when it was looked at last
        self._warned_unsolved = False
        self._free = Lock()  # held while a step is taken

    def __repr__(self) -> str:
        laws = ", ".join(map(repr, list(self._laws)[:3])) + (", ..." if len(self._laws) > 3 else "")
        return f"Simulation(laws for {laws}; {self.steps} steps of {self._model.opt.timestep:g} s)"

    def __getstate__(self) -> dict[str, Any]:
        """Everything that a copy or a pickle needs; the native step is made anew from it."""
        return {
            "model": self._model,
            "data": self._data,
            "laws": self._laws,
            "plan": self._plan,
            "steps": self.steps,
            "counts": self.core.counts,
            "run": self.core.run_statistics,
            "links": self.core.link_statistics.copy(),
            "memory": self.core.memory,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._start(state["model"], state["data"], state["laws"], state["plan"])
        self.steps = state["steps"]
        self.core.counts, self.core.memory = state["counts"], state["memory"]
        self.core.run_statistics = state["run"]
        self.core.link_statistics[:] = state["links"]

    def __copy__(self) -> "Simulation":
        """As a deep copy: two simulations cannot step the same data."""
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Simulation":
        """An independent simulation; the laws, which no step changes, are shared."""
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
        """Steps so far without an exact solution: the guards decided, or an approximate solution was taken."""
        return self.core.unsolved

    @property
    def uncovered(self) -> dict[Any, int]:
        """Steps in which each body with a law touched something that its law does not cover, by MuJoCo's own contact.

        Bodies with learned laws by their keys, then those with materials by their names, where there are such steps.
        """
        counts = self.core.uncovered
        names = {int(b): self._model.body(int(b)).name or int(b) for b in np.flatnonzero(counts)}
        learned = {key: self.contacts[key].uncovered for key in self._learned}
        of_learned = set(self._body_of.values())
        return learned | {name: int(counts[b]) for b, name in names.items() if name not in of_learned}

    def step(self, nstep: int = 1) -> None:
        """Advance by one time step, or by several."""
        if nstep != 1:
            nstep = checks.count("nstep", nstep, 0)
        if not self._free.acquire(blocking=False):
            raise checks.InputError(
                "A Simulation is in the middle of a step, of another thread or called by its own law: give each thread "
                "its own Simulation."
            )
        try:
            self._check_settings()
            outcome, done = self.core.steps(nstep)
        finally:
            self._free.release()
        self.steps += done
        if outcome != _core.Outcome.DONE:
            self._report(outcome)
        self._warn()

    def _settings(self) -> tuple[float, int, int]:
        option = self._model.opt
        return option.timestep, option.integrator, option.enableflags

    def _check_settings(self) -> None:
        """Refuse settings that were changed to ones with which a learned law cannot be evaluated."""
        settings = self._settings()
        if self._learned and settings != self._checked:
            mjcf.check_model(self._model)
            check_timestep(self._model.opt.timestep, self._learned)
            self._checked = settings

    def _report(self, outcome: _core.Outcome) -> None:
        """Raise or warn of an outcome of a step."""
        if outcome == _core.Outcome.NOT_FINITE:
            mjcf.raise_not_finite(self._model, self._data, self.steps)
        if outcome != _core.Outcome.OVERFLOW:
            raise checks.InputError(_REFUSALS[outcome].format(timestep=self._model.opt.timestep))
        warnings.warn(
            "MuJoCo has no memory for all contacts or constraints and left some out: give the model more, "
            "<size memory=...>.",
            stacklevel=3,
        )

    def _warn(self) -> None:
        """Warn once of each body that touches something that no law covers, and of many unsolved steps."""
        core = self.core
        if core.n_uncovered > self._n_uncovered:
            self._n_uncovered = core.n_uncovered
            found = [self._body_of.get(key, key) for key, count in self.uncovered.items() if count]
            names = [name for name in found if name not in self._warned]
            if names:
                self._warned.update(names)
                warnings.warn(
                    f"The body {', '.join(map(repr, names))} has a law, but touches something that its law does not "
                    f"cover, before t = {self._data.time:g} s: there, MuJoCo's own contact acts, and `uncovered` "
                    "counts such steps.",
                    stacklevel=3,
                )
        if core.points_unsolved and not self._warned_unsolved:
            when = f"until t = {self._data.time:g} s"
            self._warned_unsolved = warn_of_unsolved(core.points_unsolved, core.contact_steps, when, stacklevel=3)

    def report(self) -> RunReport:
        """What was in contact since the start, what was not solved, where the time went, and one advice; print it."""
        return report_of(self.core, self.model, self.contacts, self.steps)

    def reset(self, qpos: ArrayLike | None = None, qvel: ArrayLike | None = None) -> None:
        """Start again, from the model's own state or the given one; all counts return to zero."""
        mujoco.mj_resetData(self.model, self.data)
        if qpos is not None:
            self.data.qpos[:] = checks.array("qpos", qpos, (self.model.nq,))
        if qvel is not None:
            self.data.qvel[:] = checks.array("qvel", qvel, (self.model.nv,))
        mujoco.mj_forward(self.model, self.data)
        self.forget()

    def forget(self) -> None:
        """Set all counts to zero, and let the next step start without the impulses of the last."""
        self.steps = 0
        self.core.reset()
        self.core.reset_counts()
        self._warned.clear()
        self._n_uncovered = 0
        self._warned_unsolved = False

    def save(self) -> NDArray[np.float64]:
        """Everything that the next steps depend on, as numbers."""
        state = np.empty(mujoco.mj_stateSize(self.model, _STATE))
        mujoco.mj_getState(self.model, self.data, state, _STATE)
        return np.concatenate([state, self.core.memory.ravel()])

    def restore(self, state: NDArray[np.float64]) -> None:
        """Continue from the state that `save` returned, bit for bit."""
        size = mujoco.mj_stateSize(self.model, _STATE)
        numbers = checks.array("state", state, (None,))
        if len(numbers) < size or (len(numbers) - size) % _REMEMBERED:
            raise checks.InputError(f"state must be what `save` returned: {size} numbers or more, got {len(numbers)}.")
        self.core.memory = numbers[size:].reshape(-1, _REMEMBERED)
        mujoco.mj_setState(self.model, self.data, np.ascontiguousarray(numbers[:size]), _STATE)


def known_laws(laws: Mapping[Any, Any]) -> dict[Hashable, Any]:
    """The laws and materials of all keys; one object that is given twice stays one."""
    if not isinstance(laws, Mapping):
        raise checks.InputError(
            f'laws must map each name to its law, such as {{"foot": 0.8}}, got {checks.shown(laws)}.'
        )
    if not laws:
        raise checks.InputError("laws must name at least one body, got none.")
    for key in laws:
        if isinstance(key, tuple) and key != key[::-1] and key[::-1] in laws:
            raise checks.InputError(f"laws has the pair {checks.shown(key)} in both orders: give one of them.")
    adapted = {id(value): _law(value) for value in laws.values()}
    return {key: adapted[id(value)] for key, value in laws.items()}


def _law(value: Any) -> Any:
    if isinstance(value, Real) and not isinstance(value, bool):
        return Material.coulomb(checks.non_negative("friction", value))  # type: ignore[arg-type]
    if isinstance(value, str | Path):
        value = load(value)
    return value if isinstance(value, Material) or is_identified(value) else as_law(value)
