"""Torsional and rolling friction of materials at MuJoCo's contact points."""

from typing import Any

import numpy as np
import pytest

from stiction import Material
from stiction.laws.curves import Restitution
from stiction.mujoco import Simulation

mujoco: Any = pytest.importorskip("mujoco")

G, RADIUS, MASS, STEP = 9.81, 0.05, 0.3, 0.002


def ball(angle: float, material: Material, *, geom: str = "", option: str = "", spin: float = 0.0) -> Simulation:
    """A ball on a slope, or rather under inclined gravity."""
    gravity = f"{G * np.sin(angle)} 0 {-G * np.cos(angle)}"
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="{gravity}" timestep="{STEP}" {option}/><worldbody>'
        '<geom name="floor" type="plane" size="5 5 1"/>'
        f'<body name="ball" pos="0 0 {RADIUS}"><freejoint/><geom type="sphere" size="{RADIUS}" mass="{MASS}" {geom}/>'
        "</body></worldbody></mujoco>"
    )
    sim = Simulation(model, laws={("ball", "floor"): material})
    sim.data.qvel[5] = spin
    return sim


def after(sim: Simulation, steps: int) -> np.ndarray:
    """Joint velocities after so many steps."""
    for _ in range(steps):
        sim.step()
    return sim.data.qvel.copy()


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "implicit"])
@pytest.mark.parametrize("share", [0.5, 0.99])
def test_a_ball_rests_on_a_slope_below_the_angle_of_its_rolling_resistance(integrator, share):
    angle = share * np.arctan(0.002 / RADIUS)
    sim = ball(angle, Material.soft(0.5, rolling=0.002), option=f'integrator="{integrator}"')
    assert np.abs(after(sim, 500)).max() < 1e-12 and abs(sim.data.qpos[0]) < 1e-12


@pytest.mark.parametrize("share", [1.01, 3.0])
def test_a_ball_rolls_down_a_steeper_one_without_slipping(share):
    angle = share * np.arctan(0.002 / RADIUS)
    v = after(ball(angle, Material.soft(0.5, rolling=0.002)), 500)
    wanted = 5 / 7 * G * (np.sin(angle) - 0.002 / RADIUS * np.cos(angle))
    assert v[0] / (500 * STEP) == pytest.approx(wanted, rel=1e-9)
    assert v[4] * RADIUS == pytest.approx(v[0], rel=1e-9)


def test_a_spinning_ball_stops_by_its_torsion_and_then_rests():
    sim = ball(0.0, Material.soft(0.5, torsion=0.002), spin=10.0)
    slowed = 0.002 * MASS * G / (0.4 * MASS * RADIUS**2) * STEP
    after(sim, 1)
    contact = sim.contacts["ball", "floor"]
    assert contact.torques == pytest.approx(np.array([[0, 0, -0.002 * MASS * G * STEP]]), rel=1e-9, abs=1e-15)
    assert contact.impulse[3:] == pytest.approx(contact.torques[0], abs=1e-15)
    assert after(sim, 99)[5] == pytest.approx(10.0 - 100 * slowed, rel=1e-9)
    assert np.abs(after(sim, 200)).max() < 1e-12


@pytest.mark.parametrize(
    ("condim", "material", "spins", "rolls"),
    [
        (3, Material.coulomb(0.5), True, True),
        (4, Material.coulomb(0.5), False, True),
        (6, Material.coulomb(0.5), False, False),
        (6, Material.soft(0.5), True, True),
        (6, Material.coulomb(0.5, torsion=0.0), True, False),
        (1, Material.soft(0.5, torsion=0.002), False, True),
    ],
)
def test_what_a_material_does_not_say_is_as_the_geoms_have_it(condim, material, spins, rolls):
    sim = ball(0.0, material, geom=f'condim="{condim}" friction="1 0.002 0.002"', spin=5.0)
    sim.data.qvel[[0, 4]] = 0.1, 0.1 / RADIUS
    v = after(sim, 1000)
    assert (abs(v[5]) > 1.0) == spins and (abs(v[0]) > 0.01) == rolls


@pytest.mark.parametrize(
    ("key", "floor", "slides"),
    [
        (("ball", "floor"), 1, False),
        (("ball", "*"), 1, True),
        ("ball", 1, True),
        (("*", "*"), 1, True),
        (("*", "*"), 3, False),
    ],
)
def test_contacts_of_condim_1_have_friction_only_by_a_key_that_names_both(key, floor, slides):
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1" condim="{floor}"/>'
        '<body name="ball" pos="0 0 0.05"><freejoint/><geom type="box" size="0.1 0.1 0.05" condim="1"/></body>'
        '<body name="other" pos="1 0 0.05"><freejoint/><geom type="box" size="0.1 0.1 0.05"/></body>'
        "</worldbody></mujoco>"
    )
    only_smooth = key in ("ball", ("ball", "*")) and floor == 1
    model.geom_conaffinity[1] = model.geom_contype[2] = 0 if only_smooth else 1
    model.geom_contype[1], model.geom_conaffinity[2] = (2, 0) if only_smooth else (1, 1)
    model.geom_conaffinity[0] = 3
    if only_smooth:
        with pytest.warns(UserWarning, match="all of its contacts have condim 1"):
            sim = Simulation(model, laws={key: 0.5})
    else:
        sim = Simulation(model, laws={key: 0.5})
    sim.data.qvel[0] = 0.3
    assert after(sim, 200)[0] == pytest.approx(0.3 if slides else 0.0, abs=1e-9)
    assert abs(sim.data.qvel[2]) < 1e-12 and sim.contacts[key].kind == 3


def pinched(torsion: float, force: float = 20.0) -> tuple[float, float]:
    """Angle [rad] and fall [m] of a bar, 4 s after two fingertips took it 20 mm from its centre."""
    finger = '<body name="{0}" pos="0 {1} 0.5"><joint name="{0}" type="slide" axis="0 {2} 0"/>{3}</body>'
    tip = '<geom type="sphere" size="0.01" mass="0.1"/>'
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{finger.format('left', -0.03, 1, tip)}{finger.format('right', 0.03, -1, tip)}"
        '<body name="bar" pos="0.02 0 0.5"><freejoint/><geom type="box" size="0.1 0.02 0.01" mass="0.2"/></body>'
        '</worldbody><actuator><motor joint="left"/><motor joint="right"/></actuator></mujoco>'
    )
    sim = Simulation(model, laws={"bar": Material.soft(0.8, torsion=torsion)})
    sim.data.ctrl[:] = force
    after(sim, 2000)
    bar = sim.data.body("bar")
    return 2 * float(np.arcsin(bar.xquat[2])), 0.5 - float(bar.xpos[2])


def test_two_soft_fingertips_hold_a_bar_against_turning_up_to_their_torsion():
    needed = 0.2 * G * 0.02 / (2 * 20.0)  # torque of the weight over both loads
    angle, fall = pinched(1.02 * needed)
    assert abs(angle) < 1e-12 and abs(fall) < 1e-12
    assert pinched(0.98 * needed)[0] > 0.1


def test_a_state_is_restored_with_its_torques():
    sim = ball(0.02, Material.soft(0.5, torsion=0.001, rolling=0.002), spin=3.0)
    after(sim, 50)
    saved = sim.save()
    first = after(sim, 50)
    sim.restore(saved)
    assert np.array_equal(after(sim, 50), first)


@pytest.mark.slow
def test_a_tippe_top_turns_over_as_in_mujoco():
    surface = 'condim="4" friction="1 5e-5 1e-5"'
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="0.001"/><worldbody><geom name="floor" type="plane" size=".5 .5 .01" {surface}/>'
        f'<body name="top" pos="0 0 .02"><freejoint/><geom type="sphere" size=".02" {surface}/>'
        f'<geom type="cylinder" pos="0 0 .02" size=".004 .008" {surface}/>'
        '<geom type="box" size=".023 .023 .005" pos="0 0 -.015" contype="0" conaffinity="0"/></body>'
        "</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    sim = Simulation(model, laws={"top": Material.coulomb(1.0)})
    for one in (data, sim.data):
        one.qpos[3:5], one.qvel[4:] = (np.cos(0.05), np.sin(0.05)), (1.0, 200.0)
    for _ in range(4000):
        mujoco.mj_step(model, data)
        sim.step()
    assert data.body("top").xmat[8] < -0.3 and sim.data.body("top").xmat[8] < -0.3


@pytest.mark.parametrize(("condim", "feet"), [(4, 2), (4, 4), (6, 2)])
def test_an_impact_with_a_lag_does_not_depend_on_the_order_of_its_points(condim, feet):
    """All torques lag behind the normal impulses alike, and friction lags behind no torque."""
    places = np.array([(0.1, 0.08, -0.05), (-0.1, 0.07, -0.05), (0.02, -0.12, -0.05), (-0.07, -0.1, -0.05)])[:feet]
    material = Material.coulomb(0.3, restitution=Restitution(0.6, lag=0.4), parts=8)

    def landed(order: Any) -> np.ndarray:
        foot = f'<geom type="sphere" size="0.01" pos="{{}} {{}} {{}}" condim="{condim}" friction="1 0.05 0.03"/>'
        geoms = "".join(foot.format(*place) for place in places[order])
        model = mujoco.MjModel.from_xml_string(
            '<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/><body name="table" pos="0 0 0.06">'
            '<freejoint/><inertial pos="0.03 0.02 0" mass="1" fullinertia="0.01 0.008 0.012 0.002 0.003 -0.002"/>'
            f"{geoms}</body></worldbody></mujoco>"
        )
        sim = Simulation(model, laws={"table": material})
        sim.data.qvel[:] = 0.4, 0.2, -1.0, 0.0, 0.0, 8.0
        v = after(sim, 1)
        assert sim.unsolved == 0 and len(sim.contacts["table"].impulses) == feet
        return v

    assert landed(np.arange(feet)) == pytest.approx(landed(np.arange(feet)[::-1]), abs=1e-6)
