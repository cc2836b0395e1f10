"""Motions of a jointed part: without contact, with a material, or with MuJoCo's own contact."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.laws.material import Material
from stiction.learning.identify.identify import groups_alike
from stiction.mujoco.mjcf import mujoco
from stiction.mujoco.rollouts import rollout
from stiction.simulators.mujoco_motions import motions, threads

SUBSTEPS = 8  # time steps of a frame: corners that land one shortly after the other are to be told apart
# From a model and states (n, nq + nv), the states at each of so many frames after them, (n, frames, nq + nv).
Roll = Callable[[Any, NDArray[np.float64], int], NDArray[np.float64]]


def roll_plainly(model: Any, states: NDArray[np.float64], frames: int) -> NDArray[np.float64]:
    """By MuJoCo alone."""
    return _at_frames(motions(model, _with_time(states), SUBSTEPS * frames))


def roll_with(material: Material, links: tuple[str, ...]) -> Roll:
    """With a material between these bodies and all that they touch."""
    laws: Mapping[Any, Any] = {name: material for name in links}

    def roll(model: Any, states: NDArray[np.float64], frames: int) -> NDArray[np.float64]:
        data = [mujoco.MjData(model) for _ in range(threads())]
        return _at_frames(rollout(model, data, _with_time(states), laws=laws, nstep=SUBSTEPS * frames)[0])

    return roll


def states_of(roll: Roll, model: Any, states: NDArray[np.float64], steps: NDArray[np.int64]) -> list[NDArray]:
    """States at each frame, (steps + 1, nq + nv) at least, of motions that last so many frames each (n,)."""
    found: list[NDArray] = [np.empty(0)] * len(steps)
    for group in groups_alike(steps):
        run = roll(model, states[group], max(1, int(steps[group].max())))
        frames = np.concatenate([states[group, np.newaxis], run], axis=1)
        for k, i in enumerate(group.tolist()):
            found[i] = frames[k]
    return found


def frames_of(roll: Roll, model: Any, states: NDArray[np.float64], steps: NDArray[np.int64]) -> list[NDArray]:
    """Positions qpos at each frame of the same motions, (steps + 1, nq) at least."""
    nq = (states.shape[1] + 1) // 2  # a free base has one number more than velocities, joints have one each
    return [found[:, :nq] for found in states_of(roll, model, states, steps)]


def _with_time(states: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.hstack([np.zeros((len(states), 1)), states])


def _at_frames(found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of states after each step, with their time, those at frames, without."""
    return found[:, SUBSTEPS - 1 :: SUBSTEPS, 1:]
