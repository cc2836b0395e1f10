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


def test_what_mujoco_cannot_hold_is_refused():
    with pytest.raises(InputError, match="in a plane"):
        stiction.mujoco.to_mjcf("rectangle")
    with pytest.raises(InputError, match="a word"):
        stiction.mujoco.to_mjcf("cube", 'x" y="')
