"""Materials on bodies inside MuJoCo models."""

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from test_mujoco import BOX, FREE, model_of

import stiction
from stiction import Material, Mode, State
from stiction.mujoco import Simulation, body_of


def test_a_material_on_a_free_body_moves_it_as_a_rollout_does():
    material = Material.of(0.4, direction=lambda a: 1 + 0.3 * np.cos(a), speed=lambda v: 1 + 0.5 * np.exp(-v / 0.2))
    model = model_of(FREE)
    law = material.on(body_of(model, "foot"), timestep=0.002)
    sim = Simulation(model, laws={"foot": law})
    sim.data.qvel[:] = [1.0, -0.5, 0.0, 2.0, 1.0, 3.0]
    R = np.empty(9)
    mujoco.mju_quat2Mat(R, sim.data.qpos[3:7])
    start = State(sim.data.qpos[:3], sim.data.qpos[3:7], sim.data.qvel[:3], R.reshape(3, 3) @ sim.data.qvel[3:])
    for _ in range(250):
        sim.step()
    run = stiction.rollout(law, start, 250, substeps=0)  # whole steps, as MuJoCo's
    assert (run.mode == Mode.DYNAMIC).sum() > 20
    assert np.abs(sim.data.qpos[:3] - run.position[-1]).max() < 1e-4
    assert sim.contacts["foot"].unsolved == 0


def test_static_friction_of_a_material_holds_a_body_that_is_pushed():
    model = model_of('<body name="foot" pos="0 0 0.04"><freejoint/><geom ' + BOX + "/></body>")
    sim = Simulation(model, laws={"foot": Material.static_dynamic(0.6, 0.3).on(body_of(model, "foot"))})
    sim.data.xfrc_applied[1, 0] = 0.5 * 9.81  # more than what friction in motion could hold
    for _ in range(500):
        sim.step()
    assert abs(sim.data.qpos[0]) < 1e-9 and sim.contacts["foot"].mode == Mode.STATIC
    sim.data.xfrc_applied[1, 0] = 0.7 * 9.81
    for _ in range(100):
        sim.step()
    assert sim.data.qpos[0] > 0.01
