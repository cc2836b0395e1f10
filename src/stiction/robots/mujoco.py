"""MuJoCo with learned feet: chosen bodies touch the ground by their laws, everything else stays MuJoCo's.

A step is MuJoCo's own, split where it may be: positions and velocities, then what the velocities would become without
contact of the chosen bodies, Algorithm 2, and the rest of the step with the contact impulse as an applied force.
"""

import copy
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics import checks
from stiction.laws.law import Law

try:
    import mujoco as compiled_module
except ImportError as error:
    raise ImportError("stiction.mujoco needs MuJoCo: pip install 'stiction[mujoco]'.") from error

from stiction.robots import mjcf
from stiction.robots.body_contact import BodyContact as BodyContact
from stiction.robots.ground import find_ground
from stiction.robots.links import TOLERANCE
from stiction.robots.mjcf import body_of as body_of
from stiction.robots.mujoco_step import ContactStep
from stiction.simulation.rollout import law_of

mujoco = cast(Any, compiled_module)  # its names are known at run time only
_STATE = mujoco.mjtState.mjSTATE_INTEGRATION


class Simulation:
    """A MuJoCo simulation in which the contacts of chosen bodies with the ground come from their laws.

    The ground is every plane that is fixed to the world, at any angle and height, and every face of a box that is. A
    body that touches two of them at once stands by its law on the one that looks up more (or, of two that do so alike,
    on the one it lies deeper in), if that carries all of its corners below it. What a law does not cover stays
    MuJoCo's own contact and is counted: see `uncovered`. A law is asked in the axes of the plane: z along its normal, x
    the world's x projected on the plane. A law whose friction depends on the direction knows these axes only.

    model: an MjModel, or an MjSpec, which is compiled. If one plane is all of the ground, MuJoCo finds no contact of
        its own between these bodies and the plane from here on: the model's contact filter is changed.
    data: an MjData of that model; a new one by default
    laws: body name -> law, or the name or path of one; bodies may share a law
    method: "modes" (fast) or "powell" (the paper's)
    tolerance: of the friction impulse, relative
    fit: greatest relative difference in shape, mass, centre of mass and inertia between a body and its law's
    """

    def __init__(
        self,
        model: Any,
        data: Any = None,
        *,
        laws: Mapping[str, Any],
        method: str = "modes",
        tolerance: float = TOLERANCE,
        fit: float = mjcf.TOLERANCE,
    ) -> None:
        if isinstance(model, mujoco.MjSpec):
            model = model.compile()
        if not isinstance(model, mujoco.MjModel):
            raise checks.InputError(f"model must be an MjModel or an MjSpec, got {type(model).__name__}.")
        if not laws:
            raise checks.InputError("laws must name at least one body.")
        mjcf.check_model(model)
        adapted = {id(law): law_of(law) for law in laws.values()}  # bodies that share a law still do
        laws = {name: adapted[id(law)] for name, law in laws.items()}
        for name, law in laws.items():
            if law.substeps:
                raise checks.InputError(
                    f"The law of {name!r} bounces and cuts its steps where corners arrive, which a step of MuJoCo "
                    "cannot do: train networks on it (`stiction collect --law`, `stiction train`) and use those."
                )
            if law.bounces:
                raise checks.InputError(
                    f"The law of {name!r} bounces, which Algorithm 2 cannot do inside a robot: set its restitution to "
                    "zero, or train networks on it (`stiction collect --law`, `stiction train`) and use those."
                )
        fits = [mjcf.fit(model, name, law.body, fit) for name, law in laws.items()]
        for name, law in laws.items():
            if abs(law.timestep - model.opt.timestep) > 1e-12:
                raise checks.InputError(
                    f"The law of {name!r} is for steps of {law.timestep:g} s, the model has {model.opt.timestep:g} s."
                )
        self._ground = find_ground(model, [one.body for one in fits])
        if self._ground.is_one_plane:  # else each step looks which plane is touched
            geoms = {g for one in fits for g in mjcf.contact_geoms(model, one.body)}
            mjcf.leave_out(model, geoms, self._ground.planes[0].geoms)
        self._begin(model, mujoco.MjData(model) if data is None else data, laws, fits, method, tolerance)

    def _begin(
        self, model: Any, data: Any, laws: dict[str, Law], fits: list[mjcf.Fit], method: str, tolerance: float
    ) -> None:
        """Make what the native core needs for a model that is prepared."""
        self._model, self._data, self._laws, self._fits = model, data, laws, fits
        own = list(laws.values())
        self._step = ContactStep(model, data, own, fits, self._ground, method=method, tolerance=tolerance)
        self._notes = self._step.core.notes
        self.names = tuple(laws)
        self.contacts = {name: BodyContact(note) for name, note in zip(laws, self._notes)}
        self.steps = 0

    def __getstate__(self) -> dict[str, Any]:
        """All that a copy or a pickle needs; the native core is made anew from it."""
        links = self._step.links
        return {
            "model": self._model,
            "data": self._data,
            "laws": self._laws,
            "fits": self._fits,
            "ground": self._ground,
            "method": links.method,
            "tolerance": links.tolerance,
            "steps": self.steps,
            "notes": self._notes.copy(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._ground = state["ground"]
        how = state["laws"], state["fits"], state["method"], state["tolerance"]
        self._begin(state["model"], state["data"], *how)
        self.steps = state["steps"]
        self._notes[:] = state["notes"]

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
    def uncovered(self) -> dict[str, int]:
        """Of each body: steps in which it touched something that its law does not cover, so that MuJoCo's own contact
        acted there; said once by a warning."""
        return {name: contact.uncovered for name, contact in self.contacts.items()}

    def step(self) -> None:
        """Advance by one time step."""
        contact = self._step
        if not contact.is_finite():
            self._stop()
        contact.step()
        self.steps += 1

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
        """Set all counts to zero."""
        self.steps = 0
        self._step.core.forget()

    def save(self) -> NDArray[np.float64]:
        """All that the next steps depend on, as numbers."""
        state = np.empty(mujoco.mj_stateSize(self.model, _STATE))
        mujoco.mj_getState(self.model, self.data, state, _STATE)
        return state

    def restore(self, state: NDArray[np.float64]) -> None:
        """Go on from what `save` gave, bit for bit."""
        size = mujoco.mj_stateSize(self.model, _STATE)
        mujoco.mj_setState(self.model, self.data, checks.array("state", state, (size,)), _STATE)

    def patch(self, name: str) -> NDArray[np.float64]:
        """Contact points of a body at the beginning of the last step, world axes [m], (k, 3); none if it was free."""
        if name not in self.contacts:
            raise checks.InputError(f"The body {name!r} has no law; those with one are {', '.join(self.names)}.")
        if not self.contacts[name].kind:
            return np.zeros((0, 3))
        return self._step.core.points(self.names.index(name))

    def _stop(self) -> None:
        """Say where a number is lost, before MuJoCo would silently begin anew."""
        data = self._data
        bad = ~(np.abs(data.qvel) < 1e10)
        dof = int(bad.argmax()) if bad.any() else 0
        body = self.model.body(int(self.model.dof_bodyid[dof])).name
        raise checks.InputError(
            f"The simulation has run out of numbers before step {self.steps} (t = {data.time:g} s), at body {body!r}: "
            f"qpos = {data.qpos.tolist()!s:.300}, qvel = {data.qvel.tolist()!s:.300}."
        )
