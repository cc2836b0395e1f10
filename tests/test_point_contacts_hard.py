"""Materials in MuJoCo models that are hard on them: what broke once, and must not again."""

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from stiction.robots.mujoco import Simulation  # noqa: E402

PLANE = '<geom name="floor" type="plane" size="5 5 .1"/>'


def box(name: str, place: str, more: str = 'size=".1 .1 .1" mass="1"') -> str:
    return f'<body name="{name}" pos="{place}"><freejoint/><geom type="box" {more}/></body>'


def model_of(bodies: str, *, option: str = "", more: str = ""):
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep=".002" {option}/><worldbody>{bodies}</worldbody>{more}</mujoco>'
    )


def steps_of_newton(sim: Simulation, steps: int) -> float:
    """Steps of Newton's method in each of so many steps with contact."""
    before = sim.contact_part.core.newton_steps
    sim.step(steps)
    return (sim.contact_part.core.newton_steps - before) / steps


def test_a_load_on_a_body_that_stands_by_mujocos_contact():
    table = box("table", "0 0 .1", 'size=".4 .4 .1" mass="5"')
    sim = Simulation(model_of(PLANE + table + box("load", "0 0 .25", 'size=".1 .08 .05" mass="1"')), laws={"load": 0.5})
    assert steps_of_newton(sim, 300) < 3
    assert sim.unsolved == 0
    assert sim.contacts["load"].impulse[2] == pytest.approx(9.81 * 0.002, rel=1e-6)


def test_another_form_of_the_jacobian_changes_nothing():
    leg = '<body name="leg" pos="0 0 .5"><joint type="slide" axis="0 0 1"/><joint axis="0 1 0" range="-20 20"/><geom '
    leg += 'type="capsule" fromto="0 0 0 0 0 -.4" size=".05"/></body>'
    sim = Simulation(model_of(PLANE + leg + box("part", "1 0 .1"), option='jacobian="dense"'), laws={"leg": 0.5})
    sim.step(200)
    state, ends = sim.save(), []
    for form in (mujoco.mjtJacobian.mjJAC_DENSE, mujoco.mjtJacobian.mjJAC_SPARSE):
        sim.restore(state)
        sim.model.opt.jacobian = form
        sim.step(200)
        ends.append(sim.data.qpos.copy())
    assert sim.data.nefc > 1
    assert np.abs(ends[0] - ends[1]).max() < 1e-9
