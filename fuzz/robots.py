"""Random MuJoCo models with random materials, or with adversarial laws on their bodies."""

import warnings
from typing import Any

import numpy as np

from fuzz.counts import Counts
from fuzz.random_models import random_model, started
from fuzz.violations import BOUND
from fuzz.worst_laws import LAWS, random_materials
from stiction import Body, Material
from stiction.mujoco import Simulation, body_of
from stiction.mujoco.mjcf import mujoco

_STEPS = 20
_ANY_BODY = Body.box((1.0, 1.0, 1.0), 1.0)


def case(rng: np.random.Generator, counts: Counts) -> None:
    """One model, some steps: no crash, no silent NaN, no pull and no energy from contact."""
    by_material = rng.uniform() < 0.7
    found = random_model(rng, timestep=None if by_material else 0.002)
    label = f"{'materials' if by_material else 'laws'} on {found.xml}"
    counts.trying(label)
    model = mujoco.MjModel.from_xml_string(found.xml)
    # Every body has a law, so that MuJoCo's own contacts add no energy.
    laws = _materials(rng, found.bodies) if by_material else _laws(rng, model, found.bodies)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim = Simulation(model, started(rng, model), laws=laws)
        for _ in range(_STEPS):
            free, inertia = _without_contact(model, sim.data)
            counts.trying(label)
            sim.step()
            if not np.isfinite(sim.data.qvel).all():
                raise AssertionError("a velocity is not finite")
            if by_material and found.plain and free is not None:
                counts.violated(_gain(sim.data.qvel, free, inertia), BOUND, "energy")
                counts.violated(_pull(sim), BOUND, "pull")


def _materials(rng: np.random.Generator, bodies: list[str]) -> dict[Any, Any]:
    """A material for each body: a coefficient of up to 1e20, or one that varies wildly."""
    laws: dict[Any, Any] = {}
    for name in bodies:
        number = 10 ** rng.uniform(-6, 19.9)
        wild: Material = random_materials(_ANY_BODY, int(rng.integers(2**31))).material
        laws[name] = wild if rng.uniform() < 0.5 else number
    return laws


def _laws(rng: np.random.Generator, model: Any, bodies: list[str]) -> dict[Any, Any]:
    """An adversarial law for each of one to three bodies."""
    laws = {}
    for name in rng.permutation(bodies)[: rng.integers(1, 4)]:
        label = str(rng.choice([label for label in LAWS if label != "random materials"]))
        laws[str(name)] = LAWS[label](body_of(model, str(name)), int(rng.integers(2**31)))
    return laws


def _without_contact(model: Any, data: Any) -> tuple[np.ndarray | None, np.ndarray]:
    """Velocities after a step without contact, and the inertia at its start; None if MuJoCo resets that motion."""
    twin = mujoco.MjData(model)
    mujoco.mj_copyData(twin, model, data)
    flags = model.opt.disableflags
    model.opt.disableflags = flags | int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    try:
        mujoco.mj_forward(model, twin)
        inertia = np.empty((model.nv, model.nv))
        mujoco.mj_fullM(model, twin, inertia)
        mujoco.mj_step(model, twin)
    finally:
        model.opt.disableflags = flags
    return (None if twin.warning.number.any() else twin.qvel), inertia


def _gain(now: np.ndarray, free: np.ndarray, inertia: np.ndarray) -> float:
    """Relative increase of kinetic energy by contact."""
    before, after = (0.5 * v @ inertia @ v for v in (free, now))
    return max(0.0, float(after - before) / max(float(before), 1e-300))


def _pull(sim: Simulation) -> float:
    """The greatest pull at a point, relative to its impulse."""
    worst = 0.0
    for contact in sim.contacts.values():
        along = (contact.impulses * contact.normals).sum(axis=1)
        sizes = np.maximum(np.abs(contact.impulses).max(axis=1, initial=0.0), 1e-300)
        worst = max(worst, float((-along / sizes).max(initial=0.0)))
    return worst
