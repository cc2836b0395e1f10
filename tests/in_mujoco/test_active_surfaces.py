"""Surfaces that move over their geoms (`surfacevel`) or attract others (`adhesion`), and integrators of MuJoCo."""

from typing import Any

import numpy as np
import pytest

from stiction import CoulombLaw, InputError, Material
from stiction.mujoco import Simulation, body_of

mujoco: Any = pytest.importorskip("mujoco")

H = 0.002


def part(shape: str = "box", more: str = "", height: float = 0.1, turn: float = 0.0) -> str:
    geom = f'<geom type="{shape}" size=".1 .1 .1" mass="1" {more}/>'
    return f'<body name="part" pos="0 0 {height}" euler="0 0 {turn}"><freejoint/>{geom}</body>'


def belt(velocity: str, more: str = "") -> str:
    return f'<geom name="belt" type="box" size="9 9 .1" pos="0 0 -.1" surfacevel="{velocity}" {more}/>'


def run(inside: str, steps: int, laws: Any = None, option: str = "") -> Simulation:
    text = f'<mujoco><option timestep="{H}" {option}/><worldbody>{inside}</worldbody></mujoco>'
    sim = Simulation(mujoco.MjModel.from_xml_string(text), laws=laws or {("part", "belt"): 0.5})
    sim.step(steps)
    assert sim.unsolved == 0
    return sim


@pytest.mark.parametrize("key", [("part", "belt"), ("belt", "part")])
@pytest.mark.parametrize("velocity", ["1 0 0", "0 -.7 0", ".3 .4 0"])
def test_a_belt_speeds_up_by_friction_and_then_carries_at_its_speed(key, velocity):
    wanted = np.fromstring(velocity, sep=" ")
    sim = run(belt(velocity + " 0 0 0") + part(), 50, {key: 0.5})
    direction = wanted / np.linalg.norm(wanted)
    assert sim.data.qvel[:3] == pytest.approx(0.5 * 9.81 * 50 * H * direction, abs=1e-9)
    sim.step(400)
    assert sim.data.qvel == pytest.approx([*wanted, 0, 0, 0], abs=1e-9)


def test_a_belt_is_turned_and_moved_with_its_geom():
    sim = run(belt("1 0 0 0 0 0", 'euler="0 0 90"') + part(), 400)
    assert sim.data.qvel[:3] == pytest.approx([0, 1, 0], abs=1e-9)
    sim = run(belt("1 0 0 0 0 0", 'euler="0 -10 0"') + part(height=0.13), 800)
    assert sim.data.qvel[:3] == pytest.approx([np.cos(np.radians(10)), 0, np.sin(np.radians(10))], abs=1e-6)
    cart = (
        '<body><joint axis="0 1 0" type="slide"/><geom name="belt" type="box" size="9 9 .1" pos="0 0 -.1" mass="1e6" '
    )
    cart += 'surfacevel="1 0 0 0 0 0"/></body>'
    text = f'<mujoco><option timestep="{H}"/><worldbody>{cart}{part()}</worldbody></mujoco>'
    sim = Simulation(mujoco.MjModel.from_xml_string(text), laws={("part", "belt"): 0.5})
    sim.data.qvel[0] = 0.6  # of the cart
    sim.step(600)
    assert sim.data.qvel[:4] == pytest.approx([0.6, 1.0, 0.6, 0.0], abs=1e-5)


def test_tracks_drive_a_body_forward_as_it_stands():
    sim = run('<geom name="belt" type="plane" size="9 9 1"/>' + part(more='surfacevel="-.5 0 0 0 0 0"', turn=30), 400)
    assert sim.data.qvel[:3] == pytest.approx([0.5 * np.cos(np.pi / 6), 0.5 * np.sin(np.pi / 6), 0], abs=1e-9)


def test_a_sphere_on_a_belt_gets_two_sevenths_of_its_speed():
    sim = run(belt("1 0 0 0 0 0") + part("sphere"), 400)
    assert sim.data.qvel[0] == pytest.approx(2 / 7, abs=1e-9) and sim.data.qvel[4] == pytest.approx(
        -5 / 7 / 0.1, rel=1e-9
    )


@pytest.mark.parametrize("torsion", [0.0, 0.02])
def test_a_turntable_turns_boxes_and_soft_points(torsion):
    sim = run(belt("0 0 0 0 0 2") + part(), 400)
    assert sim.data.qvel == pytest.approx([0, 0, 0, 0, 0, 2], abs=1e-9)
    sim = run(belt("0 0 0 0 0 2") + part("sphere"), 400, {("part", "belt"): Material.soft(0.5, torsion)})
    assert sim.data.qvel == pytest.approx([0, 0, 0, 0, 0, 2 if torsion else 0], abs=1e-9)


def test_bodies_ride_on_each_other_on_a_belt():
    top = part(height=0.3).replace('"part"', '"top"')
    sim = run(belt("0 1 0 0 0 0") + part() + top, 400, {"*": 0.5})
    assert sim.data.qvel == pytest.approx([0, 1, 0, 0, 0, 0] * 2, abs=1e-9)


@pytest.mark.parametrize(("adhesion", "holds"), [(4.8, False), (5.0, True)])
def test_adhesion_of_geoms_adds_to_the_load_of_friction(adhesion, holds):
    """Four points press a box of 9.81 N against a wall, with friction 0.5."""
    wall = '<geom name="belt" type="box" size=".1 1 1" pos="-.2 0 0"/>'
    sim = run(wall + part(more=f'adhesion="{adhesion}"', height=0.0), 100)
    fall = 0.0 if holds else 0.5 * (9.81 - 0.5 * 4 * adhesion) * (100 * H) * (101 * H)
    assert sim.data.qpos[2] == pytest.approx(-fall, abs=1e-9)
    assert abs(sim.contacts["part", "belt"].impulse[0]) == pytest.approx(4 * adhesion * H, rel=1e-9)  # without adhesion


def test_adhesion_acts_up_to_the_gap_of_the_model():
    ceiling = '<geom name="belt" type="box" size="1 1 .1" pos="0 0 .305" gap="{}"/>'
    for gap, holds in ((0.01, True), (0.0, False)):
        sim = run(ceiling.format(gap) + part("sphere", 'adhesion="12"'), 200)
        assert (sim.data.qpos[2] > 0.0) == holds


def law(model: Any) -> CoulombLaw:
    return CoulombLaw(body_of(model, "part"), 0.5, timestep=H)


def test_learned_laws_leave_belts_to_mujoco_and_are_refused_on_active_surfaces():
    floor = '<geom name="floor" type="plane" size="5 5 1" pos="0 0 -9"/>'

    def model(surface: str, more: str = "") -> Any:
        inside = floor + surface + part(more=more)
        return mujoco.MjModel.from_xml_string(
            f'<mujoco><option timestep="{H}"/><worldbody>{inside}</worldbody></mujoco>'
        )

    moving = model(belt("1 0 0 0 0 0"))
    sim = Simulation(moving, laws={"part": law(moving)})
    with pytest.warns(UserWarning, match="touches something that its law does not cover"):
        sim.step(500)
    assert sim.data.qvel[0] == pytest.approx(1.0, abs=1e-3) and sim.uncovered["part"] > 400
    for more in ('surfacevel="1 0 0 0 0 0"', 'adhesion="3"'):
        tracked = model("", more)
        with pytest.raises(InputError, match="passive surface"):
            Simulation(tracked, laws={"part": law(tracked)})


def test_the_discrete_integrator_is_refused_in_one_sentence():
    with pytest.raises(InputError, match="cannot be split: use Euler, implicit or implicitfast"):
        run(belt("0 0 0 0 0 0") + part(), 1, option='integrator="discrete"')
    sim = run(belt("0 0 0 0 0 0") + part(), 1)
    sim.model.opt.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
    with pytest.raises(InputError, match="cannot be divided: use Euler, implicit or implicitfast"):
        sim.step()
