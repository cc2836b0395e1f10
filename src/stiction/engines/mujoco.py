"""MuJoCo with learned feet: chosen bodies touch the ground by their laws, everything else stays MuJoCo's.

A step is MuJoCo's own, split where it may be: positions and velocities, then what the velocities would become without
contact of the chosen bodies, Algorithm 2, and the rest of the step with the contact impulse as an applied force.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import checks
from stiction.articulated import TOLERANCE, Solution
from stiction.contact import Law
from stiction.coupled import place_links, response
from stiction.links import Links
from stiction.state import Kind, Mode

try:
    import mujoco as compiled_module
except ImportError as error:
    raise ImportError("stiction.mujoco needs MuJoCo: pip install 'stiction[mujoco]'.") from error

from stiction.engines import mjcf
from stiction.engines.mjcf import body_of as body_of

mujoco = cast(Any, compiled_module)  # its names are known at run time only
_LINEARISATIONS = 5  # of a step in which MuJoCo's own constraints answer to the contact impulse
_FORESEEN = 1e-9  # relative error of the velocity after the step that ends them
_STATE = mujoco.mjtState.mjSTATE_INTEGRATION
_QUADRATIC = int(mujoco.mjtConstraintState.mjCNSTRSTATE_QUADRATIC)
_CONE = int(mujoco.mjtConstraintState.mjCNSTRSTATE_CONE)


@dataclass
class BodyContact:
    """The contact of one body: of the last step, then counts since the start or the last reset.

    mode, kind: NONE where it does not touch; impulse: about its centre of mass, world axes [N s, N m s], (6,)
    evaluations: how often its law was asked in the last step; asked_at: V1, the twist it was last asked about, (6,)
    steps: steps in contact; asked: evaluations in all of them; unsolved: steps in which no mode was consistent, so
    that the sliding solution was taken; outside: steps whose last question lay outside of the law's training range
    """

    mode: Mode = Mode.NONE
    kind: Kind = Kind.NONE
    impulse: NDArray[np.float64] = field(default_factory=lambda: np.zeros(6))
    evaluations: int = 0
    asked_at: NDArray[np.float64] = field(default_factory=lambda: np.zeros(6))
    steps: int = 0
    asked: int = 0
    unsolved: int = 0
    outside: int = 0


class Simulation:
    """A MuJoCo simulation in which the contacts of chosen bodies with the ground come from their laws.

    model: an MjModel, or an MjSpec, which is compiled. From here on MuJoCo finds no contact of its own between
        these bodies and the ground: the model's contact filter is changed.
    data: an MjData of that model; a new one by default
    laws: body name -> law; bodies with the same law should share the object, which is fastest
    method: "modes" (fast) or "powell" (the paper's)
    tolerance: of the friction impulse, relative
    fit: greatest relative difference in shape, mass, centre of mass and inertia between a body and its law's
    """

    def __init__(
        self,
        model: Any,
        data: Any = None,
        *,
        laws: Mapping[str, Law],
        method: str = "modes",
        tolerance: float = TOLERANCE,
        fit: float = mjcf.TOLERANCE,
    ) -> None:
        if isinstance(model, mujoco.MjSpec):
            model = model.compile()
        if not laws:
            raise checks.InputError("laws must name at least one body.")
        mjcf.check_model(model)
        ground, self._ground = mjcf.ground_planes(model)
        for name, law in laws.items():
            if getattr(law, "substeps", 0):
                raise checks.InputError(
                    f"The law of {name!r} bounces and cuts its steps where corners arrive, which a step of MuJoCo "
                    "cannot do: train networks on it (`stiction collect --law`, `stiction train`) and use those."
                )
        fits = [mjcf.fit(model, name, law.body, fit) for name, law in laws.items()]
        for name, law in laws.items():
            if abs(law.timestep - model.opt.timestep) > 1e-12:
                raise checks.InputError(
                    f"The law of {name!r} is for steps of {law.timestep:g} s, the model has {model.opt.timestep:g} s."
                )
        geoms = {g for one in fits for g in mjcf.contact_geoms(model, one.body)}
        self.model, self.data = model, mujoco.MjData(model) if data is None else data
        mjcf.leave_out(model, geoms, set(ground))
        self._links = Links(list(laws.values()), method=method, tolerance=tolerance)
        self.names = tuple(laws)
        self.contacts = {name: BodyContact() for name in laws}
        self._per_link = list(self.contacts.values())
        self._bodies = np.array([one.body for one in fits])
        self._turn = np.array([one.turn for one in fits])
        self._reach = np.array([np.linalg.norm(law.body.hull.vertices, axis=1).max() for law in laws.values()])
        n, dofs = len(laws), model.nv
        self._position, self._rotation = np.zeros((n, 3)), np.zeros((n, 3, 3))
        self._J, self._M = np.zeros((6 * n, dofs)), np.zeros((dofs, dofs))
        self._none = np.zeros((0, dofs)), np.zeros(0)
        self._scratch = mujoco.MjData(model)
        self._spins = mjcf.spins(model)
        self.steps = 0

    def step(self) -> None:
        """Advance by one time step."""
        self._check()
        model, data = self.model, self.data
        mujoco.mj_step1(model, data)
        rows = self._touching()
        for contact in self._per_link:
            contact.mode, contact.kind = Mode.NONE, Kind.NONE
            contact.evaluations = 0
            contact.impulse = np.zeros(6)
        if len(rows):
            self._contact_step(rows)
        else:
            mujoco.mj_step2(model, data)
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
        for contact in self._per_link:
            vars(contact).update(vars(BodyContact()))

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
        rows = np.flatnonzero(self._links.contacts.record["index"] == self.names.index(name))
        if not self.contacts[name].kind or not len(rows):
            return np.zeros((0, 3))
        above = self._position[self.names.index(name)] + np.array([0.0, 0.0, self._ground])
        return self._links.points(int(rows[0])) + above

    def _touching(self) -> NDArray[np.int64]:
        """Numbers of the links that touch the ground."""
        where = self._bodies, self._turn, self._reach, self._ground, self._position, self._rotation
        if not place_links(self.data.xipos, self.data.xmat, *where):
            return self._bodies[:0]
        return self._links.touch(self._position, self._rotation)

    def _contact_step(self, rows: NDArray[np.int64]) -> None:
        """The rest of a step in which links touch."""
        model, data, h = self.model, self.data, self.model.opt.timestep
        bodies = self._bodies[rows]
        J = self._J[: 6 * len(rows)]
        for k, body in enumerate(bodies.tolist()):
            mujoco.mj_jacBodyCom(model, data, J[6 * k : 6 * k + 3], J[6 * k + 3 : 6 * k + 6], body)
        applied = data.xfrc_applied[bodies]
        p, V_free, foreseen = np.zeros((3, len(J)))
        asked = 0
        for turn in range(_LINEARISATIONS):
            V, R, L = self._linearise(J, bodies)
            if turn and np.abs(V - foreseen).max() <= _FORESEEN * np.abs(V - V_free).max():
                break
            V_free = V - L @ p
            solution = self._links.solve(V_free, L)
            p = solution.impulse.reshape(-1)
            asked += solution.evaluations
            foreseen = V_free + L @ p
            data.xfrc_applied[bodies] = applied + solution.impulse / h
            if data.nefc == 0:  # all is linear: what was foreseen will be
                break
        lift = self._links.lift(L, h)
        before = data.qpos.copy() if lift.any() else None
        mujoco.mj_step2(model, data)
        data.xfrc_applied[bodies] = applied
        if before is not None:  # positions once more, with what raises sunk vertices, which no velocity ever sees
            mujoco.mj_integratePos(model, before, data.qvel + R @ lift, h)
            self._keep_spin(data.qpos, before, data.qvel)
            data.qpos[:] = before
        self._note(rows, solution, asked)

    def _keep_spin(self, old: NDArray[np.float64], new: NDArray[np.float64], qvel: NDArray[np.float64]) -> None:
        """Leave spins of free and ball joints as they are in the world, which MuJoCo keeps in axes that have turned."""
        world, back = np.zeros(3), np.zeros(4)
        for place, dof in self._spins:
            mujoco.mju_rotVecQuat(world, qvel[dof : dof + 3], old[place : place + 4])
            mujoco.mju_negQuat(back, new[place : place + 4])
            mujoco.mju_rotVecQuat(qvel[dof : dof + 3], world, back)

    def _linearise(self, J: NDArray[np.float64], bodies: NDArray[np.int64]):
        """Twists of the links after the step with the forces applied now; how impulses on the links change the
        velocities of the joints (dofs, 6 n); and the links' own twists, L (6 n, 6 n)."""
        model, data, h = self.model, self.data, self.model.opt.timestep
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)
        mujoco.mj_fwdConstraint(model, data)
        if not self._splits():
            return self._probe(J, bodies)
        rows, weight = self._active_rows() if data.nefc else self._none
        damping = h * model.dof_damping if self._damps() else np.zeros(model.nv)
        mujoco.mj_fullM(model, data, self._M)
        R, L = response(self._M, damping, rows, weight, J)
        change = h * data.qacc
        if damping.any():  # MuJoCo takes damping implicitly, after its constraints
            change = h * np.linalg.solve(self._M + np.diag(damping), data.qfrc_smooth + data.qfrc_constraint)
        return J @ (data.qvel + change), R, L

    def _damps(self) -> bool:
        """Whether MuJoCo takes joint damping implicitly."""
        off = mujoco.mjtDisableBit.mjDSBL_EULERDAMP | mujoco.mjtDisableBit.mjDSBL_DAMPER
        return not self.model.opt.disableflags & off

    def _splits(self) -> bool:
        """Whether the step is one whose response is known in closed form."""
        model = self.model
        plain = not (model.dof_dampingpoly.any() or model.actuator_damping.any() or model.actuator_dampingpoly.any())
        sliding = self.data.nefc > 0 and bool((self.data.efc_state == _CONE).any())
        return model.opt.integrator == mujoco.mjtIntegrator.mjINT_EULER and plain and not sliding

    def _active_rows(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Rows (c, dofs) and weights (c,) of the constraints that act as springs now."""
        data, nv = self.data, self.model.nv
        if mujoco.mj_isSparse(self.model):
            rows = np.zeros((data.nefc, nv))
            mujoco.mju_sparse2dense(rows, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
        else:
            rows = data.efc_J.reshape(data.nefc, nv)
        active = data.efc_state == _QUADRATIC
        return rows[active], data.efc_D[active]

    def _probe(self, J: NDArray[np.float64], bodies: NDArray[np.int64]):
        """`_linearise` by trying: one step of a copy for each direction of each link. For what has no closed form."""
        model, h = self.model, self.model.opt.timestep
        still = self._try(None, 0, 0.0)
        R = np.empty((model.nv, len(J)))
        for k in range(len(J)):
            body = int(bodies[k // 6])
            small = 1e-3 * float(model.body_mass[body]) * (1.0 if k % 6 < 3 else float(self._reach.max()))
            R[:, k] = (self._try(body, k % 6, small / h) - still) / small
        return J @ still, R, J @ R

    def _try(self, body: int | None, axis: int, force: float) -> NDArray[np.float64]:
        """Joint velocities after the step with one more force."""
        mujoco.mj_copyData(self._scratch, self.model, self.data)
        if body is not None:
            self._scratch.xfrc_applied[body, axis] += force
        mujoco.mj_step2(self.model, self._scratch)
        return self._scratch.qvel.copy()

    def _note(self, rows: NDArray[np.int64], solution: Solution, asked: int) -> None:
        """Tell each body what became of its contact."""
        for k, link in enumerate(rows.tolist()):
            contact = self._per_link[link]
            contact.mode, contact.kind = Mode(solution.mode[k]), Kind(self._links.contacts.record[k]["kind"])
            contact.impulse = solution.impulse[k]
            contact.asked_at = self._links.contacts.record[k]["velocity"].copy()
            contact.evaluations = asked
            contact.steps += 1
            contact.asked += asked
            contact.unsolved += not solution.solved
            contact.outside += bool(solution.outside[k])

    def _check(self) -> None:
        """Stop where a number is lost, before MuJoCo would silently begin anew."""
        data = self.data
        size = data.qpos.dot(data.qpos) + data.qvel.dot(data.qvel)
        if size < 1e20:  # as MuJoCo, which takes no greater number; False for NaN too
            return
        bad = ~(np.abs(data.qvel) < 1e10)
        dof = int(bad.argmax()) if bad.any() else 0
        body = self.model.body(int(self.model.dof_bodyid[dof])).name
        raise checks.InputError(
            f"The simulation has run out of numbers before step {self.steps} (t = {data.time:g} s), at body {body!r}: "
            f"qpos = {data.qpos.tolist()!s:.300}, qvel = {data.qvel.tolist()!s:.300}."
        )
