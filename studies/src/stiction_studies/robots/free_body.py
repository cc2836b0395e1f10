"""A free body inside MuJoCo with a law of ours: the model, and starts as MuJoCo has them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import State
from stiction.mujoco import plain_throw as mujoco_throw
from stiction.mujoco.simulation import Simulation, mujoco
from stiction.simulation.motion import Setting, to_motion

NAME = "body"  # of the body in the model


def simulation(body: Body, law: Any, timestep: float, gravity: ArrayLike, **options: Any) -> Simulation:
    """A box above a plane at z = 0, with that law or material; options of `Simulation`."""
    text = mujoco_throw.scene(body, (0.0, 0.0), "pyramidal", 0.02, 0, Setting(timestep, np.array(gravity)))
    return Simulation(mujoco.MjModel.from_xml_string(text), laws={NAME: law}, **options)


def joints(body: Body, state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """States (n,) as qpos (n, 7) and qvel (n, 6): the frame lies at the centre of mass, the spin is in body axes."""
    motion = to_motion(body, state)
    R = rotation_matrices(motion.quaternion)
    spin = np.einsum("nji,nj->ni", R, motion.twist[:, 3:])
    return np.hstack([motion.position, motion.quaternion]), np.hstack([motion.twist[:, :3], spin])
