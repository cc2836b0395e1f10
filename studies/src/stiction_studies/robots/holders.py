"""Who holds: our solver on MuJoCo's contacts, MuJoCo's own with and without its remedies, Bullet and DART."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from stiction.laws.material import Material
from stiction.mujoco import simulation as engine
from stiction_studies.engines import mujoco_scene
from stiction_studies.engines.scene import Scene, film

OURS, MUJOCO, BULLET, DART = "stiction", "MuJoCo", "Bullet", "DART"
_REMEDIES = {  # what MuJoCo's documents offer against slip
    "MuJoCo, elliptic, impratio 100": 'cone="elliptic" impratio="100"',
    "MuJoCo, noslip 10": 'noslip_iterations="10"',
    "MuJoCo, all of these": 'cone="elliptic" impratio="100" noslip_iterations="10"',
}
EVERY = 10  # steps between two frames


@dataclass(frozen=True)
class Run:
    """A scene that was run.

    poses: of all parts, (frames, parts, 7)
    cost: of a step, what Python does between the steps included [us]
    unsolved: steps in which our solver found no solution
    """

    poses: NDArray[np.float64]
    cost: float
    unsolved: int = 0


Held = dict[tuple[str, str], Run]  # contestant and scene -> run, from when it has settled
Runner = Callable[[Scene, float], Run]


def contestants() -> dict[str, Runner]:
    """How each of them runs a scene for so many seconds, by name; an engine that is not installed is left out."""
    found: dict[str, Runner] = {OURS: run_with_material, MUJOCO: _timed(mujoco_scene.run)}
    found |= {name: _timed(partial(mujoco_scene.run, options=options)) for name, options in _REMEDIES.items()}
    for name, package, module in ((BULLET, "pybullet", "bullet_scene"), (DART, "dartpy", "dart_scene")):
        if find_spec(package):
            found[name] = _timed(import_module(f"stiction_studies.engines.{module}").run)
    return found


def run_with_material(scene: Scene, seconds: float) -> Run:
    """Our solver: Coulomb friction as a material of all free parts, whatever they touch."""
    sim = simulation(scene)
    steps = round(seconds / scene.timestep)
    began = time.perf_counter()
    qpos = film(sim.step, sim.data.qpos.copy, steps, EVERY)
    cost = 1e6 * (time.perf_counter() - began) / steps
    return Run(mujoco_scene.poses(scene, qpos), cost, sim.unsolved)


def simulation(scene: Scene) -> engine.Simulation:
    """The scene at its start, in MuJoCo with our solver."""
    model = engine.mujoco.MjModel.from_xml_string(mujoco_scene.mjcf(scene))
    material = Material.coulomb(scene.friction)
    sim = engine.Simulation(model, laws={f"body:{part.name}": material for part in scene.free})
    mujoco_scene.start(scene, sim.data)
    return sim


def _timed(run: Callable[[Scene, int, int], NDArray[np.float64]]) -> Runner:
    def timed(scene: Scene, seconds: float) -> Run:
        steps = round(seconds / scene.timestep)
        began = time.perf_counter()
        poses = run(scene, steps, EVERY)
        return Run(poses, 1e6 * (time.perf_counter() - began) / steps)

    return timed
