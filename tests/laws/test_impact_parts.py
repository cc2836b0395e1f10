"""Impacts that come in parts: friction follows the slip while they build up."""

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from stiction import InputError, Material, load
from stiction.laws.curves import Restitution
from stiction.mujoco import Simulation

# A rod that lands on its lower end and is turned by the impact, so that this end slips back.
ROD = """
<mujoco>
  <option timestep="0.001" gravity="0 0 0"/>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 1"/>
    <body name="rod">
      <freejoint/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.001"/>
      <geom type="sphere" size="0.001" pos="0 0 -0.15"/>
    </body>
  </worldbody>
</mujoco>"""


def land(slip, *, tilt=0.6, friction=0.2, parts=1, restitution=0.5):
    """Impulse (x, y, z) of the landing, the slip after it along x, and the energy before and after."""
    model = mujoco.MjModel.from_xml_string(ROD)
    sim = Simulation(model, laws={"rod": Material.coulomb(friction, restitution=restitution, parts=parts)})
    data = sim.data
    data.qpos[:] = [0, 0, 0.15 * np.cos(tilt) + 0.001, np.cos(tilt / 2), 0, np.sin(tilt / 2), 0]
    data.qvel[:] = [slip, 0, -1, 0, 0, 0]
    before = 0.5 * slip**2 + 0.5
    sim.step()
    v, w = data.qvel[:3], data.qvel[4]
    arm = -0.15 * np.array([np.sin(tilt), 0, np.cos(tilt)]) + [0, 0, -0.001]
    after = 0.5 * v @ v + 0.5 * 0.01 * w**2
    return sim.contacts["rod"].impulses[0], v[0] + w * arm[2], (before, after), sim.unsolved


def test_friction_turns_with_the_slip():
    one, after, _, _ = land(0.3, parts=1)
    many, after_many, _, unsolved = land(0.3, parts=16)
    assert after * 0.3 < 0 and after_many * 0.3 < 0  # the end slips back
    assert unsolved == 0
    assert one[0] == pytest.approx(-np.sign(after) * 0.2 * one[2])  # all of it against the slip in the end
    assert abs(many[0]) < 0.8 * 0.2 * many[2]  # some of it against the slip at first


def test_a_slip_that_keeps_its_direction_has_the_same_friction_in_any_number_of_parts():
    one, _, _, _ = land(-3.0, parts=1)
    many, _, _, _ = land(-3.0, parts=8)
    np.testing.assert_allclose(one, many, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("slip", [-1.0, -0.2, 0.0, 0.2, 0.5, 1.0])
def test_it_bounces_as_wanted_and_gains_no_energy(slip):
    for tilt in (0.0, 0.4, 1.0):
        _, _, (before, after), unsolved = land(slip, tilt=tilt, parts=8, restitution=0.9)
        assert after <= before * (1 + 1e-9) and unsolved == 0


def test_parts_are_kept_in_a_file_and_checked(tmp_path):
    Material.coulomb(0.3, parts=8).save(tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors").parts == 8
    assert load("stribeck").parts == 1
    with pytest.raises(InputError, match="parts must be a whole number from 1 to 1000, got 0"):
        Material.coulomb(0.3, parts=0)


def test_the_duration_of_an_impact_does_not_change_the_loads_of_points_that_do_not_bounce():
    """A ball hits the side of a box that slides: on the ground, friction is that of the box's weight."""
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option timestep="0.001"/><worldbody><geom name="floor" type="plane" size="9 9 1"/>'
        '<body name="box" pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>'
        '<body name="ball" pos="-0.1505 0 0.1"><freejoint/><geom type="sphere" size="0.05" mass="0.1"/></body>'
        "</worldbody></mujoco>"
    )
    ground = Material.of(0.3, load=lambda n: (1 + n) ** 0.2)
    sides = Material.coulomb(0.0, restitution=Restitution(0.5, duration=1e-5))
    sim = Simulation(model, laws={("box", "floor"): ground, ("ball", "box"): sides})
    sim.data.qvel[[0, 6]] = 1.0, 3.0
    sim.step()
    assert sim.contacts["ball", "box"].impulse[0] != 0.0
    p = sim.contacts["box", "floor"].impulses
    wanted = ground.friction(0.0, 1.0, p[:, 2] / 0.001) * p[:, 2]
    np.testing.assert_allclose(-p[:, 0], wanted, rtol=1e-3, atol=1e-9)
