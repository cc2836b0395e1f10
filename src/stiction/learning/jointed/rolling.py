"""Motions of a jointed part: without contact, with a material, or with MuJoCo's own contact."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.laws.material import Material
from stiction.learning.identify.identify import groups_alike
from stiction.robots.mjcf import mujoco
from stiction.robots.rollouts import rollout
from stiction.simulators.mujoco_motions import motions, threads

SUBSTEPS = 8  # time steps of a frame: corners that land one shortly after the other are to be told apart
# From a model and states (n, nq + nv), the states after each step, (n, steps, nq + nv).
Roll = Callable[[Any, NDArray[np.float64], int], NDArray[np.float64]]


def roll_plainly(model: Any, states: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """By MuJoCo alone."""
    return motions(model, _with_time(states), steps)[:, :, 1:]


def roll_with(material: Material, links: tuple[str, ...]) -> Roll:
    """With a material between these bodies and all that they touch."""
    laws: Mapping[Any, Any] = {name: material for name in links}

    def roll(model: Any, states: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
        data = [mujoco.MjData(model) for _ in range(threads())]
        return rollout(model, data, _with_time(states), laws=laws, nstep=steps)[0][:, :, 1:]

    return roll


def frames_of(roll: Roll, model: Any, states: NDArray[np.float64], steps: NDArray[np.int64]) -> list[NDArray]:
    """Positions qpos at each frame, (steps + 1, nq) at least, of motions that last so many frames each (n,)."""
    found: list[NDArray] = [np.empty(0)] * len(steps)
    for group in groups_alike(steps):
        run = roll(model, states[group], SUBSTEPS * max(1, int(steps[group].max())))
        qpos = np.concatenate([states[group, np.newaxis], run[:, SUBSTEPS - 1 :: SUBSTEPS]], axis=1)[..., : model.nq]
        for k, i in enumerate(group.tolist()):
            found[i] = qpos[k]
    return found


def _with_time(states: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.hstack([np.zeros((len(states), 1)), states])
