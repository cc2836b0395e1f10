"""What the viewer throws: a law, and the ground truth that it was learned from, where there is one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import State, Trajectory
from stiction.laws.impact import ImpactLaw
from stiction.laws.law import Law
from stiction.laws.modelfile import load_law
from stiction.learning.collect.plan import Plan
from stiction.learning.collect.throws import ThrowRanges
from stiction.simulation.rollout import rollout


@dataclass(frozen=True)
class Thrown:
    """One throw.

    truth: the same throw in the ground truth, or None
    remark: why there is no ground truth; empty where there is one
    """

    run: Trajectory
    truth: Trajectory | None
    remark: str = ""


@dataclass(frozen=True)
class Subject:
    """A law with the plan of the data that it was learned from; None for a law without one."""

    law: Law
    plan: Plan | None

    @classmethod
    def load(cls, name: str) -> "Subject":
        """A shipped law by name, or a model file by path."""
        law = load_law(name)
        return cls(law, Plan.from_dict(law.info["plan"]) if "plan" in law.info else None)

    @property
    def ranges(self) -> ThrowRanges:
        """Throws that the law knows; the usual ones for a law without a plan."""
        return self.plan.ranges if self.plan else ThrowRanges()

    def start(self, height: float, turn: ArrayLike, velocity: ArrayLike, spin: ArrayLike) -> State:
        """The start of a throw; a planar body takes only what lies in its plane.

        height: of the body's lowest point [m]
        turn: about world x, then y, then z [degrees], shape (3,)
        velocity, spin: world axes [m/s, rad/s], shape (3,)
        """
        turn, velocity, spin = (np.array(part, dtype=np.float64) for part in (turn, velocity, spin))
        if self.law.body.planar:
            turn[[0, 2]] = velocity[1] = spin[[0, 2]] = 0.0
        quaternion = Rotation.from_euler("xyz", turn, degrees=True).as_quat(scalar_first=True)
        down = rotation_matrices(quaternion[np.newaxis])[0, 2]
        lowest = (self.law.body.vertices @ down).min() - self.law.body.rounding
        return State((0.0, 0.0, height - lowest), quaternion, velocity, spin)

    def throw(self, start: State, duration: float) -> Thrown:
        """Throw with the law and in the ground truth; `duration` in seconds."""
        steps = max(1, round(duration / self.law.timestep))
        if self.plan is None:
            real = "recordings" if isinstance(self.law, ImpactLaw) else "something that it does not say"
            return Thrown(rollout(self.law, start, steps), None, f"This law was learned from {real}.")
        run = rollout(self.law, start, steps, gravity=self.plan.gravity)
        try:
            truth = self.plan.truth.throw(
                self.plan.body, start, steps, timestep=self.law.timestep, gravity=self.plan.gravity
            )
        except checks.InputError as error:  # most likely DART is missing: the law can be watched without it
            return Thrown(run, None, str(error))
        return Thrown(run, truth)
