"""Random MuJoCo models: free bodies and chains of all shapes, on a floor or a slope, sometimes overlapping."""

from typing import Any, NamedTuple

import numpy as np

from stiction.mujoco.mjcf import mujoco

_INTEGRATORS = ("Euler", "implicit", "implicitfast")
_STEPS = (0.0005, 0.002, 0.01, 0.02)  # [s]


class RandomModel(NamedTuple):
    """A model in XML.

    bodies: names of its bodies
    plain: whether nothing but gravity and contact acts on it, so that contact alone changes its energy
    """

    xml: str
    bodies: list[str]
    plain: bool


def random_model(rng: np.random.Generator, timestep: float | None = None) -> RandomModel:
    """One to five trees of bodies above, on or slightly below the ground. timestep: [s], or None for a random one"""
    plain = rng.uniform() < 0.6
    trees, bodies = [], []
    for number in range(int(rng.integers(1, 6))):
        trees.append(_tree(rng, f"b{number}", plain, bodies))
    more = "" if plain else _more(rng, bodies)
    step = rng.choice(_STEPS) if timestep is None else timestep
    integrator = "Euler" if plain else rng.choice(_INTEGRATORS)
    cone, jacobian = rng.choice(["pyramidal", "elliptic"]), rng.choice(["auto", "dense", "sparse"])
    slope = f"{rng.choice([0, 0, 20, 45])} {rng.choice([0, 0, 10])} 0"
    return RandomModel(
        f'<mujoco><option timestep="{step}" integrator="{integrator}" cone="{cone}" jacobian="{jacobian}"/>'
        f'<worldbody><geom name="floor" type="plane" size="9 9 1" euler="{slope}"/>{"".join(trees)}</worldbody>'
        f"{more}</mujoco>",
        bodies,
        plain,
    )


def started(rng: np.random.Generator, model) -> Any:
    """Data of a model with random velocities and, if there are motors, random controls."""
    data = mujoco.MjData(model)
    data.qvel[:] = rng.normal(0, rng.choice([0.0, 0.5, 5.0, 50.0]), model.nv)
    data.ctrl[:] = rng.normal(0, 3, model.nu)
    mujoco.mj_forward(model, data)
    return data


def _tree(rng: np.random.Generator, name: str, plain: bool, bodies: list[str]) -> str:
    """A free body with up to two more on hinges, slides or balls; their names are added to `bodies`."""
    place = _numbers([*rng.uniform(-0.5, 0.5, 2), 10 ** rng.uniform(-2.5, 0)])
    inner = ""
    for k in reversed(range(int(rng.choice([0, 0, 1, 2])))):
        kind, axis = rng.choice(["hinge", "slide", "ball"]), _numbers(rng.normal(size=3))
        limits = "" if plain or kind == "ball" else ' range="-30 30" damping="0.1" stiffness="1"'
        joint = f'<joint name="{name}{k}" type="{kind}" axis="{axis}" armature="0.001"{limits}/>'
        inner = f'<body name="{name}{k}" pos="{_numbers(rng.normal(0, 0.2, 3))}">{joint}{_geom(rng)}{inner}</body>'
        bodies.append(f"{name}{k}")
    bodies.append(name)
    turn = _numbers(rng.uniform(-180, 180, 3) * rng.choice([0, 1]))
    return f'<body name="{name}" pos="{place}" euler="{turn}"><freejoint/>{_geom(rng)}{inner}</body>'


def _geom(rng: np.random.Generator) -> str:
    kind = rng.choice(["box", "sphere", "capsule", "cylinder", "ellipsoid"])
    size = 10 ** rng.uniform(-2.5, -0.5) * 10 ** rng.uniform(-1, 0, 3)
    return f'<geom type="{kind}" size="{_numbers(size)}" mass="{10 ** rng.uniform(-3, 2):.9g}"/>'


def _more(rng: np.random.Generator, bodies: list[str]) -> str:
    """Motors on the joints, and sometimes a weld between two bodies."""
    joints = [name for name in bodies if len(name) > 2]
    motors = "".join(f'<motor joint="{name}" gear="{rng.uniform(0, 5):.3g}"/>' for name in joints)
    first, second = rng.choice(bodies, 2)
    ties = f'<equality><connect body1="{first}" body2="{second}" anchor="0 0 0"/></equality>'
    return f"<actuator>{motors}</actuator>" + (ties if first != second and rng.uniform() < 0.4 else "")


def _numbers(values) -> str:
    return " ".join(f"{value:.9g}" for value in values)
