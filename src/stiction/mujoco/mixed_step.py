"""A step of MuJoCo in which links with laws touch the ground, and points with materials press beside them.

Both are parts of one problem. The points are solved for with the links' impulses as applied forces, and tell how the
links follow impulses while they hold: with that, Algorithm 2 finds the links' impulses. With these the points are
solved for again, until what was foreseen for the links comes true. Where the points go on to stick, slip and press as
they did, which is the rule, it does so at once.
"""

from collections.abc import Callable, Sequence
from typing import Any

from stiction import _core
from stiction.bodies.state import Mode
from stiction.laws.law import Law
from stiction.mujoco.body_fit import Fit
from stiction.mujoco.ground import Ground
from stiction.mujoco.link_step import ContactStep
from stiction.mujoco.mjcf import mujoco
from stiction.mujoco.powell import solve_powell

MOST_ROUNDS = 12  # in which links and points are solved for in turn
_NEAR_ENOUGH = 0.1  # of Algorithm 2's tolerance: the error of the links' velocities with which a step counts as solved
_SLOW = 0.7  # share of its error that a round may leave at most; else the next one goes half as far as it would ...
_SHORTEST = 0.25  # ... but not less than this share of the way
_LATER = 1  # the number of a round of the links' that is not their first
_NO_AUTORESET = int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)


class MixedStep(ContactStep):
    """The links of a simulation beside points, and what a step does with the contacts of both.

    points: the steps of the points; tell: raises or warns of what one of them says
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        laws: Sequence[Law],
        fits: Sequence[Fit],
        ground: Ground,
        *,
        points: _core.PointStep,
        tell: Callable[[_core.Outcome], None],
        **options: Any,
    ) -> None:
        super().__init__(model, data, laws, fits, ground, **options)
        self._points: Any = points  # its arrays have no types
        self._tell = tell
        self._near_enough = _NEAR_ENOUGH * self.links.tolerance
        self.is_solved = True  # whether all parts of the last step were

    def step(self) -> None:
        """A whole step, or several that add up to one."""
        self.is_solved = True
        super().step()

    def _advance(self, is_first: bool) -> None:
        points, timestep = self._points, self._option.timestep
        before = points.memory
        outcome = points.begin(is_first)
        if outcome != _core.Outcome.DONE:
            self._tell(outcome)
        touching = self._touch(timestep, is_first)
        if self._chooses:
            self._own.leave_out()
        points.find_beside()
        if is_first:
            self._own.count()
        try:
            outcome = self._rounds() if touching else points.solve_beside()
        except BaseException:  # of a law in Python, a callback of MuJoCo's, or Ctrl-C: nothing has happened
            points.take_back()
            points.memory = before
            self.core.withdraw()
            raise
        if outcome == _core.Outcome.RESET:
            self._give_up()
        outcome = points.end_beside()
        if touching and self._finish(timestep):
            mujoco.mj_integratePos(self.model, self._before, self._rise, timestep)
            self.core.take_positions()
        points.take_depth_back()
        if outcome != _core.Outcome.DONE:
            self._tell(outcome)

    def _rounds(self) -> _core.Outcome:
        """Solve for links and points in turn; the last solution is the motion."""
        core, points, timestep = self.core, self._points, self._option.timestep
        bodies = [self._bodies[link] for link in core.touching.tolist()]
        core.begin_with_last(timestep)
        outcome = points.solve_beside()
        is_solved, share, last = False, 1.0, float("inf")
        for _ in range(MOST_ROUNDS):
            if outcome == _core.Outcome.RESET:
                return outcome
            *linear, is_felt = points.response(bodies)
            core.set_linear(*linear)
            is_solved = core.came_true(_LATER) or self._slides_nearly_so() or self._agrees()
            if is_solved:
                break
            if core.error > _SLOW * last:
                share = max(0.5 * share, _SHORTEST)
            last = core.error
            points.take_back()
            core.apply(timestep, _LATER, share if is_felt else 1.0)
            if not is_felt:
                outcome, is_solved = points.advance_beside(), True
                break
            outcome = points.solve_beside()
        core.plan_rise(timestep)
        self.is_solved = self.is_solved and (is_solved or core.error <= self._near_enough)
        return outcome

    def _slides_nearly_so(self) -> bool:
        """Whether links slide, and move as was foreseen as far as Algorithm 2 knows their friction."""
        return self.core.error <= self._near_enough and bool((self.links.core.solution[1] == Mode.DYNAMIC).any())

    def _agrees(self) -> bool:
        """Solve for the links; whether nothing else comes out than was applied."""
        if self._modes:
            self.core.solve()
        else:
            solve_powell(self.links.core, self.core.V_free, self.core.L)
        return self.core.is_applied()

    def _give_up(self) -> None:
        """Raise after MuJoCo has begun anew by itself, without any forces, or would have."""
        self.core.withdraw()
        if not self._option.disableflags & _NO_AUTORESET:
            self.data.xfrc_applied[:] = 0.0
        self._tell(_core.Outcome.RESET)
