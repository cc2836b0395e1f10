"""Impacts of a smooth body that is given as a mesh of facets: their error relative to the smooth body itself."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.mujoco.simulation import mujoco
from stiction_studies.page.section import Table
from stiction_studies.robots.contact_scenes import ContactScene
from stiction_studies.robots.pile_scenes import facets, smooth_facets
from stiction_studies.study import number

_THROWS = {"quick": 5, "usual": 40, "full": 200}
_FLIGHT, _AFTER = 0.08, 0.012  # [s] of flight at most, and from the first touch to the comparison


def measure(scale: str, seed: int) -> dict[str, dict[str, float]]:
    """Return the mean and the greatest error of the velocity of the centre after an impact [m/s], by engine."""
    rng = np.random.default_rng([seed, 240])
    starts = [_start(rng) for _ in range(_THROWS[scale])]
    result = {}
    for name, stepper in (("stiction", _ours), ("MuJoCo", _alone)):
        errors = [
            np.linalg.norm(np.subtract(*(_rebound(one, start, stepper) for one in (facets(), smooth_facets()))))
            for start in starts
        ]
        result[name] = {"mean_m_s": float(np.mean(errors)), "max_m_s": float(np.max(errors))}
    return result


def _start(rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    q = rng.normal(size=4)
    place = [0.0, 0.0, 0.09]
    velocity = [*rng.uniform(-1.0, 1.0, 2), -1.0, *rng.uniform(-8.0, 8.0, 3)]
    return {"qpos": np.array([*place, *(q / np.linalg.norm(q))]), "qvel": np.array(velocity)}


_Stepper = Callable[[ContactScene], tuple[Any, Callable[[], object]]]


def _ours(scene: ContactScene) -> tuple[Any, Callable[[], object]]:
    sim = scene.simulation()
    return sim.data, sim.step


def _alone(scene: ContactScene) -> tuple[Any, Callable[[], object]]:
    model, data = scene.alone()
    return data, lambda: mujoco.mj_step(model, data)


def _rebound(scene: ContactScene, start: dict[str, NDArray[np.float64]], stepper: _Stepper) -> NDArray[np.float64]:
    """Return the velocity of the centre shortly after the first touch [m/s], (3,)."""
    h = scene.model.opt.timestep
    data, step = stepper(dataclasses.replace(scene, **start))
    for _ in range(round(_FLIGHT / h)):
        step()
        if data.ncon and data.contact.dist.min() < 1e-3:
            break
    for _ in range(round(_AFTER / h)):
        step()
    return data.qvel[:3].copy()


def table(found: dict[str, dict[str, float]]) -> Table:
    """Return the errors as a table."""
    rows = [[name, number(one["mean_m_s"]), number(one["max_m_s"])] for name, one in found.items()]
    note = (
        "An ellipsoid as a mesh of 240 triangles and as a smooth geom, in the same throws: difference of the "
        f"velocities of its centre {1e3 * _AFTER:g} ms after the first touch."
    )
    return Table("Scenes: impacts of a mesh for a smooth body", ["", "Mean [m/s]", "Greatest [m/s]"], rows, note)
