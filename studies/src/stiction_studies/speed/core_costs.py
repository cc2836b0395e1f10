"""Costs inside the core: materials beside a learned law, and where the time of a batch step goes."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.bodies.state import Kind, Mode, State
from stiction.laws.law import Law
from stiction.laws.learned import AugmentedLaw
from stiction.laws.material import Material
from stiction.laws.modelfile import load
from stiction.simulation.motion import Motion, contacts_at, to_motion
from stiction.simulation.rollout import rollout
from stiction_studies.speed.bench_case import SETTING, Measured, Progress, Scale
from stiction_studies.timing import least_time, least_times, pinned, quiet, timed

CHUNK = 256  # bodies stepped together, as in a rollout
MAX_CONTACTS = 1000  # of each kind and mode
LEARNED, AS_DART = "networks, law box", "material as DART: box, frictionless limit"
WHOLE_BATCH = "batch, whole throws"
MATERIALS = {  # all with about the friction of the throws that the law box was learned from
    AS_DART: Material.coulomb(1.0, cone="box"),
    "material: round cone": Material.coulomb(1.0),
    "material: direction": Material.directional(0.8, 1.0, 1.25),
    "material: speed": Material.stribeck(1.2, 0.9, speed=0.3),
    "material: load": Material.of(1.0, load=lambda force: (force / 10 + 0.1) ** -0.1),
    "material: direction, speed and load": Material.of(
        0.9,
        direction=lambda angle: 1 + 0.2 * np.cos(angle),
        speed=lambda v: 1 + 0.3 * np.exp(-((v / 0.3) ** 2)),
        load=lambda force: (force / 10 + 0.1) ** -0.1,
    ),
}
GROUPS = {
    f"{kind.name.lower()} {word}": (kind, mode)
    for kind in (Kind.POINT, Kind.LINE, Kind.SURFACE)
    for word, mode in (("sticks", Mode.STATIC), ("slides", Mode.DYNAMIC))
}


def run_materials(size: Scale, seed: int, progress: Progress) -> Measured:
    """Time batches of whole throws with one thread, and Algorithm 1 on the contacts of each law's own throws."""
    box = load("box")
    laws: dict[str, Law] = {LEARNED: box, **{name: m.on(box.body) for name, m in MATERIALS.items()}}
    states = State.random(box.body, CHUNK, seed=seed)
    advance = progress("Materials", len(laws) * (size.rounds + 2))
    runs = {
        name: lambda law=law: np.array([timed(lambda: rollout(law, states, size.steps, substeps=0, threads=1))])
        for name, law in laws.items()
    }
    with pinned():
        batches = least_times(runs, size.rounds, advance)
    figures = {name: {WHOLE_BATCH: 1e6 * float(batches[name][0]) / (CHUNK * size.steps)} for name in laws}
    for name, law in laws.items():
        throws = rollout(law, states, size.steps, substeps=0)
        for group, (kind, mode) in GROUPS.items():
            contacts = _contacts(law, throws, kind, mode, seed)
            if len(contacts):
                with pinned(), quiet():
                    least = least_time(lambda c=contacts, n=law.native: n.respond(c), 4 * size.repeats)
                figures[name][group] = 1e6 * least / len(contacts)
        advance()
    notes = [
        f"{CHUNK} throws of {size.steps} steps of the box, one thread; then Algorithm 1 with each law on up to "
        f"{MAX_CONTACTS:,} contacts of each kind and mode of its own throws, in one call."
    ]
    return Measured(
        "Materials and networks", "µs a body and step, µs a contact", [WHOLE_BATCH, *GROUPS], figures,
        {name: LEARNED for name in MATERIALS}, notes,
    )  # fmt: skip


def _contacts(law: Law, throws, kind: Kind, mode: Mode, seed: int) -> _core.Contacts:
    """Return some of the contacts of one kind and mode in a batch of throws."""
    throw, step = np.nonzero((throws.kind == kind) & (throws.mode == mode))
    some = np.random.default_rng(seed).permutation(len(throw))[:MAX_CONTACTS]
    return contacts_at(law.body, to_motion(law.body, throws.states()[throw[some], step[some]]), SETTING)


# Where the time of a batch step goes, beside the least that the networks' arithmetic could take on this core.

MOVE, DESCRIBE, NETWORKS = "detect, integrate, record", "describe", "networks"
SOLVE, TOTAL, BOUND = "solve", "whole step", "networks at the sgemm peak"
_SGEMM = """
import time, numpy
n, least = 384, 1e9
a = numpy.random.default_rng(0).normal(size=(n, n)).astype(numpy.float32)
out = numpy.empty_like(a)
for _ in range(600):
    start = time.perf_counter()
    numpy.matmul(a, a, out=out)
    least = min(least, time.perf_counter() - start)
print(2 * n**3 / least)
"""


def run_profile(size: Scale, seed: int, progress: Progress) -> Measured:
    """Time the parts of a step of a chunk of bodies, at moments all along their throws.

    Each part is a call of the core that does all that the part before it does, and more: the cost of a part is the
    difference.
    """
    n_moments = 16
    law = load("box")
    assert isinstance(law, AugmentedLaw)
    states = State.random(law.body, CHUNK, seed=seed)
    throws = rollout(law, states, size.steps)
    moments = np.linspace(0, size.steps, n_moments, endpoint=False).astype(int) + size.steps // (2 * n_moments)
    advance = progress("Profile of a batch step", n_moments)
    found, flops, counts = [], [], []
    with pinned(), quiet():
        peak = sgemm_peak()
        for t in moments.tolist():
            motion = to_motion(law.body, throws.state(t))
            contacts = _core.touching(law.body.hull, *motion, SETTING.timestep, SETTING.gravity)
            dynamic = law.classify(contacts) == Mode.DYNAMIC
            pressing = contacts.record["unit_impulse"] > 0
            found.append(_step_times(law, motion, contacts, 10 * size.repeats))
            flops.append(_flops(law, [contacts.record["kind"][chosen] for chosen in (pressing, dynamic)]))
            counts.append([len(contacts), pressing.sum(), dynamic.sum()])
            advance()
    mean = {part: 1e6 * float(np.mean([times[part] for times in found])) / CHUNK for part in found[0]}
    mean[BOUND] = 1e6 * float(np.mean(flops)) / CHUNK / peak
    share = np.mean(counts, axis=0) / CHUNK
    order = (MOVE, DESCRIBE, NETWORKS, SOLVE, TOTAL, BOUND)
    notes = [
        f"{CHUNK} bodies at {n_moments} moments of their throws, one core. Describe: normal impulse and inputs of the "
        "networks; solve: static impulse, friction and guards.",
        f"{100 * share[0]:.0f} % of the bodies touch, {100 * share[1]:.0f} % press and need a classifier, "
        f"{100 * share[2]:.0f} % slide and need a regressor, too.",
        f"Peak of this core in single-precision matrix products: {peak / 1e9:.0f} Gflop/s.",
    ]
    return Measured(
        "A batch step", "µs a body and step", ["µs", "% of the step"],
        {part: {"µs": mean[part], "% of the step": 100 * mean[part] / mean[TOTAL]} for part in order}, {}, notes,
        {"sgemm_flop_per_s": peak, "flop_per_body_step": float(np.mean(flops)) / CHUNK},
    )  # fmt: skip


def sgemm_peak() -> float:
    """Return the greatest speed of single-precision matrix products on one core [flop/s]."""
    one = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    command = [sys.executable, "-c", _SGEMM]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | one).stdout)


def _step_times(law: AugmentedLaw, motion: Motion, contacts: _core.Contacts, repeats: int) -> dict[str, float]:
    """Return the least time of each part of a step of a chunk of bodies [s]."""
    native, recipe = law.native, law.inputs.recipe(law.body.mass)
    stepper = _core.Stepper(native, law.body.hull, *motion, SETTING.timestep, SETTING.gravity, 0)

    def step() -> None:
        stepper.set(*motion)
        stepper.step()

    describe = least_time(lambda: _core.describe(contacts, recipe), repeats)
    classify = least_time(lambda: native.classify(contacts), repeats)
    respond = least_time(lambda: native.respond(contacts), repeats)
    native.classify(contacts)
    friction = least_time(lambda: native.friction(contacts), repeats)
    whole = least_time(step, repeats) - least_time(lambda: stepper.set(*motion), repeats)
    return {
        DESCRIBE: describe,
        NETWORKS: classify - describe + friction,
        SOLVE: respond - classify - friction,
        MOVE: whole - respond,
        TOTAL: whole,
    }


def _flops(law: AugmentedLaw, kinds: list[NDArray]) -> float:
    """Return the additions and multiplications of the classifiers, then the regressors, at contacts of these kinds."""
    total = 0.0
    for role, chosen in enumerate(kinds):
        for kind in (Kind.POINT, Kind.LINE, Kind.SURFACE):
            sizes = law.parts[kind][role].sizes
            total += float((chosen == kind).sum()) * sum(2 * a * b for a, b in pairwise(sizes))
    return total
