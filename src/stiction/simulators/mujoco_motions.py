"""Many motions of one MuJoCo model by its own steps and its own contact, in threads."""

import os
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from stiction.basics.extras import needs

try:
    import mujoco as engine
    from mujoco import rollout
except ImportError as error:
    raise ImportError(needs("stiction.simulators.mujoco_motions", "mujoco")) from error

mujoco = cast(Any, engine)  # a compiled module, whose names are known at run time only


def threads() -> int:
    """As many as this process has cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def motions(model: Any, starts: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """States after each of `steps` (n, steps, nstate) from `starts` (n, nstate), both of mjSTATE_FULLPHYSICS."""
    data = [mujoco.MjData(model) for _ in range(threads())]
    found, _ = rollout.rollout(model, data, starts, nstep=steps)
    return np.asarray(cast(Any, found))
