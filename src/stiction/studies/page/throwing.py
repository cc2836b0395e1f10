"""What the viewer throws: a law, with what is known of where it was learned."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import State, Trajectory
from stiction.bodies.throws import ThrowRanges
from stiction.laws.impact import ImpactLaw
from stiction.laws.law import Law
from stiction.laws.modelfile import load_law, shipped_laws
from stiction.learning.collect.plan import Plan
from stiction.learning.recordings.recorded import Recordings
from stiction.simulation.rollout import rollout

# As the recorded tosses of the cube were: low, at about 1 m/s, with spins of a few rad/s.
TOSSED = ThrowRanges(height=(0.01, 0.12), horizontal=(-1.0, 1.0), vertical=(-0.4, 0.2), spin=(-5.0, 5.0))


@dataclass(frozen=True)
class Subject:
    """A law, and what it can be compared with.

    plan: of the data that it was learned from; None for a law without one
    baseline: the purely data-driven law of the same data, where one ships
    recordings: of its body, where the viewer was given some
    """

    law: Law
    plan: Plan | None
    baseline: Law | None = None
    recordings: Recordings | None = None

    @classmethod
    def load(cls, name: str, data: str | Path | None = None) -> "Subject":
        """A shipped law by name, or a model file by path; data: recordings of its body."""
        law = load_law(name)
        plan = Plan.from_dict(law.info["plan"]) if "plan" in law.info else None
        baseline = load_law(f"{name}-pdd") if f"{name}-pdd" in shipped_laws() else None
        return cls(law, plan, baseline, None if data is None else _recordings(data, law))

    @property
    def ranges(self) -> ThrowRanges:
        """Throws that the law knows; for one without a plan the usual ones, or such as were recorded."""
        if self.plan:
            return self.plan.ranges
        return TOSSED if isinstance(self.law, ImpactLaw) else ThrowRanges()

    @property
    def gravity(self) -> ArrayLike:
        """That the law was learned with [m/s^2], shape (3,)."""
        return self.plan.gravity if self.plan else self.law.gravity

    def start(self, height: float, turn: ArrayLike, velocity: ArrayLike, spin: ArrayLike) -> State:
        """The start of a throw above a ground at z = 0; a planar body takes only what lies in its plane.

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

    def recorded_start(self, toss: int) -> State:
        """The start of a recorded toss that its flight tells, above a ground at z = 0."""
        assert self.recordings is not None
        return self.recordings[toss].start(self.law).raised(-self._ground)

    def throw(self, start: State, duration: float, *, law: Law | None = None, **options) -> Trajectory:
        """Throw with the law, or with another of the same body; options of rollout. `duration` in seconds."""
        law = self.law if law is None else law
        steps = max(1, round(duration / law.timestep))
        run = rollout(law, start.raised(self._ground), steps, gravity=self.gravity, **options)
        run.position[..., 2] -= self._ground
        return run

    @property
    def _ground(self) -> float:
        """Height of the ground in the law's own coordinates [m]; it is shown at z = 0."""
        return float(self.law.ground)


def _recordings(data: str | Path, law: Law) -> Recordings:
    """From a folder made by `stiction import`, a file, or a folder that holds one, of the body with its edges sharp."""
    from stiction.learning.identify.from_recordings import open_recordings

    return open_recordings(data, law.body.reshaped(rounding=0.0))
