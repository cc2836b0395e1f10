"""A quadruped that trots: what a step costs inside MuJoCo with our law on its feet, and with MuJoCo's own contact."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.laws.modelfile import load
from stiction.viewer.quadruped import FEET, STANCE, Gait, model_text, strength_at, targets
from stiction_studies.engines.stage import Stage
from stiction_studies.speed import common
from stiction_studies.speed.common import MUJOCO, Begin, Scale
from stiction_studies.speed.measured import Measured
from stiction_studies.timing import least_times, pinned, timed_steps

LAW, CONTACT = "MuJoCo with our law", "in contact"
_STAND = 0.2  # [s] before it walks
_SOLE = 0.05  # [m] height of an ankle above the ground


def run(size: Scale, seed: int, begin: Begin) -> Measured:
    """Time a second of standing and trotting; nothing is drawn."""
    peers, notes = common.installed()
    notes = [note for note in notes if note.startswith("MuJoCo")]  # the others are not asked
    stages: dict[str, Stage] = {}
    if MUJOCO in peers:
        from stiction_studies.speed.law_stage import LawStage

        start = np.concatenate([[0.0, 0.0, STANCE + _SOLE, 1.0, 0.0, 0.0, 0.0], targets(0.0, Gait(), 0.0)])[np.newaxis]
        stages = {
            LAW: LawStage(model_text(), FEET, load("foot"), start),
            MUJOCO: peers[MUJOCO].posed(model_text(), start),
        }
    advance = begin("Quadruped", len(stages) * (size.repeats + 1))
    with pinned():
        least = least_times({name: lambda s=s: _walk(s, size)[0] for name, s in stages.items()}, size.repeats, advance)
    figures, shares = {}, {}
    for name, stage in stages.items():
        touching = _walk(stage, size)[1] > 0
        figures[name] = common.without_none({CONTACT: common.microseconds(least[name], touching)})
        shares[name] = float(touching.mean())
    notes = [f"A quadruped stands for {_STAND:g} s, then trots; {size.swing_steps} steps, a call a step.", *notes]
    return Measured(
        "quadruped", "Quadruped", "µs a step", [CONTACT], figures, {MUJOCO: LAW}, notes, {"contact_share": shares}
    )


def _walk(stage: Any, size: Scale) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Times of the steps [s] and the feet or points that touch in each, both (steps,)."""
    stage.put(0)
    data, gait = stage.data, Gait()
    times, touching = np.empty(size.swing_steps), np.empty(size.swing_steps, dtype=np.int64)
    for t in range(size.swing_steps):
        now = float(data.time)
        data.ctrl[:] = targets(now, gait, strength_at(now, _STAND, np.inf))
        times[t : t + 1] = timed_steps(stage.step, 1)
        touching[t] = stage.touching()
    return times, touching
