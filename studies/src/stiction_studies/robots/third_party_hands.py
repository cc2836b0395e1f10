"""Hands and grippers of other packages that hold things, read from their model files: the packages are not imported."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from stiction.mujoco.simulation import mujoco
from stiction.viewer.quadruped import Drive
from stiction_studies.robots.contact_scenes import ContactScene, height_of
from stiction_studies.robots.machine_scenes import joints_at

_HAND = ("gymnasium_robotics", "envs/assets/hand/manipulate_{}.xml")
_BENT = {f"{finger}J{k}" for finger in ("FF", "MF", "RF", "LF") for k in (1, 2)} | {"THJ1", "THJ2", "THJ3", "THJ4"}
_PANDA = ("gym_hil", "assets/scene.xml")
_HOME = np.array([0.0, -0.785, 0.0, -2.35, 0.0, 1.57, np.pi / 4])  # [rad] of the arm


def installed() -> dict[str, Callable[[], ContactScene]]:
    """Return the scenes whose packages are installed."""
    return {name: build for name, (package, build) in _scenes().items() if find_spec(package)}


def missing() -> list[str]:
    """Return the names of the others."""
    return [name for name, (package, _) in _scenes().items() if not find_spec(package)]


def _scenes() -> dict[str, tuple[str, Callable[[], ContactScene]]]:
    hands = {f"shadow-{thing}": (_HAND[0], partial(shadow_hand, thing)) for thing in ("egg", "block")}
    return hands | {"panda-2f85": (_PANDA[0], panda)}


def shadow_hand(thing: str) -> ContactScene:
    """Return the Shadow hand of gymnasium_robotics, palm up, whose fingers close over an egg or a block."""
    spec = mujoco.MjSpec.from_file(_path(_HAND[0], _HAND[1].format(thing)))
    spec.delete(spec.body("target"))  # a ghost of the object
    model = spec.compile()
    names = [model.actuator(k).name.removeprefix("robot0:A_") for k in range(model.nu)]
    high = model.actuator_ctrlrange[:, 1]
    closed = np.where([name in _BENT for name in names], 0.5 * high, 0.0)

    def control(model: Any, data: Any) -> Drive:
        def drive(step: int) -> None:
            data.ctrl[:] = min(1.0, step * model.opt.timestep) * closed

        return drive

    held = ((model.body("object").id, model.body("robot0:palm").id),)
    return ContactScene(f"shadow-{thing}", model, 4.0, control=control, held=held, settled=3.0)


def panda() -> ContactScene:
    """Return the Panda of gym_hil with the gripper 2F-85, closed loops of equalities, which lifts a block."""
    model = mujoco.MjModel.from_xml_path(_path(*_PANDA))
    above, down = (joints_at(model, "pinch", (0.5, 0.0, z), _HOME, (0.0, 1.0, 0.0, 0.0)) for z in (0.15, 0.02))
    qpos = model.qpos0.copy()
    qpos[: len(above)] = above
    stiffness, damping = np.array([600.0] * 4 + [200.0] * 3), np.array([50.0] * 4 + [15.0] * 3)  # N m/rad, N m s/rad

    def control(model: Any, data: Any) -> Drive:
        n = len(above)

        def drive(step: int) -> None:
            time = step * model.opt.timestep
            wanted = above + _lowered(time) * (down - above)
            torque = stiffness * (wanted - data.qpos[:n]) - damping * data.qvel[:n] + data.qfrc_bias[:n]
            data.ctrl[:n] = np.clip(torque, *model.actuator_ctrlrange[:n].T)
            data.ctrl[n] = 255.0 * np.clip((time - 1.0) / 0.5, 0.0, 1.0)

        return drive

    held = ((model.body("block").id, model.body("left_pad").id),)
    lifted = height_of("block", 0.15)
    return ContactScene("panda-2f85", model, 5.0, control=control, qpos=qpos, held=held, settled=4.0, outcome=lifted)


def _lowered(time: float) -> float:
    """Return how far the gripper is down, from 0 to 1: down until 1 s, up from 2 to 3 s."""
    return float(np.clip(min(time, 3.0 - time), 0.0, 1.0))


def _path(package: str, file: str) -> str:
    spec = find_spec(package)
    assert spec is not None and spec.submodule_search_locations is not None
    return str(Path(spec.submodule_search_locations[0]) / file)
