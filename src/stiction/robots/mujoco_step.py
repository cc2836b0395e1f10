"""A step of MuJoCo in which links with laws touch the ground.

MuJoCo's own functions are called from Python, where their errors and users' callbacks are at home; all that lies
between two of them is one compiled call on MuJoCo's arrays.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from stiction import linkstep
from stiction.jointspace import Joints, Linear, Placed, Springs, new_linear
from stiction.laws.law import Law
from stiction.links import Links
from stiction.linkstep import DONE, MOST_TURNS, UNKNOWN
from stiction.packed import Packed
from stiction.robots import mjcf
from stiction.robots.mjcf import mujoco

_EULER = int(mujoco.mjtIntegrator.mjINT_EULER)
_NOTHING, _VELOCITY = int(mujoco.mjtStage.mjSTAGE_NONE), int(mujoco.mjtStage.mjSTAGE_VEL)  # known before
_QUADRATIC = int(mujoco.mjtConstraintState.mjCNSTRSTATE_QUADRATIC)
_CONE = int(mujoco.mjtConstraintState.mjCNSTRSTATE_CONE)
_UNDAMPED = int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP) | int(mujoco.mjtDisableBit.mjDSBL_DAMPER)
_MOST = 1e10  # MuJoCo takes no greater number in a state
_step1, _step2, _forward_skip = mujoco.mj_step1, mujoco.mj_step2, mujoco.mj_forwardSkip
_integrate = mujoco.mj_integratePos


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
        groups = self.links.groups
        hulls = np.array([group.address for group in groups])
        self._all = Packed((self.links.room, self.joints, self.placed, self.room, ground, hulls))
        where = self._all.address, self._all.kind
        self.is_finite = partial(self._all.entry(linkstep.is_finite_at, types.float64), *where, _MOST)
        touch = self._all.entry(linkstep.touch_at, types.TypeRef(groups[0].kind))
        self._touch = partial(touch, *where, groups[0].kind)
        self._finish = partial(self._all.entry(linkstep.finish_at, types.int64, types.float64), *where)
        self._springs, self._sprung = Packed(self._no_springs), False
        self._some: dict[int, tuple[Linear, Any]] = {}
        self._option, self._kept = model.opt, []
        self._touched, self._sensors = 0, model.nsensor

    def step(self) -> None:
        """A whole step."""
        model, data = self.model, self.data
        # Links that touched in the last step mostly do so again, and then accelerations are needed: one call for all.
        ahead = self._touched > 0 and not self._sensors
        if ahead:
            _forward_skip(model, data, _NOTHING, 1)
        else:
            _step1(model, data)
        n = self._touched = self._touch()
        if n:
            self._take(n, ahead)
        else:
            _step2(model, data)

    def _take(self, n: int, ahead: bool) -> None:
        """The rest of a step in which n links touch; ahead: whether accelerations without contact are known."""
        self.links.count = n
        model, data, option, tolerance = self.model, self.data, self._option, self.links.tolerance
        linear, contact_turn = self._some.get(n) or self._turn_of(n)
        timestep, known, damps = option.timestep, option.integrator == _EULER, not option.disableflags & _UNDAMPED
        for turn in range(MOST_TURNS):
            if turn or not ahead:
                _forward_skip(model, data, _VELOCITY, 1)
            if data.nefc or self._sprung:
                self._sprung = data.nefc > 0
                self._springs.keep(_springs(model, data))
            said = UNKNOWN
            if known:
                said = contact_turn(timestep, damps, False, turn, tolerance)
            if said == UNKNOWN:
                self._probe(linear, self.links.contacts.record["index"], timestep)
                said = contact_turn(timestep, damps, True, turn, tolerance)
            if said == DONE:
                break
        _step2(model, data)
        if self._finish(n, timestep):
            room = self.room
            _integrate(model, room.before, room.rise, timestep)
            linkstep.keep_spins(self._spins, self.joints.qpos, room.before, self.joints.qvel)
            self.joints.qpos[:] = room.before

    def _turn_of(self, n: int) -> tuple[Linear, Any]:
        """linkstep.contact_turn for n links that touch, and where it finds how they follow impulses."""
        links, springs = self.links, self._springs
        linear = new_linear(n, self.model.nv)
        arguments = links.law, links.contacts, self.joints, self.placed, self.room, linear, links.search(n)
        if isinstance(links.law, tuple):
            packed = Packed(arguments)
            real, whole, truth = types.float64, types.int64, types.boolean
            entry = packed.entry(linkstep.turn_at, whole, types.TypeRef(springs.kind), real, truth, truth, whole, real)
            turn = partial(entry, packed.address, packed.kind, springs.address, springs.kind)
            self._kept.append(packed)
        else:  # a law in plain Python

            def turn(*rest: Any) -> int:
                return linkstep.contact_turn(arguments, None, springs.arguments, None, *rest)

        self._some[n] = linear, turn
        return linear, turn

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
            small = 4e-3 * float(model.body_mass[body]) * (1.0 if k % 6 < 3 else float(self.placed.reach.max()))
            R[:, k] = (self._try(body, k % 6, small / timestep) - still) / small
        linear.V[:], linear.L[:] = J @ still, J @ R

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
