"""A law's body as MJCF: the law is taken on it as it is, and moves it as in a rollout."""

import numpy as np
import pytest

import stiction
from stiction import InputError

mujoco = pytest.importorskip("mujoco")


@pytest.mark.parametrize("name", ["cube", "box", "prism"])
def test_the_law_is_taken_on_the_body_that_was_written(name):
    law = stiction.load(name)
    model = mujoco.MjModel.from_xml_string(stiction.mujoco.to_mjcf(law, "part"))
    sim = stiction.mujoco.Simulation(model, laws={"part": law})
    start = stiction.State(model.qpos0[:3], model.qpos0[3:7], np.array([0.3, 0.0, 0.0]), np.zeros(3))
    sim.data.qvel[:3] = start.velocity
    run = stiction.rollout(law, start, 10)  # in flight: gravity, time step and inertia are the law's
    sim.step(10)
    assert sim.data.qpos[:3] == pytest.approx(run.position[-1], abs=0.01 * law.body.diameter)


def test_a_body_in_a_plane_slides_and_turns_in_it():
    model = mujoco.MjModel.from_xml_string(stiction.mujoco.to_mjcf("square"))
    assert model.nq == 3
    sim = stiction.mujoco.Simulation(model, laws={"body": stiction.load("square").as_material()})
    sim.reset(qpos=[0.0, 0.1, 0.3], qvel=[0.5, 0.0, 2.0])
    sim.step(500)
    assert 0.05 < sim.data.qpos[0] < 1.0 and np.abs(sim.data.qvel).max() < 1e-3
    assert sim.data.qpos[1] == pytest.approx(0.03, abs=0.001)  # lies on a side


def test_a_name_that_mjcf_cannot_hold_is_refused():
    with pytest.raises(InputError, match="a word"):
        stiction.mujoco.to_mjcf("cube", 'x" y="')
