"""Faces that carry their load by an even pressure: friction of a rectangle, tipping, rest."""

from typing import Any

import numpy as np
import pytest

from stiction import InputError, Material, load
from stiction.mujoco import Simulation

mujoco: Any = pytest.importorskip("mujoco")

A, B, MU, G, H = 0.06, 0.04, 0.5, 9.81, 0.001


def block(face: Any, friction: float = MU, geom: str = f'type="box" size="{A} {B} .02"', steps: int = 50) -> Simulation:
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{H}"/><worldbody><geom name="floor" type="plane" size="5 5 1"/>'
        f'<body name="block" pos="0 0 .02"><freejoint/><geom {geom} mass="1"/></body></worldbody></mujoco>'
    )
    sim = Simulation(model, laws={("block", "floor"): Material.coulomb(friction, face=face)})
    sim.step(steps)
    return sim


def limit_surface(velocity: Any, spin: float) -> np.ndarray:
    """Force [N] and torque [N m] of an evenly pressed rectangle that slips so."""
    place = (np.arange(200) + 0.5) / 100 - 1
    x, y = np.meshgrid(A * place, B * place)
    slip = np.stack([velocity[0] - spin * y, velocity[1] + spin * x])
    pull = -MU * G * slip / np.linalg.norm(slip, axis=0)
    return np.array([pull[0].mean(), pull[1].mean(), (x * pull[1] - y * pull[0]).mean()])


def errors(face: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(40):
        share, angle = rng.uniform(), rng.uniform(0, 2 * np.pi)
        velocity, spin = share * np.array([np.cos(angle), np.sin(angle)]), 20.0 * (1 - share)
        sim = block(face, steps=20)
        sim.data.qvel[:] = *velocity, 0, 0, 0, spin
        sim.step()
        wrench = sim.contacts["block", "floor"].impulse[[0, 1, 5]] / H
        found.append(np.linalg.norm((wrench - limit_surface(velocity, spin)) / (MU * G) / [1, 1, 0.045]))
    return np.array(found)


def test_a_block_slips_and_turns_as_an_evenly_pressed_rectangle():
    assert errors("even").mean() < 0.12 < 0.4 < errors("corners").mean()
    for face, error in (("even", 0.02), ("corners", None)):
        sim = block(face)
        inertia = sim.model.body_inertia[1, 2]
        sim.data.qvel[5] = 10.0
        sim.step(20)
        torque = (sim.data.qvel[5] - 10.0) * inertia / (20 * H)
        assert torque == pytest.approx(limit_surface((0, 0), 1.0)[2], rel=error) if error else torque < -0.3


def test_the_load_of_a_face_is_linear_and_it_tips_about_its_edge():
    sim = block("even")
    contact = sim.contacts["block", "floor"]
    assert len(contact.points) == 9 and contact.impulse[2] == pytest.approx(G * H, rel=1e-6)
    shares = np.sort(contact.impulses[:, 2]) / (G * H)
    assert shares == pytest.approx([0.01] * 4 + [0.103] + [0.21425] * 4, rel=1e-3)
    for share, tips in ((0.97, False), (1.03, True)):
        sim = block("even", friction=3.0)
        sim.data.xfrc_applied[1, 1] = share * G * B / 0.02  # at the centre, 20 mm above the floor
        sim.step(100)
        assert (abs(sim.data.qvel[3]) > 0.1) == tips and sim.unsolved == 0


def test_a_block_with_even_faces_rests_on_a_slope():
    sim = block("even", friction=0.6)
    sim.model.opt.gravity[:] = G * np.sin(0.5), 0, -G * np.cos(0.5)
    sim.step(2000)
    assert abs(sim.data.qpos[0]) < 2e-7 and np.abs(sim.data.qvel).max() < 1e-6 and sim.unsolved == 0


def test_points_of_other_shapes_stay_as_they_are():
    for geom, count in (('type="sphere" size=".02"', 1), ('type="capsule" size=".02 .05" euler="90 0 0"', 2)):
        assert len(block("even", geom=geom).contacts["block", "floor"].points) == count
    with pytest.raises(InputError, match="face"):
        Material.coulomb(0.5, face="smooth")


def test_a_material_keeps_its_faces_in_files(tmp_path):
    Material.coulomb(0.5, face="even").save(tmp_path / "one.safetensors")
    assert load(tmp_path / "one.safetensors").face == "even"
