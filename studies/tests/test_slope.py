"""Blocks on slopes: nothing of ours creeps below the friction angle, everything slides right above it."""

import numpy as np
import pytest

from stiction import InputError, State, load
from stiction_studies.paper import slope


@pytest.fixture(scope="module")
def simulators():
    return slope.simulators(load("box").body)


@pytest.mark.parametrize("angle", [0.0, 40.0, 44.0])
def test_ours_do_not_creep(simulators, angle):
    start = slope.at_rest(load("box").body)
    ours = {name: throw for name, throw in simulators.items() if name.startswith("stiction")}
    assert len(ours) == 3
    for name, throw in ours.items():
        run = throw(start, 1500, gravity=slope.tilted(angle))
        assert slope.creep(run).max() < 1e-15, name


def test_everyone_slides_about_right_above_the_friction_angle(simulators):
    start = slope.at_rest(load("box").body)
    wanted = slope.G * (np.sin(np.radians(50.0)) - np.cos(np.radians(50.0)))
    for name, throw in simulators.items():
        error = slope.acceleration(throw(start, 750, gravity=slope.tilted(50.0))) / wanted - 1
        assert abs(error) < (1e-3 if name.startswith(("stiction", "DART")) else 0.1), name


@pytest.mark.parametrize("engine", ["stiction.mujoco.plain_throw", "stiction_studies.engines.bullet_engine"])
def test_a_peer_falls_freely_as_we_do(engine, box):
    """Position after 0.2 s of free fall with a spin: conventions of axes and order are right."""
    throw = pytest.importorskip(engine, exc_type=ImportError).throw
    start = State((0.1, 0.2, 2.0), (0.5, 0.5, 0.5, 0.5), (1.0, -2.0, 0.5), (0.0, 3.0, 0.0))
    end = throw(box, start, 200, timestep=0.001).state()
    np.testing.assert_allclose(end.position, [0.3, -0.2, 2.0 + 0.1 - 9.81 * 0.02], atol=2e-3)
    np.testing.assert_allclose(end.angular_velocity, [0.0, 3.0, 0.0], atol=1e-6)
    half = 0.5 * 0.6
    w, x, y, z = np.cos(half), 0.0, np.sin(half), 0.0
    turned = 0.5 * np.array([w - x - y - z, w + x + y - z, w - x + y + z, w + x - y + z])
    assert abs(turned @ end.quaternion) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("engine", ["stiction.mujoco.plain_throw", "stiction_studies.engines.bullet_engine"])
def test_a_peer_takes_boxes_only(engine, prism):
    throw = pytest.importorskip(engine, exc_type=ImportError).throw
    with pytest.raises(InputError, match="Only a box"):
        throw(prism, State((0.0, 0.0, 1.0)), 1)
