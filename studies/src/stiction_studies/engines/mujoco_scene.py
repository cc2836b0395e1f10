"""Scenes in MuJoCo: as MJCF text, and run with MuJoCo's own contact."""

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.mujoco.plain_throw import mujoco
from stiction_studies.engines.scene import G, Part, Scene, film


def run(scene: Scene, steps: int, every: int, *, options: str = "") -> NDArray[np.float64]:
    """Poses (frames, parts, 7) of all parts, position and quaternion, each `every` steps.

    options: attributes of MJCF's <option>, such as 'cone="elliptic" impratio="100"'
    """
    model = mujoco.MjModel.from_xml_string(mjcf(scene, options))
    data = mujoco.MjData(model)
    start(scene, data)
    return poses(scene, film(partial(mujoco.mj_step, model, data), data.qpos.copy, steps, every))


def start(scene: Scene, data) -> None:
    """Set the velocities and forces of the scene; places are the model's own."""
    at = 0
    for part in scene.parts:
        if part.slide is None:
            data.qvel[at : at + 3] = part.velocity
            turn = Rotation.from_quat(part.quaternion, scalar_first=True)
            data.qvel[at + 3 : at + 6] = turn.inv().apply(part.spin)  # in body axes
        at += 6 if part.slide is None else 1
    data.ctrl[:] = [part.force for part in scene.parts if part.slide is not None]


def poses(scene: Scene, qpos: NDArray[np.float64]) -> NDArray[np.float64]:
    """Poses (frames, parts, 7) of all parts from MuJoCo's joint positions (frames, nq)."""
    found = np.empty((len(qpos), len(scene.parts), 7))
    at = 0
    for k, part in enumerate(scene.parts):
        if part.slide is None:
            found[:, k] = qpos[:, at : at + 7]
            at += 7
        else:
            found[:, k] = part.slid(qpos[:, at])
            at += 1
    return found


def mjcf(scene: Scene, options: str = "") -> str:
    """The scene's MJCF. Contacts have condim 3, friction alone at the points, as in all of the simulators."""
    bodies = "\n".join(_body(part) for part in scene.parts)
    motors = "".join(f'<motor joint="{part.name}"/>' for part in scene.parts if part.slide is not None)
    return f"""
<mujoco>
  <option timestep="{scene.timestep:.17g}" gravity="0 0 {-G:.17g}" {options}/>
  <default><geom friction="{scene.friction:.17g}" condim="3"/></default>
  <worldbody>
    <geom name="ground" type="plane" size="5 5 1" quat="{_text(scene.tilt)}"/>
{bodies}
  </worldbody>
  <actuator>{motors}</actuator>
</mujoco>"""


def _body(part: Part) -> str:
    if part.slide is None:
        joint = f'<freejoint name="{part.name}"/>'
    else:
        joint = f'<joint name="{part.name}" type="slide" axis="{_text(part.slide)}"/>'
    radius, *length = part.size
    size = np.array(part.size) / 2 if part.shape == "box" else [radius, *(edge / 2 for edge in length)]
    return f"""
    <body name="{part.name}" pos="{_text(part.position)}" quat="{_text(part.quaternion)}">
      {joint}
      <inertial pos="0 0 0" mass="{part.mass:.17g}" diaginertia="{_text(part.inertia)}"/>
      <geom name="{part.name}" type="{part.shape}" size="{_text(size)}"/>
    </body>"""


def _text(values) -> str:
    return " ".join(f"{value:.17g}" for value in np.ravel(values))
