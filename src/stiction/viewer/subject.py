"""A law in the viewer, and the motions it is compared with."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from stiction.basics import checks, colours
from stiction.basics.colours import Colour
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import State
from stiction.bodies.throws import ThrowRanges
from stiction.bodies.trajectory import Trajectory
from stiction.data.collection_plan import Plan
from stiction.laws.impact import ImpactLaw
from stiction.laws.law import Law
from stiction.laws.modelfile import load_law, shipped_laws
from stiction.recordings.tosses import Recordings, Toss
from stiction.simulation.rollout import rollout
from stiction.viewer.solids import finite_part

# Like the recorded tosses of the cube: low, at about 1 m/s, with spins of a few rad/s.
TOSSED = ThrowRanges(height=(0.01, 0.12), horizontal=(-1.0, 1.0), vertical=(-0.4, 0.2), spin=(-5.0, 5.0))


@dataclass(frozen=True)
class Subject:
    """A law with its data, baseline and recordings.

    plan: of the data that it was learned from, or None
    baseline: the purely data-driven law of the same data, if one ships
    recordings: of its body, if the viewer was given some
    """

    law: Law
    plan: Plan | None
    baseline: Law | None = None
    recordings: Recordings | None = None

    @classmethod
    def load(cls, name: str, data: str | Path | None = None) -> "Subject":
        """Load a shipped law by name, or a model file by path; data: recordings of its body."""
        law = load_law(name)
        plan = Plan.from_dict(law.info["plan"]) if "plan" in law.info else None
        baseline = load_law(f"{name}-pdd") if f"{name}-pdd" in shipped_laws() else None
        if data is None:
            return cls(law, plan, baseline)
        from stiction.fit.identify import open_recordings

        return cls(law, plan, baseline, open_recordings(data, law.body.reshaped(rounding=0.0)))

    @property
    def ranges(self) -> ThrowRanges:
        """Ranges of the law's data; without a plan the defaults, or those of the recorded tosses."""
        if self.plan:
            return self.plan.ranges
        return TOSSED if isinstance(self.law, ImpactLaw) else ThrowRanges()

    @property
    def gravity(self) -> ArrayLike:
        """Gravity of the law's data [m/s^2], shape (3,)."""
        return self.plan.gravity if self.plan else self.law.gravity

    def start(self, height: float, turn: ArrayLike, velocity: ArrayLike, spin: ArrayLike) -> State:
        """The start of a throw above a ground at z = 0; for a planar body, projected to its plane.

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
        """The start of a recorded toss, estimated from its flight, above a ground at z = 0."""
        assert self.recordings is not None
        return self.recordings[toss].start(self.law).raised(-self.law.ground)

    def throw(
        self, start: State, duration: float, *, law: Law | None = None, samples: int | None = None, seed: int = 0
    ) -> Trajectory:
        """Throw for `duration` seconds with the law, or with another of the same body; samples, seed: as in rollout."""
        law = self.law if law is None else law
        run = rollout(
            law, start.raised(self.law.ground), max(1, round(duration / law.timestep)), gravity=self.gravity,
            samples=samples, seed=seed, finite=False,
        )  # fmt: skip
        run.position[..., 2] -= self.law.ground  # the ground is shown at z = 0
        return run


TRUTH, BASELINE, MUJOCO, DART = "ground truth", "baseline (PDD)", "MuJoCo", "DART"
RECORDED, SAMPLES, NOTHING = "recorded toss", "the law's own samples", "nothing"
COLOURS: dict[str, Colour] = {
    TRUTH: colours.TRUTH,
    BASELINE: colours.BASELINE,
    MUJOCO: colours.MUJOCO,
    DART: colours.TRUTH,
    RECORDED: colours.TRUTH,
    SAMPLES: colours.SERIES[5],
}


@dataclass(frozen=True)
class Contrast:
    """Motions of the same body from the same start, for comparison.

    runs: none, one, or some samples
    remark: why there are none, or another remark
    """

    name: str
    runs: list[Trajectory]
    remark: str = ""

    def poses(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Positions (k, 3) and quaternions (k, 4) at this time [s]; after the end of a run its last pose."""
        steps = [min(round(time / run.timestep), run.steps) for run in self.runs]
        found = [(run.position[step], run.quaternion[step]) for run, step in zip(self.runs, steps)]
        position, quaternion = zip(*found)
        return np.array(position), np.array(quaternion)


def offered(subject: Subject) -> list[str]:
    """Names of the comparisons available for a law, the most informative first."""
    body, recorded = subject.law.body, isinstance(subject.law, ImpactLaw)
    available = {
        RECORDED: recorded,
        TRUTH: subject.plan is not None,
        BASELINE: subject.baseline is not None,
        SAMPLES: any(getattr(subject.law, "spread", ())),
        MUJOCO: body.shape == "box" and not body.planar,
        DART: getattr(subject.plan and subject.plan.truth, "name", "") != "dantzig",
    }
    return [*(name for name, wanted in available.items() if wanted), NOTHING]


def contrast(
    subject: Subject, name: str, start: State, duration: float, *, toss: int | None = None, seed: int = 0
) -> Contrast:
    """The comparison `name` of a throw; if it is not available, the remark gives the reason.

    toss: index of the recorded toss with this start
    seed: of the samples
    """
    try:
        runs = _runs(subject, checks.choice("contrast", name, offered(subject)), start, duration, toss, seed)
    except (checks.InputError, ImportError) as error:  # usually a simulator is not installed
        return Contrast(name, [], str(error))
    remark = ""
    if name == RECORDED and toss is None:
        remark = "Nothing was recorded from this start."
        if subject.recordings is None:
            remark = "The recordings do not ship; this toss is drawn like them. --data FOLDER shows the recorded ones."
    return Contrast(name, [finite_part(run) for run in runs], remark)


def _runs(subject: Subject, name: str, start: State, duration: float, toss: int | None, seed: int) -> list[Trajectory]:
    law, plan = subject.law, subject.plan
    if name == TRUTH and plan is not None:
        steps = max(1, round(duration / law.timestep))
        return [plan.truth.throw(plan.body, start, steps, timestep=law.timestep, gravity=plan.gravity)]
    if name == BASELINE:
        return [subject.throw(start, duration, law=subject.baseline)]
    if name == SAMPLES:
        return list(subject.throw(start, duration, samples=12, seed=seed))
    if name == RECORDED and subject.recordings is not None and toss is not None:
        tosses = subject.recordings.tosses
        motion = recorded_motion(tosses.tosses[toss], tosses.timestep)
        return [replace(motion, position=motion.position - [0.0, 0.0, law.ground])]  # the ground is shown at z = 0
    if name in (MUJOCO, DART):
        return [_simulated(subject, name, start, duration)]
    return []


def _simulated(subject: Subject, name: str, start: State, duration: float) -> Trajectory:
    """A throw in another simulator, with the friction that the law was learned from, or has itself."""
    law, mu = subject.law, _friction(subject)
    timestep = law.timestep / max(1, law.substeps)
    steps = max(1, round(duration / timestep))
    if name == MUJOCO:
        from stiction.mujoco import plain_throw

        return plain_throw.throw(law.body, start, steps, timestep=timestep, gravity=subject.gravity, friction=mu)
    from stiction import dart

    sharp = law.body.reshaped(rounding=0.0) if law.body.rounding else law.body  # DART has no round edges
    return dart.throw(sharp, start, steps, timestep=timestep, gravity=subject.gravity, friction=mu)


def _friction(subject: Subject) -> float:
    law = subject.law
    if isinstance(law, ImpactLaw):
        return float(law.material.friction)
    known = subject.plan.truth.friction if subject.plan else ()
    if len(known) != 1:
        raise checks.InputError("A simulator needs one coefficient of friction, which this law does not have.")
    return float(known[0])


def recorded_motion(toss: Toss, timestep: float) -> Trajectory:
    """A recorded toss as a trajectory; missing frames repeat the previous one."""
    at = np.searchsorted(toss.frame, np.arange(toss.steps + 1), side="right") - 1
    return posed(toss.position[at], toss.quaternion[at], timestep)


def posed(position, quaternion, timestep: float) -> Trajectory:
    """Poses (n, 3) and (n, 4) as a trajectory with zero velocities and no contacts, which are unknown."""
    still, none = np.zeros_like(position), np.zeros(len(position) - 1, np.int8)
    return Trajectory(position, quaternion, still, still, np.zeros((len(none), 6)), none, none, timestep)
