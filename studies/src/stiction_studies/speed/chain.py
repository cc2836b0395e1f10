"""The three-link chain: what a step in contact costs inside MuJoCo with our law, with MuJoCo's own contact, in DART."""

import numpy as np

from stiction.laws.modelfile import load
from stiction_studies.engines.stage import Stage
from stiction_studies.robots.chain_model import CHAIN, FRICTION, LAST, LINK, PIN, TIMESTEP, random_start
from stiction_studies.speed import common
from stiction_studies.speed.common import DART, MUJOCO, Begin, Scale
from stiction_studies.speed.measured import Measured
from stiction_studies.timing import least_times, pinned, timed_steps

LAW = "MuJoCo with our law"
CONTACT, FREE = "in contact", "clear of the ground"
_SPREAD = 0.6  # [rad] of the starting angles, as in the study of the chain


def run(size: Scale, seed: int, begin: Begin) -> Measured:
    """Time swings of the chain."""
    rng = np.random.default_rng([seed, 5])
    starts = np.array([np.zeros(3)] + [random_start(rng, _SPREAD) for _ in range(size.swings - 1)])
    peers, notes = common.installed()
    stages: dict[str, Stage] = {}
    if MUJOCO in peers:
        from stiction_studies.speed.law_stage import LawStage  # only where MuJoCo is installed

        stages[LAW] = LawStage(CHAIN, (LAST,), load("link"), starts)
        stages[MUJOCO] = peers[MUJOCO].posed(CHAIN, starts)
    if DART in peers:
        stages[DART] = peers[DART].chain(LINK, starts, PIN, FRICTION, TIMESTEP)
    notes = [note for note in notes if not note.startswith("Bullet")]
    advance = begin("Three-link chain", len(stages) * (size.repeats + 1))

    def turn(stage: Stage):
        times = np.empty((len(starts), size.swing_steps))
        for i in range(len(starts)):
            stage.put(i)
            times[i] = timed_steps(stage.step, size.swing_steps)
        return times

    with pinned():
        least = least_times({name: lambda s=s: turn(s) for name, s in stages.items()}, size.repeats, advance)
    figures, shares = {}, {}
    for name, stage in stages.items():
        touching = np.array([stage.counts(i, size.swing_steps) > 0 for i in range(len(starts))])
        both = {CONTACT: touching, FREE: ~touching}
        figures[name] = common.without_none({k: common.microseconds(least[name], some) for k, some in both.items()})
        shares[name] = float(touching.mean())
    notes = [
        f"Swings to the ground, dragging the last link; {len(starts)} of {size.swing_steps} steps, a call a step.",
        *notes,
    ]
    return Measured(
        "chain", "Three-link chain", "µs a step", [CONTACT, FREE], figures,
        {MUJOCO: LAW, DART: LAW}, notes, {"contact_share": shares},
    )  # fmt: skip
