"""A step of MuJoCo in which links with laws touch the ground.

MuJoCo's own functions are called from Python, where their errors and users' callbacks are at home; all that lies
between two of them is one compiled call on MuJoCo's arrays.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numba import typeof
from numpy.typing import NDArray

from stiction import linkstep
from stiction.contact import Law
from stiction.engines import mjcf
from stiction.engines.mjcf import mujoco
from stiction.jointspace import Joints, Placed, Springs
from stiction.links import Links

_EULER = int(mujoco.mjtIntegrator.mjINT_EULER)
_VELOCITY = int(mujoco.mjtStage.mjSTAGE_VEL)
_QUADRATIC = int(mujoco.mjtConstraintState.mjCNSTRSTATE_QUADRATIC)
_CONE = int(mujoco.mjtConstraintState.mjCNSTRSTATE_CONE)
_UNDAMPED = int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP) | int(mujoco.mjtDisableBit.mjDSBL_DAMPER)
_MOST = 1e10  # MuJoCo takes no greater number in a state
_step2, _forward_skip, _integrate = mujoco.mj_step2, mujoco.mj_forwardSkip, mujoco.mj_integratePos


class ContactStep:
    """The links of a simulation, and what a step does with their contacts.

    fits: how each law's body lies in its body of the model; ground: its height [m]; options: of Links
    """

    def __init__(
        self, model: Any, data: Any, laws: Sequence[Law], fits: Sequence[mjcf.Fit], ground: float, **options: Any
    ) -> None:
        self.model, self.data = model, data
        self.links = Links(laws, **options)
        self.placed = _placed(model, laws, fits)
        self.room = linkstep.new_room(len(laws), model.nv, model.nq)
        # These arrays stay where they are as long as their model and data do.
        self.joints = Joints(*(getattr(data if hasattr(data, name) else model, name) for name in Joints._fields))
        self._spins = np.array(mjcf.spins(model), dtype=np.int64).reshape(-1, 2)
        self._no_springs = _springs(model, mujoco.MjData(model))
        self._scratch = mujoco.MjData(model)
        self._where = self.joints.xipos, self.joints.xmat, self.placed, ground, self.room.note
        self._compile()

    def _compile(self) -> None:
        """Get the compiled functions themselves: to find one by the types of its arguments takes longer than to run."""

        def ready(function: Any, *arguments: Any) -> Any:
            return cast(Any, function).compile(tuple(typeof(argument) for argument in arguments))

        links, room = self.links, self.room
        joints = self.joints
        self._is_finite = ready(linkstep.is_finite, joints.qpos, joints.qvel, _MOST)
        self._begin = ready(linkstep.begin, *self._where)
        ours = joints.xfrc_applied, joints.qpos, joints.qvel, room, 0.002
        self._finish = ready(linkstep.finish, links.room.record, 1, self.placed.body, *ours)
        engine = joints, self._no_springs, self.placed, room, 0.002, True, _QUADRATIC, _CONE
        self._turn = linkstep.contact_turn
        if isinstance(links.law, tuple):
            self._turn = ready(linkstep.compiled_turn, links.law, links.room, 1, *engine, 0, True, links.tolerance)

    def is_finite(self) -> bool:
        """Whether MuJoCo would take its state as it is."""
        return self._is_finite(self.joints.qpos, self.joints.qvel, _MOST)

    def touching(self) -> int:
        """Look where the links are; how many of them touch the ground."""
        return self.links.find(self.placed.position, self.placed.rotation) if self._begin(*self._where) else 0

    def take(self, n: int) -> None:
        """The rest of a step in which n links touch."""
        model, data, links, joints, room = self.model, self.data, self.links, self.joints, self.room
        option = model.opt
        timestep, known, damps = option.timestep, option.integrator == _EULER, not option.disableflags & _UNDAMPED
        for turn in range(linkstep.MOST_TURNS):
            _forward_skip(model, data, _VELOCITY, 1)
            linear, said = data.nefc == 0, linkstep.UNKNOWN
            if known:
                springs = self._no_springs if linear else _springs(model, data)
                engine = joints, springs, self.placed, room, timestep, damps, _QUADRATIC, _CONE
                said = self._turn(links.law, links.room, n, *engine, turn, linear, links.tolerance)
            if said == linkstep.UNKNOWN:
                said = self._try_turn(timestep, turn, linear)
            if said == linkstep.DONE:
                break
        _step2(model, data)
        ours = joints.xfrc_applied, joints.qpos, joints.qvel, room, timestep
        if self._finish(links.room.record, n, self.placed.body, *ours):
            _integrate(model, room.before, room.rise, timestep)
            linkstep.keep_spins(self._spins, joints.qpos, room.before, joints.qvel)
            joints.qpos[:] = room.before

    def _try_turn(self, timestep: float, turn: int, linear: bool) -> int:
        """A turn where MuJoCo's step has no closed form."""
        law, contacts = self.links.law, self.links.contacts
        how = linkstep.compiled_settle if isinstance(law, tuple) else linkstep.settle
        V, R, L = self._probe(contacts.record["index"], timestep)
        rest = timestep, turn, linear, self.links.tolerance
        done = how(law, contacts, self.joints, self.placed, self.room, V, R, L, *rest)
        return linkstep.DONE if done else linkstep.AGAIN

    def _probe(self, rows: NDArray[np.int64], timestep: float):
        """V, R and L of jointspace.linearise by trying: a step of a copy for each direction of each link."""
        model = self.model
        bodies = self.placed.body[rows]
        J, still = np.zeros((6 * len(rows), model.nv)), self._try(None, 0, 0.0)
        for k, body in enumerate(bodies.tolist()):
            mujoco.mj_jacBodyCom(model, self.data, J[6 * k : 6 * k + 3], J[6 * k + 3 : 6 * k + 6], body)
        R = np.empty((model.nv, len(J)))
        for k in range(len(J)):
            body = int(bodies[k // 6])
            small = 1e-3 * float(model.body_mass[body]) * (1.0 if k % 6 < 3 else float(self.placed.reach.max()))
            R[:, k] = (self._try(body, k % 6, small / timestep) - still) / small
        return J @ still, R, J @ R

    def _try(self, body: int | None, axis: int, force: float) -> NDArray[np.float64]:
        """Joint velocities after the step with one more force."""
        mujoco.mj_copyData(self._scratch, self.model, self.data)
        if body is not None:
            self._scratch.xfrc_applied[body, axis] += force
        _step2(self.model, self._scratch)
        return self._scratch.qvel.copy()


def _springs(model: Any, data: Any) -> Springs:
    """MuJoCo's own constraints of this step."""
    layout = data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind
    return Springs(data.efc_J, *layout, data.efc_D, data.efc_state, bool(mujoco.mj_isSparse(model)))


def _placed(model: Any, laws: Sequence[Law], fits: Sequence[mjcf.Fit]) -> Placed:
    """Where the links are in the model's tree."""
    n = len(fits)
    body = np.array([one.body for one in fits])
    dofs, count = np.zeros((n, model.nv), dtype=np.int64), np.zeros(n, dtype=np.int64)
    for i, one in enumerate(fits):
        moved = mjcf.dofs_of(model, one.body)
        dofs[i, : len(moved)], count[i] = moved, len(moved)
    reach = np.array([np.linalg.norm(law.body.hull.vertices, axis=1).max() for law in laws])
    turn = np.array([one.turn for one in fits])
    root = np.asarray(model.body_rootid[body], dtype=np.int64)
    return Placed(body, root, dofs, count, turn, reach, np.zeros((n, 3)), np.zeros((n, 3, 3)))
