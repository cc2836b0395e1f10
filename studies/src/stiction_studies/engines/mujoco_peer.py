"""MuJoCo as a peer on recorded tosses: its own contact, with the parameters that it offers."""

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.bodies.state import State

try:
    import mujoco as engine
    from mujoco import rollout
except ImportError as error:
    raise ImportError(needs("stiction_studies.engines.mujoco_peer", "mujoco")) from error

mujoco = cast(Any, engine)  # a compiled module, whose names are known at run time only


def toss(
    body: Body,
    states: State,
    steps: int,
    *,
    timestep: float,
    gravity: ArrayLike,
    drag: float = 0.0,
    substeps: int = 4,
    friction: float = 0.2,
    torsion: float = 0.005,
    time_constant: float = 0.02,
    damping_ratio: float = 1.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Positions (n, steps + 1, 3) and quaternions (n, steps + 1, 4) of the body frame of a box.

    gravity: [m/s^2], shape (3,); drag: by which motion and spin slow down, of their speed [1/s]
    friction, torsion: coefficients of sliding and, [m], of spinning
    time_constant [s], damping_ratio: MuJoCo's solref
    """
    contact = {"time_constant": time_constant, "damping_ratio": damping_ratio}
    text = scene(body, timestep / substeps, gravity, friction=friction, torsion=torsion, **contact)
    model = mujoco.MjModel.from_xml_string(text)
    slow_down(model, drag)
    return motion(model, states, steps, substeps)


def slow_down(model: Any, drag: float) -> None:
    """Let the one free body of a model lose `drag` of its speed and spin [1/s]."""
    model.dof_damping[:3] = drag * model.body_mass[1]
    model.dof_damping[3:6] = drag * model.body_inertia[1].mean()


def motion(model: Any, states: State, steps: int, substeps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Positions (n, steps + 1, 3) and quaternions (n, steps + 1, 4) of the one free body of a model."""
    n = len(states.position)
    spin = Rotation.from_quat(states.quaternion, scalar_first=True).inv().apply(states.angular_velocity)
    start = np.hstack([np.zeros((n, 1)), states.position, states.quaternion, states.velocity, spin])
    found, _ = rollout.rollout(model, mujoco.MjData(model), start, nstep=max(1, steps * substeps))
    found = np.asarray(cast(Any, found))
    frames = np.concatenate([start[:, np.newaxis, :8], found[:, substeps - 1 :: substeps, :8][:, :steps]], axis=1)
    return frames[..., 1:4], frames[..., 4:8]


def scene(body: Body, h, gravity, *, friction, torsion, time_constant, damping_ratio) -> str:
    """MJCF of a box, its geom and the ground's, and the pair that they make; arguments as in `toss`, h [s]."""

    def text(values) -> str:
        return " ".join(f"{value:.17g}" for value in np.ravel(values))

    I = body.inertia
    inertia = text([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
    return f"""
<mujoco>
  <option timestep="{h:.17g}" gravity="{text(gravity)}" cone="elliptic"/>
  <worldbody>
    <geom name="ground" type="plane" size="0 0 1"/>
    <body name="body">
      <freejoint/>
      <inertial pos="{text(body.com)}" mass="{body.mass:.17g}" fullinertia="{inertia}"/>
      <geom name="body" type="box" size="{text(np.array(body.size) / 2)}"/>
    </body>
  </worldbody>
  <contact>
    <pair geom1="ground" geom2="body" condim="4" friction="{text([friction, friction, torsion])} 0 0"
          solref="{time_constant:.17g} {damping_ratio:.17g}"/>
  </contact>
</mujoco>"""
