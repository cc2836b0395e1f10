"""What the viewer throws: a law, with what is known of where it was learned."""

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
from stiction.data.plan import Plan
from stiction.laws.impact import ImpactLaw
from stiction.laws.law import Law
from stiction.laws.modelfile import load_law, shipped_laws
from stiction.recordings.tosses import Recordings, Toss
from stiction.simulation.rollout import rollout
from stiction.viewer.solids import finite_part

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
    from stiction.fit.identify import open_recordings

    return open_recordings(data, law.body.reshaped(rounding=0.0))


# What a throw of the viewer is compared with: the ground truth, a baseline, other simulators, what was recorded, or
# what the law itself holds possible.


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
DRAWN = 12  # of the law's own samples
_NOT_SHIPPED = "The recordings do not ship; this toss is drawn like them. --data FOLDER shows the recorded ones."


@dataclass(frozen=True)
class Contrast:
    """Motions of the same body from the same start as the law's.

    runs: none, one, or some samples
    remark: why there are none, or what else is to be said
    """

    name: str
    runs: list[Trajectory]
    remark: str = ""

    def poses(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Positions (k, 3) and quaternions (k, 4) at this time [s]; a run that is over stays where it ended."""
        steps = [min(round(time / run.timestep), run.steps) for run in self.runs]
        found = [(run.position[step], run.quaternion[step]) for run, step in zip(self.runs, steps)]
        position, quaternion = zip(*found)
        return np.array(position), np.array(quaternion)


def offered(subject: Subject) -> list[str]:
    """What a law can be compared with, the most telling first."""
    body, recorded = subject.law.body, isinstance(subject.law, ImpactLaw)
    there = {
        RECORDED: recorded,
        TRUTH: subject.plan is not None,
        BASELINE: subject.baseline is not None,
        SAMPLES: any(getattr(subject.law, "spread", ())),
        MUJOCO: body.shape == "box" and not body.planar,
        DART: getattr(subject.plan and subject.plan.truth, "name", "") != "dantzig",  # which is DART's own solver
    }
    return [*(name for name, wanted in there.items() if wanted), NOTHING]


def contrast(
    subject: Subject, name: str, start: State, duration: float, *, toss: int | None = None, seed: int = 0
) -> Contrast:
    """The throw as `name` has it; where it cannot be had, the remark says why.

    toss: number of the recorded toss that this start was taken from
    seed: of the samples
    """
    try:
        runs = _runs(subject, checks.choice("contrast", name, offered(subject)), start, duration, toss, seed)
    except (checks.InputError, ImportError) as error:  # mostly a simulator is missing: the law can be watched alone
        return Contrast(name, [], str(error))
    remark = ""
    if name == RECORDED and toss is None:
        remark = _NOT_SHIPPED if subject.recordings is None else "Nothing was recorded from this start."
    return Contrast(name, [finite_part(run) for run in runs], remark)


def _runs(subject: Subject, name: str, start: State, duration: float, toss: int | None, seed: int) -> list[Trajectory]:
    law, plan = subject.law, subject.plan
    if name == TRUTH and plan is not None:
        steps = max(1, round(duration / law.timestep))
        return [plan.truth.throw(plan.body, start, steps, timestep=law.timestep, gravity=plan.gravity)]
    if name == BASELINE:
        return [subject.throw(start, duration, law=subject.baseline, finite=False)]
    if name == SAMPLES:
        drawn = subject.throw(start, duration, samples=DRAWN, seed=seed)
        return [drawn[k] for k in range(DRAWN)]
    if name == RECORDED and subject.recordings is not None and toss is not None:
        tosses = subject.recordings.tosses
        motion = recorded_motion(tosses.tosses[toss], tosses.timestep)
        return [replace(motion, position=motion.position - [0.0, 0.0, law.ground])]  # the ground is shown at z = 0
    if name in (MUJOCO, DART):
        return [_simulated(subject, name, start, duration)]
    return []


def _simulated(subject: Subject, name: str, start: State, duration: float) -> Trajectory:
    """By another simulator, with the friction that the law was learned from, or has itself."""
    law = subject.law
    timestep = law.timestep / max(1, law.substeps)
    how = {"timestep": timestep, "gravity": subject.gravity, "friction": _friction(subject)}
    steps = max(1, round(duration / timestep))
    if name == MUJOCO:
        from stiction.mujoco import plain_throw as mujoco_throw

        return mujoco_throw.throw(law.body, start, steps, **how)
    from stiction import dart

    sharp = law.body.reshaped(rounding=0.0) if law.body.rounding else law.body  # DART knows no round edges
    return dart.throw(sharp, start, steps, **how)


def _friction(subject: Subject) -> float:
    law = subject.law
    if isinstance(law, ImpactLaw):
        return float(law.material.friction)
    known = subject.plan.truth.friction if subject.plan else ()
    if len(known) != 1:
        raise checks.InputError("This law does not have one coefficient of friction, which a simulator needs.")
    return float(known[0])


def recorded_motion(toss: Toss, timestep: float) -> Trajectory:
    """A recorded toss as a trajectory; frames that are missing repeat the one before."""
    at = np.searchsorted(toss.frame, np.arange(toss.steps + 1), side="right") - 1
    return posed(toss.position[at], toss.quaternion[at], timestep)


def posed(position, quaternion, timestep: float) -> Trajectory:
    """Poses (n, 3) and (n, 4) as a trajectory whose velocities and contacts are not known, and zero."""
    still, none = np.zeros_like(position), np.zeros(len(position) - 1, np.int8)
    return Trajectory(position, quaternion, still, still, np.zeros((len(none), 6)), none, none, timestep)
