"""What a forecast costs: one toss, and a batch of a thousand beside MuJoCo at its own substeps, in one run."""

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from stiction.bodies.state import State
from stiction.fit.forecast import horizon
from stiction.laws.impact import ImpactLaw
from stiction.recordings.tosses import Tosses
from stiction.simulation.rollout import rollout
from stiction_studies.recordings.peers import PEERS, peer_motions

BATCH = 1000
STEPS = 100  # frames of a toss in the batch: the median length
REPEATS = 5


def costs(law: ImpactLaw, tosses: Tosses, states: State, peer: dict[str, Any] | None) -> dict[str, Any]:
    """Seconds of one toss and of a batch of them, on one core; the best of some repeats, after a warm-up.

    states: where the tosses begin, shape (n,)
    peer: MuJoCo's fitted row of the table, if there is one
    """
    steps = horizon(tosses, (None,)).tolist()
    many = states[np.arange(BATCH) % len(steps)]
    found: dict[str, Any] = {
        "one_toss_s": float(
            np.median([_best(lambda i=i: rollout(law, states[i], steps[i])) for i in range(len(steps))])
        ),
        "batch": BATCH,
        "frames": STEPS,
        "batch_s": _best(lambda: rollout(law, many, STEPS)),
    }
    mujoco = next(p for p in PEERS if p.name == "MuJoCo")
    if peer is not None and find_spec(mujoco.package) is not None:
        contact = {p.name: peer["values"][p.name] for p in mujoco.contact}
        where = np.full(BATCH, STEPS), tosses.timestep, law.gravity, 0.0, contact
        found["mujoco_batch_s"] = _best(lambda: peer_motions(mujoco, law.body, many, *where))
    return found


def _best(call: Callable[[], Any]) -> float:
    call()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)
