"""A law's body as MJCF: mass, centre of mass and inertia as they were found, and the ground under it."""

from typing import Any

import numpy as np

from stiction.basics import checks
from stiction.mujoco.body_fit import sharp
from stiction.simulation.rollout import law_of


def to_mjcf(law: Any, name: str = "body") -> str:
    """MJCF of a law's body above its ground, with its time step and gravity: a model to begin with, or to copy from.

    The geom is the hull of the body's corners, with sharp edges: MuJoCo knows no others; the law rounds them itself.

    law: or its name or path; name: of the body

        model = mujoco.MjModel.from_xml_string(stiction.mujoco.to_mjcf("cube"))
        sim = stiction.mujoco.Simulation(model, laws={"body": "cube"})
    """
    law = law_of(law)
    if law.body.planar:
        raise checks.InputError("MuJoCo's bodies move in space; the law is for one in a plane.")
    if not isinstance(name, str) or not name.isidentifier():
        raise checks.InputError(f"The name of the body must be a word such as 'part', got {checks.shown(name)}.")
    I = law.body.inertia
    inertia = _text([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
    return f"""<mujoco>
  <option timestep="{law.timestep:.17g}" gravity="{_text(law.gravity)}"/>
  <asset>
    <mesh name="{name}" vertex="{_text(sharp(law.body).vertices)}"/>
  </asset>
  <worldbody>
    <geom name="ground" type="plane" size="0 0 1" pos="0 0 {getattr(law, "ground", 0.0):.17g}"/>
    <body name="{name}" pos="0 0 {law.body.diameter:.6g}">
      <freejoint/>
      <inertial pos="{_text(law.body.com)}" mass="{law.body.mass:.17g}" fullinertia="{inertia}"/>
      <geom name="{name}" type="mesh" mesh="{name}"/>
    </body>
  </worldbody>
</mujoco>
"""


def _text(values: Any) -> str:
    return " ".join(f"{value:.17g}" for value in np.ravel(values))
