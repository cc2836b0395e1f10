"""A step of MuJoCo in which links with laws touch the ground.

MuJoCo's own functions are called from Python, where their errors and users' callbacks are at home; all that lies
between two of them is one call of the native core, which works on MuJoCo's arrays.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks
from stiction.laws.law import Law
from stiction.mujoco import body_fit, mjcf
from stiction.mujoco.ground import Ground
from stiction.mujoco.links import Links
from stiction.mujoco.mjcf import mujoco
from stiction.mujoco.own_contacts import OwnContacts
from stiction.mujoco.powell import solve_powell

_EULER = int(mujoco.mjtIntegrator.mjINT_EULER)
_NOTHING, _VELOCITY = int(mujoco.mjtStage.mjSTAGE_NONE), int(mujoco.mjtStage.mjSTAGE_VEL)  # known before
_QUADRATIC = int(mujoco.mjtConstraintState.mjCNSTRSTATE_QUADRATIC)
_CONE = int(mujoco.mjtConstraintState.mjCNSTRSTATE_CONE)
_UNDAMPED = int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP) | int(mujoco.mjtDisableBit.mjDSBL_DAMPER)
_DONE, _UNKNOWN = int(_core.Progress.DONE), int(_core.Progress.UNKNOWN)
_ROUNDS = range(_core.MOST_ROUNDS)
_step1, _step2, _forward_skip = mujoco.mj_step1, mujoco.mj_step2, mujoco.mj_forwardSkip

# What the core looks at: of the data, and of the model. These arrays stay where they are as long as both live.
_OF_DATA = (
    "xipos", "xmat", "subtree_com", "cdof", "M", "qpos", "qvel", "qacc", "qfrc_smooth", "qfrc_constraint",
    "xfrc_applied",
)  # fmt: skip
_OF_MODEL = (
    "M_rowadr", "M_colind", "dof_damping", "dof_dampingpoly", "actuator_damping", "actuator_dampingpoly",
)  # fmt: skip


def parts_of(timestep: float, laws: Iterable[Law]) -> int:
    """In how many equal parts a step is taken.

    A law that cuts its own steps where corners arrive cannot do so inside MuJoCo. Instead, a step has parts that are no
    longer than those in which the law takes its own steps.
    """
    longest = min((law.timestep / law.substeps for law in laws if law.substeps), default=np.inf)
    return max(1, math.ceil(timestep / longest - 1e-6))


def check_timestep(timestep: float, laws: Mapping[Any, Law]) -> None:
    """Refuse a time step with which a law cannot be asked. Laws that cut their own steps take any."""
    parts = parts_of(timestep, laws.values())
    for name, law in laws.items():
        if not law.substeps and abs(law.timestep - timestep) > 1e-12:
            raise checks.InputError(
                f"The law of {name!r} is for steps of {law.timestep:g} s, the model has {timestep:g} s."
            )
        if parts > 1 and not law.any_timestep:
            raise checks.InputError(
                f"The law of {name!r} holds for steps of {law.timestep:g} s only, and another law wants them in "
                f"{parts} parts: use laws that hold for any time step, or one that wants no parts."
            )


class ContactStep:
    """The links of a simulation, and what a step does with their contacts.

    fits: how each law's body lies in its body of the model; options: of Links
    """

    def __init__(
        self, model: Any, data: Any, laws: Sequence[Law], fits: Sequence[body_fit.Fit], ground: Ground, **options: Any
    ) -> None:
        self.model, self.data = model, data
        self.links = Links(laws, **options)
        arrays = {name: getattr(data, name) for name in _OF_DATA}
        arrays.update({name: getattr(model, name) for name in _OF_MODEL})
        self.core = core = _core.RobotStep(
            self.links.core,
            arrays,
            body=[one.body for one in fits],
            root=[int(model.body_rootid[one.body]) for one in fits],
            dofs=[mjcf.dofs_of(model, one.body) for one in fits],
            frame=np.array([one.turn for one in fits]),
            ground=ground.core,
            tolerance=self.links.tolerance,
            spins=mjcf.spins(model),
            quadratic=_QUADRATIC,
            cone=_CONE,
        )
        self._bodies = [one.body for one in fits]
        self._own = OwnContacts(model, data, ground, self._bodies, core)
        self._chooses = not ground.is_one_plane
        self._touch, self._part, self._finish, self.is_finite = (
            core.touch,
            core.contact_part,
            core.finish,
            core.is_finite,
        )
        self._rise, self._before = core.rise, core.before
        self._scratch = None
        self._option, self._sensors = model.opt, model.nsensor
        self._modes = self.links.method == "modes"
        self._touched, self._constrained = 0, False
        self.forces_wanted = False
        self._laws = laws if any(law.substeps for law in laws) else ()

    def step(self) -> None:
        """A whole step, or several that add up to one."""
        parts = parts_of(self._option.timestep, self._laws) if self._laws else 1
        if parts == 1:
            self._advance(True)
            return
        option, whole = self._option, self._option.timestep
        option.timestep = whole / parts
        try:
            for k in range(parts):
                if self.is_finite():  # else the next step says so
                    self._advance(k == 0)
        finally:
            option.timestep = whole

    def _advance(self, is_first: bool) -> None:
        """One step of MuJoCo. is_first: whether it is no later part of one of ours"""
        model, data = self.model, self.data
        # Links that touched in the last step mostly do so again, and then accelerations are needed: one call for all.
        # Which contacts MuJoCo is to solve must be known before, unless it never finds those of our links.
        ahead = self._touched and not self._sensors and not self._chooses
        if ahead:
            _forward_skip(model, data, _NOTHING, 1)
        else:
            _step1(model, data)
        option = self._option
        timestep = option.timestep
        self._touched = self._touch(timestep, is_first)
        if data.ncon:
            self._own.look(is_first)
        if not self._touched:
            _step2(model, data)
            if self.forces_wanted:
                mujoco.mj_rnePostConstraint(model, data)
            return
        damps = not option.disableflags & _UNDAMPED
        direct = self._modes and option.integrator == _EULER
        try:
            for number in _ROUNDS:
                if number or not ahead:
                    _forward_skip(model, data, _VELOCITY, 1)
                if data.nefc or self._constrained:
                    self._look_at_constraints()
                said = self._part(timestep, damps, number) if direct else _UNKNOWN
                if said == _UNKNOWN:
                    said = self._part_by_part(timestep, damps, number)
                if said == _DONE:
                    break
            _step2(model, data)
        except BaseException:  # of a law in Python, a callback of MuJoCo's, or Ctrl-C
            self.core.withdraw()
            raise
        if self.forces_wanted:
            mujoco.mj_rnePostConstraint(model, data)
        if self._finish(timestep):
            mujoco.mj_integratePos(model, self._before, self._rise, timestep)
            self.core.take_positions()

    def _look_at_constraints(self) -> None:
        """Tell the core MuJoCo's own constraints of this step, which stand elsewhere in every step."""
        data = self.data
        self._constrained = data.nefc > 0
        sparse = self._constrained and mujoco.mj_isSparse(self.model)
        layout = [data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind] if sparse else []
        self.core.set_constraints(data.efc_J, data.efc_D, data.efc_state, layout)

    def _part_by_part(self, timestep: float, damps: bool, number: int) -> int:
        """A round of the contact part where MuJoCo's step has no closed form, or with Powell's method."""
        core = self.core
        if self._option.integrator != _EULER or not core.find_linear(timestep, damps):
            core.set_linear(*self._tried(timestep))
        said = _DONE
        if not core.came_true(number):
            if self._modes:
                core.solve()
            else:
                solve_powell(self.links.core, core.V_free, core.L)
            said = core.apply(timestep, number)
        if said == _DONE:
            core.plan_rise(timestep)
        return said

    def _tried(self, timestep: float) -> tuple[NDArray[np.float64], ...]:
        """V, R and L of the core's LinearStep by trying: a step of a copy for each direction of each link."""
        model, links = self.model, self.core.touching.tolist()
        J, R = np.zeros((6 * len(links), model.nv)), np.zeros((model.nv, 6 * len(links)))
        still = self._velocity_after(None, 0, 0.0)
        for k, link in enumerate(links):
            body = self._bodies[link]
            mujoco.mj_jacBodyCom(model, self.data, J[6 * k : 6 * k + 3], J[6 * k + 3 : 6 * k + 6], body)
            # Small against what moves the link, large against rounding.
            force = 4e-3 * float(model.body_mass[body])
            torque = force * float(self.links.reach)
            for axis in range(6):
                small = force if axis < 3 else torque
                after = self._velocity_after(body, axis, small / timestep)
                R[:, 6 * k + axis] = (after - still) / small
        return J @ still, R, J @ R

    def _velocity_after(self, body: int | None, axis: int, force: float) -> NDArray[np.float64]:
        """Joint velocities after the step with one more force."""
        if self._scratch is None:
            self._scratch = mujoco.MjData(self.model)
        mujoco.mj_copyData(self._scratch, self.model, self.data)
        if body is not None:
            self._scratch.xfrc_applied[body, axis] += force
        _step2(self.model, self._scratch)
        return self._scratch.qvel.copy()
