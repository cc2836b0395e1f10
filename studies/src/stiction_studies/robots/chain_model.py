"""The paper's three-link chain: sizes, the model for MuJoCo, and how it starts."""

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body

LENGTH, WIDTH, HEIGHT, MASS = 0.5, 0.1, 0.08, 1.0  # of a link [m, kg]
PIN = 1.25  # height of the pinned end [m]
FRICTION, TIMESTEP = 0.6, 0.002
LINK = Body.box((LENGTH, WIDTH, HEIGHT), MASS)
LAST = "link3"
_CLEAR = 0.05  # [m] a start keeps at least this height above the ground

_GEOM = f'type="box" size="{LENGTH / 2} {WIDTH / 2} {HEIGHT / 2}" pos="{LENGTH / 2} 0 0" mass="{MASS}"'
_HINGE = 'type="hinge" axis="0 1 0"'
CHAIN = f"""
<mujoco model="chain">
  <option timestep="{TIMESTEP}" cone="elliptic"/>
  <worldbody>
    <geom name="ground" type="plane" size="5 5 0.1" friction="{FRICTION}"/>
    <body name="link1" pos="0 0 {PIN}">
      <joint name="joint1" {_HINGE}/><geom {_GEOM} contype="0" conaffinity="0"/>
      <body name="link2" pos="{LENGTH} 0 0">
        <joint name="joint2" {_HINGE}/><geom {_GEOM} contype="0" conaffinity="0"/>
        <body name="{LAST}" pos="{LENGTH} 0 0">
          <joint name="joint3" {_HINGE}/><geom {_GEOM} friction="{FRICTION}"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def random_start(rng: np.random.Generator, spread: float) -> NDArray[np.float64]:
    """Joint angles (3,) [rad], each within +-spread of the straight horizontal chain, clear of the ground."""
    while True:
        angle = rng.uniform(-spread, spread, 3)
        if PIN + LENGTH * directions(np.cumsum(angle))[0][:, 1].sum() - WIDTH > _CLEAR:
            return angle


def directions(heading: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unit vectors (x, z) along links that are turned about y by `heading`, and their change with it, (..., 2)."""
    c, s = np.cos(heading), np.sin(heading)
    return np.stack([c, -s], axis=-1), np.stack([-s, -c], axis=-1)
