"""What a throw of the viewer is compared with: the ground truth, a baseline, other simulators, what was recorded, or
what the law itself holds possible."""

from dataclasses import dataclass, replace

import numpy as np

from stiction.basics import checks, colours
from stiction.basics.colours import Colour
from stiction.bodies.state import State, Trajectory
from stiction.laws.impact import ImpactLaw
from stiction.learning.recordings.tosses import Toss
from stiction.studies.page.shapes import finite_part
from stiction.studies.page.throwing import Subject

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
        from stiction.simulators import mujoco_throw

        return mujoco_throw.throw(law.body, start, steps, **how)
    from stiction.simulators import dart

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
