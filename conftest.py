"""Bodies and states that several tests share."""
# ruff: noqa: E402

import os

# Tests run side by side, so each gets one thread for arrays and trees; set before NumPy and others are imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import pytest
from hypothesis import settings
from scipy.spatial.transform import Rotation

from stiction import Body, State

settings.register_profile("seeded", derandomize=True)  # the same examples in every run
settings.load_profile("seeded")


def random_states(rng: np.random.Generator, count: int, planar: bool = False) -> State:
    """Throws from 0.4-1 m with random orientation, velocity (sd 1.5 m/s) and spin (sd 4 rad/s)."""
    nil = np.zeros(count)
    position = np.stack([nil, nil, rng.uniform(0.4, 1.0, count)], axis=1)
    velocity, spin = rng.normal(0, 1.5, (count, 3)), rng.normal(0, 4, (count, 3))
    if planar:
        half = rng.uniform(0, np.pi, count)
        velocity[:, 1] = spin[:, 0] = spin[:, 2] = 0
        return State(position, np.stack([np.cos(half), nil, np.sin(half), nil], axis=1), velocity, spin)
    return State(position, Rotation.random(count, rng).as_quat(scalar_first=True), velocity, spin)


def convex_stone(vertices: int = 200, seed: int = 5) -> Body:
    """A stone with exactly `vertices` corners, scattered on an ellipsoid."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(vertices, 3))
    points *= np.array([0.15, 0.12, 0.1]) / np.linalg.norm(points, axis=1, keepdims=True)
    return Body.hull_of(points, 1.0, com=(0.01, -0.01, 0.005), inertia=np.diag([5e-3, 6.5e-3, 7.4e-3]))


def same_parts(a, b) -> bool:
    """Whether two learned laws have the same numbers, to the bit."""
    arrays = [
        [array for parts in law.parts.values() for part in parts for array in part.arrays().values()] for law in (a, b)
    ]
    return len(arrays[0]) == len(arrays[1]) and all(np.array_equal(x, y) for x, y in zip(*arrays))


@pytest.fixture(scope="session")
def box() -> Body:
    return Body.box((0.2, 0.3, 0.4), 1.0)


@pytest.fixture(scope="session")
def prism() -> Body:
    return Body.prism(5, 0.2, 0.2, 1.0)


@pytest.fixture(scope="session")
def rectangle() -> Body:
    return Body.rectangle((0.2, 0.4), 1.0)


@pytest.fixture(scope="session")
def stone() -> Body:
    return convex_stone()
