"""Where the time of a batch step goes, beside the least that the networks' arithmetic could take on this core."""

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from stiction import stepping
from stiction.bodies.state import Kind, Mode
from stiction.laws.approximators import evaluate_all
from stiction.laws.augmented import AugmentedLaw
from stiction.laws.features import describe_all
from stiction.laws.frame import SCALE
from stiction.laws.modelfile import load
from stiction.patch import first_contacts, new_contacts
from stiction.simulation.rollout import CHUNK, rollout
from stiction.studies.speed import common
from stiction.studies.speed.common import Begin, Scale
from stiction.studies.speed.measured import Measured
from stiction.studies.speed.timing import pinned, quiet, timed

DETECT, DESCRIBE, NETWORKS = "detect", "describe", "networks"
SOLVE, INTEGRATE, TOTAL, BOUND = "solve", "integrate, record", "whole step", "networks at the sgemm peak"
_MOMENTS = 16  # evenly spread over the throws
_SGEMM = """
import time, numpy
n, least = 384, 1e9
a = numpy.random.default_rng(0).normal(size=(n, n)).astype(numpy.float32)
out = numpy.empty_like(a)
for _ in range(600):
    began = time.perf_counter()
    numpy.matmul(a, a, out=out)
    least = min(least, time.perf_counter() - began)
print(2 * n**3 / least)
"""


def run(size: Scale, seed: int, begin: Begin) -> Measured:
    """Time the parts of a step of a chunk of bodies, at moments all along their throws."""
    law = load("box")
    assert isinstance(law, AugmentedLaw)
    states = common.throws(law.body, CHUNK, seed)
    throws = rollout(law, states, size.steps)
    moments = np.linspace(0, size.steps, _MOMENTS, endpoint=False).astype(int) + size.steps // (2 * _MOMENTS)
    advance = begin("Profile of a batch step", _MOMENTS)
    found, flops, counts = [], [], []
    with pinned(), quiet():
        peak = sgemm_peak()
        none = _Moment(law, common.motion(law.body, throws.state(0)[:0])).times(20 * size.repeats)
        for t in moments.tolist():
            moment = _Moment(law, common.motion(law.body, throws.state(t)))
            times = moment.times(10 * size.repeats)
            found.append({part: times[part] - none[part] for part in times})  # without the calls from Python
            flops.append(moment.flops())
            counts.append([moment.n, len(moment.described), len(moment.dynamic)])
            advance()
    mean = {part: 1e6 * float(np.mean([times[part] for times in found])) / CHUNK for part in found[0]}
    mean[SOLVE] = mean[TOTAL] - sum(mean[part] for part in (DETECT, DESCRIBE, NETWORKS, INTEGRATE))
    mean[BOUND] = 1e6 * float(np.mean(flops)) / CHUNK / peak
    share = np.mean(counts, axis=0) / CHUNK
    order = (DETECT, DESCRIBE, NETWORKS, SOLVE, INTEGRATE, TOTAL, BOUND)
    notes = [
        f"{CHUNK} bodies at {_MOMENTS} moments of their throws, one core. Describe: normal impulse and inputs of the "
        "networks; solve: static impulse, friction, guards, and all that is not in another part.",
        f"Of the bodies, {100 * share[0]:.0f} % touch, {100 * share[1]:.0f} % press and ask a classifier, "
        f"{100 * share[2]:.0f} % slide and ask a regressor, too.",
        f"Peak of this core in single-precision matrix products: {peak / 1e9:.0f} Gflop/s.",
    ]
    return Measured(
        "profile", "A batch step", "µs a body and step", ["µs", "% of the step"],
        {part: {"µs": mean[part], "% of the step": 100 * mean[part] / mean[TOTAL]} for part in order}, {}, notes,
        {"sgemm_flop_per_s": peak, "flop_per_body_step": float(np.mean(flops)) / CHUNK},
    )  # fmt: skip


def sgemm_peak() -> float:
    """Greatest speed of single-precision matrix products on one core [flop/s]."""
    one = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    command = [sys.executable, "-c", _SGEMM]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | one).stdout)


class _Moment:
    """A chunk of bodies in the middle of their throws, and the parts of the step that they are about to make."""

    def __init__(self, law: AugmentedLaw, motion: stepping.Motion) -> None:
        self.law, self.terms, self.hull, self.setting = law, law.compiled, law.body.hull, common.setting()
        self.before = motion
        self.motion = stepping.Motion(*(part.copy() for part in motion))
        self.contacts = new_contacts(self.hull, len(motion.position))
        self.record = stepping.empty_record(len(motion.position), 1)
        self.whole()
        self.n = self.detect()
        self.touching = first_contacts(self.contacts, self.n)
        record = self.touching.record
        self.dynamic = np.flatnonzero(law.classify(self.touching) == Mode.DYNAMIC)
        self.described = np.flatnonzero(record["memo"][:, SCALE] > 0)
        self.velocity = record["velocity"].copy()

    def reset(self) -> None:
        for part, old in zip(self.motion, self.before):
            part[...] = old

    def whole(self) -> None:
        self.reset()
        stepping.simulate(self.terms, self.setting, self.hull, self.contacts, self.motion, self.record)

    def detect(self) -> int:
        self.reset()
        return int(stepping.begin_step(self.setting, self.hull, self.contacts, self.motion))

    def describe(self) -> None:
        describe_all(self.touching, self.terms.recipe, self.terms.mass)

    def networks(self) -> None:
        for role, mode in ((0, Mode.NONE), (1, Mode.DYNAMIC)):
            evaluate_all(self.terms.numbers, self.terms.table, 2, role, self.touching, mode)

    def restore(self) -> None:
        self.touching.record["velocity"] = self.velocity  # which the end of a step overwrites

    def integrate(self) -> None:
        self.restore()
        stepping.end_contacts(self.touching, self.motion, self.record, 0, self.terms.softness)
        stepping.end_step(self.setting, self.contacts, self.motion, self.n, self.terms.softness)
        stepping.write_state(self.record, self.motion, 1)

    def times(self, repeats: int) -> dict[str, float]:
        """Least time of each part for the whole chunk [s]; what puts the state back is taken off."""
        reset, restore = _least(self.reset, repeats), _least(self.restore, repeats)
        times = {DESCRIBE: _least(self.describe, repeats), NETWORKS: _least(self.networks, repeats)}
        times[INTEGRATE] = _least(self.integrate, repeats) - restore
        return times | {DETECT: _least(self.detect, repeats) - reset, TOTAL: _least(self.whole, repeats) - reset}

    def flops(self) -> float:
        """Additions and multiplications in the networks that this step asks."""
        total = 0.0
        for role, chosen in enumerate((self.described, self.dynamic)):
            kinds = self.touching.record["kind"][chosen]
            for kind in (Kind.POINT, Kind.LINE, Kind.SURFACE):
                sizes = self.law.parts[kind][role].sizes
                total += float((kinds == kind).sum()) * sum(2 * a * b for a, b in pairwise(sizes))
        return total


def _least(work: Callable[[], object], repeats: int) -> float:
    return min(timed(work) for _ in range(repeats + 1))
