"""Where the time of a batch step goes, beside the least that the networks' arithmetic could take on this core.

Each part is a call of the core that does all that the part before it does, and more: what a part takes is the
difference.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from stiction import _core
from stiction.bodies.state import Kind, Mode
from stiction.laws.learned import AugmentedLaw
from stiction.laws.modelfile import load
from stiction.simulation.motion import Motion
from stiction.simulation.rollout import rollout
from stiction_studies.speed import common
from stiction_studies.speed.common import Begin, Scale
from stiction_studies.speed.measured import Measured
from stiction_studies.timing import pinned, quiet, timed

MOVE, DESCRIBE, NETWORKS = "detect, integrate, record", "describe", "networks"
SOLVE, TOTAL, BOUND = "solve", "whole step", "networks at the sgemm peak"
CHUNK = 256  # bodies stepped together, as in a rollout
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
        for t in moments.tolist():
            moment = _Moment(law, common.motion(law.body, throws.state(t)))
            found.append(moment.times(10 * size.repeats))
            flops.append(moment.flops())
            counts.append([len(moment.contacts), len(moment.described), len(moment.dynamic)])
            advance()
    mean = {part: 1e6 * float(np.mean([times[part] for times in found])) / CHUNK for part in found[0]}
    mean[BOUND] = 1e6 * float(np.mean(flops)) / CHUNK / peak
    share = np.mean(counts, axis=0) / CHUNK
    order = (MOVE, DESCRIBE, NETWORKS, SOLVE, TOTAL, BOUND)
    notes = [
        f"{CHUNK} bodies at {_MOMENTS} moments of their throws, one core. Describe: normal impulse and inputs of the "
        "networks; solve: static impulse, friction and guards.",
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

    def __init__(self, law: AugmentedLaw, motion: Motion) -> None:
        self.law, self.native, self.motion, setting = law, law.native, motion, common.setting()
        world = setting.timestep, setting.gravity
        self.recipe = law.inputs.recipe(law.body.mass)
        self.stepper = _core.Stepper(self.native, law.body.hull, *motion, *world, 0)
        self.contacts = _core.touching(law.body.hull, *motion, *world)
        self.dynamic = np.flatnonzero(law.classify(self.contacts) == Mode.DYNAMIC)
        self.described = np.flatnonzero(self.contacts.record["unit_impulse"] > 0)

    def times(self, repeats: int) -> dict[str, float]:
        """Least time of each part for the whole chunk [s]."""

        def reset() -> None:
            self.stepper.set(*self.motion)

        def step() -> None:
            self.stepper.set(*self.motion)
            self.stepper.step()

        describe = _least(lambda: _core.describe(self.contacts, self.recipe), repeats)
        classify = _least(lambda: self.native.classify(self.contacts), repeats)
        respond = _least(lambda: self.native.respond(self.contacts), repeats)
        self.native.classify(self.contacts)
        friction = _least(lambda: self.native.friction(self.contacts), repeats)
        whole = _least(step, repeats) - _least(reset, repeats)
        return {
            DESCRIBE: describe,
            NETWORKS: classify - describe + friction,
            SOLVE: respond - classify - friction,
            MOVE: whole - respond,
            TOTAL: whole,
        }

    def flops(self) -> float:
        """Additions and multiplications in the networks that this step asks."""
        total = 0.0
        for role, chosen in enumerate((self.described, self.dynamic)):
            kinds = self.contacts.record["kind"][chosen]
            for kind in (Kind.POINT, Kind.LINE, Kind.SURFACE):
                sizes = self.law.parts[kind][role].sizes
                total += float((kinds == kind).sum()) * sum(2 * a * b for a, b in pairwise(sizes))
        return total


def _least(work: Callable[[], object], repeats: int) -> float:
    return min(timed(work) for _ in range(repeats + 1))
