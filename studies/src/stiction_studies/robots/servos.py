"""Servos whose targets wander at random about a stance, for robots whose actuators are torques."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.mujoco.mjcf import mujoco
from stiction.viewer.quadruped import Drive, RandomPath


def random_servos(model: Any, data: Any, seed: int, sway: float) -> Drive:
    """Torques of servos at all actuated joints, whose targets wander about the current pose of `data`.

    Their stiffness is stable at this time step, at most 500 N m/rad, and they are nearly critically damped.
    sway: greatest distance of the targets from that pose [rad]
    """
    joints = model.actuator_trnid[:, 0]
    place, dof = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
    inertia = _inertia(model, data)[dof]
    # An explicit servo becomes unstable at 4 inertia / timestep^2.
    stiffness = np.minimum(500.0, 0.05 * inertia / model.opt.timestep**2)
    damping = 1.6 * np.sqrt(stiffness * inertia)
    stance, (low, high) = data.qpos[place].copy(), model.actuator_ctrlrange.T
    wander = RandomPath(stance - sway, stance + sway, stance, model.opt.timestep, seed)

    def drive(step: int) -> None:
        torque = stiffness * (wander(step) - data.qpos[place]) - damping * data.qvel[dof]
        data.ctrl[:] = np.clip(torque, low, high)

    return drive


def _inertia(model: Any, data: Any) -> NDArray[np.float64]:
    """Effective inertia of each joint with all others free, shape (nv,)."""
    mujoco.mj_forward(model, data)
    response = np.zeros((model.nv, model.nv))
    mujoco.mj_solveM(model, data, response, np.eye(model.nv))
    return 1 / np.diag(response)
