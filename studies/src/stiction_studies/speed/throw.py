"""A thrown box, one body: what a step costs in flight, in contact and over whole throws."""

from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from stiction.laws.learned import AugmentedLaw
from stiction.laws.modelfile import load
from stiction.simulation.rollout import rollout
from stiction_studies.engines.stage import Stage
from stiction_studies.speed import common
from stiction_studies.speed.common import BULLET, DART, MUJOCO, MUJOCO_ROLLED, ROLLED, STEPPED, Begin, Scale
from stiction_studies.speed.measured import Measured
from stiction_studies.speed.ours import StepperStage
from stiction_studies.timing import Run, least_times, pinned, timed, timed_steps

FLIGHT, CONTACT, WHOLE = "in flight", "in contact", "whole throw"


def run(size: Scale, seed: int, begin: Begin) -> Measured:
    """Time whole throws, a call a step and in one call."""
    law = cast(AugmentedLaw, load("box"))
    states = common.throws(law.body, size.throws, seed)
    motion = common.motion(law.body, states)
    peers, notes = common.installed()
    stages: dict[str, Stage] = {STEPPED: StepperStage(law, states)}
    for name, module in peers.items():
        stages[name] = module.box(law.body, motion, common.friction_of(law), common.setting())
    runs: dict[str, Run] = {name: partial(_step_all, stage, size) for name, stage in stages.items()}
    runs[ROLLED] = lambda: np.array(
        [timed(lambda i=i: rollout(law, states[i], size.steps)) for i in range(size.throws)]
    )
    if MUJOCO in stages:
        runs[MUJOCO_ROLLED] = partial(_roll_all, stages[MUJOCO], size)
    advance = begin("Thrown box", len(runs) * (size.repeats + 1))
    with pinned():
        least = least_times(runs, size.repeats, advance)
    touching = {name: _touching(stage, size) for name, stage in stages.items()}
    for stage in stages.values():
        stage.close()
    figures = {}
    for name in (STEPPED, ROLLED, MUJOCO, MUJOCO_ROLLED, DART, BULLET):
        if name in touching:
            figures[name] = _by_phase(least[name], touching[name])
        elif name in least:
            figures[name] = {WHOLE: common.microseconds(least[name] / size.steps)}
    notes.insert(0, f"{size.throws} random throws of {size.steps} steps of {common.TIMESTEP:g} s, each time the least.")
    return Measured(
        "throw", "Thrown box, one body", "µs a step", [FLIGHT, CONTACT, WHOLE], figures,
        {MUJOCO: STEPPED, MUJOCO_ROLLED: ROLLED, DART: STEPPED, BULLET: STEPPED}, notes,
        {"contact_share": {name: float(found.mean()) for name, found in touching.items()}},
    )  # fmt: skip


def _step_all(stage: Stage, size: Scale) -> NDArray[np.float64]:
    """Times of the steps of all throws [s], (throws, steps)."""
    times = np.empty((size.throws, size.steps))
    for i in range(size.throws):
        stage.put(i)
        times[i] = timed_steps(stage.step, size.steps)
    return times


def _roll_all(stage, size: Scale) -> NDArray[np.float64]:
    """Times of whole throws by MuJoCo's rollout [s], (throws,)."""
    return np.array([timed(lambda i=i: stage.roll(slice(i, i + 1), size.steps)) for i in range(size.throws)])


def _touching(stage: Stage, size: Scale) -> NDArray[np.bool_]:
    """In which steps the body touches, as its own simulator sees it, (throws, steps)."""
    return np.array([stage.counts(i, size.steps) > 0 for i in range(size.throws)])


def _by_phase(times: NDArray[np.float64], touching: NDArray[np.bool_]) -> dict[str, float]:
    return common.without_none(
        {
            FLIGHT: common.microseconds(times, ~touching),
            CONTACT: common.microseconds(times, touching),
            WHOLE: common.microseconds(times),
        }
    )
