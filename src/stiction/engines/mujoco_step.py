"""A step of MuJoCo in which links with laws touch the ground.

MuJoCo's own functions are called from Python, where their errors and users' callbacks are at home; all that lies
between two of them is one compiled call on MuJoCo's arrays.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from stiction import linkstep
from stiction.contact import Law
from stiction.engines import mjcf
from stiction.engines.mjcf import mujoco
from stiction.jointspace import Joints, Linear, Placed, Springs, new_linear
from stiction.links import Links
from stiction.packed import Packed

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
        self.placed = _placed(model, laws, fits, self.links)
        self.room = linkstep.new_room(len(laws), model.nv, model.nq)
        # These arrays stay where they are as long as their model and data do.
        self.joints = Joints(*(getattr(data if hasattr(data, name) else model, name) for name in Joints._fields))
        self._spins = np.array(mjcf.spins(model), dtype=np.int64).reshape(-1, 2)
        self._no_springs = _springs(model, mujoco.MjData(model))
        self._scratch = mujoco.MjData(model)
        # Arguments of compiled code, kept in memory: for the links that touch, one set for each number of them.
        self._all = Packed((self.links.room, self.joints, self.placed, self.room, ground))
        self._is_finite = self._all.entry(linkstep.is_finite_at, types.float64)
        self._begin = self._all.entry(linkstep.begin_at)
        self._finish = self._all.entry(linkstep.finish_at, types.int64, types.float64)
        self._where = self._all.address, self._all.kind
        self._springs, self._sprung = Packed(self._no_springs), False
        self._some: dict[int, _Some] = {}

    def _touching(self, n: int) -> "_Some":
        if n not in self._some:
            links = self.links
            linear, search = new_linear(n, self.model.nv), links.search(n)
            arguments = links.law, links.contacts, self.joints, self.placed, self.room, linear, search
            self._some[n] = _Some(arguments, self._springs.kind)
        return self._some[n]

    def is_finite(self) -> bool:
        """Whether MuJoCo would take its state as it is."""
        return self._is_finite(*self._where, _MOST)

    def touching(self) -> int:
        """Look where the links are; how many of them touch the ground."""
        return self.links.find() if self._begin(*self._where) else 0

    def take(self, n: int) -> None:
        """The rest of a step in which n links touch."""
        model, data, room, option, some = self.model, self.data, self.room, self.model.opt, self._touching(n)
        timestep, known, damps = option.timestep, option.integrator == _EULER, not option.disableflags & _UNDAMPED
        for turn in range(linkstep.MOST_TURNS):
            _forward_skip(model, data, _VELOCITY, 1)
            springs, said = self._no_springs, linkstep.UNKNOWN
            if data.nefc or self._sprung:
                springs, self._sprung = _springs(model, data), data.nefc > 0
                self._springs.keep(springs)
            if known:
                said = some.turn(springs, self._springs.address, timestep, damps, turn, self.links.tolerance)
            if said == linkstep.UNKNOWN:
                self._probe(some.linear, self.links.contacts.record["index"], timestep)
                said = some.settle(timestep, turn, self._sprung, self.links.tolerance)
            if said == linkstep.DONE:
                break
        _step2(model, data)
        if self._finish(*self._where, n, timestep):
            _integrate(model, room.before, room.rise, timestep)
            linkstep.keep_spins(self._spins, self.joints.qpos, room.before, self.joints.qvel)
            self.joints.qpos[:] = room.before

    def _probe(self, linear: Linear, rows: NDArray[np.int64], timestep: float) -> None:
        """What jointspace.linearise finds, by trying: a step of a copy for each direction of each link."""
        model = self.model
        bodies = self.placed.body[rows]
        J, R, still = linear.J, linear.R, self._try(None, 0, 0.0)
        J[:] = 0.0
        for k, body in enumerate(bodies.tolist()):
            mujoco.mj_jacBodyCom(model, self.data, J[6 * k : 6 * k + 3], J[6 * k + 3 : 6 * k + 6], body)
        for k in range(len(J)):
            body = int(bodies[k // 6])
            small = 1e-3 * float(model.body_mass[body]) * (1.0 if k % 6 < 3 else float(self.placed.reach.max()))
            R[:, k] = (self._try(body, k % 6, small / timestep) - still) / small
        linear.V[:], linear.L[:] = J @ still, J @ R

    def _try(self, body: int | None, axis: int, force: float) -> NDArray[np.float64]:
        """Joint velocities after the step with one more force."""
        mujoco.mj_copyData(self._scratch, self.model, self.data)
        if body is not None:
            self._scratch.xfrc_applied[body, axis] += force
        _step2(self.model, self._scratch)
        return self._scratch.qvel.copy()


class _Some:
    """Compiled calls for links that touch, and their arguments; a law in plain Python is interpreted."""

    def __init__(self, arguments: tuple, kind_of_springs: Any) -> None:
        self._arguments, self.linear = arguments, cast(Linear, arguments[5])
        self._kind_of_springs = kind_of_springs
        if isinstance(arguments[0], tuple):
            self._packed = packed = Packed(arguments)
            real, whole, truth = types.float64, types.int64, types.boolean
            springs = whole, types.TypeRef(kind_of_springs)
            self._turn = packed.entry(linkstep.turn_at, *springs, real, truth, whole, real)
            self._settle = packed.entry(linkstep.settle_at, real, whole, truth, real)
            self._where = packed.address, packed.kind
        else:
            self._packed = None

    def turn(
        self, springs: Springs, address: int, timestep: float, damps: bool, turn: int, tolerance: float
    ) -> int:
        """linkstep.contact_turn; the springs are kept at an address, too."""
        if self._packed is None:
            return linkstep.contact_turn(*self._arguments, springs, timestep, damps, turn, tolerance)
        return self._turn(*self._where, address, self._kind_of_springs, timestep, damps, turn, tolerance)

    def settle(self, timestep: float, turn: int, answers: bool, tolerance: float) -> int:
        """linkstep.settle."""
        if self._packed is None:
            done = linkstep.settle(*self._arguments, timestep, turn, answers, tolerance)
        else:
            done = self._settle(*self._where, timestep, turn, answers, tolerance)
        return linkstep.DONE if done else linkstep.AGAIN


def _springs(model: Any, data: Any) -> Springs:
    """MuJoCo's own constraints of this step."""
    layout = data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind
    sparse = bool(mujoco.mj_isSparse(model))
    return Springs(data.efc_J, *layout, data.efc_D, data.efc_state, sparse, _QUADRATIC, _CONE)


def _placed(model: Any, laws: Sequence[Law], fits: Sequence[mjcf.Fit], links: Links) -> Placed:
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
    return Placed(body, root, dofs, count, turn, reach, links.position, links.rotation)
