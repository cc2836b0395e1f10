"""The first blow that a jointed part gets: how its lowest corner arrives, and what it weighs there."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.mujoco.mjcf import mujoco

_NEVER = 0.03  # [s]: a corner that arrives later than this after the first has no part in the blow


def first_blows(model: Any, states: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of states (n, nq + nv) shortly before the touch, numbers that describe the blow (n, 7).

    Speed of arrival and of slip [m/s] of the corner that arrives first; logarithm of what an impulse there does to its
    speed; by how much it also pushes the corner along its slip; time until the next corner arrives [s]; whether it is
    on the base; size of the joints' speeds.
    """
    return np.array([_blow(model, state) for state in states])


def _blow(model: Any, state: NDArray[np.float64]) -> list[float]:
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = state[: model.nq], state[model.nq :]
    mujoco.mj_forward(model, data)
    balls = np.flatnonzero((model.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE) & (model.geom_contype != 0))
    jacobians = np.zeros((len(balls), 3, model.nv))
    for jacobian, ball in zip(jacobians, balls.tolist()):
        mujoco.mj_jac(model, data, jacobian, None, data.geom_xpos[ball], model.geom_bodyid[ball])
    velocity = jacobians @ data.qvel
    height = data.geom_xpos[balls, 2] - model.geom_size[balls, 0]
    arrival = np.where(velocity[:, 2] < 0, height / np.maximum(-velocity[:, 2], 1e-3), np.inf)
    first, second = np.argsort(arrival)[:2]
    response = np.zeros((3, model.nv))
    mujoco.mj_solveM(model, data, response, jacobians[first].copy())
    mobility = jacobians[first] @ response.T
    slip = float(np.linalg.norm(velocity[first, :2]))
    along = velocity[first, :2] / max(slip, 1e-9)
    return [
        float(-velocity[first, 2]),
        slip,
        float(np.log(mobility[2, 2])),
        float(mobility[2, :2] @ along / mobility[2, 2]),
        float(min(arrival[second] - arrival[first], _NEVER)),
        float(model.geom_bodyid[balls[first]] == model.jnt_bodyid[0]),
        float(np.linalg.norm(data.qvel[6:])),
    ]
